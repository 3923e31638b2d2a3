package policy

import (
	"fmt"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// pwm shows the channels that are open.
type pwm struct {
	naming
	inner  device.PWM
	bound  []PWM
	halted *atomic.Pointer[string] // of the board
}

func newPWM(inner device.PWM, r *Rules) *pwm {
	return &pwm{newNaming(r, "pwm", "PWM channel", len(r.PWM), AccessRead, func(i int) (*Rule, string) {
		return &r.PWM[i].Rule, r.PWM[i].Channel
	}), inner, r.PWM, nil}
}

// PWM implements device.Board: it is nil where no channel is open.
func (b *Board) PWM() device.PWM {
	if b.pwm == nil {
		return nil
	}
	return b.pwm
}

// thing is the thing of a channel: a rule may call it by either of its names.
func (p *pwm) thing(ch *device.PWMChannel) (*thing, bool) {
	if _, named := p.byOwn[ch.Name]; !named && ch.Device != "" {
		for i := range p.things {
			if own := p.things[i].own; own == ch.Device || own == ch.Device+"/"+number(ch.Name) {
				return &p.things[i], p.things[i].access != AccessNone
			}
		}
	}
	return p.of(ch.Name)
}

// number is the channel's number in "pwmchip0/1".
func number(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '/' {
			return name[i+1:]
		}
	}
	return ""
}

// Channels implements device.PWM.
func (p *pwm) Channels(dst []device.PWMChannel) ([]device.PWMChannel, error) {
	begin := len(dst)
	dst, err := p.inner.Channels(dst)
	keep := dst[:begin]
	for _, ch := range dst[begin:] {
		if t, open := p.thing(&ch); open {
			ch.Name, ch.Description = t.shown, t.description()
			keep = append(keep, ch)
		}
	}
	return keep, err
}

// resolve is the open channel called name, and the board's name of it.
func (p *pwm) resolve(name string) (*thing, device.PWMChannel, error) {
	own := name
	if t := p.byName[name]; t != nil {
		own = t.own
	}
	ch, err := p.inner.Find(own)
	if err != nil {
		if t, e := p.find(name); e != nil {
			return nil, ch, e
		} else if t.rule != nil {
			return nil, ch, named(err, own, t.shown)
		}
		return nil, ch, err
	}
	t, open := p.thing(&ch)
	switch {
	case open:
		return t, ch, nil
	case t != nil:
		return nil, ch, p.rules.shut(t.rule.At, p.subject(name))
	}
	return nil, ch, p.rules.closed(p.subject(name), p.table, p.open())
}

// Find implements device.PWM.
func (p *pwm) Find(name string) (device.PWMChannel, error) {
	t, ch, err := p.resolve(name)
	if err != nil {
		return device.PWMChannel{}, err
	}
	ch.Name, ch.Description = t.shown, t.description()
	return ch, nil
}

func (p *pwm) written(name string) (*thing, string, error) {
	t, ch, err := p.resolve(name)
	if err == nil && t.access != AccessWrite {
		err = p.rules.onlyRead(t.at(), p.subject(t.shown))
	}
	return t, ch.Name, err
}

// Set implements device.PWM: change is refused where its result is out of bounds.
func (p *pwm) Set(name string, change func(device.PWMState) (device.PWMState, error)) (before, after device.PWMState, err error) {
	t, own, err := p.written(name)
	if err != nil {
		return before, after, err
	}
	before, after, err = p.inner.Set(own, func(now device.PWMState) (device.PWMState, error) {
		want, err := change(now)
		if err == nil && t.rule != nil {
			err = p.within(t, want)
		}
		if err == nil && t.rule != nil && p.bound[t.index].Safe != nil {
			err = p.rules.mayLeaveRest(p.halted, t.at(), p.subject(t.shown))
		}
		if err != nil {
			return now, err
		}
		return want, nil
	})
	if err == nil && t.rule != nil {
		if rest, ok := p.bound[t.index].atRest(); ok { // a share of the period that it has now
			err = p.inner.Rest(own, rest.pwm(after))
		}
	}
	return before, after, named(err, own, t.shown)
}

// within says which bound a state breaks.
func (p *pwm) within(t *thing, s device.PWMState) error {
	b := &p.bound[t.index]
	refuse := func(what string, v float64, low, high *float64, unit string) error {
		if low != nil && v < *low {
			return p.rules.refusal(t.at(), p.subject(t.shown), fmt.Sprintf("a %s of %.6g %s is below the least, %v %s", what, v, unit, *low, unit), "stay above it")
		}
		if high != nil && v > *high {
			return p.rules.refusal(t.at(), p.subject(t.shown), fmt.Sprintf("a %s of %.6g %s is above the most, %v %s", what, v, unit, *high, unit), "stay below it")
		}
		return nil
	}
	if !s.Enabled || s.Period <= 0 {
		return nil
	}
	if err := refuse("frequency", float64(time.Second)/float64(s.Period), b.MinHz, b.MaxHz, "Hz"); err != nil {
		return err
	}
	duty := 100 * float64(s.Duty) / float64(s.Period)
	if s.Inverted && (b.MinDuty != nil || b.MaxDuty != nil) {
		return p.rules.refusal(t.at(), p.subject(t.shown), "inverted, though its duty has bounds", "leave inverted out")
	}
	return refuse("duty", duty, b.MinDuty, b.MaxDuty, "%")
}

// Release implements device.PWM. A channel that may only be read is never held.
func (p *pwm) Release(name string) error {
	t, ch, err := p.resolve(name)
	if err != nil || t.access != AccessWrite {
		return err
	}
	return named(p.inner.Release(ch.Name), ch.Name, t.shown)
}

// Rest implements device.PWM.
func (p *pwm) Rest(name string, s device.PWMState) error {
	t, own, err := p.written(name)
	if err != nil {
		return err
	}
	return named(p.inner.Rest(own, s), own, t.shown)
}
