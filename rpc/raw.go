package rpc

import (
	"errors"
	"strconv"
	"time"

	"boardhand/rpc/wire"
)

// What a handler may do whose result is more than a JSON object: it writes the
// members of the result itself, reads the request's params, asks the client and
// tells it things.

// Method is one beside those of the revisions. Its fields are as of a Tool that is Raw.
type Method struct {
	Queue   func(c *Call) string
	Timeout time.Duration
	Run     func(c *Call) error
}

// Error is an error object of JSON-RPC that a Raw handler answers with.
type Error struct {
	Code    int
	Message string
	Data    []byte // JSON, or nil
}

func (e *Error) Error() string { return e.Message }

// more is the method of the catalogue's own that has this name, or nil.
func (s *Server) more(name []byte) method {
	m := s.cat.Methods[string(name)]
	if m == nil {
		return nil
	}
	return func(c *Conn, r *request) {
		call := c.start(r, c.dialectOf(r), entry{name: string(r.method), queue: m.Queue, timeout: m.Timeout, run: m.Run})
		c.raw(call, r)
		c.launch(call)
	}
}

// raw lets a call's handler write the whole result.
func (c *Conn) raw(call *Call, r *request) {
	call.params = c.tree.Raw(r.params)
	answer := call.entry.answer
	call.entry.answer = func(call *Call, err error) {
		var e *Error
		switch {
		case errors.As(err, &e):
			c.failID(call.batch, call.mode, call.id, &problem{e.Code, e.Message, e.Data})
		case err != nil && answer != nil:
			answer(call, err)
		case err != nil:
			c.failID(call.batch, call.mode, call.id, &problem{code: wire.CodeInternal, message: err.Error()})
		default:
			c.answerRaw(call)
		}
	}
}

func (c *Conn) answerRaw(call *Call) {
	d := call.dialect
	dst := append(c.begin(call.batch), `{"jsonrpc":"2.0","id":`...)
	dst = append(append(dst, call.id...), `,"result":{`...)
	if call.Incomplete && d.complete {
		dst = append(dst, `"resultType":"input_required"`...)
	} else {
		dst = append(dst, d.head...)
	}
	if len(call.Out) > 0 {
		if dst[len(dst)-1] != '{' {
			dst = append(dst, ',')
		}
		dst = append(dst, call.Out...)
	}
	c.endResult(call.batch, call.mode, dst)
}

// ID is the request's id as JSON, as it came.
func (c *Call) ID() []byte { return c.id }

// Params are the request's params as JSON, or empty, of a Raw handler.
func (c *Call) Params() []byte { return c.params }

// Stateless says that the request is one of MCP 2026-07-28.
func (c *Call) Stateless() bool { return c.dialect.complete }

// Notify sends the caller a notification. params is a JSON object.
func (c *Call) Notify(method string, params []byte) {
	c.notify(func(dst []byte) []byte {
		dst = wire.AppendString(append(dst, `{"jsonrpc":"2.0","method":`...), method)
		return append(append(append(dst, `,"params":`...), params...), '}')
	})
}

// Gone is closed when nobody waits for the call any more. Only a call that a queue
// runs may ask for it.
func (c *Call) Gone() <-chan struct{} {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.job.ended == nil {
		c.job.ended = make(chan struct{})
		if c.job.gone.Load() {
			close(c.job.ended)
		}
	}
	return c.job.ended
}

// ProgressToken is the caller's, as JSON, or empty.
func (c *Call) ProgressToken() []byte { return c.token }

// pending are the requests of the server without their answers, by their ids as JSON.
type pending map[string]chan []byte

func (p pending) answer(id string, message []byte) {
	if to := p[id]; to != nil {
		delete(p, id)
		to <- append([]byte(nil), message...)
	}
}

// Ask sends the client a request and waits for its answer, the whole message. Only a
// call that a queue runs may ask, and only in a revision where servers may.
func (c *Call) Ask(method string, params []byte) ([]byte, error) {
	if c.job == nil || c.dialect.complete || c.dialect.arrays {
		return nil, errors.New(method + " cannot be asked here")
	}
	conn := c.conn
	answer := make(chan []byte, 1)
	conn.mu.Lock()
	if conn.pending == nil {
		conn.pending = make(pending)
	}
	conn.asked++
	id := `"ask-` + strconv.FormatUint(conn.asked, 10) + `"`
	conn.pending[id] = answer
	conn.put(c.mode, func(dst []byte) []byte {
		dst = append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"method":`...)
		dst = append(wire.AppendString(dst, method), `,"params":`...)
		return append(append(dst, params...), '}')
	})
	conn.flush()
	conn.mu.Unlock()
	late := time.NewTimer(time.Until(c.deadline))
	defer late.Stop()
	select {
	case message := <-answer:
		return message, nil
	case <-late.C:
		conn.mu.Lock()
		delete(conn.pending, id)
		conn.mu.Unlock()
		return nil, errors.New("the client did not answer " + method)
	}
}
