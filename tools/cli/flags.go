package cli

import (
	"flag"
	"io"
	"strconv"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// Flags are a command's flags and arguments.
type Flags struct {
	Board      string   // "auto", "linux" or "sim"
	Config     string   // path of a board file, or empty
	MaxMessage int      // serve, setup: bytes of the longest message taken
	MaxValues  int      // serve, setup: JSON values in one message
	Last       int      // audit: how many records; 0: all
	Serial     string   // the serial port: --serial, or the word after connect and link; empty: none, or any
	Baud       int      // of the serial port, in bits per second; 0: to be chosen
	JSON       bool     // audit, call, tools, link, doctor: print JSON
	Help       bool     // -h was given: print Help and exit with ExitOK
	Args       []string // what is no flag, in order
}

// ParseFlags reads the arguments that follow a command's name: "serve", "connect",
// "link", "call", "tools", "doctor", "check", "init", "safe", "audit" or "setup".
// Flags may stand anywhere before a "--", with one dash or two, as "--board sim" or
// "--board=sim". The error is for Fail with ExitUsage.
func ParseFlags(command string, args []string) (Flags, error) {
	f := Flags{Board: "auto", MaxMessage: rpc.DefaultMessage, MaxValues: wire.DefaultLimits.Values}
	set := flag.NewFlagSet(command, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	dials := command == "connect" || command == "link" // the board at the other end of a cable
	cable := false
	if !dials {
		set.StringVar(&f.Board, "board", f.Board, "")
	}
	if !dials && command != "doctor" && command != "init" {
		set.StringVar(&f.Config, "config", "", "")
	}
	switch command {
	case "serve", "setup", "call", "tools":
		cable = true
		set.StringVar(&f.Serial, "serial", "", "")
	case "connect", "link":
		cable = true
	}
	if cable {
		set.IntVar(&f.Baud, "baud", 0, "")
	}
	switch command {
	case "check", "init", "safe", "connect":
	case "serve", "setup":
		set.IntVar(&f.MaxMessage, "max-message", f.MaxMessage, "")
		set.IntVar(&f.MaxValues, "max-values", f.MaxValues, "")
	default:
		set.BoolVar(&f.JSON, "json", false, "")
	}
	if command == "audit" {
		set.IntVar(&f.Last, "last", 100, "")
	}
	for {
		switch err := set.Parse(args); {
		case err == flag.ErrHelp:
			f.Help = true
			return f, nil
		case err != nil:
			return f, &usageError{command, err.Error()}
		}
		rest := set.Args()
		if read := len(args) - len(rest); read > 0 && args[read-1] == "--" {
			f.Args = append(f.Args, rest...)
			break
		}
		if len(rest) == 0 {
			break
		}
		f.Args = append(f.Args, rest[0])
		args = rest[1:]
	}
	given := map[string]bool{}
	set.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if dials && len(f.Args) > 0 {
		f.Serial, f.Args = f.Args[0], f.Args[1:]
		given["serial"] = true
	}
	switch {
	case given["serial"] && f.Serial == "":
		return f, &usageError{command, `the serial port is ""; name one, such as /dev/ttyUSB0`}
	case given["baud"] && (f.Baud < minBaud || f.Baud > maxBaud):
		return f, &usageError{command, "--baud is " + strconv.Itoa(f.Baud) + "; it must be from " +
			strconv.Itoa(minBaud) + " to " + strconv.Itoa(maxBaud)}
	case given["baud"] && f.Serial == "" && !dials:
		return f, &usageError{command, "--baud is of a serial port; name it with --serial"}
	case f.Serial != "" && (command == "call" || command == "tools") && (given["board"] || given["config"]):
		return f, &usageError{command, "--serial is the board at the other end of a cable, which has its own --board and --config"}
	case f.Board != "auto" && f.Board != "linux" && f.Board != "sim":
		return f, &usageError{command, "--board is " + strconv.Quote(f.Board) + "; it must be auto, linux or sim"}
	case f.MaxMessage < minMessage || f.MaxMessage > maxMessage:
		return f, &usageError{command, "--max-message is " + strconv.Itoa(f.MaxMessage) + "; it must be from " +
			strconv.Itoa(minMessage) + " to " + strconv.Itoa(maxMessage) + " bytes"}
	case f.MaxValues < minValues || f.MaxValues > maxValues:
		return f, &usageError{command, "--max-values is " + strconv.Itoa(f.MaxValues) + "; it must be from " +
			strconv.Itoa(minValues) + " to " + strconv.Itoa(maxValues)}
	case f.Last < 0:
		return f, &usageError{command, "--last is " + strconv.Itoa(f.Last) + "; it must be a number of records, or 0 for all"}
	case dials && len(f.Args) > 0:
		return f, &usageError{command, strconv.Quote(f.Args[0]) + " is one word too many; name one serial port"}
	case (command == "check" || command == "init" || command == "audit") && len(f.Args) > 1:
		return f, &usageError{command, strconv.Quote(f.Args[1]) + " is one file too many"}
	case (command == "serve" || command == "doctor" || command == "safe") && len(f.Args) > 0:
		return f, &usageError{command, strconv.Quote(f.Args[0]) + " is no flag, and " + command + " takes nothing else"}
	}
	return f, nil
}

// The bounds of --max-message, in bytes: a request with its _meta fits, and a
// size fits an int of 32 bits.
const (
	minMessage = 1 << 10
	maxMessage = 512 << 20
)

// The bounds of --max-values: a request with its _meta fits, and the parser's
// values stay below 100 MB.
const (
	minValues = 64
	maxValues = 1 << 20
)

// The bounds of --baud, in bits per second: slower, a list takes minutes; faster,
// no serial port goes.
const (
	minBaud = 1200
	maxBaud = 12_000_000
)

// usageError says what is wrong with a command line and where to look.
type usageError struct{ command, what string }

func (e *usageError) Error() string { return e.what + `; see "boardhand ` + e.command + ` -h"` }
