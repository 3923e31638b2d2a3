package sim

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
)

const (
	busNumber = 1
	busName   = "bcm2835-sim (i2c@7e804000)"
	maxAddr   = 0x7f
	functions = device.FuncTransfer | device.FuncQuick | device.FuncByte | device.FuncByteData | device.FuncWordData |
		device.FuncI2CBlock | device.FuncBlockRead | device.FuncBlockWrite

	eepromAddr = 0x50
	rtcAddr    = 0x68
	bmeAddr    = 0x76
)

// target is a device on a bus. One transaction writes, then reads after a
// repeated start; either or both may be empty, an empty one being the address
// alone. It says whether the device acknowledged its address; it keeps neither
// slice.
type target interface {
	transact(now time.Time, write, read []byte) bool
}

type bus struct {
	jammed  bool
	jam     time.Duration // 0: for ever
	slow    time.Duration
	late    bool // an address without a device times out
	now     func() time.Time
	drivers map[uint16]string // the kernel's
	mu      sync.Mutex        // one transaction at a time
	targets map[uint16]target
}

func newBuses(w Wiring, now func() time.Time) []*bus {
	b := &bus{
		now:     now,
		drivers: map[uint16]string{rtcAddr: "rtc-ds1307"},
		targets: map[uint16]target{
			eepromAddr: newEEPROM(),
			bmeAddr:    newBME280(climate(w.Seed)),
		},
	}
	for _, j := range w.Jams {
		b.jammed, b.jam = true, time.Duration(j.Seconds*float64(time.Second))
	}
	for _, s := range w.Slow {
		b.slow, b.late = time.Duration(s.Ms*float64(time.Millisecond)), s.NackTimeout
	}
	return []*bus{b}
}

// stuck waits as a jammed bus does, and then says so.
func (b *bus) stuck() error {
	if !b.jammed {
		return nil
	}
	if b.jam == 0 {
		select {}
	}
	time.Sleep(b.jam)
	return &device.Error{Subject: busSubject(busNumber), Kind: device.ErrTimeout, Reason: "timed out (ETIMEDOUT)",
		Hint: "something holds the bus; check its wiring and power, and the devices on it"}
}

// transact is one transaction; it says whether the address was acknowledged.
func (b *bus) transact(addr uint16, write, read []byte) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.slow > 0 {
		time.Sleep(b.slow)
	}
	t := b.targets[addr]
	return t != nil && t.transact(b.now(), write, read)
}

// i2c is one board's access to the buses.
type i2c struct {
	buses  []*bus
	closed atomic.Bool
}

// Buses appends the one bus.
func (c *i2c) Buses(dst []device.Bus) ([]device.Bus, error) {
	if c.closed.Load() {
		return dst, errClosed()
	}
	return append(dst, device.Bus{Number: busNumber, Name: busName, Functions: functions}), nil
}

// Scan probes as i2cdetect does. A device that is busy with itself, as the
// EEPROM after a write, is not found.
func (c *i2c) Scan(number int, first, last uint16, dst []device.Occupant, s device.Scanning) ([]device.Occupant, error) {
	b, err := c.bus(number)
	if err != nil {
		return dst, err
	}
	if first > last || last > maxAddr {
		return dst, &device.Error{Subject: busSubject(number), Kind: device.ErrNotSupport,
			Reason: fmt.Sprintf("scan from %#02x to %#02x not supported", first, last),
			Hint:   fmt.Sprintf("addresses 0x00 to %#x are allowed, the first not above the last", maxAddr)}
	}
	if err := b.stuck(); err != nil {
		return dst, err
	}
	return device.Sweep(busSubject(number), first, last, dst, s, func(addr uint16) (string, device.Answer, error) {
		driver := b.drivers[addr]
		switch {
		case driver != "":
			return driver, device.Owned, nil
		case b.probe(addr):
			return "", device.Found, nil
		case b.late:
			return "", device.Stuck, b.noAck(addr)
		}
		return "", device.Silent, nil
	})
}

func (b *bus) probe(addr uint16) bool {
	if addr >= 0x30 && addr <= 0x37 || addr >= 0x50 && addr <= 0x5f {
		var one [1]byte
		return b.transact(addr, nil, one[:])
	}
	return b.transact(addr, nil, nil)
}

// Transfer is one transaction of a write and a read.
func (c *i2c) Transfer(number int, addr uint16, write, read []byte) error {
	var messages []device.Message
	if len(write) > 0 {
		messages = append(messages, device.Message{Addr: addr, Data: write})
	}
	if len(read) > 0 {
		messages = append(messages, device.Message{Addr: addr, Read: true, Data: read})
	}
	if len(messages) == 0 {
		if _, err := c.bus(number); err != nil {
			return err
		}
		return &device.Error{Subject: addrSubject(number, addr), Kind: device.ErrNotSupport, Reason: "empty transfer not supported", Hint: "write or read at least one byte"}
	}
	return c.Transact(number, messages)
}

// Transact is one transaction.
func (c *i2c) Transact(number int, messages []device.Message) error {
	b, err := c.bus(number)
	if err != nil {
		return err
	}
	if n := len(messages); n == 0 || n > device.MaxMessages {
		return &device.Error{Subject: busSubject(number), Kind: device.ErrNotSupport,
			Reason: fmt.Sprintf("transaction of %d messages not supported", n), Hint: fmt.Sprintf("1 to %d are allowed", device.MaxMessages)}
	}
	for i := range messages {
		m := &messages[i]
		if reason, hint := refusal(m); reason != "" {
			return &device.Error{Subject: addrSubject(number, m.Addr), Kind: device.ErrNotSupport, Reason: reason, Hint: hint}
		}
		if driver := b.drivers[m.Addr]; driver != "" {
			return &device.Error{Subject: addrSubject(number, m.Addr), Kind: device.ErrBusy,
				Reason: fmt.Sprintf("in use by the kernel's driver %q (EBUSY)", driver), Hint: "i2c_scan shows which addresses are free"}
		}
	}
	if err := b.stuck(); err != nil {
		return err
	}
	for i := 0; i < len(messages); i++ {
		m := &messages[i]
		var write, read []byte
		if m.Read {
			read = m.Data
		} else {
			write = m.Data
			if i+1 < len(messages) && messages[i+1].Read && messages[i+1].Addr == m.Addr {
				i++
				m = &messages[i]
				read = m.Data
			}
		}
		if !b.transact(m.Addr, write, read) {
			return b.noAck(m.Addr)
		}
		if m.Block && (read[0] == 0 || read[0] > device.MaxBlock) {
			return &device.Error{Subject: addrSubject(number, m.Addr), Kind: errProtocol,
				Reason: fmt.Sprintf("the device gave a block's length as %d (EPROTO)", read[0]), Hint: fmt.Sprintf("1 to %d are allowed: does it speak SMBus blocks?", device.MaxBlock)}
		}
	}
	return nil
}

var errProtocol = errors.New("protocol error")

// noAck is the error of an address at which nothing is.
func (b *bus) noAck(addr uint16) error {
	if b.late {
		return &device.Error{Subject: addrSubject(busNumber, addr), Kind: device.ErrTimeout, Reason: "timed out (ETIMEDOUT)",
			Hint: "check the wiring and the address with i2c_scan"}
	}
	return &device.Error{Subject: addrSubject(busNumber, addr), Kind: device.ErrNoAck, Reason: "no acknowledge (EREMOTEIO)",
		Hint: "check the wiring and the address with i2c_scan"}
}

// refusal says why this board cannot send a message, or "".
func refusal(m *device.Message) (reason, hint string) {
	n := len(m.Data)
	switch {
	case m.Addr&device.TenBit != 0:
		return "10-bit address not supported", fmt.Sprintf("0x00 to %#x are allowed", maxAddr)
	case m.Addr > maxAddr:
		return "no such address", fmt.Sprintf("0x00 to %#x are allowed", maxAddr)
	case n == 0:
		return "empty message not supported", "write or read at least one byte"
	case n > device.MaxTransfer && m.Read:
		return fmt.Sprintf("read of %d bytes not supported", n), fmt.Sprintf("at most %d are allowed", device.MaxTransfer)
	case n > device.MaxTransfer:
		return fmt.Sprintf("write of %d bytes not supported", n), fmt.Sprintf("at most %d are allowed", device.MaxTransfer)
	case m.Block && (!m.Read || n != device.MaxBlock+1):
		return fmt.Sprintf("block of %d bytes not supported", n), fmt.Sprintf("a block is read into %d", device.MaxBlock+1)
	}
	return "", ""
}

func (c *i2c) bus(number int) (*bus, error) {
	if c.closed.Load() {
		return nil, errClosed()
	}
	if number != busNumber {
		return nil, &device.Error{Subject: busSubject(number), Kind: device.ErrNotFound,
			Hint: fmt.Sprintf("the board has %s", busSubject(busNumber))}
	}
	return c.buses[0], nil
}

func busSubject(number int) string { return fmt.Sprintf("i2c-%d", number) }

func addrSubject(number int, addr uint16) string {
	return fmt.Sprintf("i2c-%d address %#02x", number, addr&^device.TenBit)
}
