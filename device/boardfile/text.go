package boardfile

import (
	"bytes"
	"fmt"
)

// The decoder does not bound what it nests, so that is done here, on the text.

// maxDepth bounds arrays and inline tables within each other, and the dots of a
// key: the decoder recurses on the ones and takes quadratic time on the others.
const maxDepth = 16

// checkDepth says on which line text nests too deep, and what; "" where it does
// not. Within strings and comments nothing nests.
func checkDepth(text []byte) (line int, what string) {
	line = 1
	depth, dots := 0, 0
	for i := 0; i < len(text); {
		n := 1
		switch c := text[i]; c {
		case '[', '{':
			depth, dots = depth+1, 0
		case ']', '}':
			depth, dots = max(depth-1, 0), 0
		case '.':
			dots++
		case '\n', '=', ',':
			dots = 0
		case '#':
			comment, _, _ := bytes.Cut(text[i:], []byte{'\n'})
			n = len(comment)
		case '"', '\'':
			n = stringLength(text[i:])
		}
		if depth > maxDepth {
			return line, fmt.Sprintf("brackets nest more than %d deep", maxDepth)
		}
		if dots > maxDepth {
			return line, fmt.Sprintf("a key has more than %d dots", maxDepth)
		}
		line += bytes.Count(text[i:i+n], []byte{'\n'})
		i += n
	}
	return 0, ""
}

// stringLength is the length of the string that text begins with, its quotes
// included. A string on one line that is not closed ends with the line.
func stringLength(text []byte) int {
	quote, end := text[:1], "\n"
	if long := bytes.Repeat(quote, 3); bytes.HasPrefix(text, long) {
		quote, end = long, ""
	}
	for i := len(quote); i < len(text); i++ {
		switch {
		case bytes.HasPrefix(text[i:], quote):
			return i + len(quote)
		case end != "" && text[i] == end[0]:
			return i
		case text[i] == '\\' && quote[0] == '"':
			i++
		}
	}
	return len(text)
}
