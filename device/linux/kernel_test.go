//go:build linux

package linux

import (
	"encoding/hex"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
	"boardhand/device/linux/internal/uapi"
)

// The tests in this file run the contract on the kernel of this machine. They need
// BOARDHAND_KERNEL, which says what they may touch, as KEY=VALUE,KEY=VALUE:
//
//	free      a line that may be driven
//	alias     its other name
//	standing  a line that may be left an output, and keeps its level
//	owned     a line that the kernel holds
//	left      an output that the firmware left behind, on a chip that ends it when
//	          it is given back
//	moving    a line that somebody outside moves, at least once in 10 s
//	pinned    a pin that carries a device's function
//	bus       the number of an I2C bus
//	range     the addresses that a scan of it covers, as 08-77 (hex)
//	set       what is written to the device first
//	device    an address that answers; after write it gives read (all in hex)
//	empty     an address without a device (hex)
//	driven    an address with a kernel driver (hex)
//	can       a CAN interface that is up, or vcan to make one
//	canpair   two controllers on one bus that are down, as can0+can1
//
// Meant for an emulated board that is thrown away.
func kernel(t *testing.T) map[string]string {
	t.Helper()
	setting := os.Getenv("BOARDHAND_KERNEL")
	if setting == "" {
		t.Skip("BOARDHAND_KERNEL names no hardware to test on")
	}
	m := map[string]string{}
	for _, pair := range strings.Split(setting, ",") {
		k, v, _ := strings.Cut(pair, "=")
		m[k] = v
	}
	return m
}

func openReal(t *testing.T) *Board {
	t.Helper()
	b, err := Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func wiring(m map[string]string) contract.GPIOWiring {
	return contract.GPIOWiring{Free: m["free"], Alias: m["alias"], Standing: m["standing"], Owned: m["owned"]}
}

// stand makes a line an output at High, as another process would, and gives it back.
func stand(t *testing.T, b *Board, name string) {
	t.Helper()
	l, err := b.GPIO().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	chip, err := os.Open("/dev/" + l.Chip)
	if err != nil {
		t.Fatal(err)
	}
	defer chip.Close()
	r := uapi.LineRequest{Num_lines: 1}
	r.Offsets[0] = l.Offset
	r.Config.Flags, r.Config.Num_attrs = uapi.FlagOutput, 1
	r.Config.Attrs[0].Attr.Id = uapi.AttrOutputValues
	r.Config.Attrs[0].Attr.Flags = 1 // the values, in a union with the flags
	r.Config.Attrs[0].Mask = 1
	if err := uapi.GetLine(int(chip.Fd()), &r); err != nil {
		t.Fatal(err)
	}
	unix.Close(int(r.Fd))
}

func TestKernelShowsWhatItHas(t *testing.T) {
	kernel(t)
	b := openReal(t)
	t.Logf("%+v, usable: %v", b.Info(), b.Usable())
	if g := b.GPIO(); g != nil {
		lines, err := g.Lines(nil)
		for _, l := range lines {
			t.Logf("%+v", l)
		}
		t.Log(len(lines), "lines, error", err)
	}
	if c := b.I2C(); c != nil {
		buses, err := c.Buses(nil)
		for _, bus := range buses {
			t.Logf("%+v", bus)
		}
		t.Log(len(buses), "buses, error", err)
	}
	if s := b.Sensors(); s != nil {
		list, err := s.List(nil)
		for _, x := range list {
			_, r, err := s.Read(x.Name)
			t.Logf("%+v: %+v %v", x, r.Value, err)
		}
		t.Log(len(list), "sensors, error", err)
	}
}

func TestKernelGPIO(t *testing.T) {
	m := kernel(t)
	if m["free"] == "" {
		t.Skip("no line to test on")
	}
	b := openReal(t)
	if m["standing"] != "" {
		stand(t, b, m["standing"])
	}
	contract.Info(t, b)
	contract.GPIO(t, b, wiring(m))
}

func TestKernelSeesALineThatMoves(t *testing.T) {
	m := kernel(t)
	if m["moving"] == "" {
		t.Skip("no line that moves")
	}
	g := openReal(t).GPIO()
	names, levels := []string{m["moving"]}, make([]device.Level, 1)
	if err := g.Read(names, levels); err != nil {
		t.Fatal(err)
	}
	moves := 0
	for end := time.Now().Add(20 * time.Second); moves < 4 && time.Now().Before(end); time.Sleep(time.Millisecond) {
		was := levels[0]
		if err := g.Read(names, levels); err != nil {
			t.Fatal(err)
		}
		if levels[0] != was {
			moves++
		}
	}
	t.Logf("%d moves", moves)
	if moves == 0 {
		t.Error("it did not move")
	}
}

func TestKernelClose(t *testing.T) {
	m := kernel(t)
	if m["free"] == "" {
		t.Skip("no line to test on")
	}
	if m["standing"] != "" {
		stand(t, openReal(t), m["standing"])
	}
	contract.Close(t, func() device.Board { return openReal(t) }, wiring(m))
}

// For a line that floats, whose level as an input is what it was last driven to:
// emulated chips have no pulls, and the contract compares levels.
func TestKernelMakesAnInputAnInputAgain(t *testing.T) {
	name := kernel(t)["free"]
	if name == "" {
		t.Skip("no line to test on")
	}
	for end, put := range map[string]func(b *Board) error{
		"Release": func(b *Board) error { return b.GPIO().Release(name) },
		"Close":   (*Board).Close,
	} {
		b := openReal(t)
		if before, err := b.GPIO().Write(name, device.High); err != nil || before.Direction != device.In {
			t.Errorf("before is %+v, error %v", before, err)
		}
		if err := put(b); err != nil {
			t.Error(err)
		}
		if l, err := openReal(t).GPIO().Find(name); err != nil || l.Direction != device.In || l.Owner != "" {
			t.Errorf("after %s the line is %+v, error %v", end, l, err)
		}
	}
}

// A kernel that makes a freed output an input (Raspberry Pi, without
// persist_gpio_outputs) must not be given back what we only read.
func TestKernelReadKeepsAnOutputThatFreeingWouldEnd(t *testing.T) {
	name := kernel(t)["left"]
	if name == "" {
		t.Skip("no such output to test on")
	}
	b := openReal(t)
	l, err := b.gpio.lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	if !l.chip.frees {
		t.Fatalf("%s keeps a freed output", l.chip.name)
	}
	names, levels := []string{name}, make([]device.Level, 1)
	for range 3 {
		if err := b.GPIO().Read(names, levels); err != nil {
			t.Fatal(err)
		}
	}
	if l.fd < 0 {
		t.Error("the output was given back after a read")
	}
	if s, err := b.GPIO().Find(name); err != nil || s.Direction != device.Out || s.Held || s.Owner != "" {
		t.Errorf("%+v %v", s, err)
	}
	before, err := b.GPIO().Write(name, 1-levels[0])
	if want := (device.State{Direction: device.Out, Level: levels[0]}); err != nil || before != want {
		t.Errorf("before is %+v, want %+v, error %v", before, want, err)
	}
	if err := b.GPIO().Release(name); err != nil {
		t.Error(err)
	}
	was := levels[0]
	if err := b.GPIO().Read(names, levels); err != nil || levels[0] != was {
		t.Errorf("after Release the level is %d, was %d, error %v", levels[0], was, err)
	}
	if s, err := b.GPIO().Find(name); err != nil || s.Direction != device.Out || s.Held {
		t.Errorf("after Release the line is %+v, error %v", s, err)
	}
}

func TestKernelRefusesAPinWithAFunction(t *testing.T) {
	m := kernel(t)
	if m["pinned"] == "" {
		t.Skip("no such pin to test on")
	}
	b := openReal(t)
	err := b.GPIO().Read([]string{m["pinned"]}, make([]device.Level, 1))
	t.Log(err)
	if err == nil {
		t.Error("read was not refused")
	}
	if _, err := b.GPIO().Write(m["pinned"], device.High); err == nil {
		t.Error("write was not refused")
	}
}

// More lines than one request can hold, lines twice, and all chips at once.
func TestKernelReadsAllFreeLinesAtOnce(t *testing.T) {
	kernel(t)
	b := openReal(t)
	g := b.GPIO()
	if g == nil {
		t.Skip("no lines")
	}
	lines, err := g.Lines(nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range lines {
		if l.Owner == "" {
			names = append(names, l.Name, l.Name)
		}
	}
	levels := make([]device.Level, len(names))
	if err := g.Read(names, levels); err != nil {
		t.Fatal(err)
	}
	// Only now does the kernel know which way each line is driven: it does not notice
	// that its driver made an output, given back by a test before, an input.
	if lines, err = g.Lines(lines[:0]); err != nil {
		t.Fatal(err)
	}
	if err := g.Read(names, levels); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(names); i += 2 {
		if levels[i] != levels[i+1] {
			t.Errorf("%s is %d and %d", names[i], levels[i], levels[i+1])
		}
	}
	after, err := g.Lines(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range lines {
		if after[i] != lines[i] {
			t.Errorf("%+v, was %+v", after[i], lines[i])
		}
	}
	if n := testing.AllocsPerRun(20, func() { g.Read(names, levels) }); n != 0 {
		t.Errorf("a read of %d lines allocates %v times", len(names), n)
	}
}

func TestKernelI2C(t *testing.T) {
	m := kernel(t)
	if m["bus"] == "" {
		t.Skip("no bus to test on")
	}
	w := contract.I2CWiring{Device: hexAddress(m["device"]), Empty: hexAddress(m["empty"]), Owned: hexAddress(m["driven"])}
	w.Bus, _ = strconv.Atoi(m["bus"])
	first, last, _ := strings.Cut(m["range"], "-")
	w.First, w.Last = hexAddress(first), hexAddress(last)
	w.Write, _ = hex.DecodeString(m["write"])
	w.Read, _ = hex.DecodeString(m["read"])
	b := openReal(t)
	if set, _ := hex.DecodeString(m["set"]); len(set) > 0 {
		if err := b.I2C().Transfer(w.Bus, w.Device, set, nil); err != nil {
			t.Fatal(err)
		}
	}
	contract.I2C(t, b, w)
}

func hexAddress(s string) uint16 {
	v, _ := strconv.ParseUint(s, 16, 16)
	return uint16(v)
}

func TestKernelSensors(t *testing.T) {
	kernel(t)
	b := openReal(t)
	if b.Sensors() == nil {
		t.Skip("no sensors")
	}
	contract.Sensors(t, b)
}

func BenchmarkKernelGPIO(b *testing.B) {
	_, name, _ := strings.Cut(os.Getenv("BOARDHAND_KERNEL"), "free=")
	name, _, _ = strings.Cut(name, ",")
	if name == "" {
		b.Skip("BOARDHAND_KERNEL names no line to test on")
	}
	board, _ := Open()
	defer board.Close()
	g := board.GPIO()
	names, levels := []string{name}, make([]device.Level, 1)
	b.Run("read free", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.Read(names, levels)
		}
	})
	b.Run("write held", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.Write(name, device.High)
		}
	})
	b.Run("read held", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.Read(names, levels)
		}
	})
	b.Run("bare ioctl", func(b *testing.B) {
		fd := g.(*gpio).byName[name].fd
		for b.Loop() {
			v := uapi.LineValues{Mask: 1}
			uapi.GetValues(fd, &v)
		}
	})
}
