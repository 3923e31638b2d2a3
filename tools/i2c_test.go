package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
	"boardhand/frame"
)

// manyBuses has buses and nothing on them.
type manyBuses struct {
	device.I2C
	n int
}

func (m manyBuses) Buses(dst []device.Bus) ([]device.Bus, error) {
	for i := range m.n {
		dst = append(dst, device.Bus{Number: 10 * i, Name: "adapter"})
	}
	return dst, nil
}

func (manyBuses) Scan(bus int, first, last uint16, dst []device.Occupant, s device.Scanning) ([]device.Occupant, error) {
	return dst, nil
}

func TestBusMayBeLeftOutWhereThereIsOne(t *testing.T) {
	for _, tt := range []struct {
		buses              int
		args, want, failed string
	}{
		{0, `{}`, ``, `parameter "bus" is missing; the board has no I2C bus any more`},
		{1, `{}`, `{"bus":0,"found":[],"functions":[]}`, ``},
		{3, `{}`, ``, `parameter "bus" is missing; the board has i2c-0, i2c-10, i2c-20`},
		{3, `{"bus":20}`, `{"bus":20,"found":[],"functions":[]}`, ``},
		{3, `{"bus":1}`, ``, `i2c-1 not found; the board has i2c-0, i2c-10, i2c-20`},
	} {
		c := newClient(t, noBoard{i2c: manyBuses{n: tt.buses}})
		if result, failed := c.call("i2c_scan", tt.args); result != tt.want || failed != tt.failed {
			t.Errorf("%d buses, %s: %q, %q", tt.buses, tt.args, result, failed)
		}
	}
}

func TestBoardInfoShowsSoManyBuses(t *testing.T) {
	c := newClient(t, noBoard{i2c: manyBuses{n: maxBusesShown + 8}})
	if got := c.must("board_info", `{}`); !strings.HasSuffix(got, `"i2c-310 adapter","and 8 more"]}`) {
		t.Error(got)
	}
}

func TestScanTellsWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, sim.Open(sim.Wiring{Slow: []sim.Slow{{Bus: 1, Ms: 60}}}))
		lines := c.send("tools/call", `"name":"i2c_scan","arguments":{"first":"0x50","last":"0x57"}`)
		if len(lines) != 6 {
			t.Fatalf("got %d messages: %s", len(lines), lines)
		}
		for i, want := range map[int]string{
			0: `"params":{"level":"info","logger":"i2c","data":"scanning i2c-1 from 0x50 to 0x57"}`,
			1: `"params":{"progressToken":"p","progress":2,"total":8,"message":"addresses"}`,
			4: `"params":{"progressToken":"p","progress":8,"total":8,"message":"addresses"}`,
			5: `"structuredContent":{"bus":1,"found":[{"address":"0x50"}],"functions":["transfer",`,
		} {
			if !strings.Contains(lines[i], want) {
				t.Errorf("message %d\ngot  %s\nwant %s", i, lines[i], want)
			}
		}
	})
}

// Where an address without a device costs 0.3 s and shows as a timeout, a scan gives
// what it found in time, and goes on where it stopped.
func TestScanOfASlowBusComesInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, sim.Open(sim.Wiring{Slow: []sim.Slow{{Bus: 1, Ms: 300, NackTimeout: true}}}))
		found := map[string]string{}
		first, parts := "0x08", 0
		for ; first != "" && parts < 10; parts++ {
			began := time.Now()
			var part struct {
				Found         []struct{ Address, Driver string }
				StoppedBefore string `json:"stopped_before"`
			}
			if err := json.Unmarshal([]byte(c.must("i2c_scan", `{"first":"`+first+`"}`)), &part); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("from %s it took %v", first, took)
			}
			for _, o := range part.Found {
				found[o.Address] = o.Driver
			}
			first = part.StoppedBefore
		}
		if want := map[string]string{"0x50": "", "0x68": "rtc-ds1307", "0x76": ""}; !maps.Equal(found, want) || parts < 3 {
			t.Errorf("found %v in %d parts", found, parts)
		}
	})
}

// deadBus is a bus of which no address gives a proper answer.
type deadBus struct {
	manyBuses
	each  time.Duration
	asked int
}

func (d *deadBus) Scan(bus int, first, last uint16, dst []device.Occupant, s device.Scanning) ([]device.Occupant, error) {
	return device.Sweep("i2c-0", first, last, dst, s, func(addr uint16) (string, device.Answer, error) {
		if addr == 0x68 {
			return "rtc", device.Owned, nil
		}
		d.asked++
		time.Sleep(d.each)
		return "", device.Stuck, &device.Error{Subject: fmt.Sprintf("i2c-0 address 0x%02x", addr), Kind: device.ErrTimeout, Reason: "timed out (ETIMEDOUT)"}
	})
}

func TestJammedBusIsKnownAfterAFewTimeouts(t *testing.T) {
	for _, tt := range []struct {
		each  time.Duration
		asked int
	}{{300 * time.Millisecond, 11}, {time.Second, 9}} {
		synctest.Test(t, func(t *testing.T) {
			d := &deadBus{manyBuses: manyBuses{n: 1}, each: tt.each}
			_, failed := newClient(t, noBoard{i2c: d}).call("i2c_scan", `{}`)
			if !strings.HasPrefix(failed, "i2c-0: no device answers and ") || !strings.Contains(failed, "the bus is jammed") || d.asked > tt.asked {
				t.Errorf("after %d addresses: %s", d.asked, failed)
			}
		})
	}
}

func TestTransfer(t *testing.T) {
	clk := newClock()
	c := newClient(t, sim.Open(sim.Wiring{Now: clk.now}))
	for _, tt := range []struct{ tool, args, want, failed string }{
		{"i2c_transfer", `{"address":"0x76","messages":["w d0","r 1"]}`, `{"bus":1,"read":["60"]}`, ``},
		{"i2c_transfer", `{"address":"0x76","messages":"r 1"}`, `{"bus":1,"read":["00"]}`, ``},
		{"i2c_transfer", `{"address":"0x50","messages":["w 0100 0504 030201"]}`, `{"bus":1,"read":[]}`, ``},
		{"i2c_transfer", `{"messages":["w@50 0100","r@0x50 4","w@76 d0","r@76 1"]}`, `{"bus":1,"read":["05 04 03 02","60"]}`, ``},
		{"i2c_transfer", `{"address":"0x50","messages":["w 01 00","rb"]}`, `{"bus":1,"read":["04 03 02 01 ff"]}`, ``},
		{"i2c_transfer", `{"address":"0x76","messages":["w 88","rb"]}`, ``, `i2c-1 address 0x76: the device gave a block's length as 244 (EPROTO); 1 to 32 are allowed: does it speak SMBus blocks?`},
		{"i2c_transfer", `{"messages":["r 1"]}`, ``, `message 1, "r 1": it has no address; give the parameter address, or one of its own as in "r@51 4"`},
		{"i2c_transfer", `{"address":"0x76","messages":["w d0","x 1"]}`, ``, `message 2, "x 1": a message begins with w, r or rb, as in "w 0a ff", "r 4", "rb"`},
		{"i2c_transfer", `{"address":"0x76","messages":["w d"]}`, ``, `message 1, "w d": after w come 1 to 256 bytes in hex, as in "w 0a ff"`},
		{"i2c_transfer", `{"address":"0x76","messages":["w"]}`, ``, `message 1, "w": after w come 1 to 256 bytes in hex, as in "w 0a ff"`},
		{"i2c_transfer", `{"address":"0x76","messages":["r 257"]}`, ``, `message 1, "r 257": after r comes the count of bytes, 1 to 256, as in "r 4"`},
		{"i2c_transfer", `{"address":"0x76","messages":["rb 3"]}`, ``, `message 1, "rb 3": after rb comes nothing: the device tells the count`},
		{"i2c_transfer", `{"address":"0x76","messages":["r@5 3"]}`, ``, `message 1, "r@5 3": "5" is no address in hex, from 08 to 77, or with ten_bit to 3ff`},
		{"i2c_transfer", `{"address":"0x76","messages":["r 256","r 256","r 256","r 256","r 1"]}`, ``, `1025 bytes to read; 1024 in all are allowed`},
		{"i2c_transfer", `{"address":"0x68","messages":["r 1"]}`, ``, `i2c-1 address 0x68: in use by the kernel's driver "rtc-ds1307" (EBUSY); i2c_scan shows which addresses are free`},
		{"i2c_transfer", `{"address":"0x123","messages":["r 1"]}`, ``, `message 1, "r 1": address 0x123 is above 0x77; one of 10 bits needs ten_bit`},
		{"i2c_transfer", `{"address":"0x123","messages":["r 1"],"ten_bit":true}`, ``, `i2c-1 address 0x123: 10-bit address not supported; 0x00 to 0x7f are allowed`},
		{"i2c_read", `{"address":"0xec","register":"0xd0"}`, ``, `address 0xec is above 0x77; if it is the data sheet's with the R/W bit, it is 0x76 here; one of 10 bits goes with i2c_transfer and ten_bit`},
		{"i2c_read", `{"address":"0x50","length":0}`, ``, `length is 0, which is an SMBus block; that needs a register of 1 byte, its command`},
		{"i2c_transfer", `{"address":"0x50","messages":["w 01 00"]}`, `{"bus":1,"read":[]}`, ``},
		{"i2c_read", `{"address":"0x50","register":"0x01","length":0}`, `{"bus":1,"address":"0x50","register":"0x01","data":"04 03 02 01 ff"}`, ``},
	} {
		got, failed := c.call(tt.tool, tt.args)
		if got != tt.want || failed != tt.failed {
			t.Errorf("%s %s\ngot  %s %s\nwant %s %s", tt.tool, tt.args, got, failed, tt.want, tt.failed)
		}
		clk.t = clk.t.Add(time.Second) // the EEPROM's write cycle
	}
}

// An answer stays below 8 KB however much is read.
func TestLongestTransferStaysBelow8KB(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	_, raw := c.ask("tools/call", `"name":"i2c_transfer","arguments":{"address":"0x50","messages":["r 256","r 256","r 256","r 256"]}`)
	if len(raw) > 8000 {
		t.Errorf("%d bytes", len(raw))
	}
}

func FuzzMessage(f *testing.F) {
	for _, text := range []string{"w 0a ff", "r 4", "rb", "r@51 4", "w@0x50 00", " rb ", "r@3ff 1", "w@ 0", "r@x", "r -1"} {
		f.Add(text, int64(0x50), false)
	}
	f.Fuzz(func(t *testing.T, text string, addr int64, tenBit bool) {
		if addr < -1 || addr > lastTenBit {
			return
		}
		m, err := parseMessage(text, addr, tenBit)
		if err != nil {
			return
		}
		if len(m.Data) == 0 || len(m.Data) > maxTransfer || m.Block && !m.Read || (m.Addr&device.TenBit != 0) != tenBit || m.Addr&^device.TenBit > lastTenBit {
			t.Errorf("%q is %+v", text, m)
		}
	})
}

func TestJammedBusHoldsUpNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, sim.Open(sim.Wiring{Jams: []sim.Jam{{Bus: 1, Seconds: 30}}}))
		start := time.Now()
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"jammed","method":"tools/call","params":{"name":"i2c_read",`+
			`"arguments":{"address":"0x76"},`+meta+`}}`), frame.Newline)
		for i, tool := range []string{`"gpio_read","arguments":{"lines":["GPIO17"]}`, `"board_info","arguments":{}`,
			`"sensor_read","arguments":{"sensor":"supply"}`, `"i2c_read","arguments":{"bus":7,"address":"0x76"}`} {
			c.conn.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,%s}}`, i, tool, meta), frame.Newline)
		}
		if err := c.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(c.out.String(), "\n"); n != 4 || time.Since(start) != 0 {
			t.Errorf("%d calls were answered after %v: %s", n, time.Since(start), c.out.String())
		}
		c.conn.Wait()
		if err := c.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := c.out.String(); !strings.Contains(got, `"id":"jammed"`) || !strings.Contains(got, "i2c-1 gave no answer within 10s") {
			t.Error(got)
		}
		time.Sleep(time.Minute) // the jam ends
	})
}
