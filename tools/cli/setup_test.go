package cli

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestSetup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the shell's quotes are those of a POSIX shell")
	}
	for _, tt := range []struct {
		name           string
		args           []string
		exe            string
		status         int
		stdout, stderr string
	}{
		{name: "claude-code", args: []string{"claude-code"}, exe: "/opt/my tools/boardhand", stdout: `
{
  "mcpServers": {
    "boardhand": {
      "command": "/opt/my tools/boardhand",
      "args": ["serve"]
    }
  }
}
`, stderr: `
Type:
  claude mcp add boardhand -- '/opt/my tools/boardhand' serve
or paste this into:
  .mcp.json  in the project's folder
If the file has "mcpServers" already, add only the "boardhand" part to it.
Start claude in that folder and agree to the server; /mcp shows it.

`},
		{name: "claude-desktop", args: []string{"claude-desktop"}, exe: `C:\bin\"boardhand".exe`, stdout: `
{
  "mcpServers": {
    "boardhand": {
      "command": "C:\\bin\\\"boardhand\".exe",
      "args": ["serve"]
    }
  }
}
`, stderr: `
Paste this into Claude Desktop's configuration:
  ~/Library/Application Support/Claude/claude_desktop_config.json  macOS
  %APPDATA%\Claude\claude_desktop_config.json                      Windows
  ~/.config/Claude/claude_desktop_config.json                      Linux
If the file has "mcpServers" already, add only the "boardhand" part to it.
Quit Claude Desktop, not only its window, and start it again.

`},
		{name: "vscode, with flags", args: []string{"--board", "sim", "vscode", "--config=/etc/it's.toml", "--max-message", "8000000"}, exe: "/b", stdout: `
{
  "servers": {
    "boardhand": {
      "type": "stdio",
      "command": "/b",
      "args": ["serve", "--board", "sim", "--config", "/etc/it's.toml", "--max-message", "8000000"]
    }
  }
}
`, stderr: `
Paste this into VS Code's configuration:
  .vscode/mcp.json  in the workspace
If the file has "servers" already, add only the "boardhand" part to it.
For all workspaces, run "MCP: Open User Configuration" and paste it there.

`},
		{name: "gemini-cli, over a cable", args: []string{"gemini-cli", "--serial", "/dev/ttyUSB0", "--baud", "921600"}, exe: "/b", stdout: `
{
  "mcpServers": {
    "boardhand": {
      "command": "/b",
      "args": ["connect", "/dev/ttyUSB0", "--baud", "921600"]
    }
  }
}
`, stderr: `
Paste this into Gemini CLI's configuration:
  ~/.gemini/settings.json              for all projects
  %USERPROFILE%\.gemini\settings.json  the same on Windows
  .gemini/settings.json                for one project
If the file has "mcpServers" already, add only the "boardhand" part to it.
Start gemini again; /mcp shows the server.

`},
		{name: "a board's flag at the other end of a cable", args: []string{"cursor", "--serial", "COM3", "--board", "sim"}, status: 2,
			stderr: "boardhand: --board is for the board's own \"boardhand serve\"; see \"boardhand setup -h\"\n"},
		{name: "no client", stdout: `
boardhand setup claude-code     Claude Code
boardhand setup claude-desktop  Claude Desktop
boardhand setup vscode          VS Code
boardhand setup cursor          Cursor
boardhand setup gemini-cli      Gemini CLI
boardhand setup systemd         a service of this board, on a serial port
`},
		{name: "an unknown client", args: []string{"emacs"}, status: 2, stderr: `
boardhand: there is no client "emacs"; there are:
boardhand setup claude-code     Claude Code
boardhand setup claude-desktop  Claude Desktop
boardhand setup vscode          VS Code
boardhand setup cursor          Cursor
boardhand setup gemini-cli      Gemini CLI
boardhand setup systemd         a service of this board, on a serial port
`},
		{name: "a flag that serve lacks", args: []string{"cursor", "--bord", "sim"}, status: 2,
			stderr: "boardhand: flag provided but not defined: -bord; see \"boardhand setup -h\"\n"},
		{name: "two clients", args: []string{"cursor", "vscode"}, status: 2,
			stderr: "boardhand: name one client; see \"boardhand setup -h\"\n"},
		{name: "help", args: []string{"-h"}, stdout: help("setup")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := Setup(tt.args, tt.exe, &stdout, &stderr)
			want(t, status, tt.status, stdout.String(), tt.stdout, stderr.String(), tt.stderr)
		})
	}
}

func TestSetupOfEveryClientIsJSON(t *testing.T) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			exe := "/home/ü/\"a\"\\b\n/boardhand"
			if status := Setup([]string{c.name, "--config", "board.toml"}, exe, &stdout, &stderr); status != ExitOK {
				t.Fatal(stderr.String())
			}
			var file map[string]map[string]struct {
				Type, Command string
				Args          []string
			}
			if err := json.Unmarshal(stdout.Bytes(), &file); err != nil {
				t.Fatalf("%v in %s", err, &stdout)
			}
			entry := file[c.member]["boardhand"]
			path, err := filepath.Abs("board.toml")
			if err != nil {
				t.Fatal(err)
			}
			if entry.Command != exe || !slices.Equal(entry.Args, []string{"serve", "--config", path}) {
				t.Errorf("entry %+v", entry)
			}
		})
	}
}

func TestShellWord(t *testing.T) {
	for _, tt := range []struct {
		word    string
		windows bool
		want    string
	}{
		{"/usr/bin/boardhand", false, "/usr/bin/boardhand"},
		{"a b", false, "'a b'"},
		{"it's", false, `'it'\''s'`},
		{"$HOME", false, "'$HOME'"},
		{`a\b`, false, `'a\b'`},
		{"", false, "''"},
		{`C:\a\b.exe`, true, `C:\a\b.exe`},
		{`C:\a b.exe`, true, `"C:\a b.exe"`},
	} {
		if got := shellWord(tt.word, tt.windows); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.word, got, tt.want)
		}
	}
}

func TestParseFlags(t *testing.T) {
	for _, tt := range []struct {
		name, command, args string
		want                string // Args
		board               string
		json, help          bool
		serial              string
		baud                int
		err                 string
	}{
		{name: "nothing", command: "call", board: "auto"},
		{name: "--json first", command: "call", args: "--json scan bus=1", want: "scan bus=1", board: "auto", json: true},
		{name: "--json last", command: "call", args: "scan bus=1 --json", want: "scan bus=1", board: "auto", json: true},
		{name: "flags between", command: "call", args: "scan --board sim bus=1 -json x=-1", want: "scan bus=1 x=-1", board: "sim", json: true},
		{name: "after -- nothing is a flag", command: "call", args: "scan -- --json", want: "scan --json", board: "auto"},
		{name: "help", command: "tools", args: "scan -h", want: "scan", board: "auto", help: true},
		{name: "a board that there is not", command: "serve", args: "--board esp32", err: `--board is "esp32"; it must be auto, linux or sim; see "boardhand serve -h"`},
		{name: "a flag of another command", command: "serve", args: "--json", err: `flag provided but not defined: -json; see "boardhand serve -h"`},
		{name: "a flag without its value", command: "tools", args: "--config", err: `flag needs an argument: -config; see "boardhand tools -h"`},
		{name: "a value limit too small", command: "serve", args: "--max-values 1", err: `--max-values is 1; it must be from 64 to 1048576; see "boardhand serve -h"`},
		{name: "a message limit too small", command: "serve", args: "--max-message 0", err: `--max-message is 0; it must be from 1024 to 536870912 bytes; see "boardhand serve -h"`},
		{name: "a word after serve", command: "serve", args: "sim", err: `"sim" is no flag, and serve takes nothing else; see "boardhand serve -h"`},
		{name: "a port", command: "serve", args: "--serial /dev/ttyAMA0 --baud 9600", board: "auto", serial: "/dev/ttyAMA0", baud: 9600},
		{name: "a port as a word", command: "connect", args: "/dev/ttyUSB0 --baud 12000000", board: "auto", serial: "/dev/ttyUSB0", baud: 12000000},
		{name: "no port", command: "connect", args: "--baud 1200", board: "auto", baud: 1200},
		{name: "a state as JSON", command: "link", args: "COM3 --json", board: "auto", serial: "COM3", json: true},
		{name: "a call over a cable", command: "call", args: "scan bus=1 --serial COM3", want: "scan bus=1", board: "auto", serial: "COM3"},
		{name: "too slow", command: "connect", args: "--baud 1199", err: `--baud is 1199; it must be from 1200 to 12000000; see "boardhand connect -h"`},
		{name: "too fast", command: "tools", args: "--serial COM3 --baud 12000001", err: `--baud is 12000001; it must be from 1200 to 12000000; see "boardhand tools -h"`},
		{name: "no number", command: "connect", args: "--baud fast", err: `invalid value "fast" for flag -baud: parse error; see "boardhand connect -h"`},
		{name: "a speed without a port", command: "serve", args: "--baud 9600", err: `--baud is of a serial port; name it with --serial; see "boardhand serve -h"`},
		{name: "an empty port", command: "serve", args: "--serial=", err: `the serial port is ""; name one, such as /dev/ttyUSB0; see "boardhand serve -h"`},
		{name: "two ports", command: "connect", args: "COM3 COM4", err: `"COM4" is one word too many; name one serial port; see "boardhand connect -h"`},
		{name: "a board at the other end", command: "call", args: "scan --serial COM3 --board sim", err: `--serial is the board at the other end of a cable, which has its own --board and --config; see "boardhand call -h"`},
		{name: "a board of connect", command: "connect", args: "--board sim", err: `flag provided but not defined: -board; see "boardhand connect -h"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ParseFlags(tt.command, strings.Fields(tt.args))
			if err != nil || tt.err != "" {
				if err == nil || err.Error() != tt.err {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if got := strings.Join(f.Args, " "); got != tt.want || f.Board != tt.board || f.JSON != tt.json || f.Help != tt.help ||
				f.Serial != tt.serial || f.Baud != tt.baud {
				t.Errorf("got %+v", f)
			}
		})
	}
}
