package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"boardhand/rpc"
)

func TestTools(t *testing.T) {
	for _, tt := range []struct {
		name, args     string
		status         int
		stdout, stderr string
	}{
		{name: "the list marks what acts", stdout: `
board_info     The board's model, memory and uptime, e.g. of a Pi
gpio_list      All lines
gpio_write  *  Makes a line an output
echo        *  Says what came
scan           Scans a bus
panics         Fails inside
elicits        Asks

* acts on the board, the others only read
"boardhand tools NAME" shows a tool's parameters and an example.
`},
		{name: "one tool without parameters", args: "board_info", stdout: `
board_info: Describe the board

The board's model, memory and uptime, e.g. of a Pi. Read anew on every call.
It changes nothing on the board.

RESULT        TYPE     ALWAYS  DESCRIPTION
model         text     yes
simulated     boolean  yes
memory        object   yes
memory.total  integer  yes     bytes
memory.free   integer  yes
buses         list     yes
load          number   no

Example:
  boardhand call board_info
`},
		{name: "a table in the result", args: "gpio_list", stdout: `
gpio_list: List the lines

All lines. It changes nothing on the board.

RESULT         TYPE   ALWAYS  DESCRIPTION
lines          table  yes
lines[].name   text   yes
lines[].owner  text   no

Example:
  boardhand call gpio_list
`},
		{name: "the example takes what a description quotes", args: "gpio_write", stdout: `
gpio_write: Write a line

Makes a line an output. It stays so. It acts on the board; the same call twice
does no more than once.

PARAMETER  TYPE     REQUIRED  ALLOWED        DESCRIPTION
line       text     yes       1 to 64 bytes  a name such as "GPIO17"
level      integer  yes       0 to 1
bias       text     no        off, up, down  the pull

Example:
  boardhand call gpio_write line=GPIO17 level=1
`},
		{name: "every type", args: "echo", stdout: `
echo

Says what came. It acts on the board; what it changes may not be undone by
another call.

PARAMETER  TYPE     REQUIRED  ALLOWED               DESCRIPTION
text       text     no        any
list       list     yes       up to 3, with commas
whole      integer  no        any
address    hex      yes       0x03 to 0x77
ratio      number   no        -1 to 1
on         boolean  yes       true, false
data       bytes    yes       2 to 4 bytes

Example:
  boardhand call echo list=LIST address=0x76 on=true data=0000
`},
		{name: "an unknown tool", args: "gpio", status: 2, stderr: "boardhand: there is no tool \"gpio\"; \"boardhand tools\" shows all\n"},
		{name: "two tools", args: "scan echo", status: 2, stderr: "boardhand: name one tool, or none; see \"boardhand tools -h\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := Tools(Local(server()), strings.Fields(tt.args), false, &stdout, &stderr)
			want(t, status, tt.status, stdout.String(), tt.stdout, stderr.String(), tt.stderr)
		})
	}
}

func TestEveryExampleIsACallThatTheServerTakes(t *testing.T) {
	srv := server()
	for _, name := range []string{"board_info", "gpio_list", "gpio_write", "echo", "scan"} {
		var stdout, stderr bytes.Buffer
		args := strings.Fields(example(find(srv.Catalogue().Tools, name)))[2:]
		if status := Call(Local(srv), args, false, false, &stdout, &stderr); status != ExitOK {
			t.Errorf("%v: status %d, %s", args, status, &stderr)
		}
	}
}

func TestToolsWithoutHardware(t *testing.T) {
	var stdout, stderr bytes.Buffer
	srv := rpc.NewServer(rpc.Catalogue{Name: "boardhand"}, rpc.Limits{}, nil)
	want(t, Tools(Local(srv), nil, false, &stdout, &stderr), ExitOK,
		stdout.String(), "This board has no hardware that a tool could use.\n", stderr.String(), "")
}

func TestToolsJSONHoldsAllPages(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := Tools(Local(server()), nil, true, &stdout, &stderr); status != ExitOK {
		t.Fatal(stderr.String())
	}
	var all []struct {
		Name        string
		InputSchema json.RawMessage
	}
	if err := json.Unmarshal(stdout.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	tools := catalogue().Tools
	if len(all) != len(tools) {
		t.Fatalf("%d tools, want %d", len(all), len(tools))
	}
	for i := range tools {
		if all[i].Name != tools[i].Name || len(all[i].InputSchema) == 0 {
			t.Errorf("tool %d is %+v, want %s", i, all[i], tools[i].Name)
		}
	}
	var one struct{ Name string }
	stdout.Reset()
	Tools(Local(server()), []string{"elicits"}, true, &stdout, &stderr)
	if err := json.Unmarshal(stdout.Bytes(), &one); err != nil || one.Name != "elicits" {
		t.Errorf("%s: %v", &stdout, err)
	}
}
