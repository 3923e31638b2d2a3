package wire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// AppendString appends s as a JSON string. Quotes, backslashes and control
// bytes are escaped, nothing else is; each byte that is not UTF-8 becomes
// U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

// AppendBytes appends s as AppendString does.
func AppendBytes(dst, s []byte) []byte {
	dst = append(dst, '"')
	dst = appendEscaped(dst, s)
	return append(dst, '"')
}

// AppendEscaped appends s as AppendString does but without the quotes, so that
// a string can be put together from parts. A part must not end within a UTF-8
// sequence. s may be a part of dst, but not of the room behind it.
func AppendEscaped(dst, s []byte) []byte { return appendEscaped(dst, s) }

const replacement = "\uFFFD"

func appendEscaped[T string | []byte](dst []byte, s T) []byte {
	i := 0
	for i < len(s) {
		// A word is copied whole, then cut to its plain bytes.
		for len(s)-i >= 8 {
			w := word(s[i : i+8])
			n := len(dst)
			if cap(dst)-n < 8 {
				dst = slices.Grow(dst, len(s)-i)
			}
			binary.LittleEndian.PutUint64(dst[n:n+8], w)
			if m := notPlain(w); m != 0 {
				k := bits.TrailingZeros64(m) / 8
				dst = dst[:n+k]
				i += k
				break
			}
			dst = dst[:n+8]
			i += 8
		}
		for i < len(s) && isPlain(s[i]) {
			dst = append(dst, s[i])
			i++
		}
		if i == len(s) {
			break
		}
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
			i++
		case c < ' ':
			dst = appendControl(dst, c)
			i++
		default:
			n := runeLen(s[i:])
			if n == 0 {
				dst = append(dst, replacement...)
				i++
				break
			}
			dst = append(dst, s[i:i+n]...)
			i += n
		}
	}
	return dst
}

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

const hex = "0123456789abcdef"

// AppendInt appends v.
func AppendInt(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// AppendUint appends v.
func AppendUint(dst []byte, v uint64) []byte { return strconv.AppendUint(dst, v, 10) }

// AppendFloat appends the shortest number that reads back as v; null for NaN
// and the infinities, for which JSON has no number.
func AppendFloat(dst []byte, v float64) []byte {
	abs := math.Abs(v)
	switch {
	case !(abs <= math.MaxFloat64):
		return append(dst, "null"...)
	case abs == 0 || abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	return strconv.AppendFloat(dst, v, 'e', -1, 64)
}

// AppendBool appends true or false.
func AppendBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// AppendDecimal appends value * 10^exp exactly, without an exponent and without
// zeros at the end of a fraction: 21375 and -3 give 21.375, 21000 and -3 give
// 21, 12 and 3 give 12000.
func AppendDecimal(dst []byte, value int64, exp int8) []byte {
	if value == 0 {
		return append(dst, '0')
	}
	u := uint64(value)
	if value < 0 {
		dst = append(dst, '-')
		u = -u
	}
	for exp < 0 && u%10 == 0 {
		u /= 10
		exp++
	}
	var buf [20]byte
	digits := strconv.AppendUint(buf[:0], u, 10)
	point := len(digits) + int(exp) // how many digits stand before the point
	switch {
	case exp >= 0:
		return appendZeros(append(dst, digits...), int(exp))
	case point <= 0:
		dst = appendZeros(append(dst, "0."...), -point)
		return append(dst, digits...)
	}
	dst = append(dst, digits[:point]...)
	dst = append(dst, '.')
	return append(dst, digits[point:]...)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// AppendHex appends b as a JSON string of hex digits, "0a ff".
func AppendHex(dst, b []byte) []byte {
	dst = append(dst, '"')
	for i, c := range b {
		if i > 0 {
			dst = append(dst, ' ')
		}
		dst = append(dst, hex[c>>4], hex[c&15])
	}
	return append(dst, '"')
}

// AppendAddr appends addr, the address of a device or a register, as a JSON
// string of two hex digits or more, "0x76".
func AppendAddr(dst []byte, addr uint16) []byte {
	dst = append(dst, `"0x`...)
	if addr < 0x10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendUint(dst, uint64(addr), 16)
	return append(dst, '"')
}

// AppendKey appends key and a colon, after a comma unless dst is empty or ends
// in '{'. The key is appended as it is: ASCII without quotes, backslashes and
// control bytes.
func AppendKey(dst []byte, key string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, key...)
	return append(dst, '"', ':')
}

// AppendSep appends a comma unless dst is empty or ends in '[': it goes before
// each element of an array.
func AppendSep(dst []byte) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '[' {
		return append(dst, ',')
	}
	return dst
}
