package tools

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// maxSPIShown is how many bytes one spi_transfer shows: as hex, twice, they stay
// far below 8 KB.
const maxSPIShown = 1024

func addSPI(cat *rpc.Catalogue, spi device.SPI) {
	t := &spiTools{spi}
	cat.Tools = append(cat.Tools, rpc.Tool{
		Name: "spi_transfer", Title: "SPI transfer",
		Description: "Write hex, +N reads N bytes, 50us waits, ; releases chip select. Without +N: full duplex.",
		Hints:       rpc.Hints{Destructive: true},
		Params: []rpc.Param{
			{Name: "device", Type: rpc.String, Max: maxName},
			{Name: "data", Type: rpc.String, Required: true},
			{Name: "mode", Type: rpc.Integer},
			{Name: "speed_hz", Type: rpc.Integer},
			{Name: "bits", Type: rpc.Integer},
			{Name: "lsb_first", Type: rpc.Boolean},
		},
		Result: []rpc.Field{
			{Name: "device", Type: rpc.String},
			{Name: "read", Type: rpc.Strings, Description: "hex, one for each time that the chip is selected"},
			{Name: "speed_hz", Type: rpc.Integer},
		},
		Queue:    t.queue,
		Subjects: t.subject,
		Run:      t.transfer,
	})
}

type spiTools struct{ spi device.SPI }

// device finds the device that argument 0 names, or the only one that is free.
func (t *spiTools) device(c *rpc.Call) (device.SPIDevice, error) {
	all, err := t.spi.Devices(nil)
	if err != nil {
		return device.SPIDevice{}, err
	}
	name, err := listedName(t.spi, c)
	if err != nil {
		return device.SPIDevice{}, err
	}
	var free []device.SPIDevice
	for _, d := range all {
		if c.Has(0) && d.Name == name {
			return d, nil
		}
		if d.Owner == "" {
			free = append(free, d)
		}
	}
	if !c.Has(0) && len(free) == 1 {
		return free[0], nil
	}
	return device.SPIDevice{}, notChosen(c, "device", "SPI device", fmt.Sprintf("SPI device %.64q", c.Str(0)), described(all, maxDescribed, describeSPI))
}

// describeSPI says what a device is: "spidev0.0 up to 500000 Hz on spi-bcm2835".
func describeSPI(d device.SPIDevice) string {
	s := d.Name
	if d.MaxHz > 0 {
		s += fmt.Sprintf(" up to %d Hz", d.MaxHz)
	}
	if d.Controller != "" {
		s += " on " + d.Controller
	}
	if d.Owner != "" {
		s += " in use by " + d.Owner
	}
	return withDescription(s, d.Description)
}

// queue is that of the device's bus: "spi0".
func (t *spiTools) queue(c *rpc.Call) string {
	d, err := t.device(c)
	if err != nil {
		return "" // the handler says so
	}
	return d.BusName()
}

func (t *spiTools) transfer(c *rpc.Call) error {
	d, err := t.device(c)
	if err != nil {
		return err
	}
	frames, segments, err := parseFrames(c.Str(1))
	if err != nil {
		return err
	}
	mode, speed, bits := c.Int(2), c.Int(3), c.IntOr(4, 8)
	if mode < 0 || mode > 3 {
		return fmt.Errorf("mode is %d; 0 to 3 are allowed, default 0: bit 1 is the clock's polarity, bit 0 its phase", mode)
	}
	if c.Has(3) && (speed < 1 || speed > 1<<31) {
		return fmt.Errorf("speed_hz is %d; 1 to %d are allowed, default %d", speed, int64(1)<<31, device.DefaultSPIHz)
	}
	if bits < 1 || bits > 32 {
		return fmt.Errorf("bits is %d; words of 1 to 32 bits are allowed, default 8", bits)
	}
	config := device.SPIConfig{Mode: uint8(mode), Hz: uint32(speed), Bits: uint8(bits), LSBFirst: c.Bool(5)}
	if needs := config.Duration(d, segments); !c.Deadline().IsZero() && needs > time.Until(c.Deadline())-spiMargin {
		return fmt.Errorf("this takes %v on the wire, longer than a call may; raise speed_hz, or send less", needs.Round(time.Millisecond))
	}
	if err := t.spi.Transfer(d.Name, config, segments); err != nil {
		return err
	}
	dst := wire.AppendString(append(c.Out, `{"device":`...), d.Name)
	dst = append(dst, `,"read":[`...)
	for _, f := range frames {
		dst = wire.AppendHex(wire.AppendSep(dst), f)
	}
	dst = wire.AppendInt(append(dst, `],"speed_hz":`...), int64(config.Clock(d)))
	c.Out = append(dst, '}')
	return nil
}

// spiMargin is what a call has left for all but the wire.
const spiMargin = time.Second

// parseFrames turns data into segments, and gives of each frame, which is one chip
// select, the bytes that will have been read for the answer.
func parseFrames(data string) (read [][]byte, segments []device.SPISegment, err error) {
	shown := 0
	data = strings.TrimSuffix(strings.TrimSpace(data), ";")
	for text := range strings.SplitSeq(data, ";") {
		f, err := parseFrame(text, maxSPIShown-shown)
		if err != nil {
			return nil, nil, fmt.Errorf("data, at %.48q: %w", strings.TrimSpace(text), err)
		}
		if n := len(segments); n > 0 {
			segments[n-1].Release = true
		}
		shown += len(f.read)
		read, segments = append(read, f.read), append(segments, f.segments...)
		if len(segments) > device.MaxSPISegments {
			return nil, nil, fmt.Errorf("data has more than %d parts; send it in several calls", device.MaxSPISegments)
		}
	}
	return read, segments, nil
}

// spiFrame is one chip select.
type spiFrame struct {
	segments []device.SPISegment
	read     []byte // what the answer shows; segments read into it
}

// parseFrame reads a frame: words of hex, +N and delays.
func parseFrame(text string, room int) (spiFrame, error) {
	var f spiFrame
	wants, asked := 0, false
	hex := false // the segment at the end is of hex
	for _, word := range strings.Fields(text) {
		if n, ok := strings.CutPrefix(word, "+"); ok {
			count, err := strconv.ParseUint(n, 10, 16)
			if err != nil {
				return f, fmt.Errorf("%.16q; + has a number of bytes to read behind it, such as +3", word)
			}
			if wants += int(count); wants > room {
				break
			}
			asked = true
			if count > 0 {
				f.segments, hex = append(f.segments, device.SPISegment{Read: make([]byte, count)}), false
			}
			continue
		}
		if delay, ok := parseTime(word); ok {
			if len(f.segments) == 0 {
				return f, errors.New("it begins with a wait; a wait comes behind the bytes that it follows")
			}
			s := &f.segments[len(f.segments)-1]
			if s.Delay += delay; s.Delay > device.MaxSPIDelay {
				return f, fmt.Errorf("it waits %v; at most %v are allowed behind some bytes", s.Delay, device.MaxSPIDelay)
			}
			s.Delay = s.Delay.Round(time.Microsecond)
			hex = false
			continue
		}
		if !hex {
			f.segments, hex = append(f.segments, device.SPISegment{}), true
		}
		s := &f.segments[len(f.segments)-1]
		var ok bool
		if s.Write, ok = appendHexDigits(s.Write, word); !ok {
			return f, fmt.Errorf("%.16q is no pairs of hex digits, no +N to read and no wait such as 50us", word)
		}
	}
	if !asked {
		for _, s := range f.segments {
			wants += len(s.Write)
		}
	}
	switch {
	case wants > room:
		return f, fmt.Errorf("an answer shows %d bytes, and this makes more; read less, or put +0 behind a long write, then nothing of it is shown", maxSPIShown)
	case len(f.segments) == 0:
		return f, errors.New(`nothing to write and nothing to read; "9f +3" writes a byte and reads 3`)
	}
	f.read = make([]byte, 0, wants)
	for i := range f.segments {
		s := &f.segments[i]
		if n := s.Len(); s.Read != nil || !asked {
			f.read = f.read[:len(f.read)+n]
			s.Read = f.read[len(f.read)-n:]
		}
	}
	return f, nil
}

// appendHexDigits reads pairs of hex digits, behind 0x or not.
func appendHexDigits(dst []byte, text string) ([]byte, bool) {
	text = strings.TrimPrefix(text, "0x")
	if len(text)%2 != 0 || text == "" {
		return dst, false
	}
	for ; text != ""; text = text[2:] {
		b, err := strconv.ParseUint(text[:2], 16, 8)
		if err != nil {
			return dst, false
		}
		dst = append(dst, byte(b))
	}
	return dst, true
}
