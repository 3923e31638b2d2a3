//go:build linux

package uapi

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bits of an SPI device's mode.
const (
	SPIPhase    = 0x01
	SPIPolarity = 0x02
	SPILSBFirst = 0x08
)

// The numbers of spidev's ioctls, which x/sys has not: _IOW and _IOR of the letter
// k. The bits that say which way come from numbers that x/sys has.
const (
	spiIOW     = unix.TUNSETIFF &^ 0x1fffffff // bits 29 to 31
	spiIOR     = unix.WDIOC_GETTIMEOUT &^ 0x1fffffff
	spiMode32  = 4<<16 | 'k'<<8 | 5
	spiGetMode = spiIOR | spiMode32
	spiSetMode = spiIOW | spiMode32
	spiMessage = spiIOW | 'k'<<8
)

// spiTransfer is spi_ioc_transfer. Its pointers have 64 bits on every processor:
// where they are shorter the rest is zero, and stands behind them as long as the
// least significant byte comes first.
type spiTransfer struct {
	tx         unsafe.Pointer
	_          [8 - pointer]byte
	rx         unsafe.Pointer
	_          [8 - pointer]byte
	length, hz uint32
	delay      uint16 // microseconds
	bits       uint8
	release    uint8
	txWide     uint8
	rxWide     uint8
	wordDelay  uint8
	_          uint8
}

var _ [32]byte = [unsafe.Sizeof(spiTransfer{})]byte{}

// SPISegment is one transfer of a message; Tx and Rx have one length, or one is nil.
// Words of more than 8 bits are in the processor's byte order.
type SPISegment struct {
	Tx, Rx  []byte
	Hz      uint32
	DelayUs uint16
	Bits    uint8
	Release bool // the chip select goes off in between; after the last segment, it stays on
}

// SPIMode is the mode of the device open at fd.
func SPIMode(fd int) (uint32, error) {
	var mode uint32
	err := ioctl(fd, spiGetMode, unsafe.Pointer(&mode))
	return mode, err
}

// SetSPIMode sets the mode of the device open at fd, for all who have it open.
func SetSPIMode(fd int, mode uint32) error {
	return ioctl(fd, spiSetMode, unsafe.Pointer(&mode))
}

// SPIMessage runs up to 255 segments as one message. It cannot be interrupted.
func SPIMessage(fd int, segments []SPISegment) error {
	if len(segments) == 0 || len(segments) > 255 { // the number's own limit on MIPS
		return unix.EINVAL
	}
	transfers := make([]spiTransfer, len(segments))
	for i, s := range segments {
		t := &transfers[i]
		t.length, t.hz, t.delay, t.bits = uint32(max(len(s.Tx), len(s.Rx))), s.Hz, s.DelayUs, s.Bits
		if len(s.Tx) > 0 {
			t.tx = unsafe.Pointer(&s.Tx[0])
		}
		if len(s.Rx) > 0 {
			t.rx = unsafe.Pointer(&s.Rx[0])
		}
		if s.Release {
			t.release = 1
		}
	}
	number := uintptr(spiMessage) | uintptr(len(transfers))*unsafe.Sizeof(spiTransfer{})<<16
	err := ioctl(fd, number, unsafe.Pointer(&transfers[0]))
	runtime.KeepAlive(transfers)
	return err
}
