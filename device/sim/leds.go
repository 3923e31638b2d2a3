package sim

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"boardhand/device"
)

// ledPins is the board's LEDs, by name.
type ledPins struct {
	now func() time.Time
	mu  sync.Mutex
	all []ledState
}

// ledState is one LED and what drives it.
type ledState struct {
	name       string
	max        int
	trigger    string
	brightness int           // where nothing drives it
	on, off    time.Duration // of the trigger timer
}

const noTrigger = "none"

// ledTriggers are those of the board's kernel.
var ledTriggers = []string{noTrigger, "kbd-capslock", "timer", "oneshot", "heartbeat", "cpu", "default-on", "panic", "mmc0"}

func newLEDs(now func() time.Time) *ledPins {
	return &ledPins{now: now, all: []ledState{
		{name: "ACT", max: 1, trigger: "mmc0"},
		{name: "PWR", max: 255, trigger: "default-on"},
	}}
}

// leds is one board's access to the LEDs.
type leds struct {
	pins *ledPins

	// Under the pins' mu:
	closed bool
	first  map[string]ledState // how a held LED was
	rests  map[string]ledState // how an LED is left, where that was said
}

// shines is the brightness at a time. The card is idle, and so is the processor.
func (l *ledState) shines(now time.Time) int {
	since := func(period time.Duration) time.Duration { return time.Duration(now.UnixNano()) % period }
	lit := false
	switch l.trigger {
	case noTrigger:
		return l.brightness
	case "default-on":
		lit = true
	case "timer":
		lit = since(l.on+l.off) < l.on
	case "heartbeat":
		t := since(1260 * time.Millisecond)
		lit = t < 70*time.Millisecond || t >= 280*time.Millisecond && t < 350*time.Millisecond
	}
	if lit {
		return l.max
	}
	return 0
}

func (l *leds) describe(s *ledState) device.LED {
	_, held := l.first[s.name]
	return device.LED{Name: s.name, Brightness: s.shines(l.pins.now()), Max: s.max, Trigger: s.trigger, Held: held}
}

// find takes the mu of the pins, also where it fails.
func (l *leds) find(name string) (*ledState, error) {
	l.pins.mu.Lock()
	if l.closed {
		return nil, errClosed()
	}
	i := slices.IndexFunc(l.pins.all, func(s ledState) bool { return s.name == name })
	if i < 0 {
		return nil, &device.Error{Subject: fmt.Sprintf("LED %.64q", name), Kind: device.ErrNotFound, Hint: "the board has ACT, PWR"}
	}
	return &l.pins.all[i], nil
}

// Names appends the two names.
func (l *leds) Names(dst []string) ([]string, error) {
	l.pins.mu.Lock()
	defer l.pins.mu.Unlock()
	if l.closed {
		return dst, errClosed()
	}
	for i := range l.pins.all {
		dst = append(dst, l.pins.all[i].name)
	}
	return dst, nil
}

// List appends the two LEDs.
func (l *leds) List(dst []device.LED) ([]device.LED, error) {
	l.pins.mu.Lock()
	defer l.pins.mu.Unlock()
	if l.closed {
		return dst, errClosed()
	}
	for i := range l.pins.all {
		dst = append(dst, l.describe(&l.pins.all[i]))
	}
	return dst, nil
}

// Find describes one LED.
func (l *leds) Find(name string) (device.LED, error) {
	s, err := l.find(name)
	defer l.pins.mu.Unlock()
	if err != nil {
		return device.LED{}, err
	}
	return l.describe(s), nil
}

// Triggers appends what every LED can have.
func (l *leds) Triggers(name string, dst []string) ([]string, error) {
	_, err := l.find(name)
	defer l.pins.mu.Unlock()
	if err != nil {
		return dst, err
	}
	return append(dst, ledTriggers...), nil
}

// Set sets an LED at once.
func (l *leds) Set(name string, s device.LEDSetting) (before, after device.LED, err error) {
	state, err := l.find(name)
	defer l.pins.mu.Unlock()
	if err != nil {
		return before, after, err
	}
	before = l.describe(state)
	if err := s.Check(before, ledTriggers); err != nil {
		return before, after, err
	}
	if _, held := l.first[name]; !held {
		if l.first == nil {
			l.first = make(map[string]ledState)
		}
		l.first[name] = *state
		if rest, ok := l.rests[name]; ok {
			l.first[name] = rest
		}
	}
	state.set(s)
	return before, l.describe(state), nil
}

// set makes the LED be as s, which was checked, says.
func (l *ledState) set(s device.LEDSetting) {
	if s.Trigger == "" {
		s.Trigger = noTrigger
	}
	if l.trigger != s.Trigger && s.On == 0 {
		s.On, s.Off = 500*time.Millisecond, 500*time.Millisecond
	}
	if s.On > 0 {
		l.on, l.off = s.On, s.Off
	}
	l.trigger, l.brightness = s.Trigger, s.Brightness
}

// Rest says how an LED is left.
func (l *leds) Rest(name string, s device.LEDSetting) error {
	state, err := l.find(name)
	defer l.pins.mu.Unlock()
	if err != nil {
		return err
	}
	if err := s.Check(l.describe(state), ledTriggers); err != nil {
		return err
	}
	rest := *state
	rest.set(s)
	if l.rests == nil {
		l.rests = make(map[string]ledState)
	}
	l.rests[name] = rest
	if _, held := l.first[name]; held {
		l.first[name] = rest
	}
	return nil
}

// Release gives an LED back.
func (l *leds) Release(name string) error {
	s, err := l.find(name)
	defer l.pins.mu.Unlock()
	if err != nil {
		return err
	}
	l.release(s)
	return nil
}

func (l *leds) release(s *ledState) {
	if first, held := l.first[s.name]; held {
		*s = first
		delete(l.first, s.name)
	}
}

func (l *leds) close() {
	l.pins.mu.Lock()
	defer l.pins.mu.Unlock()
	l.closed = true
	for i := range l.pins.all {
		l.release(&l.pins.all[i])
	}
}
