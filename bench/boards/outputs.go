//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// spiReads checks that a device answers what is sent to it.
func spiReads(device, data string, want ...string) check {
	return check{fmt.Sprintf("spi_transfer to %s of %q", device, data), func(b *board) error {
		var got struct {
			Device string
			Read   []string
		}
		for _, mode := range []int{0, 3} {
			if err := b.mcp.tool("spi_transfer", arguments{"device": device, "data": data, "mode": mode}, &got); err != nil {
				return err
			}
			if got.Device != device || !slices.Equal(got.Read, want) {
				return fmt.Errorf("the result is %+v", got)
			}
		}
		return b.mcp.refused("spi_transfer", arguments{"device": "spidev9.9", "data": data}, "spidev9.9", device)
	}}
}

// spiTimesOut checks that a transfer which does not end is an error that says so.
func spiTimesOut(device string) check {
	return check{"spi_transfer to " + device + " times out", func(b *board) error {
		return b.mcp.refused("spi_transfer", arguments{"device": device, "data": "9f +3"}, device, "timed out", "ETIMEDOUT")
	}}
}

// pwmSet checks that a channel stands in the kernel as it is set, also where its
// period shrinks below its duty. It leaves the channel running; see outputsBack.
func pwmSet(channel, folder string) check {
	return check{"pwm_set of " + channel, func(b *board) error {
		for _, s := range []struct{ duty, period, want string }{
			{"75%", "50Hz", "20000000 15000000 1"},
			{"1ms", "500Hz", "2000000 1000000 1"},
			{"off", "", "2000000 1000000 0"},
			{"25%", "100Hz", "10000000 2500000 1"},
		} {
			a := arguments{"channel": channel, "duty": s.duty}
			if s.period != "" {
				a["period"] = s.period
			}
			var got struct {
				Channel string
				Period  int `json:"period_ns"`
				Duty    int `json:"duty_ns"`
				Enabled bool
			}
			if err := b.mcp.tool("pwm_set", a, &got); err != nil {
				return err
			}
			var have []string
			for _, attribute := range []string{"period", "duty_cycle", "enable"} {
				text, err := b.guest.read(folder + "/" + attribute)
				if err != nil {
					return err
				}
				have = append(have, strings.TrimSpace(text))
			}
			if kernel := strings.Join(have, " "); kernel != s.want || fmt.Sprintf("%d %d", got.Period, got.Duty) != strings.Join(have[:2], " ") {
				return fmt.Errorf("the kernel has %s, want %s; the result is %+v", kernel, s.want, got)
			}
		}
		b.outputs = append(b.outputs, setOutput{folder + "/enable", ""})
		return nil
	}}
}

// ledSet checks that an LED stands in the kernel, and at pin n where that is not
// negative, as it is set. It leaves the LED blinking; see outputsBack.
func ledSet(led string, n int) check {
	return check{"led_set of " + led, func(b *board) error {
		trigger := "/sys/class/leds/" + led + "/trigger"
		before, err := b.guest.read(trigger)
		if err != nil {
			return err
		}
		for _, state := range []string{"off", "on", "off", "on"} {
			var got struct{ Brightness, Max int }
			if err := b.mcp.tool("led_set", arguments{"led": led, "state": state}, &got); err != nil {
				return err
			}
			to := 0
			if state == "on" {
				to = 1
			}
			if got.Brightness != to*got.Max {
				return fmt.Errorf("set %s, the result is %+v", state, got)
			}
			if n < 0 {
				continue
			}
			if err := b.seen(n, to); err != nil {
				return err
			}
		}
		var got struct{ Trigger string }
		if err := b.mcp.tool("led_set", arguments{"led": led, "state": "timer 50 70"}, &got); err != nil {
			return err
		}
		on, err := b.guest.read("/sys/class/leds/" + led + "/delay_on")
		if err != nil || strings.TrimSpace(on) != "50" || got.Trigger != "timer" {
			return fmt.Errorf("the timer is %+v, lit for %q ms, error %v", got, on, err)
		}
		for _, to := range []int{1, 0, 1} {
			if n < 0 {
				break
			}
			if err := b.seen(n, to); err != nil {
				return err
			}
		}
		b.outputs = append(b.outputs, setOutput{trigger, before})
		return b.mcp.refused("led_set", arguments{"led": led, "state": "disco"}, "disco", "timer")
	}}
}

// systemInfo checks what the machine says of itself against the kernel, and that a
// watchdog was not started by looking.
func systemInfo(watchdog string) check {
	return check{"system_info", func(b *board) error {
		var got struct {
			Uptime    int `json:"uptime_s"`
			Mem       int `json:"mem_total"`
			Watchdogs []struct {
				Watchdog, Identity, State string
				Left                      *int `json:"left_s"`
			}
		}
		for range 2 {
			if err := b.mcp.tool("system_info", arguments{}, &got); err != nil {
				return err
			}
		}
		if got.Uptime < 1 || got.Mem < 1<<20 {
			return fmt.Errorf("it is %+v", got)
		}
		for _, w := range got.Watchdogs {
			if w.Identity == watchdog && w.State == "inactive" && w.Left == nil {
				return nil
			}
		}
		return fmt.Errorf("%q is not inactive among %+v", watchdog, got.Watchdogs)
	}}
}

// setOutput is what boardhand has set, and what the file of it has to be afterwards:
// empty where the file has to be gone.
type setOutput struct{ file, before string }

// outputsBack checks, after boardhand's end, that what it had set is as it was.
func (b *board) outputsBack() error {
	var errs []error
	for _, o := range b.outputs {
		now, err := b.guest.read(o.file)
		if o.before == "" && err == nil {
			errs = append(errs, fmt.Errorf("%s is still there, with %q", o.file, now))
		}
		if o.before != "" && (err != nil || now != o.before) {
			errs = append(errs, fmt.Errorf("%s has %q, had %q, error %v", o.file, now, o.before, err))
		}
	}
	return errors.Join(errs...)
}
