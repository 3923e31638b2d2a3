package sim

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
)

func watching(t *testing.T, b *Board, edges device.Edges, names ...string) device.Watcher {
	t.Helper()
	w, err := b.gpio.Watch(names, edges)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func next(t *testing.T, w device.Watcher, wait time.Duration) []device.Event {
	t.Helper()
	events, err := w.Next(nil, wait)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func TestAClockMovesItsLineAndItsWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Wiring{Wires: []Wire{{"GPIO5", "GPIO6"}}, Clocks: []Clock{{Line: "GPIO5", Hz: 50, Edges: 3, AfterMs: 100}}})
		w := watching(t, b, device.BothEdges, "GPIO6")
		for _, want := range []struct {
			at    time.Duration
			level device.Level
		}{{100 * time.Millisecond, 1}, {110 * time.Millisecond, 0}, {120 * time.Millisecond, 1}} {
			e := next(t, w, time.Second)
			if len(e) != 1 || e[0].Since != want.at || e[0].Level != want.level || levelOf(t, b, "GPIO5") != want.level {
				t.Errorf("%+v, want %+v", e, want)
			}
		}
		if e := next(t, w, time.Hour); len(e) != 0 {
			t.Errorf("it moves on: %+v", e)
		}
	})
}

func TestAnUnwatchedClockIsWhereItShouldBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Wiring{Clocks: []Clock{{Line: "GPIO5", Hz: 1e6}}})
		time.Sleep(1000*time.Hour + 250*time.Nanosecond)
		if got := levelOf(t, b, "GPIO5"); got != device.High {
			t.Errorf("in the first half of a period it is %d", got)
		}
		time.Sleep(500 * time.Nanosecond)
		if got := levelOf(t, b, "GPIO5"); got != device.Low {
			t.Errorf("in the second half of a period it is %d", got)
		}
	})
}

func TestABouncingInputCountsOnceItStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Wiring{})
		outside := b.Another()
		if _, _, err := b.gpio.Configure("GPIO27", func(c *device.Config) error { c.Debounce = 5 * time.Millisecond; return nil }); err != nil {
			t.Fatal(err)
		}
		w := watching(t, b, device.BothEdges, "GPIO27")
		for i := range 9 { // ends high
			drive(t, outside, "GPIO17", device.Level(1-i%2))
			time.Sleep(time.Millisecond)
		}
		if e := next(t, w, time.Second); len(e) != 1 || e[0].Level != device.High || e[0].Since != 13*time.Millisecond || e[0].Seq != 1 {
			t.Errorf("%+v", e)
		}
	})
}

func TestTheOldestEventsGo(t *testing.T) {
	b := opened(t, Wiring{})
	outside := b.Another()
	w := watching(t, b, device.BothEdges, "GPIO27")
	const edges = queued + 500
	for i := range edges {
		drive(t, outside, "GPIO17", device.Level(1-i%2))
	}
	seq := uint32(edges - queued)
	for {
		events := next(t, w, 0)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			if seq++; e.Seq != seq {
				t.Fatalf("event %d, want %d", e.Seq, seq)
			}
		}
	}
	if seq != edges {
		t.Errorf("the last event is %d", seq)
	}
}

func TestOutputsThatDriveOneWayOnly(t *testing.T) {
	b := opened(t, Wiring{})
	configure := func(change func(c *device.Config)) {
		t.Helper()
		if _, _, err := b.gpio.Configure("GPIO17", func(c *device.Config) error { change(c); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		drive device.Drive
		bias  device.Bias
		out   device.Level
		want  device.Level
	}{
		{device.OpenDrain, device.BiasUp, 1, 1}, {device.OpenDrain, device.BiasUp, 0, 0}, {device.OpenDrain, device.BiasDown, 1, 0},
		{device.OpenSource, device.BiasDown, 0, 0}, {device.OpenSource, device.BiasDown, 1, 1}, {device.OpenSource, device.BiasUp, 0, 1},
	} {
		configure(func(l *device.Config) { l.Direction, l.Level, l.Drive, l.Bias = device.Out, c.out, c.drive, c.bias })
		if got := levelOf(t, b, "GPIO27"); got != c.want {
			t.Errorf("%+v: the wire is %d", c, got)
		}
	}
}

func TestAWatchBelongsToItsBoard(t *testing.T) {
	b := opened(t, Wiring{})
	other := b.Another()
	watching(t, b, device.Rising, "GPIO27")
	if l, err := other.gpio.Find("GPIO27"); err != nil || l.Owner != "another process" {
		t.Errorf("%+v %v", l, err)
	}
	if _, err := other.gpio.Write("GPIO27", 1); !errors.Is(err, device.ErrBusy) {
		t.Error(err)
	}
	b.Close()
	if _, err := other.gpio.Write("GPIO27", 1); err != nil {
		t.Error(err)
	}
}

func BenchmarkNext(b *testing.B) {
	board := Open(Wiring{})
	outside := board.Another()
	w, _ := board.gpio.Watch([]string{"GPIO27"}, device.BothEdges)
	events := make([]device.Event, 0, 128)
	level := device.Low
	b.ReportAllocs()
	for b.Loop() {
		level ^= 1
		outside.gpio.Write("GPIO17", level)
		events, _ = w.Next(events[:0], time.Second)
	}
}

func TestManyWatchersAtOnce(t *testing.T) {
	b := opened(t, Wiring{Clocks: []Clock{{Line: "GPIO5", Hz: 1e5}}})
	outside := b.Another()
	var all sync.WaitGroup
	for caller := range 6 {
		all.Go(func() {
			for i := range 50 {
				switch caller % 3 {
				case 0:
					if w, err := b.gpio.Watch([]string{"GPIO5", "GPIO27"}, device.BothEdges); err == nil {
						w.Next(nil, time.Millisecond)
						w.Close()
					}
				case 1:
					outside.gpio.Write("GPIO17", device.Level(i%2))
				case 2:
					b.gpio.Configure("GPIO27", func(c *device.Config) error { c.Debounce = time.Duration(i) * time.Microsecond; return nil })
					b.gpio.Release("GPIO27")
				}
			}
		})
	}
	all.Wait()
	if l, err := b.gpio.Find("GPIO27"); err != nil || l.Held || l.Debounce != 0 {
		t.Errorf("%+v %v", l, err)
	}
}
