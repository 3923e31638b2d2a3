package tty

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// serialStruct is struct serial_struct of include/uapi/linux/serial.h. Only its
// flags are touched; the rest is written back as it was read.
type serialStruct struct {
	kind, line    int32
	port          uint32
	irq           int32
	flags         uint32
	fifo          int32
	divisor, base int32
	closeDelay    uint16
	io, reserved  uint8
	hub6          int32
	wait, wait2   uint16
	memory        uintptr // of the kernel
	shift         uint16
	portHigh      uint32
	mapped        uintptr
}

// lowLatency is ASYNC_LOW_LATENCY of include/uapi/linux/tty_flags.h, which every
// user may set.
const lowLatency = 1 << 13

// hurry has an adapter hand over what it receives at once, and gives how it was
// before, nil where nothing was changed. FTDI's otherwise wait for 16 ms or 62
// bytes, which would bound a cable to 60 calls a second
// (drivers/usb/serial/ftdi_sio.c, write_latency_timer).
func hurry(fd int) *serialStruct {
	var before serialStruct
	if !serialIoctl(fd, unix.TIOCGSERIAL, &before) || before.flags&lowLatency != 0 {
		return nil
	}
	quick := before
	quick.flags |= lowLatency
	if !setSerial(fd, &quick) {
		return nil
	}
	return &before
}

func setSerial(fd int, s *serialStruct) bool { return serialIoctl(fd, unix.TIOCSSERIAL, s) }

func serialIoctl(fd int, request uintptr, s *serialStruct) bool {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(s)))
	return errno == 0
}
