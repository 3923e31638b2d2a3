//go:build linux

package linux

import (
	"encoding/hex"
	"os"
	"strconv"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/contract"
)

// What these tests need besides the keys of kernel_test.go:
//
//	pulls     "yes": the line free has pulls that work
//	move      an input, and pull the file that moves it, as gpio-sim has one
//	pull
//	still     an input that does not move, and has an interrupt
//	mute      an input of a chip without interrupts

func TestKernelConfigure(t *testing.T) {
	m := kernel(t)
	if m["free"] == "" {
		t.Skip("no line to test on")
	}
	w := wiring(m)
	w.Pulls = m["pulls"] != ""
	contract.Configure(t, openReal(t), w)
}

func TestKernelWatch(t *testing.T) {
	m := kernel(t)
	if m["move"] == "" {
		t.Skip("no line that can be moved")
	}
	w := wiring(m)
	w.Moved, w.Still = m["move"], m["still"]
	w.Move = func(l device.Level) {
		pull := "pull-down"
		if l == device.High {
			pull = "pull-up"
		}
		if err := os.WriteFile(m["pull"], []byte(pull), 0); err != nil {
			t.Error(err)
		}
	}
	b := openReal(t)
	if w.Standing != "" {
		stand(t, b, w.Standing)
	}
	contract.Watch(t, b, w)
	contract.WatchEnds(t, openReal(t), w)
}

// Edges that come from outside, each a while after the other.
func TestKernelTellsTheEdgesOfALineThatMoves(t *testing.T) {
	m := kernel(t)
	if m["moving"] == "" {
		t.Skip("no line that moves")
	}
	b := openReal(t)
	for _, held := range []bool{false, true, true} {
		if held {
			_, _, err := b.GPIO().Configure(m["moving"], func(c *device.Config) error { c.Direction = device.In; return nil })
			must(t, err)
		}
		w, err := b.GPIO().Watch([]string{m["moving"]}, device.BothEdges)
		must(t, err)
		var events []device.Event
		for end := time.Now().Add(20 * time.Second); len(events) < 4 && time.Now().Before(end); {
			events, err = w.Next(events, time.Second)
			must(t, err)
		}
		t.Logf("held %v: %+v", held, events)
		if len(events) < 4 {
			t.Fatalf("%d events in 20 s", len(events))
		}
		for i, e := range events {
			if e.Seq != uint32(i+1) || e.Since < 0 || i > 0 && (e.Since <= events[i-1].Since || e.Level == events[i-1].Level) {
				t.Errorf("event %d is %+v", i, e)
			}
		}
		must(t, w.Close())
		levels := make([]device.Level, 1)
		must(t, b.GPIO().Read([]string{m["moving"]}, levels))
	}
	must(t, b.GPIO().Release(m["moving"]))
	if l, err := b.GPIO().Find(m["moving"]); err != nil || l.Held || l.Owner != "" || l.Direction != device.In {
		t.Errorf("%+v %v", l, err)
	}
}

func TestKernelRefusesToWatchWithoutInterrupts(t *testing.T) {
	m := kernel(t)
	if m["mute"] == "" {
		t.Skip("no chip without interrupts")
	}
	b := openReal(t)
	_, err := b.GPIO().Watch([]string{m["mute"]}, device.BothEdges)
	expect(t, err, device.ErrNotSupport, m["mute"], "interrupt", "gpio_read")
	must(t, b.GPIO().Read([]string{m["mute"]}, make([]device.Level, 1)))
}

// An EEPROM read by a transaction of two writes and two reads, where the adapter
// knows more than SMBus.
func TestKernelTransactsSeveralMessages(t *testing.T) {
	m := kernel(t)
	if m["bus"] == "" || m["write"] == "" {
		t.Skip("no device to test on")
	}
	bus, _ := strconv.Atoi(m["bus"])
	write, _ := hex.DecodeString(m["write"])
	addr := hexAddress(m["device"])
	c := openReal(t).I2C()
	one, two := make([]byte, 1), make([]byte, 1)
	err := c.Transact(bus, []device.Message{{Addr: addr, Data: write}, {Addr: addr, Read: true, Data: one}, {Addr: addr, Data: write}, {Addr: addr, Read: true, Data: two}})
	buses, _ := c.Buses(nil)
	for _, b := range buses {
		if b.Number != bus {
			continue
		}
		t.Log(b.Functions.AppendNames(nil), err)
		if b.Functions&device.FuncTransfer == 0 {
			expect(t, err, device.ErrNotSupport, "SMBus")
		} else if err != nil || one[0] != two[0] {
			t.Errorf("%x %x %v", one, two, err)
		}
		block := make([]byte, device.MaxBlock+1)
		if b.Functions&device.FuncBlockRead == 0 {
			expect(t, c.Transact(bus, []device.Message{{Addr: addr, Read: true, Block: true, Data: block}}), device.ErrNotSupport, "block")
		}
		if b.Functions&device.FuncTenBit == 0 {
			expect(t, c.Transfer(bus, device.TenBit|0x123, nil, one), device.ErrNotSupport, "10-bit")
		}
	}
}
