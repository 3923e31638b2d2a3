//go:build linux

package linux

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// What has no owner in the kernel has one by a lock, which names the process.
func TestTwoBoardsDoNotSetOneThing(t *testing.T) {
	r := tree(t, map[string]string{
		"sys/class/leds/ACT/brightness":          "0\n",
		"sys/class/leds/ACT/max_brightness":      "1\n",
		"sys/class/pwm/pwmchip0/npwm":            "1\n",
		"sys/class/pwm/pwmchip0/pwm0/period":     "1000\n",
		"sys/class/pwm/pwmchip0/pwm0/enable":     "1\n",
		"sys/class/pwm/pwmchip0/pwm0/polarity":   "normal\n",
		"sys/class/pwm/pwmchip0/pwm0/duty_cycle": "0\n",
	})
	r.proc = "/proc"
	one, other := open(r), open(r)
	defer other.Close()
	setLED := func(b *Board) error {
		_, _, err := b.LEDs().Set("ACT", device.LEDSetting{Brightness: 1})
		return err
	}
	setPWM := func(b *Board) error {
		_, _, err := b.PWM().Set("pwmchip0/0", func(s device.PWMState) (device.PWMState, error) { s.Duty = 500; return s, nil })
		return err
	}
	for name, set := range map[string]func(*Board) error{`LED "ACT"`: setLED, "pwmchip0/0": setPWM} {
		must(t, set(one))
		must(t, set(one))
		err := set(other)
		refusedAs(t, err, device.ErrBusy)
		if me := fmt.Sprintf("%s: in use by process %d (%s", name, os.Getpid(), os.Args[0][:20]); err != nil && !strings.HasPrefix(err.Error(), me) {
			t.Errorf("%v; want %s...", err, me)
		}
	}
	must(t, other.LEDs().Release("ACT"))
	must(t, one.LEDs().Release("ACT"))
	must(t, setLED(other))
	must(t, one.Close())
	must(t, setPWM(other))
}

func refusedAs(t *testing.T, err, kind error) {
	t.Helper()
	if e, ok := err.(*device.Error); !ok || e.Kind != kind {
		t.Errorf("%v, want one that is %q", err, kind)
	}
}

// The lock of a process that was killed is gone.
func TestLockGoesWithItsProcess(t *testing.T) {
	dir := t.TempDir()
	if lock := os.Getenv("HOLDER_TEST_FOLDER"); lock != "" {
		f, err := os.Open(lock)
		must(t, err)
		must(t, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
		fmt.Println("locked")
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestLockGoesWithItsProcess$")
	cmd.Env = append(os.Environ(), "HOLDER_TEST_FOLDER="+dir)
	out, err := cmd.StdoutPipe()
	must(t, err)
	if err := cmd.Start(); err != nil {
		t.Skipf("this program cannot start itself, as under an emulator: %v", err)
	}
	defer cmd.Process.Kill()
	if _, err := out.Read(make([]byte, 7)); err != nil {
		t.Skipf("the other process: %v", err)
	}
	r := roots{"/dev", "/sys", "/proc"}
	_, err = lockFolder(r, "it", dir, nil)
	refusedAs(t, err, device.ErrBusy)
	if want := fmt.Sprintf("it: in use by process %d (%s -test.run", cmd.Process.Pid, os.Args[0]); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v; want %s", err, want)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	f, err := lockFolder(r, "it", dir, nil)
	must(t, err)
	f.Close()
	if _, err := lockFolder(r, "it", filepath.Join(dir, "gone"), nil); err == nil {
		t.Error("a folder that is not there was locked")
	}
}
