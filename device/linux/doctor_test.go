//go:build linux

package linux

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// patient is a machine as a user meets it.
type patient struct {
	files map[string]string
	uid   int
	// rights is what access(2) says of a path below the root, where it is not 0.
	rights map[string]unix.Errno
	groups map[string]int // of nodes, where they are not root's
	want   string
}

// named is files of the same content.
func named(content string, paths ...string) map[string]string {
	all := map[string]string{}
	for _, p := range paths {
		all[p] = content
	}
	return all
}

var etc = map[string]string{
	"etc/passwd": "root:x:0:0:root:/root:/bin/bash\npi:x:1000:1000:,,,:/home/pi:/bin/bash\n",
	"etc/group":  "root:x:0:\ndialout:x:20:pi\ngpio:x:997:pi\ni2c:x:998:\nspi:x:999:\npi:x:1000:\n",
	"proc/self/": "",
	"sys/class/": "",
}

var patients = map[string]patient{
	"a Pi as it comes": {
		uid: 1000,
		files: together(etc, map[string]string{
			"proc/device-tree/model":         "Raspberry Pi Zero 2 W Rev 1.0\x00",
			"proc/sys/kernel/osrelease":      "6.1.21-v8+\n",
			"proc/cmdline":                   "console=ttyS0,115200 console=tty1 root=PARTUUID=1 rootwait\n",
			"proc/412/stat":                  "412 (agetty) S 1 0 0 0 -1 0 0\n",
			"proc/412/cmdline":               "/sbin/agetty\x00-o\x00-p -- \\u\x00115200,38400\x00ttyS0\x00vt220\x00",
			"proc/1/stat":                    "1 (systemd) S 1 0 0 0 -1 0 0\n",
			"proc/1/fd/7":                    "-> /dev/watchdog0",
			"run/systemd/system/":            "",
			"usr/bin/raspi-config":           "",
			"boot/firmware/config.txt":       "",
			"boot/firmware/cmdline.txt":      "",
			"dev/gpiochip0":                  "",
			"sys/bus/gpio/devices/gpiochip0": "-> ../../../devices/platform/soc/3f200000.gpio/gpiochip0",
			"sys/devices/platform/soc/3f200000.gpio/gpiochip0/dev": "",
			"sys/bus/i2c/devices/i2c-2/name":                       "bcm2835 (i2c@7e805000)\n",
			"sys/class/tty/tty1/dev":                               "",
			"sys/class/tty/ttyS0/type":                             "4\n",
			"sys/class/tty/ttyS0/device/driver":                    "-> ../../../../bus/platform/drivers/bcm2835-aux-uart",
			"sys/class/tty/ttyS1/type":                             "0\n",
			"sys/class/tty/ttyS1/device/x":                         "",
			"dev/ttyS0":                                            "",
			"sys/class/thermal/thermal_zone0/type":                 "cpu-thermal\n",
			"sys/class/thermal/thermal_zone0/temp":                 "40000\n",
			"sys/class/leds/ACT/trigger":                           "none rc-feedback [mmc0] timer\n",
			"sys/class/leds/ACT/brightness":                        "0\n",
			"sys/class/leds/PWR/trigger":                           "[none] timer\n",
			"sys/class/leds/PWR/brightness":                        "0\n",
			"sys/class/watchdog/watchdog0/identity":                "Broadcom BCM2835 Watchdog timer\n",
			"sys/class/watchdog/watchdog0/state":                   "active\n",
			"sys/class/watchdog/watchdog0/timeout":                 "15\n",
			"dev/watchdog0":                                        "",
		}),
		rights: map[string]unix.Errno{"dev/gpiochip0": unix.EACCES, "sys/class/leds/ACT/brightness": unix.EACCES, "sys/class/leds/PWR/brightness": unix.EACCES},
		groups: map[string]int{"dev/gpiochip0": 997, "dev/ttyS0": 20},
		want: `
Raspberry Pi Zero 2 W Rev 1.0, Linux 6.1.21-v8+, as pi (1000 of dialout pi)
unusable GPIO gpiochip0: no right to open /dev/gpiochip0
  > log in again: you are in the group gpio, but not yet in this session
unusable I2C i2c-2: the kernel has it, but there is no /dev/i2c-2
  > sudo modprobe i2c-dev
  > echo i2c-dev | sudo tee /etc/modules-load.d/i2c-dev.conf
absent SPI : no controller
  > sudo raspi-config nonint do_spi 0
  > sudo reboot
unusable UART ttyS0: has a login prompt and the kernel's messages [agetty (412)]
  > sudo systemctl disable --now serial-getty@ttyS0
  > take console=ttyS0,115200 out of /boot/firmware/cmdline.txt
  > sudo reboot
usable sensors : 1 thermal
absent PWM : no chip
  > add dtoverlay=pwm to /boot/firmware/config.txt
  > sudo reboot
unusable LED ACT: no right to write /sys/class/leds/ACT/brightness [the kernel's trigger mmc0]
  > sudo chown $USER /sys/class/leds/*/{brightness,trigger}
unusable LED PWR: no right to write /sys/class/leds/PWR/brightness
absent CAN : no interface
absent 1-Wire : no bus
  > sudo raspi-config nonint do_onewire 0
  > sudo reboot
owned watchdog watchdog0: Broadcom BCM2835 Watchdog timer, fed within 15 s or the machine starts anew [systemd (1)]
`,
	},
	"an industrial box, all set up": {
		uid: 0,
		files: together(etc, named("", "dev/gpiochip0", "dev/i2c-0", "dev/spidev0.0", "dev/ttymxc1", "dev/ttyUSB0", "dev/ttyGS0",
			"sys/class/spi_master/spi0/x", "sys/class/tty/ttymxc1/device/x", "sys/class/tty/ttyUSB0/device/x", "sys/class/tty/ttyGS0/dev", "sys/class/pwm/pwmchip0/export"), map[string]string{
			"proc/device-tree/model":                "Box\x00",
			"proc/sys/kernel/osrelease":             "5.10.0\n",
			"sys/bus/i2c/devices/i2c-0/name":        "21a0000.i2c\n",
			"sys/bus/i2c/devices/0-0068/driver":     "-> ../../../../bus/i2c/drivers/rtc-ds1307",
			"sys/bus/i2c/devices/0-0050/driver":     "-> ../../../../bus/i2c/drivers/at24",
			"sys/bus/i2c/devices/0-0051/name":       "unbound\n",
			"sys/bus/spi/devices/spi0.0/driver":     "-> ../../../../bus/spi/drivers/spidev",
			"sys/bus/spi/devices/spi0.1/driver":     "-> ../../../../bus/spi/drivers/mcp251x",
			"proc/77/stat":                          "77 (modbusd) S 1 0 0 0 -1 0 0\n",
			"proc/77/fd/3":                          "-> /dev/ttyUSB0",
			"sys/class/pwm/pwmchip0/npwm":           "4\n",
			"sys/class/net/can0/type":               "280\n",
			"sys/class/net/can0/flags":              "0x40080\n",
			"sys/class/net/can0/device/driver":      "-> ../../../../bus/spi/drivers/mcp251x",
			"sys/class/net/vcan0/type":              "280\n",
			"sys/class/net/vcan0/flags":             "0xc1\n",
			"sys/class/net/eth0/type":               "1\n",
			"sys/class/watchdog/watchdog0/identity": "imx2+ watchdog\n",
			"sys/class/watchdog/watchdog0/state":    "inactive\n",
		}, w1Tree, map[string]string{"sys/devices/w1_bus_master1/w1_master_slaves": "28-000000000001\n10-00000000000a\n"}),
		want: `
Box, Linux 5.10.0, as root (0 of dialout pi)
usable GPIO gpiochip0: 
usable I2C i2c-0: 21a0000.i2c [the kernel at 0x50 at24, 0x68 rtc-ds1307]
usable SPI spidev0.0: 
owned SPI spi0.1:  [the kernel's driver mcp251x]
usable UART ttyGS0: 
owned UART ttyUSB0:  [modbusd (77)]
usable UART ttymxc1: 
usable sensors : 13 w1
usable PWM pwmchip0: 4 channels
absent LED : none
unusable CAN can0: is down
  > sudo ip link set can0 up type can bitrate 500000
usable CAN vcan0: virtual
usable 1-Wire w1_bus_master1: 2 devices
usable watchdog watchdog0: imx2+ watchdog, idle
`,
	},
	"an old kernel without a driver for the thermometer": {
		uid: 1000,
		files: together(etc, named("", "dev/gpiochip0", "dev/i2c-1", "dev/ttyO0", "sys/class/tty/ttyO0/device/x"), map[string]string{
			"proc/sys/kernel/osrelease":                          "4.19.94-ti-r42\n",
			"proc/device-tree/model":                             "TI AM335x BeagleBone Black\x00",
			"proc/cmdline":                                       "console=ttyO0,115200n8\n",
			"sys/bus/w1/devices/w1_bus_master1/w1_master_slaves": "28-0000000000ff\n",
			"sys/bus/w1/devices/28-0000000000ff/id":              "x",
			"sys/bus/spi/devices/spi1.0/modalias":                "spi:adxl345\n",
		}),
		rights: map[string]unix.Errno{"dev/i2c-1": unix.EACCES, "dev/ttyO0": unix.EACCES},
		groups: map[string]int{"dev/i2c-1": 998},
		want: `
TI AM335x BeagleBone Black, Linux 4.19.94-ti-r42, as pi (1000 of dialout pi)
unusable GPIO gpiochip0: this kernel has no GPIO uAPI version 2, which came with Linux 5.10
  > boot Linux 5.10 or newer
unusable I2C i2c-1: no right to open /dev/i2c-1
  > sudo usermod -aG i2c $USER
  > log in again
unusable SPI spi1.0: no driver is bound to spi:adxl345
  > sudo modprobe spidev
unusable UART ttyO0: has the kernel's messages [the kernel]
  > take console=ttyO0,115200n8 out of the boot loader's kernel command line
  > sudo reboot
absent sensors : none that the kernel knows
absent PWM : no chip
absent LED : none
absent CAN : no interface
unusable 1-Wire w1_bus_master1: no driver is bound to the thermometer 28-0000000000ff
  > sudo modprobe w1-therm
absent watchdog : none
`,
	},
	"a container on a Pi": {
		uid: 4711,
		files: together(etc, map[string]string{
			".dockerenv":                         "",
			"proc/sys/kernel/osrelease":          "6.6.0\n",
			"proc/self/mountinfo":                "20 1 0:5 / /proc rw - proc proc rw\n21 1 0:6 / /sys ro,nosuid - sysfs sysfs ro\n",
			"sys/bus/gpio/devices/gpiochip0/dev": "",
			"sys/bus/gpio/devices/gpiochip1/dev": "",
			"sys/bus/i2c/devices/i2c-1/name":     "bcm\x1b[2J\n",
			"sys/bus/spi/devices/spi0.0/driver":  "-> ../../../../bus/spi/drivers/spidev",
			"sys/class/gpio/export":              "",
			"dev/ttyAMA0":                        "",
			"sys/class/tty/ttyAMA0/device/x":     "",
		}),
		rights: map[string]unix.Errno{"dev/ttyAMA0": unix.EPERM},
		want: `
Linux on ARCH, Linux 6.6.0, as 4711 (4711 of dialout pi)
unusable system docker: the container was not given /dev/gpiochip0, /dev/gpiochip1, /dev/i2c-1 and 1 more
  > pass in each that is needed: docker run --device /dev/gpiochip0 ...
unusable system /sys: is read-only: no PWM, LED or sensor's buffer can be set
  > pass it in: docker run -v /sys:/sys ...
unusable GPIO gpiochip0: the kernel has it, but there is no /dev/gpiochip0
unusable GPIO gpiochip1: the kernel has it, but there is no /dev/gpiochip1
unusable I2C i2c-1: the kernel has it, but there is no /dev/i2c-1
  > sudo modprobe i2c-dev
  > echo i2c-dev | sudo tee /etc/modules-load.d/i2c-dev.conf
unusable SPI spidev0.0: the kernel has it, but there is no /dev/spidev0.0
unusable UART ttyAMA0: a container or a security policy forbids /dev/ttyAMA0
  > pass it in, as with docker run --device /dev/ttyAMA0
absent sensors : none that the kernel knows
absent PWM : no chip
absent LED : none
absent CAN : no interface
absent 1-Wire : no bus
absent watchdog : none
`,
	},
	"nothing mounted": {
		uid:   0,
		files: map[string]string{},
		want: `
Linux on ARCH, Linux, as 0 (0 of 1000 20)
unusable system /sys: sysfs is not mounted
  > sudo mount -t sysfs sysfs /sys
unusable system /proc: is not mounted
  > sudo mount -t proc proc /proc
absent GPIO : no GPIO chip
absent I2C : no bus
absent SPI : no controller
absent UART : no serial port
absent sensors : none that the kernel knows
absent PWM : no chip
absent LED : none
absent CAN : no interface
absent 1-Wire : no bus
absent watchdog : none
`,
	},
}

// see examines a patient.
func (p patient) see(t *testing.T) device.Diagnosis {
	t.Helper()
	r := tree(t, p.files)
	root := filepath.Dir(r.sys)
	below := func(path string) string { return strings.TrimPrefix(path, root+"/") }
	d := &doctor{
		roots: r, uid: p.uid, groups: []int{1000, 20, 1000},
		may: func(path string, mode uint32) error {
			if errno := p.rights[below(path)]; errno != 0 {
				return errno
			}
			if _, err := os.Stat(path); err != nil {
				return unix.ENOENT
			}
			return nil
		},
		group: func(path string) (int, uint32) { return p.groups[below(path)], 0o660 },
	}
	return d.examine()
}

func TestExaminations(t *testing.T) {
	for name, p := range patients {
		t.Run(name, func(t *testing.T) {
			d := p.see(t)
			var got strings.Builder
			fmt.Fprintf(&got, "%s, %s, as %s (%d of %s)\n", strings.Replace(d.Info.Model, d.Info.Arch, "ARCH", 1), d.Info.Kernel, d.User, p.uid, strings.Join(d.Groups, " "))
			unusable := 0
			for _, f := range d.Findings {
				fmt.Fprintf(&got, "%s %s %s: %s", f.Condition, f.Family, f.Name, f.Detail)
				if f.Owner != "" {
					fmt.Fprintf(&got, " [%s]", f.Owner)
				}
				got.WriteByte('\n')
				for _, line := range f.Mend {
					fmt.Fprintf(&got, "  > %s\n", line)
				}
				if f.Condition == device.FoundUnusable {
					unusable++
				} else if len(f.Mend) > 0 && f.Condition != device.FoundAbsent {
					t.Errorf("%s %s is %s and to be mended", f.Family, f.Name, f.Condition)
				}
			}
			if want := strings.TrimPrefix(p.want, "\n"); got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
			if d.Well() != (unusable == 0) {
				t.Errorf("well: %v, with %d unusable", d.Well(), unusable)
			}
		})
	}
}

func TestAnExaminationHasALimit(t *testing.T) {
	files := maps.Clone(etc)
	for n := range 100 {
		files[fmt.Sprintf("sys/bus/i2c/devices/i2c-%d/name", n)] = "x\n"
		files[fmt.Sprintf("dev/i2c-%d", n)] = ""
	}
	d := patient{files: files}.see(t)
	buses := 0
	for _, f := range d.Findings {
		if f.Family == "I2C" {
			buses++
			if buses > maxFindings && f.Detail != "and 84 more" {
				t.Errorf("%+v", f)
			}
		}
	}
	if buses != maxFindings+1 {
		t.Errorf("%d findings of 100 buses", buses)
	}
}

func TestThisMachineIsExamined(t *testing.T) {
	d, err := Examine()
	if err != nil || d.Info.Model == "" || d.User == "" || len(d.Findings) < 10 {
		t.Errorf("%+v, %v", d, err)
	}
}

func TestKernelVersionsAreCompared(t *testing.T) {
	for kernel, want := range map[string]bool{"Linux 5.10.0": true, "Linux 5.9.16": false, "Linux 4.19": false, "Linux 6.1.0-50-arm64": true,
		"Linux": true, "Linux x.y": true, "Linux 5.4-rc1": false, "Linux 10.0": true} {
		if kernelAtLeast(kernel, 5, 10) != want {
			t.Error(kernel)
		}
	}
}
