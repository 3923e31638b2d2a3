//go:build linux

package linux

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boardhand/device"
)

var ledTree = map[string]string{
	"sys/class/leds/ACT/brightness":     "0\n",
	"sys/class/leds/ACT/max_brightness": "1\n",
	"sys/class/leds/ACT/trigger":        "none kbd-scrolllock timer [netdev] mmc0\n",
	"sys/class/leds/ACT/device_name":    "eth0\n",
	"sys/class/leds/ACT/link":           "1\n",
	"sys/class/leds/ACT/uevent":         "X=1\n",
	"sys/class/leds/PWR/brightness":     "200\n",
	"sys/class/leds/PWR/max_brightness": "255\n",
	"sys/class/leds/PWR/trigger":        "[none] timer\n",
	"sys/class/leds/bare/brightness":    "3\n", // of a kernel without triggers
	"sys/class/leds/bad\x01/brightness": "3\n",
}

func TestLEDsAreListed(t *testing.T) {
	l := open(tree(t, ledTree)).LEDs()
	all, err := l.List(nil)
	must(t, err)
	want := []device.LED{{Name: "ACT", Max: 1, Trigger: "netdev"}, {Name: "PWR", Brightness: 200, Max: 255, Trigger: "none"}, {Name: "bare", Brightness: 3, Trigger: "none"}}
	if !slices.Equal(all, want) {
		t.Errorf("%+v", all)
	}
	triggers, err := l.Triggers("ACT", nil)
	must(t, err)
	if got := strings.Join(triggers, " "); got != "none kbd-scrolllock timer netdev mmc0" {
		t.Error(got)
	}
	_, _, err = l.Set("ACT", device.LEDSetting{Trigger: "x"})
	expect(t, err, device.ErrNotFound, `LED "ACT" trigger "x" not found; it can have none, timer, netdev, mmc0`)
	_, _, err = l.Set("PWR", device.LEDSetting{Brightness: 256})
	expect(t, err, device.ErrNotSupport, `LED "PWR": no brightness 256; 0 to 255 are allowed`)
	for _, name := range []string{"x", "", "../leds/ACT", "bad\x01"} {
		_, err := l.Find(name)
		expect(t, err, device.ErrNotFound, "the board has ACT, PWR, bare")
	}
}

// ledChanges is the attributes that an LED did not have before, or has otherwise.
func ledChanges(t *testing.T, r roots, name string) map[string]string {
	t.Helper()
	changed := map[string]string{}
	for _, a := range entries(filepath.Join(r.sys, "class/leds", name)) {
		now, _ := readText(64, r.sys, "class/leds", name, a)
		if was, ok := ledTree["sys/class/leds/"+name+"/"+a]; !ok || strings.TrimSpace(was) != now {
			changed[a] = now
		}
	}
	return changed
}

// A plain file keeps what was written last, so these see what reaches the kernel
// and not what it makes of it.
func TestLEDsGoBackToWhatDroveThem(t *testing.T) {
	r := tree(t, ledTree)
	l := open(r).leds
	_, _, err := l.Set("ACT", device.LEDSetting{Brightness: 1})
	must(t, err)
	if got := ledChanges(t, r, "ACT"); len(got) != 2 || got["trigger"] != "none" || got["brightness"] != "1" {
		t.Errorf("%v", got)
	}
	// What the kernel does with the settings of a trigger that goes, and of one that comes.
	must(t, os.WriteFile(l.path("ACT", "device_name"), nil, 0o644))
	must(t, os.Remove(l.path("ACT", "link")))
	go func() {
		time.Sleep(50 * time.Millisecond)
		os.WriteFile(l.path("ACT", "link"), []byte("0"), 0o644)
	}()
	must(t, l.Release("ACT"))
	if got := ledChanges(t, r, "ACT"); len(got) != 2 || got["trigger"] != "netdev" || got["brightness"] != "1" {
		t.Errorf("%v", got)
	}

	_, _, err = l.Set("PWR", device.LEDSetting{Brightness: 10})
	must(t, err)
	_, _, err = l.Set("PWR", device.LEDSetting{Brightness: 20})
	must(t, err)
	must(t, l.close())
	if got := ledChanges(t, r, "PWR"); len(got) != 1 || got["trigger"] != "none" {
		t.Errorf("%v", got)
	}
}

func TestTimerOfAnLEDGetsItsTimes(t *testing.T) {
	r := tree(t, ledTree)
	l := open(r).leds
	// The kernel makes these a little after the trigger.
	go func() {
		for _, name := range []string{"delay_on", "delay_off"} {
			time.Sleep(50 * time.Millisecond)
			os.WriteFile(l.path("PWR", name), []byte("500"), 0o644)
		}
	}()
	_, _, err := l.Set("PWR", device.LEDSetting{Trigger: "timer", On: 100 * time.Millisecond, Off: 900 * time.Millisecond})
	must(t, err)
	if got := ledChanges(t, r, "PWR"); got["trigger"] != "timer" || got["delay_on"] != "100" || got["delay_off"] != "900" {
		t.Errorf("%v", got)
	}
}

func TestTriggerWithoutItsSettingsIsUndone(t *testing.T) {
	r := tree(t, ledTree)
	_, _, err := open(r).LEDs().Set("PWR", device.LEDSetting{Trigger: "timer", On: time.Second, Off: time.Second})
	expect(t, err, device.ErrUnplugged, "delay_on", "ENOENT")
	if got := ledChanges(t, r, "PWR"); len(got) != 1 || got["trigger"] != "none" { // "[none] timer" again, on a kernel
		t.Errorf("%v", got)
	}
}
