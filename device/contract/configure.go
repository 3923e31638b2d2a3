package contract

import (
	"errors"
	"testing"
	"time"

	"boardhand/device"
)

// Configure tests how lines are set up. A board that has no pulls, as an emulated
// one, has w.Pulls false.
func Configure(t *testing.T, b device.Board, w GPIOWiring) {
	g := b.GPIO()
	w.need(t, w.Free)
	t.Cleanup(func() { g.Release(w.Free) })
	configure := func(t *testing.T, change func(*device.Config)) (before, after device.Config) {
		t.Helper()
		before, after, err := g.Configure(w.Free, func(c *device.Config) error { change(c); return nil })
		must(t, err)
		l := find(t, g, w.Free)
		shown := device.Config{Direction: l.Direction, Level: after.Level, ActiveLow: l.ActiveLow, Bias: l.Bias, Drive: l.Drive, Debounce: l.Debounce}
		if shown != after || !l.Held {
			t.Errorf("Configure says %+v, Find says %+v", after, l)
		}
		return before, after
	}
	t.Run("what is set is shown, and undone by a release", func(t *testing.T) {
		was := find(t, g, w.Free)
		for _, want := range []device.Config{
			{Direction: device.Out, Level: device.High},
			{Direction: device.Out, Level: device.Low, Drive: device.OpenDrain},
			{Direction: device.In, ActiveLow: true},
			{Direction: device.In, Debounce: 5 * time.Millisecond},
			{Direction: device.Out, Level: device.High, ActiveLow: true},
		} {
			_, after := configure(t, func(c *device.Config) { *c = want })
			if want.Direction == device.In {
				after.Level = 0
			}
			if after != want {
				t.Errorf("set up %+v, got %+v", want, after)
			}
		}
		must(t, g.Release(w.Free))
		if now := find(t, g, w.Free); now != was {
			t.Errorf("after Release %+v, was %+v", now, was)
		}
	})
	t.Run("before is what was set up before", func(t *testing.T) {
		defer g.Release(w.Free)
		first, _ := configure(t, func(c *device.Config) { c.Direction, c.Level, c.Drive = device.Out, device.High, device.OpenDrain })
		if first.Direction != device.In || first.Drive != device.PushPull {
			t.Errorf("before is %+v", first)
		}
		before, after := configure(t, func(c *device.Config) { c.Drive = device.PushPull })
		if want := (device.Config{Direction: device.Out, Level: device.High, Drive: device.OpenDrain}); before != want {
			t.Errorf("before is %+v, want %+v", before, want)
		}
		if want := (device.Config{Direction: device.Out, Level: device.High}); after != want {
			t.Errorf("after is %+v, want %+v", after, want)
		}
	})
	t.Run("a pull is seen", func(t *testing.T) {
		if !w.Pulls {
			t.Skip("this board has no pulls")
		}
		defer g.Release(w.Free)
		for bias, want := range map[device.Bias]device.Level{device.BiasUp: device.High, device.BiasDown: device.Low} {
			if _, after := configure(t, func(c *device.Config) { c.Direction, c.Bias = device.In, bias }); after.Level != want || after.Bias != bias {
				t.Errorf("bias %d gives %+v", bias, after)
			}
			if got := level(t, g, w.Free); got != want {
				t.Errorf("bias %d reads %d", bias, got)
			}
		}
	})
	t.Run("active low turns levels round", func(t *testing.T) {
		defer g.Release(w.Free)
		configure(t, func(c *device.Config) { c.Direction, c.Level, c.ActiveLow = device.Out, device.High, true })
		for _, l := range []device.Level{device.High, device.Low, device.High} {
			write(t, g, w.Free, l)
			if got := level(t, g, w.Free); got != l {
				t.Errorf("read %d, was written %d", got, l)
			}
			if w.Tied != "" {
				if got := level(t, g, w.Tied); got != 1-l {
					t.Errorf("the tied line reads %d, %d was written active low", got, l)
				}
			}
		}
		if f := find(t, g, w.Free); !f.ActiveLow || f.Direction != device.Out {
			t.Errorf("after writes %+v", f)
		}
	})
	t.Run("a write keeps what else was configured", func(t *testing.T) {
		defer g.Release(w.Free)
		configure(t, func(c *device.Config) { c.Direction, c.ActiveLow = device.In, true })
		write(t, g, w.Free, device.High)
		if f := find(t, g, w.Free); !f.ActiveLow || f.Direction != device.Out {
			t.Errorf("%+v", f)
		}
	})
	t.Run("a change that fails changes nothing", func(t *testing.T) {
		was := find(t, g, w.Free)
		mine := errors.New("mine")
		if _, _, err := g.Configure(w.Free, func(c *device.Config) error { c.Direction = device.Out; return mine }); err != mine {
			t.Errorf("error %v", err)
		}
		_, _, err := g.Configure(w.Free, func(c *device.Config) error { c.Debounce = device.MaxDebounce + 1; return nil })
		refused(t, err, device.ErrNotSupport, w.Free)
		if now := find(t, g, w.Free); now != was {
			t.Errorf("%+v, was %+v", now, was)
		}
	})
	t.Run("an owned or unknown line is refused", func(t *testing.T) {
		never := func(*device.Config) error { t.Error("was asked"); return nil }
		if w.Owned != "" {
			_, _, err := g.Configure(w.Owned, never)
			refused(t, err, device.ErrBusy, w.Owned)
		}
		_, _, err := g.Configure("no such line", never)
		refused(t, err, device.ErrNotFound, "no such line")
	})
}
