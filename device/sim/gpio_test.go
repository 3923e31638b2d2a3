package sim

import (
	"testing"

	"boardhand/device"
)

func levelOf(t *testing.T, b *Board, name string) device.Level {
	t.Helper()
	var l [1]device.Level
	if err := b.gpio.Read([]string{name}, l[:]); err != nil {
		t.Fatal(err)
	}
	return l[0]
}

func drive(t *testing.T, b *Board, name string, l device.Level) {
	t.Helper()
	if _, err := b.gpio.Write(name, l); err != nil {
		t.Fatal(err)
	}
}

func TestLinesOfThePi(t *testing.T) {
	b := opened(t, Wiring{})
	lines, err := b.gpio.Lines(nil)
	if err != nil || len(lines) != 54 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for alias, want := range map[string]string{
		"GPIO0": "ID_SDA", "GPIO1": "ID_SCL", "GPIO17": "GPIO17", "GPIO29": "STATUS_LED_N", "GPIO53": "SD_DATA3_R",
	} {
		if l, err := b.gpio.Find(alias); err != nil || l.Name != want {
			t.Errorf("%s is %q (%v), want %q", alias, l.Name, err, want)
		}
	}
	owners := map[string]string{"GPIO7": "spi0 CS1", "GPIO8": "spi0 CS0", "STATUS_LED_N": "ACT",
		"HDMI_HPD_N": "hpd", "WL_ON": "reset", "BT_ON": "shutdown"}
	for _, l := range lines {
		if l.Chip != "gpiochip0" || l.Owner != owners[l.Name] || l.Held || l.Slow {
			t.Errorf("%+v", l)
		}
	}
}

func TestAnInputFollowsItsPull(t *testing.T) {
	b := opened(t, Wiring{})
	for name, want := range map[string]device.Level{"GPIO4": device.High, "GPIO22": device.Low, "GPIO17": device.Low} {
		if got := levelOf(t, b, name); got != want {
			t.Errorf("%s is %d, want %d", name, got, want)
		}
	}
}

func TestWires(t *testing.T) {
	t.Run("tie in both ways and through each other", func(t *testing.T) {
		b := opened(t, Wiring{Wires: []Wire{{"GPIO10", "GPIO11"}, {"GPIO12", "GPIO13"}, {"GPIO11", "GPIO12"}, {"GPIO10", "GPIO13"}}})
		for _, l := range []device.Level{device.High, device.Low, device.High} {
			drive(t, b, "GPIO13", l)
			for _, name := range []string{"GPIO10", "GPIO11", "GPIO12", "GPIO13"} {
				if got := levelOf(t, b, name); got != l {
					t.Errorf("%s is %d, want %d", name, got, l)
				}
			}
		}
		if levelOf(t, b, "GPIO27") != device.Low || levelOf(t, b, "GPIO14") != device.Low {
			t.Error("a line beyond the wire moved")
		}
	})
	t.Run("a low output wins and a pull-up wins", func(t *testing.T) {
		b := opened(t, Wiring{Wires: []Wire{{"GPIO4", "GPIO22"}}})
		if levelOf(t, b, "GPIO22") != device.High {
			t.Error("the pull-up of GPIO4 is not seen on GPIO22")
		}
		drive(t, b, "GPIO4", device.High)
		before, err := b.gpio.Write("GPIO22", device.Low)
		if err != nil || before != (device.State{Direction: device.In, Level: device.High}) {
			t.Errorf("%+v, %v", before, err)
		}
		if levelOf(t, b, "GPIO4") != device.Low {
			t.Error("two outputs against each other are not low")
		}
	})
	t.Run("none where the list is empty", func(t *testing.T) {
		b := opened(t, Wiring{Wires: []Wire{}})
		drive(t, b, "GPIO17", device.High)
		if levelOf(t, b, "GPIO27") != device.Low {
			t.Error("GPIO27 is tied")
		}
	})
	t.Run("an owned output drives its wire", func(t *testing.T) {
		b := opened(t, Wiring{Wires: []Wire{{"GPIO8", "GPIO25"}}})
		if levelOf(t, b, "GPIO25") != device.High {
			t.Error("GPIO25 does not see the chip select at rest")
		}
	})
}

func BenchmarkRead(b *testing.B) {
	g := &Open(Wiring{}).gpio
	names, levels := []string{"GPIO17"}, make([]device.Level, 1)
	b.ReportAllocs()
	for b.Loop() {
		g.Read(names, levels)
	}
}

func BenchmarkRead8(b *testing.B) {
	g := &Open(Wiring{}).gpio
	names := []string{"GPIO17", "GPIO27", "GPIO22", "GPIO5", "GPIO6", "GPIO13", "GPIO19", "GPIO26"}
	levels := make([]device.Level, len(names))
	b.ReportAllocs()
	for b.Loop() {
		g.Read(names, levels)
	}
}

func BenchmarkWrite(b *testing.B) {
	g := &Open(Wiring{}).gpio
	level := device.Low
	b.ReportAllocs()
	for b.Loop() {
		level ^= 1
		g.Write("GPIO17", level)
	}
}

func BenchmarkLines(b *testing.B) {
	g := &Open(Wiring{}).gpio
	var lines []device.Line
	b.ReportAllocs()
	for b.Loop() {
		lines, _ = g.Lines(lines[:0])
	}
}
