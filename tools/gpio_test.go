package tools

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"boardhand/device"
	"boardhand/device/sim"
	"boardhand/frame"
	"boardhand/rpc"
)

func TestListOfTheSimulatedBoardIsOnePage(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	a, raw := c.ask("tools/call", `"name":"gpio_list","arguments":{}`)
	t.Logf("gpio_list is %d bytes", len(raw))
	if len(raw) > 8000 || strings.Contains(string(a.Result.StructuredContent), `"next"`) {
		t.Errorf("gpio_list is %d bytes: %s", len(raw), raw)
	}
}

// expander is a board's lines behind a bus, many and with long names, and a
// processor's line "fast". A line that is called by another name is known.
type expander struct {
	device.GPIO
	mu      sync.Mutex
	found   int
	writes  []string
	waiting chan struct{} // Read of a slow line waits for it, unless nil
}

const expanderLines = 400

func (e *expander) line(i int) device.Line {
	return device.Line{Name: fmt.Sprintf("expander \"%d\" line %03d", i/100, i), Chip: fmt.Sprintf("gpiochip%d", i/100),
		Bias: device.BiasUp, Drive: device.OpenDrain, Slow: true}
}

func (e *expander) Lines(dst []device.Line) ([]device.Line, error) {
	for i := range expanderLines {
		dst = append(dst, e.line(i))
	}
	return append(dst, device.Line{Name: "fast", Chip: "gpiochip9"}), nil
}

func (e *expander) Find(name string) (device.Line, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.found++
	switch name {
	case "fast":
		return device.Line{Name: "fast"}, nil
	case "alias":
		return e.line(0), nil
	}
	for i := range expanderLines {
		if l := e.line(i); l.Name == name {
			return l, nil
		}
	}
	return device.Line{}, &device.Error{Subject: "line", Kind: device.ErrNotFound}
}

func (e *expander) Read(names []string, levels []device.Level) error {
	if e.waiting != nil && names[0] != "fast" {
		<-e.waiting
	}
	for i := range names {
		levels[i] = device.High
	}
	return nil
}

func (e *expander) Write(name string, level device.Level) (device.State, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes = append(e.writes, fmt.Sprint(name, "=", level))
	return device.State{}, nil
}

func (e *expander) Release(name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.writes = append(e.writes, name+" released")
	return nil
}

func TestLongListComesInPagesUnder8KB(t *testing.T) {
	c := newClient(t, noBoard{gpio: &expander{}})
	seen := 0
	offset := 0
	for range 100 {
		a, raw := c.ask("tools/call", fmt.Sprintf(`"name":"gpio_list","arguments":{"offset":%d}`, offset))
		if len(raw) > 8000 {
			t.Errorf("the page at %d is %d bytes", offset, len(raw))
		}
		c.checkFields("gpio_list", a.Result.StructuredContent)
		var page struct {
			Lines       []struct{ Line, Chip, Bias, Drive string }
			Total, Next int
		}
		if err := json.Unmarshal(a.Result.StructuredContent, &page); err != nil {
			t.Fatal(err)
		}
		if page.Total != expanderLines+1 || page.Lines[0].Chip == "" {
			t.Errorf("page at %d: %+v", offset, page)
		}
		seen += len(page.Lines)
		if page.Next == 0 {
			break
		}
		if page.Next != seen {
			t.Fatalf("next is %d after %d lines", page.Next, seen)
		}
		offset = page.Next
	}
	if seen != expanderLines+1 {
		t.Errorf("the pages hold %d lines", seen)
	}
}

func TestLineBehindABusHasTheQueueOfItsChip(t *testing.T) {
	e := &expander{}
	names := lineNames{gpio: e}
	for _, tt := range []struct{ name, line, queue string }{
		{"fast", "fast", ""},
		{"alias", `expander "0" line 000`, "gpio:gpiochip0"},
		{`expander "3" line 399`, `expander "3" line 399`, "gpio:gpiochip3"},
	} {
		for range 2 {
			if k, err := names.find(tt.name); err != nil || k.queue != tt.queue || k.name != tt.line {
				t.Errorf("%q: %+v, %v", tt.name, k, err)
			}
		}
	}
	if e.found != 3 {
		t.Errorf("the board was asked %d times for 3 lines", e.found)
	}
	if _, err := names.find("none"); err == nil {
		t.Error("a line that does not exist was found")
	}
	for i := range 3 * maxKnown {
		name := fmt.Sprint("line", i)
		names.gpio = anyLine{}
		names.find(name)
		if len(names.known) > maxKnown {
			t.Fatalf("%d lines are remembered", len(names.known))
		}
	}
}

type anyLine struct{ device.GPIO }

func (anyLine) Find(name string) (device.Line, error) { return device.Line{Name: name}, nil }

func TestReadThatWaitsForABusLeavesOthersAlone(t *testing.T) {
	e := &expander{waiting: make(chan struct{})}
	c := newClient(t, noBoard{gpio: e})
	for i := range 3 {
		c.conn.Handle(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"slow%d","method":"tools/call","params":{"name":"gpio_read",`+
			`"arguments":{"lines":["alias"]},%s}}`, i, meta), frame.Newline)
	}
	c.conn.Handle([]byte(`{"jsonrpc":"2.0","id":"fast","method":"tools/call","params":{"name":"gpio_read",`+
		`"arguments":{"lines":["fast"]},`+meta+`}}`), frame.Newline)
	if err := c.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := c.out.String(); !strings.Contains(got, `"id":"fast"`) || strings.Contains(got, `"id":"slow`) {
		t.Errorf("while the bus hangs: %s", got)
	}
	close(e.waiting)
	c.conn.Wait()
	if err := c.conn.Flush(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(c.out.String(), `"id":"slow`); got != 3 {
		t.Errorf("%d of 3 slow reads were answered: %s", got, c.out.String())
	}
}

// steady are calls that must not allocate once warm.
var steady = []struct{ name, params string }{
	{"gpio_read", `"name":"gpio_read","arguments":{"lines":["GPIO17"]}`},
	{"gpio_read_8", `"name":"gpio_read","arguments":{"lines":["GPIO17","GPIO18","GPIO19","GPIO20","GPIO21","GPIO22","GPIO23","GPIO24"]}`},
	{"gpio_write", `"name":"gpio_write","arguments":{"line":"GPIO17","level":1}`},
	{"gpio_write_for_ms", `"name":"gpio_write","arguments":{"line":"GPIO22","level":1,"for_ms":600000}`},
	{"sensor_read", `"name":"sensor_read","arguments":{"sensor":"cpu-thermal"}`},
}

func steadyCall(t testing.TB, params string) func() {
	cat, guard := Catalogue(sim.Open(sim.Wiring{}), "0.1.0", func(err error) { t.Error(err) })
	t.Cleanup(guard.Close)
	conn := rpc.NewServer(cat, rpc.Limits{}, nil).NewConn(io.Discard)
	msg := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + params + `,` + meta + `}}`)
	return func() {
		conn.Handle(msg, frame.Newline)
		conn.Flush()
	}
}

func TestSteadyCallsAllocateNothing(t *testing.T) {
	for _, s := range steady {
		call := steadyCall(t, s.params)
		if n := testing.AllocsPerRun(500, call); n != 0 {
			t.Errorf("%s allocates %v times", s.name, n)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for _, s := range steady {
		b.Run(s.name, func(b *testing.B) {
			call := steadyCall(b, s.params)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
