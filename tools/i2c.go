package tools

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// The 7-bit addresses that devices have; those outside are reserved (UM10204,
// 3.1.12).
const (
	firstAddr = 0x08
	lastAddr  = 0x77
)

// maxTransfer is how many bytes one i2c_read or i2c_write may move: a page of
// registers, and an answer far below 8 KB.
const maxTransfer = 256

func addI2C(cat *rpc.Catalogue, i2c device.I2C) {
	t := &i2cTools{i2c}
	bus := rpc.Param{Name: "bus", Type: rpc.Integer, Description: "default: the only one"}
	address := rpc.Param{Name: "address", Type: rpc.Hex, Required: true, Min: firstAddr, Max: lastAddr,
		Description: "7-bit, without the R/W bit"}
	register := rpc.Param{Name: "register", Type: rpc.Hex, Min: 0, Max: 0xffff,
		Description: "default: none is sent"}
	width := rpc.Param{Name: "register_width", Type: rpc.Integer, Min: 1, Max: 2,
		Description: "bytes of the register's number: default 1; EEPROMs above 2 KB have 2"}
	addressField := rpc.Field{Name: "address", Type: rpc.String}
	registerField := rpc.Field{Name: "register", Type: rpc.String, Optional: true}
	busField := rpc.Field{Name: "bus", Type: rpc.Integer}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "i2c_scan",
			Title:       "Scan an I2C bus",
			Description: "Addresses at which devices answer. One with a driver belongs to the kernel: i2c_read and i2c_write refuse it.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params: []rpc.Param{
				bus,
				{Name: "first", Type: rpc.Hex, Min: firstAddr, Max: lastAddr, Description: "default 0x08"},
				{Name: "last", Type: rpc.Hex, Min: firstAddr, Max: lastAddr, Description: "default 0x77"},
			},
			Result: []rpc.Field{
				busField,
				{Name: "found", Type: rpc.Objects, Fields: []rpc.Field{
					addressField,
					{Name: "driver", Type: rpc.String, Optional: true},
				}},
			},
			Queue: t.queue,
			Run:   t.scan,
		},
		rpc.Tool{
			Name:        "i2c_read",
			Title:       "Read from an I2C device",
			Description: "Read bytes, after a repeated start if a register is given. Some devices clear flags that are read.",
			Hints:       rpc.Hints{ReadOnly: true},
			Params: []rpc.Param{
				bus, address, register, width,
				{Name: "length", Type: rpc.Integer, Min: 1, Max: maxTransfer, Description: "bytes, default 1"},
			},
			Result: []rpc.Field{busField, addressField, registerField,
				{Name: "data", Type: rpc.String, Description: "hex"}},
			Queue: t.queue,
			Run:   t.read,
		},
		rpc.Tool{
			Name:        "i2c_write",
			Title:       "Write to an I2C device",
			Description: "Write bytes, after the register's number if one is given. It can change the device for good: know its data sheet.",
			Hints:       rpc.Hints{Destructive: true},
			Params: []rpc.Param{
				bus, address, register, width,
				{Name: "data", Type: rpc.Bytes, Required: true, Min: 1, Max: maxTransfer, Description: `hex, such as "0a ff"`},
			},
			Result: []rpc.Field{busField, addressField, registerField,
				{Name: "written", Type: rpc.Integer, Description: "bytes of data"}},
			Queue: t.queue,
			Run:   t.write,
		})
}

type i2cTools struct{ i2c device.I2C }

// bus finds the bus that argument 0 names, or the only one.
func (t *i2cTools) bus(c *rpc.Call) (int, error) {
	buses, err := t.i2c.Buses(nil)
	if err != nil {
		return 0, err
	}
	if !c.Has(0) && len(buses) == 1 {
		return buses[0].Number, nil
	}
	var names []string
	for _, b := range buses {
		if c.Has(0) && int64(b.Number) == c.Int(0) {
			return b.Number, nil
		}
		names = append(names, busName(b.Number))
	}
	have := "the board has no I2C bus any more"
	if len(names) > 0 {
		have = "the board has " + strings.Join(names, ", ")
	}
	if !c.Has(0) {
		return 0, errors.New(`parameter "bus" is missing; ` + have)
	}
	return 0, &device.Error{Subject: "i2c-" + strconv.FormatInt(c.Int(0), 10), Kind: device.ErrNotFound, Hint: have}
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
	bus, err := t.bus(c)
	if err != nil {
		return err
	}
	first, last := uint16(c.IntOr(1, firstAddr)), uint16(c.IntOr(2, lastAddr))
	if first > last {
		return fmt.Errorf("first %#02x is above last %#02x; give the lower address first", first, last)
	}
	if c.Wanted(rpc.LogInfo) {
		c.Log(rpc.LogInfo, "i2c", fmt.Sprintf("scanning i2c-%d from %#02x to %#02x", bus, first, last))
	}
	found, err := t.i2c.Scan(bus, first, last, nil, device.Scanning{
		Progress: func(done, total int) { c.Progress(float64(done), float64(total), "addresses") },
		Stop:     c.Cancelled,
	})
	if err != nil {
		return err
	}
	dst := wire.AppendInt(append(c.Out, `{"bus":`...), int64(bus))
	dst = append(dst, `,"found":[`...)
	for _, o := range found {
		dst = wire.AppendAddr(append(wire.AppendSep(dst), `{"address":`...), o.Addr)
		if o.Driver != "" {
			dst = wire.AppendString(wire.AppendKey(dst, "driver"), o.Driver)
		}
		dst = append(dst, '}')
	}
	c.Out = append(dst, `]}`...)
	return nil
}

func (t *i2cTools) read(c *rpc.Call) error {
	bus, err := t.bus(c)
	if err != nil {
		return err
	}
	pointer, err := appendRegister(nil, c)
	if err != nil {
		return err
	}
	data := make([]byte, c.IntOr(4, 1))
	if err := t.i2c.Transfer(bus, uint16(c.Int(1)), pointer, data); err != nil {
		return err
	}
	dst := wire.AppendHex(wire.AppendKey(appendTarget(c, bus), "data"), data)
	c.Out = append(dst, '}')
	return nil
}

func (t *i2cTools) write(c *rpc.Call) error {
	bus, err := t.bus(c)
	if err != nil {
		return err
	}
	message, err := appendRegister(nil, c)
	if err != nil {
		return err
	}
	data := c.Bytes(4)
	if err := t.i2c.Transfer(bus, uint16(c.Int(1)), append(message, data...), nil); err != nil {
		return err
	}
	dst := wire.AppendInt(wire.AppendKey(appendTarget(c, bus), "written"), int64(len(data)))
	c.Out = append(dst, '}')
	return nil
}

// appendRegister appends the number of the register, argument 2, as it goes over
// the bus, in as many bytes as argument 3 says; nothing where there is none.
func appendRegister(dst []byte, c *rpc.Call) ([]byte, error) {
	register, width := c.Int(2), c.IntOr(3, 1)
	switch {
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

// appendTarget begins a result with where it was: the members bus, address and register.
func appendTarget(c *rpc.Call, bus int) []byte {
	dst := wire.AppendInt(append(c.Out, `{"bus":`...), int64(bus))
	dst = wire.AppendAddr(wire.AppendKey(dst, "address"), uint16(c.Int(1)))
	if c.Has(2) {
		dst = wire.AppendAddr(wire.AppendKey(dst, "register"), uint16(c.Int(2)))
	}
	return dst
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
