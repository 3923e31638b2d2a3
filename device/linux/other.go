//go:build !linux

package linux

import (
	"errors"

	"boardhand/device"
)

// Board is never made: this system has none of Linux's interfaces.
type Board struct{ device.Board }

// Open fails, for the reason it gives.
func Open() (*Board, error) {
	return nil, errors.New("a real board needs Linux; take the simulated one with --board sim")
}

// Usable is false.
func (*Board) Usable() bool { return false }

// Examine fails, for the reason it gives.
func Examine() (device.Diagnosis, error) {
	return device.Diagnosis{}, errors.New("a real board needs Linux; take the simulated one with --board sim")
}
