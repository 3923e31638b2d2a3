package httpfront

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// lossAfter is how long what was sent may stay unacknowledged until its connection is
// broken: a client's machine that lost its power says no goodbye, and by itself the
// kernel tries on for a quarter of an hour (tcp(7), TCP_USER_TIMEOUT).
const lossAfter = 20 * time.Second

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
		_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(lossAfter.Milliseconds()))
	})
}
