//go:build linux

package linux

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// tcp makes connections on sockets of its own: package net would be a fifth of
// the program.
type tcp struct {
	roots  roots
	closed atomic.Bool
}

// tcpMeanings is where a connection's errors differ from the general ones.
var tcpMeanings = []meaning{
	{unix.ECONNREFUSED, nil, "the host refuses: nothing listens at this port", "check the port; Modbus has 502"},
	{unix.EHOSTUNREACH, nil, "no route to the host, or it does not answer", checkNetwork},
	{unix.ENETUNREACH, nil, "no route to the network", checkNetwork},
	{unix.ENETDOWN, nil, "the network is down", checkNetwork},
	{unix.ETIMEDOUT, device.ErrTimeout, "the host does not answer", checkNetwork},
	{unix.ECONNRESET, device.ErrUnplugged, "the other end broke the connection", ""},
	{unix.EPIPE, device.ErrUnplugged, "the other end has closed the connection", ""},
	{unix.EACCES, device.ErrPermission, "not permitted by a firewall, or a broadcast address", ""},
	{unix.EINVAL, device.ErrNotSupport, "no address to connect to", "an address such as fe80::1 needs its interface: fe80::1%eth0"},
	{unix.EAFNOSUPPORT, device.ErrNotSupport, "this kernel has no such network", ""},
}

const checkNetwork = "check the address, the cable and the power of the device"

// conn is an open connection; the runtime's poller waits for it.
type conn struct {
	file *os.File
	name string
}

// Dial implements device.TCP.
func (t *tcp) Dial(to netip.AddrPort, deadline time.Time) (device.Conn, error) {
	name := to.String()
	if t.closed.Load() {
		return nil, errClosed(name)
	}
	family, where := t.address(to)
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, explain(name, err, tcpMeanings)
	}
	err = unix.Connect(fd, where)
	if err != nil && err != unix.EINPROGRESS {
		unix.Close(fd)
		return nil, explain(name, err, tcpMeanings)
	}
	// A request is one small packet: it must not wait for company.
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	c := &conn{os.NewFile(uintptr(fd), name), name}
	if err := c.connected(deadline); err != nil {
		c.file.Close()
		return nil, err
	}
	return c, nil
}

// address is the kernel's form of an address; a zone is the name of an interface
// or its number.
func (t *tcp) address(to netip.AddrPort) (family int, where unix.Sockaddr) {
	addr := to.Addr().Unmap()
	if addr.Is4() {
		return unix.AF_INET, &unix.SockaddrInet4{Port: int(to.Port()), Addr: addr.As4()}
	}
	a := &unix.SockaddrInet6{Port: int(to.Port()), Addr: addr.As16()}
	if zone := addr.Zone(); zone != "" {
		index := zone
		if !isNumber(zone) && word(zone) == zone && zone != ".." {
			index, _ = readText(16, t.roots.sys, "class/net", zone, "ifindex")
		}
		n, _ := strconv.ParseUint(index, 10, 32)
		a.ZoneId = uint32(n)
	}
	return unix.AF_INET6, a
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 32)
	return err == nil
}

// connected waits until the connection stands.
func (c *conn) connected(deadline time.Time) error {
	if err := c.file.SetWriteDeadline(deadline); err != nil {
		return c.explain(err)
	}
	raw, err := c.file.SyscallConn()
	if err != nil {
		return c.explain(err)
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		n, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_ERROR)
		if err == nil && n != 0 {
			err = unix.Errno(n)
		}
		if failed = err; failed != nil {
			return true
		}
		_, err = unix.Getpeername(int(fd))
		return err == nil
	})
	if failed != nil {
		err = failed
	}
	if err != nil {
		return c.explain(err)
	}
	return nil
}

func (c *conn) explain(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &device.Error{Subject: c.name, Kind: device.ErrTimeout, Reason: "no answer in time", Hint: checkNetwork}
	case err == io.EOF:
		return &device.Error{Subject: c.name, Kind: device.ErrUnplugged, Reason: "the other end has closed the connection", Hint: "it may have too many connections, or refuse this client"}
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		err = errno
	}
	return explain(c.name, err, tcpMeanings)
}

// Read implements device.Conn.
func (c *conn) Read(p []byte, deadline time.Time) (int, error) {
	if err := c.file.SetReadDeadline(deadline); err != nil {
		return 0, c.explain(err)
	}
	n, err := c.file.Read(p)
	if err != nil {
		return n, c.explain(err)
	}
	return n, nil
}

// Write implements device.Conn.
func (c *conn) Write(p []byte, deadline time.Time) error {
	if err := c.file.SetWriteDeadline(deadline); err != nil {
		return c.explain(err)
	}
	if _, err := c.file.Write(p); err != nil {
		return c.explain(err)
	}
	return nil
}

// Close implements device.Conn.
func (c *conn) Close() error { return c.file.Close() }
