package rpc

import (
	"math"
	"slices"
	"strconv"

	"boardhand/rpc/wire"
)

// check brings the arguments in o, an object or 0, into call in the forms that
// params name. Its error is for the model: it names the parameter, the value and
// what is allowed. Names are exact and may stand once.
func (c *Conn) check(call *Call, params []Param, o wire.Value) error {
	call.args = call.args[:0]
	for range params {
		call.args = append(call.args, arg{})
	}
	call.bytes, call.strs = call.bytes[:0], call.strs[:0]
	for m, end := c.tree.Children(o); m < end; m = c.tree.Next(m) {
		key := c.tree.Key(m)
		i := slices.IndexFunc(params, func(p Param) bool { return string(key) == p.Name })
		if i < 0 {
			return &unknownError{brief(key), params}
		}
		if call.args[i].set {
			return &argError{&params[i], "stands twice"}
		}
		if err := c.checkOne(call, &params[i], &call.args[i], m); err != nil {
			return err
		}
	}
	for i := range params {
		if params[i].Required && !call.args[i].set {
			return &argError{&params[i], missing}
		}
	}
	return nil
}

// missing is what is wrong with a required argument that was not given.
const missing = "is missing"

// argError says what is wrong with one argument.
type argError struct {
	p    *Param
	what string
}

func (e *argError) Error() string {
	return `parameter "` + e.p.Name + `" ` + e.what + `; it is ` + e.p.allowed()
}

// unknownError says that a tool has no such parameter.
type unknownError struct {
	name   string
	params []Param
}

func (e *unknownError) Error() string {
	s := `there is no parameter "` + e.name + `"; `
	if len(e.params) == 0 {
		return s + "none are taken"
	}
	s += "allowed: "
	for i := range e.params {
		if i > 0 {
			s += ", "
		}
		s += e.params[i].Name
	}
	return s
}

// allowed says in words what a parameter takes.
func (p *Param) allowed() string {
	bounds := func(what, unit string) string {
		if p.Min == 0 && p.Max == 0 {
			return what
		}
		return what + " from " + strconv.FormatInt(p.Min, 10) + " to " + strconv.FormatInt(p.Max, 10) + unit
	}
	s := ""
	switch p.Type {
	case Strings:
		s = "an array of 1 to " + strconv.Itoa(p.maxItems()) + " strings"
	case Integer:
		s = bounds("a whole number", "")
	case Hex:
		s = "a number as a string such as \"0x76\" or \"118\""
		if p.Max != 0 {
			s += ", from 0x" + strconv.FormatInt(p.Min, 16) + " to 0x" + strconv.FormatInt(p.Max, 16)
		}
		if p.Names != nil {
			s += ", or a name of the board file"
		}
	case Number:
		s = bounds("a number", "")
	case Boolean:
		s = "true or false"
	case Bytes:
		s = bounds("a string of hex digits such as \"0a ff\"", " bytes")
	default:
		if len(p.Choices) == 0 {
			s = bounds("a string", " bytes long")
			if p.Min == 0 && p.Max != 0 {
				s = "a string of at most " + strconv.FormatInt(p.Max, 10) + " bytes"
			}
			break
		}
		s = "one of"
		for i, c := range p.Choices {
			if i > 0 {
				s += ","
			}
			s += " " + c
		}
	}
	if p.Required {
		s += ", required"
	}
	if p.Description != "" {
		s += ": " + p.Description
	}
	return s
}

func (c *Conn) checkOne(call *Call, p *Param, a *arg, v wire.Value) error {
	t := &c.tree
	wrong := func(what string) error { return &argError{p, what} }
	switch p.Type {
	case Boolean:
		switch t.Kind(v) {
		case wire.True:
			a.num = 1
		case wire.False:
		default:
			return wrong("is " + c.kind(v))
		}
	case Integer, Hex:
		named := false
		switch {
		case t.Kind(v) == wire.Number:
			n, ok := wholeNumber(t.Raw(v))
			if !ok {
				return wrong("is " + brief(t.Raw(v)))
			}
			a.num = n
		case p.Type == Hex && t.Kind(v) == wire.String:
			text := t.Text(v)
			n, err := strconv.ParseUint(string(text), 0, 63)
			a.num = int64(n)
			if err != nil && p.Names != nil {
				if a.num, named = p.Names(string(text)); named {
					a.str = c.intern(text)
				}
			}
			if err != nil && !named {
				return wrong("is " + quote(text))
			}
		default:
			return wrong("is " + c.kind(v))
		}
		if !named && (p.Min != 0 || p.Max != 0) && (a.num < p.Min || a.num > p.Max) {
			if p.Type == Hex {
				return wrong("is 0x" + strconv.FormatInt(a.num, 16))
			}
			return wrong("is " + strconv.FormatInt(a.num, 10))
		}
	case Number:
		if t.Kind(v) != wire.Number {
			return wrong("is " + c.kind(v))
		}
		f, err := strconv.ParseFloat(string(t.Raw(v)), 64)
		if err != nil || (p.Min != 0 || p.Max != 0) && (f < float64(p.Min) || f > float64(p.Max)) {
			return wrong("is " + brief(t.Raw(v)))
		}
		a.float = f
	case Strings:
		a.lo = len(call.strs)
		if t.Kind(v) == wire.String {
			s, err := c.checkString(p, t.Text(v))
			if err != nil {
				return err
			}
			call.strs = append(call.strs, s)
		} else {
			if t.Kind(v) != wire.Array {
				return wrong("is " + c.kind(v))
			}
			if n := t.Len(v); n == 0 || n > p.maxItems() {
				return wrong("has " + strconv.Itoa(n) + " elements")
			}
			for item, end := t.Children(v); item < end; item = t.Next(item) {
				if t.Kind(item) != wire.String {
					return wrong("holds " + c.kind(item))
				}
				s, err := c.checkString(p, t.Text(item))
				if err != nil {
					return err
				}
				call.strs = append(call.strs, s)
			}
		}
		a.hi = len(call.strs)
	case Bytes:
		if t.Kind(v) != wire.String {
			return wrong("is " + c.kind(v))
		}
		text := t.Text(v)
		a.lo = len(call.bytes)
		var ok bool
		call.bytes, ok = appendUnhex(call.bytes, text)
		if !ok {
			return wrong("is " + quote(text))
		}
		a.hi = len(call.bytes)
		if n := int64(a.hi - a.lo); n > MaxString || (p.Min != 0 || p.Max != 0) && (n < p.Min || n > p.Max) {
			return wrong("has " + strconv.FormatInt(n, 10) + " bytes")
		}
	default:
		if t.Kind(v) != wire.String {
			return wrong("is " + c.kind(v))
		}
		var err error
		if a.str, err = c.checkString(p, t.Text(v)); err != nil {
			return err
		}
		if len(p.Choices) > 0 {
			for _, choice := range p.Choices {
				if choice == a.str {
					a.set = true
					return nil
				}
			}
			return wrong("is " + quote([]byte(a.str)))
		}
	}
	a.set = true
	return nil
}

// checkString gives a string argument of a length that p allows.
func (c *Conn) checkString(p *Param, b []byte) (string, error) {
	n, lo, hi := int64(len(b)), p.Min, p.Max
	if lo == 0 && hi == 0 {
		hi = MaxString
	}
	if n < lo || n > hi {
		return "", &argError{p, "is " + strconv.FormatInt(n, 10) + " bytes long, where " +
			strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10) + " are allowed"}
	}
	return c.intern(b), nil
}

// quote shows a string argument in a message, cut short.
func quote(b []byte) string {
	if len(b) > 60 {
		b = append(append([]byte(nil), b[:60]...), "…"...)
	}
	return string(wire.AppendBytes(nil, b))
}

// wholeNumber is a JSON number's value where it is whole and fits int64 exactly;
// 1.0 and 1e3 are whole.
func wholeNumber(raw []byte) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// appendUnhex reads hex digits in pairs; blanks, colons and a leading 0x are passed over.
func appendUnhex(dst, text []byte) ([]byte, bool) {
	if len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		text = text[2:]
	}
	high, half := byte(0), false
	for _, b := range text {
		var n byte
		switch {
		case b >= '0' && b <= '9':
			n = b - '0'
		case b >= 'a' && b <= 'f':
			n = b - 'a' + 10
		case b >= 'A' && b <= 'F':
			n = b - 'A' + 10
		case (b == ' ' || b == ':') && !half:
			continue
		default:
			return dst, false
		}
		if half {
			dst = append(dst, high<<4|n)
		} else {
			high = n
		}
		half = !half
	}
	return dst, !half
}

// intern gives b as a string without allocating for one that it has seen: most
// arguments are the same few names. Long ones are not kept.
func (c *Conn) intern(b []byte) string {
	if s, ok := c.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(s) <= maxInternLen {
		if len(c.names) >= maxInterned {
			clear(c.names)
		}
		c.names[s] = s
	}
	return s
}

// The interned strings are at most 32 KiB.
const (
	maxInterned  = 512
	maxInternLen = 64
)
