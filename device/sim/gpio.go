package sim

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"boardhand/device"
)

// pins is the chip: its lines, the wires between them, and what drives them from
// outside. Every change of a level goes by advance and settle, so that those who
// watch see it.
type pins struct {
	now func() time.Time

	mu      sync.Mutex
	lines   [len(pinout)]pin
	clocks  []*clock
	watches []*watch
	trace   *trace // or nil
}

type pin struct {
	device.Config               // Level is what it drives as an output, at the pin
	net           []uint8       // the offsets on its wire, itself included
	clocked       *clock        // what drives it from outside, or nil
	holder        *gpio         // the board that holds it, or nil
	before        device.Config // before its holder's first Write or Configure
	watch         *watch        // what watches it, or nil
}

func newPins(wires []Wire, clocks []Clock, tracer io.Writer, now func() time.Time) *pins {
	if wires == nil {
		wires = []Wire{{wiredByDefault, wiredTo}}
	}
	p := &pins{now: now}
	for i := range p.lines {
		s := &pinout[i]
		p.lines[i] = pin{Config: device.Config{Direction: s.dir, Level: s.out, ActiveLow: s.activeLow}, net: []uint8{uint8(i)}}
	}
	for _, w := range wires {
		p.tie(offsets[w.From], offsets[w.To])
	}
	for _, c := range clocks {
		p.drive(c, now())
	}
	if tracer != nil {
		p.trace = newTrace(tracer, p)
	}
	return p
}

func (p *pins) tie(a, b int) {
	for _, o := range p.lines[a].net {
		if int(o) == b {
			return
		}
	}
	net := append(append([]uint8(nil), p.lines[a].net...), p.lines[b].net...)
	for _, o := range net {
		p.lines[o].net = net
	}
}

// level is what the pin at offset i sees. The caller has the lock.
func (p *pins) level(i int) device.Level {
	driven, pull := false, device.Low
	for _, o := range p.lines[i].net {
		l := &p.lines[o]
		if l.Direction == device.Out {
			switch {
			case l.Level == device.Low && l.Drive != device.OpenSource:
				return device.Low
			case l.Level == device.High && l.Drive != device.OpenDrain:
				driven = true
			}
		}
		if l.clocked != nil {
			if l.clocked.level == device.Low {
				return device.Low
			}
			driven = true
		}
		switch {
		case l.Bias == device.BiasUp, l.Bias == device.BiasUnknown && pinout[o].pull == device.High:
			pull = device.High
		}
	}
	if driven {
		return device.High
	}
	return pull
}

// seen is the logical level of the line at offset i. The caller has the lock.
func (p *pins) seen(i int) device.Level { return p.lines[i].logical(p.level(i)) }

// logical turns a level at the pin into the line's, and back.
func (l *pin) logical(level device.Level) device.Level {
	if l.ActiveLow {
		return level ^ 1
	}
	return level
}

// gpio is one board's hold on the pins.
type gpio struct {
	pins *pins

	// Under the pins' lock:
	closed bool
	rests  map[int]device.Config // how lines are left, by offset; Level is at the pin
}

// Lines appends every line by offset.
func (g *gpio) Lines(dst []device.Line) ([]device.Line, error) {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	if g.closed {
		return dst, errClosed()
	}
	for i := range g.pins.lines {
		dst = append(dst, g.snapshot(i))
	}
	return dst, nil
}

// Find describes one line.
func (g *gpio) Find(name string) (device.Line, error) {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	i, err := g.find(name)
	if err != nil {
		return device.Line{}, err
	}
	return g.snapshot(i), nil
}

// Read gives the levels at the pins.
func (g *gpio) Read(names []string, levels []device.Level) error {
	levels = levels[:len(names)]
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	at := make([]uint8, 0, 64)
	for _, name := range names {
		i, err := g.usable(name)
		if err != nil {
			return err
		}
		at = append(at, uint8(i))
	}
	g.pins.advance()
	for k, i := range at {
		levels[k] = g.pins.seen(int(i))
	}
	return nil
}

// Write drives a line.
func (g *gpio) Write(name string, level device.Level) (device.State, error) {
	if level > device.High {
		return device.State{}, &device.Error{Subject: lineSubject(name), Kind: device.ErrNotSupport,
			Reason: fmt.Sprintf("level %d not supported", level), Hint: "0 and 1 are allowed"}
	}
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	i, err := g.usable(name)
	if err != nil {
		return device.State{}, err
	}
	l := &g.pins.lines[i]
	if l.watch != nil {
		return device.State{}, watched(name)
	}
	g.pins.advance()
	before := device.State{Direction: l.Direction, Level: g.pins.seen(i)}
	if l.holder == g && l.Direction == device.Out {
		before.Level = l.logical(l.Level)
	}
	g.hold(i)
	l.Direction, l.Level = device.Out, l.logical(level)
	g.pins.settle()
	return before, nil
}

// Configure sets a line up.
func (g *gpio) Configure(name string, change func(*device.Config) error) (before, after device.Config, err error) {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	i, err := g.usable(name)
	if err != nil {
		return before, after, err
	}
	l := &g.pins.lines[i]
	if l.watch != nil {
		return before, after, watched(name)
	}
	g.pins.advance()
	before = g.config(i)
	after = before
	if err := change(&after); err != nil {
		return before, before, err
	}
	if after.Debounce < 0 || after.Debounce > device.MaxDebounce {
		return before, before, &device.Error{Subject: lineSubject(name), Kind: device.ErrNotSupport,
			Reason: fmt.Sprintf("debounce of %v not supported", after.Debounce), Hint: fmt.Sprintf("0 to %v are allowed", device.MaxDebounce)}
	}
	g.hold(i)
	l.Config = after
	l.Debounce = l.Debounce.Truncate(time.Microsecond)
	if l.Direction == device.Out {
		l.Debounce = 0
	} else {
		l.Drive = device.PushPull
	}
	l.Level = l.logical(after.Level)
	g.pins.settle()
	return before, g.config(i), nil
}

// Release puts a held line back.
func (g *gpio) Release(name string) error {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	i, err := g.find(name)
	if err != nil {
		return err
	}
	if l := &g.pins.lines[i]; l.holder == g && l.watch != nil {
		return watched(name)
	}
	g.pins.advance()
	g.release(&g.pins.lines[i])
	g.pins.settle()
	return nil
}

// Rest says how a line is left.
func (g *gpio) Rest(name string, c device.Config) error {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	i, err := g.find(name)
	if err != nil {
		return err
	}
	if c.ActiveLow {
		c.Level ^= 1
	}
	if g.rests == nil {
		g.rests = make(map[int]device.Config)
	}
	g.rests[i] = c
	if l := &g.pins.lines[i]; l.holder == g {
		l.before = c
	}
	return nil
}

func (g *gpio) close() {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	g.pins.advance()
	for _, w := range slices.Clone(g.pins.watches) {
		if w.gpio == g {
			w.end()
		}
	}
	for i := range g.pins.lines {
		g.release(&g.pins.lines[i])
	}
	g.pins.settle()
	g.closed = true
}

// The caller of each of these has the pins' lock.

func (g *gpio) release(l *pin) {
	if l.holder != g {
		return
	}
	l.Config, l.holder = l.before, nil
}

// hold makes the line at offset i this board's, and keeps how it is set up.
func (g *gpio) hold(i int) {
	if l := &g.pins.lines[i]; l.holder == nil {
		l.holder, l.before = g, l.Config
		if rest, ok := g.rests[i]; ok {
			l.before = rest
		}
	}
}

// config is how the line at offset i is set up, with its logical level: of an
// output what it drives, which need not be what the pin shows.
func (g *gpio) config(i int) device.Config {
	l := &g.pins.lines[i]
	c := l.Config
	if c.Level = l.logical(l.Level); c.Direction == device.In {
		c.Level = g.pins.seen(i)
	}
	return c
}

func (g *gpio) find(name string) (int, error) {
	if g.closed {
		return 0, errClosed()
	}
	i, ok := offsets[name]
	if !ok {
		return 0, &device.Error{Subject: lineSubject(name), Kind: device.ErrNotFound,
			Hint: fmt.Sprintf("gpio_list shows %d lines", len(pinout))}
	}
	return i, nil
}

func (g *gpio) usable(name string) (int, error) {
	i, err := g.find(name)
	if err != nil {
		return 0, err
	}
	if owner := g.owner(i); owner != "" {
		return 0, &device.Error{Subject: lineSubject(name), Kind: device.ErrBusy,
			Reason: fmt.Sprintf("in use by %q (EBUSY)", owner), Hint: "gpio_list shows which lines are free"}
	}
	return i, nil
}

func (g *gpio) owner(i int) string {
	l := &g.pins.lines[i]
	if h := l.holder; h != nil && h != g {
		return "another process"
	}
	if l.watch != nil && l.watch.gpio != g {
		return "another process"
	}
	return pinout[i].owner
}

func (g *gpio) snapshot(i int) device.Line {
	l := &g.pins.lines[i]
	return device.Line{
		Name:      pinout[i].name,
		Chip:      chipName,
		Offset:    uint32(i),
		Direction: l.Direction,
		ActiveLow: l.ActiveLow,
		Bias:      l.Bias,
		Drive:     l.Drive,
		Debounce:  l.Debounce,
		Held:      l.holder == g,
		Owner:     g.owner(i),
	}
}

func lineSubject(name string) string { return fmt.Sprintf("line %.64q", name) }
