package device

import "errors"

// The kinds of failure, for errors.Is. Every error of a board is an *Error that
// wraps one of them, or the error of the kernel itself.
var (
	ErrNotFound   = errors.New("not found")
	ErrBusy       = errors.New("in use")
	ErrPermission = errors.New("not permitted")
	ErrNoAck      = errors.New("no acknowledge")
	ErrTimeout    = errors.New("timed out")
	ErrCancelled  = errors.New("cancelled")
	ErrUnplugged  = errors.New("gone")
	ErrDown       = errors.New("down")
	ErrNotSupport = errors.New("not supported")
)

// Error says what failed, on what, why, and what to do next, in one sentence:
//
//	line "GPIO99" not found; gpio_list shows 54 lines
//	i2c-1 address 0x50: no acknowledge (EREMOTEIO); check the wiring and the address with i2c_scan
type Error struct {
	Subject string // what it happened to: `line "GPIO99"`, "i2c-1 address 0x50"
	Kind    error  // one of the kinds above
	Reason  string // the kind in the words of the case, with the errno's name in brackets; empty: the kind's own words
	Hint    string // what is allowed or what to do next, or empty
}

func (e *Error) Error() string {
	reason := e.Reason
	if reason == "" {
		reason = e.Kind.Error()
	}
	s := e.Subject + " " + reason
	if e.Kind != ErrNotFound {
		s = e.Subject + ": " + reason
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }
