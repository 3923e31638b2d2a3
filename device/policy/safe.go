package policy

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// AtRest is how one output of a board stands where nobody holds it, in words that
// outlive the board file: a process that has not the file can bring it there.
type AtRest struct {
	Family string // "line", "pwm" or "led"
	Name   string // the board's own
	State  string // of a line a Level, of PWM "off" or a share of its period as "7.5%", of an LED its brightness
}

// String is the output as ParseAtRest takes it: `line "GPIO17" low`.
func (a AtRest) String() string { return a.Family + " " + strconv.Quote(a.Name) + " " + a.State }

// Describe is the output for a person, under the user's name: `line "pump" (GPIO17) low`.
func (r *Rules) Describe(a AtRest) string {
	shown := ""
	switch a.Family {
	case "line":
		shown = shownAs(r.Lines, func(l Line) bool { return l.Line == a.Name }, func(l Line) string { return l.Name })
	case "pwm":
		shown = shownAs(r.PWM, func(p PWM) bool { return p.Channel == a.Name }, func(p PWM) string { return p.Name })
	case "led":
		shown = shownAs(r.LEDs, func(l LED) bool { return l.LED == a.Name }, func(l LED) string { return l.Name })
	}
	if shown == "" || shown == a.Name {
		return a.String()
	}
	return a.Family + " " + strconv.Quote(shown) + " (" + a.Name + ") " + a.State
}

func shownAs[T any](all []T, is func(T) bool, name func(T) string) string {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return name(all[i])
	}
	return ""
}

// ParseAtRest reads what String gives.
func ParseAtRest(text string) (AtRest, error) {
	family, rest, _ := strings.Cut(text, " ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return AtRest{}, fmt.Errorf(`%.64q is no output at rest, such as line "GPIO17" low`, text)
	}
	name, _ := strconv.Unquote(quoted)
	a := AtRest{Family: family, Name: name, State: strings.TrimPrefix(rest[len(quoted):], " ")}
	if a.String() != text || a.check() != nil {
		return AtRest{}, fmt.Errorf(`%.64q is no output at rest, such as line "GPIO17" low`, text)
	}
	return a, nil
}

// check says whether the state is one of the family.
func (a AtRest) check() error {
	ok := false
	switch a.Family {
	case "line":
		ok = a.State == "low" || a.State == "high" || a.State == "input"
	case "pwm":
		_, err := a.share()
		ok = err == nil
	case "led":
		n, err := strconv.Atoi(a.State)
		ok = err == nil && n >= 0
	}
	if !ok {
		return fmt.Errorf("%s has no state %.64q", a.Family, a.State)
	}
	return nil
}

// share is the duty in percent; -1: off.
func (a AtRest) share() (float64, error) {
	if a.State == "off" {
		return -1, nil
	}
	text, ok := strings.CutSuffix(a.State, "%")
	share, err := strconv.ParseFloat(text, 64)
	if !ok || err != nil || !(share >= 0 && share <= 100) {
		return 0, fmt.Errorf("%.64q is no duty", a.State)
	}
	return share, nil
}

// Apply brings the output to rest on board b, which is not wrapped, and leaves it
// there. Where another process holds it, it is device.ErrBusy, and stays.
func (a AtRest) Apply(b device.Board) error {
	absent := &device.Error{Subject: fmt.Sprintf("%s %.64q", a.Family, a.Name), Kind: device.ErrNotFound, Hint: "board_info shows what there is"}
	if err := a.check(); err != nil {
		return err
	}
	switch a.Family {
	case "line":
		if g := b.GPIO(); g != nil {
			return a.applyLine(g)
		}
	case "pwm":
		if p := b.PWM(); p != nil {
			return a.applyPWM(p)
		}
	default:
		if l := b.LEDs(); l != nil {
			return a.applyLED(l)
		}
	}
	return absent
}

func (a AtRest) applyLine(g device.GPIO) error {
	found, err := g.Find(a.Name)
	if err != nil {
		return err
	}
	rest := restAt(found, map[string]Level{"low": LevelLow, "high": LevelHigh, "input": LevelInput}[a.State])
	if err := g.Rest(a.Name, rest); err != nil {
		return err
	}
	if _, _, err := g.Configure(a.Name, func(c *device.Config) error { *c = rest; return nil }); err != nil {
		return err
	}
	return g.Release(a.Name)
}

func (a AtRest) applyPWM(p device.PWM) error {
	found, err := p.Find(a.Name)
	if err != nil {
		return err
	}
	rest := a.pwm(found.PWMState)
	if err := p.Rest(a.Name, rest); err != nil {
		return err
	}
	if !found.Known || found.Period == 0 || found.PWMState == rest || !found.Enabled && !rest.Enabled {
		return p.Release(a.Name)
	}
	if rest.Period == 0 {
		rest = device.PWMState{Period: found.Period, Inverted: found.Inverted}
	}
	if _, _, err := p.Set(a.Name, func(device.PWMState) (device.PWMState, error) { return rest, nil }); err != nil {
		return err
	}
	return p.Release(a.Name)
}

// pwm is the rest of a channel that stands as now.
func (a AtRest) pwm(now device.PWMState) device.PWMState {
	share, err := a.share()
	if err != nil || share < 0 || now.Period == 0 {
		return device.PWMState{}
	}
	return device.PWMState{Period: now.Period, Duty: time.Duration(math.Round(share / 100 * float64(now.Period))), Enabled: true, Inverted: now.Inverted}
}

func (a AtRest) applyLED(l device.LEDs) error {
	brightness, _ := strconv.Atoi(a.State)
	s := device.LEDSetting{Brightness: brightness}
	if err := l.Rest(a.Name, s); err != nil {
		return err
	}
	if _, _, err := l.Set(a.Name, s); err != nil {
		return err
	}
	return l.Release(a.Name)
}

// atRest is how the rule says that a channel is left; without a safe duty ok is false.
func (r *PWM) atRest() (a AtRest, ok bool) {
	if r.Safe == nil {
		return a, false
	}
	a = AtRest{Family: "pwm", Name: r.Channel, State: "off"}
	if !r.Safe.Off {
		a.State = strconv.FormatFloat(r.Safe.Duty, 'f', -1, 64) + "%"
	}
	return a, true
}

// AtRest is how the rules say that outputs are left: of every line, PWM channel and
// LED that they give a safe state and let be written. In this order none is on without
// what it needs.
func (b *Board) AtRest() []AtRest {
	var all []AtRest
	if b.outputs != nil {
		done := make(map[*output]bool)
		for i := range b.rules.Lines {
			if o := b.outputs.byRule[&b.rules.Lines[i]]; o != nil {
				all = o.appendAtRest(all, done)
			}
		}
	}
	return append(all, b.others()...)
}

// appendAtRest appends the output, after those that need it.
func (o *output) appendAtRest(all []AtRest, done map[*output]bool) []AtRest {
	if done[o] {
		return all
	}
	done[o] = true
	for _, other := range o.neededBy {
		all = other.appendAtRest(all, done)
	}
	if rest := o.rule.rest(); rest != LevelUnset {
		all = append(all, AtRest{"line", o.rule.Line, rest.String()})
	}
	return all
}

// others are those that are no lines.
func (b *Board) others() []AtRest {
	var all []AtRest
	for i := range b.rules.PWM {
		p := &b.rules.PWM[i]
		if a, ok := p.atRest(); ok && b.rules.access(p.Access, AccessRead) == AccessWrite {
			all = append(all, a)
		}
	}
	for i := range b.rules.LEDs {
		if l := &b.rules.LEDs[i]; l.Safe != nil && b.rules.access(l.Access, AccessRead) == AccessWrite {
			all = append(all, AtRest{"led", l.LED, strconv.Itoa(*l.Safe)})
		}
	}
	return all
}

func (b *Board) addOutputs(g device.GPIO, report func(error)) {
	if report == nil {
		report = func(error) {}
	}
	if b.outputs = newOutputs(g, b.rules, &b.halted, report); b.outputs != nil {
		b.gpio.acts = b.outputs
	}
}

// Begin brings the outputs to their initial levels and holds them from now on, until
// Close. What cannot be is its error, and the rest is done: a line that another
// process holds stays with it.
func (b *Board) Begin() error {
	var errs []error
	if b.outputs != nil {
		errs = append(errs, b.outputs.begin())
	}
	for _, a := range b.others() {
		errs = append(errs, a.Apply(b.inner))
	}
	return errors.Join(errs...)
}

// IsSafe says whether a line, by the user's name, is an output at its safe level.
func (b *Board) IsSafe(name string) bool {
	if b.outputs == nil {
		return false
	}
	o := b.outputs.byRule[b.rules.Line(name)]
	if o == nil {
		return false
	}
	o.group.mu.Lock()
	defer o.group.mu.Unlock()
	return !o.held || o.isSafe(o.level)
}

// Active is how many outputs have a timer set, as those that are on and have max_on.
func (b *Board) Active() int {
	if b.outputs == nil {
		return 0
	}
	return int(b.outputs.active.Load())
}

// Safe brings every output to its safe level, in less than a tenth of a second but
// for what is behind a bus that hangs, and goes on. It may be called from any
// goroutine.
func (b *Board) Safe() error {
	ended := make(chan error, 1)
	others := b.others()
	go func() {
		var errs []error
		for _, a := range others {
			errs = append(errs, a.Apply(b.inner))
		}
		ended <- errors.Join(errs...)
	}()
	var errs []error
	if b.outputs != nil {
		errs = append(errs, b.outputs.safe())
	}
	select {
	case err := <-ended:
		errs = append(errs, err)
	case <-time.After(safeWithin):
		errs = append(errs, &device.Error{Subject: "outputs", Kind: device.ErrTimeout, Reason: fmt.Sprintf("a PWM channel or LED gave no answer within %v", safeWithin),
			Hint: "turn off by hand what it drives"})
	}
	return errors.Join(errs...)
}

// Halt is Safe for good: from now on no output leaves its safe level any more, and
// whoever tries is told why, as the first to halt them said it.
func (b *Board) Halt(why string) error {
	b.stop(why, false)
	return b.Safe()
}

// Pause is Halt until Resume. Of a board that is halted it changes nothing.
func (b *Board) Pause(why string) error {
	b.stop(why, true)
	return b.Safe()
}

// Resume lets outputs leave their safe levels again. It turns none on.
func (b *Board) Resume() {
	b.halting.Lock()
	defer b.halting.Unlock()
	if b.paused {
		b.paused = false
		b.halted.Store(nil)
	}
}

func (b *Board) stop(why string, pause bool) {
	b.halting.Lock()
	defer b.halting.Unlock()
	if b.halted.Load() == nil || b.paused && !pause {
		b.halted.Store(&why)
		b.paused = pause
	}
}

// mayLeaveRest is the refusal of all outputs while they are halted.
func (r *Rules) mayLeaveRest(halted *atomic.Pointer[string], at int, subject string) error {
	if why := halted.Load(); why != nil {
		return r.refusal(at, subject, *why, "it stays as it is")
	}
	return nil
}
