package tools

import (
	"strings"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
)

func TestSPITransfers(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	for _, tt := range []struct{ args, want string }{
		{`{"device":"spidev0.0","data":"9f +3"}`, `{"device":"spidev0.0","read":["ef 40 15"],"speed_hz":1000000}`},
		{`{"device":"spidev0.0","data":" 9F+3"}`, ``},
		{`{"device":"spidev0.0","data":"0x9f000000","mode":3,"speed_hz":500000}`, `{"device":"spidev0.0","read":["00 ef 40 15"],"speed_hz":500000}`},
		{`{"device":"spidev0.0","data":"9f 10us +1 1ms 1ms +2","bits":8}`, `{"device":"spidev0.0","read":["ef 40 15"],"speed_hz":1000000}`},
		{`{"device":"spidev0.0","data":"9f +3; 9f +1;"}`, `{"device":"spidev0.0","read":["ef 40 15","ef"],"speed_hz":1000000}`},
		{`{"device":"spidev0.0","data":"06 +0; 02 000100 aa bb +0; 5ms"}`, ``},
		{`{"device":"spidev0.0","data":"06 +0; 02 000100 aa bb +0; 05 00"}`, `{"device":"spidev0.0","read":["","","00 03"],"speed_hz":1000000}`},
	} {
		if tt.want == "" {
			continue // an error, below
		}
		if got := c.must("spi_transfer", tt.args); got != tt.want {
			t.Errorf("%s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
	time.Sleep(time.Millisecond) // the flash programs a page
	if got := c.must("spi_transfer", `{"device":"spidev0.0","data":"03 000100 +3"}`); !strings.Contains(got, `"aa bb ff"`) {
		t.Error(got)
	}
}

func TestSPIErrorsSayWhatIsAllowed(t *testing.T) {
	c := newClient(t, sim.Open(sim.Wiring{}))
	const devices = "spidev0.0 up to 125000000 Hz on spi-bcm2835, spidev0.1 up to 125000000 Hz on spi-bcm2835"
	for _, tt := range []struct{ args, want string }{
		{`{"data":"00"}`, `parameter "device" is missing; the board has ` + devices},
		{`{"device":"spidev0.2","data":"00"}`, `SPI device "spidev0.2" not found; the board has ` + devices},
		{`{"device":"spidev0.0","data":""}`, `data, at "": nothing to write and nothing to read; "9f +3" writes a byte and reads 3`},
		{`{"device":"spidev0.0","data":"9f;;05 +1"}`, `data, at "": nothing to write and nothing to read; "9f +3" writes a byte and reads 3`},
		{`{"device":"spidev0.0","data":"9f+3"}`, `data, at "9f+3": "9f+3" is no pairs of hex digits, no +N to read and no wait such as 50us`},
		{`{"device":"spidev0.0","data":"9"}`, `data, at "9": "9" is no pairs of hex digits, no +N to read and no wait such as 50us`},
		{`{"device":"spidev0.0","data":"9f +x"}`, `data, at "9f +x": "+x"; + has a number of bytes to read behind it, such as +3`},
		{`{"device":"spidev0.0","data":"5ms 9f"}`, `data, at "5ms 9f": it begins with a wait; a wait comes behind the bytes that it follows`},
		{`{"device":"spidev0.0","data":"9f 50ms 50ms"}`, `data, at "9f 50ms 50ms": it waits 100ms; at most 65.535ms are allowed behind some bytes`},
		{`{"device":"spidev0.0","data":"03 000000 +1000; 03 +25"}`, `data, at "03 +25": an answer shows 1024 bytes, and this makes more; read less, or put +0 behind a long write, then nothing of it is shown`},
		{`{"device":"spidev0.0","data":"` + strings.Repeat("00", 4097) + ` +0"}`, `spidev0.0: 4097 bytes in one message; the kernel's buffer takes 4096; send several messages, or boot with spidev.bufsiz=65536`},
		{`{"device":"spidev0.0","data":"` + strings.Repeat("00 +1 ", 33) + `"}`, `data has more than 64 parts; send it in several calls`},
		{`{"device":"spidev0.0","data":"00","mode":4}`, `mode is 4; 0 to 3 are allowed, default 0: bit 1 is the clock's polarity, bit 0 its phase`},
		{`{"device":"spidev0.0","data":"00","speed_hz":0}`, `speed_hz is 0; 1 to 2147483648 are allowed, default 1000000`},
		{`{"device":"spidev0.0","data":"00","speed_hz":200000000}`, `spidev0.0: a clock of 200000000 Hz; the device tree allows 125000000 at most`},
		{`{"device":"spidev0.0","data":"00","bits":0}`, `bits is 0; words of 1 to 32 bits are allowed, default 8`},
		{`{"device":"spidev0.0","data":"00","bits":12}`, `spidev0.0: 1 bytes are no whole number of words; a word of 12 bits takes 2 bytes`},
		{`{"device":"spidev0.0","data":"00","lsb_first":true}`, `spidev0.0: the controller cannot do this mode, word size or speed (EINVAL); try mode 0 to 3 with 8 bits, first bit highest, and a lower speed_hz`},
		{`{"device":"spidev0.0","data":"+1000","speed_hz":100}`, `this takes 1m20s on the wire, longer than a call may; raise speed_hz, or send less`},
	} {
		if _, got := c.call("spi_transfer", tt.args); got != tt.want {
			t.Errorf("%.80s\ngot  %s\nwant %s", tt.args, got, tt.want)
		}
	}
}

// oneSPI has one free device, and one that a driver has.
type oneSPI struct {
	device.SPI
	name, owned string
}

func (o oneSPI) Devices(dst []device.SPIDevice) ([]device.SPIDevice, error) {
	return append(dst, device.SPIDevice{Name: o.owned, Owner: "mcp251x"}, device.SPIDevice{Name: o.name}), nil
}

func (o oneSPI) Transfer(name string, config device.SPIConfig, segments []device.SPISegment) error {
	return config.Check(device.SPIDevice{Name: name}, segments, 4096)
}

func TestOnlyFreeSPIDeviceMayBeLeftOut(t *testing.T) {
	c := newClient(t, noBoard{spi: oneSPI{sim.Open(sim.Wiring{}).SPI(), "spidev2.0", "spidev0.0"}})
	if got := c.must("spi_transfer", `{"data":"ff"}`); got != `{"device":"spidev2.0","read":["00"],"speed_hz":1000000}` {
		t.Error(got)
	}
	if got := c.must("board_info", `{}`); !strings.Contains(got, `"spi":["spidev0.0 in use by mcp251x","spidev2.0"]`) {
		t.Error(got)
	}
}

// FuzzParseFrames: no data panics or makes more than it may.
func FuzzParseFrames(f *testing.F) {
	for _, s := range []string{"9f +3", "06; 02 000100 aa bb; 05 +1", "01 80 00", "9f 10us +1 1.5ms +2", ";", "+0", "0x", "+65535", "é", "1e9s", ".ms"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, data string) {
		read, segments, err := parseFrames(data)
		if err != nil {
			return
		}
		shown, releases := 0, 1
		for _, r := range read {
			shown += len(r)
		}
		for _, s := range segments {
			if s.Len() == 0 || s.Delay < 0 || s.Delay > device.MaxSPIDelay || s.Delay%time.Microsecond != 0 {
				t.Errorf("%q: %+v", data, s)
			}
			if s.Release {
				releases++
			}
		}
		if shown > maxSPIShown || releases != len(read) || len(segments) > device.MaxSPISegments {
			t.Errorf("%q: %d bytes of %d frames, %d chip selects, %d segments", data, shown, len(read), releases, len(segments))
		}
	})
}
