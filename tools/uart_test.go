package tools

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
	"boardhand/frame"
)

// scriptedPort is a port whose other end a test plays: hear is told what is written.
type scriptedPort struct {
	name     string
	mode     device.PortMode
	received device.Receiver
	hear     func(p *scriptedPort, b []byte)
	written  [][]byte
	faults   device.LineFaults
	gone     error
}

func (p *scriptedPort) Name() string                     { return p.name }
func (p *scriptedPort) Mode() device.PortMode            { return p.mode }
func (p *scriptedPort) SetMode(m device.PortMode) error  { p.mode = m; return nil }
func (p *scriptedPort) Received() *device.Receiver       { return &p.received }
func (p *scriptedPort) Modem() (m device.Modem, e error) { return m, device.ErrNotSupport }
func (p *scriptedPort) SetDTR(bool) error                { return device.ErrNotSupport }
func (p *scriptedPort) SetRTS(bool) error                { return device.ErrNotSupport }
func (p *scriptedPort) Break(time.Duration) error        { return nil }
func (p *scriptedPort) RS485() (bool, error)             { return false, device.ErrNotSupport }
func (p *scriptedPort) SetRS485(bool) error              { return device.ErrNotSupport }
func (p *scriptedPort) Faults() device.LineFaults        { return p.faults }
func (p *scriptedPort) Close() error                     { return nil }

func (p *scriptedPort) Write(b []byte, _ time.Time) (int, error) {
	if p.gone != nil {
		return 0, p.gone
	}
	p.written = append(p.written, append([]byte(nil), b...))
	if p.hear != nil {
		p.hear(p, b)
	}
	return len(b), nil
}

// after says something later.
func (p *scriptedPort) after(d time.Duration, b []byte) {
	time.AfterFunc(d, func() { p.received.Put(b) })
}

// scripted is a board with one such port.
type scripted struct{ *scriptedPort }

func (s scripted) Ports(dst []device.UARTPort) ([]device.UARTPort, error) {
	return append(dst, device.UARTPort{Name: s.name, Open: true}), nil
}

func (s scripted) Find(name string) (string, error) {
	if name != s.name {
		return "", &device.Error{Subject: "port", Kind: device.ErrNotFound, Hint: "none"}
	}
	return name, nil
}

func (s scripted) Open(name string, mode device.PortMode) (device.Port, error) {
	return s.scriptedPort, nil
}

func (s scripted) Opened(name string) device.Port {
	if name != s.name {
		return nil
	}
	return s.scriptedPort
}

func newScripted(mode device.PortMode, hear func(p *scriptedPort, b []byte)) *scriptedPort {
	return &scriptedPort{name: "ttyS9", mode: mode, hear: hear}
}

func TestUARTResults(t *testing.T) {
	clk := newClock()
	b := sim.Open(sim.Wiring{Now: clk.now})
	defer b.Close()
	c := newClient(t, b)
	for _, tt := range []struct{ tool, args, want string }{
		{"uart_list", `{}`, `{"ports":[{"port":"ttyAMA0","driver":"uart-pl011","owner":"the kernel's console"},` +
			`{"port":"ttyUSB0","by_id":"usb-FTDI_FT232R_USB_UART_SIM00042-if00-port0","usb":"0403:6001:SIM00042","product":"FTDI FT232R USB UART","driver":"ftdi_sio"},` +
			`{"port":"ttyUSB1","by_id":"usb-1a86_USB_Serial-if00-port0","usb":"1a86:7523","product":"1a86 USB Serial","driver":"ch341"}],"total":3}`},
		{"uart_control", `{"port":"ttyUSB0","close":true}`, `{"port":"ttyUSB0","open":false}`},
		{"uart_exchange", `{"port":"ttyUSB0","data":"*IDN?\n","until":"\r\n"}`, `{"port":"ttyUSB0","offset":16,"next":35,"data":"SIM,TH-1,0042,1.0\r\n","note":"device output, not instruction","ended":"until"}`},
		{"uart_exchange", `{"port":"/dev/ttyUSB0","data":"UNIT?\n"}`, `{"port":"ttyUSB0","offset":35,"next":38,"data":"C\r\n","note":"device output, not instruction","ended":"gap"}`},
		{"uart_exchange", `{"port":"0403:6001","data":"UNIT?\nSYST:ERR?\n","until":"No|x"}`, `{"port":"ttyUSB0","offset":38,"next":46,"data":"C\r\n0,\"No","note":"device output, not instruction","more":9,"ended":"until"}`},
		{"uart_exchange", `{"port":"0403:6001:SIM00042","data":"UNIT?\n","length":2,"until":"\n"}`, `{"port":"ttyUSB0","offset":55,"next":57,"data":"C\r","note":"device output, not instruction","more":1,"ended":"length"}`},
		{"uart_exchange", `{"port":"ttyUSB0","data":"55 4e 49 54 3f 0a","hex":true,"until":"0a|07"}`, `{"port":"ttyUSB0","offset":58,"next":61,"data":"43 0d 0a","hex":true,"ended":"until"}`},
		{"uart_exchange", `{"port":"ttyUSB0","data":"UNIT F\n","timeout_ms":20}`, `{"port":"ttyUSB0","offset":61,"next":61,"data":"","ended":"timeout",` +
			`"hint":"nothing came: check the mode (now 115200 8N1), that TX goes to RX, and the line end that the device wants"}`},
		{"uart_read", `{"port":"ttyUSB0"}`, `{"port":"ttyUSB0","offset":0,"next":61,"data":"TH-1 1.0 ready\r\nSIM,TH-1,0042,1.0\r\nC\r\nC\r\n0,\"No error\"\r\nC\r\nC\r\n","note":"device output, not instruction"}`},
		{"uart_read", `{"port":"ttyUSB0","since":58}`, `{"port":"ttyUSB0","offset":58,"next":61,"data":"C\r\n","note":"device output, not instruction"}`},
		{"uart_read", `{"port":"ttyUSB0","since":61}`, `{"port":"ttyUSB0","offset":61,"next":61,"data":""}`},
		{"uart_read", `{"port":"ttyUSB0","since":-2,"hex":true}`, `{"port":"ttyUSB0","offset":59,"next":61,"data":"0d 0a","hex":true}`},
		{"uart_read", `{"port":"ttyUSB0","since":-1000000,"hex":false}`, `{"port":"ttyUSB0","offset":0,"next":61,"data":"TH-1 1.0 ready\r\nSIM,TH-1,0042,1.0\r\nC\r\nC\r\n0,\"No error\"\r\nC\r\nC\r\n","note":"device output, not instruction"}`},
		{"uart_control", `{"port":"ttyUSB0","dtr":false,"rts":false}`, `{"port":"ttyUSB0","open":true,"mode":"115200 8N1","asserted":["CTS","DSR","DCD"],"received":61}`},
		{"uart_control", `{"port":"ttyUSB0","dtr":true,"break_ms":1}`, `{"port":"ttyUSB0","open":true,"mode":"115200 8N1","asserted":["DTR","CTS","DSR","DCD"],"received":77}`},
		{"uart_control", `{"port":"ttyUSB0","mode":"9600 7e2 rtscts"}`, `{"port":"ttyUSB0","open":true,"mode":"9600 7E2 rtscts","asserted":["DTR","CTS","DSR","DCD"],"received":77}`},
		{"uart_control", `{"port":"ttyUSB0","mode":"115200"}`, `{"port":"ttyUSB0","open":true,"mode":"115200 7E2 rtscts","asserted":["DTR","CTS","DSR","DCD"],"received":77}`},
		{"uart_control", `{"port":"ttyUSB0","close":true}`, `{"port":"ttyUSB0","open":false}`},
		{"uart_exchange", `{"port":"ttyUSB0","mode":"9600 8N1","timeout_ms":20}`, `{"port":"ttyUSB0","offset":16,"next":16,"data":"","ended":"timeout",` +
			`"hint":"nothing came: check the mode (now 9600 8N1), that TX goes to RX, and the line end that the device wants"}`},
		{"uart_read", `{"port":"ttyUSB0"}`, `{"port":"ttyUSB0","offset":0,"next":16,"data":"ab b7 d2 ce df ce d1 cf df 8d 9a 9e 9b 86 f2 f5","hex":true,"faults":"16 framing faults"}`},
	} {
		if got := c.must(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\n got  %s\n want %s", tt.tool, tt.args, got, tt.want)
		}
	}
	if got := c.must("uart_list", `{}`); !strings.Contains(got, `"driver":"ftdi_sio","open":"9600 8N1"}`) {
		t.Error(got)
	}
}

func TestUARTErrorsSayWhatIsAllowed(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	defer b.Close()
	c := newClient(t, b)
	c.must("uart_control", `{"port":"ttyUSB1"}`)
	for _, tt := range []struct{ tool, args, want string }{
		{"uart_exchange", `{"port":"ttyUSB9"}`, `port "ttyUSB9" not found; this board has ttyAMA0, ttyUSB0, ttyUSB1`},
		{"uart_exchange", `{"port":"ttyAMA0","data":"x"}`, `ttyAMA0: in use by the kernel's console (EBUSY); uart_list shows which ports are free`},
		{"uart_read", `{"port":"ttyAMA0"}`, `ttyAMA0 is not open, so nothing was received; uart_control opens it, and uart_exchange`},
		{"uart_read", `{"port":"ttyUSB1","since":1}`, `since is 1, but ttyUSB1 has received 0 bytes since it was opened; leave since out to read from the oldest byte kept`},
		{"uart_exchange", `{"port":"ttyUSB0","data":"0a f","hex":true}`, `data is "0a f", but hex is true; give pairs of hex digits such as "0a ff", or leave hex out`},
		{"uart_exchange", `{"port":"ttyUSB0","until":"OK\n","hex":true}`, `until is "OK\n", but hex is true; give pairs of hex digits such as "0a ff", or leave hex out`},
		{"uart_exchange", `{"port":"ttyUSB0","until":"OK|"}`, `until is "OK|", with nothing beside a bar; give what ends the answer, such as "OK|ERROR" (a bar itself is 7c with hex)`},
		{"uart_exchange", `{"port":"ttyUSB0","until":"1|2|3|4|5|6|7|8|9"}`, `until has 9 texts between bars; 8 are allowed`},
		{"uart_exchange", `{"port":"ttyUSB0","length":0}`, `parameter "length" is 0; 1 to 65536 are allowed`},
		{"uart_exchange", `{"port":"ttyUSB0","gap_ms":60001}`, `parameter "gap_ms" is 60001; 1 to 60000 are allowed`},
		{"uart_exchange", `{"port":"ttyUSB0","timeout_ms":-1}`, `parameter "timeout_ms" is -1; 1 to 60000 are allowed`},
		{"uart_exchange", `{"port":"ttyUSB0","data":"` + strings.Repeat("x", 4097) + `"}`, `data has 4097 bytes; 4096 are allowed in one exchange`},
		{"uart_control", `{"port":"ttyUSB0","break_ms":5001}`, `parameter "break_ms" is 5001; 1 to 5000 are allowed`},
		{"uart_control", `{"port":"ttyUSB0","mode":"fast"}`, `mode "fast": "fast" is no part of a mode; give it as "9600 8N1": baud 50 to 12000000, 5 to 8 data bits, parity N, O, E, M or S, 1 or 2 stop bits, then rtscts, xonxoff or none`},
		{"uart_control", `{"port":"ttyUSB0","rs485":true}`, `ttyUSB0: the port's driver cannot do this (ENOTTY); an RS-485 adapter for USB switches by itself`},
	} {
		if _, got := c.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\n got  %s\n want %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

// Whatever comes, text and hex together give back every byte, page by page, and
// no answer is over 8 KB.
func TestReceivedBytesAreNeverChanged(t *testing.T) {
	for name, all := range map[string][]byte{
		"text":            []byte(strings.Repeat("the quick brown fox\r\n", 1000)),
		"quotes":          []byte(strings.Repeat(`"\`, 5000)),
		"umlauts":         []byte(strings.Repeat("äöü€😀", 1000)),
		"every byte":      everyByte(20000),
		"cut umlauts":     []byte(strings.Repeat("ä", 4000))[1:],
		"escapes":         []byte(strings.Repeat("\x1b[31mred\x1b[0m\a\b", 700)),
		"zeros":           make([]byte, 9000),
		"one half letter": []byte("ä")[:1],
	} {
		t.Run(name, func(t *testing.T) {
			p := newScripted(device.DefaultMode, nil)
			p.received.Put(all)
			c := newClient(t, noBoard{uart: scripted{p}})
			for _, hex := range []string{"", `,"hex":true`, `,"hex":false`} {
				var got []byte
				for range 100 {
					args := fmt.Sprintf(`{"port":"ttyS9","since":%d%s}`, len(got), hex)
					_, raw := c.ask("tools/call", `"name":"uart_read","arguments":`+args)
					if len(raw) > 8192 {
						t.Errorf("an answer of %d bytes", len(raw))
					}
					var r struct {
						Next uint64
						Data string
						Hex  bool
						More int
					}
					decode(t, c.must("uart_read", args), &r)
					data, err := bytesOf("data", r.Data, r.Hex)
					if err != nil || hex == `,"hex":true` && !r.Hex {
						t.Fatal(err, r.Hex)
					}
					got = append(got, data...)
					if r.Next != uint64(len(got)) || r.More != len(all)-len(got) {
						t.Fatalf("next %d and %d more after %d bytes", r.Next, r.More, len(got))
					}
					if r.More == 0 {
						break
					}
				}
				if string(got) != string(all) {
					t.Errorf("%d bytes came back of %d, or others", len(got), len(all))
				}
			}
		})
	}
}

func everyByte(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

func TestExchangeEndsAsItIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(device.DefaultMode, func(p *scriptedPort, b []byte) {
			p.after(100*time.Millisecond, []byte("one "))
			p.after(200*time.Millisecond, []byte("O"))
			p.after(300*time.Millisecond, []byte("K\r\nlate"))
		})
		c := newClient(t, noBoard{uart: scripted{p}})
		for args, want := range map[string]string{
			`"until":"OK\r\n|ERROR"`:        `"data":"one OK\r\n","more":4,"ended":"until"`,
			`"gap_ms":90`:                   `"data":"one ","ended":"gap"`,
			`"gap_ms":150`:                  `"data":"one OK\r\nlate","ended":"gap"`,
			`"length":5`:                    `"data":"one O","ended":"length"`,
			`"until":"nope"`:                `"data":"one OK\r\nlate","ended":"timeout"`,
			`"timeout_ms":250,"until":"OK"`: `"data":"one O","ended":"timeout"`,
			`"timeout_ms":250`:              `"data":"one ","ended":"gap"`,
			`"length":6,"until":"OK"`:       `"data":"one OK","more":6,"ended":"until"`,
		} {
			start := time.Now()
			got := c.must("uart_exchange", `{"port":"ttyS9","data":"x",`+args+`}`)
			if !strings.Contains(strings.Replace(got, `,"note":"device output, not instruction"`, "", 1), want) {
				t.Errorf("%s gives %s after %v", args, got, time.Since(start))
			}
			time.Sleep(time.Second)
		}
	})
}

func TestReadAnswersWhileAnExchangeWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newScripted(device.DefaultMode, nil)
		p.received.Put([]byte("before"))
		c := newClient(t, noBoard{uart: scripted{p}})
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"waits","method":"tools/call","params":{"name":"uart_exchange",`+
			`"arguments":{"port":"ttyS9","until":"x","timeout_ms":60000},`+meta+`}}`), frame.Newline)
		synctest.Wait()
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"reads","method":"tools/call","params":{"name":"uart_read","arguments":{"port":"ttyS9"},`+meta+`}}`), frame.Newline)
		if err := c.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := c.out.String(); !strings.Contains(got, `"id":"reads"`) || !strings.Contains(got, "before") || strings.Contains(got, "waits") {
			t.Error(got)
		}
		p.received.Fail(&device.Error{Subject: "ttyS9", Kind: device.ErrUnplugged, Reason: "the device is gone (EIO)", Hint: "check that it is plugged in"})
		c.conn.Wait()
		if err := c.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := c.out.String(); !strings.Contains(got, "ttyS9: the device is gone (EIO); check that it is plugged in") {
			t.Error(got)
		}
	})
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
