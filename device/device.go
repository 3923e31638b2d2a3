// Package device says what a board is: its lines, buses and sensors, the units
// they are measured in and the errors they give. It does no I/O and knows no
// JSON. Two packages implement it: device/linux on the kernel's own interfaces
// and device/sim, a simulated board.
//
// A board is a set of families. A family that the board lacks is nil, so a tool
// exists only where its hardware does:
//
//	if g := board.GPIO(); g != nil { ... }
//
// All methods may be called from several goroutines at once. Names are matched
// exactly. No method retries anything that acts.
package device

import "time"

// Board is one board. The families it returns live until Close.
type Board interface {
	// Info describes the board; it is read anew on every call.
	Info() Info
	// GPIO is the board's digital lines, or nil.
	GPIO() GPIO
	// I2C is the board's I2C buses, or nil.
	I2C() I2C
	// Sensors is what the board measures of itself and its surroundings, or nil.
	Sensors() Sensors
	// SPI is the board's SPI devices, or nil.
	SPI() SPI
	// PWM is the board's PWM channels, or nil.
	PWM() PWM
	// LEDs is the board's LEDs, or nil.
	LEDs() LEDs
	// System is what the machine knows of itself, or nil.
	System() System
	// CAN is the board's CAN interfaces, or nil.
	CAN() CAN
	// UART is the board's serial ports, or nil.
	UART() UART
	// TCP is the board's network, or nil.
	TCP() TCP
	// Close puts every line, PWM channel and LED that was set back to the state it
	// had before (see GPIO.Release) and frees what is held. It is safe to call twice, and does
	// not wait for a transfer that hangs. A closed board reads and acts no more:
	// its families' methods fail with ErrUnplugged.
	Close() error
}

// Info describes a board for a person and a model.
type Info struct {
	Model     string        // "Raspberry Pi Zero 2 W Rev 1.0", or what the firmware calls it
	Simulated bool          // nothing here is real
	Hostname  string        // as the kernel has it
	Kernel    string        // "Linux 6.1.0"
	Arch      string        // "arm64", as Go names it
	CPUs      int           // processors online
	MemTotal  int64         // bytes
	MemFree   int64         // bytes that programs can still have (MemAvailable)
	Uptime    time.Duration // since boot
}
