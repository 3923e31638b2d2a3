package tools

import (
	"fmt"
	"strings"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// What a board file says of the board's things reaches the model here.

// descriptionField is what the board file says of a thing.
var descriptionField = rpc.Field{Name: "description", Type: rpc.String, Optional: true}

func appendDescription(dst []byte, text string) []byte {
	if text != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "description"), text)
	}
	return dst
}

// withDescription is how a thing is described, with what the board file says of it.
func withDescription(s, text string) string {
	if text != "" {
		s += ": " + text
	}
	return s
}

// maxNamed bounds how many names the instructions hold.
const maxNamed = 24

// aboutNames is what a client is told at first of a board that a file describes.
func aboutNames(n *device.Names) string {
	s := ""
	if n.Board != "" {
		s += "It is called " + n.Board + ". "
	}
	if n.Description != "" {
		s += strings.TrimSuffix(n.Description, ".") + ". "
	}
	if len(n.Chips) > 0 {
		s += "I2C addresses and registers have names: " + strings.Join(described(n.Chips, maxNamed, describeChip), "; ") + ". "
	}
	if len(n.Points) > 0 {
		s += "modbus_read takes as target: " + strings.Join(described(n.Points, maxNamed, describePoint), "; ") + ". "
	}
	return s
}

// describeChip says what a chip is: "climate (BME280 under the roof) with id, measured".
func describeChip(c device.Chip) string {
	s := c.Name
	if c.Description != "" {
		s += " (" + c.Description + ")"
	}
	if len(c.Registers) > 0 {
		s += " with " + strings.Join(described(c.Registers, maxNamed, func(r device.Register) string { return r.Name }), ", ")
	}
	return s
}

// describeRegister says what a register is: "ctrl_meas 0xf4 (mode and oversampling)".
func describeRegister(r device.Register) string {
	s := fmt.Sprintf("%s 0x%02x", r.Name, r.First)
	if r.Form.Unit != "" {
		s += " in " + r.Form.Unit
	}
	if r.Description != "" {
		s += " (" + r.Description + ")"
	}
	return s
}

// describePoint says what a point is: "setpoint in °C, writable (Temperature to hold)".
func describePoint(p device.Point) string {
	s := p.Name
	if p.Form.Unit != "" {
		s += " in " + p.Form.Unit
	}
	if p.Writable {
		s += ", writable"
	}
	if p.Description != "" {
		s += " (" + p.Description + ")"
	}
	return s
}

// Numbers from here on are no addresses and registers, but places in a list of names.
const firstNamed = 1 << 20

// namedChips are the names of chips and registers, and the numbers that stand for them
// between the check of a call's arguments and its handler.
type namedChips struct {
	*device.Names
	registers []string // the names of the registers of all chips, each once
}

func newNamedChips(n *device.Names) namedChips {
	all := namedChips{Names: n}
	for i := range n.Chips {
		for j := range n.Chips[i].Registers {
			name := n.Chips[i].Registers[j].Name
			if _, known := all.register(name); !known {
				all.registers = append(all.registers, name)
			}
		}
	}
	return all
}

// address gives the number that stands for a chip's name.
func (n namedChips) address(name string) (int64, bool) {
	for i := range n.Chips {
		if n.Chips[i].Name == name {
			return firstNamed + int64(i), true
		}
	}
	return 0, false
}

// register gives the number that stands for a register's name.
func (n namedChips) register(name string) (int64, bool) {
	for i, known := range n.registers {
		if known == name {
			return firstNamed + int64(i), true
		}
	}
	return 0, false
}

// typed says whether any register with a name is a number.
func (n namedChips) typed() bool {
	for i := range n.Chips {
		for j := range n.Chips[i].Registers {
			if n.Chips[i].Registers[j].Form.Type != "" {
				return true
			}
		}
	}
	return false
}

// chip is the chip that an address stands for, or nil for one that is a number.
func (n namedChips) chip(address int64) *device.Chip {
	if i := address - firstNamed; i >= 0 && i < int64(len(n.Chips)) {
		return &n.Chips[i]
	}
	return nil
}

// registerOf is the register of a chip that a number stands for; nil for one that is
// a number itself.
func (n namedChips) registerOf(chip *device.Chip, number int64) (*device.Register, error) {
	i := number - firstNamed
	if i < 0 || i >= int64(len(n.registers)) {
		return nil, nil
	}
	name := n.registers[i]
	if chip == nil {
		return nil, fmt.Errorf("register is %q, but the address has no name and no registers with names", name)
	}
	r := chip.Register(name)
	if r == nil {
		return nil, fmt.Errorf("register is %q; %s has %s", name, chip.Name,
			strings.Join(described(chip.Registers, maxNamed, func(r device.Register) string { return r.Name }), ", "))
	}
	return r, nil
}
