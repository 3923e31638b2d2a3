package tools

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

func addLEDs(cat *rpc.Catalogue, l device.LEDs) {
	t := ledTools{l}
	cat.Tools = append(cat.Tools, rpc.Tool{
		Name:        "led_set",
		Title:       "Set LED",
		Description: "Off, on, 40%, a trigger, timer 100 900 (ms). Ends with this server.",
		Hints:       rpc.Hints{Idempotent: true},
		Params: []rpc.Param{
			{Name: "led", Type: rpc.String, Required: true, Max: maxName},
			{Name: "state", Type: rpc.String, Required: true, Max: maxName},
		},
		Result: []rpc.Field{
			{Name: "led", Type: rpc.String},
			{Name: "brightness", Type: rpc.Integer, Description: "as of now"},
			{Name: "max", Type: rpc.Integer},
			{Name: "trigger", Type: rpc.String},
			{Name: "before", Type: rpc.Object, Fields: []rpc.Field{
				{Name: "brightness", Type: rpc.Integer},
				{Name: "trigger", Type: rpc.String},
			}},
		},
		Queue:    func(*rpc.Call) string { return "leds" }, // some are behind a bus
		Subjects: t.subject,
		Run:      t.set,
	})
}

type ledTools struct{ leds device.LEDs }

func (t ledTools) set(c *rpc.Call) error {
	led, err := t.leds.Find(c.Str(0))
	if err != nil {
		return t.showing(err)
	}
	s, err := parseLED(c.Str(1), led.Max)
	if err != nil {
		return err
	}
	before, after, err := t.leds.Set(led.Name, s)
	if err != nil {
		return err
	}
	dst := wire.AppendString(append(c.Out, `{"led":`...), led.Name)
	dst = appendLED(append(dst, ','), after)
	dst = wire.AppendInt(append(dst, `,"max":`...), int64(after.Max))
	dst = appendLED(append(dst, `,"before":{`...), before)
	c.Out = append(dst, `}}`...)
	return nil
}

// showing is the error of a name that no LED has, with how those stand that there are.
func (t ledTools) showing(err error) error {
	e, ok := errors.AsType[*device.Error](err)
	all, listErr := t.leds.List(nil)
	if !ok || e.Kind != device.ErrNotFound || listErr != nil || len(all) == 0 {
		return err
	}
	return &device.Error{Subject: e.Subject, Kind: e.Kind, Hint: "the board has " + strings.Join(described(all, maxDescribed, describeLED), ", ")}
}

// appendLED appends the members that show how an LED stands.
func appendLED(dst []byte, l device.LED) []byte {
	dst = wire.AppendInt(append(dst, `"brightness":`...), int64(l.Brightness))
	return wire.AppendString(append(dst, `,"trigger":`...), l.Trigger)
}

// parseLED reads a state. What is no brightness is a trigger, with its times or not.
func parseLED(text string, highest int) (device.LEDSetting, error) {
	var s device.LEDSetting
	words := strings.Fields(text)
	switch {
	case len(words) == 3:
		on, err := strconv.ParseUint(words[1], 10, 32)
		off, err2 := strconv.ParseUint(words[2], 10, 32)
		if err != nil || err2 != nil {
			return s, fmt.Errorf(`state is %q; times are whole milliseconds, lit and dark: "timer 100 900"`, text)
		}
		return device.LEDSetting{Trigger: words[0], On: time.Duration(on) * time.Millisecond, Off: time.Duration(off) * time.Millisecond}, nil
	case len(words) != 1:
		return s, fmt.Errorf(`state is %q; off, on, a brightness from 0 to %d, a share such as 40%%, a trigger or "timer 100 900" is allowed`, text, highest)
	case words[0] == "off":
		return s, nil
	case words[0] == "on":
		s.Brightness = highest
		return s, nil
	}
	if n, err := strconv.Atoi(words[0]); err == nil {
		s.Brightness = n
		return s, nil
	}
	value, unit, ok := parseAmount(words[0])
	switch {
	case !ok || unit != "%":
		s.Trigger = words[0]
	case value > 100:
		return s, fmt.Errorf("state is %q; 0%% to 100%% are allowed", text)
	default:
		s.Brightness = int(math.Ceil(value / 100 * float64(highest))) // a little is not off
	}
	return s, nil
}

// describeLED says how an LED is: "ACT at 0 of 1 by mmc0", or without "by" a steady one.
func describeLED(l device.LED) string {
	s := fmt.Sprintf("%s at %d of %d", l.Name, l.Brightness, l.Max)
	if l.Trigger != "none" {
		s += " by " + l.Trigger
	}
	return withDescription(s, l.Description)
}
