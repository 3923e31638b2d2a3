package link

import (
	"errors"
	"io"
	"sync"
	"time"
)

// Port is an open serial port. Read blocks until there is at least a byte; Close
// wakes it. Write takes all or fails; it must not block for ever.
type Port interface {
	io.Reader
	io.Writer
	io.Closer
}

// Conn is one end of a link. Its methods may be called by any goroutine, Receive
// and Buffered by one at a time.
type Conn struct {
	cfg   Config
	begun time.Time
	wake  chan struct{} // of the writing goroutine

	mu       sync.Mutex // guards what follows up to the next one
	end      *end
	port     Port          // while Run is at work
	wrote    chan struct{} // closed when the writing goroutine writes no more to port
	closed   bool
	readable *sync.Cond  // there is something for Receive
	writable *sync.Cond  // there is room for Send, or WriteStray's bytes left
	grace    *time.Timer // ends the session while no Run is at work

	front   inbox // Receive's alone, as is endTold
	endTold bool  // Receive has returned ErrEnded, and was not called since

	turn     sync.Mutex // of the callbacks; taken before mu
	told     []event
	toldData []byte

	strayTurn sync.Mutex // of WriteStray; taken before mu
}

const (
	readSize  = 4 << 10
	writeSize = 2 << 10 // bytes that leave in one Write at most, and a packet
)

// New makes an end of a link. It does nothing until Run.
func New(cfg Config) *Conn {
	c := &Conn{cfg: cfg, begun: time.Now(), wake: make(chan struct{}, 1), end: newEnd(cfg)}
	c.readable, c.writable = sync.NewCond(&c.mu), sync.NewCond(&c.mu)
	return c
}

func (c *Conn) now() time.Duration { return time.Since(c.begun) }

// Run works the link over port until the port fails, the other end speaks no
// common version (*VersionError), or Close; then it closes port and returns why,
// ErrClosed after Close. It may be called again, with the port opened anew: the
// session goes on if the other end still has it.
func (c *Conn) Run(port Port) error {
	if err := c.open(port); err != nil {
		port.Close()
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- c.read(port) }()
	err, reading := c.write(port, failed)
	close(c.wrote)
	port.Close()
	if reading {
		<-failed
	}
	return c.shut(err)
}

func (c *Conn) open(port Port) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return ErrClosed
	case c.port != nil:
		return errors.New("link: Run is at work over another port; let it return first")
	}
	if c.grace != nil {
		c.grace.Stop()
	}
	c.port, c.wrote = port, make(chan struct{})
	c.end.opened(c.now())
	return nil
}

// shut notes that the port is gone.
func (c *Conn) shut(err error) error {
	c.mu.Lock()
	c.port = nil
	c.end.fatal = nil
	c.end.closed(c.now())
	if c.closed {
		err = ErrClosed
	} else if c.end.session {
		c.grace = time.AfterFunc(c.end.cfg.Grace, c.graceEnds)
	}
	c.writable.Broadcast()
	c.mu.Unlock()
	c.tell()
	return err
}

func (c *Conn) graceEnds() {
	c.mu.Lock()
	if c.port == nil && !c.closed {
		c.end.now = c.now()
		c.end.tick()
		c.readable.Broadcast()
		c.writable.Broadcast() // a Send that waits fails now
	}
	c.mu.Unlock()
	c.tell()
}

func (c *Conn) read(port Port) error {
	buf := make([]byte, readSize)
	for {
		n, err := port.Read(buf)
		if n > 0 {
			c.mu.Lock()
			c.end.receive(buf[:n], c.now())
			if !c.end.in.empty() {
				c.readable.Signal()
			}
			events := len(c.end.events) > 0
			c.mu.Unlock()
			if events {
				c.tell()
			}
			c.wakeUp()
		}
		if err != nil {
			return err
		}
	}
}

// write returns why it ended, and whether the reading goroutine has not.
func (c *Conn) write(port Port, failed <-chan error) (err error, reading bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	out := make([]byte, 0, writeSize+2*maxBody)
	for {
		c.mu.Lock()
		closed, fatal := c.closed, c.end.fatal
		out = out[:0]
		for size := -1; len(out) > size && len(out) < writeSize && !closed; {
			size = len(out)
			out = c.end.transmit(out, c.now())
		}
		var leaves time.Duration
		if closed {
			out = c.end.goodbye(out)
			leaves = max(c.end.lineFree-c.now(), 0) + time.Duration(len(out))*c.end.perByte + aheadOfLine
		}
		wait := c.end.deadline() - c.now()
		events := len(c.end.events) > 0
		if !c.end.in.empty() {
			c.readable.Signal() // a session's end
		}
		c.writable.Broadcast()
		c.mu.Unlock()
		if events {
			c.tell()
		}
		switch {
		case closed:
			if len(out) > 0 {
				if _, err := port.Write(out); err == nil {
					time.Sleep(leaves) // a port that is closed may change its speed under them
				}
			}
			return ErrClosed, true
		case fatal != nil:
			return fatal, true
		case len(out) > 0:
			if _, err := port.Write(out); err != nil {
				return err, true
			}
			continue
		}
		timer.Reset(wait)
		select {
		case err := <-failed:
			return err, false
		case <-c.wake:
		case <-timer.C:
		}
	}
}

func (c *Conn) wakeUp() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// tell calls the callbacks for what has happened. When it returns, all for what
// happened before have returned.
func (c *Conn) tell() {
	c.turn.Lock()
	defer c.turn.Unlock()
	for {
		c.mu.Lock()
		events, data := c.end.events, c.end.eventData
		c.end.events, c.end.eventData = c.told[:0], c.toldData[:0]
		c.mu.Unlock()
		c.told, c.toldData = events, small(data)
		if cap(events) > keepEvents {
			c.told = nil
		}
		if len(events) == 0 {
			return
		}
		for i := range events {
			c.call(&events[i], data[:events[i].size])
			data = data[events[i].size:]
		}
		clear(events)
	}
}

func (c *Conn) call(v *event, data []byte) {
	switch f := &c.cfg; {
	case v.kind == evUp && f.Up != nil:
		f.Up(v.peer)
	case v.kind == evDown && f.Down != nil:
		f.Down()
	case v.kind == evEnded && f.Ended != nil:
		f.Ended(v.err)
	case v.kind == evLost && f.Lost != nil:
		f.Lost(v.ticket, v.outcome)
	case v.kind == evLog && f.Log != nil:
		f.Log(data)
	case v.kind == evStray && f.Stray != nil:
		f.Stray(data)
	case v.kind == evLearn && f.Learn != nil:
		f.Learn(v.hash, data)
	}
}

// Send queues a copy of msg and returns its ticket, which Lost is called with if
// its session dies first. Tickets count from 1. Before the first session it
// queues for that one. When too much is queued it waits, or with NoWait returns
// ErrFull. A message longer than both ends' Max allow is a *TooLongError.
func (c *Conn) Send(msg []byte, f Flags) (ticket uint64, err error) {
	c.mu.Lock()
	for {
		switch most := c.end.maxMessage(); {
		case c.closed:
			err = ErrClosed
		case c.end.unread > 0:
			err = ErrEnded
		case len(msg) > most:
			err = &TooLongError{Size: len(msg), Max: most}
		case c.end.room(len(msg)):
			ticket = c.end.send(msg, f)
			c.mu.Unlock()
			c.wakeUp()
			return ticket, nil
		case f&NoWait != 0:
			err = ErrFull
		default:
			c.writable.Wait()
			continue
		}
		c.mu.Unlock()
		return 0, err
	}
}

// Receive returns the next message, valid until the next call. It waits for one.
// The error is ErrEnded once for each end of a session, and io.EOF after Close.
func (c *Conn) Receive() (msg []byte, err error) {
	if c.endTold {
		c.endTold = false
		c.mu.Lock()
		c.end.unread--
		c.mu.Unlock()
	}
	if c.front.empty() && !c.fill() {
		return nil, io.EOF
	}
	if msg, ok := c.front.take(); ok {
		return msg, nil
	}
	c.endTold = true // until the next call Send refuses: its caller may still be at work
	return nil, ErrEnded
}

// fill waits for messages and takes all there are.
func (c *Conn) fill() bool {
	c.front.reset()
	c.mu.Lock()
	for c.end.in.empty() && !c.closed {
		c.readable.Wait()
	}
	c.front, c.end.in = c.end.in, c.front
	c.end.taken(c.now())
	c.mu.Unlock()
	c.wakeUp()
	c.tell()
	return !c.front.empty()
}

// Buffered says that Receive has something to return at once.
func (c *Conn) Buffered() bool {
	if !c.front.empty() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.end.in.empty() || c.closed
}

// WriteStray writes plain bytes between packets, for who speaks without the
// link. It waits until they are on their way, and fails while no Run is at work.
func (c *Conn) WriteStray(p []byte) error {
	c.strayTurn.Lock()
	defer c.strayTurn.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end.stray = p
	c.wakeUp()
	for len(c.end.stray) > 0 && c.port != nil && !c.closed {
		c.writable.Wait()
	}
	left := len(c.end.stray)
	c.end.stray = nil
	switch {
	case left == 0:
		return nil
	case c.closed:
		return ErrClosed
	}
	return errors.New("link: the port is closed; plain text goes out only while it is open")
}

// Log queues a line of the log for the host, of at most 1 KiB; it never waits. A
// line that finds the queue full is dropped and counted, and the host told how
// many.
func (c *Conn) Log(line []byte) {
	c.mu.Lock()
	c.end.logLine(line)
	c.mu.Unlock()
	c.wakeUp()
}

// Stats returns the state of the link and its counters.
func (c *Conn) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end.stats
}

// Close ends Run, Receive and waiting Sends. What is queued is not sent, what
// was received and not yet taken is still given by Receive. A host whose port is open
// says goodbye, so that the board ends the session at once: Close waits until that has
// left, or 200 ms and what the bytes take that are before it on the line.
func (c *Conn) Close() error {
	c.mu.Lock()
	port, wrote := c.port, c.wrote
	wait := time.Duration(0)
	if port != nil && c.end.saysBye() {
		wait = byeWait + max(c.end.lineFree-c.now(), 0) + byes*packetTime(&c.end.clock, 0)
	}
	c.closed = true
	if c.grace != nil {
		c.grace.Stop()
	}
	c.readable.Broadcast()
	c.writable.Broadcast()
	c.mu.Unlock()
	c.wakeUp()
	if wait > 0 {
		timer := time.NewTimer(wait)
		select {
		case <-wrote:
		case <-timer.C:
		}
		timer.Stop()
	}
	if port != nil {
		_ = port.Close() // what wakes a Read and a Write; Run closes it once more
	}
	return nil
}
