package tools

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// Guard writes and configures lines and ends pulses: when a pulse's time has
// passed, it puts the line back to how it stood before the pulse began. Its
// timers are its own, so they run while the dispatcher is busy and a bus hangs.
// It is safe for use by several goroutines at once. What a line's rules make of it
// (package policy) and the end of the server are the board's, not the guard's.
//
// A pulse on a line that is in a pulse extends it. A plain write and a
// configuration end a pulse and stay. A train of pulses ends at the next of any
// of them.
type Guard struct {
	gpio   device.GPIO // nil where the board has no lines
	report func(error)
	sleep  func(time.Duration) // of a train
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
	// How the line stands between pulses: held says that a plain write or a
	// configuration has made it so.
	held bool
	rest device.Config

	pulsing bool
	trains  int // counts up with each edge of a train and with all else that is done
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
	return &Guard{gpio: gpio, report: report, sleep: sleepExactly, outputs: make(map[string]*output)}
}

// Active is how many pulses are running: while there are any, a timer is set.
func (g *Guard) Active() int { return int(g.active.Load()) }

// Close ends all pulses: no edge and no return comes any more, and no pulse begins.
// The lines are put back by the board's own Close. It is safe to call twice.
func (g *Guard) Close() { g.closed.Store(true) }

// write sets a line's level: for good, or where pulse is not 0 for so long. It
// gives how the line stood just before. When it fails, nothing has changed: a
// pulse that was running goes on. It allocates nothing for a line that was
// written before.
func (g *Guard) write(line knownLine, level device.Level, pulse time.Duration) (device.State, error) {
	o := g.output(line)
	o.mu.Lock()
	defer o.mu.Unlock()
	if g.closed.Load() {
		return device.State{}, errEnding(line.name, "not written")
	}
	before, err := g.gpio.Write(line.name, level)
	if err != nil {
		return before, err
	}
	if pulse == 0 {
		o.stop()
		o.held = true
		o.rest.Direction, o.rest.Level = device.Out, level
		return before, nil
	}
	o.stoodAs(before)
	o.pulse(pulse)
	return before, nil
}

func errEnding(line, what string) error {
	return &device.Error{Subject: fmt.Sprintf("line %q", line), Kind: device.ErrUnplugged, Reason: what + ", as the server is ending"}
}

// configure sets a line up for good. When it fails, nothing has changed: a pulse
// that was running goes on.
func (g *Guard) configure(line knownLine, change func(*device.Config) error) (before, after device.Config, err error) {
	o := g.output(line)
	o.mu.Lock()
	defer o.mu.Unlock()
	if g.closed.Load() {
		return before, after, errEnding(line.name, "not changed")
	}
	before, after, err = g.gpio.Configure(line.name, change)
	if err != nil {
		return before, after, err
	}
	o.stop()
	o.held, o.rest = true, after
	return before, after, nil
}

// release ends what was written and configured: the line is as it was before the
// first of it.
func (g *Guard) release(line knownLine) error {
	o := g.output(line)
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := g.gpio.Release(line.name); err != nil {
		return err
	}
	o.stop()
	o.held, o.rest = false, device.Config{}
	return nil
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
	if passing(err) && o.tries < maxTries {
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

// stoodAs takes note of how the line stood before a pulse: its rules may have brought
// it elsewhere since it was written.
func (o *output) stoodAs(before device.State) {
	switch {
	case o.pulsing || !o.held:
	case before.Direction == device.Out:
		o.rest.Direction, o.rest.Level = device.Out, before.Level
	case o.rest.Direction == device.Out:
		o.held = false // it was given back
	}
}

// pulse begins a pulse, or extends it, to end in so long.
func (o *output) pulse(d time.Duration) {
	o.trains++
	if !o.pulsing {
		o.pulsing = true
		o.guard.active.Add(1)
	}
	o.until = time.Now().Add(d)
	if o.timer == nil {
		o.timer = time.AfterFunc(d, o.expire)
	} else {
		o.timer.Reset(d)
	}
}

// stop ends a pulse and leaves the line as it is.
func (o *output) stop() {
	o.trains++
	if o.pulsing {
		o.pulsing, o.tries = false, 0
		o.timer.Stop()
		o.guard.active.Add(-1)
	}
}

// back puts the line back to how it stood before its pulse.
func (o *output) back() error {
	var err error
	switch {
	case !o.held:
		err = o.guard.gpio.Release(o.line.name)
	case o.rest.Direction == device.Out:
		_, err = o.guard.gpio.Write(o.line.name, o.rest.Level)
	default:
		_, _, err = o.guard.gpio.Configure(o.line.name, func(c *device.Config) error { *c = o.rest; return nil })
	}
	switch {
	case errors.Is(err, device.ErrPermission):
		return fmt.Errorf("line %q does not go back to how it stood before its pulse: %w", o.line.name, err)
	case err != nil:
		return fmt.Errorf("line %q may still have the level of its pulse, which has ended: %w", o.line.name, err)
	}
	return nil
}

// passing says whether what went wrong may go right a little later: a line that is gone
// and a rule that forbids it stay so.
func passing(err error) bool {
	return err != nil && !errors.Is(err, device.ErrUnplugged) && !errors.Is(err, device.ErrPermission)
}

// backSoon ends the pulse that runs and puts the line back, at once or, where that
// fails, as soon as the timer's tries succeed.
func (o *output) backSoon() error {
	err := o.back()
	if passing(err) {
		o.until = time.Now().Add(retryEvery)
		o.timer.Reset(retryEvery)
		o.trains++
		return err
	}
	o.stop()
	return err
}
