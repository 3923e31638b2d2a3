//go:build !linux

package httpfront

import "net"

// noticeLoss has nothing to do here: such systems give up sooner by themselves, and the
// outputs of a board are on Linux.
func noticeLoss(net.Conn) {}
