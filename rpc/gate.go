package rpc

import (
	"errors"
	"strconv"
	"unicode/utf8"

	"boardhand/rpc/wire"
)

// Gate stands between the checked arguments of every call, of a tool, a resource
// or a prompt in any dialect, and its handler. One gate serves one connection,
// which asks it in its turn: it must not wait for anything, and keeps nothing of
// a call.
type Gate interface {
	// Enter decides on a call. One that a person has confirmed enters once more
	// before it runs, and then must pass or be refused.
	Enter(c *Call) Verdict
	// Leave is told, once for each call that entered, how it ended. err is what the
	// caller is told in place of a result. Only where it ended Answered, without err,
	// is c.Out its result, and may it be looked at.
	Leave(c *Call, end Ending, err error)
}

// Verdict is what becomes of a call.
type Verdict struct {
	Action Action
	// Why is, of a refusal, what the caller is told: which rule it was, where it
	// stands and what to do. Of a question it is the rule that asks, for the person:
	// `board.toml:12: line "pump": confirm = true`.
	Why string
}

// Action is what a gate has decided.
type Action uint8

// The actions.
const (
	Pass   Action = iota // the call runs
	Refuse               // the caller is told why it does not
	Ask                  // a person decides
)

// Ending is how a call has ended.
type Ending uint8

// The endings.
const (
	Answered    Ending = iota // the handler has returned, with an error or without
	Refused                   // it did not run: a rule or a limit was against it
	Asked                     // it did not run: a stateless client has the question, and may come again with the answer
	Unconfirmed               // it did not run: the person said no or nothing, or could not be asked
	Expired                   // its deadline passed; where it has Begun, whether it acted is unknown
	Dropped                   // it was cancelled, or its connection went; where it has Begun, whether it acted is unknown
)

// Subject is a thing that a call touches: what a rule about single things is
// matched with. What a number does not apply to, or may be any, is -1.
type Subject struct {
	Family      string // "gpio", "i2c"
	Name        string // of the line, the bus, the port
	Address     int64  // on the bus
	Kind        string // of registers, where a device has several
	First, Last int64  // the registers
	Level       int64  // that it is left at, where the call does no more than that
}

// Thing is the subject that a name alone says.
func Thing(family, name string) Subject {
	return Subject{Family: family, Name: name, Address: -1, First: -1, Last: -1, Level: -1}
}

// AppendText appends how a subject is called in messages: "gpio pump", "i2c i2c-1
// 0x76 0xf4".
func (s *Subject) AppendText(dst []byte) []byte {
	dst = append(append(append(dst, s.Family...), ' '), s.Name...)
	if s.Address >= 0 {
		dst = strconv.AppendInt(append(dst, " 0x"...), s.Address, 16)
	}
	if s.Kind != "" {
		dst = append(append(dst, ' '), s.Kind...)
	}
	if s.First >= 0 {
		dst = strconv.AppendInt(append(dst, " 0x"...), s.First, 16)
		if s.Last > s.First {
			dst = strconv.AppendInt(append(dst, "-0x"...), s.Last, 16)
		}
	}
	return dst
}

// Tool is the tool that is called; nil where it is a resource or a prompt.
func (c *Call) Tool() *Tool { return c.entry.tool }

// Name is that of the tool or the prompt, or the URI of the resource.
func (c *Call) Name() string { return c.entry.name }

// Confirmed says that a person has agreed to this call.
func (c *Call) Confirmed() bool { return c.confirmed }

// Begun says whether the handler has begun.
func (c *Call) Begun() bool { return c.job == nil || c.job.begun.Load() }

// Client is the name that the client gives itself, with its version; "" where it
// has given none. It is for people to read, and proves nothing.
func (c *Call) Client() string {
	if c.said != 0 {
		c.client = c.conn.clientName(c.said)
		c.said = 0
	}
	return c.client
}

// Subjects are the things that the call touches, as its tool says; nil where it
// says nothing.
func (c *Call) Subjects() []Subject {
	if t := c.entry.tool; !c.named && t != nil && t.Subjects != nil {
		c.subjects = t.Subjects(c, c.subjects[:0])
	}
	c.named = true
	return c.subjects
}

// maxClientName bounds what is kept of a client's name and version, in bytes each.
const maxClientName = 64

// clientName reads an Implementation object.
func (c *Conn) clientName(v wire.Value) string {
	name, version := c.tree.Text(c.tree.Get(v, "name")), c.tree.Text(c.tree.Get(v, "version"))
	c.scratch = append(c.scratch[:0], clip(name, maxClientName)...)
	if len(version) > 0 {
		c.scratch = append(append(c.scratch, ' '), clip(version, maxClientName)...)
	}
	return c.intern(c.scratch)
}

// clip is the first whole characters of b, at most n bytes.
func clip(b []byte, n int) []byte {
	if len(b) <= n {
		return b
	}
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

// hidden stands for what is secret.
const hidden = `"***"`

// Secret says whether an argument was given that is marked secret.
func (c *Call) Secret() bool {
	t := c.entry.tool
	if t == nil || !t.secret {
		return false
	}
	for i := range t.Params {
		if t.Params[i].Secret && c.args[i].set {
			return true
		}
	}
	return false
}

// AppendArguments appends the checked arguments of a tool's call as a JSON object.
// Of each text and each run of bytes at most limit bytes are shown, and how many
// there are; what is marked secret is not.
func (c *Call) AppendArguments(dst []byte, limit int) []byte {
	dst = append(dst, '{')
	t := c.entry.tool
	for i := 0; t != nil && i < len(t.Params); i++ {
		p, a := &t.Params[i], &c.args[i]
		if !a.set {
			continue
		}
		dst = wire.AppendKey(dst, p.Name)
		if p.Secret {
			dst = append(dst, hidden...)
			continue
		}
		switch p.Type {
		case String:
			dst = appendClipped(dst, a.str, limit)
		case Strings:
			dst = append(dst, '[')
			for _, s := range c.Strs(i) {
				dst = appendClipped(wire.AppendSep(dst), s, limit)
			}
			dst = append(dst, ']')
		case Integer:
			dst = wire.AppendInt(dst, a.num)
		case Hex:
			if a.str != "" { // a name
				dst = appendClipped(dst, a.str, limit)
				break
			}
			dst = append(strconv.AppendInt(append(dst, `"0x`...), a.num, 16), '"')
		case Number:
			dst = wire.AppendFloat(dst, a.float)
		case Boolean:
			dst = wire.AppendBool(dst, a.num != 0)
		case Bytes:
			b := c.Bytes(i)
			if len(b) <= limit {
				dst = wire.AppendHex(dst, b)
				break
			}
			dst = wire.AppendHex(dst, b[:limit])
			dst = appendMore(dst, len(b))
		}
	}
	return append(dst, '}')
}

// appendClipped appends a string, cut short where it is longer than limit bytes.
func appendClipped(dst []byte, s string, limit int) []byte {
	if len(s) <= limit {
		return wire.AppendString(dst, s)
	}
	return appendMore(wire.AppendBytes(dst, clip([]byte(s), limit)), len(s))
}

// appendMore says in the string that dst ends with of how many bytes it is a part.
func appendMore(dst []byte, n int) []byte {
	dst = append(dst[:len(dst)-1], "… ("...)
	return append(wire.AppendInt(dst, int64(n)), ` bytes)"`...)
}

// admit asks whether a call may run now. If it may not, it has been answered, or
// will be when a person has decided.
func (c *Conn) admit(call *Call) bool {
	var v Verdict
	if c.gate != nil {
		v = c.gate.Enter(call)
	}
	if why := call.entry.closed; why != "" && v.Action != Refuse {
		v = Verdict{Refuse, why}
	}
	switch v.Action {
	case Pass:
		return true
	case Refuse:
		c.deny(call, Refused, errors.New(v.Why))
		return false
	}
	return c.consent(call, v.Why) && c.readmit(call)
}

// readmit asks once more for a call that a person has confirmed.
func (c *Conn) readmit(call *Call) bool {
	call.confirmed = true
	if v := c.gate.Enter(call); v.Action != Pass {
		c.deny(call, Refused, errors.New(v.Why))
		return false
	}
	return true
}

// deny answers a call that does not run.
func (c *Conn) deny(call *Call, end Ending, err error) {
	c.leave(call, end, err)
	call.entry.answer(call, err)
}

// leave tells the gate how a call has ended.
func (c *Conn) leave(call *Call, end Ending, err error) {
	if c.gate != nil {
		c.gate.Leave(call, end, err)
	}
}
