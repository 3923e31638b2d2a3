package contract

import (
	"sync"
	"testing"

	"boardhand/device"
)

// GPIOWiring names the lines that the tests may use. Empty: there is none.
type GPIOWiring struct {
	Free     string // an input that nobody holds and that may be driven
	Tied     string // a free input on the same wire as Free
	Standing string // an output that nobody holds, and whose level stays when it is let go
	Owned    string // a line that the kernel or another process holds
	Alias    string // another name of Free, as GPIO.Find has it
	Pulls    bool   // Free has pulls that work

	Moved string                   // a free input whose pin Move sets
	Move  func(level device.Level) // from outside
	Exact bool                     // no edge of Moved is too fast for an event
	Still string                   // a free input that does not move, to be watched
}

func (w GPIOWiring) need(t *testing.T, name string) {
	t.Helper()
	if name == "" {
		t.Skip("this board has no such line for a test")
	}
}

func find(t *testing.T, g device.GPIO, name string) device.Line {
	t.Helper()
	l, err := g.Find(name)
	must(t, err)
	return l
}

func level(t *testing.T, g device.GPIO, name string) device.Level {
	t.Helper()
	var levels [1]device.Level
	must(t, g.Read([]string{name}, levels[:]))
	return levels[0]
}

func stand(t *testing.T, g device.GPIO, name string) device.State {
	t.Helper()
	l := level(t, g, name)
	return device.State{Direction: find(t, g, name).Direction, Level: l}
}

func write(t *testing.T, g device.GPIO, name string, l device.Level) device.State {
	t.Helper()
	before, err := g.Write(name, l)
	must(t, err)
	return before
}

// GPIO tests a board's lines. It leaves the board open.
func GPIO(t *testing.T, b device.Board, w GPIOWiring) {
	g := b.GPIO()
	if g == nil {
		t.Fatal("the board has no lines")
	}
	t.Cleanup(func() {
		for _, name := range []string{w.Free, w.Tied, w.Standing} {
			if name != "" {
				g.Release(name)
			}
		}
	})
	t.Run("lines are in order and found by name", func(t *testing.T) {
		mark := device.Line{Name: "mark"}
		lines, err := g.Lines([]device.Line{mark})
		must(t, err)
		if lines[0] != mark {
			t.Error("Lines did not append")
		}
		lines = lines[1:]
		seen := map[string]bool{}
		for i, l := range lines {
			if l.Name == "" || seen[l.Name] {
				t.Errorf("line %d has the name %q, empty or for the second time", i, l.Name)
			}
			seen[l.Name] = true
			if l.Held && l.Owner != "" {
				t.Errorf("%s is held and owned by %q", l.Name, l.Owner)
			}
			if i > 0 && l.Chip == lines[i-1].Chip && l.Offset <= lines[i-1].Offset {
				t.Errorf("%s at offset %d comes after offset %d", l.Name, l.Offset, lines[i-1].Offset)
			}
			if f := find(t, g, l.Name); f.Name != l.Name || f.Chip != l.Chip || f.Offset != l.Offset {
				t.Errorf("Find(%q) is %+v, Lines has %+v", l.Name, f, l)
			}
		}
	})
	t.Run("an alias is the same line", func(t *testing.T) {
		w.need(t, w.Free)
		w.need(t, w.Alias)
		if a, l := find(t, g, w.Alias), find(t, g, w.Free); a != l {
			t.Errorf("%s is %+v, %s is %+v", w.Alias, a, w.Free, l)
		}
		defer g.Release(w.Free)
		write(t, g, w.Alias, device.High)
		if l := find(t, g, w.Free); !l.Held {
			t.Errorf("%s is not held after a write to %s", w.Free, w.Alias)
		}
	})
	t.Run("reading changes nothing", func(t *testing.T) {
		w.need(t, w.Free)
		for _, name := range []string{w.Free, w.Standing} {
			if name == "" {
				continue
			}
			before := find(t, g, name)
			one, two := level(t, g, name), level(t, g, name)
			after := find(t, g, name)
			if after.Direction != before.Direction || after.Bias != before.Bias || after.Drive != before.Drive || after.Owner != "" {
				t.Errorf("%+v before, %+v after", before, after)
			}
			if one != two {
				t.Errorf("%s read %d, then %d", name, one, two)
			}
		}
	})
	t.Run("a write makes a held output and tells the state before", func(t *testing.T) {
		w.need(t, w.Free)
		defer g.Release(w.Free)
		was := stand(t, g, w.Free)
		if was.Direction != device.In {
			t.Fatalf("%s is no input to begin with", w.Free)
		}
		if before := write(t, g, w.Free, device.High); before != was {
			t.Errorf("before is %+v, the line was %+v", before, was)
		}
		if l := find(t, g, w.Free); l.Direction != device.Out || !l.Held || l.Owner != "" {
			t.Errorf("after a write the line is %+v", l)
		}
		want := device.State{Direction: device.Out, Level: device.High}
		for _, next := range []device.Level{device.Low, device.Low, device.High} {
			if before := write(t, g, w.Free, next); before != want {
				t.Errorf("before is %+v, want %+v", before, want)
			}
			want.Level = next
		}
	})
	t.Run("a read of a held output keeps it driven", func(t *testing.T) {
		w.need(t, w.Free)
		defer g.Release(w.Free)
		for _, l := range []device.Level{device.High, device.Low} {
			write(t, g, w.Free, l)
			for range 3 {
				if got := level(t, g, w.Free); got != l {
					t.Errorf("read %d of a line written %d", got, l)
				}
			}
			if f := find(t, g, w.Free); f.Direction != device.Out || !f.Held {
				t.Errorf("after reads the line is %+v", f)
			}
		}
	})
	t.Run("a tied line sees the level", func(t *testing.T) {
		w.need(t, w.Tied)
		defer g.Release(w.Free)
		for _, l := range []device.Level{device.High, device.Low, device.High} {
			write(t, g, w.Free, l)
			if got := level(t, g, w.Tied); got != l {
				t.Errorf("%s reads %d, %s was written %d", w.Tied, got, w.Free, l)
			}
		}
		if f := find(t, g, w.Tied); f.Direction != device.In || f.Held {
			t.Errorf("the tied line is %+v", f)
		}
	})
	t.Run("release goes back to the state before the first write", func(t *testing.T) {
		w.need(t, w.Free)
		for _, name := range []string{w.Free, w.Standing} {
			if name == "" {
				continue
			}
			was := stand(t, g, name)
			write(t, g, name, 1-was.Level)
			write(t, g, name, was.Level)
			write(t, g, name, 1-was.Level)
			must(t, g.Release(name))
			if l := find(t, g, name); l.Held || l.Owner != "" {
				t.Errorf("after Release the line is %+v", l)
			}
			if now := stand(t, g, name); now != was {
				t.Errorf("%s is %+v after Release, was %+v", name, now, was)
			}
		}
	})
	t.Run("release of a line that is not held does nothing", func(t *testing.T) {
		w.need(t, w.Free)
		for _, name := range []string{w.Free, w.Standing, w.Owned} {
			if name == "" {
				continue
			}
			was := find(t, g, name)
			for range 2 {
				if err := g.Release(name); err != nil {
					t.Errorf("Release(%q): %v", name, err)
				}
			}
			if now := find(t, g, name); now != was {
				t.Errorf("%+v, was %+v", now, was)
			}
		}
	})
	t.Run("an owned line is refused and stays as it is", func(t *testing.T) {
		w.need(t, w.Owned)
		was := find(t, g, w.Owned)
		if was.Owner == "" || was.Held {
			t.Fatalf("the owned line is %+v", was)
		}
		_, err := g.Write(w.Owned, device.High)
		refused(t, err, device.ErrBusy, w.Owned, was.Owner)
		refused(t, g.Read([]string{w.Owned}, make([]device.Level, 1)), device.ErrBusy, w.Owned, was.Owner)
		if now := find(t, g, w.Owned); now != was {
			t.Errorf("%+v, was %+v", now, was)
		}
	})
	t.Run("an unknown name is not found", func(t *testing.T) {
		for _, name := range []string{"GPIO99", "gpio17", " GPIO17", "GPIO017", "GPIO-1", "no such line"} {
			_, err := g.Find(name)
			refused(t, err, device.ErrNotFound, name)
			_, err = g.Write(name, device.High)
			refused(t, err, device.ErrNotFound, name)
			refused(t, g.Read([]string{name}, make([]device.Level, 1)), device.ErrNotFound, name)
			refused(t, g.Release(name), device.ErrNotFound, name)
		}
		_, err := g.Find("")
		refused(t, err, device.ErrNotFound)
	})
	t.Run("several lines are read together or not at all", func(t *testing.T) {
		w.need(t, w.Free)
		defer g.Release(w.Free)
		write(t, g, w.Free, device.High)
		names, levels := []string{w.Free}, []device.Level{7, 7, 7}
		if w.Standing != "" {
			names = append(names, w.Standing)
		}
		must(t, g.Read(names, levels))
		for i, name := range names {
			if want := level(t, g, name); levels[i] != want {
				t.Errorf("%s is %d among several, %d alone", name, levels[i], want)
			}
		}
		bad := []string{"no such line"}
		if w.Owned != "" {
			bad = append(bad, w.Owned)
		}
		for _, name := range bad {
			levels = []device.Level{7, 7}
			if err := g.Read([]string{w.Free, name}, levels); err == nil {
				t.Errorf("%s was read", name)
			}
			if levels[0] != 7 || levels[1] != 7 {
				t.Errorf("levels are %v after an error", levels)
			}
		}
	})
	t.Run("reading and writing allocate nothing", func(t *testing.T) {
		w.need(t, w.Free)
		defer g.Release(w.Free)
		names, levels := []string{w.Free}, make([]device.Level, 1)
		must(t, g.Read(names, levels))
		if n := testing.AllocsPerRun(100, func() { g.Read(names, levels) }); n != 0 {
			t.Errorf("a read allocates %v times", n)
		}
		write(t, g, w.Free, device.Low)
		next := device.Low
		if n := testing.AllocsPerRun(100, func() { next ^= 1; g.Write(w.Free, next) }); n != 0 {
			t.Errorf("a write allocates %v times", n)
		}
		if n := testing.AllocsPerRun(100, func() { g.Read(names, levels) }); n != 0 {
			t.Errorf("a read of a held line allocates %v times", n)
		}
	})
	t.Run("many callers at once", func(t *testing.T) {
		w.need(t, w.Free)
		was := stand(t, g, w.Free)
		var wg sync.WaitGroup
		for caller := range 4 {
			wg.Go(func() {
				var levels [1]device.Level
				for i := range 50 {
					var err error
					switch (caller + i) % 4 {
					case 0:
						_, err = g.Write(w.Free, device.Level(i%2))
					case 1:
						err = g.Read([]string{w.Free}, levels[:])
					case 2:
						err = g.Release(w.Free)
					case 3:
						_, err = g.Find(w.Free)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		must(t, g.Release(w.Free))
		if now := stand(t, g, w.Free); now != was {
			t.Errorf("%+v in the end, was %+v", now, was)
		}
	})
}
