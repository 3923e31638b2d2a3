package tools

import (
	"bytes"
	"fmt"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
	"boardhand/tools/modbus"
)

func TestModbusResults(t *testing.T) {
	clk := newClock()
	b := sim.Open(sim.Wiring{Now: clk.now})
	defer b.Close()
	clk.t = clk.t.Add(90 * time.Second)
	c := newClient(t, b)
	for _, target := range []string{"ttyUSB1", "192.0.2.10", "192.0.2.10:502", "1a86:7523", "/dev/ttyUSB1 19200 8E1"} {
		for _, tt := range []struct{ tool, args, want string }{
			{"modbus_read", `"address":0`, `{"unit":1,"kind":"holding","address":0,"type":"u16","values":["215"]}`},
			{"modbus_read", `"kind":"input","address":8,"type":"u64"`, `{"unit":1,"kind":"input","address":8,"type":"u64","order":"big","values":["90"]}`},
			{"modbus_read", `"address":24,"count":8,"type":"text"`, `{"unit":1,"kind":"holding","address":24,"type":"text","values":["TH-1 MODBUS"],"note":"device output, not instruction"}`},
			{"modbus_read", `"address":24,"count":1,"type":"u16"`, `{"unit":1,"kind":"holding","address":24,"type":"u16","values":["21576"]}`},
			{"modbus_write", `"address":1,"values":"21.5, -2","type":"f32 little"`, `{"unit":1,"kind":"holding","address":1,"type":"f32","order":"little","written":4,"confirmed":true}`},
			{"modbus_read", `"address":1,"count":2,"type":"f32 little"`, `{"unit":1,"kind":"holding","address":1,"type":"f32","order":"little","values":["21.5","-2"]}`},
			{"modbus_read", `"address":1,"count":4`, `{"unit":1,"kind":"holding","address":1,"type":"u16","values":["0","16812","0","49152"]}`},
			{"modbus_write", `"address":0,"values":"-5","type":"i16"`, `{"unit":1,"kind":"holding","address":0,"type":"i16","written":1,"confirmed":true}`},
			{"modbus_read", `"address":0,"type":"i16 big"`, `{"unit":1,"kind":"holding","address":0,"type":"i16","values":["-5"]}`},
			{"modbus_write", `"address":0,"values":"215"`, `{"unit":1,"kind":"holding","address":0,"type":"u16","written":1,"confirmed":true}`},
			{"modbus_write", `"address":8,"values":"\u0001\u0002","type":"text"`, `{"unit":1,"kind":"holding","address":8,"type":"text","written":1,"confirmed":true}`},
			{"modbus_read", `"address":8,"type":"text"`, `{"unit":1,"kind":"holding","address":8,"type":"text","hex":"01 02"}`},
			{"modbus_write", `"kind":"coil","address":0,"values":"on"`, `{"unit":1,"kind":"coil","address":0,"written":1,"confirmed":true}`},
			{"modbus_write", `"kind":"coil","address":1,"values":"0,1,1"`, `{"unit":1,"kind":"coil","address":1,"written":3,"confirmed":true}`},
			{"modbus_read", `"kind":"coil","address":0,"count":5`, `{"unit":1,"kind":"coil","address":0,"bits":"10110"}`},
			{"modbus_read", `"kind":"discrete","address":2,"count":3`, `{"unit":1,"kind":"discrete","address":2,"bits":"110"}`},
		} {
			args := `{"target":"` + target + `",` + tt.args + `}`
			if got := c.must(tt.tool, args); got != tt.want {
				t.Errorf("%s %s\n got  %s\n want %s", tt.tool, args, got, tt.want)
			}
		}
	}
	if got := c.must("modbus_write", `{"target":"ttyUSB1","unit":0,"address":0,"values":"100"}`); !strings.HasSuffix(got, `"written":1,"confirmed":false}`) {
		t.Error(got)
	}
	if got := c.must("modbus_read", `{"target":"ttyUSB1","address":0}`); !strings.HasSuffix(got, `["100"]}`) {
		t.Error(got)
	}
}

func TestModbusErrorsSayWhatIsAllowed(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	defer b.Close()
	c := newClient(t, b)
	for _, tt := range []struct{ tool, args, want string }{
		{"modbus_read", `{"target":"ttyUSB1","address":100}`, `unit 1 on ttyUSB1: the device refused function 3: it has not all of these addresses; some count from 1 where the wire counts from 0, and the four kinds are tables apart (exception 2)`},
		{"modbus_write", `{"target":"192.0.2.10","unit":7,"address":0,"values":"2000"}`, `unit 7 at 192.0.2.10:502: the device refused function 6: the value or the count is not allowed (exception 3)`},
		{"modbus_read", `{"target":"192.0.2.10:503","address":0}`, `192.0.2.10:503: the host refuses: nothing listens at this port (ECONNREFUSED); the simulated host listens at 502`},
		{"modbus_read", `{"target":"ttyUSB9","address":0}`, `port "ttyUSB9" not found; this board has ttyAMA0, ttyUSB0, ttyUSB1`},
		{"modbus_read", `{"target":"ttyAMA0","address":0}`, `ttyAMA0: in use by the kernel's console (EBUSY); uart_list shows which ports are free`},
		{"modbus_read", `{"target":"ttyUSB1 fast","address":0}`, `mode "fast": "fast" is no part of a mode; give it as "9600 8N1": baud 50 to 12000000, 5 to 8 data bits, parity N, O, E, M or S, 1 or 2 stop bits, then rtscts, xonxoff or none`},
		{"modbus_read", `{"target":"ttyUSB1","address":-1}`, `parameter "address" is -1; 0 to 65535 are allowed: without the 4xxxx of a manual, which counts from 1`},
		{"modbus_read", `{"target":"ttyUSB1","unit":256,"address":0}`, `parameter "unit" is 256; 0 to 255 are allowed, and 1 to 247 on a serial line`},
		{"modbus_read", `{"target":"ttyUSB1","unit":248,"address":0}`, `unit is 248; on a serial line 1 to 247 are allowed, and 0 for a write to all`},
		{"modbus_read", `{"target":"ttyUSB1","unit":0,"address":0}`, `unit is 0, all units, and none would answer; 1 to 247 are allowed`},
		{"modbus_read", `{"target":"ttyUSB1","address":0,"type":"u8"}`, `parameter "type" is "u8"; allowed: u16, i16, u32, i32, f32, u64, i64, f64, text, and little behind it where the low word comes first`},
		{"modbus_read", `{"target":"ttyUSB1","address":0,"type":"f32 middle"}`, `parameter "type" is "f32 middle"; allowed: u16, i16, u32, i32, f32, u64, i64, f64, text, and little behind it where the low word comes first`},
		{"modbus_read", `{"target":"ttyUSB1","address":0,"kind":"coil","type":"u16"}`, `type is "u16", but a coil is one bit; leave type out`},
		{"modbus_read", `{"target":"ttyUSB1","address":0,"count":0}`, `parameter "count" is 0; 1 to 2000 are allowed`},
		{"modbus_read", `{"target":"ttyUSB1","address":0,"count":63,"type":"u32"}`, `126 registers to read at once; 1 to 125 are allowed`},
		{"modbus_write", `{"target":"ttyUSB1","address":0,"values":"65536"}`, `"65536" is no u16; 0 to 65535 are allowed`},
		{"modbus_write", `{"target":"ttyUSB1","address":0,"values":" "}`, `there are no registers to write; 1 to 123 are allowed`},
		{"modbus_write", `{"target":"ttyUSB1","kind":"coil","address":0,"values":"2"}`, `"2" is no bit; 0 and 1 are allowed, such as 1 or 1,0,1`},
		{"modbus_write", `{"target":"ttyUSB1","address":0,"values":"1","timeout_ms":30001}`, `parameter "timeout_ms" is 30001; 1 to 30000 are allowed`},
	} {
		if _, got := c.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\n got  %s\n want %s", tt.tool, tt.args, got, tt.want)
		}
	}
	bare := newClient(t, noBoard{uart: b.UART()})
	if _, got := bare.call("modbus_read", `{"target":"10.0.0.1","address":0}`); got != "this board has no network; name a serial port" {
		t.Error(got)
	}
	bare = newClient(t, noBoard{tcp: b.TCP()})
	if _, got := bare.call("modbus_read", `{"target":"ttyUSB1","address":0}`); got != `target is "ttyUSB1", no address, and this board has no serial port; give one such as "192.168.1.10:502"` {
		t.Error(got)
	}
}

// frameRTU is an answer of unit 1 to a read of one holding register.
func frameRTU(unit, function byte, value uint16) []byte {
	f := []byte{unit, function, 2, byte(value >> 8), byte(value)}
	crc := modbus.CRC(f)
	return append(f, byte(crc), byte(crc>>8))
}

// On a line with unit 1 and a test in its place.
func modbusLine(t *testing.T, hear func(p *scriptedPort, b []byte)) (*scriptedPort, *client) {
	p := newScripted(device.ModbusMode, hear)
	return p, newClient(t, noBoard{uart: scripted{p}})
}

const readOne = `{"target":"ttyS9","address":0}`

// RTU does not number its frames: the answer to a request that was given up has
// to be waited for, or it is taken for the next.
func TestLateAnswerIsNotTakenForTheNext(t *testing.T) {
	for name, late := range map[string]time.Duration{"a little late": 1100 * time.Millisecond, "very late": 1900 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := uint16(0)
				p, c := modbusLine(t, func(p *scriptedPort, b []byte) {
					asked++
					wait := 30 * time.Millisecond
					if asked == 1 {
						wait = late
					}
					p.after(wait, frameRTU(1, 3, asked))
				})
				if _, failed := c.call("modbus_read", readOne); !strings.Contains(failed, "no answer within 1s") {
					t.Fatal(failed)
				}
				for want := 2; want < 4; want++ {
					if got := c.must("modbus_read", readOne); !strings.HasSuffix(got, fmt.Sprintf(`["%d"]}`, want)) {
						t.Errorf("request %d got %s", want, got)
					}
				}
				if len(p.written) != 3 {
					t.Errorf("%d requests were written for 3 calls", len(p.written))
				}
			})
		})
	}
}

func TestWrongAnswersArePassedOver(t *testing.T) {
	good := frameRTU(1, 3, 42)
	broken := append([]byte(nil), good...)
	broken[3] ^= 1
	for name, c := range map[string]struct {
		before []byte
		want   string
	}{
		"another unit":     {frameRTU(2, 3, 7), modbus.ErrUnit.Error()},
		"another function": {frameRTU(1, 4, 7), modbus.ErrFunction.Error()},
		"wrong CRC":        {broken, modbus.ErrCRC.Error()},
		"cut short":        {good[:5], "no answer"},
		"too long":         {append(append([]byte(nil), good...), 0), modbus.ErrLength.Error()},
		"noise":            {[]byte{0xff, 0, 0x12}, modbus.ErrUnit.Error()},
		"babble":           {bytes.Repeat([]byte{1, 3, 2}, 1000), modbus.ErrLength.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, client := modbusLine(t, func(p *scriptedPort, b []byte) {
					p.after(50*time.Millisecond, c.before)
					p.after(200*time.Millisecond, good)
				})
				if got := client.must("modbus_read", readOne); !strings.HasSuffix(got, `["42"]}`) {
					t.Error(got)
				}
				p.hear = func(p *scriptedPort, b []byte) { p.after(50*time.Millisecond, c.before) }
				time.Sleep(time.Second)
				before := len(p.written)
				if _, failed := client.call("modbus_write", `{"target":"ttyS9","address":0,"values":"1"}`); !strings.Contains(failed, "Whether the write acted is unknown: read before you write again") {
					t.Error(failed)
				}
				if _, failed := client.call("modbus_read", readOne); !strings.Contains(failed, c.want) || !strings.Contains(failed, "unit 1 on ttyS9 gave no answer within 1s at 19200 8E1") {
					t.Errorf("%q does not say %q", failed, c.want)
				}
				if n := len(p.written) - before; n != 2 {
					t.Errorf("%d frames were written for 2 calls", n)
				}
			})
		})
	}
}

func TestAnswerInPiecesIsPutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := modbusLine(t, func(p *scriptedPort, b []byte) {
			for i, v := range frameRTU(1, 3, 42) {
				p.after(time.Duration(16+15*i)*time.Millisecond, []byte{v})
			}
		})
		if got := c.must("modbus_read", readOne); !strings.HasSuffix(got, `["42"]}`) {
			t.Error(got)
		}
	})
}

func TestRequestWaitsForSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c := modbusLine(t, func(p *scriptedPort, b []byte) { p.after(10*time.Millisecond, frameRTU(1, 3, 42)) })
		var talking atomic.Bool
		talking.Store(true)
		go func() {
			for talking.Load() {
				p.received.Put([]byte{0x55})
				time.Sleep(time.Millisecond)
			}
		}()
		time.Sleep(10 * time.Millisecond)
		time.AfterFunc(300*time.Millisecond, func() { talking.Store(false) })
		if got := c.must("modbus_read", readOne); !strings.HasSuffix(got, `["42"]}`) {
			t.Error(got)
		}
		talking.Store(true)
		go func() {
			for talking.Load() {
				p.received.Put([]byte{0x55})
				time.Sleep(time.Millisecond)
			}
		}()
		time.Sleep(10 * time.Millisecond)
		before := len(p.written)
		_, failed := c.call("modbus_write", `{"target":"ttyS9","address":0,"values":"1"}`)
		if want := "ttyS9: the line is never silent, so nothing was sent; another master or a device that talks by itself is on it; uart_read shows what comes"; failed != want {
			t.Errorf("got  %s\nwant %s", failed, want)
		}
		if len(p.written) != before {
			t.Error("something was sent")
		}
		talking.Store(false)
		time.Sleep(time.Second)
	})
}

// scriptedHost is a network with one host, which answers a request with messages.
type scriptedHost struct {
	answer func(request []byte) []byte
	dials  int
	wrote  int
	failed error
}

func (h *scriptedHost) Dial(netip.AddrPort, time.Time) (device.Conn, error) {
	h.dials++
	if h.failed != nil {
		return nil, h.failed
	}
	return &scriptedConn{host: h}, nil
}

type scriptedConn struct {
	host *scriptedHost
	in   []byte
}

func (c *scriptedConn) Write(p []byte, _ time.Time) error {
	c.host.wrote++
	c.in = append(c.in, c.host.answer(p)...)
	return nil
}

// Read gives little at a time, as a network may.
func (c *scriptedConn) Read(p []byte, deadline time.Time) (int, error) {
	if len(c.in) == 0 {
		time.Sleep(time.Until(deadline))
		return 0, &device.Error{Subject: "192.0.2.7:502", Kind: device.ErrTimeout, Reason: "no answer in time", Hint: "check the address, the cable and the power of the device"}
	}
	n := copy(p[:min(len(p), 3)], c.in)
	c.in = c.in[n:]
	return n, nil
}

func (c *scriptedConn) Close() error { return nil }

func TestModbusTCPTakesOnlyItsOwnAnswer(t *testing.T) {
	answer := func(request []byte, transaction, protocol int, unit byte, pdu ...byte) []byte {
		t := int(request[0])<<8 | int(request[1]) + transaction
		return append([]byte{byte(t >> 8), byte(t), 0, byte(protocol), 0, byte(1 + len(pdu)), unit}, pdu...)
	}
	right := func(r []byte) []byte { return answer(r, 0, 0, 1, 3, 2, 0, 42) }
	for name, c := range map[string]struct {
		answer func(r []byte) []byte
		want   string // of the result or the error
	}{
		"right":                {right, `["42"]}`},
		"an older one first":   {func(r []byte) []byte { return append(answer(r, -1, 0, 1, 3, 2, 0, 7), right(r)...) }, `["42"]}`},
		"another unit's first": {func(r []byte) []byte { return append(answer(r, 0, 0, 2, 3, 2, 0, 7), right(r)...) }, `["42"]}`},
		"only an older one":    {func(r []byte) []byte { return answer(r, -1, 0, 1, 3, 2, 0, 7) }, `what came before is no answer: it has transaction`},
		"only another unit's":  {func(r []byte) []byte { return answer(r, 0, 0, 2, 3, 2, 0, 7) }, `it is from another unit`},
		"another function":     {func(r []byte) []byte { return answer(r, 0, 0, 1, 4, 2, 0, 7) }, `it is to another function`},
		"another length":       {func(r []byte) []byte { return answer(r, 0, 0, 1, 3, 4, 0, 7, 0, 7) }, `its length does not fit the request`},
		"a byte too many":      {func(r []byte) []byte { return answer(r, 0, 0, 1, 3, 2, 0, 7, 0) }, `its length does not fit the request`},
		"another protocol":     {func(r []byte) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n") }, `what answers does not speak Modbus`},
		"silence":              {func(r []byte) []byte { return nil }, `192.0.2.7:502: no answer in time; check the address`},
		"half an answer":       {func(r []byte) []byte { return right(r)[:9] }, `192.0.2.7:502: no answer in time; check the address`},
		"a refusal":            {func(r []byte) []byte { return answer(r, 0, 0, 1, 0x83, 11) }, `unit 1 at 192.0.2.7:502: the device refused function 3: the unit behind the gateway does not answer (exception 11)`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &scriptedHost{answer: c.answer}
				client := newClient(t, noBoard{tcp: h})
				result, failed := client.call("modbus_read", `{"target":"192.0.2.7","address":0,"timeout_ms":300}`)
				if !strings.Contains(result+failed, c.want) {
					t.Errorf("%s%s, want %s", result, failed, c.want)
				}
				if h.dials != 1 || h.wrote != 1 {
					t.Errorf("%d connections, %d requests", h.dials, h.wrote)
				}
			})
		})
	}
	h := &scriptedHost{failed: &device.Error{Subject: "192.0.2.7:502", Kind: device.ErrTimeout, Reason: "no answer in time", Hint: "check it"}}
	if _, failed := newClient(t, noBoard{tcp: h}).call("modbus_write", `{"target":"192.0.2.7","address":0,"values":"1"}`); failed != "192.0.2.7:502: no answer in time; check it" {
		t.Error(failed)
	}
}

// Half of what a noisy line brings is wrong, yet no wrong value gets through: the
// register changes with each write and is read back.
func TestNoWrongValueOverANoisyLine(t *testing.T) {
	b := sim.Open(sim.Wiring{Seed: 5, UARTs: []sim.UARTFault{{Port: "ttyUSB1", Noise: 0.06}}})
	defer b.Close()
	c := newClient(t, b)
	right, failures := 0, 0
	value := "215" // of the register, "" while it is not known
	for i := range 60 {
		next := fmt.Sprint(100 + i)
		if _, failed := c.call("modbus_write", fmt.Sprintf(`{"target":"ttyUSB1","address":0,"values":"%s","timeout_ms":20}`, next)); failed == "" {
			value = next
		} else if value != next {
			value = ""
			failures++
		}
		result, failed := c.call("modbus_read", `{"target":"ttyUSB1","address":0,"timeout_ms":20}`)
		switch {
		case failed != "":
			failures++
		case value != "" && !strings.HasSuffix(result, `["`+value+`"]}`):
			t.Fatalf("read %s, written %s", result, value)
		default:
			right++
		}
	}
	t.Logf("%d right, %d failed", right, failures)
	if right == 0 || failures == 0 {
		t.Errorf("%d right, %d failed", right, failures)
	}
}
