// Package contract tests that a board keeps the promises of package device. The
// simulated and the real board run the same tests, on whatever lines and buses
// the machine has for it:
//
//	contract.GPIO(t, board, contract.GPIOWiring{Free: "GPIO17", Tied: "GPIO27"})
//
// A test leaves every line as it found it. What a wiring leaves empty is not
// tested, and the test says so.
package contract

import (
	"errors"
	"strings"
	"testing"

	"boardhand/device"
)

// refused fails unless err is a *device.Error of a kind that names everything in
// its text and says what to do.
func refused(t *testing.T, err, kind error, names ...string) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("error %v, want one that is %q", err, kind)
		return
	}
	var e *device.Error
	if !errors.As(err, &e) {
		t.Errorf("error %v is a %T, want a *device.Error", err, err)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("error %q does not name %q", err, name)
		}
	}
	if e.Hint == "" {
		t.Errorf("error %q gives no hint", err)
	}
}

// must fails the test at once where a step that is only preparation fails.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Info tests what a board says of itself.
func Info(t *testing.T, b device.Board) {
	t.Helper()
	first := b.Info()
	for name, text := range map[string]string{"Model": first.Model, "Hostname": first.Hostname, "Kernel": first.Kernel, "Arch": first.Arch} {
		if text == "" {
			t.Errorf("%s is empty", name)
		}
	}
	if first.CPUs < 1 {
		t.Errorf("%d processors", first.CPUs)
	}
	if first.MemTotal <= 0 || first.MemFree < 0 || first.MemFree > first.MemTotal {
		t.Errorf("%d of %d bytes free", first.MemFree, first.MemTotal)
	}
	again := b.Info()
	if again.Uptime < first.Uptime || first.Uptime < 0 {
		t.Errorf("uptime %v, then %v", first.Uptime, again.Uptime)
	}
	if again.Model != first.Model || again.Simulated != first.Simulated || again.Arch != first.Arch {
		t.Errorf("%+v, then %+v", first, again)
	}
}

// Close tests that closing a board gives its lines back and ends it. Each call
// of open gives a board on the same hardware, as another process would see it.
func Close(t *testing.T, open func() device.Board, w GPIOWiring) {
	t.Run("puts every written line back", func(t *testing.T) {
		w.need(t, w.Free)
		lines := []string{w.Free}
		if w.Standing != "" {
			lines = append(lines, w.Standing)
		}
		b := open()
		before := make([]device.State, len(lines))
		for i, name := range lines {
			var err error
			before[i], err = b.GPIO().Write(name, device.High)
			must(t, err)
			_, err = b.GPIO().Write(name, 1-before[i].Level)
			must(t, err)
			_, _, err = b.GPIO().Configure(name, func(c *device.Config) error { c.Drive, c.ActiveLow = device.OpenDrain, true; return nil })
			must(t, err)
		}
		must(t, b.Close())

		b = open()
		defer b.Close()
		for i, name := range lines {
			if after := stand(t, b.GPIO(), name); after != before[i] {
				t.Errorf("%s is %+v after Close, was %+v", name, after, before[i])
			}
		}
	})
	t.Run("leaves a line as Rest says", func(t *testing.T) {
		w.need(t, w.Free)
		b := open()
		was := stand(t, b.GPIO(), w.Free)
		for _, atRest := range []device.Config{
			{Direction: device.Out, Level: device.High},
			{Direction: device.Out, Level: device.Low},
			{Direction: device.In}, // as it was
		} {
			must(t, b.GPIO().Rest(w.Free, atRest))
			if l := find(t, b.GPIO(), w.Free); l.Held {
				t.Error("Rest holds the line")
			}
			write(t, b.GPIO(), w.Free, atRest.Level^1)
			if atRest.Direction == device.Out { // said again while it is held
				must(t, b.GPIO().Rest(w.Free, atRest))
				must(t, b.GPIO().Release(w.Free))
				if now := stand(t, b.GPIO(), w.Free); now != (device.State{Direction: device.Out, Level: atRest.Level}) {
					t.Errorf("after Release it is %+v, not as %+v", now, atRest)
				}
				write(t, b.GPIO(), w.Free, atRest.Level^1)
			}
			must(t, b.Close())
			b = open()
			now := stand(t, b.GPIO(), w.Free)
			switch {
			case atRest.Direction == device.In && now != was:
				t.Errorf("%+v in the end, was %+v", now, was)
			case atRest.Direction == device.Out && now.Direction == device.In:
				t.Log("this chip makes a line an input when the last process lets it go")
			case atRest.Direction == device.Out && now.Level != atRest.Level:
				t.Errorf("after Close it is %+v, not as %+v", now, atRest)
			}
		}
		refused(t, b.GPIO().Rest("no such line", device.Config{}), device.ErrNotFound, "no such line")
		must(t, b.Close())
	})
	t.Run("frees the lines for another", func(t *testing.T) {
		w.need(t, w.Free)
		one, other := open(), open()
		defer other.Close()
		_, err := one.GPIO().Write(w.Free, device.High)
		must(t, err)
		_, err = other.GPIO().Write(w.Free, device.Low)
		refused(t, err, device.ErrBusy, w.Free)
		refused(t, other.GPIO().Read([]string{w.Free}, make([]device.Level, 1)), device.ErrBusy, w.Free)
		if l := find(t, other.GPIO(), w.Free); l.Owner == "" || l.Held {
			t.Errorf("a line that another holds is %+v", l)
		}
		must(t, other.GPIO().Release(w.Free))
		if l := find(t, one.GPIO(), w.Free); !l.Held {
			t.Errorf("another's Release took the line: %+v", l)
		}
		must(t, one.Close())
		_, err = other.GPIO().Write(w.Free, device.Low)
		if err != nil {
			t.Errorf("after the holder closed: %v", err)
		}
	})
	t.Run("may be called twice", func(t *testing.T) {
		b := open()
		must(t, b.Close())
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("ends every family", func(t *testing.T) {
		b := open()
		g, c, s := b.GPIO(), b.I2C(), b.Sensors()
		must(t, b.Close())
		if g != nil {
			_, err := g.Lines(nil)
			refused(t, err, device.ErrUnplugged)
			_, err = g.Find(w.Free)
			refused(t, err, device.ErrUnplugged)
			_, err = g.Write(w.Free, device.High)
			refused(t, err, device.ErrUnplugged)
			refused(t, g.Read([]string{w.Free}, make([]device.Level, 1)), device.ErrUnplugged)
			refused(t, g.Release(w.Free), device.ErrUnplugged)
			refused(t, g.Rest(w.Free, device.Config{}), device.ErrUnplugged)
			_, _, err = g.Configure(w.Free, func(*device.Config) error { return nil })
			refused(t, err, device.ErrUnplugged)
			_, err = g.Watch([]string{w.Free}, device.BothEdges)
			refused(t, err, device.ErrUnplugged)
		}
		if c != nil {
			_, err := c.Buses(nil)
			refused(t, err, device.ErrUnplugged)
			_, err = c.Scan(1, 0x08, 0x77, nil, device.Scanning{})
			refused(t, err, device.ErrUnplugged)
			refused(t, c.Transfer(1, 0x50, nil, make([]byte, 1)), device.ErrUnplugged)
			refused(t, c.Transact(1, []device.Message{{Addr: 0x50, Data: []byte{0}}}), device.ErrUnplugged)
		}
		if s != nil {
			_, err := s.List(nil)
			refused(t, err, device.ErrUnplugged)
			_, _, err = s.Read("cpu-thermal")
			refused(t, err, device.ErrUnplugged)
			s.Begin([]string{"cpu-thermal", "cpu-fan"}, nil)
			_, err = s.Capture([]string{"cpu-thermal"}, 1, nil)
			refused(t, err, device.ErrUnplugged)
		}
	})
}
