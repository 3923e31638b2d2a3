//go:build linux

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// pwmTree is a chip whose channel 0 somebody has opened and set.
var pwmTree = map[string]string{
	"sys/class/pwm/pwmchip0/npwm":            "2\n",
	"sys/class/pwm/pwmchip0/device":          "-> ../../../3f20c000.pwm",
	"sys/class/pwm/pwmchip0/export":          "",
	"sys/class/pwm/pwmchip0/unexport":        "",
	"sys/class/pwm/pwmchip0/pwm0/period":     "20000000\n",
	"sys/class/pwm/pwmchip0/pwm0/duty_cycle": "1500000\n",
	"sys/class/pwm/pwmchip0/pwm0/enable":     "1\n",
	"sys/class/pwm/pwmchip0/pwm0/polarity":   "normal\n",
	"sys/class/pwm/pwmchip3/npwm":            "1\n",
}

// pwmKernel takes or refuses writes as drivers/pwm/sysfs.c and core.c do.
type pwmKernel device.PWMState

func (k *pwmKernel) write(s pwmStep) error {
	next := *k
	n, _ := strconv.Atoi(s.value)
	switch s.attribute {
	case "period":
		next.Period = time.Duration(n)
	case "duty_cycle":
		next.Duty = time.Duration(n)
	case "enable":
		next.Enabled = n == 1
	case "polarity":
		if k.Enabled {
			return unix.EBUSY
		}
		next.Inverted = s.value == "inversed"
	}
	if next.Period == 0 || next.Duty > next.Period {
		return unix.EINVAL
	}
	*k = next
	return nil
}

func TestPWMStepsAreAllTaken(t *testing.T) {
	var states []device.PWMState
	for _, period := range []time.Duration{10, 20, 40} {
		for _, duty := range []time.Duration{0, 5, 10, 20, 40} {
			for _, flags := range []int{0, 1, 2, 3} {
				if duty <= period {
					states = append(states, device.PWMState{Period: period, Duty: duty, Enabled: flags&1 != 0, Inverted: flags&2 != 0})
				}
			}
		}
	}
	for _, now := range append([]device.PWMState{{}}, states...) {
		for _, want := range states {
			k := pwmKernel(now)
			on := 0
			for _, s := range pwmSteps(now, want) {
				if err := k.write(s); err != nil {
					t.Fatalf("%+v to %+v: %+v gives %v at %+v", now, want, s, err, k)
				}
				if k.Enabled {
					on++
				}
			}
			if device.PWMState(k) != want {
				t.Errorf("%+v to %+v ends as %+v", now, want, k)
			}
			if now == want && len(pwmSteps(now, want)) != 0 {
				t.Errorf("%+v: %+v for nothing", now, pwmSteps(now, want))
			}
			if !now.Enabled && !want.Enabled && on > 0 {
				t.Errorf("%+v to %+v is on in between", now, want)
			}
		}
	}
}

func TestPWMChannelsAreListed(t *testing.T) {
	p := open(tree(t, pwmTree)).PWM()
	all, err := p.Channels(nil)
	must(t, err)
	want := []device.PWMChannel{
		{Name: "pwmchip0/0", Device: "3f20c000.pwm", Known: true, PWMState: device.PWMState{Period: 20 * time.Millisecond, Duty: 1500 * time.Microsecond, Enabled: true}},
		{Name: "pwmchip0/1", Device: "3f20c000.pwm"},
		{Name: "pwmchip3/0"},
	}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("%+v", all)
	}
	_, err = p.Find("pwmchip9/0")
	expect(t, err, device.ErrNotFound, `PWM channel "pwmchip9/0" not found; the board has pwmchip0/0, pwmchip0/1, pwmchip3/0`)
}

// kernelExports does what the kernel does with a write to export or unexport: the
// folder of the channel comes and goes, and comes late.
func kernelExports(t *testing.T, r roots, late time.Duration) {
	t.Helper()
	chip := filepath.Join(r.sys, "class/pwm/pwmchip0")
	for _, name := range []string{"export", "unexport"} {
		path := filepath.Join(chip, name)
		must(t, os.Remove(path))
		must(t, unix.Mkfifo(path, 0o600))
		// Opened for both, it never ends.
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		go func() {
			b := make([]byte, 16)
			for {
				n, err := f.Read(b)
				if err != nil {
					return
				}
				dir := filepath.Join(chip, "pwm"+string(b[:n]))
				if name == "unexport" {
					os.RemoveAll(dir)
					continue
				}
				time.Sleep(late)
				os.Mkdir(dir, 0o755)
				for attribute, value := range map[string]string{"duty_cycle": "0", "enable": "0", "polarity": "normal"} {
					os.WriteFile(filepath.Join(dir, attribute), []byte(value+"\n"), 0o644)
				}
				os.WriteFile(filepath.Join(chip, "period"), []byte("0\n"), 0o644)
				os.Rename(filepath.Join(chip, "period"), filepath.Join(dir, "period"))
			}
		}()
	}
}

func TestPWMChannelIsOpenedAndClosedAgain(t *testing.T) {
	r := tree(t, pwmTree)
	kernelExports(t, r, 50*time.Millisecond)
	b := open(r)
	want := device.PWMState{Period: 20 * time.Millisecond, Duty: time.Millisecond, Enabled: true}
	before, after, err := b.PWM().Set("3f20c000.pwm/1", func(device.PWMState) (device.PWMState, error) { return want, nil })
	must(t, err)
	if before != (device.PWMState{}) || after != want {
		t.Errorf("%+v, then %+v", before, after)
	}
	if c, err := b.PWM().Find("pwmchip0/1"); err != nil || !c.Held || !c.Known || c.PWMState != want {
		t.Errorf("%+v %v", c, err)
	}
	must(t, b.Close())
	gone := func() bool {
		_, err := os.Stat(filepath.Join(r.sys, "class/pwm/pwmchip0/pwm1"))
		return os.IsNotExist(err)
	}
	for end := time.Now().Add(5 * time.Second); !gone() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if !gone() {
		t.Error("the channel is still open")
	}
}

func TestOpenPWMChannelGoesBackAndStaysOpen(t *testing.T) {
	r := tree(t, pwmTree)
	b := open(r)
	for _, period := range []time.Duration{time.Millisecond, time.Second} {
		_, _, err := b.PWM().Set("pwmchip0/0", func(device.PWMState) (device.PWMState, error) {
			return device.PWMState{Period: period, Duty: period, Enabled: true, Inverted: true}, nil
		})
		must(t, err)
	}
	must(t, b.Close())
	for attribute, want := range map[string]string{"period": "20000000", "duty_cycle": "1500000", "enable": "1", "polarity": "normal"} {
		if got, _ := readText(32, r.sys, "class/pwm/pwmchip0/pwm0", attribute); got != want {
			t.Errorf("%s is %q, was %q", attribute, got, want)
		}
	}
	if s, _ := readText(32, r.sys, "class/pwm/pwmchip0/unexport"); s != "" {
		t.Errorf("channel %q was closed", s)
	}
}

func TestChannelThatNeverOpensIsAnError(t *testing.T) {
	r := tree(t, pwmTree) // a plain file takes the write, and nothing comes of it
	_, _, err := open(r).PWM().Set("pwmchip0/1", func(s device.PWMState) (device.PWMState, error) { return s, nil })
	expect(t, err, device.ErrUnplugged, "pwmchip0/1", "ENOENT")
}
