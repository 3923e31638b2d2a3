package policy

import (
	"fmt"

	"boardhand/device"
)

// i2c shows the addresses and registers that are open.
type i2c struct {
	inner device.I2C
	rules *Rules
}

// I2C implements device.Board: it is nil where no address is open.
func (b *Board) I2C() device.I2C {
	if b.i2c == nil {
		return nil
	}
	return b.i2c
}

// newI2C is nil where the rules open nothing.
func newI2C(inner device.I2C, r *Rules) *i2c {
	p := &i2c{inner, r}
	if r.Allow == Everything {
		return p
	}
	for i := range r.I2C {
		if p.opens(&r.I2C[i]) {
			return p
		}
	}
	return nil
}

// opens says whether anything of a chip is open.
func (p *i2c) opens(c *Chip) bool {
	open := p.rules.access(c.Access, AccessRead) != AccessNone
	for i := range c.Registers {
		open = open || p.register(c, &c.Registers[i]) != AccessNone
	}
	return open
}

// register is what may be done with a register.
func (p *i2c) register(c *Chip, r *Register) Access {
	return p.rules.access(r.Access, p.rules.access(c.Access, AccessRead))
}

// chipAt is the rule of an address, the narrowest that has it, or nil.
func (r *Rules) chipAt(bus int, addr uint16) *Chip {
	var best *Chip
	for i := range r.I2C {
		c := &r.I2C[i]
		if c.Bus != bus || c.TenBit != (addr&device.TenBit != 0) || !c.Addresses.Has(addr&^device.TenBit) {
			continue
		}
		if best == nil || c.Addresses.Last-c.Addresses.First < best.Addresses.Last-best.Addresses.First {
			best = c
		}
	}
	return best
}

// at is the rule of a register, the narrowest that has it, or nil.
func (c *Chip) at(number uint16) *Register {
	var best *Register
	for i := range c.Registers {
		r := &c.Registers[i]
		if first, last := c.span(r); number >= first && number <= last {
			if best == nil || r.Numbers.Last-r.Numbers.First < best.Numbers.Last-best.Numbers.First {
				best = r
			}
		}
	}
	return best
}

// span is the first and the last number of a register.
func (c *Chip) span(r *Register) (first, last uint16) {
	first, last = r.Numbers.First, r.Numbers.Last
	if size := r.form(false).Size(); size > 0 && first == last {
		last = first + uint16((size+c.registerBytes()-1)/c.registerBytes()) - 1
	}
	return first, max(first, last)
}

// Buses implements device.I2C: the buses on which something is open.
func (p *i2c) Buses(dst []device.Bus) ([]device.Bus, error) {
	begin := len(dst)
	dst, err := p.inner.Buses(dst)
	keep := dst[:begin]
	for _, b := range dst[begin:] {
		if p.hasBus(b.Number) {
			keep = append(keep, b)
		}
	}
	return keep, err
}

func (p *i2c) hasBus(number int) bool {
	if p.rules.Allow == Everything {
		return true
	}
	for i := range p.rules.I2C {
		if c := &p.rules.I2C[i]; c.Bus == number && p.opens(c) {
			return true
		}
	}
	return false
}

// open says whether anything at an address is open, and the chip's rule if there is one.
func (p *i2c) open(bus int, addr uint16) (*Chip, bool) {
	c := p.rules.chipAt(bus, addr)
	if c == nil {
		return nil, p.rules.Allow == Everything
	}
	return c, p.opens(c)
}

// Scan implements device.I2C. It asks the addresses alone that are open.
func (p *i2c) Scan(bus int, first, last uint16, dst []device.Occupant, s device.Scanning) ([]device.Occupant, error) {
	if first > last || last > 0x7f {
		return p.inner.Scan(bus, first, last, dst, s) // which says so
	}
	if !p.hasBus(bus) {
		return dst, p.rules.closed(fmt.Sprintf("i2c-%d", bus), "i2c", p.chips())
	}
	asked, begin := 0, len(dst)
	total := int(last-first) + 1
	for addr := first; addr <= last; addr++ {
		if _, open := p.open(bus, addr); !open {
			asked++
			continue
		}
		end := addr
		for end < last {
			if _, open := p.open(bus, end+1); !open {
				break
			}
			end++
		}
		part := device.Scanning{Stop: s.Stop}
		if s.Progress != nil {
			part.Progress = func(done, _ int) { s.Progress(asked+done, total) }
		}
		var err error
		if dst, err = p.inner.Scan(bus, addr, end, dst, part); err != nil {
			return dst, err
		}
		asked += int(end-addr) + 1
		addr = end
	}
	for i := begin; i < len(dst); i++ {
		if c, _ := p.open(bus, dst[i].Addr); c != nil {
			dst[i].Name, dst[i].Description = c.Name, c.Description
		}
	}
	return dst, nil
}

// chips is how the open addresses are called.
func (p *i2c) chips() []string {
	var names []string
	for i := range p.rules.I2C {
		c := &p.rules.I2C[i]
		if !p.opens(c) {
			continue
		}
		name := fmt.Sprintf("%v of bus %d", c.Addresses, c.Bus)
		if c.Name != "" {
			name = c.Name + " (" + name + ")"
		}
		names = append(names, name)
	}
	return names
}

// Transfer implements device.I2C.
func (p *i2c) Transfer(bus int, addr uint16, write, read []byte) error {
	parts := [2]device.Message{{Addr: addr, Data: write}, {Addr: addr, Read: true, Data: read}}
	messages := parts[:]
	if len(write) == 0 {
		messages = messages[1:]
	}
	if len(read) == 0 {
		messages = messages[:len(messages)-1]
	}
	if err := p.allows(bus, messages); err != nil {
		return err
	}
	return p.named(bus, addr, p.inner.Transfer(bus, addr, write, read))
}

// Transact implements device.I2C.
func (p *i2c) Transact(bus int, messages []device.Message) error {
	if err := p.allows(bus, messages); err != nil {
		return err
	}
	err := p.inner.Transact(bus, messages)
	for i := range messages {
		if n := p.named(bus, messages[i].Addr, err); n != err {
			return n
		}
	}
	return err
}

// named is the board's error about an address, under the user's name of it.
func (p *i2c) named(bus int, addr uint16, err error) error {
	if err == nil {
		return nil
	}
	if c := p.rules.chipAt(bus, addr); c != nil && c.Name != "" {
		return named(err, fmt.Sprintf("i2c-%d address 0x%02x", bus, addr&^device.TenBit), fmt.Sprintf("chip %q", c.Name))
	}
	return err
}

// allows says why a rule refuses a transaction. A chip goes on from the register
// that it was told last, so what a message touches follows from those before it:
// without one before it that says the register, it may touch any.
func (p *i2c) allows(bus int, messages []device.Message) error {
	var at pointer
	for i := range messages {
		m := &messages[i]
		c := p.rules.chipAt(bus, m.Addr)
		if c == nil {
			if err := p.unnamed(bus, messages, i); err != nil {
				return err
			}
			continue
		}
		// Another address between would end the chip's attention, not its pointer; only
		// the pointer of the last address is known here.
		if at.chip != c || at.addr != m.Addr {
			at = pointer{chip: c, addr: m.Addr}
		}
		if err := p.message(&at, messages, i); err != nil {
			return err
		}
	}
	return nil
}

// unnamed says why a message to an address that no rule names is refused.
func (p *i2c) unnamed(bus int, messages []device.Message, i int) error {
	m := &messages[i]
	subject := fmt.Sprintf("i2c-%d address 0x%02x", bus, m.Addr&^device.TenBit)
	switch {
	case p.rules.Allow != Everything:
		return p.rules.closed(subject, "i2c", p.chips())
	case p.rules.ReadOnly && !m.Read && !(len(m.Data) <= 2 && read(messages, i)):
		return p.rules.onlyRead(0, subject)
	}
	return nil
}

// read says whether message i, a write, is followed by a read of the same address.
func read(messages []device.Message, i int) bool {
	return i+1 < len(messages) && messages[i+1].Read && messages[i+1].Addr == messages[i].Addr
}

// pointer is the register that a chip goes on with, as far as a transaction tells.
type pointer struct {
	chip   *Chip
	addr   uint16
	known  bool
	number uint16
}

// message says why the rule of a chip refuses message i.
func (p *i2c) message(at *pointer, messages []device.Message, i int) error {
	c, m := at.chip, &messages[i]
	access := p.rules.access(c.Access, AccessRead)
	subject := c.subject()
	if !p.opens(c) {
		return p.rules.shut(c.At, subject)
	}
	if len(m.Data) == 0 {
		return nil // no board sends such a message
	}
	if len(c.Registers) == 0 {
		if m.Read || access == AccessWrite || len(m.Data) <= c.registerWidth() && c.registerWidth() > 0 && read(messages, i) {
			return nil
		}
		return p.rules.onlyRead(c.At, subject)
	}
	if m.Read {
		if !at.known {
			if access != AccessNone && p.all(c, AccessRead) {
				return nil
			}
			return p.rules.refusal(c.At, subject, "only some registers are open, and this does not say which it reads", "write the register's number in the same transfer")
		}
		n := len(m.Data)
		if m.Block {
			n = 1
		}
		return p.registers(at, nil, n, AccessRead)
	}
	width := c.registerWidth()
	if len(m.Data) < width {
		return p.rules.refusal(c.At, subject, fmt.Sprintf("a register's number has %d bytes here, and this writes %d", width, len(m.Data)), "give register, and register_width where it is not 1")
	}
	at.known, at.number = true, 0
	for _, b := range m.Data[:width] {
		at.number = at.number<<8 | uint16(b)
	}
	data := m.Data[width:]
	switch {
	case len(data) > 0:
		return p.registers(at, data, len(data), AccessWrite)
	case read(messages, i):
		return nil // the read is judged
	}
	there := *at
	return p.registers(&there, nil, 1, AccessWrite) // a command of one byte
}

// all says whether every register allows what is wanted.
func (p *i2c) all(c *Chip, want Access) bool {
	for i := range c.Registers {
		if p.register(c, &c.Registers[i]) < want {
			return false
		}
	}
	return true
}

// registers says why n bytes from the pointer on are refused, and moves it. data is
// what is written.
func (p *i2c) registers(at *pointer, data []byte, n int, want Access) error {
	c := at.chip
	each := c.registerBytes()
	mask := uint16(1)<<(8*c.registerWidth()) - 1 // of 2 bytes: all
	count := (n + each - 1) / each
	for k := 0; k < min(count, int(mask)+1); k++ {
		number := (at.number + uint16(k)) & mask
		r := c.at(number)
		access, line, subject := p.rules.access(c.Access, AccessRead), c.At, fmt.Sprintf("%s register 0x%02x", c.subject(), number)
		if r != nil {
			access, line = p.register(c, r), r.At
			if r.Name != "" {
				subject = fmt.Sprintf("%s register %q", c.subject(), r.Name)
			}
		}
		switch {
		case access == AccessNone && r == nil:
			return p.rules.refusal(line, subject, "no [[i2c.register]] opens it", "it opens "+listed(c.registerNames()))
		case access == AccessNone:
			return p.rules.shut(line, subject)
		case access < want:
			return p.rules.onlyRead(line, subject)
		case want == AccessWrite && r != nil && (r.Min != nil || r.Max != nil):
			if err := p.value(c, r, number, data, k*each, subject); err != nil {
				return err
			}
		}
	}
	at.number = (at.number + uint16(count)) & mask
	return nil
}

// value says why what is written to a register is out of its bounds. The number
// stands at data[from], if it is the register's first.
func (p *i2c) value(c *Chip, r *Register, number uint16, data []byte, from int, subject string) error {
	f := r.form(false)
	if number != r.Numbers.First {
		if first := from - int(number-r.Numbers.First)*c.registerBytes(); first < 0 {
			return p.rules.refusal(r.At, subject, "its value has bounds, and this writes a part of it", fmt.Sprintf("write its %d bytes at once", f.Size()))
		}
		return nil // it was looked at as the first
	}
	if from+f.Size() > len(data) {
		return p.rules.refusal(r.At, subject, "its value has bounds, and this writes a part of it", fmt.Sprintf("write its %d bytes at once", f.Size()))
	}
	return p.rules.inBounds(&r.Value, f, data[from:from+f.Size()], r.At, subject)
}

// inBounds says why a written number is out of its bounds.
func (r *Rules) inBounds(v *Value, f *device.Form, data []byte, at int, subject string) error {
	if v.Min == nil && v.Max == nil {
		return nil
	}
	d, ok := f.Decode(data)
	n := d.Float()
	if ok && (v.Min == nil || n >= *v.Min) && (v.Max == nil || n <= *v.Max) {
		return nil
	}
	unit := ""
	if v.Unit != "" {
		unit = " " + v.Unit
	}
	value := fmt.Sprintf("%.10g%s", n, unit)
	if !ok {
		value = "what is no number"
	}
	return r.refusal(at, subject, "it may not be "+value, v.bounds()+unit+" are allowed")
}

// bounds is the bounds in words: "5 to 30".
func (v *Value) bounds() string {
	switch {
	case v.Min == nil:
		return fmt.Sprintf("numbers up to %.10g", *v.Max)
	case v.Max == nil:
		return fmt.Sprintf("numbers from %.10g", *v.Min)
	}
	return fmt.Sprintf("%.10g to %.10g", *v.Min, *v.Max)
}

func (c *Chip) subject() string {
	if c.Name != "" {
		return fmt.Sprintf("chip %q", c.Name)
	}
	return fmt.Sprintf("i2c-%d address %v", c.Bus, c.Addresses)
}

func (c *Chip) registerNames() []string {
	names := make([]string, len(c.Registers))
	for i := range c.Registers {
		names[i] = c.Registers[i].Numbers.String()
		if c.Registers[i].Name != "" {
			names[i] = c.Registers[i].Name + " (" + names[i] + ")"
		}
	}
	return names
}
