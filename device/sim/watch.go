package sim

import (
	"fmt"
	"slices"
	"time"

	"boardhand/device"
)

// watch records the edges of some lines, as the kernel does: a bounded queue of
// which the oldest go, and a number for each event of a line.
type watch struct {
	gpio  *gpio
	edges device.Edges
	lines []watchedLine
	began time.Time
	queue []device.Event
	ready chan struct{} // has one when there may be something to look at
	over  bool
}

// watchedLine is one line of a watch. Its raw level counts once it has stood still
// for the line's debounce.
type watchedLine struct {
	offset int
	level  device.Level // logical, as it counts
	raw    device.Level
	moved  time.Time // when raw changed
	seq    uint32
}

// queued is how many events a watch keeps, as the kernel does at most.
const queued = 1024

// Watch begins to record edges.
func (g *gpio) Watch(names []string, edges device.Edges) (device.Watcher, error) {
	g.pins.mu.Lock()
	defer g.pins.mu.Unlock()
	if len(names) == 0 || len(names) > device.MaxWatched || edges == 0 || edges&^device.BothEdges != 0 {
		return nil, &device.Error{Subject: "gpio", Kind: device.ErrNotSupport, Reason: fmt.Sprintf("watch of %d lines for edges %d not supported", len(names), edges),
			Hint: fmt.Sprintf("1 to %d lines are allowed", device.MaxWatched)}
	}
	g.pins.advance()
	w := &watch{gpio: g, edges: edges, began: g.pins.now(), ready: make(chan struct{}, 1)}
	for _, name := range names {
		i, err := g.usable(name)
		if err != nil {
			return nil, err
		}
		l := &g.pins.lines[i]
		if l.Direction == device.Out {
			return nil, &device.Error{Subject: lineSubject(name), Kind: device.ErrNotSupport, Reason: "an output has no events",
				Hint: "make it an input with gpio_configure"}
		}
		if l.watch != nil || slices.ContainsFunc(w.lines, func(other watchedLine) bool { return other.offset == i }) {
			return nil, watched(name)
		}
		level := g.pins.seen(i)
		w.lines = append(w.lines, watchedLine{offset: i, level: level, raw: level})
	}
	for _, l := range w.lines {
		g.pins.lines[l.offset].watch = w
	}
	g.pins.watches = append(g.pins.watches, w)
	return w, nil
}

func watched(name string) error {
	return &device.Error{Subject: lineSubject(name), Kind: device.ErrBusy, Reason: "watched by a gpio_wait", Hint: "wait for its end, or cancel it"}
}

// Next gives what has come in.
func (w *watch) Next(dst []device.Event, wait time.Duration) ([]device.Event, error) {
	var late *time.Timer
	for expired := wait <= 0; ; {
		n, next, err := w.take(&dst)
		if n > 0 || err != nil || expired {
			return dst, err
		}
		if late == nil {
			late = time.NewTimer(wait)
			defer late.Stop()
		}
		var move <-chan time.Time // of what moves by itself
		if !next.IsZero() {
			move = time.After(max(next.Sub(w.gpio.pins.now()), 0))
		}
		select {
		case <-w.ready:
		case <-move:
		case <-late.C:
			expired = true
		}
	}
}

// take moves up to 64 events to dst, and says when the next may come by itself.
func (w *watch) take(dst *[]device.Event) (n int, next time.Time, err error) {
	p := w.gpio.pins
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.over {
		return 0, next, errClosed()
	}
	p.advance()
	n = min(len(w.queue), 64)
	*dst = append(*dst, w.queue[:n]...)
	w.queue = w.queue[:copy(w.queue, w.queue[n:])]
	return n, p.next(w), nil
}

// Close ends the watch.
func (w *watch) Close() error {
	w.gpio.pins.mu.Lock()
	defer w.gpio.pins.mu.Unlock()
	w.end()
	return nil
}

// The caller of each of these has the pins' lock.

func (w *watch) end() {
	p := w.gpio.pins
	w.over = true
	for _, l := range w.lines {
		if p.lines[l.offset].watch == w {
			p.lines[l.offset].watch = nil
		}
	}
	p.watches = slices.DeleteFunc(p.watches, func(other *watch) bool { return other == w })
	w.wake()
}

func (w *watch) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// look takes note of the levels at a time.
func (w *watch) look(now time.Time) {
	p := w.gpio.pins
	for k := range w.lines {
		l := &w.lines[k]
		debounce := p.lines[l.offset].Debounce
		if l.raw != l.level && now.Sub(l.moved) >= debounce {
			w.event(k, l.moved.Add(debounce))
		}
		if raw := p.seen(l.offset); raw != l.raw {
			l.raw, l.moved = raw, now
			if raw != l.level && debounce == 0 {
				w.event(k, now)
			}
			w.wake()
		}
	}
}

// event records that line k has its raw level.
func (w *watch) event(k int, at time.Time) {
	l := &w.lines[k]
	l.level = l.raw
	edge := device.Rising
	if l.level == device.Low {
		edge = device.Falling
	}
	if w.edges&edge == 0 {
		return
	}
	l.seq++
	if len(w.queue) == queued {
		w.queue = w.queue[:copy(w.queue, w.queue[1:])]
	}
	w.queue = append(w.queue, device.Event{Line: k, Level: l.level, Since: at.Sub(w.began), Seq: l.seq})
	w.wake()
}

// settle shows what has changed to all who watch, and to the trace.
func (p *pins) settle() {
	if p.trace != nil {
		p.trace.look(p)
	}
	if len(p.watches) == 0 {
		return
	}
	now := p.now()
	for _, w := range p.watches {
		w.look(now)
	}
}

// clock is what drives a line from outside.
type clock struct {
	half   time.Duration // between two edges
	first  time.Time     // edge
	edges  int64         // in all; 0: for ever
	passed int64
	level  device.Level
}

// drive connects a clock to its line.
func (p *pins) drive(c Clock, now time.Time) {
	first := now.Add(time.Duration(c.AfterMs * float64(time.Millisecond)))
	k := &clock{half: time.Duration(float64(time.Second) / c.Hz / 2), first: first, edges: c.Edges}
	p.clocks = append(p.clocks, k)
	p.lines[offsets[c.Line]].clocked = k
}

// due is how many edges a clock has had until now.
func (c *clock) due(now time.Time) int64 {
	if now.Before(c.first) {
		return 0
	}
	n := int64(now.Sub(c.first)/c.half) + 1
	if c.edges > 0 {
		n = min(n, c.edges)
	}
	return n
}

// at is when edge n comes, counted from 0.
func (c *clock) at(n int64) time.Time { return c.first.Add(time.Duration(n) * c.half) }

// advance brings what moves by itself up to now. While nobody watches, only the
// end counts.
func (p *pins) advance() {
	if len(p.clocks) == 0 {
		p.settle()
		return
	}
	now := p.now()
	for len(p.watches) > 0 {
		var next *clock
		for _, c := range p.clocks {
			if c.passed < c.due(now) && (next == nil || c.at(c.passed).Before(next.at(next.passed))) {
				next = c
			}
		}
		if next == nil {
			break
		}
		at := next.at(next.passed)
		next.passed++
		next.level ^= 1
		for _, w := range p.watches {
			w.look(at)
		}
	}
	for _, c := range p.clocks {
		c.passed = c.due(now)
		c.level = device.Level(c.passed & 1)
	}
	p.settle()
}

// next is when something that w watches may change by itself; zero: never.
func (p *pins) next(w *watch) (next time.Time) {
	earlier := func(at time.Time) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	for k := range w.lines {
		l := &w.lines[k]
		if l.raw != l.level {
			earlier(l.moved.Add(p.lines[l.offset].Debounce))
		}
		for _, o := range p.lines[l.offset].net {
			if c := p.lines[o].clocked; c != nil && (c.edges == 0 || c.passed < c.edges) {
				earlier(c.at(c.passed))
			}
		}
	}
	return next
}
