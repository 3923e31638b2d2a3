//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/frame/tty"
)

// uart is the serial ports that the kernel lists, and those of them that are
// open here.
type uart struct {
	roots roots
	tree  tty.Tree

	mu     sync.Mutex
	open   map[string]*port // by the kernel's name
	closed bool
}

const maxListed = 12 // in an error

func newUART(r roots) *uart { return &uart{roots: r, tree: r.tree(), open: make(map[string]*port)} }

// tree is where frame/tty looks for ports.
func (r roots) tree() tty.Tree { return tty.Tree{Dev: r.dev, Sys: r.sys, Proc: r.proc} }

// any says that there is a port, at less cost than names.
func (u *uart) any() bool {
	entries, _ := os.ReadDir(filepath.Join(u.roots.sys, "class/tty"))
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return u.tree.IsPort(e.Name()) })
}

// usable says that this user may open at least one port that is no console. It
// opens none, for that would pulse DTR, and looks through no processes.
func (u *uart) usable() bool {
	consoles := u.tree.Consoles()
	for _, name := range u.tree.Names() {
		if _, console := consoles[name]; !console && unix.Access(u.node(name), unix.R_OK|unix.W_OK) == nil {
			return true
		}
	}
	return false
}

func (u *uart) node(name string) string { return filepath.Join(u.roots.dev, name) }

// Ports implements device.UART.
func (u *uart) Ports(dst []device.UARTPort) ([]device.UARTPort, error) {
	u.mu.Lock()
	closed := u.closed
	u.mu.Unlock()
	if closed {
		return dst, errClosed("serial ports")
	}
	names := u.tree.Names()
	holders := u.tree.Holders(names)
	for _, name := range names {
		info := u.tree.Info(name)
		p := device.UARTPort{Name: name, Driver: info.Driver, USB: identity(&info)}
		if info.ByID != "" {
			p.ByID = filepath.Base(info.ByID)
		}
		p.Open = u.Opened(name) != nil
		if h, ok := holders[name]; ok {
			p.Owner = h.String()
		}
		dst = append(dst, p)
	}
	return dst, nil
}

func identity(info *tty.Info) *device.USBIdentity {
	if !info.USB {
		return nil
	}
	return &device.USBIdentity{Vendor: info.VID, Product: info.PID, Serial: info.Serial, Text: info.Description}
}

// Find implements device.UART.
func (u *uart) Find(name string) (string, error) {
	base := strings.TrimPrefix(name, "/dev/")
	if u.Opened(base) != nil {
		return base, nil
	}
	if base != "" && base != "." && base != ".." && !strings.Contains(base, "/") && u.tree.IsPort(base) {
		return base, nil
	}
	names := u.tree.Names()
	var found []string
	for _, link := range []string{filepath.Join(u.roots.dev, base), filepath.Join(u.roots.dev, "serial/by-id", base)} {
		target, err := filepath.EvalSymlinks(link)
		if err != nil || base == "" {
			continue
		}
		for _, n := range names {
			if node, err := filepath.EvalSymlinks(u.node(n)); err == nil && node == target {
				found = append(found, n)
			}
		}
	}
	for _, n := range names {
		info := u.tree.Info(n)
		if id := identity(&info); id != nil && id.Names(name) {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	switch found = slices.Compact(found); len(found) {
	case 1:
		return found[0], nil
	case 0:
		e := &device.Error{Subject: fmt.Sprintf("port %.128q", name), Kind: device.ErrNotFound, Hint: "this board has no serial port any more"}
		if len(names) > 0 {
			e.Hint = "this board has " + listed(names, maxListed)
		}
		return "", e
	}
	return "", &device.Error{Subject: fmt.Sprintf("port %.128q", name), Kind: device.ErrNotFound, Reason: "means several ports, " + listed(found, maxListed),
		Hint: "name one of them, or give the serial number too, as in 0403:6001:A50285BI"}
}

// Opened implements device.UART.
func (u *uart) Opened(name string) device.Port {
	u.mu.Lock()
	defer u.mu.Unlock()
	if p := u.open[name]; p != nil {
		return p
	}
	return nil
}

// Open implements device.UART.
func (u *uart) Open(name string, mode device.PortMode) (device.Port, error) {
	name, err := u.Find(name)
	if err != nil {
		return nil, err
	}
	u.mu.Lock()
	p, closed := u.open[name], u.closed
	u.mu.Unlock()
	if closed {
		return nil, errClosed(name)
	}
	if p != nil {
		return p, nil
	}
	if holder, ok := u.tree.Holders([]string{name})[name]; ok {
		return nil, owned(name, holder)
	}
	if p, err = openPort(u, name, mode); err != nil {
		return nil, err
	}
	u.mu.Lock()
	closed = u.closed
	if !closed {
		u.open[name] = p
	}
	u.mu.Unlock()
	go p.receive()
	if closed {
		p.Close()
		return nil, errClosed(name)
	}
	return p, nil
}

func owned(name string, holder tty.Holder) error {
	e := &device.Error{Subject: name, Kind: device.ErrBusy, Reason: "in use by " + holder.String(), Hint: "end that program first"}
	switch {
	case holder.Console:
		e.Hint = "take console=" + name + " off the kernel's command line and boot again to free it"
	case holder.Self:
		e.Hint = "take another port"
	case holder.Terminal:
		e.Hint = "free it with: sudo systemctl disable --now serial-getty@" + name
	}
	return e
}

// forget takes a port off the list of the open ones.
func (u *uart) forget(p *port) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open[p.name] == p {
		delete(u.open, p.name)
	}
}

// close closes every port, side by side: each may wait for a moment.
func (u *uart) close() error {
	u.mu.Lock()
	u.closed = true
	var ports []*port
	for _, p := range u.open {
		ports = append(ports, p)
	}
	u.mu.Unlock()
	errs := make([]error, len(ports))
	var wg sync.WaitGroup
	for i, p := range ports {
		wg.Go(func() { errs[i] = p.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}
