//go:build linux

package linux

import (
	"maps"
	"testing"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

func chipOf(number int, label, parent string, names ...string) *chip {
	c := &chip{name: "gpiochip" + string(rune('0'+number)), number: number, label: label, parent: parent}
	c.lines = make([]line, len(names))
	for i, n := range names {
		c.lines[i] = line{chip: c, offset: uint32(i), kernel: n, fd: -1}
	}
	return c
}

func TestEveryLineHasANameOfItsOwn(t *testing.T) {
	soc := chipOf(1, "pinctrl-bcm2835", "gpio", "ID_SDA", "GPIO1", "", "NC", "NC")
	firmware := chipOf(0, "raspberrypi-exp-gpio", "firmware", "BT_ON", "")
	one := chipOf(2, "pcf8574", "1-0020", "", "")
	two := chipOf(3, "pcf8574", "1-0021", "1-0020:1")
	odd := chipOf(4, "", "", "")
	// Its parent is called as another chip's label.
	twin := chipOf(5, "pcf8574", "raspberrypi-exp-gpio", "", "")
	names := nameLines([]*chip{firmware, soc, one, two, odd, twin})
	for _, w := range []struct {
		line *line
		name string
	}{
		{&firmware.lines[0], "BT_ON"},
		{&firmware.lines[1], "raspberrypi-exp-gpio:1"},
		{&soc.lines[0], "ID_SDA"},
		{&soc.lines[0], "GPIO0"},
		{&soc.lines[1], "GPIO1"},
		{&soc.lines[2], "pinctrl-bcm2835:2"},
		{&soc.lines[2], "GPIO2"},
		{&soc.lines[3], "pinctrl-bcm2835:3"},
		{&soc.lines[4], "pinctrl-bcm2835:4"},
		{&one.lines[0], "1-0020:0"},
		{&one.lines[1], "gpiochip2:1"}, // the kernel gave its name to another
		{&two.lines[0], "1-0020:1"},
		{&odd.lines[0], "gpiochip4:0"},
		{&twin.lines[0], "raspberrypi-exp-gpio:0"},
		{&twin.lines[1], "gpiochip5:1"},
	} {
		if names[w.name] != w.line {
			t.Errorf("%q is %+v", w.name, names[w.name])
		}
	}
	if names["NC"] != nil {
		t.Error("a name that two lines have finds one of them")
	}
}

func TestWhoHasALine(t *testing.T) {
	c := &chip{roots: tree(t, map[string]string{"proc/4321/cmdline": "boardhand\x00serve\x00--config\x00a\nb\x00"})}
	for name, want := range map[string]string{
		"":               "the kernel",
		"?":              "another process",
		"a\x01b":         "another process",
		"\xff":           "another process",
		consumer:         "another boardhand",
		"boardhand 4321": "process 4321 (boardhand serve --config a b)",
		"boardhand 4322": "process 4322",
		"boardhand x":    "boardhand x",
		"GPIO Key Power": "GPIO Key Power",
	} {
		var info uapi.LineInfo
		copy(info.Consumer[:], name)
		if got := c.userOf(&info); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestTheProcessorsOwnChip(t *testing.T) {
	slow := chipOf(0, "pcf8574", "1-0020", "")
	slow.slow = true
	plain, pinctrl := chipOf(1, "9030000.pl061", "", ""), chipOf(2, "pinctrl-rp1", "", "")
	for _, c := range []struct {
		chips []*chip
		want  *chip
	}{
		{[]*chip{slow, plain, pinctrl}, pinctrl},
		{[]*chip{slow, plain}, plain},
		{[]*chip{slow}, slow},
		{nil, nil},
	} {
		if got := processorChip(c.chips); got != c.want {
			t.Errorf("%+v", got)
		}
	}
}

func TestAChipOnABusIsSlow(t *testing.T) {
	r := tree(t, map[string]string{
		"sys/bus/gpio/devices/gpiochip0":                   "-> ../../../devices/platform/soc/gpiochip0",
		"sys/bus/gpio/devices/gpiochip1":                   "-> ../../../devices/platform/soc/i2c-1/1-0020/gpiochip1",
		"sys/bus/gpio/devices/gpiochip2":                   "-> ../../../devices/pci/usb1/1-1/1-1:1.0/gpiochip2",
		"sys/devices/platform/soc/subsystem":               "-> ../../../bus/platform",
		"sys/devices/platform/soc/gpiochip0/":              "",
		"sys/devices/platform/soc/i2c-1/1-0020/subsystem":  "-> ../../../../../bus/i2c",
		"sys/devices/platform/soc/i2c-1/1-0020/gpiochip1/": "",
		"sys/devices/pci/usb1/1-1/1-1:1.0/subsystem":       "-> ../../../../../bus/usb",
		"sys/devices/pci/usb1/1-1/1-1:1.0/gpiochip2/":      "",
	})
	for i, want := range []struct {
		parent string
		slow   bool
	}{{"soc", false}, {"1-0020", true}, {"1-1:1.0", true}, {"", false}} {
		c := chipOf(i, "", "")
		c.place(r)
		if c.parent != want.parent || c.slow != want.slow {
			t.Errorf("chip %d: %q, slow %v", i, c.parent, c.slow)
		}
	}
}

func TestPinsThatCarryADevicesFunction(t *testing.T) {
	cell := func(v ...byte) string {
		s := ""
		for _, b := range v {
			s += "\x00\x00\x00" + string(rune(b))
		}
		return s
	}
	const pi = "proc/device-tree/soc/"
	got := pinFunctions(tree(t, map[string]string{
		pi + "gpio@7e200000/gpio-controller":    "",
		pi + "gpio@7e200000/pinctrl-0":          cell(1),
		pi + "gpio@7e200000/alt0/phandle":       cell(1),
		pi + "gpio@7e200000/alt0/brcm,pins":     cell(4, 5),
		pi + "gpio@7e200000/alt0/brcm,function": cell(4),
		pi + "gpio@7e200000/i2c1/phandle":       cell(2),
		pi + "gpio@7e200000/i2c1/brcm,pins":     cell(2, 3),
		pi + "gpio@7e200000/i2c1/brcm,function": cell(4),
		pi + "gpio@7e200000/cs/phandle":         cell(3),
		pi + "gpio@7e200000/cs/brcm,pins":       cell(7, 8),
		pi + "gpio@7e200000/cs/brcm,function":   cell(1, 4),
		pi + "gpio@7e200000/off/phandle":        cell(4),
		pi + "gpio@7e200000/off/brcm,pins":      cell(20),
		pi + "gpio@7e200000/off/brcm,function":  cell(4),
		pi + "gpio@7e200000/rp1/phandle":        cell(5),
		pi + "gpio@7e200000/rp1/pins":           "gpio14\x00gpio15\x00",
		pi + "gpio@7e200000/rp1/function":       "uart0\x00",
		pi + "gpio@7e200000/led/phandle":        cell(6),
		pi + "gpio@7e200000/led/pins":           "gpio42\x00",
		pi + "gpio@7e200000/led/function":       "gpio\x00",
		pi + "i2c@7e804000/pinctrl-0":           cell(2),
		pi + "i2c@7e804000/status":              "okay\x00",
		pi + "spi@7e204000/pinctrl-0":           cell(3),
		pi + "pcm@7e203000/pinctrl-0":           cell(4),
		pi + "pcm@7e203000/status":              "disabled\x00",
		pi + "serial@7e201000/pinctrl-0":        cell(5, 6),
	}))
	want := map[uint32]string{2: "i2c@7e804000", 3: "i2c@7e804000", 8: "spi@7e204000", 14: "serial@7e201000", 15: "serial@7e201000"}
	if !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}

func TestABadRequestOfManyLinesLeavesTheLevelsAlone(t *testing.T) {
	g := open(tree(t, map[string]string{"dev/gpiochip0": ""})).GPIO()
	levels := []device.Level{7}
	expect(t, g.Read([]string{"GPIO17"}, levels), device.ErrNotSupport, "gpiochip0")
	if levels[0] != 7 {
		t.Error(levels)
	}
}

func TestAKernelWithoutVersion2IsNamed(t *testing.T) {
	r := tree(t, map[string]string{"proc/sys/kernel/osrelease": "5.4.0-rpi\n"})
	c := chipOf(0, "pinctrl-bcm2835", "")
	for _, err := range []error{unix.EINVAL, unix.ENOTTY} {
		expect(t, c.lineInfoError(r, err), device.ErrNotSupport, c.name, "Linux 5.4.0-rpi", "Linux 5.10 or newer")
	}
	expect(t, c.lineInfoError(r, unix.ENODEV), device.ErrUnplugged, c.name, "ENODEV")
}
