// Package sim is a simulated board, like a Raspberry Pi: 54 lines, one I2C bus
// with a BME280, an EEPROM and a clock that the kernel owns, and sensors that
// move. It behaves like the hardware down to the registers, so what works here
// works on a board, and everything it does is a function of time, its seed and
// what was written: two boards that are opened and worked alike give the same.
//
// The hardware and a process's hold on it are two things. [Open] makes the
// hardware; [Board.Another] opens the same hardware once more, as a second
// process would.
package sim

import (
	"time"

	"boardhand/device"
)

// Board is one process's hold on the simulated hardware.
type Board struct {
	hw      *hardware
	gpio    gpio
	i2c     i2c
	sensors sensors
}

// hardware is what outlives the boards that are opened on it.
type hardware struct {
	now    func() time.Time
	booted time.Time
	pins   *pins
	buses  []*bus
	meters []meter
}

// Open makes a simulated board that is wired as w says. It panics where
// w.Check gives an error.
func Open(w Wiring) *Board {
	if err := w.Check(); err != nil {
		panic(err)
	}
	now := w.Now
	if now == nil {
		now = time.Now
	}
	return open(&hardware{
		now:    now,
		booted: now(),
		pins:   newPins(w.Wires),
		buses:  newBuses(w, now),
		meters: newMeters(w.Seed),
	})
}

// Another opens the same hardware again. A line that one board holds is owned
// by "another process" for the other, and either lives on when the other is
// closed.
func (b *Board) Another() *Board { return open(b.hw) }

func open(hw *hardware) *Board {
	b := &Board{hw: hw}
	b.gpio.pins = hw.pins
	b.i2c.buses = hw.buses
	b.sensors.hw = hw
	return b
}

// Info describes the board. Only the uptime moves; it counts from Open.
func (b *Board) Info() device.Info {
	return device.Info{
		Model:     "Simulated Raspberry Pi",
		Simulated: true,
		Hostname:  "simulated",
		Kernel:    "Linux 6.12.0",
		Arch:      "arm64",
		CPUs:      4,
		MemTotal:  512 << 20,
		MemFree:   384 << 20,
		Uptime:    b.hw.now().Sub(b.hw.booted),
	}
}

// GPIO is the board's 54 lines.
func (b *Board) GPIO() device.GPIO { return &b.gpio }

// I2C is the board's one bus, i2c-1.
func (b *Board) I2C() device.I2C { return &b.i2c }

// Sensors is the processor's temperature, the fan and the supply.
func (b *Board) Sensors() device.Sensors { return &b.sensors }

// Close puts the lines that this board holds back. A transfer on a jammed bus
// hangs on, as it does in the kernel. It gives no error.
func (b *Board) Close() error {
	b.gpio.close()
	b.i2c.closed.Store(true)
	b.sensors.closed.Store(true)
	return nil
}

func errClosed() error {
	return &device.Error{Subject: "board", Kind: device.ErrUnplugged, Reason: "closed", Hint: "open it again"}
}
