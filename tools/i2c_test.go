package tools

import (
	"fmt"
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
		{1, `{}`, `{"bus":0,"found":[]}`, ``},
		{3, `{}`, ``, `parameter "bus" is missing; the board has i2c-0, i2c-10, i2c-20`},
		{3, `{"bus":20}`, `{"bus":20,"found":[]}`, ``},
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
	c := newClient(t, sim.Open(sim.Wiring{}))
	lines := c.send("tools/call", `"name":"i2c_scan","arguments":{"first":"0x50","last":"0x57"}`)
	if len(lines) != 3 {
		t.Fatalf("got %d messages: %s", len(lines), lines)
	}
	for i, want := range []string{
		`"params":{"level":"info","logger":"i2c","data":"scanning i2c-1 from 0x50 to 0x57"}`,
		`"params":{"progressToken":"p","progress":1,"total":8,"message":"addresses"}`,
		`"structuredContent":{"bus":1,"found":[{"address":"0x50"}]}`,
	} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("message %d\ngot  %s\nwant %s", i, lines[i], want)
		}
	}
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
