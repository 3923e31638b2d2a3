package sim

import (
	"fmt"
	"time"
)

// Wiring is what is connected to the simulated board and what is wrong with it:
// the [sim] table of a board file.
//
//	[sim]
//	seed = 7
//	[[sim.wire]]
//	from = "GPIO17"
//	to = "GPIO27"
//	[[sim.jam]]
//	bus = 1
//	seconds = 30
//	[[sim.slow]]
//	bus = 1
//	ms = 2.5
//
// The zero Wiring is the board as it comes: GPIO17 tied to GPIO27, nothing wrong.
type Wiring struct {
	// Seed shifts what the sensors measure; the same seed at the same time
	// gives the same values.
	Seed int64 `toml:"seed"`
	// Wires tie lines together; nil is the one wire of the board as it comes,
	// and an empty list is none.
	Wires []Wire `toml:"wire"`
	// Jams are the buses that hang.
	Jams []Jam `toml:"jam"`
	// Slow are the buses that take their time.
	Slow []Slow `toml:"slow"`

	// Now is the board's clock; nil is time.Now. Waits run on the real clock.
	Now func() time.Time `toml:"-"`
}

// Wire ties two lines: what drives the one is seen on the other. Of several
// outputs on a wire a low one wins; without any, a pull-up wins.
type Wire struct {
	From string `toml:"from"` // a line's name
	To   string `toml:"to"`   // another's
}

// Jam is a bus whose clock something holds low. A transfer or scan on it cannot
// be interrupted, as the kernel's ioctl cannot: it ends Seconds after its call
// with device.ErrTimeout, or, where Seconds is 0, never.
type Jam struct {
	Bus     int     `toml:"bus"`
	Seconds float64 `toml:"seconds"` // 0 to 86400
}

// Slow is a bus on which each transaction, each address of a scan too, takes
// Ms milliseconds longer.
type Slow struct {
	Bus int     `toml:"bus"`
	Ms  float64 `toml:"ms"` // 0 to 10000
}

const (
	maxWires       = 64
	maxJamSeconds  = 86400
	maxSlowMs      = 10000
	wiredByDefault = "GPIO17"
	wiredTo        = "GPIO27"
)

// Check says what of the wiring this board cannot have, and what it can. The
// error names the table as it stands in a board file.
func (w Wiring) Check() error {
	if len(w.Wires) > maxWires {
		return fmt.Errorf("sim.wire: %d wires; at most %d are allowed", len(w.Wires), maxWires)
	}
	for _, wire := range w.Wires {
		from, err := wireEnd("from", wire.From)
		if err != nil {
			return err
		}
		to, err := wireEnd("to", wire.To)
		if err != nil {
			return err
		}
		if from == to {
			return fmt.Errorf("sim.wire: from %q and to %q are the same line; a wire ties two lines", wire.From, wire.To)
		}
	}
	seen := map[int]bool{}
	for _, j := range w.Jams {
		if err := checkBus("sim.jam", j.Bus, seen); err != nil {
			return err
		}
		if !(j.Seconds >= 0 && j.Seconds <= maxJamSeconds) {
			return fmt.Errorf("sim.jam: seconds %v; 0 (for ever) to %d are allowed", j.Seconds, maxJamSeconds)
		}
	}
	clear(seen)
	for _, s := range w.Slow {
		if err := checkBus("sim.slow", s.Bus, seen); err != nil {
			return err
		}
		if !(s.Ms >= 0 && s.Ms <= maxSlowMs) {
			return fmt.Errorf("sim.slow: ms %v; 0 to %d are allowed", s.Ms, maxSlowMs)
		}
	}
	return nil
}

func wireEnd(key, name string) (offset int, err error) {
	offset, ok := offsets[name]
	if !ok {
		return 0, fmt.Errorf("sim.wire: %s %.64q is no line of the simulated board; GPIO0 to GPIO%d and the kernel's names, as %q, are allowed",
			key, name, len(pinout)-1, pinout[29].name)
	}
	return offset, nil
}

func checkBus(table string, number int, seen map[int]bool) error {
	if number != busNumber {
		return fmt.Errorf("%s: bus %d; the simulated board has bus %d only", table, number, busNumber)
	}
	if seen[number] {
		return fmt.Errorf("%s: bus %d twice; once is allowed", table, number)
	}
	seen[number] = true
	return nil
}
