package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

func TestCall(t *testing.T) {
	const takes = "; gpio_write takes line, level, bias, see \"boardhand tools gpio_write\"\n"
	for _, tt := range []struct {
		name           string
		args           string
		json, terminal bool
		status         int
		stdout, stderr string
	}{
		{name: "facts align, objects are dotted, a device's escapes are shown", args: "board_info", stdout: `
model         Zero\x1b[31m °C
simulated     yes
memory.total  512
memory.free   1e2
buses         i2c-1, i2c-2
none          none
load          -
note          ""
`},
		{name: "one table stands alone", args: "gpio_list", stdout: `
NAME   HELD  OWNER  WAS.LEVEL
GPIO2  no    -      -
µ      yes   spi0   1
`},
		{name: "several tables have titles", args: "scan", stdout: `
bus  1

found:
ADDRESS  PARTS
0x76     {"n":1}, {"n":2}

missed:
ADDRESS
0x50
`},
		{name: "JSON is the tool's own", args: "gpio_list", json: true, stdout: `
{"lines":[{"name":"GPIO2","held":false},{"name":"µ","owner":"spi0","held":true,"was":{"level":1}}]}
`},
		{name: "JSON keeps escapes and numbers", args: "board_info", json: true, stdout: `
{"model":"Zero\u001b[31m °C","simulated":true,"memory":{"total":512,"free":1e2},"buses":["i2c-1","i2c-2"],"none":[],"load":null,"note":""}
`},
		{name: "progress is shown on a terminal and wiped", args: "scan", json: true, terminal: true,
			stdout: `{"bus":1,"found":[{"address":"0x76","parts":[{"n":1},{"n":2}]}],"missed":[{"address":"0x50"}]}` + "\n",
			stderr: "\rscan: 1 of 112, 0x08\\a\x1b[K\r\x1b[K"},
		{name: "a tool without progress leaves a terminal alone", args: "gpio_write line=GPIO17 level=1", terminal: true,
			stdout: "before.level  0\nline          GPIO17\n"},
		{name: "a tool's error", args: "gpio_write line=GPIO99 level=1", status: 1,
			stderr: "boardhand: line \"GPIO99\" not found; gpio_list shows 54 lines\n"},
		{name: "a value that does not fit is refused by the server", args: "gpio_write line=GPIO17 level=high", status: 1,
			stderr: "boardhand: parameter \"level\" is a string; it is a whole number from 0 to 1, required\n"},
		{name: "a value out of range", args: "gpio_write line=GPIO17 level=2", status: 1,
			stderr: "boardhand: parameter \"level\" is 2; it is a whole number from 0 to 1, required\n"},
		{name: "a parameter that stands twice", args: "gpio_write line=a line=b level=1", status: 1,
			stderr: "boardhand: parameter \"line\" stands twice; it is a string from 1 to 64 bytes long, required: a name such as \"GPIO17\"\n"},
		{name: "a panic", args: "panics", status: 1,
			stderr: "boardhand: the handler failed inside (see the server's log); the board's state is unknown, read it before you act\n"},
		{name: "a protocol error", args: "elicits", status: 1,
			stderr: "boardhand: tool elicits needs a client with the capability elicitation\n"},
		{name: "lists, hex and bytes", args: "echo list=a,b,,c address=0x76 on=true data=0aff", status: 1,
			stderr: "boardhand: parameter \"list\" has 4 elements; it is an array of 1 to 3 strings, required\n"},
		{name: "every type", args: "echo list=a,b text=x=y whole=-0 address=0x76 ratio=-1e-1 on=false data=0a:ff",
			stdout: "list  a|b\n"},
		{name: "no tool", status: 2, stderr: "boardhand: name a tool, as in \"boardhand call board_info\"; \"boardhand tools\" shows all\n"},
		{name: "an unknown tool", args: "gpio_wrote", status: 2, stderr: "boardhand: there is no tool \"gpio_wrote\"; \"boardhand tools\" shows all\n"},
		{name: "an argument without a name", args: "gpio_write GPIO17", status: 2,
			stderr: "boardhand: \"GPIO17\" is no parameter, which is NAME=VALUE" + takes},
		{name: "an unknown parameter", args: "gpio_write pin=17", status: 2,
			stderr: "boardhand: there is no parameter \"pin\"" + takes},
		{name: "a parameter where none is taken", args: "board_info a=b", status: 2,
			stderr: "boardhand: there is no parameter \"a\"; board_info takes none\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := Call(Local(server()), strings.Fields(tt.args), tt.json, tt.terminal, &stdout, &stderr)
			want(t, status, tt.status, stdout.String(), tt.stdout, stderr.String(), tt.stderr)
		})
	}
}

func TestCallSendsEachTypeAsItsJSON(t *testing.T) {
	srv := server()
	for arg, wanted := range map[string]string{
		"text=7":         `"7"`,
		`text=a"\`:       `"a\"\\"`,
		"text=":          `""`,
		"list=a":         `["a"]`,
		"list=a,b c,":    `["a","b c",""]`,
		"whole=7":        "7",
		"whole=1e3":      "1e3",
		"whole=-7":       "-7",
		"whole=007":      `"007"`,
		"whole=0x10":     `"0x10"`,
		"whole=[1]":      `"[1]"`,
		"whole=1,\"a\":": `"1,\"a\":"`,
		"whole=":         `""`,
		"whole= 1":       `" 1"`,
		"address=118":    `"118"`,
		"address=0x76":   `"0x76"`,
		"ratio=0.5":      "0.5",
		"ratio=.5":       `".5"`,
		"ratio=NaN":      `"NaN"`,
		"on=true":        "true",
		"on=false":       "false",
		"on=yes":         `"yes"`,
		"data=0a ff":     `"0a ff"`,
	} {
		t.Run(arg, func(t *testing.T) {
			b, err := appendCall(nil, find(srv.Catalogue().Tools, "echo"), []string{arg}, "1", false)
			if err != nil {
				t.Fatal(err)
			}
			v := fastjson.MustParseBytes(b)
			name, _, _ := strings.Cut(arg, "=")
			if got := v.Get("params", "arguments", name).String(); got != wanted {
				t.Errorf("got %s, want %s", got, wanted)
			}
		})
	}
}

func FuzzCall(f *testing.F) {
	for _, s := range []string{"list=a,b", "whole=1e400", "on=true\n", "data=0x\xff", "ratio=-", "a", "=", "whole=1]}"} {
		f.Add("echo", s, "address=0x76")
	}
	srv := server()
	f.Fuzz(func(t *testing.T, tool, a, b string) {
		var stdout, stderr bytes.Buffer
		status := Call(Local(srv), []string{tool, a, b}, false, false, &stdout, &stderr)
		if (status == ExitOK) != (stderr.Len() == 0) || (status == ExitOK) == (stdout.Len() == 0) {
			t.Errorf("status %d, stdout %q, stderr %q", status, &stdout, &stderr)
		}
		if tool := find(srv.Catalogue().Tools, tool); tool != nil {
			if request, err := appendCall(nil, tool, []string{a, b}, "1", true); err == nil {
				if err := wire.Scan(request, wire.DefaultLimits); err != nil && !strings.Contains(err.Error(), "more than") {
					t.Errorf("request %q: %v", request, err)
				}
			}
		}
		plain(t, stdout.Bytes())
		plain(t, stderr.Bytes())
	})
}

func FuzzResult(f *testing.F) {
	for _, s := range []string{
		`{"a":1,"b":{"c":[{"d":"\u001b[2J\n"},{"e":[1,{"f":null}]}]}}`, `{"a":[[]],"a\n":[{},{}]}`, `{}`, `{"a":"\u202e\u009b"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if wire.Scan(b, wire.DefaultLimits) != nil {
			return
		}
		v, err := fastjson.ParseBytes(b)
		if err != nil {
			return
		}
		plain(t, appendResult(nil, v))
	})
}

// plain checks that an output does nothing to a terminal but write lines.
func plain(t *testing.T, out []byte) {
	t.Helper()
	for _, r := range string(out) {
		if r < ' ' && r != '\n' || r >= 0x7f && r < 0xa0 {
			t.Errorf("output %q holds %U", out, r)
		}
	}
	if !utf8.Valid(out) {
		t.Errorf("output %q is not UTF-8", out)
	}
}
