package tty

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tree is where the kernel shows a machine and its ports.
type Tree struct{ Dev, Sys, Proc string }

// system is this machine's.
var system = Tree{"/dev", "/sys", "/proc"}

const maxPorts = 256

// List gives the serial ports of this machine, USB devices first, each group by
// name. It opens none.
func List() ([]Info, error) {
	var usb, others []Info
	for _, name := range system.Names() {
		if info := system.Info(name); info.USB {
			usb = append(usb, info)
		} else {
			others = append(others, info)
		}
	}
	return append(usb, others...), nil
}

// Names is the kernel's names of the ports that have hardware, in order, at most
// 256. Consoles and pseudo-terminals have no device in sysfs; a gadget's port has
// none either, and a placeholder of the 8250 driver has one but no chip.
func (t Tree) Names() []string {
	entries, _ := os.ReadDir(filepath.Join(t.Sys, "class/tty"))
	var names []string
	for _, e := range entries {
		if len(names) < maxPorts && t.IsPort(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, byNumber)
	return names
}

// IsPort says that name, such as "ttyS0", is one of Names.
func (t Tree) IsPort(name string) bool {
	if strings.Trim(name, "0123456789") == "tty" {
		return false // of the many virtual consoles
	}
	dir := filepath.Join(t.Sys, "class/tty", name)
	if _, err := os.Stat(filepath.Join(dir, "device")); err != nil && !strings.HasPrefix(name, "ttyGS") {
		return false
	}
	const unknown = "0" // PORT_UNKNOWN of include/uapi/linux/serial_core.h
	kind, err := text(16, dir, "type")
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

// Info is the port called name, one of Names.
func (t Tree) Info(name string) Info {
	info := Info{Path: filepath.Join(t.Dev, name), ByID: t.byID(name)}
	port := "" // of an interface that has several
	for _, dir := range t.above(name) {
		if port == "" {
			port, _ = text(8, dir, "port_number")
		}
		// Since Linux 6.5 two devices of the serial core lie between a port and its hardware.
		if driver := linkBase(dir, "driver"); info.Driver == "" && linkBase(dir, "subsystem") != "serial-base" {
			info.Driver = driver
		}
		if number, err := text(8, dir, "bInterfaceNumber"); err == nil {
			info.place, info.number = filepath.Base(dir), number+"."+port
		}
		vendor, err := text(8, dir, "idVendor")
		if err != nil {
			continue
		}
		product, _ := text(8, dir, "idProduct")
		serial, _ := text(128, dir, "serial")
		maker, _ := text(128, dir, "manufacturer")
		what, _ := text(128, dir, "product")
		v, _ := strconv.ParseUint(vendor, 16, 16)
		p, _ := strconv.ParseUint(product, 16, 16)
		info.USB, info.VID, info.PID = true, uint16(v), uint16(p)
		info.Serial, info.Description = printable(serial), strings.TrimSpace(printable(maker)+" "+printable(what))
		break
	}
	return info
}

// above is the folder of the port's device in sysfs and those it lies in, nearest
// first. It follows no more than a USB adapter needs.
func (t Tree) above(name string) []string {
	dir, err := filepath.EvalSymlinks(filepath.Join(t.Sys, "class/tty", name, "device"))
	var dirs []string
	for ; err == nil && len(dirs) < 6 && len(dir) > len(t.Sys); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	return dirs
}

// byID is the link in /dev/serial/by-id to the port, or "".
func (t Tree) byID(name string) string {
	dir := filepath.Join(t.Dev, "serial/by-id")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries[:min(len(entries), maxPorts)] {
		if linkBase(dir, e.Name()) == name && printable(e.Name()) != "" {
			return filepath.Join(dir, e.Name())
		}
	}
	return ""
}

// text is the text of a small kernel file, at most limit bytes of it, without the
// blanks and NULs at its end.
func text(limit int, path ...string) (string, error) {
	f, err := os.Open(filepath.Join(path...))
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, limit)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		err = nil
	}
	return strings.TrimRight(string(b[:n]), " \t\r\n\x00"), err
}

// linkBase is the last element of what the symbolic link at path points to, or "".
func linkBase(path ...string) string {
	target, err := os.Readlink(filepath.Join(path...))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}

// printable is s, which a device or a process says of itself, or "" where it is
// not fit to print.
func printable(s string) string {
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return s
}
