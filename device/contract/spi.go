package contract

import (
	"bytes"
	"testing"
	"time"

	"boardhand/device"
)

// SPIWiring names what is on a bus. What is empty is not tested.
type SPIWiring struct {
	Device string // answers: after Write it gives Read, in one chip select
	Write  []byte
	Read   []byte
	Owned  string // a device that a kernel driver works
}

// SPI tests a board's SPI devices.
func SPI(t *testing.T, b device.Board, w SPIWiring) {
	s := b.SPI()
	if s == nil {
		t.Fatal("the board has no SPI devices")
	}
	devices, err := s.Devices([]device.SPIDevice{{Name: ""}})
	must(t, err)
	names := map[string]device.SPIDevice{}
	for i, d := range devices[1:] {
		if _, twice := names[d.Name]; twice || d.Name == "" {
			t.Errorf("device %d is %+v, without a name or for the second time", i, d)
		}
		names[d.Name] = d
	}
	one := []device.SPISegment{{Write: []byte{0}}}
	t.Run("a device that the board lacks is not found", func(t *testing.T) {
		for _, name := range []string{"spidev9.9", "", "../null", "spidev0", "spidev00.0", w.Device + "x"} {
			refused(t, s.Transfer(name, device.SPIConfig{}, one), device.ErrNotFound, name)
		}
	})
	t.Run("a driver's device is refused", func(t *testing.T) {
		if w.Owned == "" {
			t.Skip("no such device on this board")
		}
		refused(t, s.Transfer(w.Owned, device.SPIConfig{}, one), device.ErrBusy, w.Owned, names[w.Owned].Owner)
	})
	t.Run("what no device can do is refused", func(t *testing.T) {
		d, ok := names[w.Device]
		if !ok {
			t.Fatalf("%q is not among %+v", w.Device, devices)
		}
		for name, c := range map[string]struct {
			config   device.SPIConfig
			segments []device.SPISegment
		}{
			"nothing":            {device.SPIConfig{}, nil},
			"an empty segment":   {device.SPIConfig{}, []device.SPISegment{{Write: []byte{1}}, {}}},
			"two lengths":        {device.SPIConfig{}, []device.SPISegment{{Write: []byte{1}, Read: make([]byte, 2)}}},
			"too much":           {device.SPIConfig{}, []device.SPISegment{{Read: make([]byte, 1<<20)}}},
			"too many segments":  {device.SPIConfig{}, make64(one[0])},
			"mode 4":             {device.SPIConfig{Mode: 4}, one},
			"words of 33 bits":   {device.SPIConfig{Bits: 33}, one},
			"half a word":        {device.SPIConfig{Bits: 12}, one},
			"too long a delay":   {device.SPIConfig{}, []device.SPISegment{{Write: []byte{1}, Delay: time.Second}}},
			"half a microsecond": {device.SPIConfig{}, []device.SPISegment{{Write: []byte{1}, Delay: 500}}},
		} {
			t.Run(name, func(t *testing.T) {
				refused(t, s.Transfer(w.Device, c.config, c.segments), device.ErrNotSupport, w.Device)
			})
		}
		if d.MaxHz > 0 {
			refused(t, s.Transfer(w.Device, device.SPIConfig{Hz: d.MaxHz + 1}, one), device.ErrNotSupport, w.Device)
		}
	})
	t.Run("a read follows its write", func(t *testing.T) {
		if len(w.Read) == 0 {
			t.Skip("no device answers on this board")
		}
		for name, segments := range map[string]func(read []byte) []device.SPISegment{
			"in one chip select": func(read []byte) []device.SPISegment {
				return []device.SPISegment{{Write: w.Write}, {Read: read}}
			},
			"with a wait": func(read []byte) []device.SPISegment {
				return []device.SPISegment{{Write: w.Write, Delay: time.Microsecond}, {Read: read, Delay: 10 * time.Microsecond}}
			},
			"twice": func(read []byte) []device.SPISegment {
				return []device.SPISegment{{Write: w.Write}, {Read: make([]byte, len(read)), Release: true}, {Write: w.Write}, {Read: read, Release: true}}
			},
		} {
			t.Run(name, func(t *testing.T) {
				for _, mode := range []uint8{0, 3, 0} {
					got := make([]byte, len(w.Read))
					must(t, s.Transfer(w.Device, device.SPIConfig{Mode: mode}, segments(got)))
					if !bytes.Equal(got, w.Read) {
						t.Errorf("in mode %d it reads % x, want % x", mode, got, w.Read)
					}
				}
			})
		}
		t.Run("full duplex", func(t *testing.T) {
			out := append(bytes.Clone(w.Write), make([]byte, len(w.Read))...)
			in := make([]byte, len(out))
			must(t, s.Transfer(w.Device, device.SPIConfig{}, []device.SPISegment{{Write: out, Read: in}}))
			if got := in[len(w.Write):]; !bytes.Equal(got, w.Read) {
				t.Errorf("it reads % x, want % x", got, w.Read)
			}
		})
	})
}

func make64(s device.SPISegment) []device.SPISegment {
	all := make([]device.SPISegment, device.MaxSPISegments+1)
	for i := range all {
		all[i] = s
	}
	return all
}

// SPIEnds tests that a closed board transfers no more.
func SPIEnds(t *testing.T, b device.Board, name string) {
	s := b.SPI()
	must(t, b.Close())
	_, err := s.Devices(nil)
	refused(t, err, device.ErrUnplugged)
	refused(t, s.Transfer(name, device.SPIConfig{}, []device.SPISegment{{Write: []byte{0}}}), device.ErrUnplugged)
}
