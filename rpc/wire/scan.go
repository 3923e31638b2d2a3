package wire

import (
	"bytes"
	"math/bits"
	"strconv"
)

// Limits bound what Scan accepts. A field that is zero or less means that of
// DefaultLimits.
type Limits struct {
	// Depth is how deep arrays and objects may nest: [[1]] has depth 2. It is at
	// most MaxDepth; a greater one counts as MaxDepth.
	Depth int
	// Values is how many values a message may hold: every scalar, array and
	// object is one, the key of a member is none.
	Values int
}

// MaxDepth is the greatest Limits.Depth: one bit of a word for each level.
const MaxDepth = 64

// DefaultLimits are for messages from anyone.
var DefaultLimits = Limits{Depth: defaultDepth, Values: defaultValues}

const (
	defaultDepth  = MaxDepth
	defaultValues = 4096
)

// SyntaxError says where a text stops being JSON.
type SyntaxError struct {
	Offset int    // of the first byte that cannot stand there, from 0; the length of the text where it ends too early
	Reason string // what is wrong or was expected there
}

func (e *SyntaxError) Error() string {
	return "invalid JSON at byte " + strconv.Itoa(e.Offset) + ": " + e.Reason
}

// LimitError says which of the Limits a text exceeds.
type LimitError struct {
	Offset int    // where the limit was exceeded, from 0
	Limit  string // "Depth" or "Values", the field of Limits
	Max    int    // its value
}

func (e *LimitError) Error() string {
	max := strconv.Itoa(e.Max)
	at := " at byte " + strconv.Itoa(e.Offset)
	switch {
	case e.Limit == "Values":
		return "more than " + max + " JSON values" + at + "; send fewer at a time, or start the server with a higher --max-values"
	case e.Max >= MaxDepth:
		return "JSON nested deeper than " + max + " levels" + at + "; this is the most there is, nest less"
	}
	return "JSON nested deeper than " + max + " levels" + at + "; nest less, or raise Limits.Depth, up to " + strconv.Itoa(MaxDepth)
}

// Scan says whether b is exactly one JSON value as RFC 8259 defines it, with
// nothing but white space around it and within lim. Strings must be UTF-8; an
// escaped surrogate without its twin is accepted, as the grammar has it. A byte
// order mark is refused. Keys are not compared with each other.
//
// The error is a *SyntaxError or a *LimitError, whichever comes first in b. It
// quotes nothing of b. Scan reads b once, does not recurse, and allocates
// nothing but the error.
func Scan(b []byte, lim Limits) error { return scan(b, lim, nil) }

// scan is Scan, which fills t as well unless it is nil.
func scan(b []byte, lim Limits, t *Tree) error {
	maxDepth, maxValues := lim.Depth, lim.Values
	if maxDepth <= 0 {
		maxDepth = defaultDepth
	}
	maxDepth = min(maxDepth, MaxDepth)
	if maxValues <= 0 {
		maxValues = defaultValues
	}

	// objects has one bit for each open container, 1 for an object; the
	// innermost is the lowest.
	var objects uint64
	depth, values := 0, 0
	i := 0

	// What the next value's node begins with, and the innermost container's.
	var key node
	var inner Value

value:
	i = skipSpace(b, i)
	if i >= len(b) {
		return syntaxError(b, i, "expected a value")
	}
	if values++; values > maxValues {
		return &LimitError{i, "Values", maxValues}
	}
	start, kind, plain := i, Number, false
	switch c := b[i]; c {
	case '"':
		kind = String
		i = textEnd(b, i+1)
		if i < len(b) && b[i] == '"' {
			i++
			plain = true
			break
		}
		var reason string
		if i, reason = stringEnd(b, i); reason != "" {
			return syntaxError(b, i, reason)
		}
	case '{', '[':
		if depth == maxDepth {
			return &LimitError{i, "Depth", maxDepth}
		}
		depth++
		objects <<= 1
		i = skipSpace(b, i+1)
		kind = Array
		if c == '{' {
			kind = Object
			objects |= 1
		}
		if i >= len(b) || b[i] != c+2 { // the brackets of a pair are two apart in ASCII
			if t != nil {
				inner = t.open(&key, start, kind, inner)
			}
			if kind == Object {
				goto key
			}
			goto value
		}
		i++
		depth--
		objects >>= 1
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		var ok bool
		if i, ok = numberEnd(b, i); !ok {
			return syntaxError(b, i, "expected a digit")
		}
	case 't':
		if len(b)-i < 4 || string(b[i:i+4]) != "true" {
			return syntaxError(b, i, "expected true")
		}
		i += 4
		kind = True
	case 'f':
		if len(b)-i < 5 || string(b[i:i+5]) != "false" {
			return syntaxError(b, i, "expected false")
		}
		i += 5
		kind = False
	case 'n':
		if len(b)-i < 4 || string(b[i:i+4]) != "null" {
			return syntaxError(b, i, "expected null")
		}
		i += 4
		kind = Null
	default:
		return syntaxError(b, i, "expected a value")
	}

	if t != nil {
		t.add(&key, start, i, kind, plain)
	}

	// A value has ended, and with it maybe the containers around it.
	for depth > 0 {
		i = skipSpace(b, i)
		if i >= len(b) {
			return syntaxError(b, i, "unclosed array or object")
		}
		c := b[i]
		object := objects&1 != 0
		switch {
		case c == ',' && object:
			i++
			goto key
		case c == ',':
			i++
			goto value
		case object && c != '}':
			return syntaxError(b, i, "expected ',' or '}'")
		case !object && c != ']':
			return syntaxError(b, i, "expected ',' or ']'")
		}
		i++
		depth--
		objects >>= 1
		if t != nil {
			inner = t.close(inner, i)
		}
	}
	if i = skipSpace(b, i); i < len(b) {
		return syntaxError(b, i, "expected the end after one value")
	}
	return nil

key:
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != '"' {
		return syntaxError(b, i, "expected a key in quotes")
	}
	key.keyLo = uint32(i + 1)
	i = plainEnd(b, i+1)
	if key.plainKey = i < len(b) && b[i] == '"'; key.plainKey {
		i++
	} else {
		var reason string
		if i, reason = stringEnd(b, i); reason != "" {
			return syntaxError(b, i, reason)
		}
	}
	key.keyHi = uint32(i - 1)
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != ':' {
		return syntaxError(b, i, "expected ':'")
	}
	i++
	goto value
}

func syntaxError(b []byte, i int, reason string) error {
	if i >= len(b) {
		reason = "the text ends too early, " + reason
	}
	return &SyntaxError{i, reason}
}

// skipSpace is where the white space at i ends.
func skipSpace(b []byte, i int) int {
	const spaces uint64 = 1<<' ' | 1<<'\t' | 1<<'\n' | 1<<'\r'
	for uint(i) < uint(len(b)) && b[i] <= ' ' && spaces>>b[i]&1 != 0 {
		i++
	}
	return i
}

// stringEnd is where the string ends whose rest begins at i: after its closing
// quote. Where a reason is given it is instead where the string is wrong.
func stringEnd(b []byte, i int) (end int, reason string) {
	for {
		i = textEnd(b, i)
		if i >= len(b) {
			return i, "unclosed string"
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, ""
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, `expected an escape: \" \\ \/ \b \f \n \r \t or \u and four hex digits`
			}
			i += n
		case c < ' ':
			return i, "control byte in a string, escape it"
		default:
			n := runeLen(b[i:])
			if n == 0 {
				return i, "invalid UTF-8 in a string"
			}
			i += n
		}
	}
}

// escapeLen is the length of the escape that b begins with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return 6
		}
	}
	return 0
}

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isDigit(c byte) bool { return c-'0' <= 9 }

// numberEnd is where the number at i ends, or, not ok, where a digit lacks.
func numberEnd(b []byte, i int) (end int, ok bool) {
	if b[i] == '-' {
		i++
	}
	if i < len(b) && b[i] == '0' {
		i++
	} else if i, ok = digitsEnd(b, i); !ok {
		return i, false
	}
	if i < len(b) && b[i] == '.' {
		if i, ok = digitsEnd(b, i+1); !ok {
			return i, false
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return digitsEnd(b, i)
	}
	return i, true
}

// digitsEnd is where the digits at i end; not ok where there is none.
func digitsEnd(b []byte, i int) (end int, ok bool) {
	start := i
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i, i > start
}

// Eight bytes in a word.
const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// Texts of more than a few words are gone over in blocks of this many bytes, each
// by bytes.IndexByte first, which is several times faster than a loop. A block has
// a length so that a text with many escapes is not gone over again for each.
const (
	shortText = 64
	textBlock = 4096
)

// textEnd is plainEnd for texts that may be long.
func textEnd(b []byte, i int) int {
	short := b[:min(len(b), i+shortText)]
	i = plainEnd(short, i)
	if i < len(short) {
		return i
	}
	for i < len(b) {
		block := b[i:min(len(b), i+textBlock)]
		n := blockEnd(block)
		i += n
		if n < len(block) {
			break
		}
	}
	return i
}

// blockEnd is where the plain bytes that b begins with end.
func blockEnd(b []byte) int {
	if n := bytes.IndexByte(b, '"'); n >= 0 {
		b = b[:n]
	}
	if n := bytes.IndexByte(b, '\\'); n >= 0 {
		b = b[:n]
	}
	i := 0
	for ; i+32 <= len(b); i += 32 {
		w0, w1, w2, w3 := word(b[i:i+8]), word(b[i+8:i+16]), word(b[i+16:i+24]), word(b[i+24:i+32])
		// As in notPlain, of what is left to look for.
		if (w0|w1|w2|w3|(w0-' '*ones)|(w1-' '*ones)|(w2-' '*ones)|(w3-' '*ones))&highs != 0 {
			break
		}
	}
	return plainEnd(b, i)
}

// plainEnd is where the plain bytes at i end: ASCII that stands for itself in a
// string, which a quote, a backslash, a control byte and a byte of a longer
// UTF-8 sequence do not.
func plainEnd[T string | []byte](s T, i int) int {
	for ; i+8 <= len(s); i += 8 {
		if m := notPlain(word(s[i : i+8])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(s) && isPlain(s[i]) {
		i++
	}
	return i
}

func isPlain(c byte) bool { return c >= ' ' && c < 0x80 && c != '"' && c != '\\' }

// word is the first eight bytes of s, the first one lowest.
func word[T string | []byte](s T) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// notPlain is zero when all eight bytes of w are plain. Otherwise its lowest
// set bit is in the first byte that is not: a difference goes below zero only
// in such a byte, so it borrows only from bytes above one.
func notPlain(w uint64) uint64 {
	return (w | (w - ' '*ones) | (w ^ '"'*ones - ones) | (w ^ '\\'*ones - ones)) & highs
}

// runeLen is the length of the UTF-8 sequence of two bytes or more that s
// begins with, or 0 where it is none: too long a form, a surrogate, beyond
// U+10FFFF, or cut short (Unicode 16.0, table 3-7).
func runeLen[T string | []byte](s T) int {
	c := s[0]
	lo, hi := byte(0x80), byte(0xbf) // of the second byte
	n := 0
	switch {
	case c < 0xc2:
		return 0
	case c < 0xe0:
		n = 2
	case c < 0xf0:
		n = 3
		if c == 0xe0 {
			lo = 0xa0
		} else if c == 0xed {
			hi = 0x9f
		}
	case c < 0xf5:
		n = 4
		if c == 0xf0 {
			lo = 0x90
		} else if c == 0xf4 {
			hi = 0x8f
		}
	default:
		return 0
	}
	if len(s) < n || s[1] < lo || s[1] > hi {
		return 0
	}
	for i := 2; i < n; i++ {
		if s[i]&0xc0 != 0x80 {
			return 0
		}
	}
	return n
}
