package httpfront

import (
	"net"
	"syscall"
	"time"
)

// lossAfter is how long what was sent may stay unacknowledged until its connection is
// broken: a client's machine that lost its power says no goodbye, and by itself the
// kernel tries on for a quarter of an hour (tcp(7), TCP_USER_TIMEOUT).
const lossAfter = 20 * time.Second

const tcpUserTimeout = 18 // include/uapi/linux/tcp.h

// noticeLoss has a connection break soon when what is at its other end is gone.
func noticeLoss(c net.Conn) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(lossAfter.Milliseconds()))
	})
}
