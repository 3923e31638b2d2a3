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

type waitResult struct {
	Lines []struct {
		Line        string
		Level       int
		Edges, Lost int
	}
	Events []struct {
		Line, Edge string
		Us         float64
		Seq        int
	}
	LeftOut  int  `json:"left_out"`
	TimedOut bool `json:"timed_out"`
	WaitedMs int  `json:"waited_ms"`
}

func (c *client) wait(args string) (r waitResult) {
	c.t.Helper()
	if err := json.Unmarshal([]byte(c.must("gpio_wait", args)), &r); err != nil {
		c.t.Fatal(err)
	}
	return r
}

func TestWaitForEdgesOfAClock(t *testing.T) {
	clock := func(hz float64, edges int64) sim.Wiring {
		return sim.Wiring{Wires: []sim.Wire{{From: "GPIO5", To: "GPIO6"}},
			Clocks: []sim.Clock{{Line: "GPIO5", Hz: hz, Edges: edges, AfterMs: 20}}}
	}
	for _, tt := range []struct {
		name   string
		wiring sim.Wiring
		args   string
		want   string
	}{
		{"one edge is what is waited for", clock(50, 0), `{"lines":["GPIO5"]}`,
			`{"lines":[{"line":"GPIO5","level":1,"edges":1,"lost":0}],"events":[{"line":"GPIO5","edge":"rising","us":20000,"seq":1}],"timed_out":false,"waited_ms":20}`},
		{"several, of one direction", clock(50, 0), `{"lines":["GPIO5"],"until":"falling","count":2}`,
			`{"lines":[{"line":"GPIO5","level":0,"edges":2,"lost":0}],"events":[{"line":"GPIO5","edge":"falling","us":30000,"seq":1},{"line":"GPIO5","edge":"falling","us":50000,"seq":2}],"timed_out":false,"waited_ms":50}`},
		{"of several lines", clock(50, 0), `{"lines":["GPIO22","GPIO6"],"until":"both","count":1}`,
			`{"lines":[{"line":"GPIO22","level":0,"edges":0,"lost":0},{"line":"GPIO6","level":1,"edges":1,"lost":0}],"events":[{"line":"GPIO6","edge":"rising","us":20000,"seq":1}],"timed_out":false,"waited_ms":20}`},
		{"a level that comes", clock(50, 0), `{"lines":"GPIO5","until":"high"}`,
			`{"lines":[{"line":"GPIO5","level":1,"edges":1,"lost":0}],"events":[{"line":"GPIO5","edge":"rising","us":20000,"seq":1}],"timed_out":false,"waited_ms":20}`},
		{"a level that is there answers at once", clock(50, 0), `{"lines":["GPIO22","GPIO4"],"until":"high"}`,
			`{"lines":[{"line":"GPIO22","level":0,"edges":0,"lost":0},{"line":"GPIO4","level":1,"edges":0,"lost":0}],"events":[],"timed_out":false,"waited_ms":0}`},
		{"nothing until the time is up", clock(50, 0), `{"lines":["GPIO22"],"timeout_ms":70}`,
			`{"lines":[{"line":"GPIO22","level":0,"edges":0,"lost":0}],"events":[],"timed_out":true,"waited_ms":70}`},
		{"less than asked for until the time is up", clock(50, 3), `{"lines":["GPIO5"],"count":10,"timeout_ms":300}`,
			`{"lines":[{"line":"GPIO5","level":1,"edges":3,"lost":0}],"events":[{"line":"GPIO5","edge":"rising","us":20000,"seq":1},{"line":"GPIO5","edge":"falling","us":30000,"seq":2},` +
				`{"line":"GPIO5","edge":"rising","us":40000,"seq":3}],"timed_out":true,"waited_ms":300}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, sim.Open(tt.wiring))
				if got := c.must("gpio_wait", tt.args); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
			})
		})
	}
}

// 1,000 edges in 1 ms: delivered and lost are 1,000 together, and the final level is right.
func TestBurstIsDeliveredOrCounted(t *testing.T) {
	for _, edges := range []int64{1000, 1001, 100001} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, sim.Open(sim.Wiring{Clocks: []sim.Clock{{Line: "GPIO5", Hz: 500e3, Edges: edges, AfterMs: 5}}}))
			r := c.wait(`{"lines":["GPIO5"],"count":1000000,"timeout_ms":300}`)
			l := r.Lines[0]
			if int64(l.Edges+l.Lost) != edges || int64(l.Level) != edges%2 || !r.TimedOut {
				t.Errorf("%d edges: %+v", edges, l)
			}
			if len(r.Events)+r.LeftOut != l.Edges || len(r.Events) < 40 {
				t.Errorf("%d edges: %d listed, %d left out, of %d", edges, len(r.Events), r.LeftOut, l.Edges)
			}
		})
	}
}

func TestWaitAnswersBelow8KB(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, sim.Open(sim.Wiring{Clocks: []sim.Clock{{Line: "SD_DATA3_R", Hz: 10e3}}}))
		names := `"SD_DATA3_R","SD_DATA2_R","SD_DATA1_R","SD_DATA0_R","SD_CMD_R","SD_CLK_R","SMPS_SDA","SMPS_SCL","SD1_CMD","SD1_CLK","SD1_DATA0","SD1_DATA1","SD1_DATA2","SD1_DATA3","GPIO4","GPIO5"`
		_, raw := c.ask("tools/call", `"name":"gpio_wait","arguments":{"lines":[`+names+`],"count":100000,"timeout_ms":1000}`)
		if len(raw) > 8000 || !strings.Contains(raw, `"left_out"`) {
			t.Errorf("%d bytes: %s", len(raw), raw)
		}
	})
}

func TestWaitSeesItsOwnServersWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, sim.Open(sim.Wiring{})) // GPIO17 is tied to GPIO27
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"gpio_wait","arguments":{"lines":["GPIO27"],"until":"rising","timeout_ms":60000},`+meta+`}}`), frame.Newline)
		time.Sleep(time.Second)
		// The dispatcher is free, and a watched line can be read and not written.
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"r","method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["GPIO27"]},`+meta+`}}`), frame.Newline)
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"GPIO27","level":1},`+meta+`}}`), frame.Newline)
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"y","method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"GPIO17","level":1},`+meta+`}}`), frame.Newline)
		c.conn.Wait()
		if err := c.conn.Flush(); err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]string{"r": `"level":0`, "x": "watched by a gpio_wait", "y": `"level":1`, "w": `"timed_out":false,"waited_ms":1000`} {
			found := false
			for line := range strings.Lines(c.out.String()) {
				found = found || strings.Contains(line, `"id":"`+id+`"`) && strings.Contains(strings.ReplaceAll(line, `\"`, `"`), want)
			}
			if !found {
				t.Errorf("%s: no %s in %s", id, want, c.out.String())
			}
		}
	})
}

func TestCancelledWaitEndsAndLeavesTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{})
		c := newClient(t, b)
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"gpio_wait","arguments":{"lines":["GPIO27"],"timeout_ms":60000},`+meta+`}}`), frame.Newline)
		time.Sleep(time.Second)
		c.conn.Handle([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w",`+meta+`}}`), frame.Newline)
		began := time.Now()
		time.Sleep(2 * lookEvery)
		synctest.Wait()
		if _, err := b.GPIO().Write("GPIO27", device.High); err != nil {
			t.Errorf("%v after the cancellation: %v", time.Since(began), err)
		}
		if got := c.out.String(); got != "" {
			t.Errorf("it sent %s", got)
		}
	})
}

func TestWaitTellsWhatIsWrong(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	for _, tt := range []struct{ args, want string }{
		{`{"lines":["GPIO17","nope"]}`, `line "nope" not found; gpio_list shows 54 lines`},
		{`{"lines":["GPIO17","GPIO17"]}`, `line "GPIO17" stands twice in lines; name each once`},
		{`{"lines":["ID_SDA","GPIO0"]}`, `line "GPIO0" stands twice in lines; name each once`},
		{`{"lines":["GPIO8"]}`, `line "GPIO8": in use by "spi0 CS0" (EBUSY); gpio_list shows which lines are free`},
		{`{"lines":["CAM_GPIO0"]}`, `line "CAM_GPIO0": an output has no events; make it an input with gpio_configure`},
		{`{"lines":["GPIO17"],"until":"up"}`, `parameter "until" is "up"; it is one of both, rising, falling, high, low`},
		{`{"lines":["GPIO17"],"until":"high","count":2}`, `count is 2, but a level is waited for once; give until rising or falling to count edges`},
		{`{"lines":["GPIO17"],"count":0}`, `count is 0; 1 to 1000000 are allowed`},
		{`{"lines":["GPIO17"],"timeout_ms":60001}`, `timeout_ms is 60001; 1 to 60000 are allowed`},
	} {
		if _, got := c.call("gpio_wait", tt.args); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
	many := strings.Repeat(`"GPIO17",`, device.MaxWatched)
	if _, got := c.call("gpio_wait", `{"lines":[`+many+`"GPIO4"]}`); !strings.Contains(got, "17 elements; it is an array of 1 to 16 strings") {
		t.Error(got)
	}
}

// shakyLine is a line whose chip misses an edge between two interrupts.
type shakyLine struct {
	device.GPIO
	events []device.Event
}

func (s *shakyLine) Watch(names []string, edges device.Edges) (device.Watcher, error) { return s, nil }
func (s *shakyLine) Close() error                                                     { return nil }
func (s *shakyLine) Next(dst []device.Event, wait time.Duration) ([]device.Event, error) {
	if len(s.events) == 0 {
		time.Sleep(wait)
	}
	dst = append(dst, s.events...)
	s.events = nil
	return dst, nil
}

func TestLostEdgesAreCounted(t *testing.T) {
	event := func(seq uint32, level device.Level) device.Event {
		return device.Event{Seq: seq, Level: level, Since: time.Duration(seq) * time.Microsecond}
	}
	for _, tt := range []struct {
		name        string
		until       string
		events      []device.Event
		edges, lost int
	}{
		{"none", "both", []device.Event{event(1, 1), event(2, 0), event(3, 1)}, 3, 0},
		{"dropped by the kernel at the begin", "both", []device.Event{event(11, 1), event(12, 0)}, 2, 10},
		{"dropped in the middle", "both", []device.Event{event(1, 1), event(5, 1)}, 2, 3},
		{"not seen by the chip", "both", []device.Event{event(1, 1), event(2, 1), event(3, 1)}, 3, 2},
		{"of one direction they are all alike", "rising", []device.Event{event(1, 1), event(2, 1), event(3, 1)}, 3, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newClient(t, noBoard{gpio: &shakyLine{GPIO: sim.Open(sim.Wiring{}).GPIO(), events: tt.events}})
				r := c.wait(fmt.Sprintf(`{"lines":["GPIO5"],"until":%q,"count":100,"timeout_ms":50}`, tt.until))
				if l := r.Lines[0]; l.Edges != tt.edges || l.Lost != tt.lost {
					t.Errorf("%+v", l)
				}
			})
		})
	}
}
