//go:build linux

package uapi

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recvmsg receives one datagram into data and its control messages into control,
// neither of which may be empty, and gives the length of each and the flags. It
// does not ask from whom it is, so it allocates nothing.
func Recvmsg(fd int, data, control []byte) (n, controls, flags int, err error) {
	var iov unix.Iovec
	iov.Base = &data[0]
	iov.SetLen(len(data))
	var msg unix.Msghdr
	msg.Iov = &iov
	msg.SetIovlen(1)
	msg.Control = &control[0]
	msg.SetControllen(len(control))
	r, _, errno := unix.Syscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&msg)), uintptr(unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC))
	runtime.KeepAlive(data)
	runtime.KeepAlive(control)
	if errno != 0 {
		return 0, 0, 0, errno
	}
	return int(r), int(msg.Controllen), int(msg.Flags), nil
}
