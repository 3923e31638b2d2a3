package gate_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"boardhand/rpc"
	"boardhand/tools"
)

// elsewhere are arguments of every tool that works on things, for a thing of the
// simulated board that none of the files below opens.
var elsewhere = map[string]string{
	"gpio_list": `{}`, "gpio_read": `{"lines":["GPIO5"]}`, "gpio_write": `{"line":"GPIO5","level":1}`, "gpio_configure": `{"line":"GPIO5","set":"high"}`,
	"gpio_wait": `{"lines":["GPIO5"],"timeout_ms":1}`, "gpio_pulse": `{"line":"GPIO5","high_us":10}`,
	"i2c_scan": `{"bus":1}`, "i2c_read": `{"address":"0x50","register":"0"}`, "i2c_write": `{"address":"0x50","data":"00 01"}`,
	"i2c_transfer": `{"messages":["r@50 1"]}`,
	"sensor_list":  `{}`, "sensor_read": `{"sensor":["cpu-thermal"]}`,
	"spi_transfer": `{"device":"spidev0.1","data":"9f"}`,
	"pwm_set":      `{"channel":"pwmchip0/1","duty":"5%","period":"50Hz"}`, "led_set": `{"led":"PWR","state":"on"}`,
	"system_info": `{}`,
	"can_send":    `{"interface":"can0","id":"7e0","data":"01"}`, "can_receive": `{"interface":"can0","timeout_ms":1}`,
	"uart_list": `{}`, "uart_exchange": `{"port":"ttyUSB1","data":"x"}`, "uart_read": `{"port":"ttyUSB1"}`, "uart_control": `{"port":"ttyUSB1"}`,
	"modbus_read": `{"target":"192.0.2.99","address":0}`, "modbus_write": `{"target":"192.0.2.99","address":0,"values":"1"}`, "modbus_list": `{}`,
}

// listing are the tools that show all that is open, and nothing of the rest.
var listing = []string{"gpio_list", "i2c_scan", "sensor_list", "uart_list", "modbus_list", "system_info"}

const wired = "[sim]\npwm = true\ncan = \"up\"\n"

// Nothing that a file does not open can be seen or worked, by no tool, in no dialect
// and at no front; and the refusal says in which file no rule opens it.
func TestWhatAFileDoesNotOpenIsClosedEverywhere(t *testing.T) {
	files := []struct {
		name, text string
		lists      bool // they are open, for something is
	}{
		{"nothing is open", "name = \"closed\"\n", false},
		{"other things are open", "[[line]]\nline = \"GPIO17\"\naccess = \"write\"\n[[i2c]]\nbus = 1\naddress = 0x76\naccess = \"write\"\n" +
			"[[sensor]]\nsensor = \"cpu-fan\"\n[[spi]]\ndevice = \"spidev0.0\"\naccess = \"write\"\n[[pwm]]\nchannel = \"pwmchip0/0\"\naccess = \"write\"\n" +
			"[[led]]\nled = \"ACT\"\naccess = \"write\"\n[[uart]]\nport = \"ttyUSB0\"\naccess = \"write\"\n[[modbus]]\ntarget = \"192.0.2.10\"\naccess = \"write\"\n" +
			"[[modbus.point]]\nname = \"setpoint\"\naddress = 3\n" +
			"[[can]]\ninterface = \"can1\"\naccess = \"write\"\n[system]\naccess = \"read\"\n", true},
		{"everything is closed by name", "allow = \"everything\"\n[tools]\ndeny = [\"*\"]\n", false},
	}
	for _, name := range tools.Names {
		if elsewhere[name] == "" && name != "board_info" {
			t.Errorf("no arguments for %s: add it to this test, whatever it is", name)
		}
	}
	for _, file := range files {
		for _, front := range fronts {
			for _, d := range dialects {
				t.Run(file.name+"/"+front+"/"+d, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						changes := &counter{}
						h := join(t, front, boards(t, file.text+wired, rpc.Limits{}, changes))
						defer h.close()
						h.open(d, true)
						if strings.HasPrefix(file.text, "allow") {
							h.absent = "modbus_list" // which is there where a file names points
						}
						h.walk(file.lists)
						if file.name == "nothing is open" {
							h.emptyLists()
						}
						if changes.text.Len() > 0 {
							t.Errorf("lines have changed: %s", changes.text.String())
						}
					})
				})
			}
		}
	}
}

// walk calls every tool.
func (h *host) walk(lists bool) {
	h.t.Helper()
	for _, name := range tools.Names {
		if name == "board_info" || name == h.absent {
			continue
		}
		got := h.call(name, elsewhere[name])
		for strings.Contains(got, `"method":"notifications/`) {
			got = h.hear()
		}
		shows := false
		for _, l := range listing {
			shows = shows || l == name
		}
		if lists && shows {
			if failed(got) {
				h.t.Errorf("%s: %s", name, got)
			}
			for _, closed := range []string{`GPIO5"`, "0x50", "cpu-thermal", "ttyUSB1"} {
				if name != "system_info" && strings.Contains(got, closed) {
					h.t.Errorf("%s shows %s: %s", name, closed, got)
				}
			}
			continue
		}
		if !failed(got) || !strings.Contains(got, "board.toml") {
			h.t.Errorf("%s %s is answered by %s", name, elsewhere[name], got)
		}
	}
}

// emptyLists looks for anything of what is closed in the lists, and asks for it by
// name.
func (h *host) emptyLists() {
	h.t.Helper()
	for method, item := range map[string]string{"tools/list": "", "resources/templates/list": `"uriTemplate"`, "prompts/list": `"prompts":[{`,
		"mcp/listTools": "", "mcp/listPrompts": `"mcpId"`} {
		if strings.HasPrefix(method, "mcp/") != (h.dialect == "1.0") {
			continue
		}
		got := h.ask(method, "")
		if failed(got) || item != "" && strings.Contains(got, item) || item == "" && !strings.Contains(got, "board_info") {
			h.t.Errorf("%s gives %s", method, got)
		}
		for _, name := range tools.Names {
			if name != "board_info" && strings.Contains(got, name) {
				h.t.Errorf("%s shows %s", method, name)
			}
		}
	}
	if h.dialect == "1.0" {
		return
	}
	for _, ask := range [][2]string{
		{"resources/read", `"uri":"gpio://GPIO5"`}, {"resources/read", `"uri":"sensor://cpu-thermal"`},
		{"prompts/get", `"name":"check_wiring"`}, {"prompts/get", `"name":"find_i2c_device"`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"check_wiring"},"argument":{"name":"line","value":"G"}`},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"find_i2c_device"},"argument":{"name":"bus","value":""}`},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"gpio://{line}"},"argument":{"name":"line","value":"G"}`},
		{"completion/complete", `"ref":{"type":"ref/resource","uri":"sensor://{name}"},"argument":{"name":"name","value":""}`},
	} {
		if got := h.ask(ask[0], ask[1]); !failed(got) || !strings.Contains(got, "board.toml: ") || strings.Contains(got, "GPIO17") {
			h.t.Errorf("%s %s gives %s", ask[0], ask[1], got)
		}
	}
	if got := h.ask("resources/read", `"uri":"board://info"`); failed(got) || strings.Contains(got, "gpio_lines") || strings.Contains(got, "i2c-1") {
		h.t.Errorf("board://info shows what is closed: %s", got)
	}
}

// A file of which all may be read only lets no tool act, whatever it is called with.
func TestReadOnlyClosesAllThatActs(t *testing.T) {
	for _, text := range []string{"read_only = true\nallow = \"everything\"\n", "read_only = true\n[[line]]\nline = \"GPIO5\"\naccess = \"write\"\n[[led]]\nled = \"PWR\"\naccess = \"write\"\n"} {
		d := newDesk(t, text+wired, nil)
		for _, name := range tools.Names {
			if acts := !strings.Contains("board_info gpio_list gpio_read gpio_wait i2c_scan i2c_read sensor_list sensor_read system_info can_receive uart_list uart_read modbus_read modbus_list", name); acts {
				if got := d.call(name, elsewhere[name]); !strings.HasPrefix(got, "board.toml: ") {
					t.Errorf("%s: %s", name, got)
				}
			}
		}
		d.Close()
	}
}

// A refusal names the rule, the file and the line.
func TestARefusalNamesItsRule(t *testing.T) {
	d := newDesk(t, `name = "x"
[[line]]
line = "GPIO17"
name = "button"
[[line]]
line = "GPIO22"
name = "fan"
access = "write"
[[i2c]]
bus = 1
address = 0x50
[tools]
deny = ["gpio_pulse"]
`, nil)
	defer d.Close()
	for _, x := range []struct{ tool, args, want string }{
		{"gpio_write", `{"line":"button","level":1}`, `board.toml:2: line "button": it may only be read`},
		{"gpio_write", `{"line":"GPIO5","level":1}`, `board.toml: line "GPIO5": no [[line]] opens it`},
		{"gpio_pulse", `{"line":"fan","high_us":10}`, `board.toml:12: tool "gpio_pulse" is closed by deny = "gpio_pulse"`},
		{"spi_transfer", `{"device":"spidev0.0","data":"9f"}`, "board.toml: tool \"spi_transfer\" is closed, for no [[spi]]"},
		{"gpio_pulse", `{"nonsense":1}`, `board.toml:12: tool "gpio_pulse" is closed by deny = "gpio_pulse"`},
		{"i2c_write", `{"address":"0x50","data":"00 01"}`, `board.toml: tool "i2c_write" is closed, for no [[i2c]] has access = "write"`},
		{"i2c_transfer", `{"messages":["w@50 00 01"]}`, `board.toml:9: `},
		{"led_set", `{"led":"ACT","state":"on"}`, `board.toml: tool "led_set" is closed, for no [[led]] opens anything for it; ask the owner of the file`},
		{"modbus_write", `{}`, `board.toml: tool "modbus_write" is closed, for no [[modbus]] or [[uart]] opens anything for it`},
		{"system_info", `{}`, `board.toml: tool "system_info" is closed, for no [system] opens anything for it`},
	} {
		if got := d.call(x.tool, x.args); !strings.HasPrefix(got, x.want) {
			t.Errorf("%s %s: %q, want %q", x.tool, x.args, got, x.want)
		}
	}
}
