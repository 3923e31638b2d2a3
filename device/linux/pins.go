//go:build linux

package linux

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Bounds of a device tree; a Raspberry Pi's has about 500 nodes, 8 deep.
const (
	maxNodes = 8192
	maxDepth = 16
)

// pinFunctions is which device's function each pin of a Raspberry Pi's own chip
// carries, as its device tree sets it up: "serial@7e201000" for pins 14 and 15.
// The kernel lets such a pin be requested as a line all the same, and makes it a
// plain input when the line is given back, which ends the device's function until
// the next boot. Empty where there is no device tree.
//
// Bindings: brcm,bcm2835-gpio (brcm,pins and brcm,function) and the generic
// pinmux-node (pins and function).
func pinFunctions(r roots) map[uint32]string {
	t := deviceTree{pins: map[uint32][]uint32{}, users: map[uint32]string{}}
	if fd, err := unix.Open(filepath.Join(r.proc, "device-tree"), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0); err == nil {
		t.walk(fd, "", 0)
	}
	owners := map[uint32]string{}
	for phandle, user := range t.users {
		for _, pin := range t.pins[phandle] {
			owners[pin] = user
		}
	}
	return owners
}

// deviceTree walks the tree with buffers of its own: os.ReadDir would leave a
// megabyte to collect, the most that a board's memory holds while it starts.
type deviceTree struct {
	nodes int
	pins  map[uint32][]uint32 // of a pin group, by its phandle
	users map[uint32]string   // the enabled device that uses a pin group

	buf   [4096]byte
	names []byte // of the nodes that are still to be walked, each with a NUL
}

// properties says which of the properties that matter a node has.
type properties struct {
	status, phandle, brcmPins, pins, function, pinctrl, controller bool
}

// walk looks at the node open as fd, called name, and at all below it. It closes fd.
func (t *deviceTree) walk(fd int, name string, depth int) {
	defer unix.Close(fd)
	if t.nodes++; t.nodes > maxNodes || depth > maxDepth {
		return
	}
	below := len(t.names)
	defer func() { t.names = t.names[:below] }()
	has := t.list(fd)
	if has.status {
		if s := t.text(fd, "status"); s != "okay" && s != "ok" {
			return
		}
	}
	if has.phandle && (has.brcmPins || has.pins && has.function) {
		if phandle := t.cells(fd, "phandle"); len(phandle) == 1 {
			t.pins[phandle[0]] = append(t.pins[phandle[0]], t.group(fd, has)...)
		}
	}
	// What the pin controller sets up for itself is only a default.
	if has.pinctrl && !has.controller {
		for _, phandle := range t.cells(fd, "pinctrl-0") {
			t.users[phandle] = name
		}
	}
	for next, end := below, len(t.names); next < end; {
		name := unix.ByteSliceToString(t.names[next:end])
		next += len(name) + 1
		if child, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err == nil {
			t.walk(child, name, depth+1)
		}
	}
}

// Where the fields of a linux_dirent64 are, see getdents64(2).
const (
	direntSize = 16
	direntType = 18
	direntName = 19
)

// list says what the node open as fd has, and appends the nodes right below it to
// t.names.
func (t *deviceTree) list(fd int) (has properties) {
	for {
		n, err := unix.Getdents(fd, t.buf[:])
		if n <= 0 || err != nil {
			return has
		}
		for rest := t.buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntSize:]))
			if size <= direntName || size > len(rest) {
				return has
			}
			name, _, _ := bytes.Cut(rest[direntName:size], []byte{0})
			isNode := rest[direntType] == unix.DT_DIR
			rest = rest[size:]
			if isNode {
				if string(name) != "." && string(name) != ".." {
					t.names = append(append(t.names, name...), 0)
				}
				continue
			}
			switch string(name) {
			case "status":
				has.status = true
			case "phandle":
				has.phandle = true
			case "brcm,pins":
				has.brcmPins = true
			case "pins":
				has.pins = true
			case "function":
				has.function = true
			case "pinctrl-0":
				has.pinctrl = true
			case "gpio-controller":
				has.controller = true
			}
		}
	}
}

// group is the pins of a group that carry a function other than plain input or
// output.
func (t *deviceTree) group(fd int, has properties) (used []uint32) {
	if has.brcmPins {
		functions := t.cells(fd, "brcm,function")
		for i, pin := range t.cells(fd, "brcm,pins") {
			f := uint32(0)
			if len(functions) > 0 { // one for all pins, or one for each
				f = functions[min(i, len(functions)-1)]
			}
			if f > 1 {
				used = append(used, pin)
			}
		}
		return used
	}
	if f := t.text(fd, "function"); strings.HasPrefix(f, "gpio") || f == "none" {
		return nil
	}
	for name := range strings.SplitSeq(t.text(fd, "pins"), "\x00") {
		digits, ok := strings.CutPrefix(name, "gpio")
		if pin, err := strconv.ParseUint(digits, 10, 32); ok && err == nil {
			used = append(used, uint32(pin))
		}
	}
	return used
}

// value is a property of the node open as fd, until the next call.
func (t *deviceTree) value(fd int, property string) []byte {
	p, err := unix.Openat(fd, property, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(p)
	n, _ := unix.Read(p, t.buf[:])
	return t.buf[:max(n, 0)]
}

// text is a property that is text, or several, without the NUL at its end.
func (t *deviceTree) text(fd int, property string) string {
	return strings.TrimRight(string(t.value(fd, property)), "\x00")
}

// cells is the 32-bit cells of a property.
func (t *deviceTree) cells(fd int, property string) []uint32 {
	b := t.value(fd, property)
	cells := make([]uint32, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		cells = append(cells, binary.BigEndian.Uint32(b))
	}
	return cells
}
