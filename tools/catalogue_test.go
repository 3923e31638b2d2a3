package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
	"boardhand/frame"
	"boardhand/rpc"
)

// client speaks MCP 2026-07-28 with a server over a board.
type client struct {
	t     testing.TB
	srv   *rpc.Server
	conn  *rpc.Conn
	guard *Guard
	out   answers
	next  int
}

// answers is what the server has written.
type answers struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *answers) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *answers) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *answers) Reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Reset()
}

func newClient(t testing.TB, b device.Board) *client {
	c := &client{t: t}
	var cat rpc.Catalogue
	cat, c.guard = Catalogue(b, "0.1.0", func(err error) { t.Error(err) })
	c.srv = rpc.NewServer(cat, rpc.Limits{}, func(entry string, value any, stack []byte) {
		t.Errorf("%s panicked: %v\n%s", entry, value, stack)
	})
	c.conn = c.srv.NewConn(&c.out)
	return c
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/logLevel":"info","progressToken":"p"}`

// send gives everything that the server writes about one request, by lines.
func (c *client) send(method, params string) []string {
	c.t.Helper()
	c.next++
	if params != "" {
		params += ","
	}
	c.out.Reset()
	c.conn.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s%s}}`, c.next, method, params, meta), frame.Newline)
	c.conn.Wait()
	if err := c.conn.Flush(); err != nil {
		c.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(c.out.String(), "\n"), "\n")
}

type answer struct {
	Result struct {
		Content []struct{ Text string }
		IsError bool
		Tools   []struct{ Name string }

		StructuredContent json.RawMessage
		Contents          []struct{ Text, MIMEType string }
		Messages          []struct{ Content struct{ Text string } }
		Completion        struct{ Values []string }
	}
	Error struct {
		Code    int
		Message string
	}
}

func (c *client) ask(method, params string) (answer, string) {
	c.t.Helper()
	lines := c.send(method, params)
	last := lines[len(lines)-1]
	var a answer
	if err := json.Unmarshal([]byte(last), &a); err != nil {
		c.t.Fatalf("%v in %s", err, last)
	}
	return a, last
}

// call gives a tool's result, or its error's text.
func (c *client) call(tool, args string) (result, failure string) {
	c.t.Helper()
	a, raw := c.ask("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
	if len(a.Result.Content) != 1 {
		c.t.Fatalf("no content in %s", raw)
	}
	if a.Result.IsError {
		return "", a.Result.Content[0].Text
	}
	if text := a.Result.Content[0].Text; text != string(a.Result.StructuredContent) {
		c.t.Errorf("text %s differs from structuredContent %s", text, a.Result.StructuredContent)
	}
	c.checkFields(tool, a.Result.StructuredContent)
	return string(a.Result.StructuredContent), ""
}

// must is call for what has to work.
func (c *client) must(tool, args string) string {
	c.t.Helper()
	result, failure := c.call(tool, args)
	if failure != "" {
		c.t.Errorf("%s %s failed: %s", tool, args, failure)
	}
	return result
}

// checkFields says where a result differs from its tool's table.
func (c *client) checkFields(tool string, result []byte) {
	c.t.Helper()
	var v any
	if err := json.Unmarshal(result, &v); err != nil {
		c.t.Fatalf("%s: %v in %s", tool, err, result)
	}
	for _, t := range c.srv.Catalogue().Tools {
		if t.Name == tool {
			if err := fits(v, t.Result); err != nil {
				c.t.Errorf("%s: %v in %s", tool, err, result)
			}
		}
	}
}

func fits(v any, fields []rpc.Field) error {
	o, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is no object", v)
	}
	for name := range o {
		if !slices.ContainsFunc(fields, func(f rpc.Field) bool { return f.Name == name }) {
			return fmt.Errorf("member %q is not in the table", name)
		}
	}
	for _, f := range fields {
		m, ok := o[f.Name]
		if !ok {
			if !f.Optional {
				return fmt.Errorf("member %q is missing", f.Name)
			}
			continue
		}
		switch f.Type {
		case rpc.Integer:
			n, isNumber := m.(float64)
			ok = isNumber && n == float64(int64(n))
		case rpc.Number:
			_, ok = m.(float64)
		case rpc.Boolean:
			_, ok = m.(bool)
		case rpc.Strings:
			var items []any
			items, ok = m.([]any)
			for _, item := range items {
				if _, isString := item.(string); !isString {
					return fmt.Errorf("%s holds %v", f.Name, item)
				}
			}
		case rpc.Object:
			if err := fits(m, f.Fields); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
		case rpc.Objects:
			var items []any
			items, ok = m.([]any)
			for _, item := range items {
				if err := fits(item, f.Fields); err != nil {
					return fmt.Errorf("%s: %w", f.Name, err)
				}
			}
		default:
			_, ok = m.(string)
		}
		if !ok {
			return fmt.Errorf("member %q is %v", f.Name, m)
		}
	}
	return nil
}

// clock is a simulated board's clock, which stands until it is moved.
type clock struct{ t time.Time }

func (c *clock) now() time.Time { return c.t }

func newClock() *clock { return &clock{time.Date(2026, 3, 4, 5, 6, 7, 89e6, time.UTC)} }

// noBoard is a board without any family, and what a test gives it.
type noBoard struct {
	gpio    device.GPIO
	i2c     device.I2C
	sensors device.Sensors
	spi     device.SPI
	pwm     device.PWM
	leds    device.LEDs
	system  device.System
	can     device.CAN
	uart    device.UART
	tcp     device.TCP
}

func (noBoard) Info() device.Info         { return device.Info{Model: "Bare", Arch: "arm", CPUs: 1} }
func (b noBoard) GPIO() device.GPIO       { return b.gpio }
func (b noBoard) I2C() device.I2C         { return b.i2c }
func (b noBoard) Sensors() device.Sensors { return b.sensors }
func (b noBoard) SPI() device.SPI         { return b.spi }
func (b noBoard) PWM() device.PWM         { return b.pwm }
func (b noBoard) LEDs() device.LEDs       { return b.leds }
func (b noBoard) System() device.System   { return b.system }
func (b noBoard) CAN() device.CAN         { return b.can }
func (b noBoard) UART() device.UART       { return b.uart }
func (b noBoard) TCP() device.TCP         { return b.tcp }
func (noBoard) Close() error              { return nil }

// fullWiring gives the simulated board every family.
var fullWiring = sim.Wiring{CAN: "up", PWM: true}

func TestToolListIsSmall(t *testing.T) {
	for _, tt := range []struct {
		board   string
		wiring  sim.Wiring
		allowed int
	}{
		{"a Raspberry Pi", sim.Wiring{}, 8000},
		{"a board with everything", fullWiring, 12000},
	} {
		c := newClient(t, sim.Open(tt.wiring))
		_, raw := c.ask("tools/list", "")
		t.Logf("tools/list of %s is %d bytes", tt.board, len(raw))
		if len(raw) > tt.allowed {
			t.Errorf("tools/list of %s is %d bytes; %d are allowed", tt.board, len(raw), tt.allowed)
		}
	}
}

func TestFamilyThatIsMissingHasNoEntries(t *testing.T) {
	full := sim.Open(fullWiring)
	for _, tt := range []struct {
		name  string
		board noBoard
		want  string
	}{
		{"none", noBoard{}, "board_info | board://info"},
		{"can", noBoard{can: full.CAN()}, "board_info can_send can_receive | board://info"},
		{"gpio", noBoard{gpio: full.GPIO()}, "board_info gpio_list gpio_read gpio_write gpio_configure gpio_wait gpio_pulse | board://info gpio://{line} check_wiring"},
		{"i2c", noBoard{i2c: full.I2C()}, "board_info i2c_scan i2c_read i2c_write i2c_transfer | board://info find_i2c_device"},
		{"sensors", noBoard{sensors: full.Sensors()}, "board_info sensor_list sensor_read | board://info sensor://{name}"},
		{"spi", noBoard{spi: full.SPI()}, "board_info spi_transfer | board://info"},
		{"pwm", noBoard{pwm: full.PWM()}, "board_info pwm_set | board://info"},
		{"leds", noBoard{leds: full.LEDs()}, "board_info led_set | board://info"},
		{"system", noBoard{system: full.System()}, "board_info system_info | board://info"},
		{"uart", noBoard{uart: full.UART()}, "board_info uart_list uart_exchange uart_read uart_control modbus_read modbus_write | board://info"},
		{"tcp", noBoard{tcp: full.TCP()}, "board_info modbus_read modbus_write | board://info"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, tt.board)
			cat := c.srv.Catalogue()
			var names []string
			for _, tool := range cat.Tools {
				names = append(names, tool.Name)
			}
			names = append(names, "|")
			for _, r := range cat.Resources {
				names = append(names, r.URI)
			}
			for _, r := range cat.Templates {
				names = append(names, r.Prefix+"{"+r.Param.Name+"}")
			}
			for _, p := range cat.Prompts {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			c.must("board_info", `{}`)
		})
	}
}

func TestInstructionsTellASimulatedBoard(t *testing.T) {
	const says = "This is a simulated board: nothing here is real."
	for _, b := range []device.Board{sim.Open(sim.Wiring{}), noBoard{}} {
		cat, _ := Catalogue(b, "", nil)
		if got := strings.Contains(cat.Instructions, says); got != b.Info().Simulated {
			t.Errorf("simulated %v, but the instructions are %q", b.Info().Simulated, cat.Instructions)
		}
	}
}

func TestHintsTellReadsFromWrites(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	for _, tool := range c.srv.Catalogue().Tools {
		_, action, _ := strings.Cut(tool.Name, "_")
		reads := slices.Contains([]string{"info", "list", "read", "scan", "wait", "receive"}, action)
		// An LED harms nothing, and goes back.
		if tool.Hints.ReadOnly != reads || tool.Hints.Destructive != (!reads && tool.Name != "led_set") {
			t.Errorf("%s has the hints %+v", tool.Name, tool.Hints)
		}
	}
}

func TestResults(t *testing.T) {
	clk := newClock()
	b := sim.Open(sim.Wiring{Now: clk.now, PWM: true})
	c := newClient(t, b)
	clk.t = clk.t.Add(90 * time.Second)
	for _, tt := range []struct{ tool, args, want string }{
		{"board_info", `{}`, `{"model":"Simulated Raspberry Pi","simulated":true,"hostname":"simulated","kernel":"Linux 6.12.0","arch":"arm64","cpus":4,` +
			`"mem_total":536870912,"mem_free":402653184,"uptime_s":90,"gpio_lines":54,"gpio_chips":1,` +
			`"i2c":["i2c-1 bcm2835-sim (i2c@7e804000)"],"sensors":7,` +
			`"spi":["spidev0.0 up to 125000000 Hz on spi-bcm2835","spidev0.1 up to 125000000 Hz on spi-bcm2835"],` +
			`"pwm":["pwmchip0/0 of 3f20c000.pwm","pwmchip0/1 of 3f20c000.pwm"],"leds":["ACT","PWR"]}`},

		{"gpio_list", `{"match":"gpio17"}`, `{"lines":[{"line":"GPIO17","direction":"in"}],"total":1}`},
		{"gpio_list", `{"match":"LED"}`, `{"lines":[{"line":"STATUS_LED_N","direction":"out","owner":"ACT","active_low":true}],"total":1}`},
		{"gpio_list", `{"match":"nothing"}`, `{"lines":[],"total":0}`},
		{"gpio_list", `{"offset":53}`, `{"lines":[{"line":"SD_DATA3_R","direction":"in"}],"total":54}`},
		{"gpio_list", `{"offset":100000}`, `{"lines":[],"total":54}`},

		{"gpio_read", `{"lines":["GPIO17"]}`, `{"lines":[{"line":"GPIO17","level":0}]}`},
		{"gpio_read", `{"lines":"GPIO4"}`, `{"lines":[{"line":"GPIO4","level":1}]}`},
		{"gpio_write", `{"line":"GPIO17","level":1}`, `{"line":"GPIO17","level":1,"before":{"direction":"in","level":0}}`},
		{"gpio_read", `{"lines":["GPIO17","GPIO27","GPIO17"]}`,
			`{"lines":[{"line":"GPIO17","level":1},{"line":"GPIO27","level":1},{"line":"GPIO17","level":1}]}`},
		{"gpio_write", `{"line":"GPIO17","level":0}`, `{"line":"GPIO17","level":0,"before":{"direction":"out","level":1}}`},
		{"gpio_list", `{"match":"gpio17"}`, `{"lines":[{"line":"GPIO17","direction":"out","held":true}],"total":1}`},
		{"gpio_write", `{"line":"GPIO22","level":1,"for_ms":86400000}`,
			`{"line":"GPIO22","level":1,"before":{"direction":"in","level":0},"for_ms":86400000}`},

		{"i2c_scan", `{}`, `{"bus":1,"found":[{"address":"0x50"},{"address":"0x68","driver":"rtc-ds1307"},{"address":"0x76"}],"functions":["transfer","quick","byte","byte_data","word_data","i2c_block","block_read","block_write"]}`},
		{"i2c_scan", `{"bus":1,"first":"0x70","last":119}`, `{"bus":1,"found":[{"address":"0x76"}],"functions":["transfer","quick","byte","byte_data","word_data","i2c_block","block_read","block_write"]}`},
		{"i2c_scan", `{"first":"0x08","last":"0x08"}`, `{"bus":1,"found":[],"functions":["transfer","quick","byte","byte_data","word_data","i2c_block","block_read","block_write"]}`},
		{"i2c_read", `{"bus":1,"address":"0x76","register":"0xd0","length":1}`, `{"bus":1,"address":"0x76","register":"0xd0","data":"60"}`},
		{"i2c_read", `{"address":"0x76","register":208}`, `{"bus":1,"address":"0x76","register":"0xd0","data":"60"}`},
		{"i2c_write", `{"address":"0x50","register":"0x0120","register_width":2,"data":"0a ff"}`,
			`{"bus":1,"address":"0x50","register":"0x120","written":2}`},
		{"sensor_list", `{"match":"CPU"}`, `{"sensors":[{"sensor":"cpu-fan","quantity":"speed","unit":"rpm"},` +
			`{"sensor":"cpu-thermal","quantity":"temperature","unit":"°C"}],"total":2}`},
		{"sensor_list", `{"match":"temperature"}`, `{"sensors":[{"sensor":"28-0316a2790f5c","quantity":"temperature","unit":"°C"},` +
			`{"sensor":"cpu-thermal","quantity":"temperature","unit":"°C"}],"total":2}`},
		{"sensor_list", `{"match":"5v"}`, `{"sensors":[{"sensor":"supply","quantity":"voltage","unit":"V","label":"5V"}],"total":1}`},
		{"sensor_list", `{"offset":6}`, `{"sensors":[{"sensor":"supply","quantity":"voltage","unit":"V","label":"5V"}],"total":7}`},
		{"sensor_read", `{"sensor":"cpu-thermal"}`, `{"sensors":[{"sensor":"cpu-thermal","value":47.597,"unit":"°C","time":"2026-03-04T05:07:37.089Z"}]}`},
		{"sensor_read", `{"sensor":["28-0316a2790f5c","cpu-fan"],"samples":1}`, `{"sensors":[{"sensor":"28-0316a2790f5c","value":20.187,"unit":"°C","time":"2026-03-04T05:07:37.089Z"},` +
			`{"sensor":"cpu-fan","value":2370,"unit":"rpm","time":"2026-03-04T05:07:37.089Z"}]}`},
		{"sensor_read", `{"sensor":["adxl345/accel_z"],"samples":4}`, `{"sensors":[{"sensor":"adxl345/accel_z","unit":"m/s²","time":"2026-03-04T05:07:37.080Z",` +
			`"min":9.7282,"mean":9.7665,"max":9.8048,"stddev":0.031272,"values":"9.7665 9.7282 9.7665 9.8048"}],"samples":4,"seconds":0.03,"buffered":true}`},
	} {
		if got := c.must(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
	clk.t = clk.t.Add(time.Second) // the EEPROM's write cycle
	for _, tt := range []struct{ tool, args, want string }{
		{"i2c_read", `{"address":"0x50","register":"0x120","register_width":2,"length":3}`,
			`{"bus":1,"address":"0x50","register":"0x120","data":"0a ff ff"}`},
		{"i2c_write", `{"address":"0x50","data":"01 20"}`, `{"bus":1,"address":"0x50","written":2}`},
		{"i2c_read", `{"address":"0x50","length":2}`, `{"bus":1,"address":"0x50","data":"0a ff"}`},
	} {
		if got := c.must(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

func TestErrorsSayWhatIsAllowed(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	c := newClient(t, b)
	if _, err := b.Another().GPIO().Write("GPIO5", device.High); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, args, want string }{
		{"board_info", `{"verbose":true}`, `there is no parameter "verbose"; none are taken`},
		{"gpio_list", `{"offset":-1}`, `offset is -1; 0 to 1000000 are allowed`},
		{"gpio_list", `{"match":7}`, `parameter "match" is a number; it is a string: part of a name`},
		{"gpio_read", `{}`, `parameter "lines" is missing; it is an array of 1 to 64 strings, required`},
		{"gpio_read", `{"lines":[]}`, `parameter "lines" has 0 elements; it is an array of 1 to 64 strings, required`},
		{"gpio_read", `{"Lines":["GPIO17"]}`, `there is no parameter "Lines"; allowed: lines`},
		{"gpio_read", `{"lines":["GPIO17","GPIO99"]}`, `line "GPIO99" not found; gpio_list shows 54 lines`},
		{"gpio_read", `{"lines":["GPIO5"]}`, `line "GPIO5": in use by "another process" (EBUSY); gpio_list shows which lines are free`},
		{"gpio_write", `{"line":"GPIO17"}`, `parameter "level" is missing; it is a whole number from 0 to 1, required`},
		{"gpio_write", `{"line":"GPIO17","level":2}`, `parameter "level" is 2; it is a whole number from 0 to 1, required`},
		{"gpio_write", `{"line":"GPIO17","level":1,"for_ms":0}`, `for_ms is 0; 1 to 86400000 are allowed`},
		{"gpio_write", `{"line":"GPIO99","level":1}`, `line "GPIO99" not found; gpio_list shows 54 lines`},
		{"gpio_write", `{"line":"GPIO8","level":1}`, `line "GPIO8": in use by "spi0 CS0" (EBUSY); gpio_list shows which lines are free`},

		{"i2c_scan", `{"bus":3}`, `i2c-3 not found; the board has i2c-1`},
		{"i2c_scan", `{"bus":-9223372036854775808}`, `i2c--9223372036854775808 not found; the board has i2c-1`},
		{"i2c_scan", `{"first":"0x70","last":"0x08"}`, `first 0x70 is above last 0x08; give the lower address first`},
		{"i2c_read", `{"address":"0x78"}`, `address 0x78 is above 0x77; if it is the data sheet's with the R/W bit, it is 0x3c here; one of 10 bits goes with i2c_transfer and ten_bit`},
		{"i2c_read", `{"address":"0x20"}`, `i2c-1 address 0x20: no acknowledge (EREMOTEIO); check the wiring and the address with i2c_scan`},
		{"i2c_read", `{"address":"0x68"}`, `i2c-1 address 0x68: in use by the kernel's driver "rtc-ds1307" (EBUSY); i2c_scan shows which addresses are free`},
		{"i2c_read", `{"address":"0x50","register":"0x120"}`, `register 0x120 does not fit in 1 byte; 0x00 to 0xff are allowed, or give register_width 2`},
		{"i2c_read", `{"address":"0x50","register_width":2}`, `register_width is 2, but there is no register; give both or neither`},
		{"i2c_read", `{"address":"0x50","length":257}`, `length is 257; 0 to 256 are allowed`},
		{"i2c_write", `{"address":"0x50","data":"0"}`, `parameter "data" is "0"; it is a string of hex digits such as "0a ff" from 1 to 256 bytes, required: hex; SMBus block: count first`},
		{"i2c_write", `{"address":"0x50","data":""}`, `parameter "data" has 0 bytes; it is a string of hex digits such as "0a ff" from 1 to 256 bytes, required: hex; SMBus block: count first`},

		{"sensor_read", `{}`, `parameter "sensor" is missing; it is an array of 1 to 16 strings, required`},
		{"sensor_read", `{"sensor":"supply","samples":1001}`, `samples is 1001; 1 to 1000 are allowed, default 1`},
		{"sensor_read", `{"sensor":"supply","samples":-1}`, `samples is -1; 1 to 1000 are allowed, default 1`},
		{"sensor_read", `{"sensor":"oven"}`, `sensor "oven" not found; sensor_list shows 7 sensors`},
	} {
		if _, got := c.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

func TestResources(t *testing.T) {
	clk := newClock()
	b := sim.Open(sim.Wiring{Now: clk.now})
	c := newClient(t, b)
	c.must("gpio_write", `{"line":"GPIO17","level":1}`)
	for _, tt := range []struct{ uri, want string }{
		{"board://info", c.must("board_info", `{}`)},
		{"gpio://GPIO27", `{"line":"GPIO27","direction":"in","chip":"gpiochip0","level":1}`},
		{"gpio://GPIO%317", `{"line":"GPIO17","direction":"out","held":true,"chip":"gpiochip0","level":1}`},
		{"gpio://WL_ON", `{"line":"WL_ON","direction":"out","owner":"reset","active_low":true,"chip":"gpiochip0"}`},
		{"sensor://cpu-thermal", strings.TrimSuffix(strings.TrimPrefix(c.must("sensor_read", `{"sensor":"cpu-thermal"}`), `{"sensors":[`), `]}`)},
	} {
		a, raw := c.ask("resources/read", fmt.Sprintf(`"uri":%q`, tt.uri))
		if len(a.Result.Contents) != 1 || a.Result.Contents[0].Text != tt.want || a.Result.Contents[0].MIMEType != "application/json" {
			t.Errorf("%s\ngot  %s\nwant %s", tt.uri, raw, tt.want)
		}
	}
	for uri, want := range map[string]string{
		"gpio://GPIO99": `line "GPIO99" not found; gpio_list shows 54 lines`,
		"sensor://oven": `sensor "oven" not found; sensor_list shows 7 sensors`,
	} {
		if a, raw := c.ask("resources/read", fmt.Sprintf(`"uri":%q`, uri)); a.Error.Code != -32602 || a.Error.Message != want {
			t.Errorf("%s\ngot  %s\nwant %s", uri, raw, want)
		}
	}
	if err := error(absent{&device.Error{Kind: device.ErrNotFound}}); !errors.Is(err, rpc.ErrNotFound) || !errors.Is(err, device.ErrNotFound) {
		t.Error("absent is not both packages' ErrNotFound")
	}
}

func TestCompletion(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	for _, tt := range []struct{ ref, argument, value, want string }{
		{`"type":"ref/resource","uri":"gpio://{line}"`, "line", "GPIO2", "GPIO2 GPIO20 GPIO21 GPIO22 GPIO23 GPIO24 GPIO25 GPIO26 GPIO27"},
		{`"type":"ref/resource","uri":"gpio://{line}"`, "line", "sd", "SD1_CLK SD1_CMD SD1_DATA0 SD1_DATA1 SD1_DATA2 SD1_DATA3 SDA0 " +
			"SD_CLK_R SD_CMD_R SD_DATA0_R SD_DATA1_R SD_DATA2_R SD_DATA3_R"},
		{`"type":"ref/resource","uri":"gpio://{line}"`, "line", "é", ""},
		{`"type":"ref/resource","uri":"sensor://{name}"`, "name", "", "28-0316a2790f5c adxl345/accel_x adxl345/accel_y adxl345/accel_z cpu-fan cpu-thermal supply"},
		{`"type":"ref/prompt","name":"check_wiring"`, "line", "gpio17", "GPIO17"},
		{`"type":"ref/prompt","name":"find_i2c_device"`, "bus", "", "1"},
		{`"type":"ref/prompt","name":"find_i2c_device"`, "device", "B", ""},
	} {
		a, _ := c.ask("completion/complete", fmt.Sprintf(`"ref":{%s},"argument":{"name":%q,"value":%q}`, tt.ref, tt.argument, tt.value))
		if got := strings.Join(a.Result.Completion.Values, " "); got != tt.want {
			t.Errorf("%s %q\ngot  %s\nwant %s", tt.ref, tt.value, got, tt.want)
		}
	}
	if got := appendMatching(nil, "ab", []string{"ABc", "abd", "b"}); !slices.Equal(got, []string{"abd", "ABc"}) {
		t.Errorf("the exact case comes first, got %q", got)
	}
}

func TestPromptsMakeSense(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	for _, tt := range []struct{ prompt, args, begins string }{
		{"find_i2c_device", `{}`, "Find out which devices are connected on this board's I2C buses.\n\n1. Call board_info."},
		{"find_i2c_device", `{"device":"BME280"}`, "Find the device that should be a BME280 on this board's I2C buses."},
		{"find_i2c_device", `{"bus":"1"}`, "Find out which devices are connected on I2C bus 1."},
		{"check_wiring", `{}`, "Check whether a line of this board is connected as it should be.\n\n1. Call gpio_list and ask me which line it is."},
		{"check_wiring", `{"line":"GPIO17"}`, "Check whether line GPIO17 is connected as it should be.\n\n1. Ask me what is connected to it"},
	} {
		a, raw := c.ask("prompts/get", fmt.Sprintf(`"name":%q,"arguments":%s`, tt.prompt, tt.args))
		if len(a.Result.Messages) != 1 || !strings.HasPrefix(a.Result.Messages[0].Content.Text, tt.begins) {
			t.Errorf("%s %s\ngot  %s\nwant %s", tt.prompt, tt.args, raw, tt.begins)
		}
	}
}
