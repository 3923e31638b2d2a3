package tty

import "go.bug.st/serial"

// mode is the line's settings: 8N1.
func mode(baud int) *serial.Mode {
	return &serial.Mode{BaudRate: baud, DataBits: 8, Parity: serial.NoParity, StopBits: serial.OneStopBit}
}
