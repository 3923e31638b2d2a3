package device

import (
	"net/netip"
	"time"
)

// TCP is the board's network, for devices that speak over it.
type TCP interface {
	// Dial connects to a port of a host, within the deadline: else ErrTimeout. A
	// host that refuses, or that no route leads to, is an error in words.
	Dial(to netip.AddrPort, deadline time.Time) (Conn, error)
}

// Conn is a TCP connection. One goroutine uses it; Close may come from another.
type Conn interface {
	// Read reads some bytes into p, at least one. ErrTimeout: none came until the
	// deadline. ErrUnplugged: the other end has closed.
	Read(p []byte, deadline time.Time) (int, error)
	// Write hands all of p to the kernel, or gives an error. It does not keep p.
	Write(p []byte, deadline time.Time) error
	Close() error
}
