//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// uart is the serial ports that the kernel lists, and those of them that are
// open here.
type uart struct {
	roots roots

	mu     sync.Mutex
	open   map[string]*port // by the kernel's name
	closed bool
}

// Bounds of what is looked through.
const (
	maxPorts     = 256
	maxProcesses = 8192
	maxFiles     = 1024 // of one process
	maxListed    = 12   // in an error
)

func newUART(r roots) *uart { return &uart{roots: r, open: make(map[string]*port)} }

// names is the ports that have hardware, in order. Consoles and pseudo-terminals
// have no device in sysfs; a gadget's port has none either, and a placeholder of
// the 8250 driver has one but no chip.
func (u *uart) names() []string {
	dir := filepath.Join(u.roots.sys, "class/tty")
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		name := e.Name()
		if !u.isPort(name) {
			continue
		}
		names = append(names, name)
		if len(names) == maxPorts {
			break
		}
	}
	slices.SortFunc(names, byNumber)
	return names
}

func (u *uart) isPort(name string) bool {
	if strings.Trim(name, "0123456789") == "tty" {
		return false // of the many virtual consoles
	}
	dir := filepath.Join(u.roots.sys, "class/tty", name)
	if _, err := os.Stat(filepath.Join(dir, "device")); err != nil && !strings.HasPrefix(name, "ttyGS") {
		return false
	}
	const unknown = "0" // PORT_UNKNOWN of include/uapi/linux/serial_core.h
	kind, err := readText(16, dir, "type")
	return err != nil || kind != unknown
}

// byNumber sorts ttyS2 before ttyS10.
func byNumber(a, b string) int {
	stemA, stemB := strings.TrimRight(a, "0123456789"), strings.TrimRight(b, "0123456789")
	if stemA != stemB || len(a) == len(b) {
		return strings.Compare(a, b)
	}
	return len(a) - len(b)
}

// any says that there is a port, at less cost than names.
func (u *uart) any() bool {
	entries, _ := os.ReadDir(filepath.Join(u.roots.sys, "class/tty"))
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return u.isPort(e.Name()) })
}

// usable says that this user may open at least one port that is no console. It
// opens none, for that would pulse DTR, and looks through no processes.
func (u *uart) usable() bool {
	consoles := u.consoles()
	for _, name := range u.names() {
		if !slices.Contains(consoles, name) && unix.Access(u.node(name), unix.R_OK|unix.W_OK) == nil {
			return true
		}
	}
	return false
}

// consoles is the ports that the kernel writes its messages to.
func (u *uart) consoles() []string {
	active, _ := readText(1024, u.roots.sys, "class/tty/console/active")
	return strings.Fields(active)
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
	names := u.names()
	owners := u.owners(names)
	byID := u.byID()
	for _, name := range names {
		p := device.UARTPort{Name: name, ByID: byID[name], Driver: u.driver(name), USB: u.usb(name), Owner: owners[name]}
		p.Open = u.Opened(name) != nil
		dst = append(dst, p)
	}
	return dst, nil
}

// byID is the links in /dev/serial/by-id, by the name of their port.
func (u *uart) byID() map[string]string {
	dir := filepath.Join(u.roots.dev, "serial/by-id")
	entries, _ := os.ReadDir(dir)
	links := make(map[string]string)
	for _, e := range entries[:min(len(entries), maxPorts)] {
		if target := linkBase(dir, e.Name()); target != "" {
			links[target] = word(e.Name())
		}
	}
	return links
}

// above is the folder of the port's device in sysfs and those it lies in, nearest
// first. It follows no more than a USB adapter needs.
func (u *uart) above(name string) []string {
	dir, err := filepath.EvalSymlinks(filepath.Join(u.roots.sys, "class/tty", name, "device"))
	var dirs []string
	for ; err == nil && len(dirs) < 6 && len(dir) > len(u.roots.sys); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// driver is the driver of the port's hardware. Since Linux 6.5 two devices of the
// serial core lie between the port and its hardware.
func (u *uart) driver(name string) string {
	for _, dir := range u.above(name) {
		if linkBase(dir, "subsystem") != "serial-base" {
			if driver := linkBase(dir, "driver"); driver != "" {
				return driver
			}
		}
	}
	return ""
}

func (u *uart) usb(name string) *device.USBIdentity {
	for _, dir := range u.above(name) {
		vendor, err := readText(8, dir, "idVendor")
		if err != nil {
			continue
		}
		product, _ := readText(8, dir, "idProduct")
		serial, _ := readText(128, dir, "serial")
		maker, _ := readText(128, dir, "manufacturer")
		what, _ := readText(128, dir, "product")
		v, _ := strconv.ParseUint(vendor, 16, 16)
		p, _ := strconv.ParseUint(product, 16, 16)
		return &device.USBIdentity{Vendor: uint16(v), Product: uint16(p), Serial: word(serial),
			Text: strings.TrimSpace(word(maker) + " " + word(what))}
	}
	return nil
}

// owners is who else has which of the ports called names: the kernel's console, a
// process whose terminal it is, or one that has it open.
func (u *uart) owners(names []string) map[string]string {
	owners := make(map[string]string)
	terminals := make(map[uint64]string) // by device number, as /proc/PID/stat has it
	nodes := make(map[string]string)     // by path
	for _, name := range names {
		nodes[u.node(name)] = name
		if n, ok := u.number(name); ok {
			terminals[n] = name
		}
	}
	for _, name := range u.consoles() {
		owners[name] = "the kernel's console"
	}
	for fd := range 3 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR {
			continue
		}
		if name, ok := terminals[terminalNumber(unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)))]; ok && owners[name] == "" {
			owners[name] = "this server's own client"
		}
	}
	self := strconv.Itoa(os.Getpid())
	processes := numbered(u.roots.proc, "")
	for _, n := range processes[:min(len(processes), maxProcesses)] {
		pid := strconv.Itoa(n)
		if pid == self {
			continue
		}
		who, terminal := u.process(pid)
		if name, ok := terminals[terminal]; ok && terminal != 0 && owners[name] == "" {
			owners[name] = who + ", whose terminal it is"
		}
		dir := filepath.Join(u.roots.proc, pid, "fd")
		files, err := os.ReadDir(dir) // not permitted for another user's process
		if err != nil {
			continue
		}
		for _, f := range files[:min(len(files), maxFiles)] {
			target, _ := os.Readlink(filepath.Join(dir, f.Name()))
			if name, ok := nodes[target]; ok && owners[name] == "" {
				owners[name] = who
			}
		}
	}
	return owners
}

// process is a process's name and number for a person, and the number of its
// controlling terminal, 0 for none: man 5 proc_pid_stat.
func (u *uart) process(pid string) (who string, terminal uint64) {
	stat, _ := readText(512, u.roots.proc, pid, "stat")
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return "pid " + pid, 0
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) > 4 {
		n, _ := strconv.ParseInt(fields[4], 10, 64)
		terminal = uint64(uint32(n))
	}
	return word(stat[open+1:end]) + " (pid " + pid + ")", terminal
}

// number is the device number of a port as /proc/PID/stat has it.
func (u *uart) number(name string) (uint64, bool) {
	dev, _ := readText(32, u.roots.sys, "class/tty", name, "dev")
	before, after, _ := strings.Cut(dev, ":")
	major, err := strconv.ParseUint(before, 10, 32)
	if err != nil {
		return 0, false
	}
	minor, err := strconv.ParseUint(after, 10, 32)
	return terminalNumber(uint32(major), uint32(minor)), err == nil
}

// terminalNumber is new_encode_dev of include/linux/kdev_t.h.
func terminalNumber(major, minor uint32) uint64 {
	return uint64(minor&0xff | major<<8 | minor&^0xff<<12)
}

// Find implements device.UART.
func (u *uart) Find(name string) (string, error) {
	base := strings.TrimPrefix(name, "/dev/")
	if u.Opened(base) != nil {
		return base, nil
	}
	if base != "" && base != "." && base != ".." && !strings.Contains(base, "/") && u.isPort(base) {
		return base, nil
	}
	names := u.names()
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
		if id := u.usb(n); id != nil && id.Names(name) {
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
	if owner := u.owners([]string{name})[name]; owner != "" {
		return nil, u.owned(name, owner)
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

func (u *uart) owned(name, owner string) error {
	e := &device.Error{Subject: name, Kind: device.ErrBusy, Reason: "in use by " + owner, Hint: "end that program first"}
	switch {
	case owner == "the kernel's console":
		e.Hint = "take console=" + name + " off the kernel's command line and boot again to free it"
	case strings.HasSuffix(owner, ", whose terminal it is"):
		e.Hint = "free it with: sudo systemctl disable --now serial-getty@" + name
	case owner == "this server's own client":
		e.Hint = "take another port"
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
