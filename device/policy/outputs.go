package policy

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// outputs works the lines that the rules call outputs. It knows of each whether it
// is on, lets it be turned on only as its rule says, and brings it to its safe level
// by timers of its own, which run while the dispatcher is busy or a bus hangs. To
// turn one off is never refused: what needs it goes to its own safe level first.
type outputs struct {
	gpio   device.GPIO // the board's own
	rules  *Rules
	report func(error) // is told what happened without being asked for; any goroutine

	active atomic.Int32 // timers that are set
	byRule map[*Line]*output
	groups []*group
	halted *atomic.Pointer[string] // why nothing leaves its safe level any more
}

// group is the outputs that need or exclude each other, whose turn is one. Others do
// not wait for it, as its lines may be behind a bus that hangs.
type group struct {
	mu      sync.Mutex
	outputs []*output
}

// output is one line with a rule of outputs.
type output struct {
	*outputs
	rule *Line
	own  string // the board's name of it, once it was found

	on       device.Level // the level at which it is "on"
	needs    []*output    // are on while it is
	neededBy []*output
	excludes []*output // are off while it is, and the other way round

	// Under the group's mu:
	group   *group
	rested  bool         // the board knows how to leave it
	held    bool         // it was written, and has level since
	level   device.Level // where it is held
	leaving bool         // it goes to its safe level right now
	stuck   bool         // it could not go there, and is tried again
	told    bool         // and that was reported
	off     time.Time    // when it was turned off; zero: it was not
	until   time.Time    // when max_on has passed, while it is on
	timer   *time.Timer
	armed   bool // it is set
}

const (
	// retrySafe is how soon a line is tried again that could not go to its safe level.
	retrySafe = 100 * time.Millisecond
	// lookNeeds is how often a line is read that an output needs and that is none itself.
	lookNeeds = 25 * time.Millisecond
	// safeWithin bounds how long all outputs together are waited for.
	safeWithin = 80 * time.Millisecond
)

// isOutput says whether a rule has anything that makes its line an output.
func (l *Line) isOutput() bool {
	return l.Safe != LevelUnset || l.Initial != LevelUnset || l.On != LevelUnset || l.MaxOn > 0 || l.MinOff > 0 ||
		len(l.Needs) > 0 || len(l.Excludes) > 0
}

// rest is where the line goes when nobody holds it. One that somebody must watch over
// while it is on goes off where its rule does not say; of others LevelUnset says that
// they go back to how they were.
func (l *Line) rest() Level {
	switch {
	case l.Safe != LevelUnset || l.MaxOn == 0 && len(l.Needs) == 0:
		return l.Safe
	case l.on() == LevelLow:
		return LevelHigh
	}
	return LevelLow
}

// newOutputs makes the outputs of rules that have passed Check, or nil where there
// are none that may be written.
func newOutputs(g device.GPIO, r *Rules, halted *atomic.Pointer[string], report func(error)) *outputs {
	s := &outputs{gpio: g, rules: r, report: report, halted: halted, byRule: make(map[*Line]*output)}
	byName := make(map[string]*Line, len(r.Lines))
	for i := range r.Lines {
		byName[r.Lines[i].shown()] = &r.Lines[i]
	}
	for i := range r.Lines {
		if l := &r.Lines[i]; l.isOutput() && r.access(l.Access, AccessRead) == AccessWrite {
			s.add(l)
		}
	}
	if len(s.byRule) == 0 {
		return nil
	}
	for i := range r.Lines {
		o := s.byRule[&r.Lines[i]]
		if o == nil {
			continue
		}
		for _, name := range o.rule.Needs {
			if rule := byName[name]; rule != nil {
				other := s.add(rule)
				o.needs, other.neededBy = append(o.needs, other), append(other.neededBy, o)
			}
		}
		for _, name := range o.rule.Excludes {
			if rule := byName[name]; rule != nil {
				other := s.add(rule)
				o.excludes, other.excludes = append(o.excludes, other), append(other.excludes, o)
			}
		}
	}
	for i := range r.Lines {
		if o := s.byRule[&r.Lines[i]]; o != nil && o.group == nil {
			g := &group{}
			s.groups = append(s.groups, g)
			o.join(g)
		}
	}
	return s
}

// add makes the output of a rule, once.
func (s *outputs) add(rule *Line) *output {
	o := s.byRule[rule]
	if o == nil {
		o = &output{outputs: s, rule: rule, own: rule.Line, on: device.High}
		if rule.on() == LevelLow {
			o.on = device.Low
		}
		s.byRule[rule] = o
	}
	return o
}

// join puts an output and all that it has to do with in a group.
func (o *output) join(g *group) {
	if o.group != nil {
		return
	}
	o.group = g
	g.outputs = append(g.outputs, o)
	for _, others := range [...][]*output{o.needs, o.neededBy, o.excludes} {
		for _, other := range others {
			other.join(g)
		}
	}
}

// write implements lineActs.
func (s *outputs) write(l *line, level device.Level) (device.State, error) {
	o := s.byRule[l.rule]
	if o == nil {
		return s.gpio.Write(l.own, level)
	}
	o.group.mu.Lock()
	defer o.group.mu.Unlock()
	o.own = l.own
	return o.write(level & 1)
}

// configure implements lineActs. Of an output only the level changes: one that
// drives nothing, or only one way, has no safe level.
func (s *outputs) configure(l *line, change func(*device.Config) error) (before, after device.Config, err error) {
	o := s.byRule[l.rule]
	if o == nil {
		return s.gpio.Configure(l.own, change)
	}
	o.group.mu.Lock()
	defer o.group.mu.Unlock()
	o.own = l.own
	found, err := s.gpio.Find(o.own)
	if err != nil {
		return before, after, err
	}
	before = device.Config{Direction: found.Direction, Level: o.level, ActiveLow: found.ActiveLow, Bias: found.Bias, Drive: found.Drive, Debounce: found.Debounce}
	if !o.held {
		level := make([]device.Level, 1)
		if err := s.gpio.Read([]string{o.own}, level); err != nil {
			return before, after, err
		}
		before.Level = level[0]
	}
	after = before
	if err := change(&after); err != nil {
		return before, before, err
	}
	want := before
	want.Direction, want.Level = device.Out, after.Level
	if after != want {
		return before, before, o.refuse("it is an output with rules, so only its level may be changed", "set low or high")
	}
	_, err = o.write(after.Level)
	return before, after, err
}

// release implements lineActs: an output goes to its safe level.
func (s *outputs) release(l *line) error {
	o := s.byRule[l.rule]
	if o == nil {
		return s.gpio.Release(l.own)
	}
	o.group.mu.Lock()
	defer o.group.mu.Unlock()
	o.own = l.own
	if !o.held {
		return nil
	}
	return o.makeSafe()
}

// rest implements lineActs: how an output is left is for its rule to say.
func (s *outputs) rest(l *line, c device.Config) error {
	if o := s.byRule[l.rule]; o != nil {
		return o.refuse("its rule says how it is left", "change safe in the file")
	}
	return s.gpio.Rest(l.own, c)
}

// The caller of each of these has the group's mu.

func (o *output) subject() string { return fmt.Sprintf("line %q", o.rule.shown()) }

func (o *output) refuse(reason, hint string) error {
	return o.rules.refusal(o.rule.At, o.subject(), reason, hint)
}

// named is an error of the board under the user's name. The rule may call the line by
// another name than the board does.
func (o *output) named(err error) error {
	if err == nil {
		return nil
	}
	if found, missing := o.gpio.Find(o.own); missing == nil {
		o.own = found.Name
	}
	return named(err, o.own, o.rule.shown())
}

// isOn says whether the output is on, as far as this process drives it.
func (o *output) isOn() bool { return o.held && o.level == o.on }

// isSafe says whether at a level the output is where it goes in the end.
func (o *output) isSafe(level device.Level) bool {
	rest := o.rule.rest()
	return rest == LevelLow && level == device.Low || rest == LevelHigh && level == device.High
}

// stands says whether the line is on, whoever drives it.
func (o *output) stands() (on bool, err error) {
	if o.held {
		return o.level == o.on, nil
	}
	var level [1]device.Level
	if err := o.gpio.Read([]string{o.own}, level[:]); err != nil {
		return false, err
	}
	return level[0] == o.on, nil
}

// write sets the level, as far as the rules allow it.
func (o *output) write(level device.Level) (device.State, error) {
	was, on := o.isOn(), level == o.on
	if o.halted.Load() != nil && !o.isSafe(level) {
		if err := o.rules.mayLeaveRest(o.halted, o.rule.At, o.subject()); err != nil {
			return device.State{}, err
		}
	}
	if on && !was {
		if err := o.mayTurnOn(); err != nil {
			return device.State{}, err
		}
	}
	if !on && was {
		if err := o.freeOthers(); err != nil {
			return device.State{}, err
		}
	}
	if err := o.ready(); err != nil {
		return device.State{}, err
	}
	before, err := o.gpio.Write(o.own, level)
	if err != nil {
		o.failed(err, !o.isSafe(level) && (!o.held || o.level != level))
		return before, err
	}
	o.stuck, o.told = false, false
	o.now(level)
	return before, nil
}

// ready tells the board, once, how to leave the line.
func (o *output) ready() error {
	if o.rested {
		return nil
	}
	if rest := o.rule.rest(); rest != LevelUnset {
		found, err := o.gpio.Find(o.own)
		if err != nil {
			return err
		}
		if err := o.gpio.Rest(o.own, restAt(found, rest)); err != nil {
			return err
		}
	}
	o.rested = true
	return nil
}

// restAt is how a line is set up at its safe level.
func restAt(found device.Line, safe Level) device.Config {
	c := device.Config{ActiveLow: found.ActiveLow, Bias: found.Bias}
	if safe != LevelInput {
		c.Direction, c.Drive = device.Out, found.Drive
	}
	if safe == LevelHigh {
		c.Level = device.High
	}
	return c
}

// now takes note of the level that was written.
func (o *output) now(level device.Level) {
	was := o.isOn()
	o.held, o.level = true, level
	o.turned(was)
}

// turned starts or stops the clocks where the output was turned on or off.
func (o *output) turned(was bool) {
	switch on := o.isOn(); {
	case on == was:
	case on:
		if o.rule.MaxOn > 0 {
			o.until = time.Now().Add(o.rule.MaxOn)
		}
		o.arm()
	default:
		o.off = time.Now()
		o.until = time.Time{}
		o.arm()
	}
}

// failed deals with a write that failed: one that may have brought the output from its
// safe level all the same is taken back.
func (o *output) failed(err error, leaves bool) {
	if errors.Is(err, device.ErrUnplugged) {
		o.held = false
		return
	}
	for _, sure := range [...]error{device.ErrBusy, device.ErrNotFound, device.ErrPermission, device.ErrNotSupport} {
		if errors.Is(err, sure) {
			return
		}
	}
	if leaves {
		_ = o.makeSafe() // where that fails it is tried again, and reported
	}
}

// mayTurnOn says why the output may not be turned on now.
func (o *output) mayTurnOn() error {
	if min := o.rule.MinOff; min > 0 && !o.off.IsZero() {
		if been := time.Since(o.off); been < min {
			return o.refuse(fmt.Sprintf("off for %v of at least %v", rounded(been), min), fmt.Sprintf("try again in %v", rounded(min-been)))
		}
	}
	for _, other := range o.needs {
		on, err := other.stands()
		switch {
		case err != nil:
			return fmt.Errorf("%w; %s needs it on", err, o.subject())
		case !on:
			return o.refuse(fmt.Sprintf("it needs %s, which is off", other.subject()), "turn that on first")
		}
	}
	for _, other := range o.excludes {
		on, err := other.stands()
		switch {
		case err != nil:
			return fmt.Errorf("%w; %s may be on only while it is off", err, o.subject())
		case on:
			return o.refuse(fmt.Sprintf("it excludes %s, which is on", other.subject()), "turn that off first")
		}
	}
	return nil
}

// rounded is a time for a person.
func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// freeOthers brings those that are on and need this output to their safe levels.
func (o *output) freeOthers() error {
	for _, other := range o.neededBy {
		if !other.isOn() {
			continue
		}
		if err := other.makeSafe(); err != nil {
			return fmt.Errorf("%s stays on, for %s needs it: %w", o.subject(), other.subject(), err)
		}
	}
	return nil
}

// freeExcluded brings those that are on, and may not be on with this output, to their
// safe levels.
func (o *output) freeExcluded() error {
	for _, other := range o.excludes {
		if !other.isOn() || other.isSafe(other.on) {
			continue
		}
		if err := other.makeSafe(); err != nil {
			return fmt.Errorf("%s stays off, for %s excludes it: %w", o.subject(), other.subject(), err)
		}
	}
	return nil
}

// makeSafe brings the output to its safe level. What needs it goes first. Where that
// fails, it is tried again until it succeeds.
func (o *output) makeSafe() error {
	if o.leaving {
		return nil // two that need each other
	}
	o.leaving = true
	defer func() { o.leaving = false }()
	was := o.isOn()
	err := error(nil)
	switch {
	case !o.isSafe(o.on):
		err = o.freeOthers()
	case !was:
		err = o.freeExcluded()
	}
	if err == nil {
		err = o.leave()
	}
	if o.stuck = err != nil && !errors.Is(err, device.ErrUnplugged); o.stuck {
		o.arm()
		return err
	}
	o.told = false
	if err != nil { // the line is gone
		o.held = false
	}
	o.turned(was)
	return err
}

// leave is the act itself.
func (o *output) leave() error {
	level := device.Low
	switch o.rule.rest() {
	case LevelHigh:
		level = device.High
	case LevelLow:
	default:
		err := o.gpio.Release(o.own)
		if err == nil {
			o.held = false
		}
		return err
	}
	if err := o.ready(); err != nil {
		return err
	}
	_, err := o.gpio.Write(o.own, level)
	if err == nil {
		o.held, o.level = true, level
	}
	return err
}

// arm sets the timer to the next time that something is to be looked at.
func (o *output) arm() {
	next := time.Duration(-1)
	switch {
	case o.stuck:
		next = retrySafe
	case !o.isOn():
	default:
		if !o.until.IsZero() {
			next = max(0, time.Until(o.until))
		}
		if o.watches() && (next < 0 || next > lookNeeds) {
			next = lookNeeds
		}
	}
	if armed := next >= 0; armed != o.armed {
		o.armed = armed
		if armed {
			o.active.Add(1)
		} else {
			o.active.Add(-1)
		}
	}
	switch {
	case next < 0 && o.timer != nil:
		o.timer.Stop()
	case next < 0:
	case o.timer == nil:
		o.timer = time.AfterFunc(next, o.expire)
	default:
		o.timer.Reset(next)
	}
}

// watches says whether the output needs or excludes a line that this process does not drive.
func (o *output) watches() bool {
	for _, others := range [...][]*output{o.needs, o.excludes} {
		for _, other := range others {
			if !other.held {
				return true
			}
		}
	}
	return false
}

// expire runs when the timer fires, which may be too early: for what has been
// stopped or set anew since.
func (o *output) expire() {
	if err := o.look(); err != nil {
		o.report(err)
	}
}

// look brings the output to its safe level where it is time. It gives what there is to report.
func (o *output) look() (err error) {
	o.group.mu.Lock()
	defer o.group.mu.Unlock()
	defer func() {
		if v := recover(); v != nil { // it must not end the process, which has other outputs
			if o.stuck = true; !o.told {
				o.told, err = true, fmt.Errorf("%s is not at its safe level, and is tried again: it failed inside: %v", o.subject(), v)
			}
		}
		o.arm()
	}()
	why := ""
	switch {
	case o.stuck:
		err := o.makeSafe()
		if err == nil || o.told {
			return nil
		}
		o.told = true
		return fmt.Errorf("%s is not at its safe level, and is tried again: %w", o.subject(), err)
	case !o.isOn():
		return nil
	case !o.until.IsZero() && !time.Now().Before(o.until):
		why = fmt.Sprintf("it may be on at most %v", o.rule.MaxOn)
	default:
		if why = o.missing(); why == "" {
			return nil
		}
	}
	if err := o.makeSafe(); err != nil {
		o.told = true
		return fmt.Errorf("%s: %s: %s; it is not at its safe level, and is tried again: %w", o.rules.where(o.rule.At), o.subject(), why, err)
	}
	return fmt.Errorf("%s: %s: %s, and was turned off", o.rules.where(o.rule.At), o.subject(), why)
}

// missing says what the output needs and has not any more, or "".
func (o *output) missing() string {
	for _, other := range o.needs {
		if on, err := other.stands(); !on || err != nil {
			return "it needs " + other.subject() + ", which is not on any more"
		}
	}
	for _, other := range o.excludes {
		if on, err := other.stands(); on || err != nil {
			return "it excludes " + other.subject() + ", which is not off any more"
		}
	}
	return ""
}

// The caller of those that follow has no lock.

// begin brings all outputs to their initial levels, and holds them. It gives what
// could not be: a line that another process has stays with it. Nobody knows for how
// long an output has been off by then, so min_off counts from here.
func (s *outputs) begin() error {
	var errs []error
	// Those that are on at the start come last, so that what they need is there.
	for _, on := range [...]bool{false, true} {
		for _, g := range s.groups {
			g.mu.Lock()
			for _, o := range g.outputs {
				if level, ok := o.initial(); ok && !o.held && (level == o.on) == on {
					_, err := o.write(level)
					errs = append(errs, o.named(err))
				}
				if on && !o.isOn() && o.off.IsZero() {
					o.off = time.Now()
				}
			}
			g.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// initial is the level that the output begins with; of one that begins as an input
// there is none.
func (o *output) initial() (level device.Level, ok bool) {
	initial := o.rule.Initial
	if initial == LevelUnset {
		initial = o.rule.rest()
	}
	switch initial {
	case LevelLow:
		return device.Low, true
	case LevelHigh:
		return device.High, true
	}
	return 0, false
}

// safe brings all outputs to their safe levels, each group by itself, and waits no
// longer than safeWithin for them.
func (s *outputs) safe() error {
	ended := make(chan error, len(s.groups))
	for _, g := range s.groups {
		go func() { ended <- g.safe() }()
	}
	var errs []error
	late := time.NewTimer(safeWithin)
	defer late.Stop()
	for n := range s.groups {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-late.C:
			return errors.Join(append(errs, &device.Error{Subject: "outputs", Kind: device.ErrTimeout,
				Reason: fmt.Sprintf("%d of %d groups not at their safe levels after %v: a bus hangs", len(s.groups)-n, len(s.groups), safeWithin),
				Hint:   "turn off by hand what is behind it"})...)
		}
	}
	return errors.Join(errs...)
}

func (g *group) safe() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var errs []error
	for _, o := range g.outputs {
		if o.stuck || o.held && !o.isSafe(o.level) {
			errs = append(errs, o.named(o.makeSafe()))
		}
	}
	return errors.Join(errs...)
}
