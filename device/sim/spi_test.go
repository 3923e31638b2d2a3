package sim

import (
	"bytes"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/contract"
)

func TestSPIContract(t *testing.T) {
	contract.SPI(t, Open(Wiring{}), contract.SPIWiring{Device: "spidev0.0", Write: []byte{0x9f}, Read: flashID})
	contract.SPIEnds(t, Open(Wiring{}), "spidev0.0")
}

func TestControllerHasOnlyBytesWithTheHighestBitFirst(t *testing.T) {
	s := Open(Wiring{}).SPI()
	for _, c := range []device.SPIConfig{{LSBFirst: true}, {Bits: 9}, {Bits: 16}} {
		err := s.Transfer("spidev0.0", c, []device.SPISegment{{Write: []byte{0x9f, 0}}})
		if err == nil {
			t.Errorf("%+v is taken", c)
		}
	}
}

// standing is a clock that moves when it is told.
type standing struct{ t time.Time }

func (c *standing) now() time.Time { return c.t }

func TestFlash(t *testing.T) {
	clk := &standing{time.Unix(1e9, 0)}
	f := newFlash()
	ask := func(out ...byte) []byte {
		in := make([]byte, len(out))
		f.exchange(clk.now(), out, in)
		return in
	}
	read := func(addr, n int) []byte {
		return ask(append([]byte{0x03, byte(addr >> 16), byte(addr >> 8), byte(addr)}, make([]byte, n)...)...)[4:]
	}
	status := func() byte { return ask(0x05, 0)[1] }
	want := func(addr int, b ...byte) {
		t.Helper()
		if got := read(addr, len(b)); !bytes.Equal(got, b) {
			t.Errorf("at %#x it has % x, want % x", addr, got, b)
		}
	}
	want(0, 0xff, 0xff)
	if got := ask(0x9f, 0, 0, 0, 0); !bytes.Equal(got, []byte{0, 0xef, 0x40, 0x15, 0xef}) {
		t.Errorf("it is % x", got)
	}
	ask(0x02, 0, 0, 0, 1)
	want(0, 0xff) // not enabled
	ask(0x06)
	if status() != 0x02 {
		t.Errorf("enabled, its status is %#x", status())
	}
	ask(0x02, 0, 0, 0xfe, 0x12, 0x34, 0x56) // goes round within the page
	if status() != 0x03 {
		t.Errorf("at work, its status is %#x", status())
	}
	if got := read(0xfe, 2); !bytes.Equal(got, []byte{0, 0}) {
		t.Errorf("at work it reads % x", got)
	}
	clk.t = clk.t.Add(flashProgram)
	want(0xfe, 0x12, 0x34, 0xff)
	want(0, 0x56)
	if status() != 0 {
		t.Errorf("its status is %#x", status())
	}
	ask(0x06)
	ask(0x04)
	ask(0x02, 0, 0, 0xfe, 0)
	want(0xfe, 0x12)
	ask(0x06)
	ask(0x02, 0, 0, 0xfe, 0xf1)
	clk.t = clk.t.Add(flashProgram)
	want(0xfe, 0x10) // ones do not come back
	if got := ask(0x0b, 0, 0, 0xfe, 0, 0)[5]; got != 0x10 {
		t.Errorf("a fast read gives %#x", got)
	}
	for _, erase := range [][]byte{{0x20, 0, 0x0f, 0xff}, {0xd8, 0, 0xff, 0xff}, {0xc7}, {0x60}} {
		ask(0x06)
		ask(0x02, 0, 0, 1, 0)
		clk.t = clk.t.Add(flashProgram)
		want(1, 0)
		ask(0x06)
		ask(erase[0], 0xff) // not whole
		want(1, 0)
		ask(erase...)
		if status()&1 == 0 {
			t.Errorf("% x: it is not at work", erase)
		}
		clk.t = clk.t.Add(flashAll)
		want(1, 0xff)
	}
	want(flashSize-1, 0xff, 0xff) // and round
}

func TestADC(t *testing.T) {
	a := newADC(7)
	now := time.Unix(1e9, 0)
	for channel := range byte(8) {
		value := uint16(a.convert(now, true, int(channel)))
		in := make([]byte, 3)
		a.exchange(now, []byte{0x01, 0x80 | channel<<4, 0}, in)
		if got := uint16(in[1])<<8 | uint16(in[2]); got != value || value == 0 {
			t.Errorf("channel %d: %d, want %d", channel, got, value)
		}
		// The same a bit later, and its bits come again the other way round.
		in = make([]byte, 5)
		a.exchange(now, []byte{0, 0xc0 | channel<<3, 0, 0, 0}, in)
		if got := uint16(in[1])<<9&0x3ff | uint16(in[2])<<1 | uint16(in[3])>>7; got != value {
			t.Errorf("channel %d, later: %d, want %d", channel, got, value)
		}
		back := uint16(in[3]&0x7f)<<2 | uint16(in[4])>>6
		for i := range 9 {
			if back>>(8-i)&1 != value>>(i+1)&1 {
				t.Errorf("channel %d: %09b after %010b", channel, back, value)
				break
			}
		}
	}
	if a.convert(now, false, 0) != 0 || a.convert(now, false, 1) == 0 {
		t.Error("a difference is wrong")
	}
	a.exchange(now, []byte{0, 0}, make([]byte, 2)) // no start bit
	a.exchange(now, []byte{1}, make([]byte, 1))
}
