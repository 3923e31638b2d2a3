package tools

import (
	"cmp"
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

const canUp = `up, ERROR-ACTIVE, 500000 bit/s, sample point 87.5 %, FD data 2000000 bit/s, errors sent 0, received 0`

func TestCANResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{CAN: "up"})
		defer b.Close()
		c := newClient(t, b)
		other := b.Another()
		defer other.Close()
		say := func(f device.CANFrame) {
			if _, _, err := other.CAN().Send("can0", &f, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct{ tool, args, want string }{
			{"can_receive", `{"timeout_ms":0}`, `{"interface":"can0","link":"` + canUp + `","frames":[],"next":0}`},
			{"can_send", `{"id":"7e0","data":"02 01 05"}`, `{"interface":"can0","id":"7e0","time":"2000-01-01T00:00:00.000000Z","next":0}`},
			{"can_receive", `{"interface":"can0","filter":"7e8","count":1}`,
				`{"interface":"can0","link":"` + canUp + `","start":"2000-01-01T00:00:00.005000Z","frames":[{"id":"7e8","ms":0,"data":"03 41 05 7f 00 00 00 00"}],"next":1}`},
			{"can_receive", `{"count":2,"timeout_ms":60000,"offset":1,"filter":"100 7e8/7f0"}`,
				`{"interface":"can0","link":"` + canUp + `","start":"2000-01-01T00:00:00.100000Z","frames":[` +
					`{"id":"100","ms":0,"data":"1e d6 00 00 00 00 00 01"},{"id":"100","ms":100,"data":"1f 69 00 00 00 00 00 02"}],"next":3}`},
			{"can_send", `{"id":"18FF1234","format":"fd_brs","data":"000102030405060708090a0b"}`,
				`{"interface":"can0","id":"18ff1234","time":"2000-01-01T00:00:00.200000Z","next":3}`},
			{"can_send", `{"id":"0x12x","format":"rtr","data":"0000"}`, `{"interface":"can0","id":"00000012","time":"2000-01-01T00:00:00.200000Z","next":3}`},
			{"can_send", `{"id":"1"}`, `{"interface":"can0","id":"001","time":"2000-01-01T00:00:00.200000Z","next":3}`},
		} {
			if got := c.must(tt.tool, tt.args); got != tt.want {
				t.Errorf("%s %s\ngot  %s\nwant %s", tt.tool, tt.args, got, tt.want)
			}
		}
		say(device.CANFrame{ID: 5, Remote: true, Len: 4})
		say(device.CANFrame{ID: 5, FD: true, Len: 1, Data: [64]byte{9}})
		say(device.CANFrame{ID: 0x123, Extended: true, FD: true, BRS: true, ESI: true})
		const want = `"frames":[{"id":"005","ms":0,"length":4,"format":"rtr"},{"id":"005","ms":0,"data":"09","format":"fd"},` +
			`{"id":"00000123","ms":0,"data":"","format":"fd_brs","esi":true}],"next":6}`
		if got := c.must("can_receive", `{"timeout_ms":0}`); !strings.HasSuffix(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func TestCANErrors(t *testing.T) {
	const id = `give hex digits: 3 at most for a standard identifier (to 7ff), 8 or a trailing x for an extended one (to 1fffffff), as "7e8" or "18ff1234"`
	for _, tt := range []struct{ link, tool, args, want string }{
		{"", "can_send", `{}`, `parameter "id" is missing; it is a string of at most 16 bytes, required: hex; 8 digits: extended`},
		{"", "can_send", `{"id":"xyz"}`, `parameter "id" is "xyz": ` + id},
		{"", "can_send", `{"id":""}`, `parameter "id" is "": ` + id},
		{"", "can_send", `{"id":"800"}`, `parameter "id" is "800": ` + id},
		{"", "can_send", `{"id":"1234"}`, `parameter "id" is "1234": ` + id},
		{"", "can_send", `{"id":"20000000"}`, `parameter "id" is "20000000": ` + id},
		{"", "can_send", `{"id":"-1"}`, `parameter "id" is "-1": ` + id},
		{"", "can_send", `{"id":"1","interface":"can1"}`, `CAN interface "can1" not found; the board has can0`},
		{"", "can_send", `{"id":"1","data":"000102030405060708"}`, `CAN frame 001: 9 bytes; a classic frame has at most 8, an FD frame 64`},
		{"", "can_send", `{"id":"1","format":"fd","data":"000102030405060708"}`, `CAN frame 001: no FD frame has 9 bytes; 0 to 8, 12, 16, 20, 24, 32, 48 and 64 are allowed`},
		{"", "can_send", `{"id":"1","format":"xl"}`, `parameter "format" is "xl"; it is one of rtr, fd, fd_brs`},
		{"", "can_receive", `{"filter":"7e8,12345"}`, `parameter "filter" holds "12345": ` + id},
		{"", "can_receive", `{"filter":"7e8/"}`, `parameter "filter" holds "7e8/": give the mask as hex digits, as "7f0": its bits are those that must be equal`},
		{"", "can_receive", `{"filter":"` + strings.Repeat("1,", 33) + `"}`, `parameter "filter" has 33 identifiers; 32 are allowed`},
		{"", "can_receive", `{"offset":-1}`, `parameter "offset" is -1; it is the next of an earlier answer, or 0 for the oldest that is kept`},
		{"", "can_receive", `{"count":0}`, `parameter "count" is 0; it is a whole number from 1 to 200`},
		{"down", "can_send", `{"id":"1"}`, `can0: the link is down; bring it up with: sudo ip link set can0 up type can bitrate 500000`},
		{"down", "can_receive", `{}`, `can0: the link is down; bring it up with: sudo ip link set can0 up type can bitrate 500000`},
		{"bus-off", "can_send", `{"id":"1"}`, `can0: BUS-OFF: too many errors have taken it off the bus; check wiring, termination and bit rate, then: sudo ip link set can0 type can restart`},
	} {
		b := sim.Open(sim.Wiring{CAN: cmp.Or(tt.link, "up")})
		c := newClient(t, b)
		if _, got := c.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
		b.Close()
	}
}

func TestCANFilter(t *testing.T) {
	for _, tt := range []struct {
		filter string
		frame  device.CANFrame
		want   bool
	}{
		{"", device.CANFrame{ID: 5}, true},
		{"123", device.CANFrame{ID: 0x123}, true},
		{"123", device.CANFrame{ID: 0x123, Extended: true}, false},
		{"123x", device.CANFrame{ID: 0x123, Extended: true}, true},
		{"0x00000123", device.CANFrame{ID: 0x123, Extended: true}, true},
		{"123/7f0", device.CANFrame{ID: 0x12f}, true},
		{"123/7f0", device.CANFrame{ID: 0x133}, false},
		{"0/0", device.CANFrame{ID: 0x7ff}, true},
		{"0/0", device.CANFrame{ID: 0x7ff, Extended: true}, false},
		{"18feee00/00ffff00", device.CANFrame{ID: 0x00feee42, Extended: true}, true},
		{"1, 7E8", device.CANFrame{ID: 0x7e8}, true},
	} {
		all, err := parseCANFilter(tt.filter)
		if err != nil || all.match(&tt.frame) != tt.want {
			t.Errorf("%q, %+v: %v, %v", tt.filter, tt.frame, !tt.want, err)
		}
	}
}

// A question goes out while another call waits for its answer.
func TestCANSendDoesNotWaitForAReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{CAN: "up"})
		defer b.Close()
		c := newClient(t, b)
		for i, call := range []string{`"can_receive","arguments":{"filter":"7e8","timeout_ms":60000,"count":1}`, `"can_send","arguments":{"id":"7df","data":"02010c"}`} {
			c.conn.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%s,%s}}`, i, call, meta), frame.Newline)
			time.Sleep(time.Millisecond)
		}
		start := time.Now()
		c.conn.Wait()
		if err := c.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := c.out.String(); !strings.Contains(got, `"id":"7e8"`) || time.Since(start) > time.Second {
			t.Errorf("after %v: %s", time.Since(start), got)
		}
	})
}

// A full answer stays below 8 KB, and the next goes on where it ended.
func TestCANAnswerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{CAN: "up"})
		defer b.Close()
		c := newClient(t, b)
		c.must("can_receive", `{"timeout_ms":0}`)
		other := b.Another()
		defer other.Close()
		for i := range 100 {
			f := device.CANFrame{ID: 0x18ff0000, Extended: true, Len: 8}
			if i%2 == 0 {
				f.FD, f.BRS, f.ESI, f.Len = true, true, true, 64
			}
			f.Data[0] = byte(i)
			if _, _, err := other.CAN().Send("can0", &f, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		seen := 0
		for range 20 {
			_, raw := c.ask("tools/call", `"name":"can_receive","arguments":{"count":200,"timeout_ms":0,"filter":"18ff0000"}`)
			if len(raw) > 8000 {
				t.Errorf("an answer has %d bytes", len(raw))
			}
			var a struct {
				Result struct {
					StructuredContent struct {
						Frames []struct{ Data string }
						Lost   int
					}
				}
			}
			if err := json.Unmarshal([]byte(raw), &a); err != nil || a.Result.StructuredContent.Lost != 0 {
				t.Fatal(err, raw)
			}
			for _, f := range a.Result.StructuredContent.Frames {
				if !strings.HasPrefix(f.Data, fmt.Sprintf("%02x", seen)) {
					t.Errorf("frame %d is %s", seen, f.Data)
				}
				seen++
			}
		}
		if seen != 100 {
			t.Errorf("%d frames of 100", seen)
		}
	})
}

func TestCANTroubleIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{CAN: "alone"})
		defer b.Close()
		c := newClient(t, b)
		for range 3 {
			if _, failed := c.call("can_send", `{"id":"1"}`); !strings.Contains(failed, "no acknowledge") {
				t.Error(failed)
			}
		}
		if got := c.must("can_receive", `{"offset":0}`); !strings.Contains(got, `"frames":[],"errors":["no acknowledge: no other node answers (3 times)"],"next":3}`) {
			t.Error(got)
		}
		var all canTroubles
		for i := range 2 * maxCANTroubles {
			all.add(fmt.Sprint("kind ", i))
		}
		if got := string(all.append([]byte(`{"x":1`))); !strings.HasSuffix(got, `"kind 7","and 8 others"]`) {
			t.Error(got)
		}
	})
}
