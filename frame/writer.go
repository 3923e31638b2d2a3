package frame

import (
	"io"
	"strconv"
)

// Writer gathers messages in one buffer and writes them all at once. It is not
// safe for use by several goroutines at once.
//
//	buf := w.Begin()
//	buf = append(buf, answer...)
//	w.End(buf, frame.Newline)
//	err := w.Flush()
//
// Begin comes before End or Abort, and Flush never between them: a breach is a
// fault of the program and panics.
type Writer struct {
	dst  io.Writer
	buf  []byte // whole frames, not yet written
	open bool   // a message was begun
	err  error  // of dst, for good
}

// NewWriter writes to dst. The pending messages are not limited: the caller
// calls Flush when Len is more than it wants to hold.
func NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst} }

// Begin begins a message. The slice returned holds what is pending; the caller
// appends to it and gives it to End. Nothing else may be done to it, and after
// End or Abort it is the Writer's.
func (w *Writer) Begin() []byte {
	if w.open {
		panic("frame: Begin before End or Abort of the message begun")
	}
	w.open = true
	if w.buf == nil {
		w.buf = make([]byte, 0, smallBuf)
	}
	return w.buf
}

// Trim gives up the buffer, where nothing is pending: the next Begin makes a new one.
func (w *Writer) Trim() {
	if !w.open && len(w.buf) == 0 {
		w.buf = nil
	}
}

// longestHeader is that of a body of the largest int.
const longestHeader = len("Content-Length: 9223372036854775807\r\n\r\n")

// End frames what was appended since Begin. A message without a byte is dropped.
// In mode Newline the message must hold no '\n': it would be two.
func (w *Writer) End(buf []byte, mode Mode) {
	if !w.open {
		panic("frame: End without Begin")
	}
	w.open = false
	at := len(w.buf)
	n := len(buf) - at
	if n == 0 || w.err != nil {
		return
	}
	if mode != Header {
		buf = append(buf, '\n')
		if mode >= Tagged {
			buf = append(buf, byte(mode))
		}
		w.buf = buf
		return
	}
	var room [longestHeader]byte
	header := append(room[:0], "Content-Length: "...)
	header = strconv.AppendInt(header, int64(n), 10)
	header = append(header, "\r\n\r\n"...)
	buf = append(buf, header...)
	copy(buf[at+len(header):], buf[at:at+n])
	copy(buf[at:], header)
	w.buf = buf
}

// Abort drops the message begun, if any.
func (w *Writer) Abort() { w.open = false }

// Len is how many bytes Flush would write.
func (w *Writer) Len() int { return len(w.buf) }

// Flush writes everything pending in one Write, and goes on where dst took only
// a part. An error of dst is final: what is pending is dropped, and so is every
// later message, and every later Flush returns it. A buffer over 64 KiB is not
// kept.
func (w *Writer) Flush() error {
	if w.open {
		panic("frame: Flush before End or Abort of the message begun")
	}
	for rest := w.buf; len(rest) > 0 && w.err == nil; {
		n, err := w.dst.Write(rest)
		if n == 0 && err == nil {
			err = io.ErrShortWrite
		}
		rest = rest[n:]
		w.err = err
	}
	w.buf = w.buf[:0]
	if cap(w.buf) > keepBuf {
		w.buf = nil
	}
	return w.err
}
