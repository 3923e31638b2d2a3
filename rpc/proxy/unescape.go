package proxy

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape undoes the escapes of a JSON string that has passed the scanner, for
// wire.Tree.
func unescape(dst, quoted []byte) []byte {
	text := quoted[1 : len(quoted)-1]
	for len(text) > 0 {
		at := bytes.IndexByte(text, '\\')
		if at < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:at]...)
		escape := text[at+1]
		text = text[at+2:]
		switch escape {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			dst, text = appendRune(dst, text)
		default: // itself: a quote, a backslash or a slash
			dst = append(dst, escape)
		}
	}
	return dst
}

// appendRune appends what \uXXXX stands for, of which text begins with the digits,
// and gives what follows. Half of a surrogate pair becomes U+FFFD.
func appendRune(dst, text []byte) (_, rest []byte) {
	r, rest := hexRune(text), text[4:]
	if utf16.IsSurrogate(r) {
		low := rune(0)
		if len(rest) >= 6 && rest[0] == '\\' && rest[1] == 'u' {
			low = hexRune(rest[2:])
		}
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			rest = rest[6:]
		}
	}
	return utf8.AppendRune(dst, r), rest
}

func hexRune(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // the scanner has seen that they are digits
	return rune(n)
}
