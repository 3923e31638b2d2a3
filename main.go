// Command boardhand gives an AI client hands on a small Linux board: it speaks
// the Model Context Protocol over standard input and output, and over a serial
// cable, at both ends of it.
package main

import (
	"os"

	"boardhand/tools/command"
)

// version is set by the Makefile.
var version = "0.1.0-dev"

func main() { os.Exit(command.Run(version, os.Args[1:], os.Stdout, os.Stderr)) }
