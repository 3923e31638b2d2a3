package cli

import (
	"io"
	"runtime"
)

// Greeting says on a terminal what boardhand is and what to type, for a person
// who started it by hand. w is stderr: stdout is the protocol's.
func Greeting(w io.Writer, simulated bool, model string) {
	out := []byte("boardhand serves this board to an AI client over MCP: " + printable(model) + "\n")
	if simulated {
		out = append(out, "The board is simulated: nothing here is real.\n"...)
	}
	out = append(out, "It waits for a client on standard input. To speak to it yourself, paste this line:\n\n"...)
	out = closeRequest(openRequest(out, "tools/list", "", false))
	out = append(out, "\n\n"+endOfInput()+" ends it. Easier to read, from the shell:\n\n"+
		"  boardhand call board_info\n"+
		"  boardhand setup            to let a client start it\n\n"...)
	_, _ = w.Write(out)
}

// endOfInput is the key that ends a terminal's input.
func endOfInput() string {
	if runtime.GOOS == "windows" {
		return "Ctrl-Z and Enter"
	}
	return "Ctrl-D"
}
