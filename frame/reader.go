package frame

import (
	"bytes"
	"fmt"
	"io"
	"weak"
)

// Reader reads messages of both framings from a stream. It is not safe for use
// by several goroutines at once.
type Reader struct {
	src io.Reader
	max int

	// buf[start:end] is read and not consumed; buf[start:scan] was looked at and
	// is not looked at again.
	buf              []byte
	start, scan, end int
	small            []byte               // the largest buffer so far that stays
	spare            weak.Pointer[[]byte] // a larger one until the garbage collector takes it

	state    state
	dropping bool // state line: the line is too long or not wanted, only its tail is kept
	resync   bool // after a header block with no body length to trust
	block    block
	srcErr   error // the end of the stream, returned when the buffer is used up

	// What Next returns, once ready.
	ready  bool
	lo, hi int // the message in buf
	mode   Mode
	err    *Error
}

// state is what the bytes at start belong to.
type state uint8

const (
	between state = iota // white space before a message
	line                 // a line, of which kind is known at its end
	fields               // a header block, at the start of a line
	body                 // a header message's body
)

// block is what is known of a header message.
type block struct {
	size    int    // bytes of the lines before start
	lines   int    // before start
	given   bool   // Content-Length was seen
	length  int    // of the body; more than Reader.max is no exact number
	fault   string // the first fault in Content-Length
	charset string // the fault in Content-Type; the body is read over
}

// NewReader reads from src messages of up to max bytes, framing not counted. A
// max below 1 means DefaultMax, one above 512 MiB means 512 MiB. Its buffer is
// 4 KiB at first and grows with the messages to at most max + 4 KiB + 2 bytes;
// one over 64 KiB is left to the garbage collector when its message is done with.
func NewReader(src io.Reader, max int) *Reader {
	if max < 1 {
		max = DefaultMax
	}
	small := make([]byte, smallBuf)
	return &Reader{src: src, max: min(max, highestMax), buf: small, small: small}
}

// Next returns the next message and its framing. It reads from the source only
// while no whole message is buffered, each time as much as the buffer has room
// for. The message is never empty; it is a slice of the Reader's buffer, which
// the caller may change, valid until the next call to Next.
//
// An *Error is a broken message in the framing returned with it: call Next again
// for the one after it. Any other error is the source's, io.EOF at its end, and
// final. At io.EOF a last line without its newline is a message and a header
// message that is not whole an *Error; at any other error both are dropped.
func (r *Reader) Next() (msg []byte, mode Mode, err error) {
	for !r.parse() {
		if r.srcErr == nil {
			r.fill()
			continue
		}
		if !r.last() {
			return nil, r.mode, r.srcErr
		}
	}
	r.ready = false
	if r.err != nil {
		err, r.err = r.err, nil
		return nil, r.mode, err
	}
	return r.buf[r.lo:r.hi:r.hi], r.mode, nil
}

// Buffered says that Next will not read from the source: a whole message, a
// broken one or the source's error is at hand. It leaves the message that Next
// returned last as it is.
func (r *Reader) Buffered() bool { return r.parse() || r.srcErr != nil }

// parse goes over what is buffered until there is something to return. It moves
// no bytes.
func (r *Reader) parse() bool {
	for !r.ready && r.scan < r.end {
		switch r.state {
		case between:
			r.between()
		case line:
			r.line()
		case fields:
			r.field()
		case body:
			r.body()
		}
	}
	return r.ready
}

func (r *Reader) between() {
	i := r.scan
	for i < r.end && (r.buf[i] == '\n' || r.buf[i] == '\r' || r.buf[i] == ' ' || r.buf[i] == '\t') {
		i++
	}
	r.start, r.scan = i, i
	if i < r.end {
		r.state = line
		r.dropping = r.resync && r.buf[i] != '{' && r.buf[i] != '['
	}
}

func (r *Reader) line() {
	i := bytes.IndexByte(r.buf[r.scan:r.end], '\n')
	if i < 0 {
		r.scan = r.end
		// One byte more may be the \r.
		if !r.dropping && r.scan-r.start > r.longestLine()+1 {
			r.dropping = true
			r.tooLong()
		}
		if r.dropping {
			r.start = max(r.start, r.scan-maxTail-len("\r"))
		}
		return
	}
	text := r.buf[r.start : r.scan+i]
	crlf := bytes.HasSuffix(text, crBytes)
	if crlf {
		text = text[:len(text)-1]
	}
	if !r.dropping && len(text) > r.longestLine() {
		r.dropping = true
		r.tooLong()
	}
	lo := r.start
	header := 0
	if r.resync || r.dropping || !opensBlock(text, crlf) {
		header = trailingLength(text)
	}
	r.state = between
	r.scan += i + 1
	r.start = r.scan
	if header >= 0 {
		r.state = fields
		r.block = block{}
		r.start = lo + header
		r.scan = r.start
		text = text[:header]
	}
	switch {
	case r.dropping || len(text) == 0:
	case len(text) > r.max:
		r.tooLong()
	case r.resync && (header >= 0 || !whole(text)):
	default:
		r.message(lo, len(text), Newline)
	}
	if header >= 0 {
		r.resync = false
	}
}

// longestLine is of a line of which it is not known yet if it is a message's or a
// header's.
func (r *Reader) longestLine() int { return max(r.max, maxBlock) }

func (r *Reader) tooLong() {
	if !r.resync {
		r.fail(Newline, "line longer than %d bytes, the limit of a message; send less, or raise the limit", r.max)
	}
}

func (r *Reader) field() {
	i := bytes.IndexByte(r.buf[r.scan:r.end], '\n')
	if i < 0 {
		r.scan = r.end
		if r.block.size+r.scan-r.start > maxBlock {
			r.lost("header block longer than %d bytes; send Content-Length, an empty line and the body", maxBlock)
		}
		return
	}
	size := r.scan + i + 1 - r.start
	text := bytes.TrimSuffix(r.buf[r.start:r.scan+i], crBytes)
	name := fieldName(text)
	switch {
	case r.block.size+size > maxBlock:
		r.lost("header block longer than %d bytes; send Content-Length, an empty line and the body", maxBlock)
		return
	case len(text) == 0:
		r.start += size
		r.scan = r.start
		r.endBlock()
		return
	case r.block.lines == maxFields:
		r.lost("header block of more than %d lines; send Content-Length, an empty line and the body", maxFields)
		return
	case name == nil:
		r.lost("header line %+.40q is not \"name: value\"; end a header block with an empty line", text)
		return
	}
	value := bytes.Trim(text[len(name)+1:], " \t")
	switch {
	case bytes.EqualFold(name, contentLength):
		r.block.setLength(value, r.max)
	case bytes.EqualFold(name, contentType):
		r.block.setType(value)
	}
	r.block.size += size
	r.block.lines++
	r.start += size
	r.scan = r.start
}

func (r *Reader) endBlock() {
	b := &r.block
	switch {
	case b.fault != "":
		r.lost("%s", b.fault)
	case !b.given:
		r.lost("header block without Content-Length; send the body's length in bytes")
	case b.length == 0:
		r.fail(Header, "Content-Length is 0; a message has at least 1 byte, limit %d", r.max)
		r.state = between
	default:
		r.state = body
	}
}

func (r *Reader) body() {
	if r.end-r.start < r.block.length {
		r.scan = r.end
		return
	}
	lo := r.start
	r.start += r.block.length
	r.scan = r.start
	r.state = between
	if r.block.charset != "" {
		r.fail(Header, "%s", r.block.charset)
		return
	}
	r.message(lo, r.block.length, Header)
}

// last gives what the end of the source leaves unfinished.
func (r *Reader) last() bool {
	have := r.end - r.start
	lo := r.start
	switch {
	case r.srcErr != io.EOF:
	case r.state == line:
		text := bytes.TrimSuffix(r.buf[r.start:r.end], crBytes)
		switch {
		case r.resync || r.dropping:
			// What follows a rejected header block is its body sooner than a message.
		case len(text) > r.max:
			r.tooLong()
		default:
			r.message(lo, len(text), Newline)
		}
	case r.state == fields:
		r.fail(Header, "input ended after %d bytes of a header block; end it with an empty line and send the body", r.block.size+have)
	case r.state == body:
		r.fail(Header, "input ended after %d of the %d bytes that Content-Length told; send the body whole", have, r.block.length)
	}
	r.state, r.start, r.scan = between, r.end, r.end
	return r.ready
}

// message makes a message ready. Whatever it is, the stream is in step.
func (r *Reader) message(lo, n int, mode Mode) {
	r.ready, r.lo, r.hi, r.mode = true, lo, lo+n, mode
	r.resync = false
}

func (r *Reader) fail(mode Mode, format string, args ...any) {
	r.ready, r.mode, r.err = true, mode, &Error{Reason: fmt.Sprintf(format, args...)}
}

// lost gives up a header block at the line that begins at start, which may be
// the next message's.
func (r *Reader) lost(format string, args ...any) {
	r.fail(Header, format, args...)
	r.resync = true
	r.state, r.scan = between, r.start
}

// maxEmptyReads is how many reads in a row may bring neither a byte nor an error.
const maxEmptyReads = 100

// fill reads once, or sets srcErr.
func (r *Reader) fill() {
	r.makeRoom()
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.srcErr = err
		if n > 0 || err != nil {
			return
		}
	}
	r.srcErr = io.ErrNoProgress
}

// makeRoom leaves at least one byte free behind end.
func (r *Reader) makeRoom() {
	rest := r.end - r.start
	longBody := r.state == body && r.block.length > keepBuf
	switch {
	case len(r.buf) > keepBuf && rest < len(r.small) && !longBody:
		large := r.buf
		r.spare = weak.Make(&large)
		r.moveTo(r.small)
	case rest == 0:
		r.moveTo(r.buf)
	case r.end < len(r.buf):
	case r.start > 0:
		r.moveTo(r.buf)
	default:
		r.grow()
	}
}

func (r *Reader) grow() {
	// Who fills a buffer mostly has much more to say: eight times as much, and few reads.
	size := min(8*len(r.buf), r.max+maxBlock+len("\r\n"))
	if size > keepBuf {
		if large := r.spare.Value(); large != nil && len(*large) >= size {
			r.moveTo(*large)
			return
		}
		r.moveTo(make([]byte, size))
		return
	}
	r.small = make([]byte, size)
	r.moveTo(r.small)
}

func (r *Reader) moveTo(buf []byte) {
	copy(buf, r.buf[r.start:r.end])
	r.buf = buf
	r.scan -= r.start
	r.end -= r.start
	r.start = 0
}
