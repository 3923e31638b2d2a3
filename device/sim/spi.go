package sim

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// What every device of the board's one SPI bus has: as on a Raspberry Pi.
const (
	spiController = "spi-bcm2835"
	spiMaxHz      = 125_000_000
	spiBuffer     = 4096
)

// spiTarget is a device on the SPI bus. One exchange is all that is clocked while
// the device is selected; in has the length of out and is zero. It keeps neither.
type spiTarget interface {
	exchange(now time.Time, out, in []byte)
}

// spiBus is the bus with what is connected to its chip selects.
type spiBus struct {
	now     func() time.Time
	mu      sync.Mutex // one message at a time
	targets []spiTarget
}

func newSPIBus(seed int64, now func() time.Time) *spiBus {
	return &spiBus{now: now, targets: []spiTarget{newFlash(), newADC(seed)}}
}

// spi is one board's access to the bus.
type spi struct {
	bus    *spiBus
	closed atomic.Bool
}

func (b *spiBus) device(cs int) device.SPIDevice {
	return device.SPIDevice{Name: fmt.Sprintf("spidev0.%d", cs), MaxHz: spiMaxHz, Controller: spiController}
}

// Devices appends the two devices.
func (s *spi) Devices(dst []device.SPIDevice) ([]device.SPIDevice, error) {
	if s.closed.Load() {
		return dst, errClosed()
	}
	for cs := range s.bus.targets {
		dst = append(dst, s.bus.device(cs))
	}
	return dst, nil
}

// Transfer is one message. The controller knows neither words of other than 8
// bits nor the least significant bit first.
func (s *spi) Transfer(name string, config device.SPIConfig, segments []device.SPISegment) error {
	if s.closed.Load() {
		return errClosed()
	}
	for cs, target := range s.bus.targets {
		d := s.bus.device(cs)
		if d.Name != name {
			continue
		}
		if err := config.Check(d, segments, spiBuffer); err != nil {
			return err
		}
		if config.LSBFirst || config.Bits != 0 && config.Bits != 8 {
			return &device.Error{Subject: name, Kind: device.ErrNotSupport, Reason: "the controller cannot do this mode, word size or speed (EINVAL)",
				Hint: "try mode 0 to 3 with 8 bits, first bit highest, and a lower speed_hz"}
		}
		s.bus.run(target, config, segments)
		return nil
	}
	return &device.Error{Subject: fmt.Sprintf("SPI device %.64q", name), Kind: device.ErrNotFound, Hint: "the board has spidev0.0, spidev0.1"}
}

// run clocks a message, one selection of the device after the other. Time passes in it
// by its delays alone, as a controller keeps it, however slowly this runs.
func (b *spiBus) run(t spiTarget, config device.SPIConfig, segments []device.SPISegment) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for len(segments) > 0 {
		n := 1
		for n < len(segments) && !segments[n-1].Release {
			n++
		}
		now = now.Add(b.selected(now, t, config, segments[:n]))
		segments = segments[n:]
	}
}

// selected clocks the segments of one selection, and waits for their delays.
func (b *spiBus) selected(now time.Time, t spiTarget, config device.SPIConfig, segments []device.SPISegment) (delay time.Duration) {
	var out []byte
	for _, s := range segments {
		if s.Write == nil {
			out = append(out, make([]byte, s.Len())...)
		}
		out = append(out, s.Write...)
		delay += s.Delay
	}
	in := make([]byte, len(out))
	// Both devices know modes 0 and 3, which sample at the rising edge; in the others
	// they make nothing of what they see.
	if config.Mode == 0 || config.Mode == 3 {
		t.exchange(now, out, in)
	}
	for _, s := range segments {
		copy(s.Read, in)
		in = in[s.Len():]
	}
	if delay > 0 {
		time.Sleep(delay)
	}
	return delay
}
