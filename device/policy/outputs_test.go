package policy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
)

// house is a board with outputs, and what is beneath it.
type house struct {
	*Board
	t       *testing.T
	beneath *sim.Board
	fault   *faultyGPIO
	mu      sync.Mutex
	reports []string
}

// faultyBoard is a board whose lines fail when they are told to.
type faultyBoard struct {
	*sim.Board
	gpio *faultyGPIO
}

func (b faultyBoard) GPIO() device.GPIO { return b.gpio }

type faultyGPIO struct {
	device.GPIO
	mu   sync.Mutex
	fail map[string]error // of writes, by line
	hang chan struct{}    // where a write waits, once
}

var errPanics = errors.New("panics")

func (g *faultyGPIO) Write(name string, level device.Level) (device.State, error) {
	g.mu.Lock()
	err, hang := g.fail[name], g.hang
	g.hang = nil
	g.mu.Unlock()
	if hang != nil {
		hang <- struct{}{}
		<-hang
	}
	if err == errPanics {
		panic("of a test")
	}
	if err != nil {
		return device.State{}, err
	}
	return g.GPIO.Write(name, level)
}

func (g *faultyGPIO) set(name string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fail[name] = err
}

// open opens a board with these lines. Where they say no access it is "write".
func open(t *testing.T, lines ...Line) *house {
	t.Helper()
	for i := range lines {
		lines[i].At = 10 + i
		if lines[i].Access == AccessDefault {
			lines[i].Access = AccessWrite
		}
	}
	h := &house{t: t, beneath: sim.Open(sim.Wiring{Wires: []sim.Wire{}})}
	h.fault = &faultyGPIO{GPIO: h.beneath.GPIO(), fail: map[string]error{}}
	var err error
	h.Board, err = Wrap(faultyBoard{h.beneath, h.fault}, &Rules{File: "board.toml", Lines: lines}, func(err error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.reports = append(h.reports, err.Error())
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *house) begin() *house {
	h.t.Helper()
	if err := h.Begin(); err != nil {
		h.t.Fatal(err)
	}
	return h
}

func (h *house) write(name string, level device.Level) {
	h.t.Helper()
	if _, err := h.GPIO().Write(name, level); err != nil {
		h.t.Errorf("%s=%d: %v", name, level, err)
	}
}

// refuses checks that a write is refused with a text.
func (h *house) refuses(name string, level device.Level, want string) {
	h.t.Helper()
	before := h.stands("GPIO5", "GPIO6", "GPIO13")
	_, err := h.GPIO().Write(name, level)
	if err == nil || err.Error() != want || !errors.Is(err, device.ErrPermission) {
		h.t.Errorf("%s=%d gives %v; want %s", name, level, err, want)
	}
	if after := h.stands("GPIO5", "GPIO6", "GPIO13"); after != before {
		h.t.Errorf("a write that is refused makes %s of %s", after, before)
	}
}

// stands says how lines are, beneath: "out 1, in 0".
func (h *house) stands(lines ...string) string {
	h.t.Helper()
	var all []string
	for _, name := range lines {
		l, err := h.beneath.GPIO().Find(name)
		if err != nil {
			h.t.Fatal(err)
		}
		level := make([]device.Level, 1)
		if err := h.beneath.GPIO().Read([]string{name}, level); err != nil {
			h.t.Fatal(err)
		}
		all = append(all, fmt.Sprint([]string{"in", "out"}[l.Direction], " ", level[0]))
	}
	return strings.Join(all, ", ")
}

func (h *house) want(want string, lines ...string) {
	h.t.Helper()
	if got := h.stands(lines...); got != want {
		h.t.Errorf("%v: %s; want %s", lines, got, want)
	}
}

func (h *house) reported(want ...string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := strings.Join(h.reports, "\n"); got != strings.Join(want, "\n") {
		h.t.Errorf("reported:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
	h.reports = nil
}

func rule(name string) Rule { return Rule{Name: name} }

func pump() Line {
	return Line{Rule: rule("pump"), Line: "GPIO5", Safe: LevelLow, MaxOn: 30 * time.Second}
}

func TestOutputBeginsAtItsInitialLevel(t *testing.T) {
	h := open(t, Line{Line: "GPIO5", Safe: LevelLow}, Line{Line: "GPIO6", Safe: LevelLow, Initial: LevelHigh},
		Line{Line: "GPIO13", Safe: LevelInput}, Line{Rule: Rule{Access: AccessRead}, Line: "GPIO19", Safe: LevelLow})
	h.want("in 1, in 1, in 0, in 0", "GPIO5", "GPIO6", "GPIO13", "GPIO19")
	h.begin()
	h.want("out 0, out 1, in 0, in 0", "GPIO5", "GPIO6", "GPIO13", "GPIO19")
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	h.reported()
}

func TestOutputEndsAtItsSafeLevel(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(h *house) error
	}{
		{"by Release", func(h *house) error {
			return errors.Join(h.GPIO().Release("a"), h.GPIO().Release("b"), h.GPIO().Release("c"))
		}},
		{"by Safe", func(h *house) error { return h.Safe() }},
		{"by Halt", func(h *house) error { return h.Halt("of a test") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, Line{Rule: rule("a"), Line: "GPIO5", Safe: LevelHigh}, Line{Rule: rule("b"), Line: "GPIO6", Safe: LevelLow},
				Line{Rule: rule("c"), Line: "GPIO13", Safe: LevelInput}, Line{Line: "GPIO19"}).begin()
			h.write("a", 0)
			h.write("b", 1)
			h.write("c", 1)
			h.write("GPIO19", 1)
			h.want("out 0, out 1, out 1, out 1", "GPIO5", "GPIO6", "GPIO13", "GPIO19")
			if err := tt.end(h); err != nil {
				t.Error(err)
			}
			h.want("out 1, out 0, in 0, out 1", "GPIO5", "GPIO6", "GPIO13", "GPIO19")
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// The board beneath leaves its lines at the safe levels, and the next one finds them so.
func TestCloseLeavesOutputsSafe(t *testing.T) {
	h := open(t, Line{Rule: rule("a"), Line: "GPIO5", Safe: LevelLow}, Line{Rule: rule("b"), Line: "GPIO6", Safe: LevelHigh}, Line{Line: "GPIO13"})
	next := h.beneath.Another()
	h.write("a", 1) // without Begin, as a command does
	h.write("b", 0)
	h.write("GPIO13", 1)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	h.beneath = next
	h.want("out 0, out 1, in 0", "GPIO5", "GPIO6", "GPIO13")
}

func TestMaxOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, pump(), Line{Rule: rule("valve"), Line: "GPIO6", Safe: LevelHigh, MaxOn: time.Second}).begin()
		h.write("pump", 1)
		h.write("valve", 0) // is on at low, as its safe level is high
		time.Sleep(900 * time.Millisecond)
		h.write("valve", 0) // is no new beginning
		time.Sleep(99 * time.Millisecond)
		h.want("out 1, out 0", "GPIO5", "GPIO6")
		time.Sleep(2 * time.Millisecond)
		h.want("out 1, out 1", "GPIO5", "GPIO6")
		time.Sleep(29 * time.Second)
		synctest.Wait()
		h.want("out 0, out 1", "GPIO5", "GPIO6")
		h.reported(`board.toml:11: line "valve": it may be on at most 1s, and was turned off`,
			`board.toml:10: line "pump": it may be on at most 30s, and was turned off`)
		h.write("valve", 0)
		time.Sleep(999 * time.Millisecond)
		h.write("valve", 1)
		time.Sleep(time.Millisecond)
		h.write("valve", 0) // a new beginning
		time.Sleep(999 * time.Millisecond)
		h.want("out 0", "GPIO6")
		if h.Active() != 1 {
			t.Errorf("%d timers are set, not 1", h.Active())
		}
		h.Close()
		time.Sleep(time.Hour)
		synctest.Wait()
		h.reported()
		if h.Active() != 0 {
			t.Errorf("%d timers are set in the end", h.Active())
		}
	})
}

func TestMinOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pump := pump()
		pump.MinOff = 10 * time.Second
		h := open(t, pump).begin()
		h.refuses("pump", 1, `board.toml:10: line "pump": off for 0s of at least 10s; try again in 10s`)
		time.Sleep(10 * time.Second) // nobody knows how long it had been off at the start
		h.write("pump", 1)
		time.Sleep(time.Second)
		h.write("pump", 0)
		time.Sleep(2100 * time.Millisecond)
		h.refuses("pump", 1, `board.toml:10: line "pump": off for 2.1s of at least 10s; try again in 7.9s`)
		h.write("pump", 0)
		time.Sleep(7900 * time.Millisecond)
		h.write("pump", 1)
		time.Sleep(30 * time.Second)
		synctest.Wait()
		h.refuses("pump", 1, `board.toml:10: line "pump": off for 0s of at least 10s; try again in 10s`)
		h.Close()
	})
}

// What must be watched over while it is on goes off where nothing else is said.
func TestOutputWithoutASafeLevelGoesOff(t *testing.T) {
	h := open(t, Line{Rule: rule("pump"), Line: "GPIO5", MaxOn: time.Hour}, Line{Rule: rule("heater"), Line: "GPIO6", On: LevelLow, Needs: []string{"fan"}},
		Line{Rule: rule("fan"), Line: "GPIO13"}, Line{Rule: rule("reset"), Line: "GPIO19", Initial: LevelHigh})
	var got []string
	for _, a := range h.AtRest() {
		got = append(got, a.String())
	}
	if want := `line "GPIO5" low, line "GPIO6" high`; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	h.begin()
	h.want("out 0, out 1, in 0, out 1", "GPIO5", "GPIO6", "GPIO13", "GPIO19")
	h.write("pump", 1)
	h.write("fan", 1)
	h.write("heater", 0)
	next := h.beneath.Another()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	h.beneath = next
	h.want("out 0, out 1, in 0, in 0", "GPIO5", "GPIO6", "GPIO13", "GPIO19")
}

// What needs another comes to rest before it, whatever the file's order.
func TestOutputsComeToRestInTheOrderOfTheirNeeds(t *testing.T) {
	h := open(t, Line{Rule: rule("mains"), Line: "GPIO5", Safe: LevelLow}, Line{Rule: rule("fan"), Line: "GPIO6", Safe: LevelLow, Needs: []string{"mains"}},
		Line{Rule: rule("heater"), Line: "GPIO13", Safe: LevelLow, Needs: []string{"fan"}})
	var got []string
	for _, a := range h.AtRest() {
		got = append(got, a.Name)
	}
	if want := "GPIO13 GPIO6 GPIO5"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %s", got, want)
	}
	h.Close()
}

// An output that is safe when it is on turns what it excludes off first.
func TestSafeLevelThatIsOnExcludesOthers(t *testing.T) {
	h := open(t, Line{Rule: rule("brake"), Line: "GPIO5", Safe: LevelHigh, On: LevelHigh, Excludes: []string{"motor"}},
		Line{Rule: rule("motor"), Line: "GPIO6", Safe: LevelLow}).begin()
	h.write("brake", 0)
	h.write("motor", 1)
	h.fault.set("GPIO6", errors.New("the bus is jammed"))
	if err := h.GPIO().Release("brake"); err == nil || !strings.Contains(err.Error(), `line "brake" stays off, for line "motor" excludes it: the bus is jammed`) {
		t.Error(err)
	}
	h.want("out 0, out 1", "GPIO5", "GPIO6")
	h.fault.set("GPIO6", nil)
	if err := h.Safe(); err != nil {
		t.Error(err)
	}
	h.want("out 1, out 0", "GPIO5", "GPIO6")
	h.Close()
}

// A write that failed on the way from the safe level may have acted.
func TestLeavingASafeLevelThatIsOnIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, Line{Rule: rule("brake"), Line: "GPIO5", Safe: LevelHigh, On: LevelHigh}).begin()
		h.fault.set("GPIO5", errors.New("the bus is jammed"))
		if _, err := h.GPIO().Write("brake", 0); err == nil {
			t.Error("no error")
		}
		if _, err := h.beneath.GPIO().Write("GPIO5", 0); err != nil { // it acted all the same
			t.Fatal(err)
		}
		h.fault.set("GPIO5", nil)
		time.Sleep(retrySafe)
		synctest.Wait()
		h.want("out 1", "GPIO5")
		h.Close()
	})
}

// What could not be brought to rest when the outputs were halted is tried again by Close,
// which says that it could not.
func TestCloseSaysWhatIsNotAtRest(t *testing.T) {
	h := open(t, pump()).begin()
	h.write("pump", 1)
	h.fault.set("GPIO5", errors.New("the bus is jammed"))
	for _, end := range []func() error{func() error { return h.Halt("of a test") }, h.Close} {
		if err := end(); err == nil || !strings.Contains(err.Error(), "the bus is jammed") {
			t.Error(err)
		}
	}
}

// A timer that fails inside is reported, and ends nothing else.
func TestTimerThatFailsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, pump(), Line{Rule: rule("valve"), Line: "GPIO6", Safe: LevelLow}).begin()
		h.write("pump", 1)
		h.fault.set("GPIO5", errPanics)
		time.Sleep(30*time.Second + retrySafe/2)
		synctest.Wait()
		h.reported(`line "pump" is not at its safe level, and is tried again: it failed inside: of a test`)
		h.fault.set("GPIO5", nil)
		time.Sleep(retrySafe)
		synctest.Wait()
		h.want("out 0", "GPIO5")
		h.Close()
	})
}

func TestInterlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t,
			Line{Rule: rule("heater"), Line: "GPIO5", Safe: LevelLow, Needs: []string{"fan"}},
			Line{Rule: rule("fan"), Line: "GPIO6", Safe: LevelLow, MaxOn: time.Minute},
			Line{Rule: rule("cooler"), Line: "GPIO13", Safe: LevelLow, Excludes: []string{"heater"}}).begin()
		h.refuses("heater", 1, `board.toml:10: line "heater": it needs line "fan", which is off; turn that on first`)
		h.write("fan", 1)
		h.write("heater", 1)
		h.refuses("cooler", 1, `board.toml:12: line "cooler": it excludes line "heater", which is on; turn that off first`)
		h.write("fan", 0) // the heater goes first
		h.want("out 0, out 0, out 0", "GPIO5", "GPIO6", "GPIO13")
		h.write("fan", 1)
		h.write("cooler", 1)
		h.refuses("heater", 1, `board.toml:10: line "heater": it excludes line "cooler", which is on; turn that off first`)
		h.write("cooler", 0)
		h.write("heater", 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		h.want("out 0, out 0, out 0", "GPIO5", "GPIO6", "GPIO13")
		h.reported(`board.toml:11: line "fan": it may be on at most 1m0s, and was turned off`)
		h.write("fan", 1)
		h.write("heater", 1)
		if err := h.GPIO().Release("fan"); err != nil {
			t.Error(err)
		}
		h.want("out 0, out 0, out 0", "GPIO5", "GPIO6", "GPIO13")
		h.Close()
	})
}

func TestWhatANeedIsStuckOnStaysOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t,
			Line{Rule: rule("heater"), Line: "GPIO5", Safe: LevelLow, Needs: []string{"fan"}},
			Line{Rule: rule("fan"), Line: "GPIO6", Safe: LevelLow}).begin()
		h.write("fan", 1)
		h.write("heater", 1)
		h.fault.set("GPIO5", errors.New("the bus is jammed"))
		if _, err := h.GPIO().Write("fan", 0); err == nil || err.Error() != `line "fan" stays on, for line "heater" needs it: the bus is jammed` {
			t.Error(err)
		}
		if err := h.Safe(); err == nil {
			t.Error("all is said to be safe")
		}
		h.want("out 1, out 1", "GPIO5", "GPIO6")
		time.Sleep(time.Minute)
		h.fault.set("GPIO5", nil)
		time.Sleep(retrySafe)
		synctest.Wait()
		h.want("out 0", "GPIO5")
		h.Close()
	})
}

func TestOutputsThatNeedEachOther(t *testing.T) {
	h := open(t, Line{Rule: rule("a"), Line: "GPIO5", Safe: LevelLow, Initial: LevelHigh, Needs: []string{"b"}},
		Line{Rule: rule("b"), Line: "GPIO6", Safe: LevelLow, Needs: []string{"a"}})
	if err := h.Begin(); err == nil {
		t.Error("no error")
	}
	h.refuses("a", 1, `board.toml:10: line "a": it needs line "b", which is off; turn that on first`)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// A door switch is no output: it is looked at while what needs it is on.
func TestNeedOfAnInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, Line{Rule: rule("laser"), Line: "GPIO13", Safe: LevelLow, Needs: []string{"door"}},
			Line{Rule: Rule{Name: "door", Access: AccessRead}, Line: "GPIO19"}).begin()
		h.refuses("laser", 1, `board.toml:10: line "laser": it needs line "door", which is off; turn that on first`)
		pull := func(bias device.Bias) {
			t.Helper()
			if _, _, err := h.beneath.GPIO().Configure("GPIO19", func(c *device.Config) error { c.Bias = bias; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		pull(device.BiasUp)
		h.write("laser", 1)
		time.Sleep(time.Minute)
		h.want("out 1", "GPIO13")
		pull(device.BiasDown)
		time.Sleep(lookNeeds)
		synctest.Wait()
		h.want("out 0", "GPIO13")
		h.reported(`board.toml:10: line "laser": it needs line "door", which is not on any more, and was turned off`)
		h.Close()
	})
}

func TestTurnOnThatFailsIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, pump()).begin()
		jam := errors.New("the bus is jammed")
		h.fault.set("GPIO5", jam)
		if _, err := h.GPIO().Write("pump", 1); !errors.Is(err, jam) {
			t.Error(err)
		}
		if _, err := h.beneath.GPIO().Write("GPIO5", 1); err != nil { // it acted all the same
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		h.fault.set("GPIO5", nil)
		time.Sleep(retrySafe)
		synctest.Wait()
		h.want("out 0", "GPIO5")
		h.reported(`line "pump" is not at its safe level, and is tried again: the bus is jammed`)
		h.Close()
	})
}

func TestMaxOnThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := open(t, pump()).begin()
		h.write("pump", 1)
		h.fault.set("GPIO5", errors.New("the bus is jammed"))
		time.Sleep(40 * time.Second)
		h.want("out 1", "GPIO5")
		h.fault.set("GPIO5", nil)
		time.Sleep(retrySafe)
		synctest.Wait()
		h.want("out 0", "GPIO5")
		h.reported(`board.toml:10: line "pump": it may be on at most 30s; it is not at its safe level, and is tried again: the bus is jammed`)
		h.Close()
	})
}

func TestHaltIsForGood(t *testing.T) {
	h := open(t, pump(), Line{Line: "GPIO6", MaxOn: time.Hour}).begin()
	h.write("pump", 1)
	if err := h.Halt("a person has halted the outputs"); err != nil {
		t.Error(err)
	}
	h.want("out 0", "GPIO5")
	h.refuses("pump", 1, `board.toml:10: line "pump": a person has halted the outputs; it stays as it is`)
	h.refuses("GPIO6", 1, `board.toml:11: line "GPIO6": a person has halted the outputs; it stays as it is`)
	h.write("pump", 0)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestPauseIsUntilResume(t *testing.T) {
	const silent, byHand = "nothing was heard", "halted by a person"
	for _, tt := range []struct {
		name string
		do   func(h *house) error
		why  string // empty: it may be turned on
	}{
		{"paused", func(h *house) error { return h.Pause(silent) }, silent},
		{"paused twice and resumed", func(h *house) error { defer h.Resume(); return errors.Join(h.Pause(silent), h.Pause(silent)) }, ""},
		{"resumed without a pause", func(h *house) error { h.Resume(); return h.Pause(silent) }, silent},
		{"halted in a pause", func(h *house) error { defer h.Resume(); return errors.Join(h.Pause(silent), h.Halt(byHand)) }, byHand},
		{"paused when halted", func(h *house) error { defer h.Resume(); return errors.Join(h.Halt(byHand), h.Pause(silent)) }, byHand},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := open(t, pump()).begin()
			h.write("pump", 1)
			if err := tt.do(h); err != nil {
				t.Error(err)
			}
			h.want("out 0", "GPIO5")
			if tt.why == "" {
				h.write("pump", 1)
			} else {
				h.refuses("pump", 1, `board.toml:10: line "pump": `+tt.why+`; it stays as it is`)
			}
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// One group behind a bus that hangs holds no other up.
func TestSafeDoesNotWaitForABusThatHangs(t *testing.T) {
	h := open(t, pump(), Line{Rule: rule("valve"), Line: "GPIO6", Safe: LevelLow}).begin()
	h.write("pump", 1)
	h.write("valve", 1)
	hang := make(chan struct{})
	h.fault.mu.Lock()
	h.fault.hang = hang
	h.fault.mu.Unlock()
	var all sync.WaitGroup
	all.Go(func() { h.GPIO().Write("valve", 0) })
	<-hang
	if err := h.Safe(); err == nil || !strings.Contains(err.Error(), "1 of 2 groups") {
		t.Error(err)
	}
	h.want("out 0", "GPIO5")
	hang <- struct{}{}
	all.Wait()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestOnlyTheLevelOfAnOutputIsConfigured(t *testing.T) {
	h := open(t, pump()).begin()
	for _, change := range []func(c *device.Config){
		func(c *device.Config) { c.Direction = device.In },
		func(c *device.Config) { c.ActiveLow = true },
		func(c *device.Config) { c.Bias = device.BiasUp },
		func(c *device.Config) { c.Drive = device.OpenDrain },
	} {
		_, _, err := h.GPIO().Configure("pump", func(c *device.Config) error { change(c); return nil })
		if !errors.Is(err, device.ErrPermission) {
			t.Error(err)
		}
	}
	before, after, err := h.GPIO().Configure("pump", func(c *device.Config) error { c.Level = device.High; return nil })
	if err != nil || before.Level != 0 || after.Level != 1 || after.Direction != device.Out {
		t.Error(before, after, err)
	}
	if _, _, err := h.GPIO().Configure("pump", func(c *device.Config) error { c.Level = device.Low; return nil }); err != nil {
		t.Error(err)
	}
	if err := h.GPIO().Rest("pump", device.Config{}); !errors.Is(err, device.ErrPermission) {
		t.Error(err)
	}
	h.Close()
}

func TestOutputThatAnotherHoldsStaysWithIt(t *testing.T) {
	h := open(t, pump(), Line{Rule: rule("valve"), Line: "GPIO6", Safe: LevelLow})
	other := h.beneath.Another()
	if _, err := other.GPIO().Write("GPIO5", 1); err != nil {
		t.Fatal(err)
	}
	if err := h.Begin(); !errors.Is(err, device.ErrBusy) || !strings.Contains(err.Error(), `"pump"`) {
		t.Error(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	h.beneath = other
	h.want("out 1, out 0", "GPIO5", "GPIO6")
}

func TestWritesOfOutputsAllocateNothing(t *testing.T) {
	h := open(t, Line{Rule: rule("heater"), Line: "GPIO5", Safe: LevelLow, MaxOn: time.Hour, Needs: []string{"fan"}},
		Line{Rule: rule("fan"), Line: "GPIO6", Safe: LevelLow}).begin()
	defer h.Close()
	h.write("fan", 1)
	h.write("heater", 1)
	g, level := h.GPIO(), device.Level(0)
	if n := testing.AllocsPerRun(100, func() { g.Write("heater", level); level ^= 1 }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestManyAtOnce(t *testing.T) {
	h := open(t,
		Line{Rule: rule("heater"), Line: "GPIO5", Safe: LevelLow, Needs: []string{"fan"}, MaxOn: time.Millisecond},
		Line{Rule: rule("fan"), Line: "GPIO6", Safe: LevelLow, MaxOn: time.Millisecond},
		Line{Rule: rule("cooler"), Line: "GPIO13", Safe: LevelLow, Excludes: []string{"heater"}}).begin()
	var all sync.WaitGroup
	for i, name := range []string{"heater", "fan", "cooler", "heater", "fan"} {
		all.Go(func() {
			for k := range 500 {
				h.GPIO().Write(name, device.Level(k+i)&1)
				if k%100 == 0 {
					h.Safe()
				}
			}
		})
	}
	all.Go(func() {
		for range 500 {
			h.beneath.GPIO().Lines(nil)
			// The two are read at one moment: the heater is never on without its fan.
			levels := make([]device.Level, 3)
			if err := h.beneath.GPIO().Read([]string{"GPIO5", "GPIO6", "GPIO13"}, levels); err != nil {
				t.Error(err)
			}
			if levels[0] == 1 && (levels[1] == 0 || levels[2] == 1) {
				t.Errorf("heater, fan and cooler are %v", levels)
			}
		}
	})
	all.Wait()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestAtRest(t *testing.T) {
	for _, tt := range []struct {
		text string
		ok   bool
	}{
		{`line "GPIO17" low`, true}, {`line "a \"quoted\" line" high`, true}, {`line "x" input`, true},
		{`pwm "pwmchip0/0" off`, true}, {`pwm "pwmchip0/0" 7.5%`, true}, {`led "ACT" 0`, true}, {`led "ACT" 255`, true},
		{``, false}, {`line`, false}, {`line "x"`, false}, {`line "x" up`, false}, {`line x low`, false}, {`line "x"  low`, false},
		{`pwm "x" 101%`, false}, {`pwm "x" NaN%`, false}, {`pwm "x" 5`, false}, {`led "x" -1`, false}, {`led "x" off`, false}, {`car "x" low`, false},
	} {
		a, err := ParseAtRest(tt.text)
		if (err == nil) != tt.ok || tt.ok && a.String() != tt.text {
			t.Errorf("%q gives %+v, %v", tt.text, a, err)
		}
	}
}

func TestApplyBringsToRest(t *testing.T) {
	b := sim.Open(sim.Wiring{PWM: true})
	next := b.Another()
	const ms = time.Millisecond
	on := func(device.PWMState) (device.PWMState, error) {
		return device.PWMState{Period: 20 * ms, Duty: 10 * ms, Enabled: true}, nil
	}
	for _, name := range []string{"pwmchip0/0", "pwmchip0/1"} {
		if _, _, err := b.PWM().Set(name, on); err != nil {
			t.Fatal(err)
		}
	}
	b.PWM().Rest("pwmchip0/0", device.PWMState{Period: 20 * ms, Duty: 10 * ms, Enabled: true}) // as after a kill
	b.PWM().Rest("pwmchip0/1", device.PWMState{Period: 20 * ms, Duty: 10 * ms, Enabled: true})
	b.Close()
	for _, text := range []string{`line "GPIO5" low`, `pwm "pwmchip0/0" off`, `pwm "pwmchip0/1" 7.5%`, `led "PWR" 0`} {
		a, err := ParseAtRest(text)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := a.Apply(next); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
	for _, text := range []string{`line "GPIO99" low`, `pwm "pwmchip9/0" off`, `led "X" 0`} {
		a, _ := ParseAtRest(text)
		if err := a.Apply(next); !errors.Is(err, device.ErrNotFound) {
			t.Errorf("%s: %v", text, err)
		}
	}
	line, _ := next.GPIO().Find("GPIO5")
	zero, _ := next.PWM().Find("pwmchip0/0")
	one, _ := next.PWM().Find("pwmchip0/1")
	led, _ := next.LEDs().Find("PWR")
	if line.Direction != device.Out || line.Held || zero.Enabled || zero.Held || one.Duty != 1500*time.Microsecond || !one.Enabled || led.Brightness != 0 || led.Held {
		t.Errorf("%+v\n%+v\n%+v\n%+v", line, zero, one, led)
	}
}
