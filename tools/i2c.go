package tools

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// The 7-bit addresses that devices have; those outside are reserved (UM10204,
// 3.1.12).
const (
	firstAddr = 0x08
	lastAddr  = 0x77

	lastTenBit = 0x3ff
)

// maxTransfer is how many bytes one i2c_read or i2c_write may move: a page of
// registers, and an answer far below 8 KB.
const maxTransfer = 256

func addI2C(cat *rpc.Catalogue, i2c device.I2C, names *device.Names) {
	t := &i2cTools{i2c, newNamedChips(names)}
	bus := rpc.Param{Name: "bus", Type: rpc.Integer}
	address := rpc.Param{Name: "address", Type: rpc.Hex, Required: true, Min: firstAddr, Max: 0xff}
	register := rpc.Param{Name: "register", Type: rpc.Hex, Min: 0, Max: 0xffff}
	if len(names.Chips) > 0 {
		address.Names, register.Names = t.names.address, t.names.register
	}
	width := rpc.Param{Name: "register_width", Type: rpc.Integer}
	data := rpc.Param{Name: "data", Type: rpc.Bytes, Required: true, Min: 1, Max: maxTransfer, Description: "hex; SMBus block: count first"}
	writes := []rpc.Param{bus, address, register, width, data}
	if t.names.typed() {
		writes[4].Required = false
		writes = append(writes, rpc.Param{Name: "value", Type: rpc.Number, Description: "of a register with a name, in place of data"})
	}
	addressField := rpc.Field{Name: "address", Type: rpc.String}
	registerField := rpc.Field{Name: "register", Type: rpc.String, Optional: true}
	busField := rpc.Field{Name: "bus", Type: rpc.Integer}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "i2c_scan",
			Title:       "Scan a bus",
			Description: "Addresses that answer; a driver's is refused elsewhere.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params: []rpc.Param{
				bus,
				{Name: "first", Type: rpc.Hex, Min: firstAddr, Max: lastAddr},
				{Name: "last", Type: rpc.Hex, Min: firstAddr, Max: lastAddr},
			},
			Result: []rpc.Field{
				busField,
				{Name: "found", Type: rpc.Objects, Fields: []rpc.Field{
					addressField,
					{Name: "driver", Type: rpc.String, Optional: true},
					{Name: "name", Type: rpc.String, Optional: true},
					descriptionField,
					{Name: "registers", Type: rpc.Strings, Optional: true, Description: "with names"},
				}},
				{Name: "stopped_before", Type: rpc.String, Optional: true, Description: "where the time was up: go on with it as first"},
				{Name: "functions", Type: rpc.Strings, Description: "what the adapter can do"},
			},
			Queue: t.queue,
			Run:   t.scan,
		},
		rpc.Tool{
			Name:        "i2c_read",
			Title:       "Read from I2C",
			Description: "With register: after a repeated start. Some devices clear what is read.",
			Hints:       rpc.Hints{ReadOnly: true},
			Params: []rpc.Param{
				bus, address, register,
				{Name: "register_width", Type: rpc.Integer, Description: "2 for EEPROMs above 2 KB"},
				{Name: "length", Type: rpc.Integer, Description: "0: SMBus block"},
			},
			Result: []rpc.Field{busField, addressField, registerField,
				{Name: "data", Type: rpc.String, Description: "hex"},
				{Name: "value", Type: rpc.Number, Optional: true, Description: "of a register with a name"},
				{Name: "unit", Type: rpc.String, Optional: true}},
			Queue:    t.queue,
			Subjects: t.readSubject,
			Run:      t.read,
		},
		rpc.Tool{
			Name:        "i2c_write",
			Title:       "Write to I2C",
			Description: "Can change a device for good: know its data sheet.",
			Hints:       rpc.Hints{Destructive: true},
			Params:      writes,
			Result: []rpc.Field{busField, addressField, registerField,
				{Name: "written", Type: rpc.Integer, Description: "bytes of data"}},
			Queue:    t.queue,
			Subjects: t.writeSubject,
			Run:      t.write,
		},
		rpc.Tool{
			Name: "i2c_transfer", Title: "I2C transfer",
			Description: `One transaction: "w 0a ff" writes, "r 4" reads, "rb" an SMBus block, "r@51 4" elsewhere.`,
			Hints:       rpc.Hints{Destructive: true},
			Params: []rpc.Param{
				bus,
				{Name: "address", Type: rpc.Hex, Min: firstAddr, Max: lastTenBit, Names: address.Names},
				{Name: "messages", Type: rpc.Strings, Required: true, Max: maxMessage, MaxItems: device.MaxMessages},
				{Name: "ten_bit", Type: rpc.Boolean},
			},
			Result:   []rpc.Field{busField, {Name: "read", Type: rpc.Strings, Description: "hex, one for each read"}},
			Queue:    t.queue,
			Subjects: t.transferSubjects,
			Run:      t.transfer,
		})
}

type i2cTools struct {
	i2c   device.I2C
	names namedChips
}

// bus finds the bus that argument 0 names, or the only one.
func (t *i2cTools) bus(c *rpc.Call) (int, error) {
	b, err := t.adapter(c)
	return b.Number, err
}

func (t *i2cTools) adapter(c *rpc.Call) (device.Bus, error) {
	buses, err := t.i2c.Buses(nil)
	if err != nil {
		return device.Bus{}, err
	}
	chip := t.names.chip(c.Int(1))
	switch {
	case chip != nil && c.Has(0) && c.Int(0) != int64(chip.Bus):
		return device.Bus{}, fmt.Errorf("bus is %d, but %s is on bus %d; leave bus out", c.Int(0), chip.Name, chip.Bus)
	case chip == nil && !c.Has(0) && len(buses) == 1:
		return buses[0], nil
	}
	var names []string
	for _, b := range buses {
		if c.Has(0) && int64(b.Number) == c.Int(0) || chip != nil && b.Number == chip.Bus {
			return b, nil
		}
		names = append(names, busName(b.Number))
	}
	return device.Bus{}, notChosen(c, "bus", "I2C bus", "i2c-"+strconv.FormatInt(c.Int(0), 10), names)
}

// queue is the bus's own: only of a bus that exists, so that nobody makes queues up.
func (t *i2cTools) queue(c *rpc.Call) string {
	n, err := t.bus(c)
	if err != nil {
		return "" // the handler says so
	}
	return busName(n)
}

func (t *i2cTools) scan(c *rpc.Call) error {
	bus, err := t.adapter(c)
	if err != nil {
		return err
	}
	first, last := uint16(c.IntOr(1, firstAddr)), uint16(c.IntOr(2, lastAddr))
	if first > last {
		return fmt.Errorf("first %#02x is above last %#02x; give the lower address first", first, last)
	}
	if c.Wanted(rpc.LogInfo) {
		c.Log(rpc.LogInfo, "i2c", fmt.Sprintf("scanning i2c-%d from %#02x to %#02x", bus.Number, first, last))
	}
	done := 0
	inTime := pace(c.Deadline())
	found, err := t.i2c.Scan(bus.Number, first, last, nil, device.Scanning{
		Progress: func(n, total int) {
			done = n
			c.Progress(float64(n), float64(total), "addresses")
		},
		Stop: func() bool { return c.Cancelled() || !inTime() },
	})
	outOfTime := errors.Is(err, device.ErrCancelled)
	if err != nil && !outOfTime {
		for _, o := range found {
			err = fmt.Errorf("%w; 0x%02x has the driver %s", err, o.Addr, o.Driver)
		}
		return err
	}
	dst := wire.AppendInt(append(c.Out, `{"bus":`...), int64(bus.Number))
	dst = append(dst, `,"found":[`...)
	for _, o := range found {
		dst = wire.AppendAddr(append(wire.AppendSep(dst), `{"address":`...), o.Addr)
		if o.Driver != "" {
			dst = wire.AppendString(wire.AppendKey(dst, "driver"), o.Driver)
		}
		if o.Name != "" {
			dst = wire.AppendString(wire.AppendKey(dst, "name"), o.Name)
		}
		dst = appendDescription(dst, o.Description)
		if chip := t.names.ChipAt(bus.Number, o.Addr); chip != nil && len(chip.Registers) > 0 {
			dst = appendStrings(wire.AppendKey(dst, "registers"), described(chip.Registers, maxNamed, describeRegister))
		}
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if outOfTime {
		dst = wire.AppendAddr(wire.AppendKey(dst, "stopped_before"), first+uint16(done))
	}
	dst = append(wire.AppendKey(dst, "functions"), '[')
	for _, name := range bus.Functions.AppendNames(nil) {
		dst = wire.AppendString(wire.AppendSep(dst), name)
	}
	c.Out = append(dst, `]}`...)
	return nil
}

// pace gives a function to be asked before each step of something, which says
// whether a step as long as the longest before it still ends in time before the
// deadline. Without a deadline there is always time.
func pace(deadline time.Time) func() bool {
	longest, last := answerEarly, time.Now()
	return func() bool {
		now := time.Now()
		longest = max(longest, now.Sub(last))
		last = now
		return deadline.IsZero() || now.Add(longest+answerEarly).Before(deadline)
	}
}

// i2cPlace is where a call reads or writes.
type i2cPlace struct {
	bus      int
	addr     uint16
	register *device.Register // where it has a name
	pointer  []byte           // the register's number as it goes over the bus; empty where there is none
}

// place is where arguments 0 to 3 say.
func (t *i2cTools) place(c *rpc.Call) (p i2cPlace, err error) {
	if p.bus, err = t.bus(c); err != nil {
		return p, err
	}
	chip := t.names.chip(c.Int(1))
	if chip != nil {
		p.addr = chip.Addr
	} else {
		if p.addr, err = checkAddress(c.Int(1), false); err != nil {
			return p, err
		}
		chip = t.names.ChipAt(p.bus, p.addr)
	}
	number := c.Int(2)
	if p.register, err = t.names.registerOf(chip, number); err != nil {
		return p, err
	}
	if p.register != nil {
		number = int64(p.register.First)
	}
	usual := int64(1)
	if chip != nil && chip.RegisterWidth > 0 {
		usual = int64(chip.RegisterWidth)
	}
	p.pointer, err = appendRegister(nil, c, number, usual)
	return p, err
}

func (t *i2cTools) read(c *rpc.Call) error {
	p, err := t.place(c)
	if err != nil {
		return err
	}
	usual := int64(1)
	if p.register != nil {
		usual = int64(min(p.register.Length, maxTransfer))
	}
	length, err := bounded(c, 4, "length", 0, maxTransfer, usual)
	if err != nil {
		return err
	}
	data := make([]byte, length)
	switch {
	case length > 0:
		err = t.i2c.Transfer(p.bus, p.addr, p.pointer, data)
	case len(p.pointer) != 1:
		return errors.New("length is 0, which is an SMBus block; that needs a register of 1 byte, its command")
	default:
		data = make([]byte, 1+device.MaxBlock)
		err = t.i2c.Transact(p.bus, []device.Message{{Addr: p.addr, Data: p.pointer}, {Addr: p.addr, Read: true, Block: true, Data: data}})
		data = blockOf(data)
	}
	if err != nil {
		return err
	}
	dst := wire.AppendHex(wire.AppendKey(t.appendTarget(c, p.bus), "data"), data)
	if p.register != nil {
		if v, ok := p.register.Form.Decode(data); ok {
			dst = wire.AppendDecimal(wire.AppendKey(dst, "value"), v.Value, v.Exp)
			if unit := p.register.Form.Unit; unit != "" {
				dst = wire.AppendString(wire.AppendKey(dst, "unit"), unit)
			}
		}
	}
	c.Out = append(dst, '}')
	return nil
}

// blockOf is what of data, which was read as a block, is valid.
func blockOf(data []byte) []byte { return data[1 : 1+min(int(data[0]), device.MaxBlock)] }

func (t *i2cTools) write(c *rpc.Call) error {
	p, err := t.place(c)
	if err != nil {
		return err
	}
	data, err := t.data(c, &p)
	if err != nil {
		return err
	}
	if err := t.i2c.Transfer(p.bus, p.addr, append(p.pointer, data...), nil); err != nil {
		return err
	}
	dst := wire.AppendInt(wire.AppendKey(t.appendTarget(c, p.bus), "written"), int64(len(data)))
	c.Out = append(dst, '}')
	return nil
}

// data is what i2c_write writes behind the register's number.
func (t *i2cTools) data(c *rpc.Call, p *i2cPlace) ([]byte, error) {
	valued := len(c.Tool().Params) > 5 && c.Has(5)
	switch {
	case valued && c.Has(4):
		return nil, errors.New("both data and value are given; give one")
	case valued && (p.register == nil || p.register.Form.Type == ""):
		return nil, errors.New("value is given, but the register has no name with a type; give data in hex")
	case valued:
		return p.register.Form.Encode(c.Num(5))
	case !c.Has(4):
		return nil, errors.New(`parameter "data" is missing; give it in hex, or value for a register with a name`)
	}
	return c.Bytes(4), nil
}

// checkAddress is the address as the device has it.
func checkAddress(addr int64, tenBit bool) (uint16, error) {
	switch {
	case tenBit:
		return device.TenBit | uint16(addr), nil
	case addr > lastAddr && addr <= 0xff:
		return 0, fmt.Errorf("address %#x is above 0x77; if it is the data sheet's with the R/W bit, it is %#02x here; one of 10 bits goes with i2c_transfer and ten_bit", addr, addr>>1)
	case addr > lastAddr:
		return 0, fmt.Errorf("address %#x is above 0x77; one of 10 bits needs ten_bit", addr)
	}
	return uint16(addr), nil
}

const (
	// maxMessage is the longest message of an i2c_transfer, as text.
	maxMessage = 4 * maxTransfer
	// maxTransferred is how many bytes all reads of an i2c_transfer may have
	// together: an answer below 8 KB.
	maxTransferred = 1024
)

func (t *i2cTools) transfer(c *rpc.Call) error {
	bus, err := t.bus(c)
	if err != nil {
		return err
	}
	messages := make([]device.Message, len(c.Strs(2)))
	sum := 0
	for i, text := range c.Strs(2) {
		m := &messages[i]
		if *m, err = t.message(c, text); err != nil {
			return fmt.Errorf("message %d, %.40q: %w", i+1, text, err)
		}
		if m.Read {
			sum += len(m.Data)
		}
	}
	if sum > maxTransferred {
		return fmt.Errorf("%d bytes to read; %d in all are allowed", sum, maxTransferred)
	}
	if err := t.i2c.Transact(bus, messages); err != nil {
		return err
	}
	dst := wire.AppendInt(append(c.Out, `{"bus":`...), int64(bus))
	dst = append(dst, `,"read":[`...)
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Block:
			dst = wire.AppendHex(wire.AppendSep(dst), blockOf(m.Data))
		case m.Read:
			dst = wire.AppendHex(wire.AppendSep(dst), m.Data)
		}
	}
	c.Out = append(dst, `]}`...)
	return nil
}

// message reads one message of an i2c_transfer to the address of argument 1.
func (t *i2cTools) message(c *rpc.Call, text string) (device.Message, error) {
	chip := t.names.chip(c.Int(1))
	switch {
	case chip != nil:
		return parseMessage(text, int64(chip.Addr&^device.TenBit), c.Bool(3) || chip.Addr&device.TenBit != 0)
	case c.Has(1):
		return parseMessage(text, c.Int(1), c.Bool(3))
	}
	return parseMessage(text, -1, c.Bool(3))
}

// parseMessage reads one message of an i2c_transfer: "w 0a ff", "r 4" or "rb", each
// with "@51" after its letters where it goes to another address than addr, which is
// negative where there is none.
func parseMessage(text string, addr int64, tenBit bool) (m device.Message, err error) {
	head, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	kind, own, has := strings.Cut(head, "@")
	if has {
		n, err := strconv.ParseUint(strings.TrimPrefix(own, "0x"), 16, 16)
		if err != nil || n < firstAddr || n > lastTenBit {
			return m, fmt.Errorf("%q is no address in hex, from 08 to 77, or with ten_bit to 3ff", own)
		}
		addr = int64(n)
	}
	if addr < 0 {
		return m, errors.New(`it has no address; give the parameter address, or one of its own as in "r@51 4"`)
	}
	if m.Addr, err = checkAddress(addr, tenBit); err != nil {
		return m, err
	}
	rest = strings.TrimSpace(rest)
	switch kind {
	case "w":
		m.Data, err = hex.DecodeString(strings.ReplaceAll(rest, " ", ""))
		if err != nil || len(m.Data) == 0 || len(m.Data) > maxTransfer {
			return m, fmt.Errorf("after w come 1 to %d bytes in hex, as in %q", maxTransfer, "w 0a ff")
		}
	case "r":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 || n > maxTransfer {
			return m, fmt.Errorf("after r comes the count of bytes, 1 to %d, as in %q", maxTransfer, "r 4")
		}
		m.Read, m.Data = true, make([]byte, n)
	case "rb":
		if rest != "" {
			return m, errors.New("after rb comes nothing: the device tells the count")
		}
		m.Read, m.Block, m.Data = true, true, make([]byte, 1+device.MaxBlock)
	default:
		return m, errors.New(`a message begins with w, r or rb, as in "w 0a ff", "r 4", "rb"`)
	}
	return m, nil
}

// appendRegister appends the number of the register, which argument 2 says, as it
// goes over the bus, in as many bytes as argument 3 says, or as usual; nothing where
// there is none.
func appendRegister(dst []byte, c *rpc.Call, register, usual int64) ([]byte, error) {
	width, err := bounded(c, 3, "register_width", 1, 2, usual)
	switch {
	case err != nil:
		return dst, err
	case !c.Has(2) && c.Has(3):
		return dst, fmt.Errorf("register_width is %d, but there is no register; give both or neither", width)
	case !c.Has(2):
		return dst, nil
	case width == 2:
		return append(dst, byte(register>>8), byte(register)), nil
	case register > 0xff:
		return dst, fmt.Errorf("register %#x does not fit in 1 byte; 0x00 to 0xff are allowed, or give register_width 2", register)
	}
	return append(dst, byte(register)), nil
}

// appendTarget begins a result with where it was: the members bus, address and
// register, the two under the names that the caller gave.
func (t *i2cTools) appendTarget(c *rpc.Call, bus int) []byte {
	dst := wire.AppendInt(append(c.Out, `{"bus":`...), int64(bus))
	dst = wire.AppendKey(dst, "address")
	if chip := t.names.chip(c.Int(1)); chip != nil {
		dst = wire.AppendString(dst, chip.Name)
	} else {
		dst = wire.AppendAddr(dst, uint16(c.Int(1)))
	}
	if !c.Has(2) {
		return dst
	}
	dst = wire.AppendKey(dst, "register")
	if i := c.Int(2) - firstNamed; i >= 0 && i < int64(len(t.names.registers)) {
		return wire.AppendString(dst, t.names.registers[i])
	}
	return wire.AppendAddr(dst, uint16(c.Int(2)))
}

// busName is what the kernel and its users call a bus.
func busName(number int) string { return "i2c-" + strconv.Itoa(number) }

// busNumbers are the buses' numbers as text.
func busNumbers(i2c device.I2C) []string {
	buses, err := i2c.Buses(nil)
	if err != nil {
		return nil // a completion has no way to say so
	}
	numbers := make([]string, len(buses))
	for i, b := range buses {
		numbers[i] = strconv.Itoa(b.Number)
	}
	return numbers
}
