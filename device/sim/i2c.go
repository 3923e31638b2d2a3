package sim

import (
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
		b.slow = time.Duration(s.Ms * float64(time.Millisecond))
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
	return append(dst, device.Bus{Number: busNumber, Name: busName, Transfers: true}), nil
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
	total := int(last-first) + 1
	for addr := first; addr <= last; addr++ {
		if s.Stop != nil && s.Stop() {
			return dst, &device.Error{Subject: busSubject(number), Kind: device.ErrCancelled,
				Reason: fmt.Sprintf("scan cancelled before %#02x", addr)}
		}
		if driver := b.drivers[addr]; driver != "" {
			dst = append(dst, device.Occupant{Addr: addr, Driver: driver})
		} else if b.probe(addr) {
			dst = append(dst, device.Occupant{Addr: addr})
		}
		if s.Progress != nil {
			s.Progress(int(addr-first)+1, total)
		}
	}
	return dst, nil
}

func (b *bus) probe(addr uint16) bool {
	if addr >= 0x30 && addr <= 0x37 || addr >= 0x50 && addr <= 0x5f {
		var one [1]byte
		return b.transact(addr, nil, one[:])
	}
	return b.transact(addr, nil, nil)
}

// Transfer is one transaction.
func (c *i2c) Transfer(number int, addr uint16, write, read []byte) error {
	b, err := c.bus(number)
	if err != nil {
		return err
	}
	if reason, hint := refusal(addr, len(write), len(read)); reason != "" {
		return &device.Error{Subject: addrSubject(number, addr), Kind: device.ErrNotSupport, Reason: reason, Hint: hint}
	}
	if driver := b.drivers[addr]; driver != "" {
		return &device.Error{Subject: addrSubject(number, addr), Kind: device.ErrBusy,
			Reason: fmt.Sprintf("in use by the kernel's driver %q (EBUSY)", driver), Hint: "i2c_scan shows which addresses are free"}
	}
	if err := b.stuck(); err != nil {
		return err
	}
	if !b.transact(addr, write, read) {
		return &device.Error{Subject: addrSubject(number, addr), Kind: device.ErrNoAck, Reason: "no acknowledge (EREMOTEIO)",
			Hint: "check the wiring and the address with i2c_scan"}
	}
	return nil
}

// refusal says why this board cannot make a transfer, or "".
func refusal(addr uint16, write, read int) (reason, hint string) {
	switch {
	case addr > maxAddr:
		return "10-bit address not supported", fmt.Sprintf("0x00 to %#x are allowed", maxAddr)
	case write == 0 && read == 0:
		return "empty transfer not supported", "write or read at least one byte"
	case write > device.MaxTransfer:
		return fmt.Sprintf("write of %d bytes not supported", write), fmt.Sprintf("at most %d are allowed", device.MaxTransfer)
	case read > device.MaxTransfer:
		return fmt.Sprintf("read of %d bytes not supported", read), fmt.Sprintf("at most %d are allowed", device.MaxTransfer)
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
	return fmt.Sprintf("i2c-%d address %#02x", number, addr)
}
