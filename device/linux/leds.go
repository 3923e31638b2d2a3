//go:build linux

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// leds is the LEDs: Documentation/leds/leds-class.rst.
type leds struct {
	roots roots
	holds holds[ledBefore]
}

// ledBefore is how an LED was before it was set. The settings of its trigger are
// gone with the trigger, so they are kept here.
type ledBefore struct {
	trigger    string
	brightness int64
	settings   []ledSetting
}

type ledSetting struct{ attribute, value string }

// maxLEDs bounds what is looked at.
const maxLEDs = 256

// noTrigger is what the kernel calls a steady LED.
const noTrigger = "none"

func (l *leds) class() string                      { return filepath.Join(l.roots.sys, "class/leds") }
func (l *leds) path(name, attribute string) string { return filepath.Join(l.class(), name, attribute) }

// names is all LEDs whose names can be printed.
func (l *leds) names() []string {
	names := slices.DeleteFunc(entries(l.class()), func(n string) bool { return word(n) != n })
	return names[:min(len(names), maxLEDs)]
}

func (l *leds) check(name string) error {
	if l.holds.closed.Load() {
		return errClosed("leds")
	}
	names := l.names()
	if slices.Contains(names, name) {
		return nil
	}
	e := &device.Error{Subject: fmt.Sprintf("LED %.64q", name), Kind: device.ErrNotFound, Hint: "the board has no LED any more"}
	if len(names) > 0 {
		e.Hint = "the board has " + listed(names, 16)
	}
	return e
}

// triggers is what the LED can have, and which it has: "[none] mmc0 timer".
func (l *leds) triggers(name string) (all []string, now string) {
	text, _ := readText(1<<16, l.path(name, "trigger"))
	for t := range strings.FieldsSeq(text) {
		if inner, ok := strings.CutPrefix(t, "["); ok {
			t = strings.TrimSuffix(inner, "]")
			now = t
		}
		if t = word(t); t != "" {
			all = append(all, t)
		}
	}
	if now == "" {
		now = noTrigger // the kernel has no triggers
	}
	return all, now
}

func (l *leds) describe(name string) device.LED {
	_, trigger := l.triggers(name)
	return device.LED{
		Name:       name,
		Brightness: int(whole(l.path(name, "brightness"))),
		Max:        int(whole(l.path(name, "max_brightness"))),
		Trigger:    trigger,
	}
}

// Names implements device.LEDs.
func (l *leds) Names(dst []string) ([]string, error) {
	if l.holds.closed.Load() {
		return dst, errClosed("leds")
	}
	return append(dst, l.names()...), nil
}

// List implements device.LEDs.
func (l *leds) List(dst []device.LED) ([]device.LED, error) {
	if l.holds.closed.Load() {
		return dst, errClosed("leds")
	}
	for _, name := range l.names() {
		led := l.describe(name)
		led.Held = l.holds.held(name)
		dst = append(dst, led)
	}
	return dst, nil
}

// Find implements device.LEDs.
func (l *leds) Find(name string) (device.LED, error) {
	if err := l.check(name); err != nil {
		return device.LED{}, err
	}
	led := l.describe(name)
	led.Held = l.holds.held(name)
	return led, nil
}

// Triggers implements device.LEDs.
func (l *leds) Triggers(name string, dst []string) ([]string, error) {
	if err := l.check(name); err != nil {
		return dst, err
	}
	all, _ := l.triggers(name)
	return append(dst, all...), nil
}

// ledMeanings is where an LED's errors differ from the general ones.
var ledMeanings = []meaning{
	{unix.EBUSY, device.ErrBusy, "in use by the kernel", ""},
	{unix.EINVAL, device.ErrNotSupport, "the LED cannot do this", "its triggers and its highest brightness say what it can"},
	{unix.ENOENT, device.ErrUnplugged, "the LED is gone", "board_info shows what is there"},
}

// Set implements device.LEDs.
func (l *leds) Set(name string, s device.LEDSetting) (before, after device.LED, err error) {
	if err := l.check(name); err != nil {
		return before, after, err
	}
	x := l.holds.of(name)
	x.mu.Lock()
	defer x.mu.Unlock()
	if l.holds.closed.Load() {
		return before, after, errClosed(fmt.Sprintf("LED %q", name))
	}
	before = l.describe(name)
	before.Held = x.set
	if err := l.allowed(before, s); err != nil {
		return before, after, err
	}
	defer x.unlock()
	if err := x.reserve(l.roots, fmt.Sprintf("LED %q", name), filepath.Join(l.class(), name), ledMeanings); err != nil {
		return before, after, err
	}
	first := l.remember(before)
	if s.Trigger != "" && s.Trigger != noTrigger {
		err = l.setTrigger(before, s)
	} else {
		err = l.setBrightness(before, s.Brightness)
	}
	if err != nil {
		l.restore(name, first)
		return before, after, err
	}
	x.take(first)
	after = l.describe(name)
	after.Held = true
	return before, after, nil
}

// allowed says why the LED cannot be set so.
func (l *leds) allowed(led device.LED, s device.LEDSetting) error {
	all, _ := l.triggers(led.Name)
	return s.Check(led, all)
}

func (l *leds) setBrightness(led device.LED, brightness int) error {
	if led.Trigger != noTrigger {
		if err := l.put(led.Name, "trigger", noTrigger, false); err != nil {
			return err
		}
	}
	return l.put(led.Name, "brightness", strconv.Itoa(brightness), false)
}

func (l *leds) setTrigger(led device.LED, s device.LEDSetting) error {
	fresh := led.Trigger != s.Trigger
	if fresh {
		if err := l.put(led.Name, "trigger", s.Trigger, false); err != nil {
			return err
		}
	}
	if s.On == 0 && s.Off == 0 {
		return nil
	}
	if err := l.put(led.Name, "delay_on", strconv.FormatInt(s.On.Milliseconds(), 10), fresh); err != nil {
		return err
	}
	return l.put(led.Name, "delay_off", strconv.FormatInt(s.Off.Milliseconds(), 10), fresh)
}

func (l *leds) put(name, attribute, value string, fresh bool) error {
	return put(l.roots, fmt.Sprintf("LED %q", name), l.path(name, attribute), value, fresh, ledMeanings)
}

// notOfTrigger is the attributes that an LED has whatever drives it.
var notOfTrigger = []string{"brightness", "brightness_hw_changed", "color", "max_brightness", "multi_index", "multi_intensity", "trigger", "uevent"}

// remember is what restore needs to know.
func (l *leds) remember(led device.LED) ledBefore {
	b := ledBefore{trigger: led.Trigger, brightness: int64(led.Brightness)}
	if led.Trigger == noTrigger {
		return b
	}
	all, _ := os.ReadDir(filepath.Join(l.class(), led.Name))
	for _, e := range all {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o200 == 0 || slices.Contains(notOfTrigger, e.Name()) || len(b.settings) == 16 {
			continue
		}
		if value, err := readText(4096, l.path(led.Name, e.Name())); err == nil && value != "" {
			b.settings = append(b.settings, ledSetting{e.Name(), value})
		}
	}
	return b
}

func (l *leds) restore(name string, b ledBefore) error {
	if b.trigger == noTrigger {
		if all, _ := l.triggers(name); len(all) > 0 {
			if err := l.put(name, "trigger", noTrigger, false); err != nil {
				return err
			}
		}
		return l.put(name, "brightness", strconv.FormatInt(b.brightness, 10), false)
	}
	if err := l.put(name, "trigger", b.trigger, false); err != nil {
		return err
	}
	for _, s := range b.settings {
		// What one trigger shows, another kernel may not take back.
		_ = l.put(name, s.attribute, s.value, true)
	}
	return nil
}

// release gives an LED up, with its hold's mu held, even where it could not be
// put back.
func (l *leds) release(name string, x *hold[ledBefore]) error {
	if !x.set {
		return nil
	}
	x.set = false
	defer x.unlock()
	return l.restore(name, x.first)
}

// Release implements device.LEDs.
func (l *leds) Release(name string) error {
	if err := l.check(name); err != nil {
		return err
	}
	x := l.holds.of(name)
	x.mu.Lock()
	defer x.mu.Unlock()
	return l.release(name, x)
}

// Rest implements device.LEDs.
func (l *leds) Rest(name string, s device.LEDSetting) error {
	if err := l.check(name); err != nil {
		return err
	}
	if err := l.allowed(l.describe(name), s); err != nil {
		return err
	}
	b := ledBefore{trigger: s.Trigger, brightness: int64(s.Brightness)}
	if b.trigger == "" {
		b.trigger = noTrigger
	}
	if s.On > 0 {
		b.settings = []ledSetting{{"delay_on", strconv.FormatInt(s.On.Milliseconds(), 10)}, {"delay_off", strconv.FormatInt(s.Off.Milliseconds(), 10)}}
	}
	x := l.holds.of(name)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leave(b)
	return nil
}

func (l *leds) close() error { return l.holds.close("leds", l.release) }
