package policy

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"

	"boardhand/device"
)

// spi shows the devices that are open.
type spi struct {
	naming
	inner    device.SPI
	bound    []SPI
	commands [][][]byte // of each rule
}

func newSPI(inner device.SPI, r *Rules) *spi {
	s := &spi{naming: newNaming(r, "spi", "SPI device", len(r.SPI), AccessRead, func(i int) (*Rule, string) {
		return &r.SPI[i].Rule, r.SPI[i].Device
	}), inner: inner, bound: r.SPI, commands: make([][][]byte, len(r.SPI))}
	for i := range r.SPI {
		for _, text := range r.SPI[i].Commands {
			command, _ := parseHex(text) // Check has read it
			s.commands[i] = append(s.commands[i], command)
		}
	}
	return s
}

// parseHex reads pairs of hex digits, with or without 0x in front and blanks between.
func parseHex(text string) ([]byte, error) {
	return hex.DecodeString(strings.ReplaceAll(strings.TrimPrefix(text, "0x"), " ", ""))
}

// SPI implements device.Board: it is nil where no device is open.
func (b *Board) SPI() device.SPI {
	if b.spi == nil {
		return nil
	}
	return b.spi
}

// Devices implements device.SPI.
func (s *spi) Devices(dst []device.SPIDevice) ([]device.SPIDevice, error) {
	begin := len(dst)
	dst, err := s.inner.Devices(dst)
	keep := dst[:begin]
	for _, d := range dst[begin:] {
		t, open := s.of(d.Name)
		if !open {
			continue
		}
		d.Name, d.Description, d.Bus = t.shown, t.description(), d.BusName()
		if t.rule != nil && s.bound[t.index].MaxHz > 0 {
			if most := uint32(s.bound[t.index].MaxHz); d.MaxHz == 0 || most < d.MaxHz {
				d.MaxHz = most
			}
		}
		keep = append(keep, d)
	}
	return keep, err
}

// Find implements device.Finder.
func (s *spi) Find(name string) (string, error) { return s.shownOf(name) }

// Transfer implements device.SPI.
func (s *spi) Transfer(name string, config device.SPIConfig, segments []device.SPISegment) error {
	t, err := s.find(name)
	if err != nil {
		return err
	}
	switch {
	case t.rule == nil && t.access != AccessWrite:
		return s.rules.onlyRead(0, s.subject(t.shown))
	case t.rule != nil:
		if err := s.allows(t, config, segments); err != nil {
			return err
		}
	}
	return named(s.inner.Transfer(t.own, config, segments), t.own, t.shown)
}

// allows says why the rule of a device refuses a transfer.
func (s *spi) allows(t *thing, config device.SPIConfig, segments []device.SPISegment) error {
	rule, commands := &s.bound[t.index], s.commands[t.index]
	refuse := func(reason, hint string) error { return s.rules.refusal(t.at(), s.subject(t.shown), reason, hint) }
	if most := rule.MaxHz; most > 0 && int64(config.Clock(device.SPIDevice{})) > most {
		return refuse(fmt.Sprintf("a clock of %d Hz", config.Clock(device.SPIDevice{})), fmt.Sprintf("max_hz is %d", most))
	}
	mode := rule.Mode
	if mode == nil && len(commands) > 0 {
		mode = new(int) // another would shift the bits of a command
	}
	if mode != nil && int(config.Mode) != *mode {
		return refuse(fmt.Sprintf("mode %d", config.Mode), fmt.Sprintf("mode %d is allowed", *mode))
	}
	if len(commands) == 0 {
		if t.access != AccessWrite {
			return s.rules.onlyRead(t.at(), s.subject(t.shown))
		}
		return nil
	}
	if config.LSBFirst || config.Bits != 0 && config.Bits != 8 {
		return refuse("its commands are of 8 bits, the highest first", "leave bits and lsb_first out")
	}
	for begin := 0; begin < len(segments); {
		end := begin
		for end < len(segments)-1 && !segments[end].Release {
			end++
		}
		if !startsWithOne(segments[begin:end+1], commands) {
			return refuse("it does not begin with an allowed command", "commands has "+listed(rule.Commands))
		}
		begin = end + 1
	}
	return nil
}

// startsWithOne says whether what the segments write begins with one of commands.
// A segment without data writes zeros.
func startsWithOne(segments []device.SPISegment, commands [][]byte) bool {
	var head []byte
	for _, x := range segments {
		if x.Write != nil {
			head = append(head, x.Write[:min(len(x.Write), maxCommand)]...)
		} else {
			head = append(head, make([]byte, min(x.Len(), maxCommand))...)
		}
		if len(head) >= maxCommand {
			break
		}
	}
	for _, c := range commands {
		if bytes.HasPrefix(head, c) {
			return true
		}
	}
	return false
}
