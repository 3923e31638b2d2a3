package rpc

import (
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"weak"

	"boardhand/frame"
	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// Conn is one connection to a client: what it has said of itself, the calls that
// run for it, and its output. Handle is called by one goroutine; jobs take the
// same turn when they end, so the server does one thing at a time.
type Conn struct {
	srv *Server
	w   *frame.Writer

	mu      sync.Mutex // the turn: everything below
	session *dialect   // what initialize agreed on; nil before
	level   LogLevel   // by logging/setLevel
	client  string     // what it calls itself, by initialize
	asks    bool       // it can ask a person, as initialize said
	gate    Gate       // or nil
	asked   uint64     // how many questions it was given, which are so numbered
	pending pending    // by Call.Ask
	asking  string     // what their ids begin with: an answer to one of another connection is none to these
	jobs    []*job
	waiting sync.WaitGroup // of jobs
	running atomic.Int32   // len(jobs), for Idle: the stream asks while it is written to, in the turn
	writing atomic.Bool    // to a client that may not read

	tree    wire.Tree                     // the message at hand
	parser  *fastjson.Parser              // of its strings that have escapes
	big     weak.Pointer[fastjson.Parser] // of long ones, which the garbage collector may take
	req     request                       // the request at hand
	inline  Call                          // the call that runs on the dispatcher
	names   map[string]string
	scratch []byte
	err     error // of the writer, once
	closed  bool
}

// ErrClosed says that a connection was closed while it was served.
var ErrClosed = errors.New("the connection was closed")

// NewConn opens a connection whose answers go to out, several in one Write.
func (s *Server) NewConn(out io.Writer) *Conn {
	c := &Conn{
		srv:    s,
		w:      frame.NewWriter(out),
		parser: new(fastjson.Parser),
		level:  LogOff,
		names:  make(map[string]string),
	}
	s.newest.Store(c)
	c.tree.Unescape = c.unescape
	if s.cat.Gate != nil {
		c.gate = s.cat.Gate()
	}
	return c
}

// unescape undoes a string's escapes. The scanner has passed the string before:
// fastjson takes more than JSON is.
func (c *Conn) unescape(dst, quoted []byte) []byte {
	parser := c.parser
	if len(quoted) > keepCall {
		if parser = c.big.Value(); parser == nil {
			parser = new(fastjson.Parser)
			c.big = weak.Make(parser)
		}
	}
	v, err := parser.ParseBytes(quoted)
	if err != nil {
		panic(err)
	}
	return append(dst, v.GetStringBytes()...)
}

// What a call was given and wrote is not kept after a message of more bytes than
// this, nor is the parser of a longer string.
const keepCall = 16 << 10

// Answers leave at the latest when so many bytes are waiting, so that a client
// that only asks cannot make them pile up. With one more answer of the common
// size they are still less than what the frame.Writer keeps of its buffer.
const flushAt = 32 << 10

// Handle takes one message and answers it, or starts what will. The message is
// not kept. Answers stay in the buffer until Flush.
func (c *Conn) Handle(msg []byte, mode frame.Mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handle(msg, mode)
	if c.w.Len() > flushAt {
		c.flush()
	}
}

// Flush writes out all answers that are ready. Its error, once met, stays: the
// client is gone.
func (c *Conn) Flush() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flush()
	return c.err
}

func (c *Conn) flush() {
	if c.w.Len() == 0 {
		return
	}
	c.writing.Store(true)
	err := c.w.Flush()
	c.writing.Store(false)
	if err != nil && c.err == nil {
		c.err = err
	}
}

// Trim gives up what is kept for the next message, some 5 KiB, where nothing is pending:
// it is for a connection among many that has not been used for a while.
func (c *Conn) Trim() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.w.Trim()
	c.tree = wire.Tree{Unescape: c.tree.Unescape}
	c.inline, c.scratch = Call{}, nil
}

// Close ends every call that still waits, without an answer, and what serves the
// connection: no further message is taken.
func (c *Conn) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for len(c.jobs) > 0 {
		j := c.jobs[0]
		c.drop(j)
		c.leave(j.call, Dropped, errCancelled)
	}
}

// Wait returns when no call is waiting any more. No message may be handled meanwhile.
func (c *Conn) Wait() { c.waiting.Wait() }

// Idle says that no call is waiting. It may be asked at any time, by the writer
// that Flush writes to as well.
func (c *Conn) Idle() bool { return c.running.Load() == 0 }

// Answers says that at this moment nobody has the turn of the connection that was opened
// last, or that its client is waited for to read. A dispatcher that hangs never gives the
// turn back.
func (s *Server) Answers() bool {
	c := s.newest.Load()
	if c == nil || c.writing.Load() {
		return true
	}
	if !c.mu.TryLock() {
		return false
	}
	c.mu.Unlock()
	return true
}

func (c *Conn) handle(msg []byte, mode frame.Mode) {
	if err := c.tree.Scan(msg, wire.Limits{Depth: c.srv.limits.Depth, Values: c.srv.limits.Values}); err != nil {
		p := &problem{code: wire.CodeParse, message: err.Error()}
		if _, ok := err.(*wire.LimitError); ok {
			p.code = wire.CodeInvalidRequest
		}
		c.fail(&request{mode: mode}, p)
		return
	}
	if v := c.tree.Root(); c.tree.Kind(v) == wire.Array {
		c.handleBatch(v, mode)
	} else {
		c.req.mode = mode
		c.one(&c.req, v)
	}
	// Nothing is left that points into the message, whose buffer may be a large one.
	c.tree.Clear()
	c.req = request{}
	c.inline.id, c.inline.token = nil, nil
	if len(msg) > keepCall {
		c.inline = Call{}
	}
}

// one serves one request or notification. Like a handler, it may fail inside: the
// request is answered all the same, and the next one is served.
func (c *Conn) one(r *request, v wire.Value) {
	defer func() {
		if v := recover(); v != nil {
			c.srv.panics("the dispatcher", v, debug.Stack())
			c.w.Abort()
			c.reply(r, &problem{code: wire.CodeInternal, message: errPanic.Error()})
		}
	}()
	p := c.read(r, v)
	switch {
	case p == errResponse:
		r.id = nil // it is not one to answer
		c.answered(v)
		c.skip(r)
	case p != nil:
		if r.id == nil && r.method != nil {
			c.skip(r) // a notification is never answered, not even a wrong one
			return
		}
		c.fail(r, p)
	default:
		c.dispatch(r)
	}
}

// dispatch finds the dialect of a request and its method. A request says by
// itself which dialect it is in, so both eras work on one connection.
func (c *Conn) dispatch(r *request) {
	d := c.dialectOf(r)
	if r.null && d != c.srv.v1 {
		c.reply(r, badParams(`"params" must be an object, not null`))
		return
	}
	if d == nil {
		c.unready(r)
		return
	}
	if r.id == nil {
		c.notified(r)
		return
	}
	m := d.methods(r.method)
	if m == nil && c.srv.cat.Methods != nil {
		m = c.srv.more(r.method)
	}
	if m == nil {
		c.fail(r, &problem{code: wire.CodeMethodNotFound, message: "method " + quote(r.method) + " does not exist in MCP " + d.version})
		return
	}
	for _, j := range c.jobs {
		if string(j.call.id) == string(r.id) {
			c.fail(r, badRequest("id "+brief(r.id)+" is in use by a call that still runs"))
			return
		}
	}
	if d.complete {
		if p := c.checkMeta(r); p != nil {
			c.fail(r, p)
			return
		}
	}
	m(c, r)
}

func (c *Conn) dialectOf(r *request) *dialect {
	switch {
	case r.meta.modern():
		if c.session != nil && c.session != c.srv.v1 && string(c.tree.Text(r.meta.version)) == c.session.version {
			return c.session // a client that repeats what initialize agreed on
		}
		return c.srv.ready(c.srv.modern)
	case len(r.method) > 4 && string(r.method[:4]) == "mcp/":
		if c.session == c.srv.v1 {
			return c.session
		}
		return nil
	case string(r.method) == "server/discover":
		return c.srv.ready(c.srv.modern)
	case string(r.method) == "initialize":
		return c.srv.handshake
	}
	return c.session
}

// unready answers what may not come before initialize.
func (c *Conn) unready(r *request) {
	switch {
	case r.id == nil:
		c.notified(r)
	case string(r.method) == "ping":
		c.empty(r)
	case len(r.method) > 4 && string(r.method[:4]) == "mcp/":
		c.fail(r, badRequest("send initialize with clientCapabilities first; then "+quote(r.method)+" is served"))
	default:
		c.fail(r, badParams("params._meta lacks "+metaVersion+" and "+metaCapabilities+
			", which MCP 2026-07-28 requires of every request; or send initialize first, for MCP 2025-11-25 and older"))
	}
}

// notified takes a notification. Of all that a client may send, only the end of its
// interest in a call means something here.
func (c *Conn) notified(r *request) {
	if string(r.method) == "notifications/cancelled" {
		if id := c.tree.Get(r.params, "requestId"); id != 0 {
			c.cancel(c.tree.Raw(id))
		}
	}
	c.skip(r)
}

// begin opens the answer to r in the buffer that it goes to.
func (c *Conn) begin(b *batch) []byte {
	if b != nil {
		return wire.AppendSep(b.out)
	}
	return c.w.Begin()
}

// end closes the answer that begin opened.
func (c *Conn) end(b *batch, mode frame.Mode, dst []byte) {
	if b != nil {
		b.out = dst
		c.batchDone(b)
		return
	}
	c.w.End(dst, mode)
}

// put sends a notification of the server.
func (c *Conn) put(mode frame.Mode, message func(dst []byte) []byte) {
	c.w.End(message(c.w.Begin()), mode)
}

// skip counts a request that gets no answer.
func (c *Conn) skip(r *request) {
	if r.batch != nil {
		c.batchDone(r.batch)
	}
}

// result opens the answer to a request: what is appended must be members of the
// result object, each by wire.AppendKey, then close it by endResult.
func (c *Conn) result(b *batch, d *dialect, id []byte) []byte {
	dst := append(c.begin(b), `{"jsonrpc":"2.0","id":`...)
	dst = append(append(dst, id...), `,"result":{`...)
	return append(dst, d.head...)
}

func (c *Conn) endResult(b *batch, mode frame.Mode, dst []byte) { c.end(b, mode, append(dst, "}}"...)) }

// rendered answers with members that were rendered before, head included.
func (c *Conn) rendered(r *request, members []byte) {
	dst := append(c.begin(r.batch), `{"jsonrpc":"2.0","id":`...)
	dst = append(append(dst, r.id...), `,"result":{`...)
	c.endResult(r.batch, r.mode, append(dst, members...))
}

// empty answers with an empty result.
func (c *Conn) empty(r *request) { c.rendered(r, nil) }

// reply answers with an error, or not at all to a notification.
func (c *Conn) reply(r *request, p *problem) {
	if r.id == nil {
		c.skip(r)
		return
	}
	c.fail(r, p)
}

// fail answers with an error object. Without an id the error is about a message
// whose id could not be read.
func (c *Conn) fail(r *request, p *problem) { c.failID(r.batch, r.mode, r.id, p) }

func (c *Conn) failID(b *batch, mode frame.Mode, id []byte, p *problem) {
	dst := append(c.begin(b), `{"jsonrpc":"2.0",`...)
	switch {
	case id != nil:
		dst = append(append(append(dst, `"id":`...), id...), ',')
	case c.session != nil && c.session.nullID:
		dst = append(dst, `"id":null,`...)
	}
	dst = wire.AppendInt(append(dst, `"error":{"code":`...), int64(p.code))
	dst = wire.AppendString(append(dst, `,"message":`...), p.message)
	if p.data != nil {
		dst = append(append(dst, `,"data":`...), p.data...)
	}
	c.end(b, mode, append(dst, "}}"...))
}
