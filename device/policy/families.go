package policy

import "boardhand/device"

// families are what the board shows; nil is a family of which nothing is open.
type families struct {
	i2c     *i2c
	sensors *sensors
	spi     *spi
	pwm     *pwm
	leds    *leds
	can     *can
	uart    *uart
	tcp     *tcp
	names   device.Names
}

// open finds the families of board b of which the rules open something.
func (r *Rules) open(b device.Board) families {
	f := families{names: r.names()}
	if c := b.I2C(); c != nil {
		f.i2c = newI2C(c, r)
	}
	if s := b.Sensors(); s != nil {
		if w := newSensors(s, r); w.any() {
			f.sensors = w
		}
	}
	if s := b.SPI(); s != nil {
		if w := newSPI(s, r); w.any() {
			f.spi = w
		}
	}
	if p := b.PWM(); p != nil {
		if w := newPWM(p, r); w.any() {
			f.pwm = w
		}
	}
	if l := b.LEDs(); l != nil {
		if w := newLEDs(l, r); w.any() {
			f.leds = w
		}
	}
	if c := b.CAN(); c != nil {
		if w := newCAN(c, r); w.any() {
			f.can = w
		}
	}
	if u := b.UART(); u != nil {
		f.uart = newUART(u, r)
	}
	if t := b.TCP(); t != nil {
		f.tcp = newTCP(t, r)
	}
	return f
}

// Names implements device.Named.
func (b *Board) Names() *device.Names { return &b.names }

// names is what the file calls the things that the board has no names for. What is
// closed is not among them.
func (r *Rules) names() device.Names {
	n := device.Names{Board: r.Name, Description: r.Description}
	access := (&i2c{rules: r}).register
	for i := range r.I2C {
		c := &r.I2C[i]
		if c.Name == "" || !(&i2c{rules: r}).opens(c) {
			continue
		}
		chip := device.Chip{Name: c.Name, Description: c.Description, Bus: c.Bus, Addr: c.Addresses.First, RegisterWidth: c.registerWidth()}
		if c.TenBit {
			chip.Addr |= device.TenBit
		}
		for j := range c.Registers {
			x := &c.Registers[j]
			if x.Name == "" || access(c, x) == AccessNone {
				continue
			}
			first, last := c.span(x)
			form := x.form(false)
			length := form.Size()
			if length == 0 {
				length = (int(last-first) + 1) * c.registerBytes()
			}
			chip.Registers = append(chip.Registers, device.Register{Name: x.Name, Description: x.Description, First: first, Last: last, Length: length, Form: *form})
		}
		n.Chips = append(n.Chips, chip)
	}
	for i := range r.Modbus {
		m := &r.Modbus[i]
		target := m.Target
		for j := range r.UARTs {
			if r.UARTs[j].Port == target && r.UARTs[j].Name != "" {
				target = r.UARTs[j].Name
			}
		}
		if m.Name != "" {
			n.Devices = append(n.Devices, device.ModbusDevice{Name: m.Name, Description: m.Description, Target: target, Unit: byte(m.unit())})
		}
		for j := range m.Points {
			p := &m.Points[j]
			if a := r.access(p.Access, AccessRead); a != AccessNone {
				n.Points = append(n.Points, r.point(m, p, target, a == AccessWrite))
			}
		}
	}
	return n
}

func (r *Rules) point(m *Modbus, p *Point, target string, writable bool) device.Point {
	kind, typ := p.Kind, p.Type
	if kind == "" {
		kind = "holding"
	}
	if typ == "" {
		typ = "u16"
	}
	d := device.Point{Name: p.Name, Description: p.Description, Target: target, Unit: byte(m.unit()), Kind: kind, Address: uint16(*p.Address),
		Count: max(p.Count, 1), Type: typ, Little: p.Order == "little", Writable: writable}
	if kind == "holding" || kind == "input" {
		d.Form = *p.form(true)
	}
	return d
}
