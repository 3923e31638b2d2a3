// Package line is the board's end of a serial line: it keeps the port open, and
// serves whoever speaks on it. That is a host with the link (package frame/link), or
// anything that writes plain newline JSON or Content-Length frames onto the port.
//
// # Sessions
//
// Each session of the link is one connection to a server, and so is each plain
// conversation. There is one of them at a time: a session of the link ends a plain
// one, and while it lives bytes outside of packets mean nothing. It ends when its host
// says goodbye or another one begins, or after link.DefaultGrace of silence. Every connection
// gets a server of its own, so that what one leaves behind, an output that is on,
// ends with it.
//
// A plain conversation begins with the first message that is JSON; what comes before
// it, such as noise or what a terminal program sends when it starts, is passed over
// without an answer. It has no end of its own: another script goes on where the one
// before left.
package line

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/frame/link"
	"boardhand/rpc"
)

// Config says how a Line works. Open, Serve and Baud have no useful zero.
type Config struct {
	// Open opens the port. It is called again when the port has failed.
	Open func() (link.Port, error)
	// Serve gives the server of a connection that begins, and what to call when it
	// has ended. An error of it ends the Line.
	Serve func() (srv *rpc.Server, end func(), err error)

	// Lost is told, at once, that whoever is served is gone for good, though calls of his
	// may run on until they see it: the connection ends when they do. It must not wait.
	// It may be told more than once, and of nobody.
	Lost func()
	// Silent is told that nothing was heard for Grace from whoever is served, or will be,
	// and then that it was again. A plain conversation has no other end; a session of the
	// link ends Grace after it is taken for gone. It may wait a moment.
	Silent func(silent bool)
	Grace  time.Duration // link.DefaultGrace

	Baud    int    // of the line, in bits per second; 0: it has no speed of its own
	Epoch   uint32 // of this start of the program: random, not 0
	Program string // "boardhand 0.2.0"
	Name    string // of the board, for people
	Max     int    // bytes of a message; rpc.DefaultMessage
	// Log takes a line for a person, without its end, from any goroutine.
	Log func(line string)
}

// The bounds that the program chose.
const (
	reopen   = time.Second // that a port is left alone which cannot be opened, or fails
	maxStray = 64 << 10    // bytes of a plain conversation that wait to be read
)

// Line is the board's end of one serial line.
type Line struct {
	cfg   Config
	conn  *link.Conn
	plain stray
	quiet silence
	done  chan struct{} // closed by Close
	once  sync.Once

	ended atomic.Uint32 // sessions of the link that are dead
	over  uint32        // those of them of which all was taken

	turn sync.Mutex // one connection at a time

	mu      sync.Mutex
	talking *rpc.Conn // the plain conversation, or nil
	fault   error     // why Run ends
}

// New makes a Line. It does nothing until Run.
func New(cfg Config) *Line {
	if cfg.Max <= 0 {
		cfg.Max = rpc.DefaultMessage
	}
	if cfg.Log == nil {
		cfg.Log = func(string) {}
	}
	if cfg.Lost == nil {
		cfg.Lost = func() {}
	}
	if cfg.Silent == nil {
		cfg.Silent = func(bool) {}
	}
	if cfg.Grace <= 0 {
		cfg.Grace = link.DefaultGrace
	}
	l := &Line{cfg: cfg, done: make(chan struct{}), quiet: silence{after: cfg.Grace, tell: cfg.Silent}}
	l.plain.changed.L = &l.plain.mu
	l.conn = link.New(link.Config{
		Baud: cfg.Baud, Epoch: cfg.Epoch, Program: cfg.Program, Name: cfg.Name, Max: cfg.Max, Grace: cfg.Grace,
		Up:    l.up,
		Ended: l.end,
		Stray: l.plain.take,
	})
	return l
}

// Run serves the line until Close, and then returns nil, or until Config.Serve
// fails. It is called once.
func (l *Line) Run() error {
	var sessions sync.WaitGroup
	sessions.Go(func() { l.serve(l.serveLink) })
	sessions.Go(func() { l.serve(l.servePlain) })
	for last := ""; !l.closed(); {
		port, err := l.cfg.Open()
		if err == nil {
			last = ""
			err = l.conn.Run(heard{port, l})
		}
		if l.closed() {
			break
		}
		if text := err.Error(); text != last {
			l.cfg.Log(text + "; trying on")
			last = text
		}
		select {
		case <-l.done:
		case <-time.After(reopen):
		}
	}
	sessions.Wait()
	return l.fault
}

// serve serves one connection after the other.
func (l *Line) serve(one func() error) {
	for !l.closed() {
		if err := one(); err != nil {
			l.mu.Lock()
			l.fault = err
			l.mu.Unlock()
			l.Close()
		}
	}
}

func (l *Line) closed() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// Close ends Run and the connections. It may be called by any goroutine, and twice.
func (l *Line) Close() {
	l.once.Do(func() {
		close(l.done)
		l.quiet.over()
		_ = l.conn.Close()
		l.plain.close()
		l.hangUp()
	})
}

// Write gives the lines of a log to the host; it never fails and never waits.
func (l *Line) Write(p []byte) (int, error) {
	for text := range bytes.Lines(p) {
		if text = bytes.TrimRight(text, "\r\n"); len(text) > 0 {
			l.conn.Log(text)
		}
	}
	return len(p), nil
}

// Stats are the link's.
func (l *Line) Stats() link.Stats { return l.conn.Stats() }

// up is told by the link of each session that begins and each that goes on.
func (l *Line) up(link.Peer) {
	if l.plain.ignore() {
		l.cfg.Lost()
	}
	l.quiet.heard()
	go l.hangUp() // which waits for what is being written over this very link
}

// end is told by the link of each session that is dead.
func (l *Line) end(why error) {
	l.ended.Add(1)
	l.cfg.Lost()
	l.quiet.over()
	l.plain.listen()
	if why == link.ErrGoodbye {
		l.cfg.Log("the host has said goodbye; its session has ended")
	}
}

// hangUp ends the plain conversation, if any.
func (l *Line) hangUp() {
	l.mu.Lock()
	conn := l.talking
	l.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}
