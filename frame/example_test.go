package frame_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"boardhand/frame"
)

// A server reads, answers in the framing of the question, and writes all its
// answers at once when it would have to wait for more.
func Example() {
	input := strings.NewReader("{\"id\":1}\n" + "Content-Length: 8\r\n\r\n{\"id\":2}")
	r := frame.NewReader(input, frame.DefaultMax)
	var output strings.Builder
	w := frame.NewWriter(&output)
	for {
		msg, mode, err := r.Next()
		var broken *frame.Error
		if errors.As(err, &broken) {
			continue // answer that it could not be read
		}
		if err != nil {
			break
		}
		buf := w.Begin()
		buf = append(buf, `{"got":`...)
		buf = append(buf, msg...)
		buf = append(buf, '}')
		w.End(buf, mode)
		if !r.Buffered() {
			w.Flush()
		}
	}
	fmt.Printf("%q\n", output.String())
	// Output:
	// "{\"got\":{\"id\":1}}\nContent-Length: 16\r\n\r\n{\"got\":{\"id\":2}}"
}

// A broken message costs one error; the reader finds the next one.
func ExampleReader_Next() {
	r := frame.NewReader(strings.NewReader("Content-Length: 4000000000\r\n\r\n"+"{\"id\":1}\n"), 1000)
	for {
		msg, mode, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(mode, "error:", err)
			continue
		}
		fmt.Printf("%s: %s\n", mode, msg)
	}
	// Output:
	// header error: Content-Length 4000000000 exceeds 1000 bytes, the limit of a message; send less, or raise the limit
	// newline: {"id":1}
}
