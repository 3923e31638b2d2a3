package device

import "time"

// PWMState is how a channel stands.
type PWMState struct {
	Period  time.Duration // 0: never set
	Duty    time.Duration // of each period, the time that the output is active; up to Period
	Enabled bool
	// Inverted says that the active level is low.
	Inverted bool
}

// PWMChannel is a snapshot of one channel.
type PWMChannel struct {
	Name   string // "pwmchip0/1": chip 0, channel 1
	Device string // of the chip, the same on every kernel: "3f20c000.pwm"; "3f20c000.pwm/1" names the channel too
	PWMState
	Description string // what the board file says of it, or empty
	Known       bool   // the state is known: of a channel that nobody has opened it is not
	Held        bool   // this process has set it
}

// PWM is a board's PWM channels. Setting one can wait, for its chip's queue.
type PWM interface {
	// Channels appends every channel, by chip and number. It changes nothing.
	Channels(dst []PWMChannel) ([]PWMChannel, error)
	// Find describes one channel. An unknown name is ErrNotFound.
	Find(name string) (PWMChannel, error)
	// Set makes the channel stand as change says, given how it stands just before
	// (which it also returns), and holds it until Release or Close; after is what
	// the hardware made of it, which can differ by the grain of its clock. A
	// channel that a kernel driver uses is ErrBusy. What change refuses comes back
	// as its error, with nothing changed.
	Set(name string, change func(now PWMState) (PWMState, error)) (before, after PWMState, err error)
	// Release puts a held channel back to how it stood before its first Set and
	// gives it up. One that had no period is only switched off, for none can be
	// taken away again. One that is not held is left alone, without error.
	Release(name string) error
	// Rest says how Release and Close leave the channel, held now or later, in place
	// of how it stood before. It changes nothing by itself. A state without a
	// period only switches the output off.
	Rest(name string, s PWMState) error
}
