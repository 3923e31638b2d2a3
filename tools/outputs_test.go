package tools

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
)

func TestAmounts(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"20ms": 20 * time.Millisecond, "1.5ms": 1500 * time.Microsecond, " 5 us ": 5 * time.Microsecond, "7ns": 7, "3µs": 3 * time.Microsecond,
		"0s": 0, "3600s": time.Hour, "0.1ns": 0,
		"3601s": -1, "5": -1, "ms": -1, "": -1, "-1ms": -1, "1.2.3s": -1, "1e9s": -1, "NaNs": -1, "1 m": -1, "50Hz": -1,
	} {
		if got, ok := parseTime(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("time %q: %v %v", text, got, ok)
		}
	}
	for text, want := range map[string]time.Duration{
		"50Hz": 20 * time.Millisecond, "1.5 kHz": 666667, "25khz": 40 * time.Microsecond, "1MHz": time.Microsecond, "20ms": 20 * time.Millisecond,
		"0Hz": -1, "0s": -1, "2000MHz": 1, "3000MHz": -1, "0.0001Hz": -1, "1GHz": -1, "": -1,
	} {
		if got, ok := parsePeriod(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("period %q: %v %v", text, got, ok)
		}
	}
}

func TestPWMIsSet(t *testing.T) {
	b := sim.Open(sim.Wiring{PWM: true})
	c := newClient(t, b)
	state := func(channel, period, duty, hz, percent, enabled, inverted, before string) string {
		return fmt.Sprintf(`{"channel":"pwmchip0/%s","period_ns":%s,"duty_ns":%s,"enabled":%s,"frequency_hz":%s,"duty_percent":%s,"inverted":%s,"before":{%s}}`,
			channel, period, duty, enabled, hz, percent, inverted, before)
	}
	for _, tt := range []struct{ args, want string }{
		{`{"channel":"pwmchip0/0","duty":"25%"}`,
			state("0", "1000000", "250000", "1000", "25", "true", "false", `"period_ns":0,"duty_ns":0,"enabled":false`)},
		{`{"channel":"3f20c000.pwm/0","duty":"1.5ms","period":"50Hz"}`,
			state("0", "20000000", "1500000", "50", "7.5", "true", "false", `"period_ns":1000000,"duty_ns":250000,"enabled":true`)},
		{`{"channel":"pwmchip0/0","duty":"off"}`,
			state("0", "20000000", "1500000", "50", "7.5", "false", "false", `"period_ns":20000000,"duty_ns":1500000,"enabled":true`)},
		{`{"channel":"pwmchip0/0","duty":"off","period":"1us"}`,
			state("0", "1000", "1000", "1000000", "100", "false", "false", `"period_ns":20000000,"duty_ns":1500000,"enabled":false`)},
		{`{"channel":"pwmchip0/1","duty":"100%","period":"30us","inverted":true}`,
			state("1", "30000", "30000", "33333.333333", "100", "true", "true", `"period_ns":0,"duty_ns":0,"enabled":false`)},
	} {
		if got := c.must("pwm_set", tt.args); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
	if got := c.must("board_info", `{}`); !strings.Contains(got, `"pwm":["pwmchip0/0 of 3f20c000.pwm","pwmchip0/1 of 3f20c000.pwm, 30µs of 30µs"]`) {
		t.Error(got)
	}
	other := b.Another()
	b.Close()
	if ch, err := other.PWM().Find("pwmchip0/1"); err != nil || ch.Known {
		t.Errorf("after the end it is %+v, %v", ch, err)
	}
}

func TestLEDIsSet(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	c := newClient(t, b)
	for _, tt := range []struct{ args, want string }{
		{`{"led":"PWR","state":"40%"}`, `{"led":"PWR","brightness":102,"trigger":"none","max":255,"before":{"brightness":255,"trigger":"default-on"}}`},
		{`{"led":"PWR","state":"1"}`, `{"led":"PWR","brightness":1,"trigger":"none","max":255,"before":{"brightness":102,"trigger":"none"}}`},
		{`{"led":"PWR","state":" off "}`, `{"led":"PWR","brightness":0,"trigger":"none","max":255,"before":{"brightness":1,"trigger":"none"}}`},
		{`{"led":"ACT","state":"on"}`, `{"led":"ACT","brightness":1,"trigger":"none","max":1,"before":{"brightness":0,"trigger":"mmc0"}}`},
		{`{"led":"ACT","state":"1%"}`, `{"led":"ACT","brightness":1,"trigger":"none","max":1,"before":{"brightness":1,"trigger":"none"}}`},
		{`{"led":"ACT","state":"mmc0"}`, `{"led":"ACT","brightness":0,"trigger":"mmc0","max":1,"before":{"brightness":1,"trigger":"none"}}`},
		{`{"led":"PWR","state":"default-on"}`, `{"led":"PWR","brightness":255,"trigger":"default-on","max":255,"before":{"brightness":0,"trigger":"none"}}`},
	} {
		if got := c.must("led_set", tt.args); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
	if got := c.must("led_set", `{"led":"ACT","state":"timer 100 900"}`); !strings.Contains(got, `"trigger":"timer"`) {
		t.Error(got)
	}
	if got := c.must("board_info", `{}`); !strings.Contains(got, `"leds":["ACT","PWR"]`) {
		t.Error(got)
	}
	other := b.Another()
	b.Close()
	if led, err := other.LEDs().Find("ACT"); err != nil || led.Trigger != "mmc0" {
		t.Errorf("after the end it is %+v, %v", led, err)
	}
}

func TestErrorsOfOutputsSayWhatIsAllowed(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{PWM: true}))
	for _, tt := range []struct{ tool, args, want string }{
		{"pwm_set", `{"channel":"pwmchip0/2","duty":"1%"}`, `PWM channel "pwmchip0/2" not found; the board has pwmchip0/0, pwmchip0/1`},
		{"pwm_set", `{"channel":"pwmchip0/0","duty":"101%"}`, `duty is "101%"; a share such as "25%", a time such as "1.5ms" or off is allowed`},
		{"pwm_set", `{"channel":"pwmchip0/0","duty":"50"}`, `duty is "50"; a share such as "25%", a time such as "1.5ms" or off is allowed`},
		{"pwm_set", `{"channel":"pwmchip0/0","duty":"50%","period":"20"}`, `period is "20"; a frequency such as "50Hz" or a time such as "20ms" up to 1h0m0s is allowed`},
		{"pwm_set", `{"channel":"pwmchip0/0","duty":"2ms"}`, `duty 2ms is longer than the period of 1ms; 0% to 100% are allowed`},
		{"pwm_set", `{"channel":"pwmchip0/0","duty":"1%","period":"60s"}`, `pwmchip0/0: the chip cannot do this (EINVAL); another period or polarity may do`},
		{"led_set", `{"led":"ACT","state":""}`, `state is ""; off, on, a brightness from 0 to 1, a share such as 40%, a trigger or "timer 100 900" is allowed`},
		{"led_set", `{"led":"ACT","state":"timer 100"}`, `state is "timer 100"; off, on, a brightness from 0 to 1, a share such as 40%, a trigger or "timer 100 900" is allowed`},
		{"led_set", `{"led":"ACT","state":"timer x 1"}`, `state is "timer x 1"; times are whole milliseconds, lit and dark: "timer 100 900"`},
		{"led_set", `{"led":"ACT","state":"timer 0 5"}`, `LED "ACT": lit for 0s, dark for 5ms; give both, 1 ms to 1h0m0s`},
		{"led_set", `{"led":"ACT","state":"heartbeat 1 5"}`, `LED "ACT": times belong to the trigger timer only; leave them out, or set the trigger timer`},
		{"led_set", `{"led":"ACT","state":"2"}`, `LED "ACT": no brightness 2; 0 to 1 are allowed`},
		{"led_set", `{"led":"ACT","state":"-1"}`, `LED "ACT": no brightness -1; 0 to 1 are allowed`},
		{"led_set", `{"led":"ACT","state":"101%"}`, `state is "101%"; 0% to 100% are allowed`},
		{"led_set", `{"led":"ACT","state":"disco"}`, `LED "ACT" trigger "disco" not found; it can have none, timer, oneshot, heartbeat, cpu, default-on, panic, mmc0`},
		{"led_set", `{"led":"RED","state":"on"}`, `LED "RED" not found; the board has ACT at 0 of 1 by mmc0, PWR at 255 of 255 by default-on`},
	} {
		if _, got := c.call(tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s\ngot  %s\nwant %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

// These have more of everything than a list shows.
type (
	manySPI  struct{ device.SPI }
	manyPWM  struct{ device.PWM }
	manyLEDs struct{ device.LEDs }
)

func (manySPI) Devices(dst []device.SPIDevice) ([]device.SPIDevice, error) {
	return append(dst, make([]device.SPIDevice, 20)...), nil
}

func (manyPWM) Channels(dst []device.PWMChannel) ([]device.PWMChannel, error) {
	return append(dst, make([]device.PWMChannel, 20)...), nil
}

func (manyLEDs) Names(dst []string) ([]string, error) {
	return append(dst, make([]string, 20)...), nil
}

func TestBoardInfoShowsSoManyOutputs(t *testing.T) {
	c := newClient(t, noBoard{spi: manySPI{}, pwm: manyPWM{}, leds: manyLEDs{}})
	got := c.must("board_info", `{}`)
	if n := strings.Count(got, `"and 4 more"`); n != 3 {
		t.Errorf("%d lists are cut in %s", n, got)
	}
}
