package boardfile

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"boardhand/device/policy"
	"boardhand/device/sim"
)

func TestWhatIsWrongWithARuleIsSaidWithItsLine(t *testing.T) {
	line := "[[line]]\nline = \"GPIO17\"\n"
	for text, want := range map[string]string{
		"allow = \"all\"":           `b:1: allow is "all"; "listed" or "everything" is allowed`,
		"allow = 1":                 `b:1: allow is 1; "listed" or "everything" is allowed`,
		"read_only = \"yes\"":       `b:1: read_only is of type string; boolean is allowed`,
		"[[line]]\nname = \"pump\"": `b:1: line has no line; it says which one is meant`,
		line + line:                 `b:4: line.line is "GPIO17" for the second time; give each one entry`,
		line + "acess = \"write\"":  `b:3: line.acess is no key; line has name, description, access, confirm, rate, secret, line, safe, initial, max_on, min_off, on, needs, excludes`,
		line + "access = \"rw\"":    `b:3: line.access is "rw"; "none", "read" or "write" is allowed`,
		line + "name = \"my pump\"": `b:3: line.name is "my pump"; a letter, then letters, digits, _, . and -, at most 32 bytes, are allowed`,
		line + "name = \"a\"\n[[led]]\nled=\"x\"\nname='a'": `b:6: led.name is "a", as is that of [[line]] number 1; give each thing a name of its own`,
		line + "description = \"two\\nlines\"":              `b:3: line.description is "two\nlines"; one line of printable text is allowed`,
		line + "safe = \"low\"":                             `b:3: line.safe is of an output; give access = "write" too`,
		line + "confirm = true":                             `b:3: line.confirm is of what acts; give access = "write" too`,
		line + "max_on = 30":                                `b:3: line.max_on is 30; a time as "500ms", "30s", "10m" or "2h" is allowed`,
		line + "max_on = \"-1s\"":                           `b:3: line.max_on is "-1s"; a time as "500ms", "30s", "10m" or "2h" is allowed`,
		line + "rate = \"10/day\"":                          `b:3: line.rate is "10/day"; a number of calls in a time, as "10/s", "5/min" or "100/h", is allowed`,
		line + "access = \"write\"\nneeds = [\"fan\"]":      `b:4: line.needs has "fan", which is no line of this file; it has GPIO17`,
		line + "access = \"write\"\nneeds = [\"GPIO17\"]":   `b:4: line.needs has the line itself, "GPIO17"`,
		line + "access = \"write\"\nneeds = [3]":            `b:4: line.needs is of type integer; string is allowed`,
		line + "access = 'write'\nneeds = ['fan']\n[[line]]\nline = 'GPIO22'\nname = 'fan'":                            `b:4: line.needs has "fan", which nobody may switch on; give that one access = "write"`,
		line + "access = 'write'\nneeds = ['GPIO22']\n[[line]]\nline = 'GPIO22'\naccess = 'write'\nneeds = ['GPIO17']": `b:4: line.needs leads back to "GPIO17": none of them could be first`,
		line + "access = 'write'\nsafe = 'high'\non = 'high'\nmax_on = '1s'":                                           `b:4: line.safe is "high", which is on, and max_on would end it; one of them is wrong`,
		line + "access = 'write'\ninitial = 'high'\nmax_on = '1s'":                                                     `b:4: line.initial is "high", which is on; a line with max_on, needs or excludes begins off`,
		"[[i2c]]\nbus = 1":                                                                                                      `b:1: i2c has no address; give one as 0x76, two as "0x20-0x27", or "any"`,
		"[[i2c]]\nbus = 1\naddress = 0x80":                                                                                      `b:3: i2c.address is 0x80; up to 0x7f is allowed`,
		"[[i2c]]\nbus = 1\naddress = \"0x27-0x20\"":                                                                             `b:3: i2c.address is "0x27-0x20"; the lower number comes first`,
		"[[i2c]]\nbus = 1\naddress = 0x76\n[[i2c]]\nbus = 1\naddress=0x76":                                                      `b:6: i2c.address is 0x76 of bus 1 for the second time; give each one entry`,
		"[[i2c]]\nbus = 1\naddress = 0x76\n[[i2c.register]]\nregister = 1\nmin = 3":                                             `b:6: i2c.register.min is of a number; give its type too, such as type = "u8"`,
		"[[i2c]]\nbus = 1\naddress = 0x76\n[[i2c.register]]\nregister = 1\n[[i2c]]\nbus = 1\n":                                  `b:6: i2c has no address; give one as 0x76, two as "0x20-0x27", or "any"`,
		"[[i2c]]\nbus = 1\naddress = 0x76\n[[i2c.register]]\nregister = 0x100":                                                  `b:5: i2c.register.register is 0x100; up to 0xff is allowed, or give the chip register_width = 2`,
		"[[i2c]]\nbus = 1\naddress = 0x76\n[[i2c.register]]\nregister = 1\ntype = \"u9\"":                                       `b:6: i2c.register.type is "u9"; u8, i8, u16, i16, u24, i24, u32, i32, f32, u64, i64, f64 are allowed`,
		"[[spi]]\ndevice = \"spidev0.0\"":                                                                                       `b:1: spi has no commands: a transfer always writes, so "read" needs those that only read, as commands = ["9f", "03"]`,
		"[[spi]]\ndevice = \"spidev0.0\"\ncommands = [\"9\"]":                                                                   `b:3: spi.commands has "9"; pairs of hex digits as "9f" are allowed`,
		"[[sensor]]\nsensor = \"supply\"\nscale = 2":                                                                            `b:1: sensor has scale or offset, but no unit; say what the result is in`,
		"[[sensor]]\nsensor = \"supply\"\naccess = \"write\"":                                                                   `b:3: sensor.access is "write", but a sensor is read; "read" or "none" is allowed`,
		"[[sensor]]\nsensor = \"supply\"\nmin = 3\nmax = 2":                                                                     `b:3: sensor.min is 3, above max, which is 2`,
		"[[sensor]]\nsensor = \"supply\"\nscale = inf\nunit = \"L\"":                                                            `b:3: sensor.scale is +Inf; a number is allowed`,
		"[[uart]]\nport = \"ttyUSB0\"\nmode = \"9600 9N1\"":                                                                     `b:3: uart.mode is "9600 9N1": "9N1" is no part of a mode; give it as "9600 8N1": baud 50 to 12000000, 5 to 8 data bits, parity N, O, E, M or S, 1 or 2 stop bits, then rtscts, xonxoff or none`,
		"[[can]]\ninterface = \"can0\"\naccess = 'write'\nsend = [\"xyz\"]":                                                     `b:4: can.send has "xyz"; an identifier in hex, up to 3 digits or extended 8, as "7e0" or "18da00f1", with a mask as "7e0/7f8" or not, is allowed`,
		"[[modbus]]\nname = \"plc\"":                                                                                            `b:1: modbus has no target; give a serial port or an address, as "ttyUSB1" or "192.0.2.10"`,
		"[[modbus]]\ntarget = \"192.0.2.1\"\nmode = \"9600\"":                                                                   `b:3: modbus.mode is of a serial line, and 192.0.2.1 is an address; leave it out`,
		"[[modbus]]\ntarget = \"192.0.2.1\"\n[[modbus.point]]\nname = \"x\"":                                                    `b:3: modbus.point has no address; it counts from 0, without the 4xxxx of a manual, which counts from 1`,
		"[[modbus]]\ntarget = \"192.0.2.1\"\n[[modbus.point]]\nname = \"x\"\naddress = 1\nkind = \"input\"\naccess = \"write\"": `b:7: modbus.point.access is "write", but no request writes a input; "read" is allowed`,
		"[[uart]]\nport = \"ttyUSB1\"\naccess = \"write\"\n[[modbus]]\ntarget = \"ttyUSB1\"":                                    `b:5: modbus.target is "ttyUSB1", whose [[uart]] has access = "write": raw bytes could do what these rules forbid; give that one "read"`,
		"[[pwm]]\nchannel = \"pwmchip0/0\"\naccess = 'write'\nsafe = 101":                                                       `b:4: pwm.safe is 101; "off" or a share from 0 to 100 is allowed`,
		"[tools]\ndeny = [\"GPIO\"]":                                                                                            `b:2: tools.deny has "GPIO"; a tool's name, or its begin and a star as "gpio_*", is allowed`,
		"[tools.rate]\ngpio_write = \"fast\"":                                                                                   `b:2: tools.rate.gpio_write is "fast"; a number of calls in a time, as "10/s", "5/min" or "100/h", is allowed`,
		"[audit]\nfile = \"log\"":                                                                                               `b:2: audit.file is "log"; a path that begins with / is allowed`,
		"[watchdog]\ntimeout = \"5s\"":                                                                                          `b:1: watchdog has a timeout and no device; give one as device = "/dev/watchdog"`,
		"[outputs]\nlink_grace = \"1s\"":                                                                                        `b:2: outputs.link_grace is 1s; 2s and more are allowed, for a host that has nothing to say is heard every second`,
		"[outputs]\nhttp_grace = \"10ms\"":                                                                                      `b:2: outputs.http_grace is 10ms; 1s and more are allowed, for a client has nothing to say while its model thinks`,
		"[[tool]]\nname = \"x\"\ndescription = \"d\"":                                                                           `b:1: tool has no steps; give it one [[tool.step]] at least`,
		"[[tool]]\nname = \"x\"\ndescription = \"d\"\n[[tool.step]]\nwait = \"1s\"\nset = \"a\"":                                `b:4: tool.step is of 2 kinds; exactly one of set, read, i2c, uart, modbus, wait and program says which it is`,
		"[[tool]]\nname = \"x\"\ndescription = \"d\"\n[[tool.step]]\nwait = \"{ms}\"":                                           `b:5: tool.step.wait has {ms}, which is no parameter of this tool; it has none`,
		"[[tool]]\nname = \"x\"\ndescription = \"d\"\n[[tool.step]]\nset = \"a\"\nlevel = \"low\"":                              `b:5: tool.step.set is "a", which is no line of this file; it has none`,
		"[[tool]]\nname = \"x\"\ndescription = \"d\"\n[[tool.step]]\nprogram = [\"ls\"]":                                        `b:5: tool.step.program begins with "ls"; the program's whole path, as "/usr/bin/raspistill", is allowed, and nothing goes through a shell`,
		"[[tool]]\nname = \"x\"\ndescription = \"d\"\nread_only = true\n[[tool.step]]\nprogram = [\"/bin/ls\"]":                 `b:5: tool.step can change something, and the tool says read_only = true; one of them is wrong`,
	} {
		_, err := Parse("b", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%q\n got  %v\n want %s", text, err, want)
		}
	}
}

func TestTheExampleOpensWhatItSays(t *testing.T) {
	text, err := os.ReadFile("testdata/greenhouse.toml")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse("/etc/greenhouse.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Rules.Summary(), "It opens 4 lines, 1 I2C entry, 1 sensor, 1 serial port, 1 Modbus device and 1 tool of its own."; got != want {
		t.Error(got)
	}
	if f.Rules.File != "greenhouse.toml" || f.Sim.Seed != 7 {
		t.Errorf("%q, seed %d", f.Rules.File, f.Sim.Seed)
	}
	for i, l := range f.Rules.Lines {
		if got := strings.Split(string(text), "\n")[l.At-1]; got != "[[line]]" {
			t.Errorf("line %d begins at %d, which is %q", i, l.At, got)
		}
	}
	b := sim.Open(f.Sim)
	defer b.Close()
	if missing := policy.Missing(b, f.Rules); len(missing) > 0 {
		t.Error(missing)
	}
}

func TestWhatTheBoardLacksIsSaid(t *testing.T) {
	f, err := Parse("b.toml", []byte("[[line]]\nline=\"GPIO99\"\n[[i2c]]\nbus=3\naddress=3\n[[uart]]\nport=\"ttyS9\"\n[[sensor]]\nsensor=\"x\"\n[[can]]\ninterface=\"can0\"\n[[led]]\nled=\"no\""))
	if err != nil {
		t.Fatal(err)
	}
	b := sim.Open(sim.Wiring{})
	defer b.Close()
	got := strings.Join(policy.Missing(b, f.Rules), "\n")
	want := `b.toml:1: this board has no line "GPIO99"
b.toml:3: this board has no I2C bus "i2c-3"
b.toml:8: this board has no sensor "x"
b.toml:6: this board has no serial port "ttyS9"
b.toml:10: this board has no CAN interface "can0"
b.toml:12: this board has no LED "no"`
	if got != want {
		t.Error(got)
	}
}

// What init writes closes everything as it is, and opens everything once its # are
// taken away; then a board has all of it.
func TestAWrittenFileIsRead(t *testing.T) {
	b := sim.Open(sim.Wiring{PWM: true, CAN: "up"})
	defer b.Close()
	text := string(Append(nil, b))
	f, err := Parse("written", []byte(text))
	if err != nil || f.Rules == nil || f.Rules.Summary() != "It opens nothing." {
		t.Fatal(err, f)
	}
	open := strings.ReplaceAll("\n"+text, "\n# ", "\n")
	f, err = Parse("written", []byte(open))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Rules.Lines) < 40 || len(f.Rules.UARTs) != 2 || len(f.Rules.PWM) != 2 || len(f.Rules.Sensors) < 4 {
		t.Error(f.Rules.Summary())
	}
	if missing := policy.Missing(b, f.Rules); len(missing) > 0 {
		t.Error(missing)
	}
}

func TestPlaces(t *testing.T) {
	text := "a = 1\n[t]\nb.c = [1,\n 2, # [\n {d = '''\n]''', e = 2}]\n\n[[u]]\nx = \"[\"\n[[u.v]]\n[[u]]\n[u.w]\n\"q r\" = 3\n[[u.v]]\ny = 1979-05-27\n"
	for path, want := range map[string]int{
		"a": 1, "t": 2, "t.b": 3, "t.b.c": 3, "t.b.c[0]": 3, "t.b.c[1]": 4, "t.b.c[2]": 5, "t.b.c[2].d": 5, "t.b.c[2].e": 6,
		"u": 8, "u[0]": 8, "u[0].x": 9, "u[0].v[0]": 10, "u[1]": 11, "u[1].w": 12, "u[1].w.q r": 13, "u[1].v[0]": 14, "u[1].v[0].y": 15, "u[2]": 0,
	} {
		if got := placesOf([]byte(text))[path]; got != want {
			t.Errorf("%s stands on line %d, want %d", path, got, want)
		}
	}
}

// large is a board file of some 500 lines.
func large() []byte {
	var s strings.Builder
	s.WriteString("name = \"large\"\nallow = \"listed\"\n")
	for i := range 54 {
		fmt.Fprintf(&s, "\n[[line]]\nline = \"GPIO%d\"\nname = \"line_%d\"\ndescription = \"The line number %d of the connector\"\naccess = \"write\"\nsafe = \"low\"\nmax_on = \"30s\"\n", i, i, i)
	}
	s.WriteString("\n[[i2c]]\nbus = 1\naddress = 0x76\nname = \"climate\"\naccess = \"none\"\n")
	for i := range 11 {
		fmt.Fprintf(&s, "\n[[i2c.register]]\nregister = %d\nname = \"r%d\"\ntype = \"u8\"\naccess = \"read\"\n", i, i)
	}
	return []byte(s.String())
}

func BenchmarkParse(b *testing.B) {
	text := large()
	b.ReportMetric(float64(strings.Count(string(text), "\n")), "lines")
	b.ReportAllocs()
	for b.Loop() {
		f, err := Parse("board.toml", text)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := policy.Wrap(sim.Open(sim.Wiring{}), f.Rules, nil); err != nil {
			b.Fatal(err)
		}
	}
}
