//go:build linux

package linux

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"boardhand/device"
	"boardhand/device/contract"
)

// A Pi with a free device, one for which there is no node, and a CAN controller
// that its driver works.
var spiTree = map[string]string{
	"sys/bus/spi/devices/spi0.0/of_node/spi-max-frequency": "\x07\x73\x59\x40",
	"sys/bus/spi/devices/spi0.0/driver":                    "-> ../../drivers/spidev",
	"sys/bus/spi/devices/spi0.1/driver":                    "-> ../../drivers/mcp251x",
	"sys/bus/spi/devices/spi10.0/modalias":                 "spi:x\n",
	"sys/bus/spi/devices/spi-PRP0001:00/modalias":          "x\n",
	"sys/class/spi_master/spi0/device/driver":              "-> ../../drivers/spi-bcm2835",
	"dev/spidev0.0": "", "dev/spidev2.1": "", "dev/spidev2": "", "dev/spidev2.01": "", "dev/spidev-1.0": "",
}

func TestSPIDevicesAreListedWithTheirDrivers(t *testing.T) {
	got, err := open(tree(t, spiTree)).SPI().Devices(nil)
	must(t, err)
	want := []device.SPIDevice{
		{Name: "spidev0.0", MaxHz: 125000000, Controller: "spi-bcm2835"},
		{Name: "spidev0.1", Controller: "spi-bcm2835", Owner: "mcp251x"},
		{Name: "spidev2.1"},
		{Name: "spidev10.0"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestWhatSPIRefuses(t *testing.T) {
	files := map[string]string{"sys/module/spidev/parameters/bufsiz": "64\n"}
	for k, v := range spiTree {
		files[k] = v
	}
	b := open(tree(t, files))
	s := b.SPI()
	contract.SPI(t, b, contract.SPIWiring{Device: "spidev0.0", Owned: "spidev0.1"})
	one := []device.SPISegment{{Write: []byte{1}}}
	for _, c := range []struct {
		name  string
		err   error
		kind  error
		words []string
	}{
		{"not there", s.Transfer("spidev1.0", device.SPIConfig{}, one), device.ErrNotFound, []string{"the board has spidev0.0, spidev0.1, spidev2.1, spidev10.0"}},
		{"no node", s.Transfer("spidev10.0", device.SPIConfig{}, one), device.ErrNotSupport, []string{"spidev10.0", "driver_override", "spi10.0", "modprobe spidev"}},
		{"no device behind the node", s.Transfer("spidev0.0", device.SPIConfig{}, one), device.ErrNotSupport, []string{"spidev0.0", noDevice(t)}},
		{"the kernel's buffer", s.Transfer("spidev0.0", device.SPIConfig{}, []device.SPISegment{{Read: make([]byte, 65)}}), device.ErrNotSupport,
			[]string{"65 bytes in one message", "the kernel's buffer takes 64", "spidev.bufsiz="}},
		{"too fast", s.Transfer("spidev0.0", device.SPIConfig{Hz: 125000001}, one), device.ErrNotSupport, []string{"125000001 Hz", "125000000"}},
	} {
		t.Run(c.name, func(t *testing.T) { expect(t, c.err, c.kind, c.words...) })
	}
	if n := open(tree(t, spiTree)).spi.spiBuffer(); n != 4096 {
		t.Errorf("a kernel that does not say takes %d bytes", n)
	}
	contract.SPIEnds(t, b, "spidev0.0")
}

func TestMessageOfSegments(t *testing.T) {
	words := []byte{1, 2, 3, 4}
	m := message(device.SPIConfig{Bits: 12}, 500, []device.SPISegment{
		{Write: words, Delay: device.MaxSPIDelay, Release: true}, {Read: words, Release: true},
	})
	if len(m) != 2 || m[0].Hz != 500 || m[0].Bits != 12 || m[0].DelayUs != 65535 || !m[0].Release || m[1].Release || &m[1].Rx[0] != &words[0] {
		t.Errorf("%+v", m)
	}
	back := bytes.Clone(m[0].Tx)
	swapWords(back, 2)
	if !bytes.Equal(back, words) || !bytes.Equal(words, []byte{1, 2, 3, 4}) {
		t.Errorf("% x was written as % x, which turns to % x", words, m[0].Tx, back)
	}
	if m := message(device.SPIConfig{}, 1, []device.SPISegment{{Write: words}}); m[0].Bits != 8 || &m[0].Tx[0] != &words[0] {
		t.Errorf("%+v", m)
	}
	four := []byte{1, 2, 3, 4}
	swapWords(four, 4)
	if little := four[0] == 4; little != (swapped(2)[0] == 2) || strings.Compare(string(swapped(1)), "\x01\x02") != 0 {
		t.Errorf("% x, % x, % x", four, swapped(2), swapped(1))
	}
}

func swapped(size int) []byte {
	b := []byte{1, 2}
	swapWords(b, size)
	return b
}
