//go:build !linux

package tty

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.bug.st/serial"
)

// Port is an open serial port. One goroutine may read and one may write at a
// time, beside any that call Close. Where the hardware has gone it is to be closed
// too: only then is its name free for the device that is plugged in again.
type Port struct {
	path string
	info Info
	line serial.Port
	baud atomic.Int64

	ending  chan struct{} // closed by Close
	once    sync.Once
	reading sync.Mutex  // held while in the library's Read
	writes  chan []byte // to write, which runs apart because the library's Write can hang
	written chan result
	queue   []byte // Write's own copy
	hangs   bool   // the library's Write has not returned in time
}

// result is of one Write of the library.
type result struct {
	n   int
	err error
}

// glance is the longest that the library's Read waits: Close does not wake it.
const glance = 200 * time.Millisecond

// Open opens the port at path, such as "COM3" or "/dev/cu.usbserial-A50285BI", at
// baud bits per second, for this process alone. It raises DTR and RTS, which
// resets many boards. The error is an *Error: a port is busy, missing, and what
// there is instead, not permitted, or cannot go at baud.
func Open(path string, baud int) (*Port, error) {
	if err := checkBaud(path, baud); err != nil {
		return nil, err
	}
	line, err := serial.Open(path, mode(baud))
	if err == nil {
		if err = line.SetReadTimeout(glance); err != nil {
			line.Close()
		}
	}
	if err != nil {
		return nil, explain(path, baud, err)
	}
	p := &Port{path: path, info: Info{Path: path}, line: line,
		ending: make(chan struct{}), writes: make(chan []byte), written: make(chan result, 1)}
	p.baud.Store(int64(baud))
	ports, _ := List()
	for i := range ports {
		if strings.EqualFold(ports[i].Path, path) {
			p.info = ports[i]
		}
	}
	go p.write()
	return p, nil
}

// Name is the path that the port was opened by.
func (p *Port) Name() string { return p.path }

// Info is the port and its device, for Reopen.
func (p *Port) Info() Info { return p.info }

// Baud is the line's speed in bits per second.
func (p *Port) Baud() int { return int(p.baud.Load()) }

// SetBaud sets the line's speed in bits per second. What was written before and
// has not left yet goes out at either speed.
func (p *Port) SetBaud(baud int) error {
	if err := checkBaud(p.path, baud); err != nil {
		return err
	}
	if p.ended() {
		return closed(p.path)
	}
	if err := p.line.SetMode(mode(baud)); err != nil {
		return explain(p.path, baud, err)
	}
	p.baud.Store(int64(baud))
	return nil
}

func (p *Port) ended() bool {
	select {
	case <-p.ending:
		return true
	default:
		return false
	}
}

// Read waits for at least one byte. The end of the hardware is ErrUnplugged; Close
// wakes it with os.ErrClosed.
func (p *Port) Read(b []byte) (int, error) {
	p.reading.Lock()
	defer p.reading.Unlock()
	for !p.ended() {
		began := time.Now()
		n, err := p.line.Read(b)
		switch {
		case n > 0:
			return n, nil
		case err != nil && !p.ended():
			return 0, p.gone(err)
		case time.Since(began) < glance/10: // a driver that does not wait
			time.Sleep(glance / 10)
		}
	}
	return 0, closed(p.path)
}

// Write writes all of b, or gives an error when the hardware takes no more for
// 10 s over the time that the bytes need; then the port is of no more use.
func (p *Port) Write(b []byte) (int, error) {
	if p.ended() {
		return 0, closed(p.path)
	}
	if p.hangs {
		return 0, stuck(p.path, 0, len(b))
	}
	timer := time.NewTimer(stalled + patience(len(b), p.Baud()))
	defer timer.Stop()
	p.queue = append(p.queue[:0], b...)
	select {
	case p.writes <- p.queue:
	case <-p.ending:
		return 0, closed(p.path)
	}
	select {
	case r := <-p.written:
		if r.err != nil {
			return r.n, p.gone(r.err)
		}
		return r.n, nil
	case <-p.ending:
		return 0, closed(p.path)
	case <-timer.C:
		p.hangs = true
		_ = p.line.ResetOutputBuffer()
		return 0, stuck(p.path, 0, len(b))
	}
}

// write writes what Write has, until Close.
func (p *Port) write() {
	for {
		select {
		case <-p.ending:
			return
		case b := <-p.writes:
			var r result
			for r.n < len(b) && r.err == nil {
				var n int
				if n, r.err = p.line.Write(b[r.n:]); n == 0 && r.err == nil {
					r.err = errors.New("the driver takes no bytes")
				}
				r.n += n
			}
			select {
			case p.written <- r:
			case <-p.ending:
				return
			}
		}
	}
}

// gone is the error of a Read or Write. The library does not tell an unplugged
// device from other failures.
func (p *Port) gone(err error) error {
	if p.ended() {
		return closed(p.path)
	}
	return &Error{p.path, ErrUnplugged, "the device is gone (" + err.Error() + ")", "check that it is plugged in"}
}

// Close waits a moment until what was written has left and wakes Read and Write,
// Read within a fifth of a second. Only the first call does something.
func (p *Port) Close() error {
	p.once.Do(func() {
		drained := make(chan struct{})
		go func() {
			_ = p.line.Drain()
			close(drained)
		}()
		select {
		case <-drained:
		case <-time.After(leaveWait):
			_ = p.line.ResetOutputBuffer()
		}
		close(p.ending)
		p.reading.Lock() // the library's Read and Close must not overlap
		defer p.reading.Unlock()
		_ = p.line.Close()
	})
	return nil
}

// explain is the library's error err in words.
func explain(path string, baud int, err error) error {
	var own *serial.PortError
	if errors.As(err, &own) {
		switch own.Code() {
		case serial.PortBusy:
			return &Error{path, ErrBusy, "in use by another program", "end it first: a terminal program, another boardhand, or a client that has started one"}
		case serial.PortNotFound:
			return noPort(path)
		case serial.PermissionDenied:
			return &Error{path, fs.ErrPermission, "no right to open it", "check who owns it"}
		case serial.InvalidSpeed, serial.InvalidSerialPort:
			return badBaud(path, baud)
		}
	}
	if errors.Is(err, os.ErrNotExist) {
		return noPort(path)
	}
	return &Error{path, ErrUnplugged, "cannot be opened: " + err.Error(), "check that it is plugged in"}
}
