// Package frame turns a stream of bytes into messages and messages into bytes.
// It knows two framings and no JSON.
//
// A newline message, as the MCP stdio transport has it, is a line:
//
//	{"jsonrpc":"2.0","method":"ping","id":1}\n
//
// A header message, as the LSP base protocol has it, is a block of header
// fields, an empty line and a body of exactly so many bytes:
//
//	Content-Length: 40\r\n
//	Content-Type: application/json; charset=utf-8\r\n
//	\r\n
//	{"jsonrpc":"2.0","method":"ping","id":1}
//
// # Which framing
//
// Each message is judged by its own first line, so the two may be mixed on one
// stream. White space between messages is skipped. A header block begins with
//
//   - a line "Content-Length: ..." or "Content-Type: ...", in any case, ended
//     by \r\n or \n;
//   - any other "name: value" ended by \r\n;
//   - a "Content-Length: DIGITS" that ends a line begun by something else. No
//     JSON text ends so; what stands before it is a message that lacks its
//     newline, or what is left of a body whose length was given too small.
//
// Every other line is a newline message, noise included: whoever parses it says
// that it is none.
//
// In a block, unknown fields are ignored, Content-Length must be there, repeated
// ones must agree, and a charset must be UTF-8.
//
// # In step again
//
// A broken message costs one *Error and no memory, and the next good message is
// found. After a line that is too long that is the next line. After a header
// block that does not tell its body's length, or tells one over the limit, the
// body may follow or may not (a length of 4 GB may be a lie, and to skip 4 GB
// would swallow all that comes). So bytes are dropped up to the first of
//
//   - "Content-Length: DIGITS" at the end of a line, whatever that line begins
//     with: a header message that follows, also right behind a body's last byte;
//   - a whole line from '{' to '}' or from '[' to ']' within the limit: a newline
//     message.
//
// Neither can stand in a string of a JSON body, where a line end is escaped. A
// rejected body with line ends between its values can hold the second: such a
// line comes out as a message, and what follows as noise.
package frame

import "strconv"

// Mode is a framing.
type Mode uint8

// The framings.
const (
	Newline Mode = iota // one message a line
	Header              // Content-Length, then the body
	// Tagged and every mode above it is for a front that takes a stream of answers apart
	// again: a line, and behind its newline the mode as a byte. No Reader gives one.
	Tagged
)

func (m Mode) String() string {
	switch m {
	case Newline:
		return "newline"
	case Header:
		return "header"
	}
	return "frame.Mode(" + strconv.Itoa(int(m)) + ")"
}

// The limits and sizes, in bytes where not said otherwise.
const (
	// DefaultMax is the longest message where NewReader is given no limit.
	DefaultMax = 4 << 20

	highestMax = 512 << 20 // so that sizes fit an int of 32 bits

	maxBlock  = 4 << 10  // a header block, its empty line included
	maxFields = 16       // lines of a header block
	maxTail   = 64       // the end of a line in which a Content-Length is looked for
	smallBuf  = 4 << 10  // what a buffer starts with
	keepBuf   = 64 << 10 // the largest buffer that stays when it is not needed
)

// Error is a broken message. The stream is in order: the Reader goes on with the
// message after it.
type Error struct {
	// Reason says what was wrong, with the value, what is allowed and what to do,
	// in one line of printable ASCII.
	Reason string
}

func (e *Error) Error() string { return e.Reason }
