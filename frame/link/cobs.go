package link

import "bytes"

// Consistent Overhead Byte Stuffing, Cheshire and Baker, IEEE/ACM Transactions on
// Networking 7 (1999): bytes without a zero, one more for each 254 begun.

// appendCOBS appends src in COBS, without a delimiter.
func appendCOBS(dst, src []byte) []byte {
	for {
		run := src[:min(len(src), 254)]
		zero := bytes.IndexByte(run, 0)
		if zero >= 0 {
			run = run[:zero]
		}
		dst = append(dst, byte(len(run)+1))
		dst = append(dst, run...)
		src = src[len(run):]
		switch {
		case zero >= 0:
			src = src[1:] // what follows, were it nothing, has a code of its own
		case len(src) == 0:
			return dst
		}
	}
}

// decodeCOBS undoes appendCOBS in place. p has no zero.
func decodeCOBS(p []byte) (decoded []byte, ok bool) {
	n := 0
	for at := 0; at < len(p); {
		code := int(p[at])
		if code == 0 || at+code > len(p) {
			return nil, false
		}
		n += copy(p[n:], p[at+1:at+code])
		at += code
		if code < 255 && at < len(p) {
			p[n] = 0
			n++
		}
	}
	return p[:n], len(p) > 0
}
