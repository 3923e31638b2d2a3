package tools

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
)

func TestConfigure(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	c := newClient(t, b)
	const note = `,"note":"nobody knows the former bias: this one stays when the line is given back"}`
	for _, tt := range []struct{ set, want, failed string }{
		{"in pull_up", `{"line":"GPIO17","before":{"direction":"in","level":0},"after":{"direction":"in","level":1,"bias":"up"}` + note, ``},
		{"debounce_us=5000, active_low", `{"line":"GPIO17","before":{"direction":"in","level":1,"bias":"up"},"after":{"direction":"in","level":0,"active_low":true,"bias":"up","debounce_us":5000}}`, ``},
		{"active_high no_pull debounce_us=0", `{"line":"GPIO17","before":{"direction":"in","level":0,"active_low":true,"bias":"up","debounce_us":5000},"after":{"direction":"in","level":0,"bias":"off"}}`, ``},
		{"high open_drain", `{"line":"GPIO17","before":{"direction":"in","level":0,"bias":"off"},"after":{"direction":"out","level":1,"bias":"off","drive":"open_drain"}}`, ``},
		{"push_pull", `{"line":"GPIO17","before":{"direction":"out","level":1,"bias":"off","drive":"open_drain"},"after":{"direction":"out","level":1,"bias":"off"}}`, ``},
		{"active_low", `{"line":"GPIO17","before":{"direction":"out","level":1,"bias":"off"},"after":{"direction":"out","level":0,"active_low":true,"bias":"off"}}`, ``},
		{"low", `{"line":"GPIO17","before":{"direction":"out","level":0,"active_low":true,"bias":"off"},"after":{"direction":"out","level":0,"active_low":true,"bias":"off"}}`, ``},
		{"in", `{"line":"GPIO17","before":{"direction":"out","level":0,"active_low":true,"bias":"off"},"after":{"direction":"in","level":1,"active_low":true,"bias":"off"}}`, ``},
		{"out", `{"line":"GPIO17","before":{"direction":"in","level":1,"active_low":true,"bias":"off"},"after":{"direction":"out","level":1,"active_low":true,"bias":"off"}}`, ``},
		{"release", `{"line":"GPIO17","before":{"direction":"out","level":1,"active_low":true,"bias":"off"},"after":{"direction":"in","level":0}}`, ``},
		{"release", `{"line":"GPIO17","before":{"direction":"in","level":0},"after":{"direction":"in","level":0}}`, ``},
		{" , ", ``, `set is empty; its words are ` + settings},
		{"pullup", ``, `set has "pullup"; its words are ` + settings},
		{"in=1", ``, `set has "in=1"; its words are ` + settings},
		{"debounce_us", ``, `set has "debounce_us"; its words are ` + settings},
		{"debounce_us=-1", ``, `set has "debounce_us=-1"; debounce_us=0 to 10000000 are allowed`},
		{"debounce_us=10000001", ``, `set has "debounce_us=10000001"; debounce_us=0 to 10000000 are allowed`},
		{"low high", ``, `set has both low and high; give one`},
		{"in in", ``, `set has both in and in; give one`},
		{"in high", ``, `set has in and high, which is an output's level; give one`},
		{"open_drain", ``, `open_drain is of an output, and the line is an input; add out, low or high`},
		{"out debounce_us=5", ``, `debounce_us=5 is of an input, and the line is an output; add in`},
		{"release in", ``, `release gives the line back as it was; give it alone`},
	} {
		got, failed := c.call("gpio_configure", `{"line":"GPIO17","set":"`+tt.set+`"}`)
		if got != tt.want || failed != tt.failed {
			t.Errorf("%s\ngot  %s%s\nwant %s%s", tt.set, got, failed, tt.want, tt.failed)
		}
	}
	for line, want := range map[string]string{
		"GPIO8": `line "GPIO8": in use by "spi0 CS0" (EBUSY); gpio_list shows which lines are free`,
		"nope":  `line "nope" not found; gpio_list shows 54 lines`,
	} {
		if _, failed := c.call("gpio_configure", `{"line":"`+line+`","set":"in"}`); failed != want {
			t.Errorf("%s: %s", line, failed)
		}
	}
	if got := stands(t, b.GPIO(), "GPIO17"); got != "in 0" {
		t.Errorf("after all that the line is %s", got)
	}
}

func TestConfiguredLineIsListedAndLastsUntilTheEnd(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	c := newClient(t, b)
	c.must("gpio_configure", `{"line":"GPIO22","set":"in pull_up active_low debounce_us=20"}`)
	if got, want := c.must("gpio_list", `{"match":"GPIO22"}`), `{"lines":[{"line":"GPIO22","direction":"in","held":true,"active_low":true,"bias":"up","debounce_us":20}],"total":1}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	other := b.Another()
	c.guard.Close()
	b.Close()
	l, err := other.GPIO().Find("GPIO22")
	if err != nil || l.Direction != device.In || l.ActiveLow || l.Bias != device.BiasUnknown || l.Owner != "" || l.Debounce != 0 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestPulseReturnsToWhatWasConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{})
		c := newClient(t, b)
		c.must("gpio_configure", `{"line":"GPIO22","set":"in pull_up active_low"}`)
		before := c.must("gpio_list", `{"match":"GPIO22"}`)
		c.must("gpio_write", `{"line":"GPIO22","level":1,"for_ms":100}`)
		time.Sleep(99 * time.Millisecond)
		if got := c.must("gpio_list", `{"match":"GPIO22"}`); !strings.Contains(got, `"direction":"out","held":true,"active_low":true`) {
			t.Error(got)
		}
		time.Sleep(2 * time.Millisecond)
		if got := c.must("gpio_list", `{"match":"GPIO22"}`); got != before {
			t.Errorf("got  %s\nwant %s", got, before)
		}
		// A configuration ends a pulse, and a release too.
		for _, set := range []string{"high", "release"} {
			c.must("gpio_write", `{"line":"GPIO22","level":1,"for_ms":100}`)
			c.must("gpio_configure", `{"line":"GPIO22","set":"`+set+`"}`)
			if c.guard.Active() != 0 {
				t.Errorf("%s leaves %d pulses", set, c.guard.Active())
			}
		}
		if got := stands(t, b.GPIO(), "GPIO22"); got != "in 0" {
			t.Error(got)
		}
	})
}

func FuzzSettings(f *testing.F) {
	for _, text := range []string{settings, "in pull_up debounce_us=5000", "high,open_drain", "active_low active_high", "debounce_us=", "low out", "in=in"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		change, err := parseSettings(strings.Fields(text))
		if err != nil {
			return
		}
		for _, before := range []device.Config{{}, {Direction: device.Out, Level: device.High, Drive: device.OpenDrain}} {
			c := before
			if change(&c) != nil {
				continue
			}
			if c.Level > device.High || c.Bias > device.BiasDown || c.Drive > device.OpenSource || c.Debounce < 0 || c.Debounce > device.MaxDebounce {
				t.Errorf("%q makes %+v of %+v", text, c, before)
			}
		}
	})
}
