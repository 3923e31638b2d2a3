//go:build linux

package linux

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"boardhand/device"
)

func TestTCP(t *testing.T) {
	for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(network, func(t *testing.T) {
			l, err := net.Listen("tcp", network)
			if err != nil {
				t.Skip(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					buf := make([]byte, 64)
					for {
						n, err := c.Read(buf)
						if err != nil || string(buf[:n]) == "bye" {
							c.Close()
							break
						}
						c.Write(buf[:n])
					}
				}
			}()
			d := &tcp{roots: tree(t, nil)}
			soon := time.Now().Add(5 * time.Second)
			c, err := d.Dial(netip.MustParseAddrPort(l.Addr().String()), soon)
			must(t, err)
			must(t, c.Write([]byte("hello"), soon))
			buf := make([]byte, 64)
			n, err := c.Read(buf, soon)
			if string(buf[:n]) != "hello" || err != nil {
				t.Errorf("%q %v", buf[:n], err)
			}
			begin := time.Now()
			if _, err = c.Read(buf, time.Now().Add(20*time.Millisecond)); !errors.Is(err, device.ErrTimeout) || time.Since(begin) > 2*time.Second {
				t.Errorf("%v after %v", err, time.Since(begin))
			}
			must(t, c.Write([]byte("bye"), soon))
			if _, err = c.Read(buf, soon); !errors.Is(err, device.ErrUnplugged) {
				t.Error(err)
			}
			must(t, c.Close())
			if _, err = c.Read(buf, soon); err == nil {
				t.Error("a closed connection reads")
			}
		})
	}
}

func TestTCPErrorsSayWhatToDo(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	nobody := netip.MustParseAddrPort(l.Addr().String())
	l.Close()
	d := &tcp{roots: tree(t, nil)}
	soon := time.Now().Add(5 * time.Second)
	for to, want := range map[netip.AddrPort]string{
		nobody: "the host refuses: nothing listens at this port (ECONNREFUSED)",
		netip.MustParseAddrPort("255.255.255.255:502"):  "(E",
		netip.MustParseAddrPort("[fe80::1%nosuch]:502"): "(E",
	} {
		if _, err := d.Dial(to, soon); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), to.String()) {
			t.Errorf("%s: %v", to, err)
		}
	}
	// A listener whose queue is full answers nobody, as a host without power does.
	_, err = d.Dial(nobody, time.Now().Add(-time.Second))
	if err == nil {
		t.Error("a deadline that has passed")
	}
	d.closed.Store(true)
	if _, err := d.Dial(nobody, soon); !errors.Is(err, device.ErrUnplugged) {
		t.Error(err)
	}
}
