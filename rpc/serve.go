package rpc

import (
	"io"

	"boardhand/frame"
	"boardhand/rpc/wire"
)

// Serve speaks with one client until in ends: then every call that was read is
// answered, and Serve returns nil. It returns the error of out when the client
// has stopped reading for good. Framing and dispatch run on the caller's own
// goroutine, and all answers that are ready leave in one Write.
func (s *Server) Serve(in io.Reader, out io.Writer) error {
	c := s.NewConn(out)
	defer c.Close()
	return s.ServeConn(c, in)
}

// ServeConn is Serve on a connection that the caller has made, so that it can
// ask it things while it is served, or close it: then ServeConn returns ErrClosed.
func (s *Server) ServeConn(c *Conn, in io.Reader) error {
	return s.ServeMessages(c, frame.NewReader(in, s.limits.Message))
}

// Source is where a connection's messages come from: a *frame.Reader is one.
type Source interface {
	// Next waits for the next message, which is valid until the next call. An error
	// that is a *frame.Error is a broken message, which is answered; any other, of
	// which io.EOF is the good one, is the end.
	Next() (msg []byte, mode frame.Mode, err error)
	// Buffered says that Next will not wait.
	Buffered() bool
}

// ServeMessages is ServeConn of what comes as messages already.
func (s *Server) ServeMessages(c *Conn, in Source) error {
	for {
		err, lost := c.take(in)
		switch {
		case lost != nil:
			return lost
		case err == nil:
			continue
		}
		c.unheard()
		c.Wait()
		if lost := c.Flush(); lost != nil {
			return lost
		}
		if err == io.EOF {
			return nil
		}
		return err
	}
}

// maxTurn is how many messages are taken in one turn: a job that has ended waits for
// no more of them.
const maxTurn = 64

// take waits for a message, and handles in one turn all that came with it, so that
// their answers leave in one Write. What it returns is final: err is the end of
// the input, lost why out takes no more.
func (c *Conn) take(in Source) (err, lost error) {
	msg, mode, err := in.Next() // outside of the turn: it may wait
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClosed
	}
	for n := 1; ; n++ {
		if err == nil {
			c.handle(msg, mode)
		} else if bad, ok := err.(*frame.Error); ok {
			c.fail(&request{mode: mode}, &problem{code: wire.CodeParse, message: bad.Error()})
		} else {
			return err, nil
		}
		switch {
		case !in.Buffered() || c.w.Len() > flushAt:
			c.flush()
			return nil, c.err
		case n == maxTurn:
			return nil, nil
		}
		msg, mode, err = in.Next()
	}
}
