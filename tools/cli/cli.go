// Package cli is boardhand's command line for a person: one tool called by hand,
// the list of tools, the entry for a client's configuration, and the help. Serving
// is not here. Every command returns the process's exit status and writes what
// was asked for to stdout, and all else to stderr.
//
// A command's arguments go through ParseFlags first; its board is opened by what
// that says, and the rest goes to the command:
//
//	f, err := cli.ParseFlags("call", os.Args[2:])
//	...
//	os.Exit(cli.Call(srv, f.Args, f.JSON, stderrIsTerminal, os.Stdout, os.Stderr))
package cli

import (
	"io"
)

// The exit statuses.
const (
	ExitOK     = 0
	ExitFailed = 1 // the tool failed, or the output could not be written
	ExitUsage  = 2 // the command line is wrong
)

// Fail says on stderr what went wrong, in the form that all of boardhand's own
// errors have, and returns status.
func Fail(stderr io.Writer, status int, text string) int {
	Say(stderr, "boardhand", text)
	return status
}

// Say writes a line about what goes on, of whom it is.
func Say(stderr io.Writer, who, text string) {
	_, _ = io.WriteString(stderr, who+": "+printable(text)+"\n")
}

// emit writes a command's output in one piece.
func emit(stdout, stderr io.Writer, out []byte) int {
	if _, err := stdout.Write(out); err != nil {
		return Fail(stderr, ExitFailed, "the output could not be written: "+err.Error())
	}
	return ExitOK
}
