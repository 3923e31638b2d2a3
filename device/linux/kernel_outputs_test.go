//go:build linux

package linux

import (
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
)

// More keys of BOARDHAND_KERNEL, see kernel_test.go:
//
//	spi       an SPI device; after spiwrite it gives spiread, in modes 0 and 3 (hex)
//	spiowned  one that a kernel driver works
//	spijam    one whose transfers time out
//	pwm       a PWM channel that may be driven
//	led       an LED that may be driven; it must have the trigger timer
//	watchdog  the identity of a watchdog that nobody has started, + for a blank

func TestKernelSPI(t *testing.T) {
	m := kernel(t)
	if m["spi"] == "" {
		t.Skip("no SPI device to test on")
	}
	write, err := hex.DecodeString(m["spiwrite"])
	must(t, err)
	read, err := hex.DecodeString(m["spiread"])
	must(t, err)
	b := openReal(t)
	devices, err := b.SPI().Devices(nil)
	must(t, err)
	t.Logf("%+v, buffer %d", devices, b.spi.spiBuffer())
	contract.SPI(t, b, contract.SPIWiring{Device: m["spi"], Write: write, Read: read, Owned: m["spiowned"]})
	t.Run("the whole buffer, and one byte more", func(t *testing.T) {
		n := b.spi.spiBuffer()
		in := make([]byte, n)
		must(t, b.SPI().Transfer(m["spi"], device.SPIConfig{}, []device.SPISegment{{Write: make([]byte, n), Read: in}}))
		err := b.SPI().Transfer(m["spi"], device.SPIConfig{}, []device.SPISegment{{Read: make([]byte, n+1)}})
		expect(t, err, device.ErrNotSupport, m["spi"], strconv.Itoa(n+1), strconv.Itoa(n))
	})
	t.Run("other words are sent or refused in words", func(t *testing.T) {
		for _, c := range []device.SPIConfig{{Bits: 16}, {Bits: 12}, {Bits: 32}, {LSBFirst: true}} {
			err := b.SPI().Transfer(m["spi"], c, []device.SPISegment{{Write: []byte{0, 0, 0, 0}, Read: make([]byte, 4)}})
			t.Logf("%+v: %v", c, err)
			if err != nil {
				expect(t, err, device.ErrNotSupport, m["spi"], "EINVAL")
			}
		}
	})
	contract.SPIEnds(t, b, m["spi"])
}

func TestKernelSPIThatHangs(t *testing.T) {
	m := kernel(t)
	if m["spijam"] == "" {
		t.Skip("no SPI device that hangs")
	}
	err := openReal(t).SPI().Transfer(m["spijam"], device.SPIConfig{}, []device.SPISegment{{Write: []byte{0x9f}}})
	expect(t, err, device.ErrTimeout, m["spijam"], "ETIMEDOUT")
}

func TestKernelPWM(t *testing.T) {
	m := kernel(t)
	if m["pwm"] == "" {
		t.Skip("no PWM channel to test on")
	}
	b := openReal(t)
	all, err := b.PWM().Channels(nil)
	t.Logf("%+v %v", all, err)
	contract.PWM(t, func() device.Board { return openReal(t) }, m["pwm"])
	t.Run("is closed again", func(t *testing.T) {
		at, err := b.pwm.find(m["pwm"])
		must(t, err)
		must(t, b.pwm.unexport(at)) // which was left as Rest said
		another := openReal(t)
		_, _, err = another.PWM().Set(m["pwm"], func(device.PWMState) (device.PWMState, error) {
			return device.PWMState{Period: 20 * time.Millisecond, Duty: time.Millisecond, Enabled: true}, nil
		})
		must(t, err)
		must(t, another.Close())
		if c, err := b.PWM().Find(m["pwm"]); err != nil || c.Known {
			t.Errorf("%+v %v", c, err)
		}
	})
}

func TestKernelLED(t *testing.T) {
	m := kernel(t)
	if m["led"] == "" {
		t.Skip("no LED to test on")
	}
	b := openReal(t)
	all, err := b.LEDs().List(nil)
	t.Logf("%+v %v", all, err)
	triggers, err := b.LEDs().Triggers(m["led"], nil)
	t.Logf("%q %v", triggers, err)
	contract.LEDs(t, func() device.Board { return openReal(t) }, m["led"])
	t.Run("the timer and its times come back", func(t *testing.T) {
		l := b.leds
		for _, w := range [][2]string{{"trigger", "timer"}, {"delay_on", "100"}, {"delay_off", "900"}} { // as somebody else has it
			must(t, os.WriteFile(l.path(m["led"], w[0]), []byte(w[1]), 0))
		}
		another := openReal(t)
		_, _, err := another.LEDs().Set(m["led"], device.LEDSetting{Brightness: 1})
		must(t, err)
		must(t, another.Close())
		if led, err := l.Find(m["led"]); err != nil || led.Trigger != "timer" {
			t.Errorf("%+v %v", led, err)
		}
		if on, off := whole(l.path(m["led"], "delay_on")), whole(l.path(m["led"], "delay_off")); on != 100 || off != 900 {
			t.Errorf("%d and %d ms", on, off)
		}
		must(t, os.WriteFile(l.path(m["led"], "trigger"), []byte("none"), 0))
	})
}

func TestKernelSystem(t *testing.T) {
	m := kernel(t)
	b := openReal(t)
	st, err := b.System().Status()
	must(t, err)
	t.Logf("%+v", st)
	for _, n := range st.Networks {
		if n.Name == "" {
			t.Errorf("%+v", n)
		}
	}
	if len(st.Storage) == 0 {
		t.Log("no file system keeps anything here")
	}
	if want := strings.ReplaceAll(m["watchdog"], "+", " "); want != "" {
		found := fmt.Sprintf("%+v", st.Watchdogs)
		if !strings.Contains(found, want) || !strings.Contains(found, "State:inactive") {
			t.Errorf("%s, want %q inactive", found, want)
		}
		time.Sleep(2 * time.Second) // one that had been opened would count
		if again, _ := b.System().Status(); fmt.Sprintf("%+v", again.Watchdogs) != found {
			t.Errorf("%+v, was %s", again.Watchdogs, found)
		}
	}
	must(t, unix.Access("/proc/uptime", unix.R_OK))
	contract.System(t, b)
}
