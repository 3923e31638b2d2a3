package sim

import (
	"fmt"
	"sync"

	"boardhand/device"
)

// pins is the chip: its lines and the wires between them.
type pins struct {
	mu    sync.Mutex
	lines [len(pinout)]pin
}

type pin struct {
	dir    device.Direction
	out    device.Level // what it drives as an output
	net    []uint8      // the offsets on its wire, itself included
	holder *gpio        // the board that holds it, or nil
	before device.State // before its holder's first Write
}

func newPins(wires []Wire) *pins {
	if wires == nil {
		wires = []Wire{{wiredByDefault, wiredTo}}
	}
	p := &pins{}
	for i := range p.lines {
		p.lines[i] = pin{dir: pinout[i].dir, out: pinout[i].out, net: []uint8{uint8(i)}}
	}
	for _, w := range wires {
		p.tie(offsets[w.From], offsets[w.To])
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
		switch l := &p.lines[o]; {
		case l.dir == device.Out && l.out == device.Low:
			return device.Low
		case l.dir == device.Out:
			driven = true
		case pinout[o].pull == device.High:
			pull = device.High
		}
	}
	if driven {
		return device.High
	}
	return pull
}

// gpio is one board's hold on the pins.
type gpio struct {
	pins   *pins
	closed bool // under the pins' lock
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
	for _, name := range names {
		if _, err := g.usable(name); err != nil {
			return err
		}
	}
	for k, name := range names {
		levels[k] = g.pins.level(offsets[name])
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
	before := device.State{Direction: l.dir, Level: g.pins.level(i)}
	if l.holder == nil {
		l.holder, l.before = g, before
	}
	l.dir, l.out = device.Out, level
	return before, nil
}

// Release puts a held line back.
func (g *gpio) Release(name string) error {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	i, err := g.find(name)
	if err != nil {
		return err
	}
	g.release(&g.pins.lines[i])
	return nil
}

func (g *gpio) close() {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	for i := range g.pins.lines {
		g.release(&g.pins.lines[i])
	}
	g.closed = true
}

// The caller of each of these has the pins' lock.

func (g *gpio) release(l *pin) {
	if l.holder != g {
		return
	}
	l.dir, l.out = l.before.Direction, l.before.Level
	l.holder = nil
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
	if h := g.pins.lines[i].holder; h != nil && h != g {
		return "another process"
	}
	return pinout[i].owner
}

func (g *gpio) snapshot(i int) device.Line {
	l, s := &g.pins.lines[i], &pinout[i]
	return device.Line{
		Name:      s.name,
		Chip:      chipName,
		Offset:    uint32(i),
		Direction: l.dir,
		ActiveLow: s.activeLow,
		Held:      l.holder == g,
		Owner:     g.owner(i),
	}
}

func lineSubject(name string) string { return fmt.Sprintf("line %.64q", name) }
