package rpc

import (
	"io"

	"boardhand/frame"
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
// ask it things while it is served.
func (s *Server) ServeConn(c *Conn, in io.Reader) error {
	fr := frame.NewReader(in, s.limits.Message)
	for {
		msg, mode, err := fr.Next()
		if err == nil {
			c.Handle(msg, mode)
		} else if bad, ok := err.(*frame.Error); ok {
			c.Refuse(bad.Error(), mode)
		} else {
			c.Wait()
			if werr := c.Flush(); werr != nil {
				return werr
			}
			if err == io.EOF {
				return nil
			}
			return err
		}
		if fr.Buffered() {
			continue
		}
		if err := c.Flush(); err != nil {
			return err
		}
	}
}
