package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"boardhand/rpc"
)

// catalogue is small and has a parameter and a result field of every type.
func catalogue() rpc.Catalogue {
	busQueue := func(*rpc.Call) string { return "bus" }
	return rpc.Catalogue{
		Name: "boardhand", Title: "boardhand", Version: "0.0.1",
		Tools: []rpc.Tool{
			{
				Name: "board_info", Title: "Describe the board",
				Description: "The board's model, memory and uptime, e.g. of a Pi. Read anew on every call.",
				Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
				Result: []rpc.Field{
					{Name: "model", Type: rpc.String},
					{Name: "simulated", Type: rpc.Boolean},
					{Name: "memory", Type: rpc.Object, Fields: []rpc.Field{
						{Name: "total", Type: rpc.Integer, Description: "bytes"},
						{Name: "free", Type: rpc.Integer},
					}},
					{Name: "buses", Type: rpc.Strings},
					{Name: "load", Type: rpc.Number, Optional: true},
				},
				Run: func(c *rpc.Call) error {
					c.Out = append(c.Out, `{"model":"Zero\u001b[31m °C","simulated":true,"memory":{"total":512,"free":1e2},"buses":["i2c-1","i2c-2"],"none":[],"load":null,"note":""}`...)
					return nil
				},
			},
			{
				Name: "gpio_list", Title: "List the lines", Description: "All lines.",
				Hints: rpc.Hints{ReadOnly: true},
				Result: []rpc.Field{{Name: "lines", Type: rpc.Objects, Fields: []rpc.Field{
					{Name: "name", Type: rpc.String}, {Name: "owner", Type: rpc.String, Optional: true},
				}}},
				Run: func(c *rpc.Call) error {
					c.Out = append(c.Out, `{"lines":[{"name":"GPIO2","held":false},{"name":"µ","owner":"spi0","held":true,"was":{"level":1}}]}`...)
					return nil
				},
			},
			{
				Name: "gpio_write", Title: "Write a line", Description: "Makes a line an output. It stays so.",
				Hints: rpc.Hints{Idempotent: true},
				Params: []rpc.Param{
					{Name: "line", Required: true, Description: `a name such as "GPIO17"`, Min: 1, Max: 64},
					{Name: "level", Type: rpc.Integer, Required: true, Max: 1},
					{Name: "bias", Choices: []string{"off", "up", "down"}, Description: "the pull"},
				},
				Run: func(c *rpc.Call) error {
					if c.Str(0) == "GPIO99" {
						return errors.New(`line "GPIO99" not found; gpio_list shows 54 lines`)
					}
					c.Out = append(c.Out, `{"before":{"level":0},"line":"GPIO17"}`...)
					return nil
				},
			},
			{
				Name: "echo", Title: "", Description: "Says what came",
				Hints: rpc.Hints{Destructive: true},
				Params: []rpc.Param{
					{Name: "text"},
					{Name: "list", Type: rpc.Strings, MaxItems: 3, Required: true},
					{Name: "whole", Type: rpc.Integer},
					{Name: "address", Type: rpc.Hex, Min: 3, Max: 0x77, Required: true},
					{Name: "ratio", Type: rpc.Number, Min: -1, Max: 1},
					{Name: "on", Type: rpc.Boolean, Required: true},
					{Name: "data", Type: rpc.Bytes, Min: 2, Max: 4, Required: true},
				},
				Run: func(c *rpc.Call) error {
					c.Out = append(c.Out, `{"list":"`+strings.Join(c.Strs(1), "|")+`"}`...)
					return nil
				},
			},
			{
				Name: "scan", Title: "Scan", Description: "Scans a bus.", Queue: busQueue, Timeout: time.Minute,
				Hints: rpc.Hints{ReadOnly: true},
				Run: func(c *rpc.Call) error {
					time.Sleep(100 * time.Millisecond) // a faster call tells of none
					c.Progress(1, 112, "0x08\a")
					c.Out = append(c.Out, `{"bus":1,"found":[{"address":"0x76","parts":[{"n":1},{"n":2}]}],"missed":[{"address":"0x50"}]}`...)
					return nil
				},
			},
			{Name: "panics", Description: "Fails inside.", Hints: rpc.Hints{ReadOnly: true}, Run: func(*rpc.Call) error { panic("test") }},
			{Name: "elicits", Description: "Asks.", Requires: "elicitation", Hints: rpc.Hints{ReadOnly: true}, Run: func(*rpc.Call) error { return nil }},
		},
	}
}

func server() *rpc.Server { return rpc.NewServer(catalogue(), rpc.Limits{Page: 600}, nil) }

// want compares an outcome with what a command should have given.
func want(t *testing.T, status, wantStatus int, stdout, wantStdout, stderr, wantStderr string) {
	t.Helper()
	if status != wantStatus {
		t.Errorf("status %d, want %d", status, wantStatus)
	}
	if wantStdout = strings.TrimPrefix(wantStdout, "\n"); stdout != wantStdout {
		t.Errorf("stdout:\n%s\nwant:\n%s", stdout, wantStdout)
	}
	if wantStderr = strings.TrimPrefix(wantStderr, "\n"); stderr != wantStderr {
		t.Errorf("stderr:\n%q\nwant:\n%q", stderr, wantStderr)
	}
}

// broken is a stdout that takes nothing.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestOutputThatCannotBeWrittenIsAFailure(t *testing.T) {
	for name, run := range map[string]func(stderr *bytes.Buffer) int{
		"call": func(e *bytes.Buffer) int {
			return Call(Local(server()), []string{"gpio_list"}, false, false, broken{}, e)
		},
		"tools":   func(e *bytes.Buffer) int { return Tools(Local(server()), nil, true, broken{}, e) },
		"setup":   func(e *bytes.Buffer) int { return Setup(nil, "/bin/boardhand", broken{}, e) },
		"help":    func(e *bytes.Buffer) int { return Help("", broken{}, e) },
		"version": func(e *bytes.Buffer) int { return Version("1", broken{}, e) },
	} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			want(t, run(&stderr), ExitFailed, "", "", stderr.String(), "boardhand: the output could not be written: disk full\n")
		})
	}
}
