//go:build linux

package uapi

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// RS485 is struct serial_rs485 of include/uapi/linux/serial.h.
type RS485 struct {
	Flags           uint32
	DelayBeforeSend uint32 // ms
	DelayAfterSend  uint32 // ms
	_               [5]uint32
}

// Flags of RS485.
const (
	RS485Enabled      = 1 << 0
	RS485RTSOnSend    = 1 << 1
	RS485RTSAfterSend = 1 << 2
)

// Counters is struct serial_icounter_struct of the same header: what a serial
// driver has counted.
type Counters struct {
	CTS, DSR, Ring, DCD      int32
	Received, Sent           int32
	Framing, Overrun, Parity int32
	Break, BufferOverrun     int32
	_                        [9]int32
}

// The sizes in the kernel's header, which are the same on every processor.
var (
	_ [32]byte = [unsafe.Sizeof(RS485{})]byte{}
	_ [80]byte = [unsafe.Sizeof(Counters{})]byte{}
)

// GetRS485 fills in v from the port open at fd.
func GetRS485(fd int, v *RS485) error { return ioctl(fd, unix.TIOCGRS485, unsafe.Pointer(v)) }

// SetRS485 sets the port's RS-485 mode and puts what the driver took into v.
func SetRS485(fd int, v *RS485) error { return ioctl(fd, unix.TIOCSRS485, unsafe.Pointer(v)) }

// GetCounters fills in v from the port open at fd.
func GetCounters(fd int, v *Counters) error { return ioctl(fd, unix.TIOCGICOUNT, unsafe.Pointer(v)) }
