// Package sim is a simulated board, like a Raspberry Pi: 54 lines, one I2C bus
// with a BME280, an EEPROM and a clock that the kernel owns, an SPI bus with a
// flash and a converter, PWM, LEDs, and sensors that move. It behaves like the hardware down to the registers, so what works here
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
	spi     spi
	pwm     pwm
	leds    leds
	system  system
	can     can
	uart    uart
	tcp     tcp
}

// hardware is what outlives the boards that are opened on it.
type hardware struct {
	now    func() time.Time
	booted time.Time
	pins   *pins
	buses  []*bus
	meters []meter
	spi    *spiBus
	pwm    *pwmPins
	leds   *ledPins
	load   wave
	can    *canBus

	plant   *plant
	sockets []*socket
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
	plant := newPlant(climate(w.Seed), now())
	hw := &hardware{
		now:    now,
		booted: now(),
		pins:   newPins(w.Wires, w.Clocks, w.Tracer, now),
		buses:  newBuses(w, now),
		meters: newMeters(w.Seed, now()),
		spi:    newSPIBus(w.Seed, now),
		leds:   newLEDs(now),
		load:   newLoad(w.Seed),

		plant:   plant,
		sockets: newSockets(w, plant, now),
	}
	if w.PWM {
		hw.pwm = &pwmPins{}
	}
	if w.CAN != "" {
		hw.can = newCANBus(w, now)
	}
	return open(hw)
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
	b.spi.bus = hw.spi
	b.pwm.pins = hw.pwm
	b.leds.pins = hw.leds
	b.system.hw = hw
	b.can.bus = hw.can
	b.uart.sockets = hw.sockets
	b.tcp.hw = hw
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
		MemTotal:  memTotal,
		MemFree:   memFree,
		Uptime:    b.hw.now().Sub(b.hw.booted),
	}
}

// GPIO is the board's 54 lines.
func (b *Board) GPIO() device.GPIO { return &b.gpio }

// I2C is the board's one bus, i2c-1.
func (b *Board) I2C() device.I2C { return &b.i2c }

// Sensors is the processor's temperature, the fan, the supply, an accelerometer and
// a 1-Wire thermometer.
func (b *Board) Sensors() device.Sensors { return &b.sensors }

// SPI is a flash at chip select 0 of the one bus, and a converter at 1.
func (b *Board) SPI() device.SPI { return &b.spi }

// PWM is one chip with two channels, where the wiring has it.
func (b *Board) PWM() device.PWM {
	if b.hw.pwm == nil {
		return nil
	}
	return &b.pwm
}

// LEDs is ACT and PWR.
func (b *Board) LEDs() device.LEDs { return &b.leds }

// CAN is one interface, can0, to the control unit of an engine, where the wiring
// has it.
func (b *Board) CAN() device.CAN {
	if b.hw.can == nil {
		return nil
	}
	return &b.can
}

// UART is a console and two USB adapters: an instrument on ttyUSB0, and on ttyUSB1
// the plant, a Modbus server.
func (b *Board) UART() device.UART { return &b.uart }

// TCP reaches the plant at 192.0.2.10.
func (b *Board) TCP() device.TCP { return &b.tcp }

// System is a machine that is well.
func (b *Board) System() device.System { return &b.system }

// Close puts the lines that this board holds back. A transfer on a jammed bus
// hangs on, as it does in the kernel. It gives no error.
func (b *Board) Close() error {
	b.gpio.close()
	b.i2c.closed.Store(true)
	b.sensors.closed.Store(true)
	b.spi.closed.Store(true)
	if b.hw.pwm != nil {
		b.pwm.close()
	}
	b.leds.close()
	b.system.closed.Store(true)
	b.can.close()
	b.uart.close()
	b.tcp.closed.Store(true)
	return nil
}

func errClosed() error {
	return &device.Error{Subject: "board", Kind: device.ErrUnplugged, Reason: "closed", Hint: "open it again"}
}
