package tools

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// Guard writes lines and ends pulses: when a pulse's time has passed, it puts
// the line back to how it stood before the pulse began. Its timers are its own,
// so they run while the dispatcher is busy and a bus hangs. It is safe for use
// by several goroutines at once.
//
// A pulse on a line that is in a pulse extends it. A plain write ends a pulse
// and stays.
type Guard struct {
	gpio   device.GPIO // nil where the board has no lines
	report func(error)
	active atomic.Int32
	closed atomic.Bool

	mu      sync.Mutex
	outputs map[string]*output // as many as the board has lines, at most
}

// output is what the guard knows of one line that was written.
type output struct {
	guard *Guard
	line  knownLine

	mu sync.Mutex // held while the line is acted on, which can take long where it is behind a bus
	// rest is how the line stands between pulses: held says that a plain write has
	// made it an output at level. It is not what the pin shows, which others may pull.
	held  bool
	level device.Level

	pulsing bool
	until   time.Time
	timer   *time.Timer
	tries   int // to put the line back, which failed
}

// A line that cannot be put back at the end of its pulse is tried again, for
// that acts no more than once: a bus behind which it lies may be jammed for a while.
const (
	retryEvery = 100 * time.Millisecond
	maxTries   = 100
)

func newGuard(gpio device.GPIO, report func(error)) *Guard {
	if report == nil {
		report = func(error) {}
	}
	return &Guard{gpio: gpio, report: report, outputs: make(map[string]*output)}
}

// Active is how many pulses are running: while there are any, a timer is set.
func (g *Guard) Active() int { return int(g.active.Load()) }

// Close ends all pulses at once and puts their lines back; no pulse begins any
// more. It never waits: a line behind a bus, and one that is being written this
// moment, is left to the board's own Close. It is safe to call twice.
func (g *Guard) Close() {
	g.closed.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, o := range g.outputs {
		if o.line.queue != "" || !o.mu.TryLock() {
			continue
		}
		if o.pulsing {
			o.stop()
			if err := o.back(); err != nil {
				g.report(err)
			}
		}
		o.mu.Unlock()
	}
}

// write sets a line's level: for good, or where pulse is not 0 for so long. It
// gives how the line stood just before. When it fails, nothing has changed: a
// pulse that was running goes on. It allocates nothing for a line that was
// written before.
func (g *Guard) write(line knownLine, level device.Level, pulse time.Duration) (device.State, error) {
	o := g.output(line)
	o.mu.Lock()
	defer o.mu.Unlock()
	if g.closed.Load() {
		return device.State{}, &device.Error{Subject: fmt.Sprintf("line %q", line.name), Kind: device.ErrUnplugged,
			Reason: "not written, as the server is ending"}
	}
	before, err := g.gpio.Write(line.name, level)
	if err != nil {
		return before, err
	}
	if pulse == 0 {
		o.stop()
		o.held, o.level = true, level
		return before, nil
	}
	if !o.pulsing {
		o.pulsing = true
		g.active.Add(1)
	}
	o.until = time.Now().Add(pulse)
	if o.timer == nil {
		o.timer = time.AfterFunc(pulse, o.expire)
	} else {
		o.timer.Reset(pulse)
	}
	return before, nil
}

func (g *Guard) output(line knownLine) *output {
	g.mu.Lock()
	defer g.mu.Unlock()
	o := g.outputs[line.name]
	if o == nil {
		o = &output{guard: g, line: line}
		g.outputs[line.name] = o
	}
	return o
}

// expire runs when the timer fires. It may have fired for a pulse that was
// stopped or extended before the lock was free: then it is not time yet.
func (o *output) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.pulsing || time.Now().Before(o.until) || o.guard.closed.Load() {
		return
	}
	err := o.back()
	if err != nil && o.tries < maxTries && !errors.Is(err, device.ErrUnplugged) {
		if o.tries == 0 {
			o.guard.report(err)
		}
		o.tries++
		o.until = time.Now().Add(retryEvery)
		o.timer.Reset(retryEvery)
		return
	}
	o.stop()
	if err != nil {
		o.guard.report(err)
	}
}

// The caller of each of these has the output's lock.

// stop ends a pulse and leaves the line as it is.
func (o *output) stop() {
	if o.pulsing {
		o.pulsing, o.tries = false, 0
		o.timer.Stop()
		o.guard.active.Add(-1)
	}
}

// back puts the line back to how it stood before its pulse.
func (o *output) back() error {
	var err error
	if o.held {
		_, err = o.guard.gpio.Write(o.line.name, o.level)
	} else {
		err = o.guard.gpio.Release(o.line.name)
	}
	if err != nil {
		return fmt.Errorf("line %q may still have the level of its pulse, which has ended: %w", o.line.name, err)
	}
	return nil
}
