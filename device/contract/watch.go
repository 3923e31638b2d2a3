package contract

import (
	"errors"
	"testing"
	"time"

	"boardhand/device"
)

// soon is long enough for an event to come, on an emulated board too.
const soon = 5 * time.Second

// Watch tests the events of lines. It needs w.Moved, a line whose pin w.Move sets.
func Watch(t *testing.T, b device.Board, w GPIOWiring) {
	g := b.GPIO()
	w.need(t, w.Moved)
	begin := func(t *testing.T, edges device.Edges, names ...string) device.Watcher {
		t.Helper()
		x, err := g.Watch(names, edges)
		must(t, err)
		t.Cleanup(func() { x.Close() })
		return x
	}
	// collect gives the next n events.
	collect := func(t *testing.T, x device.Watcher, n int) (events []device.Event) {
		t.Helper()
		for end := time.Now().Add(soon); len(events) < n && time.Now().Before(end); {
			var err error
			events, err = x.Next(events, soon)
			must(t, err)
		}
		if len(events) != n {
			t.Fatalf("%d events, want %d: %+v", len(events), n, events)
		}
		return events
	}
	w.Move(device.Low)
	t.Run("both edges, in order, numbered and timed", func(t *testing.T) {
		w.Move(device.Low)
		x := begin(t, device.BothEdges, w.Moved)
		for i := range 6 {
			w.Move(device.Level(1 - i%2))
			time.Sleep(2 * time.Millisecond) // each its own interrupt
		}
		last := time.Duration(-1)
		for i, e := range collect(t, x, 6) {
			if e.Line != 0 || e.Level != device.Level(1-i%2) || e.Seq != uint32(i+1) || e.Since <= last {
				t.Errorf("event %d is %+v, after one at %v", i, e, last)
			}
			last = e.Since
		}
		none, err := x.Next(nil, 20*time.Millisecond)
		must(t, err)
		if len(none) != 0 {
			t.Errorf("%+v out of nothing", none)
		}
	})
	t.Run("one edge only", func(t *testing.T) {
		for edge, want := range map[device.Edges]device.Level{device.Rising: device.High, device.Falling: device.Low} {
			w.Move(device.Low)
			x := begin(t, edge, w.Moved)
			for i := range 4 {
				w.Move(device.Level(1 - i%2))
				time.Sleep(2 * time.Millisecond)
			}
			for i, e := range collect(t, x, 2) {
				if e.Level != want || e.Seq != uint32(i+1) {
					t.Errorf("%+v, want %d", e, want)
				}
			}
			must(t, x.Close())
		}
	})
	t.Run("Next appends and waits no longer than told", func(t *testing.T) {
		x := begin(t, device.BothEdges, w.Moved)
		mark := device.Event{Line: 9}
		events, err := x.Next([]device.Event{mark}, 0)
		must(t, err)
		if len(events) != 1 || events[0] != mark {
			t.Errorf("%+v", events)
		}
	})
	t.Run("every edge of a burst is delivered or counted as lost", func(t *testing.T) {
		const edges = 3000 // more than any queue
		w.Move(device.Low)
		x := begin(t, device.BothEdges, w.Moved)
		for i := range edges {
			w.Move(device.Level(1 - i%2))
		}
		var events []device.Event
		for {
			n := len(events)
			var err error
			events, err = x.Next(events, 200*time.Millisecond)
			must(t, err)
			if len(events) == n {
				break
			}
		}
		last := events[len(events)-1]
		lost := int(last.Seq) - len(events)
		t.Logf("%d events, %d lost, of %d", len(events), lost, edges)
		if w.Exact && int(last.Seq) != edges || int(last.Seq) > edges || lost < 0 {
			t.Errorf("%d edges gave %d events, and %d lost", edges, len(events), lost)
		}
		if last.Level != device.Low || level(t, g, w.Moved) != device.Low {
			t.Errorf("the last event is %+v, the level %d", last, level(t, g, w.Moved))
		}
		for i := range events[1:] {
			if events[i+1].Seq <= events[i].Seq {
				t.Fatalf("event %d comes after %d", events[i+1].Seq, events[i].Seq)
			}
		}
	})
	t.Run("a watched line is read, and neither written, configured nor watched again", func(t *testing.T) {
		was := find(t, g, w.Moved)
		x := begin(t, device.BothEdges, w.Moved)
		level(t, g, w.Moved)
		_, err := g.Write(w.Moved, device.Low)
		refused(t, err, device.ErrBusy, w.Moved)
		_, _, err = g.Configure(w.Moved, func(*device.Config) error { return nil })
		refused(t, err, device.ErrBusy, w.Moved)
		_, err = g.Watch([]string{w.Moved}, device.Rising)
		refused(t, err, device.ErrBusy, w.Moved)
		if l := find(t, g, w.Moved); l.Owner != "" || l.Held || l.Direction != device.In {
			t.Errorf("the watched line is %+v", l)
		}
		must(t, x.Close())
		must(t, x.Close())
		if now := find(t, g, w.Moved); now != was {
			t.Errorf("%+v after Close, was %+v", now, was)
		}
	})
	t.Run("a configured line keeps its set-up", func(t *testing.T) {
		defer g.Release(w.Moved)
		w.Move(device.Low)
		_, after, err := g.Configure(w.Moved, func(c *device.Config) error { c.Direction, c.ActiveLow = device.In, true; return nil })
		must(t, err)
		x := begin(t, device.Falling, w.Moved)
		w.Move(device.High)
		if e := collect(t, x, 1)[0]; e.Level != device.Low {
			t.Errorf("active low, %+v", e)
		}
		refused(t, g.Release(w.Moved), device.ErrBusy, w.Moved)
		must(t, x.Close())
		if l := find(t, g, w.Moved); !l.ActiveLow || !l.Held || l.Bias != after.Bias {
			t.Errorf("after the watch %+v", l)
		}
	})
	t.Run("several lines", func(t *testing.T) {
		w.need(t, w.Still)
		w.Move(device.Low)
		x := begin(t, device.BothEdges, w.Still, w.Moved)
		w.Move(device.High)
		if e := collect(t, x, 1)[0]; e.Line != 1 || e.Level != device.High {
			t.Errorf("%+v", e)
		}
	})
	t.Run("what cannot be watched is refused, and leaves the others alone", func(t *testing.T) {
		many := make([]string, device.MaxWatched+1)
		for i := range many {
			many[i] = w.Moved
		}
		for _, c := range []struct {
			names []string
			kind  error
			says  string
		}{
			{nil, device.ErrNotSupport, ""},
			{many, device.ErrNotSupport, ""},
			{[]string{w.Moved, w.Moved}, device.ErrBusy, w.Moved},
			{[]string{w.Moved, "no such line"}, device.ErrNotFound, "no such line"},
			{[]string{w.Moved, w.Owned}, device.ErrBusy, w.Owned},
			{[]string{w.Moved, w.Standing}, device.ErrNotSupport, w.Standing},
		} {
			if len(c.names) > 1 && c.names[1] == "" {
				continue
			}
			_, err := g.Watch(c.names, device.Rising)
			refused(t, err, c.kind, c.says)
		}
		begin(t, device.Rising, w.Moved)
	})
}

// WatchEnds tests that closing the board wakes who waits for events.
func WatchEnds(t *testing.T, b device.Board, w GPIOWiring) {
	w.need(t, w.Moved)
	x, err := b.GPIO().Watch([]string{w.Moved}, device.BothEdges)
	must(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := x.Next(nil, time.Minute)
		ended <- err
	}()
	time.Sleep(20 * time.Millisecond)
	must(t, b.Close())
	select {
	case err := <-ended:
		if !errors.Is(err, device.ErrUnplugged) {
			t.Errorf("error %v", err)
		}
	case <-time.After(soon):
		t.Error("Close did not wake it")
	}
	_, err = x.Next(nil, time.Minute)
	refused(t, err, device.ErrUnplugged)
	must(t, x.Close())
}
