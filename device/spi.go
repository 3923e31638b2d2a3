package device

import (
	"strconv"
	"strings"
	"time"
)

// SPIDevice is one chip select of an SPI bus at which the board has a device.
type SPIDevice struct {
	Name       string // "spidev0.1": bus 0, chip select 1
	MaxHz      uint32 // the fastest clock the board allows it, 0 where unknown
	Controller string // the driver of the bus: "spi-bcm2835", or empty
	// Owner is the kernel driver that works the device ("mcp251x"), empty for one
	// that is free to transfers.
	Owner string
	// Description is what the board file says of it, or empty.
	Description string
	// Bus is the bus where the name does not tell: "spi0". See BusName.
	Bus string
}

// BusName is the bus that the device is on: "spi0".
func (d *SPIDevice) BusName() string {
	if d.Bus != "" {
		return d.Bus
	}
	bus, _, _ := strings.Cut(strings.TrimPrefix(d.Name, "spidev"), ".")
	return "spi" + bus
}

// SPIConfig is how one message goes over the wire. The device's former settings
// are back when it has ended.
type SPIConfig struct {
	Mode     uint8  // 0 to 3: CPOL is bit 1, CPHA bit 0
	LSBFirst bool   // the least significant bit goes first; few controllers can
	Bits     uint8  // of a word, 1 to 32; 0 is 8
	Hz       uint32 // of the clock; 0 is DefaultSPIHz, or the device's MaxHz where that is lower
}

// DefaultSPIHz is the clock where none is asked for: slow enough for loose wires.
const DefaultSPIHz = 1_000_000

// SPISegment is a stretch of a message. Write and Read are full duplex and of one
// length, but either may be nil: zeros are written, or what comes in is dropped.
// Words of more than 8 bits take 2 bytes, those of more than 16 take 4, the most
// significant byte first.
type SPISegment struct {
	Write, Read []byte
	Delay       time.Duration // after the segment, up to MaxSPIDelay, in whole microseconds
	Release     bool          // the chip select goes off after the segment, and on again for the next
}

// The limits of one message: those of spi_ioc_transfer in the kernel's spidev,
// and one of our own on the segments. How many bytes a message has at most is up
// to the board, 4096 by custom.
const (
	MaxSPISegments = 64
	MaxSPIDelay    = 65535 * time.Microsecond
)

// SPI is a board's SPI devices. Transfers on one bus must not overlap: the caller
// runs them on the bus's own queue.
type SPI interface {
	// Devices appends every device, by bus and chip select.
	Devices(dst []SPIDevice) ([]SPIDevice, error)
	// Transfer clocks the segments of one message out and in, in order, with the
	// device selected from the first to the last but for the gaps of Release. It
	// keeps no slice. Nothing tells whether a device is there: where none is, the
	// bytes are all ff or all 00. A device that the board lacks is ErrNotFound, one
	// that a kernel driver works is ErrBusy, and a message that is empty, too long,
	// too fast or in a mode that the controller lacks is ErrNotSupport.
	Transfer(name string, config SPIConfig, segments []SPISegment) error
}

// Clock is the clock of a message to a device, in Hz.
func (c SPIConfig) Clock(d SPIDevice) uint32 {
	switch {
	case c.Hz != 0:
		return c.Hz
	case d.MaxHz != 0:
		return min(DefaultSPIHz, d.MaxHz)
	}
	return DefaultSPIHz
}

// WordBytes is how many bytes of a buffer one word takes: 1, 2 or 4.
func (c SPIConfig) WordBytes() int {
	switch {
	case c.Bits <= 8:
		return 1
	case c.Bits <= 16:
		return 2
	}
	return 4
}

// Len is how many bytes the segment clocks.
func (s SPISegment) Len() int { return max(len(s.Write), len(s.Read)) }

// Duration is how long the wire is busy with a message at least.
func (c SPIConfig) Duration(d SPIDevice, segments []SPISegment) time.Duration {
	total := time.Duration(0)
	for _, s := range segments {
		total += time.Duration(s.Len())*8*time.Second/time.Duration(c.Clock(d)) + s.Delay
	}
	return total
}

// Check says why no board can send a message to d, or one whose buffer takes
// limit bytes cannot. It is the part of SPI.Transfer that all boards share.
func (c SPIConfig) Check(d SPIDevice, segments []SPISegment, limit int) error {
	e := &Error{Subject: d.Name, Kind: ErrNotSupport}
	total := 0
	for _, s := range segments {
		total += s.Len()
	}
	switch {
	case d.Owner != "":
		return &Error{Subject: d.Name, Kind: ErrBusy, Reason: "in use by the kernel driver " + d.Owner,
			Hint: "use what the driver offers, or give the device to spidev with a device tree overlay"}
	case c.Mode > 3:
		e.Reason, e.Hint = "no mode "+strconv.Itoa(int(c.Mode)), "0 to 3 are allowed"
	case c.Bits > 32:
		e.Reason, e.Hint = "no words of "+strconv.Itoa(int(c.Bits))+" bits", "1 to 32 are allowed"
	case d.MaxHz != 0 && c.Hz > d.MaxHz:
		e.Reason = "a clock of " + strconv.FormatUint(uint64(c.Hz), 10) + " Hz"
		e.Hint = "the device tree allows " + strconv.FormatUint(uint64(d.MaxHz), 10) + " at most"
	case total == 0:
		e.Reason, e.Hint = "nothing to write and nothing to read", "clock at least one byte"
	case total > limit:
		e.Reason = strconv.Itoa(total) + " bytes in one message"
		e.Hint = "the kernel's buffer takes " + strconv.Itoa(limit) + "; send several messages, or boot with spidev.bufsiz=65536"
	case len(segments) > MaxSPISegments:
		e.Reason = strconv.Itoa(len(segments)) + " segments in one message"
		e.Hint = strconv.Itoa(MaxSPISegments) + " are allowed"
	default:
		return c.checkSegments(e, segments)
	}
	return e
}

// checkSegments fills in e where a segment is wrong.
func (c SPIConfig) checkSegments(e *Error, segments []SPISegment) error {
	for _, s := range segments {
		switch {
		case s.Len() == 0 || s.Write != nil && s.Read != nil && len(s.Write) != len(s.Read):
			e.Reason = "a segment that writes " + strconv.Itoa(len(s.Write)) + " bytes and reads " + strconv.Itoa(len(s.Read))
			e.Hint = "SPI does both at once: as many, at least one"
		case s.Len()%c.WordBytes() != 0:
			e.Reason = strconv.Itoa(s.Len()) + " bytes are no whole number of words"
			e.Hint = "a word of " + strconv.Itoa(int(c.Bits)) + " bits takes " + strconv.Itoa(c.WordBytes()) + " bytes"
		case s.Delay < 0 || s.Delay > MaxSPIDelay || s.Delay%time.Microsecond != 0:
			e.Reason = "a delay of " + s.Delay.String()
			e.Hint = "whole microseconds up to " + MaxSPIDelay.String() + " are allowed"
		default:
			continue
		}
		return e
	}
	return nil
}
