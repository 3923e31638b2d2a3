package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
	"boardhand/frame"
)

// trained is a client whose trains sleep on synctest's clock.
func trained(t *testing.T, b device.Board) *client {
	c := newClient(t, b)
	c.guard.sleep = time.Sleep
	return c
}

const us = time.Microsecond

func TestTrainOfPulses(t *testing.T) {
	for _, tt := range []struct {
		line, args, want string
		edges            []string // "level at time"
		after            string
	}{
		{"GPIO17", `"high_us":1500`, `{"line":"GPIO17","count":1,"high_us":{"min":1500,"mean":1500,"max":1500},"low_us":{"min":1500,"mean":1500,"max":1500},"took_ms":3}`,
			[]string{"1 at 0s", "0 at 1.5ms"}, "in 0"},
		{"GPIO17", `"high_us":100,"low_us":400,"count":3`, `{"line":"GPIO17","count":3,"high_us":{"min":100,"mean":100,"max":100},"low_us":{"min":400,"mean":400,"max":400},"took_ms":1.5}`,
			[]string{"1 at 0s", "0 at 100µs", "1 at 500µs", "0 at 600µs", "1 at 1ms", "0 at 1.1ms"}, "in 0"},
		{"CAM_GPIO0", `"high_us":50000,"low_us":250000,"count":2`, `{"line":"CAM_GPIO0","count":2,"high_us":{"min":50000,"mean":50000,"max":50000},"low_us":{"min":250000,"mean":250000,"max":250000},"took_ms":600}`,
			[]string{"0 at 50ms", "1 at 300ms", "0 at 350ms", "1 at 600ms"}, "out 1"},
	} {
		t.Run(tt.line+tt.args, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := sim.Open(sim.Wiring{Wires: []sim.Wire{{From: "GPIO17", To: "GPIO27"}, {From: "CAM_GPIO0", To: "GPIO26"}}})
				seen := "GPIO27"
				if tt.line == "CAM_GPIO0" {
					seen = "GPIO26"
				}
				w, err := b.GPIO().Watch([]string{seen}, device.BothEdges)
				if err != nil {
					t.Fatal(err)
				}
				c := trained(t, b)
				if got := c.must("gpio_pulse", `{"line":"`+tt.line+`",`+tt.args+`}`); got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				events, _ := w.Next(nil, 0)
				var edges []string
				for _, e := range events {
					edges = append(edges, fmt.Sprint(e.Level, " at ", e.Since))
				}
				if got, want := strings.Join(edges, ", "), strings.Join(tt.edges, ", "); got != want {
					t.Errorf("edges %s\nwant  %s", got, want)
				}
				if got := stands(t, b.GPIO(), tt.line); got != tt.after || c.guard.Active() != 0 {
					t.Errorf("after it the line is %s, not %s; %d pulses run", got, tt.after, c.guard.Active())
				}
				w.Close()
				b.Close()
			})
		})
	}
}

func TestTrainEndsInTheFormerState(t *testing.T) {
	pulse := []byte(`{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"gpio_pulse","arguments":{"line":"GPIO17","high_us":10000000,"low_us":10000000,"count":3},` + meta + `}}`)
	for _, tt := range []struct {
		name   string
		before string // how the line is configured
		do     func(c *client, b *sim.Board)
		line   string
		answer string // to the train
	}{
		{"when it is cancelled", "", func(c *client, _ *sim.Board) {
			c.conn.Handle([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"p",`+meta+`}}`), frame.Newline)
		}, "in 0", ""},
		{"as it was configured", "in pull_up", func(c *client, _ *sim.Board) {
			c.conn.Handle([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"p",`+meta+`}}`), frame.Newline)
		}, "in held 1", ""},
		{"when the guard closes, which leaves the rest to the board", "", func(c *client, _ *sim.Board) { c.guard.Close() }, "out held 1",
			`after 0 of 3 pulses: line "GPIO17": no more pulses, as the server is ending`},
		{"when its client is gone", "", func(c *client, _ *sim.Board) { c.conn.Close() }, "in 0", ""},
		{"as a write left it, which ends it", "", func(c *client, _ *sim.Board) {
			c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"GPIO17","level":1},`+meta+`}}`), frame.Newline)
		}, "out held 1", `after 0 of 3 pulses: line "GPIO17": another call or the guard has taken the line over; gpio_list shows how it stands`},
		{"as a configuration left it", "", func(c *client, _ *sim.Board) {
			c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"gpio_configure","arguments":{"line":"GPIO17","set":"release"},`+meta+`}}`), frame.Newline)
		}, "in 0", `after 0 of 3 pulses: line "GPIO17": another call or the guard has taken the line over; gpio_list shows how it stands`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := sim.Open(sim.Wiring{})
				c := trained(t, b)
				if tt.before != "" {
					c.must("gpio_configure", `{"line":"GPIO17","set":"`+tt.before+`"}`)
				}
				c.out.Reset()
				c.conn.Handle(pulse, frame.Newline)
				time.Sleep(time.Second)
				if got := stands(t, b.GPIO(), "GPIO17"); got != "out held 1" {
					t.Errorf("in the train the line is %s", got)
				}
				tt.do(c, b)
				time.Sleep(trainLookEach)
				synctest.Wait()
				if got := stands(t, b.GPIO(), "GPIO17"); got != tt.line {
					t.Errorf("the line is %s, not %s", got, tt.line)
				}
				time.Sleep(time.Minute)
				synctest.Wait()
				if got := stands(t, b.GPIO(), "GPIO17"); got != tt.line {
					t.Errorf("a minute later the line is %s, not %s", got, tt.line)
				}
				c.conn.Flush()
				got := ""
				for line := range strings.Lines(c.out.String()) {
					var a answer
					if strings.Contains(line, `"id":"p"`) && json.Unmarshal([]byte(line), &a) == nil {
						got = a.Result.Content[0].Text
					}
				}
				if got != tt.answer {
					t.Errorf("answered %q, not %q", got, tt.answer)
				}
			})
		})
	}
}

// A goroutine that stands still does not leave a level: the guard's timer ends it.
func TestTrainThatStandsStillIsEndedByTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{})
		g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
		g.sleep = func(time.Duration) { time.Sleep(time.Hour) }
		ended := make(chan error)
		go func() {
			_, err := g.train(knownLine{name: "GPIO17"}, time.Millisecond, time.Millisecond, 5, func(int) error { return nil })
			ended <- err
		}()
		time.Sleep(time.Second)
		if got := stands(t, b.GPIO(), "GPIO17"); got != "out held 1" {
			t.Error(got)
		}
		time.Sleep(trainGrace)
		if got := stands(t, b.GPIO(), "GPIO17"); got != "in 0" || g.Active() != 0 {
			t.Errorf("%s, %d pulses", got, g.Active())
		}
		if err := <-ended; !errors.Is(err, device.ErrCancelled) {
			t.Error(err)
		}
	})
}

func TestTrainThatCannotBePutBackIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{GPIO: sim.Open(sim.Wiring{}).GPIO()}
		g := newGuard(f, func(error) {})
		g.sleep = time.Sleep
		_, err := g.train(knownLine{name: "GPIO17"}, time.Millisecond, time.Millisecond, 5, func(done int) error {
			if done == 2 {
				f.fail(errors.New("the bus is jammed"))
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "after 2 of 5 pulses: the bus is jammed") {
			t.Error(err)
		}
		f.fail(nil)
		time.Sleep(2 * retryEvery)
		synctest.Wait()
		if l, _ := f.GPIO.Find("GPIO17"); l.Held || g.Active() != 0 {
			t.Errorf("held %v, %d pulses", l.Held, g.Active())
		}
	})
}

func TestPulseTellsWhatIsWrong(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	for _, tt := range []struct{ args, want string }{
		{`{"line":"nope","high_us":1}`, `line "nope" not found; gpio_list shows 54 lines`},
		{`{"line":"GPIO8","high_us":1}`, `after 0 of 1 pulses: line "GPIO8": in use by "spi0 CS0" (EBUSY); gpio_list shows which lines are free`},
		{`{"line":"GPIO17"}`, `parameter "high_us" is missing; it is a whole number, required`},
		{`{"line":"GPIO17","high_us":0}`, `high_us is 0; 1 to 10000000 are allowed`},
		{`{"line":"GPIO17","high_us":1,"low_us":10000001}`, `low_us is 10000001; 1 to 10000000 are allowed`},
		{`{"line":"GPIO17","high_us":1,"count":0}`, `count is 0; 1 to 100000 are allowed`},
		{`{"line":"GPIO17","high_us":1000000,"count":31}`, `31 pulses of 2s take 1m2s; 1m0s are allowed, so give a lower count`},
	} {
		if _, got := c.call("gpio_pulse", tt.args); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

// On the real clock: no phase is shorter than told.
func TestPulsesAreNeverShorterThanTold(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
	r, err := g.train(knownLine{name: "GPIO17"}, 300*us, 100*us, 20, func(int) error { return nil })
	if err != nil || r.high.n != 20 || r.low.n != 20 || r.high.min < 300*us || r.low.min < 100*us || r.took < 8*time.Millisecond {
		t.Errorf("%+v, %v", r, err)
	}
	t.Logf("high %v to %v, low %v to %v", r.high.min, r.high.max, r.low.min, r.low.max)
}
