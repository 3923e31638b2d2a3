package contract

import (
	"errors"
	"testing"
	"time"

	"boardhand/device"
)

// PWM tests a board's PWM on the channel called name. Each call of open gives a
// board on the same hardware, as another process would see it.
func PWM(t *testing.T, open func() device.Board, name string) {
	b := open()
	defer b.Close()
	p := b.PWM()
	if p == nil {
		t.Fatal("the board has no PWM")
	}
	find := func(t *testing.T) device.PWMChannel {
		t.Helper()
		c, err := p.Find(name)
		must(t, err)
		return c
	}
	set := func(t *testing.T, want device.PWMState) device.PWMState {
		t.Helper()
		_, after, err := p.Set(name, func(device.PWMState) (device.PWMState, error) { return want, nil })
		must(t, err)
		return after
	}
	near := func(a, b device.PWMState) bool {
		const grain = 10 * time.Microsecond
		return (a.Period-b.Period).Abs() < grain && (a.Duty-b.Duty).Abs() < grain && a.Enabled == b.Enabled && a.Inverted == b.Inverted
	}
	const ms = time.Millisecond

	t.Run("channels are named once", func(t *testing.T) {
		all, err := p.Channels([]device.PWMChannel{{}})
		must(t, err)
		seen := map[string]bool{}
		for _, c := range all[1:] {
			if c.Name == "" || seen[c.Name] {
				t.Errorf("%+v has no name or one for the second time", c)
			}
			seen[c.Name] = true
		}
		if !seen[name] {
			t.Errorf("%s is not among %+v", name, all)
		}
	})
	t.Run("a channel has its chip's other name too", func(t *testing.T) {
		c := find(t)
		if c.Device == "" {
			t.Skip("the chip has no device")
		}
		other, err := p.Find(c.Device + c.Name[len("pwmchip0"):])
		must(t, err)
		if other.Name != c.Name {
			t.Errorf("it finds %+v", other)
		}
	})
	t.Run("an unknown name is not found", func(t *testing.T) {
		for _, unknown := range []string{"pwmchip99/0", "pwmchip0/99", "pwmchip0", "", "../0"} {
			_, err := p.Find(unknown)
			refused(t, err, device.ErrNotFound, unknown)
			refused(t, p.Release(unknown), device.ErrNotFound, unknown)
			_, _, err = p.Set(unknown, func(s device.PWMState) (device.PWMState, error) { return s, nil })
			refused(t, err, device.ErrNotFound, unknown)
		}
	})
	t.Run("every change is taken", func(t *testing.T) {
		defer p.Release(name)
		for _, want := range []device.PWMState{
			{Period: 20 * ms, Duty: 15 * ms, Enabled: true},
			{Period: 10 * ms, Duty: 5 * ms, Enabled: true}, // below the duty before
			{Period: 20 * ms, Duty: 15 * ms, Enabled: true},
			{Period: 20 * ms, Duty: 0, Enabled: true},
			{Period: 20 * ms, Duty: 20 * ms, Enabled: true},
			{Period: 5 * ms, Duty: 5 * ms, Enabled: false},
			{Period: 40 * ms, Duty: 10 * ms, Enabled: true},
		} {
			if after := set(t, want); !near(after, want) {
				t.Errorf("set to %+v, it is %+v", want, after)
			}
			if c := find(t); !near(c.PWMState, want) || !c.Known || !c.Held {
				t.Errorf("set to %+v, it is found as %+v", want, c)
			}
		}
	})
	t.Run("polarity turns while it runs, where the chip can", func(t *testing.T) {
		defer p.Release(name)
		want := device.PWMState{Period: 10 * ms, Duty: 2 * ms, Enabled: true}
		set(t, want)
		want.Inverted = true
		before, after, err := p.Set(name, func(device.PWMState) (device.PWMState, error) { return want, nil })
		if errors.Is(err, device.ErrNotSupport) {
			want.Inverted = false
			if c := find(t); !near(c.PWMState, want) {
				t.Errorf("after it was refused the channel is %+v", c)
			}
			t.Skip(err)
		}
		must(t, err)
		if before.Inverted || !near(after, want) {
			t.Errorf("%+v, then %+v", before, after)
		}
	})
	t.Run("what is refused changes nothing", func(t *testing.T) {
		was := find(t)
		no := errors.New("no")
		if _, _, err := p.Set(name, func(s device.PWMState) (device.PWMState, error) { return s, no }); err != no {
			t.Errorf("error %v, want the function's own", err)
		}
		if now := find(t); now != was {
			t.Errorf("%+v, was %+v", now, was)
		}
		want := device.PWMState{Period: 10 * ms, Duty: 2 * ms, Enabled: true}
		set(t, want)
		defer p.Release(name)
		_, _, err := p.Set(name, func(device.PWMState) (device.PWMState, error) {
			return device.PWMState{Period: 10 * ms, Duty: 11 * ms, Enabled: true}, nil
		})
		refused(t, err, device.ErrNotSupport, name)
		if c := find(t); !near(c.PWMState, want) {
			t.Errorf("%+v, was %+v", c, want)
		}
	})
	t.Run("release goes back", func(t *testing.T) {
		was := find(t)
		for range 2 {
			set(t, device.PWMState{Period: 10 * ms, Duty: 2 * ms, Enabled: true})
			set(t, device.PWMState{Period: 1 * ms, Duty: 1 * ms, Enabled: true})
			must(t, p.Release(name))
			must(t, p.Release(name))
			if now := find(t); now != was {
				t.Errorf("%+v after Release, was %+v", now, was)
			}
		}
	})
	t.Run("is left as Rest says", func(t *testing.T) {
		was := find(t)
		another := open()
		q := another.PWM()
		atRest := device.PWMState{Period: 20 * ms, Duty: 5 * ms, Enabled: true}
		must(t, q.Rest(name, atRest))
		if now := find(t); now != was {
			t.Errorf("%+v after Rest, was %+v", now, was)
		}
		for _, end := range []func() error{func() error { return q.Release(name) }, another.Close} {
			_, _, err := q.Set(name, func(device.PWMState) (device.PWMState, error) {
				return device.PWMState{Period: 10 * ms, Duty: 2 * ms, Enabled: true}, nil
			})
			must(t, err)
			must(t, end())
			if now := find(t); !near(now.PWMState, atRest) {
				t.Errorf("it is %+v, not %+v", now, atRest)
			}
		}
		refused(t, p.Rest("pwmchip99/0", atRest), device.ErrNotFound, "pwmchip99/0")
		another = open()
		must(t, another.PWM().Rest(name, was.PWMState))
		_, _, err := another.PWM().Set(name, func(s device.PWMState) (device.PWMState, error) { s.Enabled = false; return s, nil })
		must(t, err)
		must(t, another.Close())
	})
	t.Run("close goes back, and ends it", func(t *testing.T) {
		was := find(t)
		another := open()
		q := another.PWM()
		_, _, err := q.Set(name, func(device.PWMState) (device.PWMState, error) {
			return device.PWMState{Period: 10 * ms, Duty: 2 * ms, Enabled: true}, nil
		})
		must(t, err)
		must(t, another.Close())
		must(t, another.Close())
		if now := find(t); now != was {
			t.Errorf("%+v after Close, was %+v", now, was)
		}
		_, err = q.Channels(nil)
		refused(t, err, device.ErrUnplugged)
		_, err = q.Find(name)
		refused(t, err, device.ErrUnplugged)
		_, _, err = q.Set(name, func(s device.PWMState) (device.PWMState, error) { return s, nil })
		refused(t, err, device.ErrUnplugged)
		refused(t, q.Release(name), device.ErrUnplugged)
	})
}
