package rpc

import (
	"errors"
	"math"
	"strconv"
	"weak"

	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// parse makes a tree of a call's arguments, an object or nothing; nil for nothing. The
// tree is valid until the next parse. The strict scanner has passed the text before:
// fastjson takes more than JSON is, and needs limits.
func (c *Conn) parse(arguments wire.Value) (*fastjson.Object, error) {
	if arguments == 0 {
		return nil, nil
	}
	raw := c.tree.Raw(arguments)
	parser := c.parser
	if len(raw) > keepCall {
		if parser = c.big.Value(); parser == nil {
			parser = new(fastjson.Parser)
			c.big = weak.Make(parser)
		}
	}
	v, err := parser.ParseBytes(raw)
	if err != nil {
		return nil, errors.New("the JSON parser refused the arguments")
	}
	return v.Object()
}

// check brings a call's arguments into the forms that params name. Its error is for
// the model: it names the parameter, the value and what is allowed. Names are exact
// and may stand once.
func (c *Conn) check(call *Call, params []Param, arguments wire.Value) error {
	o, err := c.parse(arguments)
	if err != nil {
		return err
	}
	call.args = call.args[:0]
	for range params {
		call.args = append(call.args, arg{})
	}
	call.bytes, call.strs = call.bytes[:0], call.strs[:0]
	o.Visit(func(key []byte, v *fastjson.Value) {
		if err != nil {
			return
		}
		for i := range params {
			if string(key) != params[i].Name {
				continue
			}
			if call.args[i].set {
				err = &argError{&params[i], "stands twice"}
				return
			}
			err = c.checkOne(call, &params[i], &call.args[i], v)
			return
		}
		err = &unknownError{brief(key), params}
	})
	if err != nil {
		return err
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

func (c *Conn) checkOne(call *Call, p *Param, a *arg, v *fastjson.Value) error {
	wrong := func(what string) error { return &argError{p, what} }
	switch p.Type {
	case Boolean:
		switch v.Type() {
		case fastjson.TypeTrue:
			a.num = 1
		case fastjson.TypeFalse:
		default:
			return wrong("is " + typeOf(v))
		}
	case Integer, Hex:
		switch {
		case v.Type() == fastjson.TypeNumber:
			n, ok := wholeNumber(v)
			if !ok {
				return wrong("is " + brief(v.MarshalTo(nil)))
			}
			a.num = n
		case p.Type == Hex && v.Type() == fastjson.TypeString:
			n, err := strconv.ParseUint(c.intern(v.GetStringBytes()), 0, 63)
			if err != nil {
				return wrong("is " + quote(v.GetStringBytes()))
			}
			a.num = int64(n)
		default:
			return wrong("is " + typeOf(v))
		}
		if (p.Min != 0 || p.Max != 0) && (a.num < p.Min || a.num > p.Max) {
			if p.Type == Hex {
				return wrong("is 0x" + strconv.FormatInt(a.num, 16))
			}
			return wrong("is " + strconv.FormatInt(a.num, 10))
		}
	case Number:
		if v.Type() != fastjson.TypeNumber {
			return wrong("is " + typeOf(v))
		}
		f, err := v.Float64()
		if err != nil || math.IsInf(f, 0) || (p.Min != 0 || p.Max != 0) && (f < float64(p.Min) || f > float64(p.Max)) {
			return wrong("is " + brief(v.MarshalTo(nil)))
		}
		a.float = f
	case Strings:
		a.lo = len(call.strs)
		if v.Type() == fastjson.TypeString {
			if err := c.checkString(p, v); err != nil {
				return err
			}
			call.strs = append(call.strs, c.intern(v.GetStringBytes()))
		} else {
			if v.Type() != fastjson.TypeArray {
				return wrong("is " + typeOf(v))
			}
			items := v.GetArray()
			if len(items) == 0 || len(items) > p.maxItems() {
				return wrong("has " + strconv.Itoa(len(items)) + " elements")
			}
			for _, item := range items {
				if item.Type() != fastjson.TypeString {
					return wrong("holds " + typeOf(item))
				}
				if err := c.checkString(p, item); err != nil {
					return err
				}
				call.strs = append(call.strs, c.intern(item.GetStringBytes()))
			}
		}
		a.hi = len(call.strs)
	case Bytes:
		if v.Type() != fastjson.TypeString {
			return wrong("is " + typeOf(v))
		}
		a.lo = len(call.bytes)
		var ok bool
		call.bytes, ok = appendUnhex(call.bytes, v.GetStringBytes())
		if !ok {
			return wrong("is " + quote(v.GetStringBytes()))
		}
		a.hi = len(call.bytes)
		if n := int64(a.hi - a.lo); n > MaxString || (p.Min != 0 || p.Max != 0) && (n < p.Min || n > p.Max) {
			return wrong("has " + strconv.FormatInt(n, 10) + " bytes")
		}
	default:
		if v.Type() != fastjson.TypeString {
			return wrong("is " + typeOf(v))
		}
		if err := c.checkString(p, v); err != nil {
			return err
		}
		a.str = c.intern(v.GetStringBytes())
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

func (c *Conn) checkString(p *Param, v *fastjson.Value) error {
	b := v.GetStringBytes()
	n, lo, hi := int64(len(b)), p.Min, p.Max
	if lo == 0 && hi == 0 {
		hi = MaxString
	}
	if n < lo || n > hi {
		return &argError{p, "is " + strconv.FormatInt(n, 10) + " bytes long, where " +
			strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10) + " are allowed"}
	}
	return nil
}

// typeOf names the type of an argument for a message.
func typeOf(v *fastjson.Value) string {
	switch v.Type() {
	case fastjson.TypeObject:
		return "an object"
	case fastjson.TypeArray:
		return "an array"
	case fastjson.TypeString:
		return "a string"
	case fastjson.TypeNumber:
		return "a number"
	case fastjson.TypeNull:
		return "null"
	}
	return "a boolean"
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
func wholeNumber(v *fastjson.Value) (int64, bool) {
	if n, err := v.Int64(); err == nil {
		return n, true
	}
	f, err := v.Float64()
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
