package own_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/boardfile"
	"boardhand/device/policy"
	"boardhand/device/sim"
	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/tools"
	"boardhand/tools/gate"
	"boardhand/tools/own"
)

// desk is a server on the simulated board with the tools of a board file.
type desk struct {
	t     testing.TB
	board *policy.Board
	left  []error // what Add left out
	cat   rpc.Catalogue
	*rpc.Conn

	mu  sync.Mutex
	out bytes.Buffer
}

func (d *desk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.out.Write(p)
}

// things are what the tools of these tests work on.
const things = `
[[line]]
line = "GPIO5"
name = "pump"
access = "write"
safe = "low"
max_on = "10m"

[[line]]
line = "GPIO6"
name = "valve"
access = "write"

[[line]]
line = "GPIO13"
name = "heater"
access = "write"
safe = "low"
needs = ["fan"]

[[line]]
line = "GPIO19"
name = "fan"
access = "write"
safe = "low"

[[line]]
line = "GPIO26"
name = "button"

[[i2c]]
bus = 1
address = 0x50
name = "eeprom"
access = "write"

[[i2c]]
bus = 1
address = 0x76
name = "climate"

[[i2c.register]]
register = 0xd0
name = "id"
type = "u8"

[[i2c.register]]
register = 0xf4
name = "mode"
type = "u8"
min = 0
max = 0x27
access = "write"

[[sensor]]
sensor = "supply"

[[uart]]
port = "ttyUSB0"
name = "meter"
access = "read"
commands = ["*IDN?", "MEAS?"]
`

func parse(t testing.TB, file string) *boardfile.File {
	t.Helper()
	f, err := boardfile.Parse("board.toml", []byte(things+file))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func newDesk(t testing.TB, file string) *desk {
	t.Helper()
	return newDeskOf(t, parse(t, file))
}

func newDeskOf(t testing.TB, f *boardfile.File) *desk {
	t.Helper()
	d := &desk{t: t}
	var err error
	if d.board, err = policy.Wrap(sim.Open(f.Sim), f.Rules, nil); err != nil {
		t.Fatal(err)
	}
	cat, guard := tools.Catalogue(d.board, "1", nil)
	t.Cleanup(func() { guard.Close(); _ = d.board.Close() })
	d.left = own.Add(&cat, d.board, f.Rules, tools.Names)
	if err := gate.Install(&cat, d.board, f.Rules, tools.Names, nil); err != nil {
		t.Fatal(err)
	}
	d.cat = cat
	srv := rpc.NewServer(cat, rpc.Limits{}, func(entry string, value any, stack []byte) { t.Errorf("%s: %v\n%s", entry, value, stack) })
	d.Conn = srv.NewConn(d)
	t.Cleanup(d.Conn.Close)
	return d
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// send sends a call and waits for nothing.
func (d *desk) send(tool, args string) {
	d.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, tool, args, meta), frame.Newline)
}

// call gives the result of a call, or its error.
func (d *desk) call(tool, args string) string {
	d.t.Helper()
	d.out.Reset()
	d.send(tool, args)
	d.Wait()
	if err := d.Flush(); err != nil {
		d.t.Fatal(err)
	}
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			ResultType        string
			IsError           bool
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
	}
	if err := json.Unmarshal(d.out.Bytes(), &m); err != nil {
		d.t.Fatalf("%v: %s", err, d.out.Bytes())
	}
	switch {
	case m.Error != nil:
		return m.Error.Message
	case m.Result.ResultType == "input_required":
		return "a person is asked"
	case m.Result.IsError:
		return m.Result.Content[0].Text
	case m.Result.Content[0].Text != string(m.Result.StructuredContent):
		d.t.Errorf("the text %s is not the result %s", m.Result.Content[0].Text, m.Result.StructuredContent)
	}
	return string(m.Result.StructuredContent)
}

// stand gives how lines stand, as "pump out 1", and of an input "pump in".
func (d *desk) stand(names ...string) string {
	d.t.Helper()
	var all []string
	for _, name := range names {
		l, err := d.board.GPIO().Find(name)
		level := make([]device.Level, 1)
		if err = errors.Join(err, d.board.GPIO().Read([]string{name}, level)); err != nil {
			d.t.Fatal(err)
		}
		if all = append(all, name+" in"); l.Direction == device.Out {
			all[len(all)-1] = fmt.Sprintf("%s out %d", name, level[0])
		}
	}
	return strings.Join(all, ", ")
}

// script writes a program of the shell, to be run by its path.
func script(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// head begins a tool called "it".
const head = "\n[[tool]]\nname = \"it\"\ndescription = \"A test\"\n"

func param(name, kind, more string) string {
	return fmt.Sprintf("[[tool.param]]\nname = %q\ntype = %q\n%s\n", name, kind, more)
}

func step(text string) string { return "[[tool.step]]\n" + text + "\n" }

func TestSteps(t *testing.T) {
	echo := script(t, `for a in "$@"; do printf '<%s>' "$a"; done; env | grep -c . >&2; pwd`)
	for _, tt := range []struct {
		name, tool, args string
		want             []string // parts of what comes
		stand            string   // of pump and valve afterwards; empty: as at the start
	}{
		{"a line is set", step(`set = "pump"` + "\nlevel = \"high\""), `{}`, []string{`{"took_ms":`}, "pump out 1, valve in"},
		{"a line is set for a time", step(`set = "pump"`+"\nlevel = \"high\"\nfor = \"20ms\"") + step(`wait = "200ms"`), `{}`, []string{`"took_ms":2`}, "pump out 0, valve in"},
		{"a level and a time are given", param("on", "boolean", "") + param("ms", "integer", "min = 1\nmax = 50") +
			step(`set = "valve"`+"\nlevel = \"{on}\"") + step(`set = "pump"`+"\nlevel = \"high\"\nfor = \"{ms}\"") + step(`wait = "{ms}"`),
			`{"on":true,"ms":10}`, []string{`"took_ms":`}, "valve out 1"},
		{"a level by choice", param("to", "string", `choices = ["low", "high"]`) + step(`set = "valve"`+"\nlevel = \"{to}\""), `{"to":"high"}`, []string{`took_ms`}, "valve out 1"},
		{"a level that is none", param("to", "string", "") + step(`set = "valve"`+"\nlevel = \"{to}\""), `{"to":"up"}`,
			[]string{`step 1, set "valve": level is "up"; low, high, 0 and 1 are allowed`}, ""},
		{"a line and a sensor are read", step(`read = "button"`) + step(`read = "supply"`) + step(`read = "button"`+"\nas = \"again\""), `{}`,
			[]string{`{"button":{"lines":[{"line":"button","level":0}]},"supply":{`, `,"again":{"lines":[{"line":"button"`}, ""},
		{"a name twice", step(`read = "button"`) + step(`read = "button"`), `{}`, []string{`"button":{`, `"button_2":{`}, ""},
		{"a register is read", step(`i2c = "climate"` + "\nregister = \"id\""), `{}`, []string{`"climate_id":{`, `60`}, ""},
		{"a register is written", param("mode", "string", "") + step(`i2c = "climate"`+"\nregister = \"mode\"\nwrite = \"{mode}\""), `{"mode":"27"}`, []string{`took_ms`}, ""},
		{"a register has its range", param("mode", "string", "") + step(`set = "pump"`+"\nlevel = \"high\"") + step(`i2c = "climate"`+"\nregister = \"mode\"\nwrite = \"{mode}\""), `{"mode":"ff"}`,
			[]string{`step 2 of 2, i2c "climate": board.toml:`, `39`}, ""},
		{"bytes that are none are refused before any step", param("data", "string", "") + step(`set = "pump"`+"\nlevel = \"high\"") + step(`i2c = "eeprom"`+"\nwrite = \"{data}\""), `{"data":"zz"}`,
			[]string{`step 2, i2c "eeprom": `, "zz"}, ""},
		{"a port is asked", step(`uart = "meter"` + "\nsend = \"MEAS?\\n\"\nuntil = \"\\n\""), `{}`, []string{`"meter":{`}, ""},
		{"a port's commands are its rule's", param("what", "string", "") + step(`uart = "meter"`+"\nsend = \"{what}\\n\"\nuntil = \"\\n\""), `{"what":"*RST"}`, []string{`step 1`, `*RST`, `MEAS?`}, ""},
		{"a line end in a text begins no second command", param("what", "string", "") + step(`uart = "meter"`+"\nsend = \"{what}\\n\"\nuntil = \"\\n\""), `{"what":"MEAS?\n*RST"}`,
			[]string{`parameter "what" is "MEAS?\n*RST"; one line of text, without control characters, is allowed`}, ""},
		{"braces that are no parameter stay", step(fmt.Sprintf(`program = [%q, "{", "{}", "{\"a\": 1}", "}{"]`, echo)), `{}`, []string{`<{><{}><{\"a\": 1}><}{>`}, ""},
		{"a program has its arguments one by one", param("a", "string", "") + param("n", "number", "") + step(fmt.Sprintf(`program = [%q, "{a}", "x{n}y{a}", "{a}{a}"]`, echo)),
			`{"a":"$(id) ; \"'* {n}","n":-0.5}`, []string{`<$(id) ; \"'* {n}><x-0.5y$(id) ; \"'* {n}><$(id) ; \"'* {n}$(id) ; \"'* {n}>`}, ""},
		{"a program has an environment of its own, and stands in /", step(fmt.Sprintf(`program = [%q]`, echo)), `{}`, []string{`"program":{"output":"`, `/\n`}, ""},
		{"a default is taken", param("a", "string", `default = "dflt"`) + step(fmt.Sprintf(`program = [%q, "{a}"]`, echo)), `{}`, []string{`<dflt>`}, ""},
		{"what is not given is empty", param("a", "string", "") + step(fmt.Sprintf(`program = [%q, "{a}", "b{a}"]`, echo)), `{}`, []string{`<><b>`}, ""},
		{"a text becomes no option", param("a", "string", "") + step(fmt.Sprintf(`program = [%q, "{a}"]`, echo)), `{"a":"--exec=x"}`,
			[]string{`step 1, program`, `argument 1 is "--exec=x", which the program would take for an option`}, ""},
		{"nor behind another", param("n", "integer", "") + param("a", "string", "") + step(fmt.Sprintf(`program = [%q, "{n}{a}"]`, echo)), `{"a":"-x"}`,
			[]string{`argument 1 is "-x"`}, ""},
		{"but after two dashes it may", param("a", "string", "") + step(fmt.Sprintf(`program = [%q, "--", "{a}"]`, echo)), `{"a":"-x"}`, []string{`<--><-x>`}, ""},
		{"a number may be negative", param("n", "integer", "") + step(fmt.Sprintf(`program = [%q, "{n}"]`, echo)), `{"n":-5}`, []string{`<-5>`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, head+tt.tool)
			if len(d.left) > 0 {
				t.Fatal(d.left)
			}
			got := d.call("it", tt.args)
			for _, part := range tt.want {
				if !strings.Contains(got, part) {
					t.Errorf("%s\nlacks %s", got, part)
				}
			}
			if tt.stand == "" {
				tt.stand = "pump in, valve in"
				if strings.Contains(got, "step 2 of 2") { // begun, and taken back
					tt.stand = "pump out 0, valve in"
				}
			}
			if now := d.stand("pump", "valve"); !strings.Contains(now, tt.stand) {
				t.Errorf("then %s, not %s", now, tt.stand)
			}
		})
	}
}

func TestParameters(t *testing.T) {
	echo := script(t, `echo "[$1]"`)
	file := func(p string) string { return head + p + step(fmt.Sprintf(`program = [%q, "{v}"]`, echo)) }
	for _, tt := range []struct{ name, param, args, want string }{
		{"an integer", param("v", "integer", "min = -5\nmax = 0"), `{"v":-5}`, "[-5]"},
		{"an integer below its range", param("v", "integer", "min = -5\nmax = 0"), `{"v":-6}`, "-5"},
		{"an integer above its range, which ends at 0", param("v", "integer", "min = -5\nmax = 0"), `{"v":1}`, `"v" is 1`},
		{"an integer of which only 0 is allowed", param("v", "integer", "min = 0\nmax = 0"), `{"v":1}`, `parameter "v" is 1; 0 and less are allowed`},
		{"an integer with the least only", param("v", "integer", "min = 3"), `{"v":2}`, `parameter "v" is 2; 3 and more are allowed`},
		{"an integer with a bound that is none of its own", param("v", "integer", "max = 2.5"), `{"v":3}`, `parameter "v" is 3; 2.5 and less are allowed`},
		{"an integer that is none", param("v", "integer", ""), `{"v":1.5}`, "whole number"},
		{"a number", param("v", "number", "min = 0.5\nmax = 1e3"), `{"v":1e3}`, "[1000]"},
		{"a number below its range", param("v", "number", "min = 0.5\nmax = 1e3"), `{"v":0.4}`, `parameter "v" is 0.4; 0.5 and more are allowed`},
		{"a number that no float has", param("v", "number", "min = 0.5"), `{"v":1e999}`, `"v"`},
		{"a boolean", param("v", "boolean", ""), `{"v":true}`, "[true]"},
		{"a boolean that is none", param("v", "boolean", ""), `{"v":"true"}`, `"v"`},
		{"a choice", param("v", "string", `choices = ["a", "-b"]`), `{"v":"-b"}`, "[-b]"},
		{"a choice that is none", param("v", "string", `choices = ["a", "-b"]`), `{"v":"c"}`, "one of a, -b"},
		{"a text", param("v", "string", ""), `{"v":"für {v}"}`, "[für {v}]"},
		{"a text that is too long", param("v", "string", ""), `{"v":"` + strings.Repeat("x", 1025) + `"}`, "1024"},
		{"a text with a zero byte", param("v", "string", ""), `{"v":"a\u0000b"}`, "control characters"},
		{"one that is missing", param("v", "string", "required = true"), `{}`, `"v"`},
		{"one that there is not", param("v", "string", ""), `{"w":1}`, `"w"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := newDesk(t, file(tt.param)).call("it", tt.args); !strings.Contains(got, tt.want) {
				t.Errorf("%s; want %s", got, tt.want)
			}
		})
	}
}

func TestToolsThatAreWrong(t *testing.T) {
	for _, tt := range []struct{ name, tool, want string }{
		{"a shell with a parameter", param("a", "string", "") + step(`program = ["/bin/sh", "-c", "echo {a}"]`), "gives a shell a command that has a parameter"},
		{"a shell by another program", param("a", "string", "") + step(`program = ["/usr/bin/env", "bash", "-ec", "echo {a}"]`), "gives a shell a command that has a parameter"},
		{"a program of the search path", step(`program = ["reboot"]`), "whole path"},
		{"a program that the caller chooses", param("a", "string", "") + step(`program = ["/usr/bin/{a}"]`), "only its arguments"},
		{"a parameter that there is not", step(`program = ["/bin/true", "{a}"]`), "no parameter of this tool"},
		{"a bound that is no number", param("a", "number", "min = nan") + step(`wait = "1s"`), "finite"},
		{"a bound without end", param("a", "number", "max = inf") + step(`wait = "1s"`), "finite"},
		{"a line that may only be read", step(`set = "button"` + "\nlevel = \"high\""), "may only be read"},
		{"a thing that the file does not open", step(`i2c = "rtc"` + "\nlength = 1"), "no chip of this file"},
		{"two kinds of step", step(`set = "pump"` + "\nlevel = \"high\"\nwait = \"1s\""), "exactly one"},
		{"a reading tool that writes", "read_only = true\n" + step(`set = "pump"`+"\nlevel = \"high\""), "read_only"},
		{"a wait without end", step(`wait = "11m"`), "10m"},
		{"no steps", "", "no steps"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := boardfile.Parse("board.toml", []byte(things+head+tt.tool))
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "board.toml:") {
				t.Errorf("%v; want %s", err, tt.want)
			}
		})
	}
}

// Where a step is refused, what the steps before have turned on goes where it goes when
// nobody holds it, and what comes after is not done.
func TestAStepThatIsRefusedLeavesNothingOn(t *testing.T) {
	on := func(line string) string { return step(fmt.Sprintf("set = %q\nlevel = \"high\"", line)) }
	d := newDesk(t, head+on("pump")+on("heater")+on("valve"))
	if got := d.call("it", `{}`); !strings.Contains(got, `step 2 of 3, set "heater": board.toml:`) || !strings.Contains(got, `it needs line "fan", which is off`) {
		t.Error(got)
	}
	if now := d.stand("pump", "heater", "valve"); now != "pump out 0, heater in, valve in" {
		t.Error(now)
	}
	if d.call("gpio_write", `{"line":"fan","level":1}`); !strings.HasPrefix(d.call("it", `{}`), `{"took_ms"`) {
		t.Error("with the fan it is not done")
	}
	if now := d.stand("pump", "heater", "valve"); now != "pump out 1, heater out 1, valve out 1" {
		t.Error(now)
	}
}

func TestATimeThatIsUp(t *testing.T) {
	forks := filepath.Join(t.TempDir(), "forks")
	for _, tt := range []struct{ name, tool, want string }{
		{"of a program", step(fmt.Sprintf("program = [%q]\ntimeout = \"300ms\"", script(t, "sleep 60 & sleep 60"))), "its time was up"},
		{"of the tool in a program", "timeout = \"500ms\"\n" + step(fmt.Sprintf("program = [%q]", script(t, "sleep 60; touch "+forks))), "its time was up"},
		{"of the tool in a wait", "timeout = \"500ms\"\n" + step(`wait = "1m"`), "the time of the tool is up"},
		{"of the tool on a bus that hangs", "timeout = \"500ms\"\n" + step(`i2c = "eeprom"`+"\nlength = 1"), "gave no answer within"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, head+strings.Replace(tt.tool, "[[tool.step]]", step(`set = "pump"`+"\nlevel = \"high\"")+"[[tool.step]]", 1)+"\n[[sim.jam]]\nbus = 1\nseconds = 3\n")
			began := time.Now()
			// On a machine that is busy the call's own deadline may come first.
			if got := d.call("it", `{}`); !strings.Contains(got, tt.want) && !strings.Contains(got, "gave no answer within 500ms") {
				t.Errorf("%s; want %s", got, tt.want)
			}
			t.Log(time.Since(began))
			for end := time.Now().Add(10 * time.Second); d.stand("pump") != "pump out 0"; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal(d.stand("pump"))
				}
			}
		})
	}
}

func TestBoundsOfAProgram(t *testing.T) {
	for _, tt := range []struct{ name, step, want string }{
		{"its output", fmt.Sprintf("program = [%q]\nmax_output = 100", script(t, "yes")), "it wrote too much"},
		{"its output where none is given", fmt.Sprintf("program = [%q]", script(t, "head -c 5000 /dev/zero")), "it wrote too much"},
		{"its status", fmt.Sprintf("program = [%q]", script(t, "echo went wrong >&2; exit 3")), `it ended with status 3, and wrote "went wrong\n"`},
		{"its end by a signal", fmt.Sprintf("program = [%q]", script(t, "kill -9 $$")), "killed"},
		{"one that is not there", `program = ["/no/such"]`, "/no/such cannot be started"},
		{"text that is none", fmt.Sprintf("program = [%q]", script(t, `printf 'a\377b'`)), `"output":"a�b"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, head+step(tt.step))
			if got := d.call("it", `{}`); !strings.Contains(got, tt.want) {
				t.Errorf("%s; want %s", got, tt.want)
			}
		})
	}
}

// The result of all steps is bounded too.
func TestTheResultIsBounded(t *testing.T) {
	big := script(t, `head -c 30000 /dev/zero | tr '\0' x`)
	d := newDesk(t, head+strings.Repeat(step(fmt.Sprintf("program = [%q]\nmax_output = 32768", big)), 3))
	if got := d.call("it", `{}`); !strings.Contains(got, "step 3 of 3") || !strings.Contains(got, "65536 are allowed; read less") {
		t.Errorf("%.300s", got)
	}
}

// While a tool waits, others are answered; a call that is cancelled ends it, and takes
// back what it has set.
func TestAToolIsAJob(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	for _, tt := range []struct{ name, step string }{
		{"in a wait", step(`wait = "1m"`)},
		{"in a program", step(fmt.Sprintf("program = [%q]\ntimeout = \"1m\"", script(t, "sleep 60; touch "+mark)))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t, head+step(`set = "pump"`+"\nlevel = \"high\"")+tt.step+step(`set = "valve"`+"\nlevel = \"high\""))
			d.send("it", `{}`)
			for d.stand("pump") != "pump out 1" {
				time.Sleep(time.Millisecond)
			}
			d.Handle([]byte(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"fan","level":1},`+meta+`}}`), frame.Newline)
			if err := d.Flush(); err != nil || !strings.Contains(d.out.String(), `"id":2,"result"`) {
				t.Errorf("%v %s", err, d.out.String())
			}
			d.Handle([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,`+meta+`}}`), frame.Newline)
			for d.stand("pump") != "pump out 0" {
				time.Sleep(time.Millisecond)
			}
			if now := d.stand("valve"); now != "valve in" {
				t.Error(now)
			}
		})
	}
}

// Calls on the dispatcher and steps of tools meet on the same lines.
func TestStepsBesideCalls(t *testing.T) {
	d := newDesk(t, head+strings.Repeat(step(`set = "valve"`+"\nlevel = \"high\"")+step(`read = "button"`)+step(`set = "valve"`+"\nlevel = \"low\""), 20))
	d.send("it", `{}`)
	for i := range 500 {
		d.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"valve","level":%d},%s}}`, i+2, i%2, meta), frame.Newline)
		d.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["button","valve"]},%s}}`, i+1002, meta), frame.Newline)
	}
	d.Wait()
	if err := d.Flush(); err != nil || strings.Contains(d.out.String(), "isError") {
		t.Errorf("%v %s", err, d.out.String())
	}
}

// The call of the whole passes the gate with all that its steps touch.
func TestTheGateSeesWhatAToolTouches(t *testing.T) {
	on := step(`set = "valve"` + "\nlevel = \"high\"")
	valve := "line = \"GPIO6\"\nname = \"valve\"\naccess = \"write\"\n"
	for _, tt := range []struct {
		name, top, valve, tool string
		want                   []string // of one call after the other
	}{
		{"a person is asked for a line", "", "confirm = true\n", on, []string{"a person is asked"}},
		{"a person is asked for the tool", "", "", "confirm = true\n" + on, []string{"a person is asked"}},
		{"the rate of a line", "", "rate = \"1/min\"\n", on, []string{`{"took_ms"`, `board.toml:`}},
		{"the rate of the tool", "", "", "rate = \"1/min\"\n" + on, []string{`{"took_ms"`, `board.toml:`}},
		{"a tool that is denied", "[tools]\ndeny = [\"it\"]\n", "", on, []string{`tool "it" is closed by deny`}},
		{"nothing may be changed", "read_only = true\n", "", on, []string{"read_only"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.top + strings.Replace(things, valve, valve+tt.valve, 1)
			f, err := boardfile.Parse("board.toml", []byte(text+head+tt.tool))
			if err != nil {
				if strings.Contains(err.Error(), tt.want[0]) {
					return // it need not be asked
				}
				t.Fatal(err)
			}
			d := newDeskOf(t, f)
			for _, want := range tt.want {
				if got := d.call("it", `{}`); !strings.Contains(got, want) {
					t.Errorf("%s; want %s", got, want)
				}
			}
		})
	}
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	for _, name := range []string{"gpio_read", "can_send"} { // this board has no CAN
		d := newDesk(t, fmt.Sprintf("\n[[tool]]\nname = %q\ndescription = \"A test\"\n", name)+step(`wait = "1s"`))
		if want := fmt.Sprintf("tool %q is left out: boardhand has a tool of this name", name); len(d.left) != 1 ||
			!strings.Contains(d.left[0].Error(), want) || !strings.Contains(d.left[0].Error(), "board.toml:") {
			t.Error(d.left)
		}
	}
}

func TestEntry(t *testing.T) {
	d := newDesk(t, head+"title = \"It\"\nread_only = true\n"+
		param("n", "integer", "description = \"how many\"\nmin = 1\nmax = 9\ndefault = \"2\"")+param("x", "number", "min = 0.5")+param("s", "string", "secret = true")+
		step(`read = "button"`)+step(`wait = "{n}"`))
	for i := range d.cat.Tools {
		e := &d.cat.Tools[i]
		if e.Name != "it" {
			continue
		}
		if e.Title != "It" || !e.Hints.ReadOnly || e.Hints.Destructive || e.Description != "A test" || len(e.Params) != 3 {
			t.Errorf("%+v", e)
		}
		n, x, s := e.Params[0], e.Params[1], e.Params[2]
		if n.Min != 1 || n.Max != 9 || n.Description != "how many; default 2" || x.Description != "at least 0.5" || !s.Secret {
			t.Errorf("%+v", e.Params)
		}
		if len(e.Result) != 2 || e.Result[1].Name != "button" || len(e.Result[1].Fields) == 0 {
			t.Errorf("%+v", e.Result)
		}
		return
	}
	t.Error("it is not in the catalogue")
}
