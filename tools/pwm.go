package tools

import (
	"fmt"
	"math"
	"strings"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

func addPWM(cat *rpc.Catalogue, p device.PWM) {
	t := pwmTools{p}
	cat.Tools = append(cat.Tools, rpc.Tool{
		Name:        "pwm_set",
		Title:       "Set PWM",
		Description: "Duty 25%, 1.5ms, off. Period 50Hz, 20ms. Ends with this server.",
		Hints:       rpc.Hints{Destructive: true, Idempotent: true},
		Params: []rpc.Param{
			{Name: "channel", Type: rpc.String, Required: true, Max: maxName},
			{Name: "duty", Type: rpc.String, Required: true, Max: 32},
			{Name: "period", Type: rpc.String, Max: 32},
			{Name: "inverted", Type: rpc.Boolean},
		},
		Result: []rpc.Field{
			{Name: "channel", Type: rpc.String},
			{Name: "period_ns", Type: rpc.Integer},
			{Name: "duty_ns", Type: rpc.Integer},
			{Name: "frequency_hz", Type: rpc.Number},
			{Name: "duty_percent", Type: rpc.Number},
			{Name: "enabled", Type: rpc.Boolean},
			{Name: "inverted", Type: rpc.Boolean},
			{Name: "before", Type: rpc.Object, Fields: []rpc.Field{
				{Name: "period_ns", Type: rpc.Integer},
				{Name: "duty_ns", Type: rpc.Integer},
				{Name: "enabled", Type: rpc.Boolean},
			}},
		},
		Queue:    t.queue,
		Subjects: t.subject,
		Run:      t.set,
	})
}

type pwmTools struct{ pwm device.PWM }

// queue is that of the channel's chip, which may be behind a bus.
func (t pwmTools) queue(c *rpc.Call) string {
	ch, err := t.pwm.Find(c.Str(0))
	if err != nil {
		return "" // the handler says so
	}
	chip, _, _ := strings.Cut(ch.Name, "/")
	return chip
}

// firstPeriod is that of a channel which had none, where none is asked for.
const firstPeriod = time.Millisecond

func (t pwmTools) set(c *rpc.Call) error {
	ch, err := t.pwm.Find(c.Str(0))
	if err != nil {
		return err
	}
	var period time.Duration
	if c.Has(2) {
		var ok bool
		if period, ok = parsePeriod(c.Str(2)); !ok {
			return fmt.Errorf(`period is %q; a frequency such as "50Hz" or a time such as "20ms" up to %v is allowed`, c.Str(2), maxTime)
		}
	}
	duty, err := parseDuty(c.Str(1))
	if err != nil {
		return err
	}
	before, after, err := t.pwm.Set(ch.Name, func(now device.PWMState) (device.PWMState, error) {
		want := now
		if period > 0 {
			want.Period = period
		}
		if want.Period == 0 {
			want.Period = firstPeriod
		}
		want.Duty = duty.of(want)
		if want.Duty > want.Period {
			return now, fmt.Errorf("duty %s is longer than the period of %v; 0%% to 100%% are allowed", c.Str(1), want.Period)
		}
		want.Enabled = !duty.off
		if c.Has(3) {
			want.Inverted = c.Bool(3)
		}
		return want, nil
	})
	if err != nil {
		return err
	}
	dst := wire.AppendString(append(c.Out, `{"channel":`...), ch.Name)
	dst = appendPulse(append(dst, ','), after)
	round := func(v float64) float64 { return math.Round(v*1e6) / 1e6 }
	frequency, percent := 0.0, 0.0
	if after.Period > 0 {
		frequency, percent = 1e9/float64(after.Period), 100*float64(after.Duty)/float64(after.Period)
	}
	dst = wire.AppendFloat(append(dst, `,"frequency_hz":`...), round(frequency))
	dst = wire.AppendFloat(append(dst, `,"duty_percent":`...), round(percent))
	dst = wire.AppendBool(append(dst, `,"inverted":`...), after.Inverted)
	dst = appendPulse(append(dst, `,"before":{`...), before)
	c.Out = append(dst, `}}`...)
	return nil
}

// appendPulse appends the members that show how a channel stands.
func appendPulse(dst []byte, s device.PWMState) []byte {
	dst = wire.AppendInt(append(dst, `"period_ns":`...), int64(s.Period))
	dst = wire.AppendInt(append(dst, `,"duty_ns":`...), int64(s.Duty))
	return wire.AppendBool(append(dst, `,"enabled":`...), s.Enabled)
}

// pwmDuty is a time, or a share of the period where that is not negative.
type pwmDuty struct {
	time  time.Duration
	share float64
	off   bool // the output is switched off, and its duty stays
}

func parseDuty(text string) (pwmDuty, error) {
	if text == "off" {
		return pwmDuty{off: true}, nil
	}
	if value, unit, ok := parseAmount(text); ok && unit == "%" && value <= 100 {
		return pwmDuty{share: value / 100}, nil
	}
	if d, ok := parseTime(text); ok {
		return pwmDuty{time: d, share: -1}, nil
	}
	return pwmDuty{}, fmt.Errorf(`duty is %q; a share such as "25%%", a time such as "1.5ms" or off is allowed`, text)
}

// of is the duty of a channel with the period that it is to have.
func (d pwmDuty) of(s device.PWMState) time.Duration {
	switch {
	case d.off:
		return min(s.Duty, s.Period)
	case d.share >= 0:
		return time.Duration(math.Round(d.share * float64(s.Period)))
	}
	return d.time
}

// describePWM says what a channel is: "pwmchip0/0 of 3f20c000.pwm, 1.5ms of 20ms".
func describePWM(ch device.PWMChannel) string {
	s := ch.Name
	if ch.Device != "" {
		s += " of " + ch.Device
	}
	if ch.Known && ch.Enabled {
		s += fmt.Sprintf(", %v of %v", ch.Duty, ch.Period)
	}
	return withDescription(s, ch.Description)
}
