package sim

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
)

func transfer(t *testing.T, b *Board, addr uint16, write []byte, n int) []byte {
	t.Helper()
	read := make([]byte, n)
	if err := b.i2c.Transfer(1, addr, write, read); err != nil {
		t.Fatal(err)
	}
	return read
}

func expect(t *testing.T, what string, got []byte, want ...byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Errorf("%s: % x, want % x", what, got, want)
	}
}

func TestScanOfTheBus(t *testing.T) {
	b := opened(t, Wiring{})
	found, err := b.i2c.Scan(1, 0x08, 0x77, nil, device.Scanning{})
	want := []device.Occupant{{Addr: 0x50}, {Addr: 0x68, Driver: "rtc-ds1307"}, {Addr: 0x76}}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestEEPROM(t *testing.T) {
	run := func(name string, f func(t *testing.T, b *Board)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, opened(t, Wiring{})) })
		})
	}
	program := func(t *testing.T, b *Board, addr uint16, data ...byte) {
		t.Helper()
		transfer(t, b, eepromAddr, append([]byte{byte(addr >> 8), byte(addr)}, data...), 0)
		time.Sleep(5 * time.Millisecond)
	}
	run("comes erased and keeps what is written", func(t *testing.T, b *Board) {
		expect(t, "erased", transfer(t, b, eepromAddr, []byte{0, 0}, 3), 0xff, 0xff, 0xff)
		program(t, b, 0x123, 1, 2, 3)
		expect(t, "written", transfer(t, b, eepromAddr, []byte{0x01, 0x22}, 5), 0xff, 1, 2, 3, 0xff)
	})
	run("a page wraps at its 32 bytes", func(t *testing.T, b *Board) {
		program(t, b, 0x5e, 1, 2, 3, 4)
		expect(t, "page's end", transfer(t, b, eepromAddr, []byte{0, 0x5e}, 3), 1, 2, 0xff)
		expect(t, "page's start", transfer(t, b, eepromAddr, []byte{0, 0x40}, 3), 3, 4, 0xff)
	})
	run("a read goes on where the last one ended and wraps at the end", func(t *testing.T, b *Board) {
		program(t, b, 0, 7, 8)
		program(t, b, 4095, 6)
		expect(t, "end", transfer(t, b, eepromAddr, []byte{0x0f, 0xff}, 2), 6, 7)
		expect(t, "next", transfer(t, b, eepromAddr, nil, 1), 8)
		expect(t, "beyond", transfer(t, b, eepromAddr, []byte{0xff, 0xff}, 2), 6, 7)
	})
	run("does not acknowledge for 5 ms after a write", func(t *testing.T, b *Board) {
		transfer(t, b, eepromAddr, []byte{0, 0, 9}, 0)
		for range 5 {
			if err := b.i2c.Transfer(1, eepromAddr, []byte{0, 0}, nil); !errors.Is(err, device.ErrNoAck) {
				t.Errorf("while busy: %v", err)
			}
			if found, _ := b.i2c.Scan(1, eepromAddr, eepromAddr, nil, device.Scanning{}); len(found) != 0 {
				t.Error("found while busy")
			}
			time.Sleep(time.Millisecond)
		}
		expect(t, "after", transfer(t, b, eepromAddr, []byte{0, 0}, 1), 9)
	})
	run("a repeated start drops the data", func(t *testing.T, b *Board) {
		transfer(t, b, eepromAddr, []byte{0, 0x10, 5}, 1)
		expect(t, "kept", transfer(t, b, eepromAddr, []byte{0, 0x10}, 1), 0xff)
	})
	run("a scan writes nothing", func(t *testing.T, b *Board) {
		if _, err := b.i2c.Scan(1, 0, 0x7f, nil, device.Scanning{}); err != nil {
			t.Fatal(err)
		}
		if got := transfer(t, b, eepromAddr, []byte{0, 0}, 4096); !bytes.Equal(got, bytes.Repeat([]byte{0xff}, 4096)) {
			t.Error("the EEPROM changed")
		}
	})
}

func TestBME280(t *testing.T) {
	run := func(name string, f func(t *testing.T, b *Board)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, opened(t, Wiring{Seed: 5})) })
		})
	}
	skipped := []byte{0x80, 0, 0, 0x80, 0, 0, 0x80, 0}
	run("sleeps after power-on and reset", func(t *testing.T, b *Board) {
		expect(t, "id", transfer(t, b, bmeAddr, []byte{0xd0}, 1), 0x60)
		expect(t, "control", transfer(t, b, bmeAddr, []byte{0xf2}, 4), 0, 0, 0, 0)
		expect(t, "data", transfer(t, b, bmeAddr, []byte{0xf7}, 8), skipped...)
		transfer(t, b, bmeAddr, []byte{0xf2, 1, 0xf4, 0x27, 0xf5, 0xff}, 0)
		time.Sleep(time.Second)
		expect(t, "set", transfer(t, b, bmeAddr, []byte{0xf2}, 4), 1, 0, 0x27, 0xfd)
		if bytes.Equal(transfer(t, b, bmeAddr, []byte{0xf7}, 8), skipped) {
			t.Error("nothing was measured")
		}
		transfer(t, b, bmeAddr, []byte{0xe0, 0x11}, 0)
		expect(t, "no reset", transfer(t, b, bmeAddr, []byte{0xf4}, 1), 0x27)
		transfer(t, b, bmeAddr, []byte{0xe0, 0xb6}, 0)
		expect(t, "reset", transfer(t, b, bmeAddr, []byte{0xf2}, 4), 0, 0, 0, 0)
		expect(t, "data", transfer(t, b, bmeAddr, []byte{0xf7}, 8), skipped...)
	})
	run("measures once when forced", func(t *testing.T, b *Board) {
		transfer(t, b, bmeAddr, []byte{0xf2, 1, 0xf4, 0x25}, 0)
		expect(t, "at once", transfer(t, b, bmeAddr, []byte{0xf3}, 2), 0x08, 0x25)
		expect(t, "at once", transfer(t, b, bmeAddr, []byte{0xf7}, 8), skipped...)
		time.Sleep(9300 * time.Microsecond) // 1.25 + 2.3 + 2.3 + 0.575 + 2.3 + 0.575 ms
		expect(t, "then", transfer(t, b, bmeAddr, []byte{0xf3}, 2), 0, 0x24)
		first := transfer(t, b, bmeAddr, []byte{0xf7}, 8)
		time.Sleep(time.Minute)
		expect(t, "later", transfer(t, b, bmeAddr, []byte{0xf7}, 8), first...)
	})
	run("skips what is not asked for", func(t *testing.T, b *Board) {
		transfer(t, b, bmeAddr, []byte{0xf4, 0x23}, 0) // temperature only
		time.Sleep(time.Second)
		got := transfer(t, b, bmeAddr, []byte{0xf7}, 8)
		expect(t, "pressure", got[:3], 0x80, 0, 0)
		expect(t, "humidity", got[6:], 0x80, 0)
		if bytes.Equal(got[3:6], skipped[:3]) {
			t.Error("temperature was skipped")
		}
		transfer(t, b, bmeAddr, []byte{0xf2, 1}, 0)
		expect(t, "humidity before ctrl_meas", transfer(t, b, bmeAddr, []byte{0xfd}, 2), 0x80, 0)
	})
	run("reads on by itself, from where a write left it", func(t *testing.T, b *Board) {
		all := transfer(t, b, bmeAddr, []byte{0x88}, 26)
		expect(t, "next", transfer(t, b, bmeAddr, []byte{0x88}, 2), all[:2]...)
		expect(t, "and next", transfer(t, b, bmeAddr, nil, 4), all[2:6]...)
	})
	run("gives the surroundings through the data sheet's formulas", func(t *testing.T, b *Board) {
		transfer(t, b, bmeAddr, []byte{0xf2, 1, 0xf4, 0x27}, 0)
		seen := map[int32]bool{}
		for range 200 {
			time.Sleep(7 * time.Minute)
			celsius, pascal, percent := compensate(t, b)
			want := climate(5)(time.Now())
			if math.Abs(celsius-want.celsius) > 0.01 || math.Abs(pascal-want.pascal) > 2 || math.Abs(percent-want.percent) > 0.1 {
				t.Errorf("%.2f °C, %.1f Pa, %.2f %%, want %+v", celsius, pascal, percent, want)
			}
			if celsius < 19.9 || celsius > 23.1 || pascal < 100800 || pascal > 101800 || percent < 36 || percent > 54 {
				t.Errorf("%.2f °C, %.1f Pa, %.2f %% are out of range", celsius, pascal, percent)
			}
			seen[int32(celsius*100)] = true
		}
		if len(seen) < 20 {
			t.Errorf("only %d temperatures", len(seen))
		}
	})
}

// compensate reads the sensor as a driver does, in the integer arithmetic of the
// data sheet (4.2.3): an arithmetic other than the simulation's.
func compensate(t *testing.T, b *Board) (celsius, pascal, percent float64) {
	t.Helper()
	low := transfer(t, b, bmeAddr, []byte{0x88}, 26)
	high := transfer(t, b, bmeAddr, []byte{0xe1}, 7)
	u := func(i int) int64 { return int64(binary.LittleEndian.Uint16(low[2*i:])) }
	s := func(i int) int64 { return int64(int16(u(i))) }
	h1, h2, h3 := int64(low[25]), int64(int16(binary.LittleEndian.Uint16(high))), int64(high[2])
	h4 := int64(int8(high[3]))<<4 | int64(high[4]&0xf)
	h5 := int64(int8(high[5]))<<4 | int64(high[4]>>4)
	h6 := int64(int8(high[6]))

	raw := transfer(t, b, bmeAddr, []byte{0xf7}, 8)
	adcP := int64(raw[0])<<12 | int64(raw[1])<<4 | int64(raw[2])>>4
	adcT := int64(raw[3])<<12 | int64(raw[4])<<4 | int64(raw[5])>>4
	adcH := int64(raw[6])<<8 | int64(raw[7])

	dt := adcT>>4 - u(0)
	fine := (adcT>>3-u(0)<<1)*s(1)>>11 + dt*dt>>12*s(2)>>14
	celsius = float64((fine*5+128)>>8) / 100

	x := fine - 128000
	offset := x*x*s(8) + x*s(7)<<17 + s(6)<<35
	slope := (1<<47 + x*x*s(5)>>8 + x*s(4)<<12) * u(3) >> 33
	p := ((1<<20-adcP)<<31 - offset) * 3125 / slope
	p = (p+s(11)*(p>>13)*(p>>13)>>25+s(10)*p>>19)>>8 + s(9)<<4
	pascal = float64(p) / 256

	z := fine - 76800
	scale := ((z*h6>>10)*(z*h3>>11+1<<15)>>10+1<<21)*h2 + 1<<13
	h := ((adcH<<14 - h4<<20 - h5*z + 1<<14) >> 15) * (scale >> 14)
	h -= (h >> 15) * (h >> 15) >> 7 * h1 >> 4
	percent = float64(min(max(h, 0), 419430400)>>12) / 1024
	return celsius, pascal, percent
}

func TestAJammedBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Wiring{Jams: []Jam{{1, 30}}})
		start := time.Now()
		err := b.i2c.Transfer(1, bmeAddr, []byte{bmeID}, make([]byte, 1))
		if !errors.Is(err, device.ErrTimeout) || time.Since(start) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(time.Hour)
		start = time.Now()
		_, err = b.i2c.Scan(1, 0x08, 0x77, nil, device.Scanning{Stop: func() bool { return true }})
		if !errors.Is(err, device.ErrTimeout) || time.Since(start) != 30*time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}

		start = time.Now()
		hung := make(chan error)
		go func() { hung <- b.i2c.Transfer(1, bmeAddr, []byte{bmeID}, make([]byte, 1)) }()
		synctest.Wait()
		levelOf(t, b, "GPIO17")
		if _, err := b.i2c.Buses(nil); err != nil {
			t.Error(err)
		}
		if err := b.i2c.Transfer(1, rtcAddr, nil, make([]byte, 1)); !errors.Is(err, device.ErrBusy) {
			t.Errorf("an address that is refused waits: %v", err)
		}
		b.Close()
		if time.Since(start) != 0 {
			t.Errorf("the jam held others up for %v", time.Since(start))
		}
		if err := <-hung; !errors.Is(err, device.ErrTimeout) {
			t.Error(err)
		}
	})
}

func TestABusJammedForEverStaysSo(t *testing.T) {
	b := opened(t, Wiring{Jams: []Jam{{Bus: 1}}})
	ended := make(chan error, 1)
	go func() { ended <- b.i2c.Transfer(1, bmeAddr, []byte{bmeID}, make([]byte, 1)) }()
	select {
	case err := <-ended:
		t.Error(err)
	case <-time.After(20 * time.Millisecond):
	}
}

func TestASlowBusTakesItsTimeForEachAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := opened(t, Wiring{Slow: []Slow{{Bus: 1, Ms: 2.5}}})
		start := time.Now()
		transfer(t, b, bmeAddr, []byte{bmeID}, 1)
		if d := time.Since(start); d != 2500*time.Microsecond {
			t.Errorf("a transfer took %v", d)
		}
		start = time.Now()
		if _, err := b.i2c.Scan(1, 0x70, 0x77, nil, device.Scanning{}); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 20*time.Millisecond {
			t.Errorf("a scan of 8 addresses took %v", d)
		}
	})
}

func BenchmarkTransfer(b *testing.B) {
	c := &Open(Wiring{}).i2c
	write, read := []byte{bmeID}, make([]byte, 1)
	b.ReportAllocs()
	for b.Loop() {
		c.Transfer(1, bmeAddr, write, read)
	}
}

// FuzzTransfer: no transfer panics or upsets the devices for the next.
func FuzzTransfer(f *testing.F) {
	f.Add(uint16(bmeAddr), []byte{0xf2, 1, 0xf4, 0x27}, uint16(0))
	f.Add(uint16(bmeAddr), []byte{0xff}, uint16(600))
	f.Add(uint16(eepromAddr), []byte{0x0f, 0xff, 1, 2, 3}, uint16(0))
	f.Add(uint16(eepromAddr), []byte{0xff}, uint16(8192))
	f.Add(uint16(0xffff), []byte{}, uint16(0))
	now := time.Unix(0, 0)
	b := Open(Wiring{Now: func() time.Time { return now }})
	f.Fuzz(func(t *testing.T, addr uint16, write []byte, n uint16) {
		b.i2c.Transfer(1, addr, write, make([]byte, n))
		now = now.Add(10 * time.Millisecond)
		expect(t, "id", transfer(t, b, bmeAddr, []byte{bmeID}, 1), bmeChipID)
		transfer(t, b, eepromAddr, []byte{0, 0}, 1)
	})
}
