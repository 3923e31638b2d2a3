//go:build linux

package linux

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"boardhand/device"
)

// Board is this machine. Its families are fixed when it is opened; what they hold
// is looked up anew.
type Board struct {
	roots   roots
	gpio    *gpio
	i2c     *i2c
	sensors *sensors
	spi     *spi
	pwm     *pwm
	leds    *leds
	system  system
	can     *can
	uart    *uart
	tcp     tcp
}

// roots is where the kernel's file systems are mounted.
type roots struct{ dev, sys, proc string }

// Open looks which families this machine has. It changes nothing and claims
// nothing, and fails only where there is no Linux.
func Open() (*Board, error) { return open(roots{"/dev", "/sys", "/proc"}), nil }

func open(r roots) *Board {
	b := &Board{roots: r}
	if len(numbered(r.dev, "gpiochip")) > 0 {
		b.gpio = newGPIO(r)
	}
	if i := (&i2c{roots: r}); len(i.numbers()) > 0 {
		b.i2c = i
	}
	if s := (&spi{roots: r}); len(s.where()) > 0 {
		b.spi = s
	}
	if p := (&pwm{roots: r}); len(p.where()) > 0 {
		b.pwm = p
	}
	if l := (&leds{roots: r}); len(l.names()) > 0 {
		b.leds = l
	}
	b.system.roots = r
	b.tcp.roots = r
	if u := newUART(r); u.any() {
		b.uart = u
	}
	if c := newCAN(r); len(c.interfaces()) > 0 {
		b.can = c
	}
	if s := newSensors(r); len(s.look()) > 0 {
		b.sensors = s
	}
	return b
}

// Usable says that this user can work with at least one interface: open a GPIO
// chip, an I2C bus or an SPI device, or read a sensor.
func (b *Board) Usable() bool {
	return b.gpio != nil && b.gpio.usable() || b.i2c != nil && b.i2c.usable() || b.sensors != nil ||
		b.spi != nil && b.spi.usable() || b.can != nil && b.can.usable() || b.uart != nil && b.uart.usable()
}

// GPIO implements device.Board.
func (b *Board) GPIO() device.GPIO {
	if b.gpio == nil {
		return nil
	}
	return b.gpio
}

// I2C implements device.Board.
func (b *Board) I2C() device.I2C {
	if b.i2c == nil {
		return nil
	}
	return b.i2c
}

// Sensors implements device.Board.
func (b *Board) Sensors() device.Sensors {
	if b.sensors == nil {
		return nil
	}
	return b.sensors
}

// SPI implements device.Board.
func (b *Board) SPI() device.SPI {
	if b.spi == nil {
		return nil
	}
	return b.spi
}

// PWM implements device.Board.
func (b *Board) PWM() device.PWM {
	if b.pwm == nil {
		return nil
	}
	return b.pwm
}

// LEDs implements device.Board.
func (b *Board) LEDs() device.LEDs {
	if b.leds == nil {
		return nil
	}
	return b.leds
}

// CAN implements device.Board.
func (b *Board) CAN() device.CAN {
	if b.can == nil {
		return nil
	}
	return b.can
}

// UART implements device.Board.
func (b *Board) UART() device.UART {
	if b.uart == nil {
		return nil
	}
	return b.uart
}

// TCP implements device.Board.
func (b *Board) TCP() device.TCP { return &b.tcp }

// System implements device.Board.
func (b *Board) System() device.System { return &b.system }

// Close implements device.Board.
func (b *Board) Close() error {
	if b.can != nil {
		b.can.close()
	}
	b.tcp.closed.Store(true)
	if b.uart != nil {
		_ = b.uart.close()
	}
	if b.i2c != nil {
		b.i2c.closed.Store(true)
	}
	if b.sensors != nil {
		b.sensors.close()
	}
	if b.spi != nil {
		b.spi.closed.Store(true)
	}
	b.system.closed.Store(true)
	var errs []error
	if b.pwm != nil {
		errs = append(errs, b.pwm.close())
	}
	if b.leds != nil {
		errs = append(errs, b.leds.close())
	}
	if b.gpio != nil {
		errs = append(errs, b.gpio.close())
	}
	return errors.Join(errs...)
}

// numbered is the numbers of the entries of dir that are called prefix and a
// number, in order.
func numbered(dir, prefix string) []int {
	entries, _ := os.ReadDir(dir)
	var numbers []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), prefix)
		if n, err := strconv.Atoi(digits); ok && err == nil && strconv.Itoa(n) == digits {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// readText is the text of a small kernel file, at most limit bytes of it, without
// the blanks and NULs at its end.
func readText(limit int, path ...string) (string, error) {
	b, err := readBytes(limit, path...)
	return strings.TrimRight(string(b), " \t\r\n\x00"), err
}

// readBytes is at most limit bytes of the file at path.
func readBytes(limit int, path ...string) ([]byte, error) {
	f, err := os.Open(filepath.Join(path...))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, limit)
	n, err := io.ReadFull(f, b)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		err = nil
	}
	return b[:n], err
}

// linkBase is the last element of what the symbolic link at path points to, or "".
func linkBase(path ...string) string {
	target, err := os.Readlink(filepath.Join(path...))
	if err != nil {
		return ""
	}
	return filepath.Base(target)
}
