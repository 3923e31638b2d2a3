//go:build !linux

package linux

import (
	"errors"
	"time"

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

// Watchdog is never made.
type Watchdog struct{}

// OpenWatchdog fails, for the reason it gives.
func OpenWatchdog(path string, _ time.Duration) (*Watchdog, error) {
	return nil, errors.New(path + ": a hardware watchdog needs Linux")
}

// Timeout is 0.
func (*Watchdog) Timeout() time.Duration { return 0 }

// Guard does nothing.
func (*Watchdog) Guard(func() bool) {}

// Close does nothing.
func (*Watchdog) Close() error { return nil }
