package httpfront

import (
	"bytes"
	"errors"
	"sync"
)

// outbox keeps what a Conn writes for one response until the request's goroutine has
// sent it. Whoever writes never waits.
type outbox struct {
	limit int

	mu     sync.Mutex
	lines  []byte // whole messages, a line each
	ended  bool   // nothing more will come
	wanted bool   // somebody reads; else what comes is dropped
	wake   chan struct{}
}

// errSlow ends a response whose reader has left more than Config.Pending unread.
var errSlow = errors.New("the client reads too slowly")

// keepLines is the largest buffer that stays for the next response.
const keepLines = 64 << 10

func (o *outbox) open(limit int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.wake == nil {
		o.wake = make(chan struct{}, 1)
	}
	select {
	case <-o.wake:
	default:
	}
	if cap(o.lines) > keepLines {
		o.lines = nil
	}
	o.limit, o.lines, o.ended, o.wanted = limit, o.lines[:0], false, true
}

// Write takes whole lines: it is what a Conn that answers one request writes to.
func (o *outbox) Write(lines []byte) (int, error) {
	if !o.add(lines) {
		return 0, errSlow
	}
	return len(lines), nil
}

// add keeps lines; false means that there are too many.
func (o *outbox) add(lines []byte) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.wanted {
		return true
	}
	// A single answer may be of any size; behind it nothing comes.
	full := len(o.lines) > 0 && len(o.lines)+len(lines) > o.limit
	if full {
		o.ended, o.wanted = true, false
	} else {
		o.lines = append(o.lines, lines...)
	}
	o.ring()
	return !full
}

// end says that nothing more will come.
func (o *outbox) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.ring()
}

func (o *outbox) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take appends what has come to dst, and says whether more may.
func (o *outbox) take(dst []byte) (lines []byte, ended bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	dst = append(dst, o.lines...)
	o.lines = o.lines[:0]
	return dst, o.ended
}

// close drops what comes from now on.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wanted, o.lines = false, o.lines[:0]
}

// nextLine cuts the first line off, without its end.
func nextLine(lines []byte) (line, rest []byte) {
	line, rest, _ = bytes.Cut(lines, []byte{'\n'})
	return line, rest
}
