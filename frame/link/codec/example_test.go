package codec_test

import (
	"fmt"

	"boardhand/frame/link/codec"
)

// The example of the package's documentation.
func ExampleEncoder() {
	e := codec.NewEncoder(codec.Window)
	for _, msg := range []string{
		`{"method":"tools/list","jsonrpc":"2.0","id":1}`,
		`{"method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"GPIO22","level":1}},"jsonrpc":"2.0","id":2}`,
		`{"method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"GPIO22","level":0}},"jsonrpc":"2.0","id":3}`,
		"",
		"\n",
		"\x00\xff\x80",
	} {
		fmt.Printf("% x\n", e.Encode(nil, []byte(msg)))
	}
	fmt.Printf("% x\n", e.Store(nil, []byte("{}")))
	fmt.Printf("% x\n", e.Encode(nil, []byte("{}")))
	// Output:
	// 78 bc
	// eb 0d e2 16 2e c2 5c 51
	// fb f1 3b ef 27 e8
	// ff
	// fd
	// ff 00 ff 80
	// fe 7b 7d
	// 80
}
