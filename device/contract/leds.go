package contract

import (
	"slices"
	"testing"
	"time"

	"boardhand/device"
)

// LEDs tests a board's LEDs on the one called name, which must have the trigger
// timer. Each call of open gives a board on the same hardware, as another process
// would see it.
func LEDs(t *testing.T, open func() device.Board, name string) {
	b := open()
	defer b.Close()
	l := b.LEDs()
	if l == nil {
		t.Fatal("the board has no LEDs")
	}
	find := func(t *testing.T) device.LED {
		t.Helper()
		led, err := l.Find(name)
		must(t, err)
		return led
	}
	set := func(t *testing.T, s device.LEDSetting) device.LED {
		t.Helper()
		_, after, err := l.Set(name, s)
		must(t, err)
		return after
	}
	highest := find(t).Max

	t.Run("are listed once", func(t *testing.T) {
		names, err := l.Names(nil)
		must(t, err)
		all, err := l.List([]device.LED{{}})
		must(t, err)
		if len(all)-1 != len(names) || !slices.Contains(names, name) || !slices.IsSorted(names) {
			t.Errorf("%q and %+v", names, all)
		}
		for _, led := range all[1:] {
			if led.Trigger == "" || led.Max < 1 {
				t.Errorf("%+v", led)
			}
		}
	})
	t.Run("unknown are not found", func(t *testing.T) {
		for _, unknown := range []string{"no such LED", "", "..", name + "/"} {
			_, err := l.Find(unknown)
			refused(t, err, device.ErrNotFound, unknown)
			_, err = l.Triggers(unknown, nil)
			refused(t, err, device.ErrNotFound, unknown)
			_, _, err = l.Set(unknown, device.LEDSetting{})
			refused(t, err, device.ErrNotFound, unknown)
			refused(t, l.Release(unknown), device.ErrNotFound, unknown)
		}
	})
	t.Run("shine steadily", func(t *testing.T) {
		defer l.Release(name)
		for _, brightness := range []int{highest, 0, highest} {
			if led := set(t, device.LEDSetting{Brightness: brightness}); led.Brightness != brightness || led.Trigger != "none" || !led.Held {
				t.Errorf("set to %d, it is %+v", brightness, led)
			}
			if led := find(t); led.Brightness != brightness || !led.Held {
				t.Errorf("set to %d, it is found as %+v", brightness, led)
			}
		}
	})
	t.Run("blink", func(t *testing.T) {
		defer l.Release(name)
		triggers, err := l.Triggers(name, nil)
		must(t, err)
		if !slices.Contains(triggers, "timer") {
			t.Skipf("no timer among %q", triggers)
		}
		for _, s := range []device.LEDSetting{
			{Trigger: "timer"},
			{Trigger: "timer", On: 20 * time.Millisecond, Off: 30 * time.Millisecond},
			{Trigger: "timer", On: time.Second, Off: time.Millisecond},
		} {
			if led := set(t, s); led.Trigger != "timer" {
				t.Errorf("%+v", led)
			}
		}
	})
	t.Run("what cannot be is refused and changes nothing", func(t *testing.T) {
		defer l.Release(name)
		set(t, device.LEDSetting{Brightness: highest})
		was := find(t)
		_, _, err := l.Set(name, device.LEDSetting{Trigger: "no such trigger"})
		refused(t, err, device.ErrNotFound, name, "no such trigger", "timer")
		for _, s := range []device.LEDSetting{
			{Brightness: highest + 1}, {Brightness: -1}, {On: time.Second, Off: time.Second},
			{Trigger: "timer", On: time.Second}, {Trigger: "timer", On: 2 * device.MaxLEDTime, Off: time.Second},
		} {
			_, _, err := l.Set(name, s)
			refused(t, err, device.ErrNotSupport, name)
		}
		if now := find(t); now != was {
			t.Errorf("%+v, was %+v", now, was)
		}
	})
	// What a trigger makes of the brightness is its own.
	same := func(a, b device.LED) bool {
		return a.Trigger == b.Trigger && a.Held == b.Held && (a.Brightness == b.Brightness || a.Trigger != "none")
	}
	t.Run("release goes back", func(t *testing.T) {
		was := find(t)
		for _, s := range []device.LEDSetting{{Brightness: highest}, {Brightness: 0}, {Trigger: "timer"}} {
			set(t, s)
			set(t, device.LEDSetting{Brightness: highest})
			must(t, l.Release(name))
			must(t, l.Release(name))
			if now := find(t); !same(now, was) {
				t.Errorf("%+v after Release, was %+v", now, was)
			}
		}
	})
	t.Run("close goes back, and ends them", func(t *testing.T) {
		was := find(t)
		another := open()
		m := another.LEDs()
		_, _, err := m.Set(name, device.LEDSetting{Trigger: "timer", On: time.Second, Off: time.Second})
		must(t, err)
		must(t, another.Close())
		must(t, another.Close())
		if now := find(t); !same(now, was) {
			t.Errorf("%+v after Close, was %+v", now, was)
		}
		_, err = m.Names(nil)
		refused(t, err, device.ErrUnplugged)
		_, err = m.List(nil)
		refused(t, err, device.ErrUnplugged)
		_, _, err = m.Set(name, device.LEDSetting{})
		refused(t, err, device.ErrUnplugged)
		refused(t, m.Release(name), device.ErrUnplugged)
	})
}
