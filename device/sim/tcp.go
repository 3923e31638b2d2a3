package sim

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// plantHost is where the plant speaks Modbus TCP; the address is one of those for
// documentation (RFC 5737).
var plantHost = netip.MustParseAddrPort("192.0.2.10:502")

// tcp is one board's network: it reaches one host.
type tcp struct {
	hw     *hardware
	closed atomic.Bool
}

// Dial implements device.TCP.
func (t *tcp) Dial(to netip.AddrPort, deadline time.Time) (device.Conn, error) {
	if t.closed.Load() {
		return nil, errClosed()
	}
	switch {
	case to == plantHost:
		return &conn{hw: t.hw}, nil
	case to.Addr() == plantHost.Addr():
		return nil, &device.Error{Subject: to.String(), Kind: device.ErrUnplugged, Reason: "the host refuses: nothing listens at this port (ECONNREFUSED)", Hint: "the simulated host listens at 502"}
	}
	return nil, &device.Error{Subject: to.String(), Kind: device.ErrUnplugged, Reason: "no route to the host (EHOSTUNREACH)", Hint: "the simulated network has " + plantHost.String()}
}

// conn is a connection to the plant.
type conn struct {
	hw     *hardware
	mu     sync.Mutex
	in     []byte
	closed bool
}

// Write implements device.Conn: p is one whole message, or the plant hangs up.
func (c *conn) Write(p []byte, deadline time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.hw.plant.message(c.hw.now(), p)
	c.in, c.closed = append(c.in, answer...), c.closed || answer == nil
	return nil
}

// Read implements device.Conn.
func (c *conn) Read(p []byte, deadline time.Time) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := copy(p, c.in)
	c.in = c.in[n:]
	switch {
	case n > 0:
		return n, nil
	case c.closed:
		return 0, &device.Error{Subject: plantHost.String(), Kind: device.ErrUnplugged, Reason: "the other end has closed the connection", Hint: "send whole requests"}
	}
	time.Sleep(time.Until(deadline))
	return 0, &device.Error{Subject: plantHost.String(), Kind: device.ErrTimeout, Reason: "no answer in time", Hint: "send a request first"}
}

// Close implements device.Conn.
func (c *conn) Close() error { return nil }
