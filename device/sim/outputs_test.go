package sim

import (
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/contract"
)

func TestPWMContract(t *testing.T) {
	for _, name := range []string{"pwmchip0/0", "pwmchip0/1"} {
		first := Open(Wiring{PWM: true})
		contract.PWM(t, func() device.Board { return first.Another() }, name)
	}
}

func TestLEDContract(t *testing.T) {
	for _, name := range []string{"ACT", "PWR"} {
		first := Open(Wiring{})
		contract.LEDs(t, func() device.Board { return first.Another() }, name)
	}
}

func TestSystemContract(t *testing.T) { contract.System(t, Open(Wiring{})) }

func TestTriggersShine(t *testing.T) {
	const ms = time.Millisecond
	clk := &standing{time.Unix(1e9, 0)}
	l := Open(Wiring{Now: clk.now}).LEDs()
	for _, c := range []struct {
		setting device.LEDSetting
		want    map[time.Duration]int
	}{
		{device.LEDSetting{Brightness: 7}, map[time.Duration]int{0: 7, 600 * ms: 7}},
		{device.LEDSetting{Trigger: "timer"}, map[time.Duration]int{0: 255, 499 * ms: 255, 500 * ms: 0, 999 * ms: 0}},
		{device.LEDSetting{Trigger: "timer", On: 100 * ms, Off: 900 * ms}, map[time.Duration]int{99 * ms: 255, 100 * ms: 0}},
		{device.LEDSetting{Trigger: "default-on"}, map[time.Duration]int{0: 255}},
		{device.LEDSetting{Trigger: "mmc0"}, map[time.Duration]int{0: 0}},
		{device.LEDSetting{Trigger: "none"}, map[time.Duration]int{0: 0}},
	} {
		if _, _, err := l.Set("PWR", c.setting); err != nil {
			t.Fatal(err)
		}
		for at, want := range c.want {
			clk.t = time.Unix(1e9, 0).Add(at)
			if led, _ := l.Find("PWR"); led.Brightness != want {
				t.Errorf("%+v after %v: %d, want %d", c.setting, at, led.Brightness, want)
			}
		}
		clk.t = time.Unix(1e9, 0)
	}
}

func TestNetworkCounts(t *testing.T) {
	clk := &standing{time.Unix(1e9, 0)}
	s := Open(Wiring{Now: clk.now}).System()
	before, _ := s.Status()
	clk.t = clk.t.Add(time.Minute)
	after, _ := s.Status()
	if after.Uptime != time.Minute || after.Networks[1].RxBytes <= before.Networks[1].RxBytes {
		t.Errorf("%+v, then %+v", before, after)
	}
}
