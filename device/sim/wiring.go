package sim

import (
	"fmt"
	"io"
	"slices"
	"strings"
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
//	[[sim.clock]]
//	line = "GPIO5"
//	hz = 2.5
//	[[sim.jam]]
//	bus = 1
//	seconds = 30
//	[[sim.slow]]
//	bus = 1
//	ms = 2.5
//	[[sim.uart]]
//	port = "ttyUSB1"
//	late_ms = 1500
//
// The zero Wiring is the board as it comes: GPIO17 tied to GPIO27, nothing wrong.
type Wiring struct {
	// Seed shifts what the sensors measure; the same seed at the same time
	// gives the same values.
	Seed int64 `toml:"seed"`
	// Wires tie lines together; nil is the one wire of the board as it comes,
	// and an empty list is none.
	Wires []Wire `toml:"wire"`
	// Clocks move lines from outside.
	Clocks []Clock `toml:"clock"`
	// Jams are the buses that hang.
	Jams []Jam `toml:"jam"`
	// Slow are the buses that take their time.
	Slow []Slow `toml:"slow"`

	// CAN gives the board a CAN interface, can0, as a Raspberry Pi has one only on a
	// board on top, and says how its link is: "up", "down", "bus-off", or "alone",
	// where no other node acknowledges. Empty: there is none.
	CAN string `toml:"can"`
	// PWM gives it a PWM chip, as a Raspberry Pi has one only by an overlay.
	PWM bool `toml:"pwm"`

	// UARTs are the faults of what is connected to the serial ports.
	UARTs []UARTFault `toml:"uart"`

	// Trace is the path of a file to which each change of how a line is driven is
	// appended, to see what a board file makes of it. Tracer is that file, once it is
	// open. See trace for its lines.
	Trace  string    `toml:"trace"`
	Tracer io.Writer `toml:"-"`

	// Now is the board's clock; nil is time.Now. Waits run on the real clock.
	Now func() time.Time `toml:"-"`
}

// Wire ties two lines: what drives the one is seen on the other. Of several
// outputs on a wire a low one wins; without any, a pull-up wins.
type Wire struct {
	From string `toml:"from"` // a line's name
	To   string `toml:"to"`   // another's
}

// Clock moves a line from outside: it drives it low, then high and low in turn,
// beginning with high AfterMs after the board was opened.
type Clock struct {
	Line    string  `toml:"line"`
	Hz      float64 `toml:"hz"`       // periods a second, each of two edges: 0.001 to 1e6
	Edges   int64   `toml:"edges"`    // then it stands still; 0: for ever
	AfterMs float64 `toml:"after_ms"` // 0 to 86400000
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
	// NackTimeout makes an address without a device a timeout, as some adapters do.
	NackTimeout bool `toml:"nack_timeout"`
}

const (
	maxWires       = 64
	maxClocks      = 8
	minHz, maxHz   = 0.001, 1e6
	maxJamSeconds  = 86400
	maxSlowMs      = 10000
	wiredByDefault = "GPIO17"
	wiredTo        = "GPIO27"
)

// Check says what of the wiring this board cannot have, and what it can. The
// error names the table as it stands in a board file.
func (w Wiring) Check() error {
	if w.CAN != "" && !slices.Contains(canLinks, w.CAN) {
		return fmt.Errorf("sim.can: %.64q; %s are allowed", w.CAN, strings.Join(canLinks, ", "))
	}
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
	if err := checkClocks(w.Clocks); err != nil {
		return err
	}
	ports := map[string]bool{}
	for _, f := range w.UARTs {
		if err := f.check(ports); err != nil {
			return err
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

func checkClocks(clocks []Clock) error {
	if len(clocks) > maxClocks {
		return fmt.Errorf("sim.clock: %d clocks; at most %d are allowed", len(clocks), maxClocks)
	}
	seen := map[int]bool{}
	for _, c := range clocks {
		offset, err := lineAt("sim.clock: line", c.Line)
		switch {
		case err != nil:
			return err
		case seen[offset]:
			return fmt.Errorf("sim.clock: line %q twice; once is allowed", c.Line)
		case !(c.Hz >= minHz && c.Hz <= maxHz):
			return fmt.Errorf("sim.clock: hz %v; %v to %v are allowed", c.Hz, minHz, float64(maxHz))
		case c.Edges < 0:
			return fmt.Errorf("sim.clock: edges %d; 0 (for ever) or more are allowed", c.Edges)
		case !(c.AfterMs >= 0 && c.AfterMs <= 1000*maxJamSeconds):
			return fmt.Errorf("sim.clock: after_ms %v; 0 to %d are allowed", c.AfterMs, 1000*maxJamSeconds)
		}
		seen[offset] = true
	}
	return nil
}

func wireEnd(key, name string) (offset int, err error) { return lineAt("sim.wire: "+key, name) }

func lineAt(where, name string) (offset int, err error) {
	offset, ok := offsets[name]
	if !ok {
		return 0, fmt.Errorf("%s %.64q is no line of the simulated board; GPIO0 to GPIO%d and the kernel's names, as %q, are allowed",
			where, name, len(pinout)-1, pinout[29].name)
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
