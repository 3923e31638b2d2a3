package cli

import (
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// client is a program that starts MCP servers by its configuration.
type client struct {
	name, title string
	member      string     // of the file's object: holds the servers by name
	typed       bool       // an entry says "type": "stdio"
	files       [][]string // "", where the file is, and for whom
	then        string     // what to do when it is written
}

var clients = []client{
	{
		name: "claude-code", title: "Claude Code", member: "mcpServers",
		files: [][]string{{"", ".mcp.json", "in the project's folder"}},
		then:  "Start claude in that folder and agree to the server; /mcp shows it.",
	},
	{
		name: "claude-desktop", title: "Claude Desktop", member: "mcpServers",
		files: [][]string{
			{"", "~/Library/Application Support/Claude/claude_desktop_config.json", "macOS"},
			{"", `%APPDATA%\Claude\claude_desktop_config.json`, "Windows"},
			{"", "~/.config/Claude/claude_desktop_config.json", "Linux"},
		},
		then: "Quit Claude Desktop, not only its window, and start it again.",
	},
	{
		name: "vscode", title: "VS Code", member: "servers", typed: true,
		files: [][]string{{"", ".vscode/mcp.json", "in the workspace"}},
		then:  `For all workspaces, run "MCP: Open User Configuration" and paste it there.`,
	},
	{
		name: "cursor", title: "Cursor", member: "mcpServers",
		files: [][]string{
			{"", "~/.cursor/mcp.json", "for all projects"},
			{"", `%USERPROFILE%\.cursor\mcp.json`, "the same on Windows"},
			{"", ".cursor/mcp.json", "for one project"},
		},
		then: "Cursor's settings for tools and MCP show the server.",
	},
	{
		name: "gemini-cli", title: "Gemini CLI", member: "mcpServers",
		files: [][]string{
			{"", "~/.gemini/settings.json", "for all projects"},
			{"", `%USERPROFILE%\.gemini\settings.json`, "the same on Windows"},
			{"", ".gemini/settings.json", "for one project"},
		},
		then: "Start gemini again; /mcp shows the server.",
	},
}

// Setup prints the entry for a client's configuration to stdout, ready to paste
// or to redirect into a file, and where it goes to stderr; for "systemd" it is the
// unit of a service. args are the client's name and flags for serve, not yet
// parsed. exe is the absolute path of this program. Without a client it lists them.
func Setup(args []string, exe string, stdout, stderr io.Writer) int {
	f, err := ParseFlags("setup", args)
	switch {
	case err != nil:
		return Fail(stderr, ExitUsage, err.Error())
	case f.Help:
		return Help("setup", stdout, stderr)
	case len(f.Args) == 0:
		return emit(stdout, stderr, appendClients(nil))
	case len(f.Args) > 1:
		return Fail(stderr, ExitUsage, `name one client; see "boardhand setup -h"`)
	}
	if f.Args[0] == systemd {
		return setupSystemd(&f, exe, stdout, stderr)
	}
	c := findClient(f.Args[0])
	if c == nil {
		status := Fail(stderr, ExitUsage, "there is no client "+strconv.Quote(f.Args[0])+"; there are:")
		_, _ = stderr.Write(appendClients(nil))
		return status
	}
	start, err := serveArgs(&f)
	if err != nil {
		return Fail(stderr, ExitFailed, err.Error())
	}
	if f.Serial != "" {
		if len(start) > 1 {
			return Fail(stderr, ExitUsage, start[1]+` is for the board's own "boardhand serve"; see "boardhand setup -h"`)
		}
		start = append([]string{"connect"}, portArgs(nil, &f)...)
	}
	_, _ = stderr.Write(c.appendAdvice(nil, exe, start))
	return emit(stdout, stderr, c.appendEntry(nil, exe, start))
}

// portArgs appends the serial port, with its speed where that is given.
func portArgs(args []string, f *Flags) []string {
	args = append(args, f.Serial)
	if f.Baud != 0 {
		args = append(args, "--baud", strconv.Itoa(f.Baud))
	}
	return args
}

func findClient(name string) *client {
	for i := range clients {
		if clients[i].name == name {
			return &clients[i]
		}
	}
	return nil
}

func appendClients(dst []byte) []byte {
	rows := make([][]string, len(clients), len(clients)+1)
	for i := range clients {
		rows[i] = []string{"boardhand setup " + clients[i].name, clients[i].title}
	}
	rows = append(rows, []string{"boardhand setup " + systemd, "a service of this board, on a serial port"})
	return appendColumns(dst, rows)
}

// serveArgs are the arguments that start the server as f says. A client starts it
// in a folder of its own, so the board file's path is made absolute.
func serveArgs(f *Flags) ([]string, error) {
	args := []string{"serve"}
	if f.Board != "auto" {
		args = append(args, "--board", f.Board)
	}
	if f.Config != "" {
		path, err := filepath.Abs(f.Config)
		if err != nil {
			return nil, err
		}
		args = append(args, "--config", path)
	}
	if f.MaxMessage != rpc.DefaultMessage {
		args = append(args, "--max-message", strconv.Itoa(f.MaxMessage))
	}
	if f.MaxValues != wire.DefaultLimits.Values {
		args = append(args, "--max-values", strconv.Itoa(f.MaxValues))
	}
	return args, nil
}

func (c *client) appendEntry(dst []byte, exe string, args []string) []byte {
	dst = append(dst, "{\n  \""+c.member+"\": {\n    \"boardhand\": {\n"...)
	if c.typed {
		dst = append(dst, "      \"type\": \"stdio\",\n"...)
	}
	dst = wire.AppendString(append(dst, `      "command": `...), exe)
	dst = append(dst, ",\n      \"args\": ["...)
	for i, arg := range args {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = wire.AppendString(dst, arg)
	}
	return append(dst, "]\n    }\n  }\n}\n"...)
}

func (c *client) appendAdvice(dst []byte, exe string, args []string) []byte {
	if c.name == "claude-code" {
		dst = append(dst, "Type:\n  claude mcp add boardhand --"...)
		for _, word := range append([]string{exe}, args...) {
			dst = append(append(dst, ' '), shellWord(word, runtime.GOOS == "windows")...)
		}
		dst = append(dst, "\nor paste this into:\n"...)
	} else {
		dst = append(dst, "Paste this into "+c.title+"'s configuration:\n"...)
	}
	dst = appendColumns(dst, c.files)
	dst = append(dst, "If the file has \""+c.member+"\" already, add only the \"boardhand\" part to it.\n"...)
	return append(dst, c.then+"\n\n"...)
}

// shellWord quotes a word for a shell where it must be.
func shellWord(word string, windows bool) string {
	plain := word != ""
	for i := 0; i < len(word); i++ {
		b := word[i]
		switch {
		case b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z', b >= '0' && b <= '9', b >= 0x80:
		case strings.IndexByte("_-+=./:,@%", b) >= 0:
		case b == '\\' && windows:
		default:
			plain = false
		}
	}
	switch {
	case plain:
		return word
	case windows:
		return `"` + word + `"`
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
