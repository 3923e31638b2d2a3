//go:build linux

package linux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
)

var _ device.Board = (*Board)(nil)

func TestAMachineWithoutHardwareHasNoFamily(t *testing.T) {
	b := open(tree(t, nil))
	if b.GPIO() != nil || b.I2C() != nil || b.Sensors() != nil || b.Usable() {
		t.Errorf("%v %v %v, usable %v", b.GPIO(), b.I2C(), b.Sensors(), b.Usable())
	}
	must(t, b.Close())
	must(t, b.Close())
}

func TestHardwareThatCannotBeUsedIsAFamilyThatSaysWhy(t *testing.T) {
	b := open(tree(t, map[string]string{"dev/gpiochip0": "", "dev/gpiochipX": "", "sys/bus/i2c/devices/i2c-1/name": "x\n"}))
	if b.Usable() {
		t.Error("usable")
	}
	_, err := b.GPIO().Lines(nil)
	expect(t, err, device.ErrNotSupport, "gpiochip0", noDevice(t))
	expect(t, b.I2C().Transfer(1, 0x50, nil, make([]byte, 1)), device.ErrNotSupport, "i2c-1", "modprobe i2c-dev")
}

func TestAClosedBoardReadsNoMore(t *testing.T) {
	r := tree(t, map[string]string{"dev/gpiochip0": "", "dev/i2c-1": "", "sys/class/hwmon/hwmon0/name": "x\n", "sys/class/hwmon/hwmon0/temp1_input": "1\n"})
	contract.Close(t, func() device.Board { return open(r) }, contract.GPIOWiring{})
}

// expect fails unless err is a *device.Error of the kind whose text has all words.
func expect(t *testing.T, err, kind error, words ...string) {
	t.Helper()
	var e *device.Error
	if !errors.As(err, &e) || !errors.Is(err, kind) {
		t.Errorf("error %v (%T), want one that is %q", err, err, kind)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestInfo(t *testing.T) {
	common := map[string]string{
		"proc/sys/kernel/osrelease": "6.1.0-rpi\n",
		"proc/sys/kernel/hostname":  "pump-house\n",
		"proc/uptime":               "3725.48 7000.11\n",
		"proc/meminfo":              "MemTotal:         439404 kB\nMemFree:           11 kB\nMemAvailable:     300004 kB\n",
	}
	for _, c := range []struct {
		name  string
		more  map[string]string
		model string
		cpus  int
	}{
		{"device tree", map[string]string{"proc/device-tree/model": "Raspberry Pi Zero W Rev 1.1\x00", "sys/devices/system/cpu/online": "0\n"}, "Raspberry Pi Zero W Rev 1.1", 1},
		{"DMI", map[string]string{"sys/class/dmi/id/sys_vendor": "ACME\n", "sys/class/dmi/id/product_name": "Box 3000\n", "sys/devices/system/cpu/online": "0-2,5,7-8\n"}, "ACME Box 3000", 6},
		{"device tree before DMI", map[string]string{"proc/device-tree/model": "a", "sys/class/dmi/id/product_name": "b", "sys/devices/system/cpu/online": "0-3"}, "a", 4},
		{"model with rubbish", map[string]string{"proc/device-tree/model": "a\x01b\xff", "sys/class/dmi/id/product_name": "b", "sys/devices/system/cpu/online": "0-1"}, "b", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			for k, v := range common {
				files[k] = v
			}
			for k, v := range c.more {
				files[k] = v
			}
			got := open(tree(t, files)).Info()
			want := device.Info{Model: c.model, Hostname: "pump-house", Kernel: "Linux 6.1.0-rpi", Arch: got.Arch, CPUs: c.cpus,
				MemTotal: 439404 << 10, MemFree: 300004 << 10, Uptime: 3725*time.Second + 480*time.Millisecond}
			if got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			contract.Info(t, open(tree(t, files)))
		})
	}
}

func TestErrorsSayWhatTheNumberMeans(t *testing.T) {
	for _, c := range []struct {
		errno  unix.Errno
		family []meaning
		kind   error
		want   string
	}{
		{unix.ENXIO, busMeanings, device.ErrNoAck, "s: no acknowledge (ENXIO); check the wiring and the address with i2c_scan"},
		{unix.EREMOTEIO, busMeanings, device.ErrNoAck, "s: no acknowledge, or on a Raspberry Pi a device that stretches the clock (EREMOTEIO); check the wiring and the address with i2c_scan"},
		{unix.ETIMEDOUT, busMeanings, device.ErrTimeout, "s: timed out: a device holds SDA or SCL low, or pull-ups are missing (ETIMEDOUT); check the wiring; a power cycle frees a stuck device"},
		{unix.EAGAIN, busMeanings, unix.EAGAIN, "s: another master took the bus, or SDA is held low (EAGAIN); try again"},
		{unix.EINTR, busMeanings, unix.EINTR, "s: interrupted, outcome unknown (EINTR); a device may have acted: read it before you write again"},
		{unix.EINTR, gpioMeanings, unix.EINTR, "s: interrupted, outcome unknown (EINTR); read the line to see how it stands"},
		{unix.EPERM, gpioMeanings, device.ErrNotSupport, "s: the kernel does not let it be driven this way (EPERM)"},
		{unix.ENODEV, gpioMeanings, device.ErrUnplugged, "s: the device is gone (ENODEV); check that it is plugged in"},
		{enotsupp, gpioMeanings, device.ErrNotSupport, "s: not supported by the kernel's driver (ENOTSUPP)"},
		{unix.EIO, sensorMeanings, unix.EIO, "s: the sensor does not answer (EIO); check its wiring and power"},
		{unix.ENODATA, sensorMeanings, unix.ENODATA, "s: the sensor has no value now: it is switched off or not ready (ENODATA); try again"},
		{unix.ELOOP, nil, unix.ELOOP, "s: too many levels of symbolic links (ELOOP)"},
		{unix.Errno(999), nil, unix.Errno(999), "s: errno 999 (errno 999)"},
	} {
		err := explain("s", &os.PathError{Op: "read", Path: "p", Err: c.errno}, c.family)
		if err.Error() != c.want || !errors.Is(err, c.kind) {
			t.Errorf("got  %q\nwant %q, %v", err, c.want, c.kind)
		}
	}
}

func TestADeniedNodeNamesTheGroupToJoin(t *testing.T) {
	r := tree(t, map[string]string{"dev/gpiochip0": "", "etc/group": "root:x:0:\ngpio:x:997:pi\n"})
	path := filepath.Join(r.dev, "gpiochip0")
	must(t, os.Chmod(path, 0o660))
	if os.Chown(path, 0, 997) != nil {
		t.Skip("only root may give the node a group")
	}
	err := openError(r, path, unix.EACCES, nil)
	expect(t, err, device.ErrPermission, path, "EACCES", "sudo usermod -aG gpio $USER")
	must(t, os.Chmod(path, 0o600))
	expect(t, openError(r, path, unix.EACCES, nil), device.ErrPermission, "EACCES", "only root")
	expect(t, openError(r, path, unix.EPERM, nil), device.ErrPermission, "EPERM", "container", path)
}
