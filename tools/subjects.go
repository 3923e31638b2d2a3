package tools

import (
	"boardhand/device"
	"boardhand/rpc"
	"boardhand/tools/modbus"
)

// What each tool touches, for the rules about single things. The names are those
// that the handlers find, whatever the caller wrote; what is not found is left out,
// as the handler will say so.

// writeSubject is the line that is written, and the level that it is left at: that of
// no pulse, whose end is another.
func (t *gpioTools) writeSubject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	dst = t.appendLine(dst, c.Str(0))
	if len(dst) > 0 && !c.Has(2) {
		dst[0].Level = c.Int(1)
	}
	return dst
}

// lineSubject and lineSubjects are the lines that argument 0 names, one or several.
func (t *gpioTools) lineSubject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	return t.appendLine(dst, c.Str(0))
}

func (t *gpioTools) lineSubjects(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	for _, name := range c.Strs(0) {
		dst = t.appendLine(dst, name)
	}
	return dst
}

func (t *gpioTools) appendLine(dst []rpc.Subject, name string) []rpc.Subject {
	if line, err := t.names.find(name); err == nil {
		dst = append(dst, rpc.Thing("gpio", line.name))
	}
	return dst
}

// readSubject and writeSubject are the address, and the registers where one is
// named, counted in bytes.
func (t *i2cTools) readSubject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	return t.appendRegisters(c, dst, c.IntOr(4, 1))
}

func (t *i2cTools) writeSubject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	return t.appendRegisters(c, dst, int64(len(c.Bytes(4))))
}

func (t *i2cTools) appendRegisters(c *rpc.Call, dst []rpc.Subject, bytes int64) []rpc.Subject {
	p, err := t.place(c)
	if err != nil {
		return dst
	}
	s := rpc.Thing("i2c", busName(p.bus))
	s.Address = int64(p.addr)
	if c.Has(2) {
		if p.register != nil && !c.Has(4) {
			bytes = int64(p.register.Length)
		}
		for _, b := range p.pointer {
			s.First = max(s.First, 0)<<8 | int64(b)
		}
		s.Last = s.First + max(bytes, 1) - 1
	}
	return append(dst, s)
}

// transferSubjects are the addresses of the messages, whose registers nobody knows.
func (t *i2cTools) transferSubjects(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	bus, err := t.bus(c)
	if err != nil {
		return dst
	}
	for _, text := range c.Strs(2) {
		if m, err := t.message(c, text); err == nil {
			s := rpc.Thing("i2c", busName(bus))
			s.Address = int64(m.Addr)
			dst = append(dst, s)
		}
	}
	return dst
}

func (t *spiTools) subject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	if d, err := t.device(c); err == nil {
		dst = append(dst, rpc.Thing("spi", d.Name))
	}
	return dst
}

func (t *sensorTools) subjects(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	for _, name := range c.Strs(0) {
		dst = append(dst, rpc.Thing("sensor", name))
	}
	return dst
}

func (t pwmTools) subject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	if ch, err := t.pwm.Find(c.Str(0)); err == nil {
		dst = append(dst, rpc.Thing("pwm", ch.Name))
	}
	return dst
}

func (t ledTools) subject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	if led, err := t.leds.Find(c.Str(0)); err == nil {
		dst = append(dst, rpc.Thing("led", led.Name))
	}
	return dst
}

func (t *canTools) subject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	if l, err := t.link(c); err == nil {
		dst = append(dst, rpc.Thing("can", l.Name))
	}
	return dst
}

func (t *uartTools) subject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	return appendPort(dst, t.uart, c.Str(0))
}

func appendPort(dst []rpc.Subject, u device.UART, name string) []rpc.Subject {
	if found, err := u.Find(name); err == nil {
		dst = append(dst, rpc.Thing("uart", found))
	}
	return dst
}

// subject is the unit and its registers or coils.
func (t *modbusTools) subject(c *rpc.Call, dst []rpc.Subject) []rpc.Subject {
	a, err := t.asked(c)
	if err != nil {
		return dst
	}
	s := rpc.Thing("modbus", a.to.String())
	if !a.to.IsValid() {
		if t.uart == nil {
			return dst
		}
		if s.Name, err = t.uart.Find(a.port); err != nil {
			return dst
		}
	}
	count := a.count * int64(max(a.typ.Registers(), 1))
	if a.point == nil && c.Tool().Params[4].Type == rpc.String {
		count = int64(a.written(c.Str(4)))
	}
	s.Address, s.Kind, s.First = int64(a.unit), modbusKinds[a.kind], int64(a.address)
	s.Last = s.First + max(count, 1) - 1
	return append(dst, s)
}

// written is how many registers or coils values are, as a write reads them.
func (a *asked) written(values string) int {
	if a.kind.Bits() {
		bits, _ := modbus.ParseBits(values)
		return len(bits)
	}
	registers, _ := a.registers(values)
	return len(registers)
}
