package device

import (
	"errors"
	"fmt"
	"slices"
)

// Answer is what asking one I2C address came to.
type Answer uint8

// The answers.
const (
	Silent Answer = iota // properly no acknowledge
	Found                // a device answers
	Owned                // a kernel driver has it; it was not asked
	Stuck                // neither yes nor no: timed out, or the bus was busy
)

// Sweep is the order and the patience of I2C.Scan, for all boards. ask asks one
// address, whose driver it gives where it is Owned; an error ends the sweep unless
// the answer is Stuck.
//
// Some adapters show an address without a device as a timeout, a jammed bus shows
// every address so, and each costs up to a second. So when stuckLimit addresses in
// a row were Stuck and nothing has answered, the addresses that devices most often
// have are asked next: where one of them answers, the sweep goes on; where none
// does, the bus counts as jammed. A sweep of at most shortSweep addresses runs to
// its end. One that is told to stop before anything answered says so of the bus.
func Sweep(bus string, first, last uint16, dst []Occupant, s Scanning, ask func(addr uint16) (driver string, a Answer, err error)) ([]Occupant, error) {
	w := sweep{found: dst, base: len(dst), ask: ask}
	total := int(last-first) + 1
	var err error
	for addr := first; addr <= last; addr++ {
		if s.Stop != nil && s.Stop() {
			err = &Error{Subject: bus, Kind: ErrCancelled, Reason: fmt.Sprintf("scan cancelled before 0x%02x", addr)}
			if w.stuck >= stuckLimit && !w.alive {
				err = w.jammed(bus)
			}
			break
		}
		if err = w.at(addr); err != nil {
			break
		}
		if w.stuck == stuckLimit && !w.alive && !w.tried && total > shortSweep {
			if err = w.tryLikely(first, last, s.Stop); err != nil {
				break
			}
			if !w.alive {
				err = w.jammed(bus)
				break
			}
		}
		if s.Progress != nil {
			s.Progress(int(addr-first)+1, total)
		}
	}
	if err == nil && !w.alive && w.stuck > 0 {
		err = w.jammed(bus)
	}
	slices.SortFunc(w.found[w.base:], func(a, b Occupant) int { return int(a.Addr) - int(b.Addr) })
	return w.found, err
}

const (
	stuckLimit = 4
	shortSweep = 16
)

// likely are the addresses that devices most often have: EEPROMs, clocks and motion
// sensors, BME280, displays, converters, expanders, current and humidity sensors.
var likely = [...]uint16{0x50, 0x68, 0x76, 0x3c, 0x48, 0x20, 0x27, 0x40}

type sweep struct {
	found []Occupant
	base  int
	ask   func(addr uint16) (string, Answer, error)
	asked [2]uint64 // a bit for each address
	tried bool      // the likely ones
	alive bool      // some address answered, or properly did not
	stuck int       // addresses without a proper answer
	why   error     // of the last of them
}

func (w *sweep) at(addr uint16) error {
	word, bit := &w.asked[addr>>6&1], uint64(1)<<(addr&63)
	if *word&bit != 0 {
		return nil
	}
	*word |= bit
	driver, answer, err := w.ask(addr)
	switch answer {
	case Stuck:
		w.stuck++
		w.why = err
		return nil
	case Found, Owned:
		if err == nil {
			w.found = append(w.found, Occupant{Addr: addr, Driver: driver})
		}
	}
	w.alive = w.alive || answer != Owned && err == nil
	return err
}

// tryLikely asks the likely addresses from first to last.
func (w *sweep) tryLikely(first, last uint16, stop func() bool) error {
	w.tried = true
	for _, addr := range likely {
		if addr < first || addr > last {
			continue
		}
		if w.alive || stop != nil && stop() {
			return nil
		}
		if err := w.at(addr); err != nil {
			return err
		}
	}
	return nil
}

// jammed is the error of a bus on which nothing answered properly.
func (w *sweep) jammed(bus string) error {
	e := &Error{Subject: bus, Kind: ErrTimeout,
		Reason: fmt.Sprintf("no device answers and %d addresses in a row gave no proper answer", w.stuck),
		Hint: "the bus is jammed or without pull-ups: check the wiring, and power-cycle a stuck device; " +
			fmt.Sprintf("where the adapter shows an empty address so, scan %d addresses or fewer at a time", shortSweep)}
	var why *Error
	if errors.As(w.why, &why) {
		e.Kind = why.Kind
		e.Reason += " (" + why.Error() + ")"
	}
	return e
}
