package tools_test

import (
	"fmt"
	"os"

	"boardhand/device/sim"
	"boardhand/rpc"
	"boardhand/tools"
	"boardhand/tools/cli"
)

// What a simulated board offers, worked as a person would.
func Example() {
	board := sim.Open(sim.Wiring{})
	defer board.Close()
	catalogue, guard := tools.Catalogue(board, "0.1.0", nil)
	defer guard.Close()

	srv := rpc.NewServer(catalogue, rpc.Limits{}, nil)
	for _, args := range [][]string{
		{"gpio_write", "line=GPIO17", "level=1"},
		{"gpio_read", "lines=GPIO27"}, // it is wired to GPIO17
	} {
		fmt.Println("exit status", cli.Call(cli.Local(srv), args, true, false, os.Stdout, os.Stderr))
	}
	// Output:
	// {"line":"GPIO17","level":1,"before":{"direction":"in","level":0}}
	// exit status 0
	// {"lines":[{"line":"GPIO27","level":1}]}
	// exit status 0
}
