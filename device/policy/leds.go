package policy

import (
	"fmt"
	"slices"
	"sync/atomic"

	"boardhand/device"
)

// leds shows the LEDs that are open.
type leds struct {
	naming
	inner  device.LEDs
	bound  []LED
	halted *atomic.Pointer[string] // of the board
}

func newLEDs(inner device.LEDs, r *Rules) *leds {
	return &leds{newNaming(r, "led", "LED", len(r.LEDs), AccessRead, func(i int) (*Rule, string) {
		return &r.LEDs[i].Rule, r.LEDs[i].LED
	}), inner, r.LEDs, nil}
}

// LEDs implements device.Board: it is nil where no LED is open.
func (b *Board) LEDs() device.LEDs {
	if b.leds == nil {
		return nil
	}
	return b.leds
}

// Names implements device.LEDs.
func (l *leds) Names(dst []string) ([]string, error) {
	begin := len(dst)
	dst, err := l.inner.Names(dst)
	keep := dst[:begin]
	for _, own := range dst[begin:] {
		if t, open := l.of(own); open {
			keep = append(keep, t.shown)
		}
	}
	slices.Sort(keep[begin:])
	return keep, err
}

// List implements device.LEDs.
func (l *leds) List(dst []device.LED) ([]device.LED, error) {
	begin := len(dst)
	dst, err := l.inner.List(dst)
	keep := dst[:begin]
	for _, led := range dst[begin:] {
		if t, open := l.of(led.Name); open {
			keep = append(keep, t.showLED(led))
		}
	}
	return keep, err
}

func (t *thing) showLED(led device.LED) device.LED {
	led.Name, led.Description = t.shown, t.description()
	return led
}

// Find implements device.LEDs.
func (l *leds) Find(name string) (device.LED, error) {
	t, err := l.find(name)
	if err != nil {
		return device.LED{}, err
	}
	led, err := l.inner.Find(t.own)
	return t.showLED(led), named(err, t.own, t.shown)
}

// Triggers implements device.LEDs.
func (l *leds) Triggers(name string, dst []string) ([]string, error) {
	t, err := l.find(name)
	if err != nil {
		return dst, err
	}
	dst, err = l.inner.Triggers(t.own, dst)
	return dst, named(err, t.own, t.shown)
}

// Set implements device.LEDs.
func (l *leds) Set(name string, s device.LEDSetting) (before, after device.LED, err error) {
	t, err := l.writable(name)
	if err != nil {
		return before, after, err
	}
	if t.rule != nil && l.bound[t.index].MaxBrightness != nil {
		most := *l.bound[t.index].MaxBrightness
		subject, hint := l.subject(t.shown), fmt.Sprintf("0 to %d are allowed", most)
		switch {
		case s.Trigger != "":
			return before, after, l.rules.refusal(t.at(), subject, "a trigger would light it fully, and max_brightness bounds it", hint)
		case s.Brightness > most:
			return before, after, l.rules.refusal(t.at(), subject, fmt.Sprintf("a brightness of %d is above max_brightness", s.Brightness), hint)
		}
	}
	if t.rule != nil && l.bound[t.index].Safe != nil {
		if err := l.rules.mayLeaveRest(l.halted, t.at(), l.subject(t.shown)); err != nil {
			return before, after, err
		}
		if err := l.inner.Rest(t.own, device.LEDSetting{Brightness: *l.bound[t.index].Safe}); err != nil {
			return before, after, named(err, t.own, t.shown)
		}
	}
	before, after, err = l.inner.Set(t.own, s)
	if t.rule != nil && l.bound[t.index].Safe != nil {
		if halted := l.rules.mayLeaveRest(l.halted, t.at(), l.subject(t.shown)); halted != nil { // meanwhile
			_, _, _ = l.inner.Set(t.own, device.LEDSetting{Brightness: *l.bound[t.index].Safe})
			return before, after, halted
		}
	}
	return t.showLED(before), t.showLED(after), named(err, t.own, t.shown)
}

// Release implements device.LEDs. One that may only be read is never held.
func (l *leds) Release(name string) error {
	t, err := l.find(name)
	if err != nil || t.access != AccessWrite {
		return err
	}
	return named(l.inner.Release(t.own), t.own, t.shown)
}

// Rest implements device.LEDs.
func (l *leds) Rest(name string, s device.LEDSetting) error {
	t, err := l.writable(name)
	if err != nil {
		return err
	}
	return named(l.inner.Rest(t.own, s), t.own, t.shown)
}
