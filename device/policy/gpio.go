package policy

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"boardhand/device"
)

// line is a line of the board that is open.
type line struct {
	rule   *Line  // nil: no rule names it, and all is allowed
	own    string // the board's name of it
	shown  string // the user's, or the board's where he gave none
	access Access // AccessRead or AccessWrite
}

func (l *line) subject() string { return fmt.Sprintf("line %q", l.shown) }

// lineActs is what an allowed act on a line may do. The line may be written.
type lineActs interface {
	write(l *line, level device.Level) (before device.State, err error)
	configure(l *line, change func(*device.Config) error) (before, after device.Config, err error)
	release(l *line) error
	rest(l *line, c device.Config) error
}

// gpio shows the lines that are open.
type gpio struct {
	inner device.GPIO
	rules *Rules
	acts  lineActs

	mu     sync.Mutex
	named  map[string]*Line // the rules, by the user's name
	owned  map[string]*Line // and by the board's, as far as the board has shown it
	known  map[string]*line // what was found, by any name
	failed bool             // a rule's line was not found so far

	scratch sync.Mutex // last
	last    names
}

// names are the lines of a call as it names them, and as the board does.
type names struct{ asked, own []string }

func newGPIO(inner device.GPIO, r *Rules) *gpio {
	g := &gpio{inner: inner, rules: r, named: make(map[string]*Line, len(r.Lines)), known: make(map[string]*line), failed: true}
	for i := range r.Lines {
		rule := &r.Lines[i]
		g.named[rule.shown()] = rule
	}
	g.acts = directly{inner}
	return g
}

// opensLines says whether any line is or may be open.
func (r *Rules) opensLines() bool {
	return r.Allow == Everything || slices.ContainsFunc(r.Lines, func(l Line) bool { return l.Access != AccessNone })
}

// shown is the name that the model sees.
func (l *Line) shown() string {
	if l.Name != "" {
		return l.Name
	}
	return l.Line
}

// find gives the open line called name: as the user calls it, or as the board does.
// It allocates nothing for a name that was found before.
func (g *gpio) find(name string) (*line, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if l := g.known[name]; l != nil {
		return l, nil
	}
	rule := g.named[name]
	own := name
	if rule != nil {
		own = rule.Line
	}
	found, err := g.inner.Find(own)
	if rule == nil && err == nil {
		if err := g.resolve(); err != nil {
			return nil, err
		}
		rule = g.owned[found.Name]
	}
	subject := fmt.Sprintf("line %.64q", name)
	switch {
	case errors.Is(err, device.ErrNotFound) && rule == nil:
		e := *err.(*device.Error)
		e.Hint = g.rules.File + " opens " + listed(g.open())
		if g.rules.Allow == Everything {
			e.Hint = "gpio_list shows those that there are"
		}
		return nil, &e
	case errors.Is(err, device.ErrNotFound):
		return nil, &device.Error{Subject: g.rules.where(rule.At) + ": " + subject, Kind: device.ErrNotFound,
			Hint: fmt.Sprintf("the board has no line %q: correct the file", own)}
	case err != nil:
		return nil, err
	}
	l := g.opened(found.Name, rule)
	if l == nil && rule != nil {
		return nil, g.rules.shut(rule.At, subject)
	}
	if l == nil {
		return nil, g.rules.closed(subject, "line", g.open())
	}
	g.remember(name, l)
	return l, nil
}

// maxKnown bounds what is remembered of names; a board with more just asks again.
const maxKnown = 4096

func (g *gpio) remember(name string, l *line) {
	if len(g.known) >= maxKnown {
		clear(g.known)
	}
	g.known[name] = l
}

// opened is the line that the board calls own, or nil where it is closed. The same
// line is always the same *line. The caller has the lock.
func (g *gpio) opened(own string, rule *Line) *line {
	if l := g.known[own]; l != nil && l.own == own {
		return l
	}
	l := &line{rule: rule, own: own, shown: own, access: g.rules.unnamed()}
	if rule != nil {
		l.access = g.rules.access(rule.Access, AccessRead)
		if rule.Name != "" {
			l.shown = rule.Name
		}
	}
	if l.access == AccessNone {
		return nil
	}
	// Another line may have this name of the board's from the user: his counts.
	if other := g.named[own]; other == nil || other == rule {
		g.remember(own, l)
	} else if known := g.known[l.shown]; known != nil {
		return known
	}
	return l
}

// resolve finds the lines of the rules under the board's own names. The caller has
// the lock.
func (g *gpio) resolve() error {
	if !g.failed {
		return nil
	}
	if g.owned == nil {
		g.owned = make(map[string]*Line, len(g.rules.Lines))
	}
	g.failed = false
	for i := range g.rules.Lines {
		rule := &g.rules.Lines[i]
		l, err := g.inner.Find(rule.Line)
		switch {
		case errors.Is(err, device.ErrNotFound):
			g.failed = true // it may be plugged in later
			continue
		case err != nil:
			g.failed = true
			return err
		}
		if g.owned[l.Name] == nil {
			g.owned[l.Name] = rule
		}
	}
	return nil
}

// open is the names of the lines that the rules open. The caller has the lock.
func (g *gpio) open() []string {
	var names []string
	for i := range g.rules.Lines {
		if rule := &g.rules.Lines[i]; g.rules.access(rule.Access, AccessRead) != AccessNone {
			names = append(names, rule.shown())
		}
	}
	return names
}

// Lines implements device.GPIO: the lines that are open.
func (g *gpio) Lines(dst []device.Line) ([]device.Line, error) {
	begin := len(dst)
	dst, err := g.inner.Lines(dst)
	if err != nil {
		return dst, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.resolve(); err != nil {
		return dst[:begin], err
	}
	keep := dst[:begin]
	for _, found := range dst[begin:] {
		if l := g.opened(found.Name, g.owned[found.Name]); l != nil {
			keep = append(keep, l.show(found))
		}
	}
	return keep, nil
}

// show is a line of the board as the model sees it.
func (l *line) show(found device.Line) device.Line {
	found.Name = l.shown
	if l.rule != nil {
		found.Description = l.rule.Description
	}
	return found
}

// Find implements device.GPIO.
func (g *gpio) Find(name string) (device.Line, error) {
	l, err := g.find(name)
	if err != nil {
		return device.Line{}, err
	}
	found, err := g.inner.Find(l.own)
	return l.show(found), named(err, l.own, l.shown)
}

// Read implements device.GPIO. Who reads the same lines again has them found: the
// board's name of one that is open stays.
func (g *gpio) Read(asked []string, levels []device.Level) error {
	var n names
	// Whoever comes while another call is using the scratch has his own.
	if g.scratch.TryLock() {
		n = g.last
		defer func() { g.last = n; g.scratch.Unlock() }()
	}
	if !slices.Equal(n.asked, asked) {
		n.asked, n.own = n.asked[:0], n.own[:0]
		for _, name := range asked {
			l, err := g.find(name)
			if err != nil {
				return err
			}
			n.asked, n.own = append(n.asked, name), append(n.own, l.own)
		}
	}
	err := g.inner.Read(n.own, levels)
	if err != nil {
		return namedAmong(err, n.own, asked)
	}
	return nil
}

// writable gives the line called name where it may be changed.
func (g *gpio) writable(name string) (*line, error) {
	l, err := g.find(name)
	if err == nil && l.access != AccessWrite {
		at := 0
		if l.rule != nil {
			at = l.rule.At
		}
		return nil, g.rules.onlyRead(at, l.subject())
	}
	return l, err
}

// Write implements device.GPIO.
func (g *gpio) Write(name string, level device.Level) (device.State, error) {
	l, err := g.writable(name)
	if err != nil {
		return device.State{}, err
	}
	before, err := g.acts.write(l, level)
	return before, named(err, l.own, l.shown)
}

// Configure implements device.GPIO.
func (g *gpio) Configure(name string, change func(*device.Config) error) (before, after device.Config, err error) {
	l, err := g.writable(name)
	if err != nil {
		return before, after, err
	}
	before, after, err = g.acts.configure(l, change)
	return before, after, named(err, l.own, l.shown)
}

// Release implements device.GPIO. A line that may only be read is never held.
func (g *gpio) Release(name string) error {
	l, err := g.find(name)
	if err != nil || l.access != AccessWrite {
		return err
	}
	return named(g.acts.release(l), l.own, l.shown)
}

// Rest implements device.GPIO.
func (g *gpio) Rest(name string, c device.Config) error {
	l, err := g.writable(name)
	if err != nil {
		return err
	}
	return named(g.acts.rest(l, c), l.own, l.shown)
}

// Watch implements device.GPIO.
func (g *gpio) Watch(names []string, edges device.Edges) (device.Watcher, error) {
	own := slices.Clone(names)
	for i, name := range names {
		l, err := g.find(name)
		if err != nil {
			return nil, err
		}
		own[i] = l.own
	}
	w, err := g.inner.Watch(own, edges)
	return w, namedAmong(err, own, names)
}

// namedAmong is named for the first of several that the error is about.
func namedAmong(err error, own, shown []string) error {
	for i := range own {
		if n := named(err, own[i], shown[i]); n != err {
			return n
		}
	}
	return err
}

// directly acts on the lines of the board.
type directly struct{ gpio device.GPIO }

func (d directly) write(l *line, level device.Level) (device.State, error) {
	return d.gpio.Write(l.own, level)
}

func (d directly) configure(l *line, change func(*device.Config) error) (before, after device.Config, err error) {
	return d.gpio.Configure(l.own, change)
}

func (d directly) release(l *line) error { return d.gpio.Release(l.own) }

func (d directly) rest(l *line, c device.Config) error { return d.gpio.Rest(l.own, c) }
