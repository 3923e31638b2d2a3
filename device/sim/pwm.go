package sim

import (
	"fmt"
	"strconv"
	"sync"
	"time"

	"boardhand/device"
)

const (
	pwmChip   = "pwmchip0"
	pwmDevice = "3f20c000.pwm"
	// The clock of the simulated chip has 100 MHz and counts 32 bits.
	pwmGrain     = 10 * time.Nanosecond
	pwmMaxPeriod = pwmGrain * (1<<32 - 1)
)

// pwmPins is the two channels of the chip.
type pwmPins struct {
	mu       sync.Mutex
	channels [2]pwmChannel
}

type pwmChannel struct {
	device.PWMState
	exported bool
}

// pwm is one board's access to the chip.
type pwm struct {
	pins *pwmPins

	// Under the pins' mu:
	closed bool
	first  [2]pwmChannel // how a held channel was
	held   [2]bool
	rests  [2]*device.PWMState // how a channel is left, where that was said
}

func pwmName(i int) string { return pwmChip + "/" + strconv.Itoa(i) }

// find takes the mu of the pins, also where it fails.
func (p *pwm) find(name string) (int, error) {
	p.pins.mu.Lock()
	if p.closed {
		return 0, errClosed()
	}
	for i := range p.pins.channels {
		if name == pwmName(i) || name == pwmDevice+"/"+strconv.Itoa(i) {
			return i, nil
		}
	}
	return 0, &device.Error{Subject: fmt.Sprintf("PWM channel %.64q", name), Kind: device.ErrNotFound,
		Hint: "the board has " + pwmName(0) + ", " + pwmName(1)}
}

func (p *pwm) describe(i int) device.PWMChannel {
	c := device.PWMChannel{Name: pwmName(i), Device: pwmDevice, Held: p.held[i]}
	if ch := p.pins.channels[i]; ch.exported {
		c.PWMState, c.Known = ch.PWMState, true
	}
	return c
}

// Channels appends the two channels.
func (p *pwm) Channels(dst []device.PWMChannel) ([]device.PWMChannel, error) {
	p.pins.mu.Lock()
	defer p.pins.mu.Unlock()
	if p.closed {
		return dst, errClosed()
	}
	for i := range p.pins.channels {
		dst = append(dst, p.describe(i))
	}
	return dst, nil
}

// Find describes one channel.
func (p *pwm) Find(name string) (device.PWMChannel, error) {
	i, err := p.find(name)
	defer p.pins.mu.Unlock()
	if err != nil {
		return device.PWMChannel{}, err
	}
	return p.describe(i), nil
}

// Set rounds to the chip's clock, downwards as most drivers do.
func (p *pwm) Set(name string, change func(device.PWMState) (device.PWMState, error)) (before, after device.PWMState, err error) {
	i, err := p.find(name)
	defer p.pins.mu.Unlock()
	if err != nil {
		return before, after, err
	}
	ch := &p.pins.channels[i]
	before = ch.PWMState
	want, err := change(before)
	if err != nil {
		return before, after, err
	}
	if want.Period < pwmGrain || want.Period > pwmMaxPeriod || want.Duty < 0 || want.Duty > want.Period {
		return before, after, &device.Error{Subject: pwmName(i), Kind: device.ErrNotSupport, Reason: "the chip cannot do this (EINVAL)",
			Hint: "another period or polarity may do"}
	}
	if !p.held[i] {
		p.held[i], p.first[i] = true, *ch
		if p.rests[i] != nil {
			p.first[i] = pwmChannel{*p.rests[i], true}
		}
	}
	want.Period -= want.Period % pwmGrain
	want.Duty -= want.Duty % pwmGrain
	*ch = pwmChannel{want, true}
	return before, want, nil
}

// Release gives a channel back.
func (p *pwm) Release(name string) error {
	i, err := p.find(name)
	defer p.pins.mu.Unlock()
	if err != nil {
		return err
	}
	p.release(i)
	return nil
}

// Rest says how a channel is left.
func (p *pwm) Rest(name string, s device.PWMState) error {
	i, err := p.find(name)
	defer p.pins.mu.Unlock()
	if err != nil {
		return err
	}
	p.rests[i] = &s
	if p.held[i] {
		p.first[i] = pwmChannel{s, true}
	}
	return nil
}

func (p *pwm) release(i int) {
	if !p.held[i] {
		return
	}
	p.held[i] = false
	ch := &p.pins.channels[i]
	first := p.first[i]
	if first.Period == 0 {
		first.PWMState = device.PWMState{Period: ch.Period, Inverted: ch.Inverted}
	}
	*ch = first
}

func (p *pwm) close() {
	p.pins.mu.Lock()
	defer p.pins.mu.Unlock()
	p.closed = true
	for i := range p.pins.channels {
		p.release(i)
	}
}
