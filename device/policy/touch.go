package policy

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"boardhand/device"
)

// Touch is what a call touches. What a number does not apply to, or may be any, is
// -1.
type Touch struct {
	Family      string // "gpio", "i2c", "spi", "sensor", "uart", "can", "modbus", "pwm" or "led"
	Name        string // of the line, the bus, the port, the target, as the wrapped board finds it
	Address     int64  // of an I2C chip, or the unit id of a Modbus device
	Kind        string // of Modbus registers
	First, Last int64  // the registers
	Level       int64  // that it is left at, where the call does no more than that
}

// About is a rule and what it is about.
type About struct {
	Rule    *Rule
	Table   string // of the file, in which it stands: "line"; of a register or a point its device's
	Subject string // `line "pump"`
	Access  Access // in the end
}

// All gives the rules about single things, those of registers and points behind
// that of their device.
func (r *Rules) All() iter.Seq[About] {
	return func(yield func(About) bool) {
		table := ""
		give := func(rule *Rule, noun, own string, missing Access) bool {
			name := rule.Name
			if name == "" {
				name = own
			}
			return yield(About{rule, table, fmt.Sprintf("%s %q", noun, name), r.access(rule.Access, missing)})
		}
		table = "line"
		for i := range r.Lines {
			if x := &r.Lines[i]; !give(&x.Rule, "line", x.Line, AccessRead) {
				return
			}
		}
		table = "i2c"
		for i := range r.I2C {
			x := &r.I2C[i]
			if !give(&x.Rule, "chip", fmt.Sprintf("i2c-%d %v", x.Bus, x.Addresses), AccessRead) {
				return
			}
			for j := range x.Registers {
				if y := &x.Registers[j]; !give(&y.Rule, "register", y.Numbers.String(), x.Access) {
					return
				}
			}
		}
		table = "spi"
		for i := range r.SPI {
			if x := &r.SPI[i]; !give(&x.Rule, "SPI device", x.Device, AccessRead) {
				return
			}
		}
		table = "sensor"
		for i := range r.Sensors {
			if x := &r.Sensors[i]; !give(&x.Rule, "sensor", x.Sensor, AccessRead) {
				return
			}
		}
		table = "uart"
		for i := range r.UARTs {
			if x := &r.UARTs[i]; !give(&x.Rule, "UART", x.Port, AccessRead) {
				return
			}
		}
		table = "can"
		for i := range r.CAN {
			if x := &r.CAN[i]; !give(&x.Rule, "CAN interface", x.Interface, AccessRead) {
				return
			}
		}
		table = "modbus"
		for i := range r.Modbus {
			x := &r.Modbus[i]
			if !give(&x.Rule, "Modbus device", x.Target, AccessRead) {
				return
			}
			for j := range x.Points {
				if y := &x.Points[j]; !give(&y.Rule, "point", "of "+x.Target, x.Access) {
					return
				}
			}
		}
		table = "pwm"
		for i := range r.PWM {
			if x := &r.PWM[i]; !give(&x.Rule, "PWM channel", x.Channel, AccessRead) {
				return
			}
		}
		table = "led"
		for i := range r.LEDs {
			if x := &r.LEDs[i]; !give(&x.Rule, "LED", x.LED, AccessRead) {
				return
			}
		}
	}
}

// Opens is the most that the rules of a table, "line", open of any of its things.
func (r *Rules) Opens(table string) Access {
	most := r.unnamed()
	if table == "system" {
		most = min(r.access(r.System.Access, most), AccessRead)
	}
	for about := range r.All() {
		if about.Table == table {
			most = max(most, about.Access)
		}
	}
	return most
}

// RulesAbout appends the rules about what a call touches, of those the narrowest
// that are; one may be there twice. Where it is not known which registers a call
// touches, it may be any: a rule that asks must not be gone round by a way that
// cannot be read.
func (b *Board) RulesAbout(dst []*Rule, t Touch) []*Rule {
	switch t.Family {
	case "gpio":
		if b.gpio == nil {
			return dst
		}
		if l, err := b.gpio.find(t.Name); err == nil && l.rule != nil {
			dst = append(dst, &l.rule.Rule)
		}
		return dst
	case "i2c":
		return b.rules.aboutChips(dst, t)
	case "modbus":
		for i := range b.rules.Modbus {
			if m := &b.rules.Modbus[i]; b.isTarget(m, t.Name) {
				dst = m.about(dst, t)
			}
		}
		return dst
	case "uart":
		return b.aboutPort(dst, t)
	}
	f := b.naming(t.Family)
	if f == nil {
		return dst
	}
	if found, err := f.find(t.Name); err == nil && found.rule != nil {
		dst = append(dst, found.rule)
	}
	return dst
}

// Rests says whether a call does no more than bring a line to its safe level. That
// must be possible at any time.
func (b *Board) Rests(t Touch) bool {
	if t.Family != "gpio" || t.Level < 0 || b.gpio == nil {
		return false
	}
	l, err := b.gpio.find(t.Name)
	if err != nil || l.rule == nil {
		return false
	}
	return l.rule.Safe == LevelLow && t.Level == int64(device.Low) || l.rule.Safe == LevelHigh && t.Level == int64(device.High)
}

// naming is that of a family, or nil.
func (b *Board) naming(family string) *naming {
	switch {
	case family == "spi" && b.spi != nil:
		return &b.spi.naming
	case family == "sensor" && b.sensors != nil:
		return &b.sensors.naming
	case family == "can" && b.can != nil:
		return &b.can.naming
	case family == "pwm" && b.pwm != nil:
		return &b.pwm.naming
	case family == "led" && b.leds != nil:
		return &b.leds.naming
	}
	return nil
}

// aboutChips is RulesAbout of an address on the bus i2c-N, whose registers are
// counted in bytes.
func (r *Rules) aboutChips(dst []*Rule, t Touch) []*Rule {
	number, _ := strings.CutPrefix(t.Name, "i2c-")
	bus, err := strconv.Atoi(number)
	if err != nil || t.Address < 0 {
		return dst
	}
	c := r.chipAt(bus, uint16(t.Address))
	if c == nil {
		return dst
	}
	dst = append(dst, &c.Rule)
	first, last := t.First, t.First
	if t.Last > first {
		last = first + (t.Last-first)/int64(c.registerBytes())
	}
	for i := range c.Registers {
		low, high := c.span(&c.Registers[i])
		if t.First < 0 || first <= int64(high) && last >= int64(low) {
			dst = append(dst, &c.Registers[i].Rule)
		}
	}
	return dst
}

// about is RulesAbout of registers of a device, whose target is that of t.
func (m *Modbus) about(dst []*Rule, t Touch) []*Rule {
	const all = 0 // the unit id that every device hears
	if t.Address > all && t.Address != int64(m.unit()) {
		return dst
	}
	dst = append(dst, &m.Rule)
	for i := range m.Points {
		p := &m.Points[i]
		kind := t.Kind == "" || pointKinds[t.Kind] == pointKinds[p.Kind]
		first := int64(*p.Address)
		if t.First < 0 || kind && t.First < first+int64(p.numbers()) && t.Last >= first {
			dst = append(dst, &p.Rule)
		}
	}
	return dst
}

// isTarget says whether the target of a device is the one called name: itself, its
// port by another name, or its address.
func (b *Board) isTarget(m *Modbus, name string) bool {
	if m.Name == name || m.Target == name {
		return true
	}
	if to, ok := addressOf(m.Target); ok {
		other, ok := addressOf(name)
		return ok && to == other
	}
	if b.uart == nil {
		return false
	}
	t, _, err := b.uart.resolve(name)
	return err == nil && t != nil && slices.Contains(b.uart.devices(t), m)
}

// aboutPort is RulesAbout of a port, on which what is sent may go to any of its
// Modbus devices.
func (b *Board) aboutPort(dst []*Rule, t Touch) []*Rule {
	if b.uart == nil {
		return dst
	}
	found, _, err := b.uart.resolve(t.Name)
	if err != nil || found == nil {
		return dst
	}
	if rule := b.uart.rule(found); rule != nil {
		dst = append(dst, &rule.Rule)
	}
	for _, m := range b.uart.devices(found) {
		dst = m.about(dst, Touch{Address: -1, First: -1, Last: -1, Level: -1})
	}
	return dst
}
