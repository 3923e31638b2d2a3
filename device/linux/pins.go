//go:build linux

package linux

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	t.walk(filepath.Join(r.proc, "device-tree"), 0)
	owners := map[uint32]string{}
	for phandle, user := range t.users {
		for _, pin := range t.pins[phandle] {
			owners[pin] = user
		}
	}
	return owners
}

type deviceTree struct {
	nodes int
	pins  map[uint32][]uint32 // of a pin group, by its phandle
	users map[uint32]string   // the enabled device that uses a pin group
}

func (t *deviceTree) walk(dir string, depth int) {
	if t.nodes++; t.nodes > maxNodes || depth > maxDepth {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return err == nil
	}
	if has("status") {
		if s, _ := readText(16, dir, "status"); s != "okay" && s != "ok" {
			return
		}
	}
	if has("phandle") && (has("brcm,pins") || has("pins") && has("function")) {
		if phandle := readCells(dir, "phandle"); len(phandle) == 1 {
			t.pins[phandle[0]] = append(t.pins[phandle[0]], groupPins(dir)...)
		}
	}
	// What the pin controller sets up for itself is only a default.
	if has("pinctrl-0") && !has("gpio-controller") {
		for _, phandle := range readCells(dir, "pinctrl-0") {
			t.users[phandle] = filepath.Base(dir)
		}
	}
	for _, e := range entries {
		if e.IsDir() {
			t.walk(filepath.Join(dir, e.Name()), depth+1)
		}
	}
}

// groupPins is the pins of a group that carry a function other than plain input
// or output.
func groupPins(dir string) []uint32 {
	if pins := readCells(dir, "brcm,pins"); len(pins) > 0 {
		functions := readCells(dir, "brcm,function")
		var used []uint32
		for i, pin := range pins {
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
	if f, _ := readText(32, dir, "function"); strings.HasPrefix(f, "gpio") || f == "none" {
		return nil
	}
	names, _ := readText(4096, dir, "pins")
	var used []uint32
	for name := range strings.SplitSeq(names, "\x00") {
		digits, ok := strings.CutPrefix(name, "gpio")
		if pin, err := strconv.ParseUint(digits, 10, 32); ok && err == nil {
			used = append(used, uint32(pin))
		}
	}
	return used
}

// readCells is the 32-bit cells of a property.
func readCells(path ...string) []uint32 {
	b, _ := readBytes(4096, path...)
	cells := make([]uint32, 0, len(b)/4)
	for ; len(b) >= 4; b = b[4:] {
		cells = append(cells, binary.BigEndian.Uint32(b))
	}
	return cells
}
