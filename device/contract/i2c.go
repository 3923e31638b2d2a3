package contract

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"boardhand/device"
)

// I2CWiring names what is on a bus. A zero address: there is none.
type I2CWiring struct {
	Bus    int
	Device uint16 // answers; after Write it gives Read
	Write  []byte
	Read   []byte
	Empty  uint16 // nothing answers
	Owned  uint16 // a kernel driver is bound to it
	// First and Last bound the scan of the whole bus, for one on which an address
	// without a device costs long; zero: 0x08 and 0x77.
	First, Last uint16
}

// I2C tests a board's buses.
func I2C(t *testing.T, b device.Board, w I2CWiring) {
	c := b.I2C()
	if c == nil {
		t.Fatal("the board has no buses")
	}
	if w.First == 0 && w.Last == 0 {
		w.First, w.Last = 0x08, 0x77
	}
	addresses := int(w.Last-w.First) + 1
	need := func(t *testing.T, addr uint16) {
		t.Helper()
		if addr == 0 {
			t.Skip("this bus has no such address for a test")
		}
	}
	subject := func(addr uint16) string { return fmt.Sprintf("i2c-%d address 0x%02x", w.Bus, addr) }

	t.Run("buses are in order", func(t *testing.T) {
		buses, err := c.Buses([]device.Bus{{Number: -1}})
		must(t, err)
		found := false
		for i, bus := range buses[1:] {
			if bus.Number <= buses[i].Number || bus.Name == "" {
				t.Errorf("bus %+v comes after %+v", bus, buses[i])
			}
			found = found || bus.Number == w.Bus
			if bus.Number == w.Bus && bus.Functions == 0 {
				t.Errorf("i2c-%d can do nothing", w.Bus)
			}
		}
		if !found {
			t.Errorf("i2c-%d is not among %+v", w.Bus, buses)
		}
	})
	t.Run("a bus that the board lacks is not found", func(t *testing.T) {
		_, err := c.Scan(99, 0x08, 0x77, nil, device.Scanning{})
		refused(t, err, device.ErrNotFound, "i2c-99")
		refused(t, c.Transfer(99, 0x50, nil, make([]byte, 1)), device.ErrNotFound, "i2c-99")
	})
	t.Run("a scan finds devices and drivers by address", func(t *testing.T) {
		steps := 0
		found, err := c.Scan(w.Bus, w.First, w.Last, []device.Occupant{{Addr: 1}}, device.Scanning{
			Progress: func(done, total int) {
				steps++
				if done != steps || total != addresses {
					t.Errorf("progress %d of %d at step %d", done, total, steps)
				}
			},
			Stop: func() bool { return false },
		})
		must(t, err)
		if steps != addresses {
			t.Errorf("%d steps for %d addresses", steps, addresses)
		}
		at := map[uint16]device.Occupant{}
		for i, o := range found[1:] {
			if o.Addr <= found[i].Addr {
				t.Errorf("%#02x comes after %#02x", o.Addr, found[i].Addr)
			}
			at[o.Addr] = o
		}
		if o, ok := at[w.Device]; w.Device != 0 && (!ok || o.Driver != "") {
			t.Errorf("the device at %#02x is found as %+v (%v)", w.Device, o, ok)
		}
		if o := at[w.Owned]; w.Owned != 0 && o.Driver == "" {
			t.Errorf("the driver at %#02x is not found", w.Owned)
		}
		if o, ok := at[w.Empty]; w.Empty != 0 && ok {
			t.Errorf("nothing is at %#02x, found %+v", w.Empty, o)
		}
	})
	t.Run("a scan keeps to its range", func(t *testing.T) {
		need(t, w.Device)
		found, err := c.Scan(w.Bus, w.Device, w.Device, nil, device.Scanning{})
		must(t, err)
		if len(found) != 1 || found[0].Addr != w.Device {
			t.Errorf("found %+v", found)
		}
	})
	t.Run("a range that is none is refused", func(t *testing.T) {
		for _, r := range [][2]uint16{{0x77, 0x08}, {0x08, 0x80}, {0x80, 0x90}, {0, 0xffff}} {
			found, err := c.Scan(w.Bus, r[0], r[1], nil, device.Scanning{})
			refused(t, err, device.ErrNotSupport, fmt.Sprintf("i2c-%d", w.Bus))
			if len(found) != 0 {
				t.Errorf("found %+v", found)
			}
		}
	})
	t.Run("a scan stops when told", func(t *testing.T) {
		steps := 0
		_, err := c.Scan(w.Bus, 0x08, 0x77, nil, device.Scanning{
			Progress: func(done, total int) { steps = done },
			Stop:     func() bool { return steps == 3 },
		})
		refusedQuietly(t, err, device.ErrCancelled)
		if steps != 3 {
			t.Errorf("%d addresses, want 3", steps)
		}
	})
	t.Run("a read follows its write", func(t *testing.T) {
		need(t, w.Device)
		got := make([]byte, len(w.Read))
		for range 3 {
			clear(got)
			must(t, c.Transfer(w.Bus, w.Device, w.Write, got))
			if !bytes.Equal(got, w.Read) {
				t.Errorf("read % x, want % x", got, w.Read)
			}
		}
	})
	t.Run("no device gives no acknowledge", func(t *testing.T) {
		need(t, w.Empty)
		refused(t, c.Transfer(w.Bus, w.Empty, []byte{0}, nil), device.ErrNoAck, subject(w.Empty))
		refused(t, c.Transfer(w.Bus, w.Empty, nil, make([]byte, 1)), device.ErrNoAck, subject(w.Empty))
		refused(t, c.Transfer(w.Bus, w.Empty, []byte{0}, make([]byte, 1)), device.ErrNoAck, subject(w.Empty))
	})
	t.Run("a transaction has its reads after its writes", func(t *testing.T) {
		need(t, w.Device)
		one, two := make([]byte, len(w.Read)), make([]byte, len(w.Read))
		err := c.Transact(w.Bus, []device.Message{{Addr: w.Device, Data: w.Write}, {Addr: w.Device, Read: true, Data: one}})
		must(t, err)
		if !bytes.Equal(one, w.Read) {
			t.Errorf("read % x, want % x", one, w.Read)
		}
		err = c.Transact(w.Bus, []device.Message{{Addr: w.Device, Data: w.Write}, {Addr: w.Device, Read: true, Data: one},
			{Addr: w.Device, Data: w.Write}, {Addr: w.Device, Read: true, Data: two}})
		if errors.Is(err, device.ErrNotSupport) {
			t.Skip(err)
		}
		must(t, err)
		if !bytes.Equal(one, w.Read) || !bytes.Equal(two, w.Read) {
			t.Errorf("read % x and % x, want % x", one, two, w.Read)
		}
	})
	t.Run("a transaction that no bus can do is refused", func(t *testing.T) {
		need(t, w.Device)
		good := device.Message{Addr: w.Device, Read: true, Data: make([]byte, 1)}
		for name, m := range map[string][]device.Message{
			"nothing":         nil,
			"too many":        slices.Repeat([]device.Message{good}, device.MaxMessages+1),
			"one empty":       {good, {Addr: w.Device}},
			"one too long":    {good, {Addr: w.Device, Data: make([]byte, device.MaxTransfer+1)}},
			"a block write":   {{Addr: w.Device, Data: make([]byte, device.MaxBlock+1), Block: true}},
			"a short block":   {{Addr: w.Device, Read: true, Data: make([]byte, device.MaxBlock), Block: true}},
			"8 bits":          {{Addr: 0xa0, Read: true, Data: make([]byte, 1)}},
			"11 bits, though": {{Addr: device.TenBit | 0x400, Read: true, Data: make([]byte, 1)}},
		} {
			if err := c.Transact(w.Bus, m); !errors.Is(err, device.ErrNotSupport) {
				t.Errorf("%s: error %v", name, err)
			}
		}
		if w.Owned != 0 {
			refused(t, c.Transact(w.Bus, []device.Message{good, {Addr: w.Owned, Read: true, Data: make([]byte, 1)}}), device.ErrBusy, subject(w.Owned))
		}
	})
	t.Run("a driver's address is refused", func(t *testing.T) {
		need(t, w.Owned)
		refused(t, c.Transfer(w.Bus, w.Owned, []byte{0}, make([]byte, 1)), device.ErrBusy, subject(w.Owned))
	})
	t.Run("what no bus can do is refused", func(t *testing.T) {
		need(t, w.Device)
		one := make([]byte, 1)
		refused(t, c.Transfer(w.Bus, w.Device, nil, nil), device.ErrNotSupport, subject(w.Device))
		refused(t, c.Transfer(w.Bus, w.Device, make([]byte, device.MaxTransfer+1), nil), device.ErrNotSupport, subject(w.Device))
		refused(t, c.Transfer(w.Bus, w.Device, nil, make([]byte, device.MaxTransfer+1)), device.ErrNotSupport, subject(w.Device))
		refused(t, c.Transfer(w.Bus, 0x400, nil, one), device.ErrNotSupport, "0x400")
	})
}

// refusedQuietly is refused for an error that the caller asked for: no hint.
func refusedQuietly(t *testing.T, err, kind error) {
	t.Helper()
	if _, ok := err.(*device.Error); !ok {
		t.Errorf("error %v is a %T, want a *device.Error", err, err)
	}
	if e, ok := err.(*device.Error); ok && e.Kind != kind {
		t.Errorf("error %v, want one that is %q", err, kind)
	}
}
