//go:build linux

package linux

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// pwm is the PWM chips: Documentation/ABI/testing/sysfs-class-pwm.
type pwm struct {
	roots roots
	holds holds[pwmBefore]
}

// pwmBefore is how a channel was before it was set.
type pwmBefore struct {
	device.PWMState
	exported bool // it was open to users already
}

func (p *pwm) class() string { return filepath.Join(p.roots.sys, "class/pwm") }

// pwmAt is one channel of a chip.
type pwmAt struct {
	chip   string // "pwmchip0"
	number int
	device string // the chip's parent
}

func (a pwmAt) name() string { return a.chip + "/" + strconv.Itoa(a.number) }

// maxPWM bounds the channels of one chip that are looked at; the largest have 32.
const maxPWM = 64

// where is all channels, in order.
func (p *pwm) where() []pwmAt {
	var all []pwmAt
	for _, n := range numbered(p.class(), "pwmchip") {
		chip := "pwmchip" + strconv.Itoa(n)
		parent := word(linkBase(p.class(), chip, "device"))
		for i := range min(int(whole(p.class(), chip, "npwm")), maxPWM) {
			all = append(all, pwmAt{chip, i, parent})
		}
	}
	return all
}

func (p *pwm) find(name string) (pwmAt, error) {
	if p.holds.closed.Load() {
		return pwmAt{}, errClosed("pwm")
	}
	all := p.where()
	for _, at := range all {
		if name == at.name() || at.device != "" && name == at.device+"/"+strconv.Itoa(at.number) {
			return at, nil
		}
	}
	e := &device.Error{Subject: fmt.Sprintf("PWM channel %.64q", name), Kind: device.ErrNotFound, Hint: "the board has no PWM any more"}
	if len(all) > 0 {
		names := make([]string, len(all))
		for i := range names {
			names[i] = all[i].name()
		}
		e.Hint = "the board has " + listed(names, 16)
	}
	return pwmAt{}, e
}

// dir is the channel's folder, which is there while it is exported.
func (p *pwm) dir(at pwmAt) string {
	return filepath.Join(p.class(), at.chip, "pwm"+strconv.Itoa(at.number))
}

// state is how an exported channel stands.
func (p *pwm) state(at pwmAt) (device.PWMState, error) {
	dir := p.dir(at)
	text, err := readText(32, dir, "period")
	if err != nil {
		return device.PWMState{}, explain(at.name(), err, pwmMeanings)
	}
	period, _ := strconv.ParseInt(text, 10, 64)
	polarity, _ := readText(16, dir, "polarity")
	return device.PWMState{
		Period:   time.Duration(period),
		Duty:     time.Duration(whole(dir, "duty_cycle")),
		Enabled:  whole(dir, "enable") != 0,
		Inverted: polarity == "inversed",
	}, nil
}

func (p *pwm) describe(at pwmAt) device.PWMChannel {
	c := device.PWMChannel{Name: at.name(), Device: at.device, Held: p.holds.held(at.name())}
	var err error
	c.PWMState, err = p.state(at)
	c.Known = err == nil
	return c
}

// Channels implements device.PWM.
func (p *pwm) Channels(dst []device.PWMChannel) ([]device.PWMChannel, error) {
	if p.holds.closed.Load() {
		return dst, errClosed("pwm")
	}
	for _, at := range p.where() {
		dst = append(dst, p.describe(at))
	}
	return dst, nil
}

// Find implements device.PWM.
func (p *pwm) Find(name string) (device.PWMChannel, error) {
	at, err := p.find(name)
	if err != nil {
		return device.PWMChannel{}, err
	}
	return p.describe(at), nil
}

// pwmMeanings is where a channel's errors differ from the general ones.
var pwmMeanings = []meaning{
	{unix.EBUSY, device.ErrBusy, "in use by a kernel driver, such as that of a fan or a backlight", "use what the driver offers, or take it out of the device tree"},
	{unix.EINVAL, device.ErrNotSupport, "the chip cannot do this", "another period or polarity may do"},
	{unix.ERANGE, device.ErrNotSupport, "the chip cannot do this period", "try a shorter one"},
	{unix.ENOENT, device.ErrUnplugged, "the channel is gone", "board_info shows what is there"},
	{unix.EIO, nil, "the chip does not answer", "check its wiring and power"},
}

// Set implements device.PWM.
func (p *pwm) Set(name string, change func(device.PWMState) (device.PWMState, error)) (before, after device.PWMState, err error) {
	at, err := p.find(name)
	if err != nil {
		return before, after, err
	}
	x := p.holds.of(at.name())
	x.mu.Lock()
	defer x.mu.Unlock()
	if p.holds.closed.Load() {
		return before, after, errClosed(at.name())
	}
	fresh, err := p.export(at)
	if err != nil {
		return before, after, err
	}
	defer x.unlock()
	if err = x.reserve(p.roots, at.name(), p.dir(at), pwmMeanings); err == nil {
		before, err = p.state(at)
	}
	var want device.PWMState
	if err == nil {
		want, err = change(before)
	}
	if err == nil {
		if err = p.apply(at, before, want, fresh); err == nil {
			after, err = p.state(at)
		}
		if err != nil {
			p.back(at, before)
		}
	}
	if err != nil {
		if fresh {
			p.unexport(at)
		}
		return before, after, err
	}
	x.take(pwmBefore{before, !fresh})
	return before, after, nil
}

// export opens a channel to users, and says whether it was closed before.
func (p *pwm) export(at pwmAt) (fresh bool, err error) {
	if unix.Access(p.dir(at), unix.F_OK) == nil {
		return false, nil
	}
	err = put(p.roots, at.name(), filepath.Join(p.class(), at.chip, "export"), strconv.Itoa(at.number), false, pwmMeanings)
	if err != nil {
		return false, err
	}
	// On some kernels the folder comes a little later.
	for end := time.Now().Add(attributeWait); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if unix.Access(filepath.Join(p.dir(at), "period"), unix.F_OK) == nil {
			break
		}
	}
	return true, nil
}

func (p *pwm) unexport(at pwmAt) error {
	return put(p.roots, at.name(), filepath.Join(p.class(), at.chip, "unexport"), strconv.Itoa(at.number), false, pwmMeanings)
}

// pwmStep is one write to a channel's attribute.
type pwmStep struct{ attribute, value string }

// pwmSteps is what brings a channel from now to want, in an order of which the
// kernel takes every step: a duty never exceeds its period, and a polarity
// changes with a period set and the output off.
func pwmSteps(now, want device.PWMState) []pwmStep {
	var steps []pwmStep
	add := func(attribute string, n int64) {
		steps = append(steps, pwmStep{attribute, strconv.FormatInt(n, 10)})
	}
	flips := want.Inverted != now.Inverted
	if now.Enabled && (flips || !want.Enabled) {
		add("enable", 0)
	}
	dutyFirst := want.Period < now.Duty
	if dutyFirst {
		add("duty_cycle", int64(want.Duty))
	}
	if want.Period != now.Period {
		add("period", int64(want.Period))
	}
	if !dutyFirst && want.Duty != now.Duty {
		add("duty_cycle", int64(want.Duty))
	}
	if flips && want.Inverted {
		steps = append(steps, pwmStep{"polarity", "inversed"})
	} else if flips {
		steps = append(steps, pwmStep{"polarity", "normal"})
	}
	if want.Enabled && (flips || !now.Enabled) {
		add("enable", 1)
	}
	return steps
}

func (p *pwm) apply(at pwmAt, now, want device.PWMState, fresh bool) error {
	for _, s := range pwmSteps(now, want) {
		if err := put(p.roots, at.name(), filepath.Join(p.dir(at), s.attribute), s.value, fresh, pwmMeanings); err != nil {
			return err
		}
	}
	return nil
}

// back brings a channel back to how it was. A period cannot be taken away again:
// then it is only switched off.
func (p *pwm) back(at pwmAt, before device.PWMState) error {
	now, err := p.state(at)
	if err != nil {
		return err
	}
	if before.Period == 0 {
		before = device.PWMState{Period: now.Period, Inverted: now.Inverted}
	}
	return p.apply(at, now, before, false)
}

// release gives a channel up, with its hold's mu held, even where it could not be
// put back.
func (p *pwm) release(at pwmAt, x *hold[pwmBefore]) error {
	if !x.set {
		return nil
	}
	x.set = false
	defer x.unlock()
	err := p.back(at, x.first.PWMState)
	if !x.first.exported {
		err = errors.Join(err, p.unexport(at))
	}
	return err
}

// Release implements device.PWM.
func (p *pwm) Release(name string) error {
	at, err := p.find(name)
	if err != nil {
		return err
	}
	x := p.holds.of(at.name())
	x.mu.Lock()
	defer x.mu.Unlock()
	return p.release(at, x)
}

// Rest implements device.PWM.
func (p *pwm) Rest(name string, s device.PWMState) error {
	at, err := p.find(name)
	if err != nil {
		return err
	}
	x := p.holds.of(at.name())
	x.mu.Lock()
	defer x.mu.Unlock()
	x.leave(pwmBefore{s, true}) // a channel that is given back may stop
	return nil
}

func (p *pwm) close() error {
	return p.holds.close("pwm", func(name string, x *hold[pwmBefore]) error {
		chip, number, _ := strings.Cut(name, "/")
		n, _ := strconv.Atoi(number)
		return p.release(pwmAt{chip: chip, number: n}, x)
	})
}
