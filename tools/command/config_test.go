//go:build linux

package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"boardhand/bench/client"
)

const example = "../../device/boardfile/testdata/greenhouse.toml"

// runExe runs the program and gives its exit status and what it said.
func runExe(t *testing.T, env []string, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	cmd := exec.Command(exe, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), env...)
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestCheckSaysWhatIsWrongWithABoardFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text           string
		status         int
		stdout, stderr string
	}{
		"well":             {"[[line]]\nline = \"GPIO17\"\n", 0, "board.toml is well. It opens 1 line.", ""},
		"a spelling":       {"[[line]]\nline = \"GPIO17\"\nmax_one = \"3s\"\n", 1, "", "board.toml:3: line.max_one is no key; line has "},
		"no TOML":          {"[[line]\n", 1, "", "board.toml:2: "},
		"what is not here": {"[[line]]\nline = \"GPIO99\"\n", 0, "is well", `board.toml:1: this board has no line "GPIO99"`},
		"no such tool":     {"[tools]\ndeny = [\"gpio_wirte\"]\n", 1, "", `board.toml:1: tools.deny: "gpio_wirte" is no tool`},
		"wiring only":      {"[sim]\n", 0, "opens and closes nothing", ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, stdout, stderr := runExe(t, nil, "check", wiredAs(t, c.text), "--board", "sim")
			if status != c.status || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) {
				t.Errorf("status %d\n%s\n%s", status, stdout, stderr)
			}
		})
	}
}

func TestInitWritesAFileThatCheckTakes(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "board.toml")
	if status, _, stderr := runExe(t, nil, "init", path, "--board", "sim"); status != 0 {
		t.Fatal(stderr)
	}
	if status, _, stderr := runExe(t, nil, "init", path, "--board", "sim"); status != 1 || !strings.Contains(stderr, "is there already") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if status, stdout, stderr := runExe(t, nil, "check", path, "--board", "sim"); status != 0 || !strings.Contains(stdout, "It opens nothing.") {
		t.Errorf("status %d: %s %s", status, stdout, stderr)
	}
	if status, stdout, _ := runExe(t, nil, "init", "--board", "sim"); status != 0 || !strings.Contains(stdout, "# line = \"GPIO17\"") {
		t.Errorf("status %d: %.200s", status, stdout)
	}
}

func TestTheUsersBoardFileIsTakenByItself(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/etc/boardhand.toml"); err == nil {
		t.Skip("this machine has a board file of its own")
	}
	home := t.TempDir()
	dir := filepath.Join(home, ".config", "boardhand")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "board.toml")
	env := []string{"HOME=" + home}
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("[[line]]\nline = \"GPIO17\"\nname = \"pump\"\n")
	if status, stdout, stderr := runExe(t, env, "call", "gpio_list", "--board", "sim"); status != 0 || !strings.Contains(stdout, "pump") || strings.Contains(stdout, "GPIO5") {
		t.Errorf("status %d: %s %s", status, stdout, stderr)
	}
	write("[[line]]\nlin = 1\n")
	if status, _, stderr := runExe(t, env, "call", "gpio_list", "--board", "sim"); status != 2 || !strings.Contains(stderr, "board.toml:2: line.lin is no key") {
		t.Errorf("a wrong file: status %d: %s", status, stderr)
	}
}

func TestAToolThatIsClosedIsNotSaidToBeMissing(t *testing.T) {
	t.Parallel()
	config := wiredAs(t, "[tools]\ndeny = [\"gpio_pulse\"]\n\n[[line]]\nline = \"GPIO5\"\naccess = \"write\"\n")
	for name, want := range map[string]string{
		"gpio_pulse": `board.toml:1: tool "gpio_pulse" is closed by deny = "gpio_pulse"`,
		"i2c_scan":   `board.toml: tool "i2c_scan" is closed, for no [[i2c]] opens anything for it`,
		"gpio_plus":  `there is no tool "gpio_plus"`,
	} {
		for _, command := range []string{"call", "tools"} {
			if status, stdout, stderr := runExe(t, nil, command, name, "--board", "sim", "--config", config); status == 0 || stdout != "" || !strings.Contains(stderr, want) {
				t.Errorf("%s %s: status %d\n%s\n%s\nwant %s", command, name, status, stdout, stderr, want)
			}
		}
	}
}

func TestAClientSeesWhatTheBoardFileOpens(t *testing.T) {
	t.Parallel()
	c := serve(t, "--config", example)
	var all []string
	tools := string(call(t, c, "tools/list", "").Result)
	for _, name := range []string{"gpio_write", "i2c_read", "sensor_read", "uart_exchange", "modbus_list", "spi_transfer", "led_set", "gpio_configure", "can_send", "system_info"} {
		if strings.Contains(tools, `"name":"`+name+`"`) {
			all = append(all, name)
		}
	}
	if want := []string{"gpio_write", "i2c_read", "sensor_read", "uart_exchange", "modbus_list"}; !slices.Equal(all, want) {
		t.Errorf("tools %v, want %v", all, want)
	}
	if about := string(call(t, c, "server/discover", "").Result); !strings.Contains(about, "climate (BME280 under the roof) with id, measured, ctrl_meas") || !strings.Contains(about, "setpoint in °C, writable") {
		t.Errorf("it says %s", about)
	}
	for _, x := range []struct{ tool, arguments, holds string }{
		{"gpio_list", `{}`, `"line":"pump","direction":"out","held":true,"description":"Pump of the rain tank, 12 V, by a relay"`},
		{"gpio_read", `{"lines":["pump","float_switch"]}`, `"line":"float_switch"`},
		{"i2c_scan", `{}`, `"found":[{"address":"0x76","name":"climate"`},
		{"i2c_read", `{"address":"climate","register":"id"}`, `"address":"climate","register":"id","data":"60","value":96`},
		{"i2c_write", `{"address":"climate","register":"ctrl_meas","value":39}`, `"written":1`},
		{"sensor_read", `{"sensor":["tank_level"]}`, `"unit":"L"`},
		{"uart_exchange", `{"port":"weather","data":"*IDN?\n","until":"\n"}`, `SIM,TH-1`},
		{"modbus_read", `{"target":"setpoint"}`, `"measure":"°C","values":["21.5"]`},
		{"modbus_read", `{"target":"plant","address":0,"type":"i16"}`, `"values":["215"]`},
		{"modbus_list", `{}`, `"point":"setpoint"`},
	} {
		if got := tool(t, c, x.tool, x.arguments); !strings.Contains(got, x.holds) {
			t.Errorf("%s %s gives %s", x.tool, x.arguments, got)
		}
	}
	for _, x := range []struct{ tool, arguments, says string }{
		{"gpio_write", `{"line":"float_switch","level":1}`, `greenhouse.toml:47: line \"float_switch\": it may only be read`},
		{"gpio_read", `{"lines":["GPIO5"]}`, `no [[line]] opens it`},
		{"i2c_read", `{"address":"climate","register":"0xd1"}`, `no [[i2c.register]] opens it`},
		{"i2c_read", `{"address":"0x50"}`, `no [[i2c]] opens it`},
		{"i2c_transfer", `{"address":"climate","messages":["w e0 b6"]}`, `register 0xe0`},
		{"uart_exchange", `{"port":"weather","data":"*RST\n"}`, `may not be sent`},
		{"uart_exchange", `{"port":"ttyUSB1","data":"x"}`, `no [[uart]] opens it`},
		{"modbus_read", `{"target":"plant","address":1}`, `no [[modbus.point]] opens it`},
		{"modbus_read", `{"target":"192.0.2.11","address":1}`, `no [[modbus]] opens it`},
		{"sensor_read", `{"sensor":["cpu-thermal"]}`, `no [[sensor]] opens it`},
	} {
		m := call(t, c, "tools/call", client.CallTool(x.tool, x.arguments))
		if raw := string(m.Raw); !strings.Contains(raw, x.says) {
			t.Errorf("%s %s: %s", x.tool, x.arguments, raw)
		}
	}
	// A resource is no way round.
	if m := call(t, c, "resources/read", `{"uri":"gpio://GPIO5"}`); m.Error == nil {
		t.Errorf("a closed line is read as a resource: %s", m.Raw)
	}
}

// BenchmarkStart is from the start of the program to its first answer, without a
// board file and with one of 500 lines.
func BenchmarkStart(b *testing.B) {
	var s strings.Builder
	s.WriteString("name = \"large\"\n")
	for i := range 54 {
		fmt.Fprintf(&s, "\n[[line]]\nline = \"GPIO%d\"\nname = \"line_%d\"\ndescription = \"The line number %d of the connector\"\naccess = \"write\"\nsafe = \"low\"\nmax_on = \"30s\"\n\n", i, i, i)
	}
	path := filepath.Join(b.TempDir(), "board.toml")
	if err := os.WriteFile(path, []byte(s.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	for name, flags := range map[string][]string{"without a file": nil, "with 500 lines": {"--config", path}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c, err := client.Launch(client.Pipes, exec.Command(exe, append([]string{"serve", "--board", "sim"}, flags...)...))
				if err != nil {
					b.Fatal(err)
				}
				if _, _, err := c.Call("server/discover", ""); err != nil {
					b.Fatal(err, c.Stderr())
				}
				c.Close()
			}
		})
	}
}
