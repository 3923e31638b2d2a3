package frame

import (
	"bytes"
	"fmt"
	"strings"
)

var (
	contentLength = []byte("Content-Length")
	contentType   = []byte("Content-Type")
	charset       = []byte("charset")
	crBytes       = []byte("\r")
)

// opensBlock says that text, a line without its end, begins a header block. Only
// a line ended by \r\n may begin one with a field that is not known here:
// otherwise "error: ..." of some log would wait for an empty line.
func opensBlock(text []byte, crlf bool) bool {
	name := fieldName(text)
	return name != nil && (crlf || bytes.EqualFold(name, contentLength) || bytes.EqualFold(name, contentType))
}

// fieldName gives the name of a header line "name: value", nil if it is none. A
// name is a token of RFC 9110, section 5.6.2.
func fieldName(text []byte) []byte {
	for i, c := range text {
		switch lower := c | 0x20; {
		case 'a' <= lower && lower <= 'z', c == '-':
		case c == ':' && i > 0:
			return text[:i]
		case !isDigit(c) && strings.IndexByte("!#$%&'*+.^_`|~", c) < 0:
			return nil
		}
	}
	return nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// trailingLength gives where a "Content-Length: DIGITS" begins that ends text,
// within its last maxTail bytes, or -1.
func trailingLength(text []byte) int {
	rest := trimBlanks(text[max(0, len(text)-maxTail):])
	digits := len(rest)
	for digits > 0 && isDigit(rest[digits-1]) {
		digits--
	}
	if digits == len(rest) {
		return -1
	}
	rest = trimBlanks(rest[:digits])
	rest, ok := bytes.CutSuffix(rest, []byte(":"))
	at := len(rest) - len(contentLength)
	if !ok || at < 0 || !bytes.EqualFold(rest[at:], contentLength) {
		return -1
	}
	return max(0, len(text)-maxTail) + at
}

// trimBlanks cuts the blanks at the end of text. Every line is asked, and
// bytes.TrimRight takes its time over building a set of them.
func trimBlanks(text []byte) []byte {
	for len(text) > 0 && (text[len(text)-1] == ' ' || text[len(text)-1] == '\t') {
		text = text[:len(text)-1]
	}
	return text
}

// whole says that text looks like a JSON object or array in one line.
func whole(text []byte) bool {
	text = trimBlanks(text)
	first, last := text[0], text[len(text)-1]
	return first == '{' && last == '}' || first == '[' && last == ']'
}

// setLength takes the value of a Content-Length. The first fault stays.
func (b *block) setLength(value []byte, limit int) {
	if b.fault != "" {
		return
	}
	n, most := int64(0), int64(limit) // an int of 32 bits would overflow
	for _, c := range value {
		if !isDigit(c) {
			n = -1
			break
		}
		if n <= most {
			n = n*10 + int64(c-'0')
		}
	}
	switch {
	case n < 0 || len(value) == 0:
		b.fault = fmt.Sprintf("Content-Length %+.40q is not a number; send the body's length in bytes, decimal digits only", value)
	case n > most:
		b.fault = fmt.Sprintf("Content-Length %.40s exceeds %d bytes, the limit of a message; send less, or raise the limit", value, limit)
	case b.given && int(n) != b.length:
		b.fault = fmt.Sprintf("Content-Length was given as %d and as %d; send it once", b.length, n)
	}
	b.given, b.length = true, int(min(n, most+1))
}

// setType takes the value of a Content-Type, of which only the charset counts.
func (b *block) setType(value []byte) {
	_, params, _ := bytes.Cut(value, []byte(";"))
	for len(params) > 0 {
		var param []byte
		param, params, _ = bytes.Cut(params, []byte(";"))
		name, set, _ := bytes.Cut(param, []byte("="))
		set = bytes.Trim(set, " \t\"")
		if !bytes.EqualFold(bytes.Trim(name, " \t"), charset) ||
			bytes.EqualFold(set, []byte("utf-8")) || bytes.EqualFold(set, []byte("utf8")) {
			continue
		}
		b.charset = fmt.Sprintf("Content-Type has charset %+.40q; only utf-8 is read, and it is the default", set)
	}
}
