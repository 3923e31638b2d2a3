package policy

import (
	"errors"
	"fmt"
	"strings"

	"boardhand/device"
)

// Missing says of each rule whose thing the board lacks, or cannot be asked about,
// that it does so. It asks the board for everything, and so takes a while.
func Missing(b device.Board, r *Rules) []string {
	m := missing{rules: r}
	for i := range r.Lines {
		l := &r.Lines[i]
		m.look(l.At, "line", l.Line, b.GPIO() != nil, func() error { _, err := b.GPIO().Find(l.Line); return err })
	}
	m.buses(b)
	for i := range r.SPI {
		s := &r.SPI[i]
		m.look(s.At, "SPI device", s.Device, b.SPI() != nil, func() error {
			all, err := b.SPI().Devices(nil)
			return found(all, err, func(d device.SPIDevice) bool { return d.Name == s.Device })
		})
	}
	for i := range r.Sensors {
		s := &r.Sensors[i]
		m.look(s.At, "sensor", s.Sensor, b.Sensors() != nil, func() error {
			all, err := b.Sensors().List(nil)
			return found(all, err, func(x device.Sensor) bool { return x.Name == s.Sensor })
		})
	}
	for i := range r.UARTs {
		u := &r.UARTs[i]
		m.look(u.At, "serial port", u.Port, b.UART() != nil, func() error { _, err := b.UART().Find(u.Port); return err })
	}
	for i := range r.CAN {
		c := &r.CAN[i]
		m.look(c.At, "CAN interface", c.Interface, b.CAN() != nil, func() error {
			all, err := b.CAN().Links(nil)
			return found(all, err, func(l device.CANLink) bool { return l.Name == c.Interface })
		})
	}
	for i := range r.PWM {
		p := &r.PWM[i]
		m.look(p.At, "PWM channel", p.Channel, b.PWM() != nil, func() error { _, err := b.PWM().Find(p.Channel); return err })
	}
	for i := range r.LEDs {
		l := &r.LEDs[i]
		m.look(l.At, "LED", l.LED, b.LEDs() != nil, func() error { _, err := b.LEDs().Find(l.LED); return err })
	}
	return m.texts
}

type missing struct {
	rules *Rules
	texts []string
}

// look notes what find finds missing; a family that the board lacks has nothing.
func (m *missing) look(at int, noun, name string, family bool, find func() error) {
	err := error(&device.Error{Kind: device.ErrNotFound})
	if family {
		err = find()
	}
	switch {
	case errors.Is(err, device.ErrNotFound):
		m.texts = append(m.texts, fmt.Sprintf("%s: this board has no %s %q", m.rules.where(at), noun, name))
	case err != nil:
		m.texts = append(m.texts, fmt.Sprintf("%s: %v", m.rules.where(at), err))
	}
}

func (m *missing) buses(b device.Board) {
	for i := range m.rules.I2C {
		c := &m.rules.I2C[i]
		m.look(c.At, "I2C bus", fmt.Sprintf("i2c-%d", c.Bus), b.I2C() != nil, func() error {
			all, err := b.I2C().Buses(nil)
			return found(all, err, func(bus device.Bus) bool { return bus.Number == c.Bus })
		})
	}
}

func found[T any](all []T, err error, is func(T) bool) error {
	if err != nil {
		return err
	}
	for _, x := range all {
		if is(x) {
			return nil
		}
	}
	return device.ErrNotFound
}

// Summary says in a sentence what the rules open: "It opens 4 lines and 2 chips."
func (r *Rules) Summary() string {
	var parts []string
	count := func(n int, one, many string) {
		switch n {
		case 0:
		case 1:
			parts = append(parts, "1 "+one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	open := func(a Access) int {
		if r.access(a, AccessRead) == AccessNone {
			return 0
		}
		return 1
	}
	lines, chips, spi, sensors, uarts, can, modbus, pwm, leds := 0, 0, 0, 0, 0, 0, 0, 0, 0
	for i := range r.Lines {
		lines += open(r.Lines[i].Access)
	}
	for i := range r.I2C {
		if (&i2c{rules: r}).opens(&r.I2C[i]) {
			chips++
		}
	}
	for i := range r.SPI {
		spi += open(r.SPI[i].Access)
	}
	for i := range r.Sensors {
		sensors += open(r.Sensors[i].Access)
	}
	for i := range r.UARTs {
		uarts += open(r.UARTs[i].Access)
	}
	for i := range r.CAN {
		can += open(r.CAN[i].Access)
	}
	modbus = len(r.Modbus)
	for i := range r.PWM {
		pwm += open(r.PWM[i].Access)
	}
	for i := range r.LEDs {
		leds += open(r.LEDs[i].Access)
	}
	count(lines, "line", "lines")
	count(chips, "I2C entry", "I2C entries")
	count(spi, "SPI device", "SPI devices")
	count(sensors, "sensor", "sensors")
	count(uarts, "serial port", "serial ports")
	count(can, "CAN interface", "CAN interfaces")
	count(modbus, "Modbus device", "Modbus devices")
	count(pwm, "PWM channel", "PWM channels")
	count(leds, "LED", "LEDs")
	count(len(r.Own), "tool of its own", "tools of its own")
	s := "It opens nothing."
	if len(parts) > 0 {
		last := parts[len(parts)-1]
		s = "It opens " + last + "."
		if len(parts) > 1 {
			s = "It opens " + strings.Join(parts[:len(parts)-1], ", ") + " and " + last + "."
		}
	}
	if r.Allow == Everything {
		s = "It opens everything. " + strings.Replace(s, "It opens", "It has rules about", 1)
	}
	if r.ReadOnly {
		s += " Nothing may be changed."
	}
	return s
}
