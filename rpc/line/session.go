package line

import (
	"bytes"
	"fmt"

	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// serveLink serves one session of the link, from its first message on.
func (l *Line) serveLink() error {
	in := &session{line: l}
	first, _, err := in.Next()
	if err != nil { // it has ended before it said anything
		return nil
	}
	in.first = first
	l.turn.Lock()
	defer l.turn.Unlock()
	srv, end, err := l.cfg.Serve()
	if err != nil {
		return err
	}
	defer end()
	in.conn = srv.NewConn((*packets)(l))
	defer in.conn.Close()
	_ = srv.ServeMessages(in.conn, in) // it ends with the session
	return nil
}

// session is where the messages of one session of the link come from.
type session struct {
	line  *Line
	conn  *rpc.Conn // nil before the first message
	first []byte    // to be given out again
}

// Next gives the next message. Those of a session that is dead are passed over:
// nobody waits for an answer, and its host takes it that they may not have been done.
// Until the next call after the session's end the link sends nothing, so that no
// answer to one session goes to the next.
func (s *session) Next() ([]byte, frame.Mode, error) {
	if msg := s.first; msg != nil {
		s.first = nil
		return msg, frame.Newline, nil
	}
	for {
		msg, err := s.line.conn.Receive()
		if err == nil {
			if s.line.ended.Load() != s.line.over {
				continue
			}
			return msg, frame.Newline, nil
		}
		if err == link.ErrEnded {
			s.line.over++
		}
		if s.conn != nil {
			go s.conn.Close() // this may be in the connection's turn
		}
		return nil, frame.Newline, err
	}
}

func (s *session) Buffered() bool { return s.first != nil || s.line.conn.Buffered() }

// packets sends the lines that a connection writes as messages of the link.
type packets Line

var notification = []byte(`{"jsonrpc":"2.0","method":`)

// Write takes whole lines. Of a session that has ended it takes them for nothing:
// its end comes by Next.
func (p *packets) Write(lines []byte) (int, error) {
	for rest := lines; len(rest) > 0; {
		var msg []byte
		msg, rest, _ = bytes.Cut(rest, []byte{'\n'})
		var flags link.Flags
		if bytes.HasPrefix(msg, notification) {
			flags = link.Ordered
		}
		if _, err := p.conn.Send(msg, flags); err != nil {
			if long, ok := err.(*link.TooLongError); ok {
				(*Line)(p).refuse(msg, long)
			}
		}
	}
	return len(lines), nil
}

// refuse answers a request by an error, whose answer is too long for the link.
func (l *Line) refuse(msg []byte, long *link.TooLongError) {
	l.cfg.Log("an answer was not sent: " + long.Error())
	t := wire.Tree{Unescape: func(dst, quoted []byte) []byte { return append(dst, quoted...) }}
	if t.Scan(msg, wire.Limits{Values: len(msg)}) != nil {
		return
	}
	if id := t.Get(t.Root(), "id"); id != 0 {
		text := wire.AppendString(nil, "the answer has "+fmt.Sprint(long.Size)+" bytes, where the link takes "+fmt.Sprint(long.Max)+"; ask for less")
		_, _ = l.conn.Send(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, t.Raw(id), wire.CodeInternal, text), 0)
	}
}
