package rpc

import (
	"time"

	"boardhand/frame"
	"boardhand/rpc/wire"
)

// Call is one running call of a tool, a resource or a prompt: its checked
// arguments, and where its result goes. Arguments are numbered as in the
// entry's Params. Everything a Call gives is valid until Run returns; strings
// may be kept.
type Call struct {
	// Out is where the handler appends its result.
	Out []byte

	args     []arg
	bytes    []byte   // backs Bytes arguments
	strs     []string // backs Strings arguments
	deadline time.Time

	// Incomplete says that what a Raw handler has written is a question to the client,
	// "inputRequests", for MCP 2026-07-28.
	Incomplete bool

	conn    *Conn
	dialect *dialect
	mode    frame.Mode
	batch   *batch
	id      []byte
	level   LogLevel // what the caller asked to hear
	token   []byte   // the caller's progress token as JSON, or empty
	job     *job     // nil when the call runs on the dispatcher
	entry   entry

	// Entered and Hidden are the gate's own: what it knows of the call in Enter and
	// wants to know in Leave.
	Entered time.Time
	Hidden  bool

	client    string     // what the client calls itself, unless it said so in the request
	params    []byte     // of the request, for a Raw handler; else nil
	said      wire.Value // the object in which it did; only while its message is dispatched
	subjects  []Subject
	named     bool       // subjects are those of this call
	confirmed bool       // by a person
	state     wire.Value // params.requestState and inputResponses, while the message is dispatched
	responses wire.Value
}

// arg is one checked argument.
type arg struct {
	set    bool
	num    int64 // Integer, Hex, Boolean
	float  float64
	str    string
	lo, hi int // of Call.bytes or Call.strs
}

// entry is what a call runs, and how its answer is written.
type entry struct {
	name    string // for messages: "i2c_scan", "sensor://cpu-thermal"
	closed  string // why it may not run; empty: it may
	tool    *Tool  // nil: a resource or a prompt
	queue   func(c *Call) string
	timeout time.Duration
	run     func(c *Call) error
	answer  func(c *Call, err error) // holds the connection's turn
}

func (t *Tool) entry(answer func(c *Call, err error)) entry {
	return entry{t.Name, t.Closed, t, t.Queue, t.Timeout, t.Run, answer}
}

// Has says whether argument i was given.
func (c *Call) Has(i int) bool { return c.args[i].set }

// Str is the String argument i, or "".
func (c *Call) Str(i int) string { return c.args[i].str }

// Strs are the elements of the Strings argument i.
func (c *Call) Strs(i int) []string { return c.strs[c.args[i].lo:c.args[i].hi] }

// Int is the Integer or Hex argument i, or 0.
func (c *Call) Int(i int) int64 { return c.args[i].num }

// IntOr is the Integer or Hex argument i, or def where it was not given.
func (c *Call) IntOr(i int, def int64) int64 {
	if !c.args[i].set {
		return def
	}
	return c.args[i].num
}

// Num is the Number argument i, or 0.
func (c *Call) Num(i int) float64 { return c.args[i].float }

// Bool is the Boolean argument i, or false.
func (c *Call) Bool(i int) bool { return c.args[i].num != 0 }

// Bytes is the Bytes argument i.
func (c *Call) Bytes(i int) []byte { return c.bytes[c.args[i].lo:c.args[i].hi] }

// Deadline is when the caller gets its answer at the latest; zero for a call
// that runs on the dispatcher.
func (c *Call) Deadline() time.Time { return c.deadline }

// Cancelled says that nobody waits for this call any more: it was cancelled, its
// deadline passed or the connection went. A handler that takes long asks now
// and then, and stops.
func (c *Call) Cancelled() bool { return c.job != nil && c.job.gone.Load() }

// Wanted says whether the caller hears messages of this level; ask before
// building a costly one.
func (c *Call) Wanted(level LogLevel) bool { return level >= c.level }

// Log sends a message to the caller, if it asked for messages of this level.
// The text must hold no secret.
func (c *Call) Log(level LogLevel, logger, text string) {
	if !c.Wanted(level) {
		return
	}
	c.notify(func(dst []byte) []byte {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`...)
		dst = append(dst, level.String()...)
		dst = append(dst, `","logger":`...)
		dst = wire.AppendString(dst, logger)
		dst = append(dst, `,"data":`...)
		dst = wire.AppendString(dst, text)
		return append(dst, `}}`...)
	})
}

// Progress tells the caller how far a call is, if it gave a token. done must
// grow; total is 0 where it is unknown. More than ten a second are dropped.
func (c *Call) Progress(done, total float64, text string) {
	if len(c.token) == 0 || c.job == nil || !c.job.mayReport(done) {
		return
	}
	c.notify(func(dst []byte) []byte {
		dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
		dst = append(dst, c.token...)
		dst = append(dst, `,"progress":`...)
		dst = wire.AppendFloat(dst, done)
		if total > 0 {
			dst = append(dst, `,"total":`...)
			dst = wire.AppendFloat(dst, total)
		}
		if text != "" && c.dialect.progressText {
			dst = append(dst, `,"message":`...)
			dst = wire.AppendString(dst, text)
		}
		return append(dst, `}}`...)
	})
}

// notify sends a notification about this call, unless its answer has gone out.
func (c *Call) notify(message func(dst []byte) []byte) {
	if !c.dialect.notifies {
		return
	}
	if c.job == nil {
		c.conn.put(c.mode, message)
		return
	}
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	if c.job.gone.Load() {
		return
	}
	c.conn.put(c.mode, message)
	c.conn.flush()
}
