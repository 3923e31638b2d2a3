//go:build linux

package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

// spi is the SPI devices. A device is opened for each transfer.
type spi struct {
	roots  roots
	closed atomic.Bool
}

// spiAt is a chip select on a bus.
type spiAt struct{ bus, cs int }

func (a spiAt) String() string { return strconv.Itoa(a.bus) + "." + strconv.Itoa(a.cs) }

// parseSPI reads "0.1" after prefix.
func parseSPI(name, prefix string) (spiAt, bool) {
	numbers, ok := strings.CutPrefix(name, prefix)
	first, second, dotted := strings.Cut(numbers, ".")
	bus, err := strconv.Atoi(first)
	cs, err2 := strconv.Atoi(second)
	at := spiAt{bus, cs}
	return at, ok && dotted && err == nil && err2 == nil && bus >= 0 && cs >= 0 && at.String() == numbers
}

// where is the devices that the kernel has, with or without a node, in order.
func (s *spi) where() []spiAt {
	var all []spiAt
	for _, d := range []struct{ dir, prefix string }{{filepath.Join(s.roots.sys, "bus/spi/devices"), "spi"}, {s.roots.dev, "spidev"}} {
		for _, name := range entries(d.dir) {
			if at, ok := parseSPI(name, d.prefix); ok {
				all = append(all, at)
			}
		}
	}
	slices.SortFunc(all, func(a, b spiAt) int {
		if a.bus != b.bus {
			return a.bus - b.bus
		}
		return a.cs - b.cs
	})
	return slices.Compact(all)
}

// usable says that at least one device can be opened.
func (s *spi) usable() bool {
	return slices.ContainsFunc(s.where(), func(at spiAt) bool {
		return unix.Access(s.node(at), unix.R_OK|unix.W_OK) == nil
	})
}

func (s *spi) node(at spiAt) string { return filepath.Join(s.roots.dev, "spidev"+at.String()) }

func (s *spi) describe(at spiAt) device.SPIDevice {
	d := device.SPIDevice{Name: "spidev" + at.String()}
	dir := filepath.Join(s.roots.sys, "bus/spi/devices/spi"+at.String())
	if hz, err := readBytes(4, dir, "of_node/spi-max-frequency"); err == nil && len(hz) == 4 {
		d.MaxHz = binary.BigEndian.Uint32(hz)
	}
	if driver := linkBase(dir, "driver"); driver != "spidev" {
		d.Owner = driver
	}
	d.Controller = linkBase(s.roots.sys, "class/spi_master/spi"+strconv.Itoa(at.bus), "device/driver")
	return d
}

// Devices implements device.SPI.
func (s *spi) Devices(dst []device.SPIDevice) ([]device.SPIDevice, error) {
	if s.closed.Load() {
		return dst, errClosed("spi")
	}
	for _, at := range s.where() {
		dst = append(dst, s.describe(at))
	}
	return dst, nil
}

// spiMeanings is where a device's errors differ from the general ones.
var spiMeanings = []meaning{
	{unix.EINVAL, device.ErrNotSupport, "the controller cannot do this mode, word size or speed", "try mode 0 to 3 with 8 bits, first bit highest, and a lower speed_hz"},
	{unix.EMSGSIZE, device.ErrNotSupport, "more bytes than the kernel's buffer takes", "send several messages, or boot with spidev.bufsiz=65536"},
	{unix.ETIMEDOUT, device.ErrTimeout, "timed out: the controller did not end the transfer", "check that its pins are not used otherwise; a slower speed_hz may help"},
	{unix.ESHUTDOWN, device.ErrUnplugged, "the device is gone", "check that it is plugged in"},
	{unix.EIO, nil, "the controller reports a fault", "a device may have acted: read it before you write again"},
	{unix.EINTR, nil, "interrupted, outcome unknown", "a device may have acted: read it before you write again"},
}

// open opens a device. The caller closes it.
func (s *spi) open(name string) (device.SPIDevice, int, error) {
	if s.closed.Load() {
		return device.SPIDevice{}, -1, errClosed(name)
	}
	all := s.where()
	at, ok := parseSPI(name, "spidev")
	if !ok || !slices.Contains(all, at) {
		return device.SPIDevice{}, -1, &device.Error{Subject: "SPI device " + fmt.Sprintf("%.64q", name), Kind: device.ErrNotFound, Hint: "the board has " + spiNames(all)}
	}
	d := s.describe(at)
	if d.Owner != "" {
		return d, -1, nil // the check says so
	}
	fd, err := unix.Open(s.node(at), unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case err == unix.ENOENT:
		return d, -1, &device.Error{Subject: name, Kind: device.ErrNotSupport, Reason: "the kernel has the device but not " + s.node(at),
			Hint: "give it to spidev: sudo modprobe spidev; echo spidev | sudo tee /sys/bus/spi/devices/spi" + at.String() +
				"/driver_override; echo spi" + at.String() + " | sudo tee /sys/bus/spi/drivers/spidev/bind"}
	case err != nil:
		return d, -1, openError(s.roots, s.node(at), err, spiMeanings)
	}
	return d, fd, nil
}

func spiNames(all []spiAt) string {
	if len(all) == 0 {
		return "no SPI device any more"
	}
	names := make([]string, len(all))
	for i, at := range all {
		names[i] = "spidev" + at.String()
	}
	return strings.Join(names, ", ")
}

// spiBuffer is how many bytes the kernel takes in one message: Linux 2.6.22 to
// this day have 4096, unless told otherwise.
func (s *spi) spiBuffer() int {
	text, _ := readText(16, s.roots.sys, "module/spidev/parameters/bufsiz")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return n
	}
	return 4096
}

// Transfer implements device.SPI.
func (s *spi) Transfer(name string, config device.SPIConfig, segments []device.SPISegment) error {
	d, fd, err := s.open(name)
	if err != nil {
		return err
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if err := config.Check(d, segments, s.spiBuffer()); err != nil {
		return err
	}
	was, err := uapi.SPIMode(fd)
	if err != nil {
		return explain(name, err, spiMeanings)
	}
	// The other bits are the board's own: how its chip select is wired.
	mode := was&^(uapi.SPIPhase|uapi.SPIPolarity|uapi.SPILSBFirst) | uint32(config.Mode)
	if config.LSBFirst {
		mode |= uapi.SPILSBFirst
	}
	if mode != was {
		if err := uapi.SetSPIMode(fd, mode); err != nil {
			return explain(name, err, spiMeanings)
		}
	}
	err = uapi.SPIMessage(fd, message(config, config.Clock(d), segments)) // never tried again: it may have acted
	if err == nil {
		swapRead(config, segments)
	}
	if mode != was {
		err = errors.Join(err, uapi.SetSPIMode(fd, was))
	}
	if err != nil {
		return explain(name, err, spiMeanings)
	}
	return nil
}

// message is the segments as the kernel takes them. What is written is copied
// where its words must be turned.
func message(config device.SPIConfig, hz uint32, segments []device.SPISegment) []uapi.SPISegment {
	m := make([]uapi.SPISegment, len(segments))
	for i, s := range segments {
		m[i] = uapi.SPISegment{Tx: s.Write, Rx: s.Read, Hz: hz, DelayUs: uint16(s.Delay / time.Microsecond), Bits: config.Bits}
		if m[i].Bits == 0 {
			m[i].Bits = 8
		}
		m[i].Release = s.Release && i < len(segments)-1 // after the last it would mean the contrary
		if config.WordBytes() > 1 && s.Write != nil {
			m[i].Tx = slices.Clone(s.Write)
			swapWords(m[i].Tx, config.WordBytes())
		}
	}
	return m
}

// swapRead turns what was read to the most significant byte first.
func swapRead(config device.SPIConfig, segments []device.SPISegment) {
	for _, s := range segments {
		swapWords(s.Read, config.WordBytes())
	}
}

// swapWords turns the words of b from the most significant byte first to the
// processor's order, or back.
func swapWords(b []byte, size int) {
	if size == 1 || binary.NativeEndian.Uint16([]byte{0, 1}) == 1 {
		return
	}
	for ; len(b) >= size; b = b[size:] {
		slices.Reverse(b[:size])
	}
}
