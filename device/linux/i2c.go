//go:build linux

package linux

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

// i2c is the I2C buses. A bus is opened for each transfer: an open node would keep
// the kernel waiting for ever when a USB adapter is pulled.
type i2c struct {
	roots  roots
	closed atomic.Bool
}

func (i *i2c) node(bus int) string { return filepath.Join(i.roots.dev, "i2c-"+strconv.Itoa(bus)) }

// numbers is the buses that the kernel has, with or without a node, in order.
func (i *i2c) numbers() []int {
	numbers := append(numbered(filepath.Join(i.roots.sys, "bus/i2c/devices"), "i2c-"), numbered(i.roots.dev, "i2c-")...)
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// usable says that at least one bus can be opened.
func (i *i2c) usable() bool {
	for _, n := range i.numbers() {
		if fd, _, err := i.open(n); err == nil {
			unix.Close(fd)
			return true
		}
	}
	return false
}

// open opens a bus and asks what it can do. The caller closes it.
func (i *i2c) open(bus int) (fd int, funcs uint32, err error) {
	if i.closed.Load() {
		return -1, 0, errClosed(busName(bus))
	}
	path := i.node(bus)
	fd, err = unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		numbers := i.numbers()
		switch {
		case err != unix.ENOENT:
			return -1, 0, openError(i.roots, path, err, nil)
		case slices.Contains(numbers, bus):
			return -1, 0, &device.Error{Subject: busName(bus), Kind: device.ErrNotSupport, Reason: "the kernel shows the bus but not " + path,
				Hint: "load the module with: sudo modprobe i2c-dev"}
		}
		e := &device.Error{Subject: busName(bus), Kind: device.ErrNotFound, Hint: "this board has no I2C bus"}
		if len(numbers) > 0 {
			names := make([]string, len(numbers))
			for k, n := range numbers {
				names[k] = busName(n)
			}
			e.Hint = "this board has " + strings.Join(names, ", ")
		}
		return -1, 0, e
	}
	if funcs, err = uapi.Funcs(fd); err != nil {
		unix.Close(fd)
		return -1, 0, explain(busName(bus), err, busMeanings)
	}
	return fd, funcs, nil
}

func busName(bus int) string { return "i2c-" + strconv.Itoa(bus) }

// Buses implements device.I2C. A bus that cannot be opened is listed without what
// it can do.
func (i *i2c) Buses(dst []device.Bus) ([]device.Bus, error) {
	if i.closed.Load() {
		return dst, errClosed("i2c")
	}
	for _, n := range i.numbers() {
		b := device.Bus{Number: n}
		name, _ := readText(128, i.roots.sys, "bus/i2c/devices", busName(n), "name")
		b.Name = word(name)
		if fd, funcs, err := i.open(n); err == nil {
			unix.Close(fd)
			b.Functions = functions(funcs)
		}
		dst = append(dst, b)
	}
	return dst, nil
}

// functions is an adapter's functionality bits as a board's set.
func functions(funcs uint32) (set device.Functions) {
	for _, f := range []struct {
		bits uint32 // all of them
		f    device.Functions
	}{
		{uapi.FuncI2C, device.FuncTransfer},
		{uapi.FuncI2C | uapi.FuncTenBit, device.FuncTenBit},
		{uapi.FuncQuick, device.FuncQuick},
		{uapi.FuncReadByte | uapi.FuncWriteByte, device.FuncByte},
		{uapi.FuncReadByteData | uapi.FuncWriteByteData, device.FuncByteData},
		{uapi.FuncReadWordData | uapi.FuncWriteWordData, device.FuncWordData},
		{uapi.FuncReadBlock | uapi.FuncWriteBlock, device.FuncI2CBlock},
		{uapi.FuncBlockRead, device.FuncBlockRead},
		{uapi.FuncBlockWrite, device.FuncBlockWrite},
	} {
		if funcs&f.bits == f.bits {
			set |= f.f
		}
	}
	return set
}

// driver is the kernel driver bound to an address, or "".
func (i *i2c) driver(bus int, addr uint16) string {
	if addr&device.TenBit != 0 {
		addr = addr&^device.TenBit | 0xa000 // as the kernel names 10-bit devices
	}
	return linkBase(i.roots.sys, "bus/i2c/devices", fmt.Sprintf("%d-%04x", bus, addr), "driver")
}

// owned is the driver that owns an address, or "". The kernel's word counts, which
// knows of drivers behind multiplexers; fd then stands at the address.
func (i *i2c) owned(fd, bus int, addr uint16) (string, error) {
	driver := i.driver(bus, addr)
	if addr&device.TenBit != 0 {
		return driver, nil
	}
	err := uapi.SetAddress(fd, addr)
	if err == unix.EBUSY {
		if driver == "" {
			driver = "the kernel"
		}
		return driver, nil
	}
	return "", err
}

// busMeanings is where a bus's errors differ from the general ones.
var busMeanings = []meaning{
	{unix.ENXIO, device.ErrNoAck, "no acknowledge", checkAddress},
	{unix.EREMOTEIO, device.ErrNoAck, "no acknowledge, or on a Raspberry Pi a device that stretches the clock", checkAddress},
	{unix.ETIMEDOUT, device.ErrTimeout, "timed out: a device holds SDA or SCL low, or pull-ups are missing", "check the wiring; a power cycle frees a stuck device"},
	{unix.EAGAIN, nil, "another master took the bus, or SDA is held low", "try again"},
	{unix.EBUSY, device.ErrBusy, "the bus is busy: SDA or SCL is held low, or another master is at work", "check the wiring; a power cycle frees a stuck device"},
	{unix.EIO, nil, "transfer failed: no acknowledge or a fault on the bus", checkAddress},
	{unix.EOPNOTSUPP, device.ErrNotSupport, "the adapter cannot do this transfer", ""},
	{unix.EINTR, nil, "interrupted, outcome unknown", "a device may have acted: read it before you write again"},
	{unix.EPROTO, nil, "the device broke the protocol", ""},
	{unix.EMSGSIZE, nil, "the device sent an impossible length", ""},
}

const checkAddress = "check the wiring and the address with i2c_scan"

func (i *i2c) fail(bus int, addr uint16, err error) error {
	return explain(address(bus, addr), err, busMeanings)
}

func address(bus int, addr uint16) string {
	return fmt.Sprintf("%s address 0x%02x", busName(bus), addr&^device.TenBit)
}

// Scan implements device.I2C. An address that gives any error counts as empty; a
// scan in which no address answered properly, neither yes nor no, is that error.
func (i *i2c) Scan(bus int, first, last uint16, dst []device.Occupant, s device.Scanning) ([]device.Occupant, error) {
	if first > last || last > 0x7f {
		return dst, &device.Error{Subject: busName(bus), Kind: device.ErrNotSupport,
			Reason: fmt.Sprintf("no scan from 0x%02x to 0x%02x", first, last), Hint: "addresses go from 0x08 to 0x77"}
	}
	fd, funcs, err := i.open(bus)
	if err != nil {
		return dst, err
	}
	defer unix.Close(fd)
	if funcs&(uapi.FuncQuick|uapi.FuncReadByte) == 0 {
		return dst, &device.Error{Subject: busName(bus), Kind: device.ErrNotSupport,
			Reason: "the adapter can neither send an empty write nor read one byte", Hint: "read a known address with i2c_read"}
	}
	return device.Sweep(busName(bus), first, last, dst, s, func(addr uint16) (string, device.Answer, error) {
		driver, err := i.owned(fd, bus, addr)
		if err == nil && driver == "" {
			err = probe(fd, funcs, addr)
		}
		switch {
		case driver != "":
			return driver, device.Owned, nil
		case err == nil:
			return "", device.Found, nil
		case err == unix.ENXIO, err == unix.EREMOTEIO, err == unix.EIO:
			return "", device.Silent, nil
		case err == unix.ENODEV && exists(i.roots.sys, "bus/i2c/devices", busName(bus)):
			// An adapter that is pulled gives it, but some, as i2c-stub, mean the address.
			return "", device.Stuck, i.fail(bus, addr, err)
		case err == unix.ENODEV, err == unix.EINTR:
			return "", device.Silent, explain(busName(bus), err, busMeanings)
		}
		return "", device.Stuck, i.fail(bus, addr, err)
	})
}

// probe asks whether a device answers at addr, where fd stands.
func probe(fd int, funcs uint32, addr uint16) error {
	// An empty write upsets some EEPROMs, a read of one byte locks some clocks up.
	byRead := addr >= 0x30 && addr <= 0x37 || addr >= 0x50 && addr <= 0x5f
	if funcs&uapi.FuncQuick == 0 {
		byRead = true
	}
	if !byRead {
		return uapi.SMBus(fd, false, 0, uapi.SMBusQuick, nil)
	}
	if funcs&uapi.FuncReadByte == 0 {
		return unix.ENXIO // cannot be asked safely
	}
	return uapi.SMBus(fd, true, 0, uapi.SMBusByte, new(uapi.SMBusData))
}

// Transfer implements device.I2C.
func (i *i2c) Transfer(bus int, addr uint16, write, read []byte) error {
	messages := make([]device.Message, 0, 2)
	if len(write) > 0 {
		messages = append(messages, device.Message{Addr: addr, Data: write})
	}
	if len(read) > 0 {
		messages = append(messages, device.Message{Addr: addr, Read: true, Data: read})
	}
	if len(messages) == 0 {
		return &device.Error{Subject: address(bus, addr), Kind: device.ErrNotSupport, Reason: "nothing to write and nothing to read",
			Hint: "give bytes to write, or a length to read"}
	}
	return i.Transact(bus, messages)
}

// Transact implements device.I2C. On an adapter that only knows SMBus it takes
// the SMBus transaction with the same bytes on the wire, where there is one.
func (i *i2c) Transact(bus int, messages []device.Message) error {
	if n := len(messages); n == 0 || n > device.MaxMessages {
		return &device.Error{Subject: busName(bus), Kind: device.ErrNotSupport, Reason: strconv.Itoa(n) + " messages in one transaction",
			Hint: "1 to " + strconv.Itoa(device.MaxMessages) + " are allowed"}
	}
	for k := range messages {
		if err := checkMessage(bus, &messages[k]); err != nil {
			return err
		}
	}
	fd, funcs, err := i.open(bus)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The first message's address comes last, for SMBus speaks to where fd stands.
	for k := len(messages) - 1; k >= 0; k-- {
		if err := i.reachable(fd, funcs, bus, &messages[k]); err != nil {
			return err
		}
	}
	if funcs&uapi.FuncI2C != 0 {
		err = transact(fd, messages) // never tried again: it may have acted
	} else {
		write, read, block, ok := asSMBus(messages)
		var t smbus
		if ok {
			t, ok = smbusFor(funcs, write, len(read), block)
		}
		if !ok {
			return &device.Error{Subject: address(bus, messages[0].Addr), Kind: device.ErrNotSupport,
				Reason: "the adapter only knows SMBus, which has no transfer of " + shape(messages), Hint: smbusLimits(funcs)}
		}
		err = t.run(fd, write, read)
	}
	if err != nil {
		return i.fail(bus, messages[0].Addr, err)
	}
	return nil
}

// reachable says why a message cannot be sent, if so.
func (i *i2c) reachable(fd int, funcs uint32, bus int, m *device.Message) error {
	e := &device.Error{Subject: address(bus, m.Addr), Kind: device.ErrNotSupport}
	switch {
	case m.Addr&device.TenBit != 0 && funcs&(uapi.FuncTenBit|uapi.FuncI2C) != uapi.FuncTenBit|uapi.FuncI2C:
		e.Reason, e.Hint = "the adapter has no 10-bit addresses", "addresses go from 0x08 to 0x77"
		return e
	case m.Block && funcs&uapi.FuncBlockRead == 0:
		e.Reason, e.Hint = "the adapter has no SMBus block reads", "read 33 bytes instead: the first tells how many of the others are valid"
		return e
	}
	driver, err := i.owned(fd, bus, m.Addr)
	if err != nil {
		return i.fail(bus, m.Addr, err)
	}
	if driver != "" {
		e.Kind, e.Reason, e.Hint = device.ErrBusy, "in use by the kernel driver "+driver, "read its values with sensor_list, or unbind the driver"
		return e
	}
	return nil
}

func checkMessage(bus int, m *device.Message) error {
	e := &device.Error{Subject: address(bus, m.Addr), Kind: device.ErrNotSupport}
	addr, n := m.Addr&^device.TenBit, len(m.Data)
	switch {
	case addr > 0x3ff || addr > 0x7f && m.Addr&device.TenBit == 0:
		e.Reason, e.Hint = "no such address", "addresses go from 0x08 to 0x77, with 10 bits to 0x3ff"
	case n == 0:
		e.Reason, e.Hint = "a message of no bytes", "give bytes to write, or a length to read"
	case n > device.MaxTransfer:
		e.Reason = strconv.Itoa(n) + " bytes in one message"
		e.Hint = "the kernel takes " + strconv.Itoa(device.MaxTransfer) + " at most"
	case m.Block && (!m.Read || n != device.MaxBlock+1):
		e.Reason, e.Hint = "a block of "+strconv.Itoa(n)+" bytes", "a block is read into "+strconv.Itoa(device.MaxBlock+1)
	default:
		return nil
	}
	return e
}

// transact runs the messages on an adapter that knows all transfers.
func transact(fd int, messages []device.Message) error {
	var few [2]uapi.Message
	msgs := few[:0]
	for k := range messages {
		m := &messages[k]
		if m.Block {
			m.Data[0] = 1 // what comes besides the block: its length
		}
		msgs = append(msgs, uapi.Message{Addr: m.Addr &^ device.TenBit, TenBit: m.Addr&device.TenBit != 0, Read: m.Read, Block: m.Block, Data: m.Data})
	}
	return uapi.Transact(fd, msgs)
}

// asSMBus is messages as a write and a read after it, if they are no more than
// that and to one address.
func asSMBus(messages []device.Message) (write, read []byte, block, ok bool) {
	last := &messages[len(messages)-1]
	switch {
	case len(messages) == 1 && !last.Read:
		return last.Data, nil, false, true
	case len(messages) == 1:
		return nil, last.Data, last.Block, true
	case len(messages) == 2 && last.Read && !messages[0].Read && messages[0].Addr == last.Addr:
		return messages[0].Data, last.Data, last.Block, true
	}
	return nil, nil, false, false
}

// shape is the messages in words: "2 bytes out and 3 in".
func shape(messages []device.Message) string {
	write, read, _, ok := asSMBus(messages)
	if !ok {
		return strconv.Itoa(len(messages)) + " messages so"
	}
	return fmt.Sprintf("%d bytes out and %d in", len(write), len(read))
}

// smbus is an SMBus transaction: its kind, and whether it reads.
type smbus struct {
	kind uint32
	read bool
}

// smbusFor is the transaction that sends write and reads read bytes after a
// repeated start, if the adapter has one.
func smbusFor(funcs uint32, write []byte, read int, block bool) (smbus, bool) {
	n := len(write)
	for _, c := range []struct {
		need                uint32
		write, minRead, max int // max is of the read, or of the write where nothing is read
		t                   smbus
	}{
		{uapi.FuncReadByte, 0, 1, 1, smbus{uapi.SMBusByte, true}},
		{uapi.FuncReadByteData, 1, 1, 1, smbus{uapi.SMBusByteData, true}},
		{uapi.FuncReadWordData, 1, 2, 2, smbus{uapi.SMBusWordData, true}},
		{uapi.FuncReadBlock, 1, 1, uapi.SMBusBlockMax, smbus{uapi.SMBusI2CBlock, true}},
		{uapi.FuncWriteByte, 1, 0, 1, smbus{uapi.SMBusByte, false}},
		{uapi.FuncWriteByteData, 2, 0, 2, smbus{uapi.SMBusByteData, false}},
		{uapi.FuncWriteWordData, 3, 0, 3, smbus{uapi.SMBusWordData, false}},
		{uapi.FuncWriteBlock, 2, 0, 1 + uapi.SMBusBlockMax, smbus{uapi.SMBusI2CBlock, false}},
	} {
		if funcs&c.need == 0 || block {
			continue
		}
		if c.t.read && n == c.write && read >= c.minRead && read <= c.max ||
			!c.t.read && read == 0 && n >= c.write && n <= c.max {
			return c.t, true
		}
	}
	switch {
	case block:
		return smbus{uapi.SMBusBlock, true}, n == 1 && funcs&uapi.FuncBlockRead != 0
	case funcs&uapi.FuncBlockWrite != 0 && read == 0 && n >= 3 && n == 2+int(write[1]) && n <= 2+uapi.SMBusBlockMax:
		return smbus{uapi.SMBusBlock, false}, true // its length stands in front, as SMBus has it
	}
	return smbus{}, false
}

// smbusLimits says what the adapter can do instead.
func smbusLimits(funcs uint32) string {
	in, out := 0, 0
	for n := 1; n <= uapi.SMBusBlockMax; n++ {
		var zeros [1 + uapi.SMBusBlockMax]byte
		if _, ok := smbusFor(funcs, zeros[:1], n, false); ok {
			in = n
		}
		if _, ok := smbusFor(funcs, zeros[:1+n], 0, false); ok {
			out = n
		}
	}
	return fmt.Sprintf("it can read up to %d and write up to %d bytes of a one-byte register", in, out)
}

func (t smbus) run(fd int, write, read []byte) error {
	var data uapi.SMBusData
	command := uint8(0)
	if len(write) > 0 {
		command = write[0]
	}
	if !t.read {
		switch t.kind {
		case uapi.SMBusByteData:
			data[0] = write[1]
		case uapi.SMBusWordData:
			data.SetWord(uint16(write[1]) | uint16(write[2])<<8)
		case uapi.SMBusI2CBlock:
			data[0] = uint8(copy(data[1:], write[1:]))
		case uapi.SMBusBlock:
			copy(data[:], write[1:])
		}
		return uapi.SMBus(fd, false, command, t.kind, &data)
	}
	data[0] = uint8(len(read))
	if err := uapi.SMBus(fd, true, command, t.kind, &data); err != nil {
		return err
	}
	switch t.kind {
	case uapi.SMBusWordData:
		w := data.Word()
		read[0], read[1] = uint8(w), uint8(w>>8)
	case uapi.SMBusI2CBlock:
		if int(data[0]) != len(read) {
			return unix.EMSGSIZE
		}
		copy(read, data[1:])
	case uapi.SMBusBlock:
		if data[0] == 0 || data[0] > uapi.SMBusBlockMax {
			return unix.EPROTO
		}
		copy(read, data[:])
	default:
		read[0] = data[0]
	}
	return nil
}
