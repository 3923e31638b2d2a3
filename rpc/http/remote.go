package httpfront

import (
	"bytes"
	"io"
	"strconv"
	"sync"

	"boardhand/frame"
	"boardhand/rpc/wire"
)

// Remote is a server at the other end of a stream, for a front to be before: a board at
// the end of a cable, or another program's standard input and output. All requests go
// over the one stream, each under a number that is put in the place of its id and its
// progress token, and taken back in what is answered.
//
// The revisions with initialize keep a state with the stream, of which there is one. So
// the initialize of each connection is kept, and sent again, with the level of its log,
// when another's was sent in between; the answers are swallowed. What the server says
// that names no request goes to the last request of the connection whose state it is.
type Remote struct {
	mode   frame.Mode
	limits wire.Limits
	tree   wire.Tree // of what the server says

	sending sync.Mutex // held while something is written, in the order of mu
	w       *frame.Writer

	mu    sync.Mutex
	last  uint64
	open  map[uint64]*asked
	owner *remoteConn // whose state the stream has
	err   error
}

// asked is a request that was sent and is not answered.
type asked struct {
	conn  *remoteConn // nil: the answer is nobody's
	id    []byte      // the client's own; nil of what is swallowed
	token []byte      // likewise, or nil
	mode  frame.Mode
}

// maxAsked bounds the requests without an answer.
const maxAsked = 1024

// NewRemote speaks with the server that reads what is written to w, in the framing of
// mode. Run reads its answers.
func NewRemote(w io.Writer, mode frame.Mode, values int) *Remote {
	r := &Remote{mode: mode, limits: wire.Limits{Values: values}, w: frame.NewWriter(w), open: map[uint64]*asked{}}
	r.tree.Unescape = unescape
	return r
}

// remoteConn is a connection of the front's that shares the stream.
type remoteConn struct {
	remote *Remote
	out    Sink

	// Of remote.mu.
	initialize []byte // the message that opened it, or nil
	level      []byte // and the one that set its log level
	recent     *asked // its last request
	closed     bool

	handling sync.Mutex
	msg      message
}

// Open opens a connection whose answers go to out.
func (r *Remote) Open(out Sink) Conn { return &remoteConn{remote: r, out: out} }

// Handle sends a message on.
func (c *remoteConn) Handle(msg []byte, mode frame.Mode) {
	c.handling.Lock()
	defer c.handling.Unlock()
	r := c.remote
	m := &c.msg
	if err := m.read(msg, r.limits); err != nil {
		c.refuse(nil, mode, wire.CodeParse, err.Error())
		return
	}
	r.sending.Lock()
	defer r.sending.Unlock()
	r.mu.Lock()
	if r.err != nil || len(r.open) >= maxAsked || c.closed {
		why := "too many requests wait for the server's answer"
		if r.err != nil {
			why = "the server is gone: " + r.err.Error()
		}
		r.mu.Unlock()
		if m.kind == call {
			c.refuse(m.validID(), mode, wire.CodeInternal, why)
		}
		return
	}
	r.resume(c)
	switch m.kind {
	case call:
		if m.validID() == nil {
			r.mu.Unlock()
			c.refuse(nil, mode, wire.CodeInvalidRequest, "id must be a string or a whole number")
			return
		}
		a := &asked{conn: c, id: bytes.Clone(m.id), mode: mode}
		if token := m.tree.Get(m.tree.Get(m.params, "_meta"), "progressToken"); token != 0 {
			a.token = bytes.Clone(m.tree.Raw(token))
		}
		switch {
		case m.modern != 0:
		case string(m.method) == "initialize":
			c.initialize, c.level, r.owner = bytes.Clone(msg), nil, c
		case string(m.method) == "logging/setLevel":
			c.level = bytes.Clone(msg)
		}
		c.recent = a
		n := r.number(a)
		r.mu.Unlock()
		r.send(m.renumbered(r.w.Begin(), n, a.token != nil))
	case notification:
		n, named := r.find(c, m.tree.Raw(m.tree.Get(m.params, "requestId")))
		r.mu.Unlock()
		if string(m.method) == "notifications/cancelled" {
			if named {
				r.cancel(n)
			}
			return
		}
		r.send(append(r.w.Begin(), compact(msg)...))
	case batch:
		r.mu.Unlock()
		c.refuse(nil, mode, wire.CodeInvalidRequest, "a batch cannot be passed on; send one message at a time")
	default:
		r.mu.Unlock()
		r.send(append(r.w.Begin(), compact(msg)...))
	}
}

// resume makes the stream's state that of c, where c has one. The caller has both locks.
func (r *Remote) resume(c *remoteConn) {
	if c.initialize == nil || r.owner == c || c.msg.modern != 0 || string(c.msg.method) == "initialize" {
		return
	}
	r.owner = c
	for _, again := range [][]byte{c.initialize, c.level} {
		var m message
		if again == nil || m.read(again, r.limits) != nil {
			continue
		}
		r.send(m.renumbered(r.w.Begin(), r.number(new(asked)), false))
	}
}

// number keeps a request and gives its number.
func (r *Remote) number(a *asked) uint64 {
	r.last++
	r.open[r.last] = a
	return r.last
}

// find is the number of a connection's request by its id.
func (r *Remote) find(c *remoteConn, id []byte) (n uint64, ok bool) {
	for n, a := range r.open {
		if a.conn == c && len(id) > 0 && bytes.Equal(a.id, id) {
			return n, true
		}
	}
	return 0, false
}

// send closes a message that was begun and writes it. The caller has r.sending.
func (r *Remote) send(message []byte) {
	r.w.End(message, r.mode)
	_ = r.w.Flush() // what breaks the stream, Run meets
}

func (r *Remote) cancel(n uint64) {
	dst := append(r.w.Begin(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	r.send(append(strconv.AppendUint(dst, n, 10), "}}"...))
}

// Flush has nothing to do: what is sent has gone, and answers come when they come.
func (c *remoteConn) Flush() error { return nil }

// Close cancels what still runs.
func (c *remoteConn) Close() {
	r := c.remote
	r.sending.Lock()
	defer r.sending.Unlock()
	r.mu.Lock()
	c.closed = true
	if r.owner == c {
		r.owner = nil
	}
	var open []uint64
	for n, a := range r.open {
		if a.conn == c {
			open = append(open, n)
			delete(r.open, n)
		}
	}
	dead := r.err != nil
	r.mu.Unlock()
	for _, n := range open {
		if !dead {
			r.cancel(n)
		}
	}
}

// refuse answers a message that is not passed on.
func (c *remoteConn) refuse(id []byte, mode frame.Mode, code int, why string) {
	c.write(appendError(nil, id, code, why, nil), mode)
}

// write gives a message to the front, in its framing.
func (c *remoteConn) write(message []byte, mode frame.Mode) {
	message = append(message, '\n')
	if mode >= frame.Tagged {
		message = append(message, byte(mode))
	}
	_, _ = c.out.Write(message)
}

// Run reads what the server says until its stream ends, and gives that error. All
// that still waits is answered with it.
func (r *Remote) Run(in io.Reader, limit int) error {
	messages := frame.NewReader(in, limit)
	for {
		msg, _, err := messages.Next()
		if _, ok := err.(*frame.Error); ok {
			continue
		}
		if err != nil {
			r.fail(err)
			return err
		}
		r.take(msg)
	}
}

func (r *Remote) fail(err error) {
	r.mu.Lock()
	r.err = err
	open := r.open
	r.open = map[uint64]*asked{}
	r.mu.Unlock()
	for _, a := range open {
		if a.conn != nil {
			a.conn.refuse(a.id, a.mode, wire.CodeInternal, "the server is gone: "+err.Error())
		}
	}
}

// take gives one message of the server to whom it is for.
func (r *Remote) take(msg []byte) {
	t := &r.tree
	if t.Scan(msg, wire.Limits{Values: 1 << 24}) != nil {
		return
	}
	root := t.Root()
	id, method := t.Get(root, "id"), t.Get(root, "method")
	params := t.Get(root, "params")
	switch {
	case method == 0 && id != 0:
		n, err := strconv.ParseUint(string(t.Raw(id)), 10, 64)
		r.mu.Lock()
		a := r.open[n]
		delete(r.open, n)
		r.mu.Unlock()
		if err == nil && a != nil && a.conn != nil {
			a.conn.write(r.answer(root, a), a.mode)
		}
	case method == 0: // an error about what could not be read, which the front has seen to
	case id != 0: // a question: the last call of the one whose state it is may have led to it
		if a := r.latest(); a != nil {
			a.conn.write(bytes.Clone(compact(msg)), a.mode)
		}
	default:
		key, token := "progressToken", t.Get(params, "progressToken")
		if token == 0 {
			key = "io.modelcontextprotocol/subscriptionId"
			token = t.Get(t.Get(params, "_meta"), key)
		}
		if token == 0 {
			if a := r.latest(); a != nil {
				a.conn.write(bytes.Clone(compact(msg)), a.mode)
			}
			return
		}
		n, err := strconv.ParseUint(string(t.Raw(token)), 10, 64)
		r.mu.Lock()
		a := r.open[n]
		r.mu.Unlock()
		if err != nil || a == nil || a.conn == nil {
			return
		}
		own := a.token
		if key != "progressToken" {
			own = a.id
		}
		a.conn.write(appendReplaced(nil, t, root, key, own), a.mode)
	}
}

// answer is an answer of the server with the client's own id, and with that of the
// subscription that it ends, if it ends one.
func (r *Remote) answer(root wire.Value, a *asked) []byte {
	t := &r.tree
	dst := append([]byte(`{"jsonrpc":"2.0","id":`), a.id...)
	for v, end := t.Children(root); v < end; v = t.Next(v) {
		switch key := t.Key(v); string(key) {
		case "jsonrpc", "id":
		default:
			dst = appendKey(dst, key)
			dst = appendReplaced(dst, t, v, "io.modelcontextprotocol/subscriptionId", a.id)
		}
	}
	return append(dst, '}')
}

// latest is the last request of the connection whose state the stream has, or else the
// last of all.
func (r *Remote) latest() *asked {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owner != nil && r.owner.recent != nil {
		return r.owner.recent
	}
	var found *asked
	var last uint64
	for n, a := range r.open {
		if a.conn != nil && n >= last {
			found, last = a, n
		}
	}
	return found
}

// renumbered appends a request with a number for its id, and for its progress token.
func (m *message) renumbered(dst []byte, n uint64, token bool) []byte {
	number := strconv.AppendUint(nil, n, 10)
	dst = append(dst, '{')
	t := &m.tree
	root := t.Root()
	for v, end := t.Children(root); v < end; v = t.Next(v) {
		key := t.Key(v)
		dst = appendKey(dst, key)
		switch {
		case string(key) == "id":
			dst = append(dst, number...)
		case string(key) == "params" && token:
			dst = appendReplaced(dst, t, v, "progressToken", number)
		default:
			dst = append(dst, compact(t.Raw(v))...)
		}
	}
	return append(dst, '}')
}

// appendReplaced appends a value, with another in the place of the members of its
// _meta, its params and its own that have this key.
func appendReplaced(dst []byte, t *wire.Tree, v wire.Value, key string, by []byte) []byte {
	if t.Kind(v) != wire.Object {
		return append(dst, compact(t.Raw(v))...)
	}
	dst = append(dst, '{')
	for m, end := t.Children(v); m < end; m = t.Next(m) {
		name := t.Key(m)
		dst = appendKey(dst, name)
		switch string(name) {
		case key:
			dst = append(dst, by...)
		case "_meta", "params", "result":
			dst = appendReplaced(dst, t, m, key, by)
		default:
			dst = append(dst, compact(t.Raw(m))...)
		}
	}
	return append(dst, '}')
}

// appendKey is wire.AppendKey for a key of any bytes.
func appendKey(dst, key []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(wire.AppendBytes(dst, key), ':')
}

// compact is JSON without line ends, as a line must be. There are none in strings.
func compact(text []byte) []byte {
	if bytes.IndexByte(text, '\n') < 0 {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte{'\n'}, []byte{' '}), []byte{'\r'}, []byte{' '})
}
