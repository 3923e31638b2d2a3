package line

import (
	"bytes"
	"errors"
	"sync"

	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// servePlain serves one plain conversation, from its first message on.
func (l *Line) servePlain() error {
	from := l.plain.reader()
	in := &talk{Reader: frame.NewReader(from, l.cfg.Max), heard: l.quiet.heard}
	if !in.begin() {
		return nil
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	srv, end, err := l.cfg.Serve()
	if err != nil {
		return err
	}
	defer end()
	c := srv.NewConn((*text)(l))
	defer c.Close()
	defer func() {
		if !from.over() { // else a session of the link has begun
			l.quiet.over()
		}
	}()
	l.setTalking(c)
	defer l.setTalking(nil)
	if !from.over() { // since then, whatever ends it closes c
		_ = srv.ServeMessages(c, in)
	}
	return nil
}

// talk is where the messages of a plain conversation come from.
type talk struct {
	*frame.Reader
	first []byte // to be given out again
	mode  frame.Mode
	heard func()
}

// begin waits for the first message that is JSON; false: a session of the link has
// begun, or the line was closed.
func (t *talk) begin() bool {
	for {
		msg, mode, err := t.Reader.Next()
		if err != nil {
			if _, broken := err.(*frame.Error); broken {
				continue
			}
			return false
		}
		if start := bytes.TrimLeft(msg, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '[') &&
			wire.Scan(msg, wire.DefaultLimits) == nil {
			t.first, t.mode = msg, mode
			return true
		}
	}
}

func (t *talk) Next() ([]byte, frame.Mode, error) {
	if msg := t.first; msg != nil {
		t.first = nil
		t.heard()
		return msg, t.mode, nil
	}
	msg, mode, err := t.Reader.Next()
	if err == nil {
		t.heard()
	}
	return msg, mode, err
}

func (t *talk) Buffered() bool { return t.first != nil || t.Reader.Buffered() }

func (l *Line) setTalking(c *rpc.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.talking = c
}

// text writes what a connection says as it is onto the port.
type text Line

func (t *text) Write(p []byte) (int, error) {
	if t.plain.ignored() {
		return len(p), nil // a session of the link has begun
	}
	if err := t.conn.WriteStray(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// stray holds bytes that came outside of packets until they are read.
type stray struct {
	mu       sync.Mutex
	changed  sync.Cond
	buf      []byte
	ignoring bool
	closed   bool
	session  int // counts the times that a conversation was ended
}

var errOver = errors.New("the plain conversation is over")

// take keeps bytes, as many as there is room for. The link calls it, and it does not
// wait.
func (s *stray) take(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ignoring {
		return
	}
	n := min(len(p), maxStray-len(s.buf))
	s.buf = append(s.buf, p[:n]...)
	s.changed.Broadcast()
}

// ignore ends the conversation, and takes no bytes until listen. It says whether there
// may have been one.
func (s *stray) ignore() (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was = !s.ignoring
	s.ignoring, s.buf = true, s.buf[:0]
	s.session++
	s.changed.Broadcast()
	return was
}

func (s *stray) listen() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignoring = false
}

func (s *stray) ignored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ignoring
}

func (s *stray) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.changed.Broadcast()
}

// reader reads one conversation.
func (s *stray) reader() *strayReader {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &strayReader{s, s.session}
}

type strayReader struct {
	*stray
	of int // session
}

// Read gives errOver when the conversation is over.
func (r *strayReader) Read(b []byte) (int, error) {
	s := r.stray
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.buf) == 0 && !s.closed && s.session == r.of {
		s.changed.Wait()
	}
	if s.closed || s.session != r.of {
		return 0, errOver
	}
	n := copy(b, s.buf)
	s.buf = s.buf[:copy(s.buf, s.buf[n:])]
	return n, nil
}

func (r *strayReader) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed || r.session != r.of
}
