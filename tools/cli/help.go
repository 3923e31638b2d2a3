package cli

import (
	"io"
	"runtime"
	"strconv"
	"strings"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

const usage = `boardhand gives an AI client hands on a small Linux board, over MCP.

Examples:
  boardhand setup claude-code               show how a client starts it
  boardhand doctor                          see what of this machine can be used
  boardhand tools                           list what the board can do
  boardhand call board_info                 run one tool by hand
  boardhand call gpio_list --board sim      the same on a simulated board
  boardhand connect                         work a board at the end of a cable

Commands:
  serve    speak MCP on standard input and output, the default, or a serial port
  connect  serve the board at the other end of a serial cable
  link     show the state of a serial cable
  call     run one tool and print its result
  tools    list the tools, or show one
  setup    print the entry for a client's configuration, or a systemd unit
  doctor   look what of this machine can be used, and how to mend the rest
  init     write a board file for this board, to say what a client may do
  check    look what is wrong with a board file
  safe     bring all outputs to their safe levels, also those of a server that runs
  audit    show what was done on the board
` + httpCommands + `  version  print the version
  help     print this, or the help of a command

"boardhand COMMAND -h" shows a command's flags.
`

// cable is the flags of a command whose board may be at the end of a cable.
const cable = `  --serial DEV         the board at the other end of the cable on this port
` + cableBaud

const cableBaud = `  --baud N             of the port, from 1200 to 12000000; without it 115200 and
                       other usual ones are tried
`

const boardFlags = `  --board BOARD        auto, linux or sim; auto takes the real board where there
                       is one, else the simulated one
  --config FILE        the board file: names, limits and safe levels; else
                       /etc/boardhand.toml, else ~/.config/boardhand/board.toml
`

// help is the text on one command, or empty.
func help(command string) string {
	switch command {
	case "serve":
		return `Speak MCP on standard input and output, for a client that starts boardhand, or
on a serial port, for "boardhand connect" or a script at the cable's other end.

Examples:
  boardhand
  boardhand serve --board sim
  boardhand serve --config board.toml
  boardhand serve --serial /dev/ttyAMA0 --baud 115200
` + httpExamples + `
Flags:
` + boardFlags +
			`  --serial DEV         serve on this port, such as /dev/ttyAMA0 or /dev/ttyGS0
  --baud N             of the port, from 1200 to 12000000; 115200
  --max-message BYTES  the longest message taken; ` + strconv.Itoa(rpc.DefaultMessage) + `
  --max-values N       the most JSON values in one message; ` + strconv.Itoa(wire.DefaultLimits.Values) + `
` + httpFlags
	case "connect":
		return `Serve MCP on standard input and output for the board at the other end of a
serial cable, where "boardhand serve --serial" runs. It lives through noise,
unplugging and the board's restarts.

Examples:
  boardhand connect
  boardhand connect /dev/ttyUSB0 --baud 921600
  boardhand connect COM3
  boardhand setup claude-code --serial /dev/ttyUSB0
` + connectExamples + `
Usage:
  boardhand connect [DEV] [flags]

Without DEV the USB serial ports are looked at, and the one whose board answers
is taken. To look opens a port, which pulses its DTR line: some devices start
anew.

Flags:
` + cableBaud + httpFlags + graceFlag
	case "link":
		return `Show the state of the serial cable to a board: round trip, bytes saved, errors.

Examples:
  boardhand link
  boardhand link /dev/ttyUSB0 --json

Usage:
  boardhand link [DEV] [flags]

DEV is as in "boardhand connect". Exit status: 0 done, 1 no board answers,
2 wrong usage.

Flags:
  --json               print it as JSON
` + cableBaud
	case "call":
		return `Run one tool and print its result.

Examples:
  boardhand call board_info
  boardhand call gpio_read lines=GPIO17,GPIO27
  boardhand call i2c_scan bus=1 --json
  boardhand call board_info --serial /dev/ttyUSB0

Usage:
  boardhand call TOOL [NAME=VALUE ...] [flags]

A list's elements are separated by commas. "boardhand tools TOOL" shows a tool's
parameters. Exit status: 0 done, 1 the tool failed, 2 wrong usage.

Flags:
  --json               print the result as JSON
` + boardFlags + cable
	case "tools":
		return `List the tools, or show one with its parameters, its result and an example.

Examples:
  boardhand tools
  boardhand tools gpio_write
  boardhand tools --json

Usage:
  boardhand tools [TOOL] [flags]

Flags:
  --json               print what a client gets, as JSON
` + boardFlags + cable
	case "setup":
		return `Print the entry for a client's configuration, or the systemd unit of a board
that serves on a serial port. It goes to standard output, and what to do with it
to standard error.

Examples:
  boardhand setup claude-code
  boardhand setup cursor --board sim
  boardhand setup vscode > .vscode/mcp.json
  boardhand setup claude-code --serial /dev/ttyUSB0   for "boardhand connect"
  boardhand setup systemd --serial /dev/ttyAMA0       for the board

Usage:
  boardhand setup CLIENT [flags of serve]
  boardhand setup CLIENT --serial DEV [--baud N]
  boardhand setup systemd [--serial DEV] [flags of serve]

Clients:
  ` + clientNames() + `

Without --serial, systemd's unit has the first port that this machine has: a USB
gadget's, or else one of its own.
`
	case "doctor":
		return `Look at this machine as the present user: which interfaces are there, which can
be used, who has them, and what to do about the others. It changes nothing.

Examples:
  boardhand doctor
  boardhand doctor --json

Usage:
  boardhand doctor [flags]

Exit status: 0 all well, 1 something is not usable, 2 wrong usage.

Flags:
  --json               print it as JSON
  --board BOARD        auto, linux or sim; auto is this machine where it runs
                       Linux, else the simulated board
`
	case "init":
		return `Write a board file that names all that this board has: lines, buses and chips,
serial ports, sensors. Everything in it is a comment: take the # away from what
a client may have. A file that is there already stays as it is. The I2C buses
are scanned for it.

Examples:
  boardhand init board.toml
  boardhand init --board sim > board.toml

Usage:
  boardhand init [FILE] [flags]

Flags:
  --board BOARD        auto, linux or sim
`
	case "check":
		return `Look what is wrong with a board file: the first error with its line and what is
allowed, and what it names that this board lacks.

Examples:
  boardhand check board.toml
  boardhand check

Usage:
  boardhand check [FILE] [flags]

Exit status: 0 it is well, 1 it is not, 2 wrong usage.

Flags:
` + boardFlags
	case "safe":
		return `Bring every output to its safe level, now: those that the board file names,
those of a boardhand that was killed, and those of one that runs, which is asked
to halt them. A server that has halted its outputs goes on without them until it
ends.

Examples:
  boardhand safe
  boardhand safe --config board.toml
  boardhand setup systemd      a unit that does it whenever the service ends

Usage:
  boardhand safe [flags]

Exit status: 0 all are at rest, 1 some are not, 2 wrong usage.

Flags:
` + boardFlags
	case "audit":
		return `Show what was done on the board: the calls that could change something, each
with who called, the arguments, what the rules decided and how it ended. The
board file says where that is written: in [audit], as
file = "/var/log/boardhand/audit.jsonl".

Examples:
  boardhand audit
  boardhand audit --last 0 --json
  boardhand audit /var/log/boardhand/audit.jsonl

Usage:
  boardhand audit [FILE] [flags]

Flags:
  --last N             how many of the last records; 100, and 0 for all
  --json               print them as they are written, a JSON object a line
  --config FILE        the board file
`
	case "version":
		return "Print boardhand's version and the revisions of MCP that it speaks.\n"
	case "help":
		return "Print the commands, or the help of one: boardhand help call\n"
	}
	return httpHelp(command)
}

func clientNames() string {
	names := make([]string, len(clients))
	for i := range clients {
		names[i] = clients[i].name
	}
	return strings.Join(names, ", ")
}

// Usage prints what there is.
func Usage(w io.Writer) { _, _ = io.WriteString(w, usage) }

// Help prints the help of one command to stdout, or of them all for "". Of a name
// that is no command it says so on stderr; so it is also the answer to an unknown
// command.
func Help(command string, stdout, stderr io.Writer) int {
	if command == "" {
		return emit(stdout, stderr, []byte(usage))
	}
	if text := help(command); text != "" {
		return emit(stdout, stderr, []byte(text))
	}
	return Fail(stderr, ExitUsage, "there is no command "+strconv.Quote(command)+`; "boardhand help" shows all`)
}

// Version prints the program's version, what it was built for and the revisions
// of MCP it speaks, newest first.
func Version(version string, stdout, stderr io.Writer) int {
	return emit(stdout, stderr, []byte("boardhand "+version+" "+runtime.GOOS+"/"+runtime.GOARCH+
		"\nMCP "+strings.Join(rpc.Versions(), ", ")+"\n"))
}
