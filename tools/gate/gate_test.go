package gate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device/boardfile"
	"boardhand/device/policy"
	"boardhand/device/sim"
	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/tools"
	"boardhand/tools/audit"
	"boardhand/tools/gate"
)

// desk is a server on the simulated board under a board file.
type desk struct {
	t   testing.TB
	srv *rpc.Server
	log *audit.Log
	out bytes.Buffer
	*rpc.Conn
	id int
}

// install puts the rules of a file on the simulated board.
func install(t testing.TB, file string, log *audit.Log, change func(*rpc.Catalogue)) (*rpc.Server, error) {
	t.Helper()
	f, err := boardfile.Parse("board.toml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	b, err := policy.Wrap(sim.Open(f.Sim), f.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	cat, guard := tools.Catalogue(b, "1", func(err error) { t.Error(err) })
	t.Cleanup(func() { guard.Close(); _ = b.Close() })
	if change != nil {
		change(&cat)
	}
	if err := gate.Install(&cat, b, f.Rules, tools.Names, log); err != nil {
		return nil, err
	}
	return rpc.NewServer(cat, rpc.Limits{}, func(entry string, value any, stack []byte) { t.Errorf("%s: %v\n%s", entry, value, stack) }), nil
}

func newDesk(t testing.TB, file string, log *audit.Log) *desk {
	srv, err := install(t, file, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, srv: srv, log: log}
	d.Conn = srv.NewConn(&d.out)
	return d
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// call gives what a call is answered with: "ok", "asked", or the error.
func (d *desk) call(tool, args string) string {
	d.t.Helper()
	return d.callWith(tool, args, "")
}

func (d *desk) callWith(tool, args, more string) string {
	d.t.Helper()
	if tool == "sleep" {
		time.Sleep(time.Second)
		return "ok"
	}
	d.id++
	d.out.Reset()
	d.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s%s}}`, d.id, tool, args, more, meta), frame.Newline)
	d.Wait()
	if err := d.Flush(); err != nil {
		d.t.Fatal(err)
	}
	var m struct {
		Error  *struct{ Message string }
		Result struct {
			ResultType, RequestState string
			IsError                  bool
			Content                  []struct{ Text string }
		}
	}
	if err := json.Unmarshal(d.out.Bytes(), &m); err != nil {
		d.t.Fatalf("%v: %s", err, d.out.Bytes())
	}
	switch {
	case m.Error != nil:
		return m.Error.Message
	case m.Result.ResultType == "input_required":
		return "asked " + m.Result.RequestState
	case m.Result.IsError:
		return m.Result.Content[0].Text
	}
	return "ok"
}

// confirm answers the question that a call is answered with.
func (d *desk) confirm(tool, args string) string {
	d.t.Helper()
	state, asked := strings.CutPrefix(d.call(tool, args), "asked ")
	if !asked {
		return state
	}
	return d.callWith(tool, args, `"requestState":"`+state+`","inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}},`)
}

func TestRulesDecideOnCalls(t *testing.T) {
	const lines = `
[[line]]
line = "GPIO17"
name = "pump"
access = "write"
`
	const chip = `
[[i2c]]
bus = 1
address = 0x50
name = "eeprom"
access = "write"
`
	type step struct{ tool, args, want string } // want is what the answer begins with
	tests := []struct {
		name, file string
		steps      []step
	}{
		{"what no rule is about passes", lines, []step{{"gpio_write", `{"line":"pump","level":1}`, "ok"}}},
		{"a tool that is denied", "[tools]\ndeny = [\"gpio_wr*\"]\n" + lines, []step{
			{"gpio_write", `{"line":"pump","level":1}`, `board.toml:1: tool "gpio_write" is closed by deny = "gpio_wr*"; ask the owner`},
			{"gpio_read", `{"lines":["pump"]}`, "ok"}}},
		{"a tool that allow does not name", "[tools]\nallow = [\"gpio_read\"]\n" + lines, []step{
			{"gpio_write", `{"line":"pump","level":1}`, `board.toml:1: tool "gpio_write" is closed, for allow does not name it`},
			{"gpio_read", `{"lines":["pump"]}`, "ok"}}},
		{"deny wins", "[tools]\nallow = [\"gpio_*\"]\ndeny = [\"gpio_write\"]\n" + lines, []step{
			{"gpio_write", `{"line":"pump","level":1}`, `board.toml:1: tool "gpio_write" is closed by deny`}}},
		{"nothing may be changed", "read_only = true\n" + lines, []step{
			{"gpio_write", `{"line":"pump","level":1}`, `board.toml: tool "gpio_write" is closed by read_only = true`},
			{"gpio_read", `{"lines":["pump"]}`, "ok"}}},
		{"a tool that is confirmed", "[tools]\nconfirm = [\"gpio_*\"]\n" + lines, []step{
			{"gpio_write", `{"line":"pump","level":1}`, "asked "},
			{"gpio_read", `{"lines":["pump"]}`, "ok"}}},
		{"a line that is confirmed, by any name", lines + "confirm = true\n", []step{
			{"gpio_write", `{"line":"pump","level":1}`, "asked "},
			{"gpio_write", `{"line":"GPIO17","level":0}`, "asked "},
			{"gpio_pulse", `{"line":"pump","high_us":10}`, "asked "},
			{"gpio_configure", `{"line":"pump","set":"high"}`, "asked "},
			{"gpio_read", `{"lines":["pump"]}`, "ok"}}},
		{"a line goes to its safe level without a question", lines + "confirm = true\nsafe = \"low\"\n", []step{
			{"gpio_write", `{"line":"pump","level":0}`, "ok"},
			{"gpio_write", `{"line":"pump","level":0,"for_ms":10}`, "asked "},
			{"gpio_configure", `{"line":"pump","set":"low"}`, "asked "},
			{"gpio_write", `{"line":"pump","level":1}`, "asked "}}},
		{"a chip that is confirmed", chip + "confirm = true\n", []step{
			{"i2c_write", `{"address":"0x50","data":"00 01"}`, "asked "},
			{"i2c_write", `{"address":"eeprom","register":"0","data":"01"}`, "asked "},
			{"i2c_transfer", `{"messages":["r@50 1"]}`, "asked "},
			{"i2c_read", `{"address":"0x50","register":"0"}`, "ok"}}},
		{"a register that is confirmed", chip + "\n[[i2c.register]]\nregister = 0x10\nname = \"ctrl\"\nconfirm = true\n", []step{
			{"i2c_write", `{"address":"0x50","register":"0x10","data":"01"}`, "asked "},
			{"i2c_write", `{"address":"0x50","register":"ctrl","data":"01"}`, "asked "},
			{"i2c_write", `{"address":"0x50","register":"0x0f","data":"01 02"}`, "asked "},
			{"i2c_write", `{"address":"0x50","data":"10 01"}`, "asked "},
			{"i2c_transfer", `{"messages":["w@50 10 01"]}`, "asked "},
			{"i2c_write", `{"address":"0x50","register":"0x0e","data":"01 02"}`, "ok"},
			{"sleep", "", "ok"}, // while the EEPROM writes
			{"i2c_write", `{"address":"0x50","register":"0x11","data":"01 02"}`, "ok"}}},
		{"a rate of a line, by any name", lines + "rate = \"2/min\"\n", []step{
			{"gpio_write", `{"line":"pump","level":1}`, "ok"},
			{"gpio_write", `{"line":"GPIO17","level":0}`, "ok"},
			{"gpio_write", `{"line":"pump","level":1}`, `board.toml:2: line "pump": rate = 2/min is used up; come again in 1m0s`},
			{"gpio_read", `{"lines":["pump"]}`, "ok"}}},
		{"a rate is not against the safe level", lines + "safe = \"low\"\nrate = \"1/min\"\n", []step{
			{"gpio_write", `{"line":"pump","level":1}`, "ok"},
			{"gpio_write", `{"line":"pump","level":1}`, `board.toml:2: line "pump": rate`},
			{"gpio_write", `{"line":"pump","level":0}`, "ok"},
			{"gpio_write", `{"line":"pump","level":0}`, "ok"}}},
		{"no limit is against the safe level, nor does it ask", "[limits]\ncalls = \"1/h\"\n[tools]\nconfirm = [\"gpio_write\"]\nrate = { gpio_write = \"1/h\" }\n" + lines + "safe = \"low\"\n", []step{
			{"gpio_list", `{}`, "ok"},
			{"gpio_write", `{"line":"pump","level":0}`, "ok"},
			{"gpio_write", `{"line":"pump","level":0}`, "ok"},
			{"gpio_write", `{"line":"pump","level":1}`, "board.toml:1: limits.calls"}}},
		{"a rate of what may only be read", "[[line]]\nline = \"GPIO17\"\nrate = \"1/min\"\n", []step{
			{"gpio_read", `{"lines":["GPIO17","GPIO17"]}`, "ok"},
			{"gpio_read", `{"lines":["GPIO17"]}`, `board.toml:1: line "GPIO17": rate`}}},
		{"a rate of a sensor", "[[sensor]]\nsensor = \"cpu-thermal\"\nname = \"cpu\"\nrate = \"1/min\"\n", []step{
			{"sensor_read", `{"sensor":"cpu"}`, "ok"},
			{"sensor_read", `{"sensor":["cpu-thermal"]}`, `board.toml:1: sensor "cpu": rate`}}},
		{"a rate of a tool", "[tools]\nrate = { \"gpio_*\" = \"1/h\", gpio_read = \"2/h\" }\n" + lines, []step{
			{"gpio_write", `{"line":"pump","level":1}`, "ok"},
			{"gpio_write", `{"line":"pump","level":1}`, `board.toml:1: tool "gpio_write": rate "gpio_*" = 1/h is used up; come again in 1h`},
			{"gpio_read", `{"lines":["pump"]}`, "ok"},
			{"gpio_read", `{"lines":["pump"]}`, "ok"},
			{"gpio_read", `{"lines":["pump"]}`, `board.toml:1: tool "gpio_read": rate "gpio_read" = 2/h`}}},
		{"a rate of all calls", "[limits]\ncalls = \"2/min\"\n" + lines, []step{
			{"gpio_read", `{"lines":["pump"]}`, "ok"},
			{"gpio_list", `{}`, "ok"},
			{"gpio_read", `{"lines":["pump"]}`, `board.toml:1: limits.calls = "2/min" is used up; come again in 1m0s`}}},
		{"a UART that is confirmed", "[[uart]]\nport = \"ttyUSB0\"\nname = \"bench\"\naccess = \"write\"\nconfirm = true\n", []step{
			{"uart_exchange", `{"port":"ttyUSB0","data":"x"}`, "asked "},
			{"uart_exchange", `{"port":"bench","data":"x"}`, "asked "},
			{"uart_control", `{"port":"bench"}`, "asked "},
			{"uart_list", `{}`, "ok"}}},
		{"a Modbus point that is confirmed", "[[modbus]]\ntarget = \"192.0.2.10\"\nname = \"plant\"\naccess = \"write\"\n" +
			"[[modbus.point]]\nname = \"setpoint\"\naddress = 3\ntype = \"i16\"\naccess = \"write\"\nconfirm = true\n", []step{
			{"modbus_write", `{"target":"setpoint","values":"5"}`, "asked "},
			{"modbus_write", `{"target":"192.0.2.10","address":3,"values":"5"}`, "asked "},
			{"modbus_write", `{"target":"[::ffff:192.0.2.10]:502","address":3,"values":"5"}`, "asked "},
			{"modbus_write", `{"target":"plant","address":2,"values":"1 2"}`, "asked "},
			{"modbus_write", `{"target":"plant","address":2,"values":"1.0","type":"f32"}`, "asked "},
			{"modbus_write", `{"target":"plant","address":3,"unit":0,"values":"1"}`, "asked "},
			{"modbus_write", `{"target":"plant","address":4,"values":"1"}`, "ok"},
			{"modbus_read", `{"target":"setpoint"}`, "ok"}}},
		{"an LED that is confirmed", "[[led]]\nled = \"ACT\"\nname = \"lamp\"\naccess = \"write\"\nconfirm = true\n", []step{
			{"led_set", `{"led":"ACT","state":"on"}`, "asked "}, {"led_set", `{"led":"lamp","state":"on"}`, "asked "}}},
		{"a PWM channel that is confirmed", "[[pwm]]\nchannel = \"pwmchip0/0\"\nname = \"servo\"\naccess = \"write\"\nconfirm = true\n[sim]\npwm = true\n", []step{
			{"pwm_set", `{"channel":"servo","duty":"5%","period":"50Hz"}`, "asked "}}},
		{"an SPI device that is confirmed", "[[spi]]\ndevice = \"spidev0.0\"\nname = \"flash\"\naccess = \"write\"\nconfirm = true\n", []step{
			{"spi_transfer", `{"device":"flash","data":"9f +3"}`, "asked "},
			{"spi_transfer", `{"data":"9f"}`, "asked "}}},
		{"a CAN interface that is confirmed", "[[can]]\ninterface = \"can0\"\naccess = \"write\"\nconfirm = true\n[sim]\ncan = \"up\"\n", []step{
			{"can_send", `{"id":"7e0","data":"02 01 0c"}`, "asked "}, {"can_receive", `{"timeout_ms":1}`, "ok"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, tt.file, nil)
				defer d.Close()
				for _, s := range tt.steps {
					if got := d.call(s.tool, s.args); !strings.HasPrefix(got, s.want) {
						t.Errorf("%s %s: %q, want %q", s.tool, s.args, got, s.want)
					}
				}
			})
		})
	}
}

// The question costs nothing of a rate, the call that was confirmed does.
func TestARateCountsWhatRuns(t *testing.T) {
	d := newDesk(t, "[[line]]\nline = \"GPIO17\"\naccess = \"write\"\nconfirm = true\nrate = \"2/h\"\n", nil)
	for range 5 {
		if got := d.call("gpio_write", `{"line":"GPIO17","level":1}`); !strings.HasPrefix(got, "asked ") {
			t.Fatal(got)
		}
	}
	for range 2 {
		if got := d.confirm("gpio_write", `{"line":"GPIO17","level":1}`); got != "ok" {
			t.Fatal(got)
		}
	}
	if got := d.call("gpio_write", `{"line":"GPIO17","level":1}`); !strings.Contains(got, "rate = 2/h is used up") {
		t.Error(got)
	}
}

// The rate of a thing is the board's, that of all calls is a connection's.
func TestConnectionsShareTheRatesOfThings(t *testing.T) {
	const file = "[limits]\ncalls = \"2/h\"\n[[line]]\nline = \"GPIO17\"\naccess = \"write\"\nrate = \"1/h\"\n"
	d := newDesk(t, file, nil)
	other := &desk{t: t, srv: d.srv}
	other.Conn = d.srv.NewConn(&other.out)
	for _, s := range []struct {
		d    *desk
		tool string
		args string
		want string
	}{
		{d, "gpio_write", `{"line":"GPIO17","level":1}`, "ok"},
		{other, "gpio_write", `{"line":"GPIO17","level":1}`, `board.toml:3: line "GPIO17"`},
		{d, "gpio_list", `{}`, "ok"}, {other, "gpio_list", `{}`, "ok"},
		{d, "gpio_list", `{}`, "board.toml:1: limits.calls"}, {other, "gpio_list", `{}`, "board.toml:1: limits.calls"},
	} {
		if got := s.d.call(s.tool, s.args); !strings.HasPrefix(got, s.want) {
			t.Errorf("%s: %q, want %q", s.tool, got, s.want)
		}
	}
}

func TestARuleAboutNoToolIsAnError(t *testing.T) {
	for _, key := range []string{"allow", "deny", "confirm", "secret"} {
		_, err := install(t, "[tools]\n"+key+" = [\"gpio_read\", \"gpio_wrte\"]\n", nil, nil)
		if err == nil || !strings.HasPrefix(err.Error(), "board.toml:1: tools."+key+`: "gpio_wrte" is no tool; allowed: `) || !strings.Contains(err.Error(), "gpio_write") {
			t.Errorf("%s: %v", key, err)
		}
	}
	if _, err := install(t, "[tools]\nrate = { \"gpoi_*\" = \"1/s\" }\n", nil, nil); err == nil || !strings.Contains(err.Error(), `tools.rate: "gpoi_*" is no tool`) {
		t.Error(err)
	}
	// What this board has no hardware for is a tool all the same.
	if _, err := install(t, "[tools]\ndeny = [\"can_*\", \"pwm_set\"]\n", nil, nil); err != nil {
		t.Error(err)
	}
}

// records are the lines of an audit log, without what differs each time.
func records(t *testing.T, name string, log *audit.Log) []string {
	t.Helper()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	var all []string
	if err := audit.Read(name, func(line []byte) error {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if _, err := time.Parse(time.RFC3339Nano, fmt.Sprint(m["time"])); err != nil {
			t.Error(err)
		}
		if ms, ok := m["ms"].(float64); !ok || ms < 0 {
			t.Errorf("%s: no time that it took", line)
		}
		delete(m, "time")
		delete(m, "ms")
		b, err := json.Marshal(m)
		all = append(all, string(b))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestActingCallsAreWrittenDown(t *testing.T) {
	const lines = "[tools]\nsecret = [\"i2c_write\"]\n[[line]]\nline = \"GPIO17\"\nname = \"pump\"\naccess = \"write\"\n[[line]]\nline = \"GPIO27\"\nname = \"heater\"\naccess = \"write\"\nconfirm = true\n" +
		"[[uart]]\nport = \"ttyUSB0\"\nname = \"modem\"\naccess = \"write\"\nsecret = true\n[[i2c]]\nbus = 1\naddress = 0x50\naccess = \"write\"\n[limits]\ncalls = \"9/h\"\n"
	for _, reads := range []bool{false, true} {
		name := filepath.Join(t.TempDir(), "audit.jsonl")
		log, err := audit.Open(name, audit.Options{}, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		d := newDesk(t, lines+fmt.Sprintf("[audit]\nfile = %q\nreads = %v\n", name, reads), log)
		d.call("gpio_write", `{"line":"GPIO17","level":1}`)
		d.call("gpio_read", `{"lines":["pump"]}`)
		d.call("gpio_write", `{"line":"GPIO99","level":1}`)
		d.confirm("gpio_write", `{"line":"heater","level":1}`)
		d.call("uart_exchange", `{"port":"modem","data":"AT+PIN=1234","timeout_ms":1}`)
		d.call("i2c_write", `{"address":"0x50","data":"00 ff"}`)
		d.call("gpio_write", `{"line":"pump"}`) // no call: an argument is missing
		d.call("gpio_write", `{"line":"pump","level":0}`)
		d.call("gpio_write", `{"line":"pump","level":1}`)
		d.call("gpio_write", `{"line":"pump","level":0}`)
		want := []string{
			`{"args":{"level":1,"line":"GPIO17"},"client":"test 1","conn":1,"decision":"allowed","on":["gpio pump"],"outcome":"done","result":{"before":{"direction":"in","level":0},"level":1,"line":"GPIO17"},"tool":"gpio_write"}`,
			`{"args":{"lines":["pump"]},"client":"test 1","conn":1,"decision":"allowed","on":["gpio pump"],"outcome":"done","result":{"lines":[{"level":1,"line":"pump"}]},"tool":"gpio_read"}`,
			`{"args":{"level":1,"line":"GPIO99"},"client":"test 1","conn":1,"decision":"allowed","error":"ANY","outcome":"failed","tool":"gpio_write"}`,
			`{"args":{"level":1,"line":"heater"},"client":"test 1","conn":1,"decision":"asked","error":"board.toml:7: line \"heater\": confirm = true","on":["gpio heater"],"outcome":"not run","tool":"gpio_write"}`,
			`{"args":{"level":1,"line":"heater"},"client":"test 1","conn":1,"decision":"confirmed","on":["gpio heater"],"outcome":"done","result":{"before":{"direction":"in","level":1},"level":1,"line":"heater"},"tool":"gpio_write"}`,
			`{"args":"***","client":"test 1","conn":1,"decision":"allowed","on":["uart modem"],"outcome":"done","tool":"uart_exchange"}`,
			`{"args":"***","client":"test 1","conn":1,"decision":"allowed","on":["i2c i2c-1 0x50"],"outcome":"done","tool":"i2c_write"}`,
			`{"args":{"level":0,"line":"pump"},"client":"test 1","conn":1,"decision":"allowed","on":["gpio pump"],"outcome":"done","result":{"before":{"direction":"out","level":1},"level":0,"line":"pump"},"tool":"gpio_write"}`,
			`{"args":{"level":1,"line":"pump"},"client":"test 1","conn":1,"decision":"allowed","on":["gpio pump"],"outcome":"done","result":{"before":{"direction":"out","level":0},"level":1,"line":"pump"},"tool":"gpio_write"}`,
			`{"args":{"level":0,"line":"pump"},"client":"test 1","conn":1,"decision":"refused","error":"ANY","outcome":"not run","tool":"gpio_write"}`,
		}
		if !reads {
			want = append(want[:1], want[2:]...)
		}
		got := records(t, name, log)
		if len(got) != len(want) {
			t.Fatalf("reads %v: %d records, want %d:\n%s", reads, len(got), len(want), strings.Join(got, "\n"))
		}
		for i := range want {
			before, rest, _ := strings.Cut(want[i], "ANY")
			if got[i] != want[i] && !(rest != "" && strings.HasPrefix(got[i], before)) {
				t.Errorf("reads %v: record %d is\n%s\nwant\n%s", reads, i, got[i], want[i])
			}
		}
		text, err := os.ReadFile(name)
		if err != nil || bytes.Contains(text, []byte("1234")) || bytes.Contains(text, []byte("00 ff")) {
			t.Errorf("a secret is in the log (%v): %s", err, text)
		}
	}
}

// A parameter's own mark keeps the value out, and with it the result.
func TestASecretArgumentIsNotWrittenDown(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(name, audit.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := install(t, "allow = \"everything\"\n[audit]\nfile = \"/x\"\n[[tool]]\nname = \"unlock\"\ndescription = \"Unlock\"\n[[tool.step]]\nwait = \"1ms\"\n", log, func(cat *rpc.Catalogue) {
		cat.Tools = append(cat.Tools, rpc.Tool{Name: "unlock2", Params: []rpc.Param{{Name: "pin", Type: rpc.String, Secret: true}, {Name: "door", Type: rpc.String}},
			Run: func(c *rpc.Call) error { return fmt.Errorf("pin %s is wrong", c.Str(0)) }})
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, srv: srv}
	d.Conn = srv.NewConn(&d.out)
	d.call("unlock2", `{"pin":"4711","door":"front"}`)
	d.call("unlock2", `{"door":"front"}`)
	got := records(t, name, log)
	if len(got) != 2 || strings.Contains(got[0], "4711") || !strings.Contains(got[1], `"door":"front"`) {
		t.Errorf("%q", got)
	}
}

// Who asks for 1 MiB does not fill the log with it.
func TestARecordIsShort(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(name, audit.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, "allow = \"everything\"\n[audit]\nfile = \"/x\"\nreads = true\n", log)
	names := `"` + strings.Repeat(`x`, 100) + `"`
	d.call("gpio_read", `{"lines":[`+strings.Repeat(names+",", 63)+names+`]}`)
	d.call("gpio_read", `{"lines":[`+strings.Repeat(`"GPIO17",`, 63)+`"GPIO17"]}`)
	d.call("i2c_transfer", `{"address":"0x50","messages":[`+strings.Repeat(`"r 256",`, 3)+`"r 256"]}`)
	for _, r := range records(t, name, log) {
		if len(r) > 6000 {
			t.Errorf("a record of %d bytes: %s", len(r), r)
		}
	}
}

// full is a file that uses all that the gate does.
const full = `[limits]
calls = "1000000/s"
[tools]
rate = { "gpio_*" = "1000000/s" }
[[line]]
line = "GPIO17"
name = "pump"
access = "write"
rate = "1000000/s"
[[line]]
line = "GPIO27"
`

func steadyMessages() map[string]string {
	params := func(tool, args string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args
	}
	read, write := params("gpio_read", `{"lines":["GPIO17","GPIO27"]}`), params("gpio_write", `{"line":"GPIO17","level":1}`)
	return map[string]string{
		"2025-06-18/read": read + "}}", "2025-06-18/write": write + "}}",
		"2026-07-28/read": read + "," + meta + "}}", "2026-07-28/write": write + "," + meta + "}}",
	}
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`

func TestTheGateAllocatesNothing(t *testing.T) {
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for name, msg := range steadyMessages() {
		srv, err := install(t, full+"[audit]\nfile = \"/x\"\nreads = true\n", log, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := srv.NewConn(io.Discard)
		c.Handle([]byte(hello), frame.Newline)
		text := []byte(msg)
		once := func() {
			c.Handle(text, frame.Newline)
			_ = c.Flush()
		}
		once()
		if n := testing.AllocsPerRun(200, once); n != 0 {
			t.Errorf("%s: %v allocations a call", name, n)
		}
	}
}

// What the gate costs: a call without a board file, under one without rules about
// calls, with limits of all kinds, and with each acting call written down.
func BenchmarkGate(b *testing.B) {
	log, err := audit.Open(filepath.Join(b.TempDir(), "audit.jsonl"), audit.Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer log.Close()
	const plain = "[[line]]\nline = \"GPIO17\"\naccess = \"write\"\n[[line]]\nline = \"GPIO27\"\n"
	servers := map[string]func() *rpc.Server{
		"0-none": func() *rpc.Server { return without(b, plain) },
		"1-open": func() *rpc.Server { return must(install(b, plain, nil, nil)) },
		"2-limits": func() *rpc.Server {
			return must(install(b, full, nil, nil))
		},
		"3-audit": func() *rpc.Server { return must(install(b, plain+"[audit]\nfile = \"/x\"\n", log, nil)) },
	}
	for _, which := range []string{"0-none", "1-open", "2-limits", "3-audit"} {
		for name, msg := range steadyMessages() {
			b.Run(name+"/"+which, func(b *testing.B) {
				c := servers[which]().NewConn(io.Discard)
				c.Handle([]byte(hello), frame.Newline)
				msg := []byte(msg)
				b.ReportAllocs()
				for b.Loop() {
					c.Handle(msg, frame.Newline)
					_ = c.Flush()
				}
			})
		}
	}
}

func must(srv *rpc.Server, err error) *rpc.Server {
	if err != nil {
		panic(err)
	}
	return srv
}

// without is the same board and rules, whose calls pass no gate.
func without(t testing.TB, file string) *rpc.Server {
	f, err := boardfile.Parse("board.toml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	b, err := policy.Wrap(sim.Open(f.Sim), f.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	cat, guard := tools.Catalogue(b, "1", nil)
	t.Cleanup(func() { guard.Close(); _ = b.Close() })
	return rpc.NewServer(cat, rpc.Limits{}, nil)
}
