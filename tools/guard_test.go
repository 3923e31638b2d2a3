package tools

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

// stands describes a line as gpio_list and gpio_read would.
func stands(t *testing.T, g device.GPIO, name string) string {
	t.Helper()
	line, err := g.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	level := make([]device.Level, 1)
	if err := g.Read([]string{name}, level); err != nil {
		t.Fatal(err)
	}
	s := "in"
	if line.Direction == device.Out {
		s = "out"
	}
	if line.Held {
		s += " held"
	}
	return fmt.Sprint(s, " ", level[0])
}

func TestPulses(t *testing.T) {
	const ms = time.Millisecond
	type step struct {
		at    time.Duration // since the start
		level device.Level
		pulse time.Duration // 0: a plain write
	}
	for _, tt := range []struct {
		name  string
		line  string
		steps []step
		want  map[time.Duration]string
	}{
		{"returns to an input", "GPIO17", []step{{0, 1, 100 * ms}},
			map[time.Duration]string{99 * ms: "out held 1", 101 * ms: "in 0"}},
		{"returns to the firmware's output", "CAM_GPIO0", []step{{0, 0, 100 * ms}},
			map[time.Duration]string{99 * ms: "out held 0", 101 * ms: "out 1"}},
		{"returns to the level written before", "GPIO17", []step{{0, 1, 0}, {10 * ms, 0, 100 * ms}},
			map[time.Duration]string{50 * ms: "out held 0", 111 * ms: "out held 1"}},
		{"extends one that runs, and returns to the state before both", "GPIO17", []step{{0, 1, 100 * ms}, {50 * ms, 0, 100 * ms}},
			map[time.Duration]string{49 * ms: "out held 1", 101 * ms: "out held 0", 149 * ms: "out held 0", 151 * ms: "in 0"}},
		{"is shortened by a shorter one", "GPIO17", []step{{0, 1, 100 * ms}, {10 * ms, 1, 20 * ms}},
			map[time.Duration]string{29 * ms: "out held 1", 31 * ms: "in 0", 101 * ms: "in 0"}},
		{"is ended by a plain write, which stays", "GPIO17", []step{{0, 1, 100 * ms}, {50 * ms, 1, 0}},
			map[time.Duration]string{101 * ms: "out held 1", 2 * time.Second: "out held 1"}},
		{"comes again", "GPIO17", []step{{0, 1, 100 * ms}, {200 * ms, 1, 100 * ms}},
			map[time.Duration]string{101 * ms: "in 0", 299 * ms: "out held 1", 301 * ms: "in 0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := sim.Open(sim.Wiring{})
				g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
				steps := tt.steps
				seen := 0
				for now := time.Duration(0); now <= time.Second || seen < len(tt.want) && now < time.Minute; now += ms {
					if len(steps) > 0 && steps[0].at == now {
						if _, err := g.write(knownLine{name: tt.line}, steps[0].level, steps[0].pulse); err != nil {
							t.Fatal(err)
						}
						steps = steps[1:]
					}
					if want, ok := tt.want[now]; ok {
						seen++
						if got := stands(t, b.GPIO(), tt.line); got != want {
							t.Errorf("after %v it is %q, not %q", now, got, want)
						}
					}
					time.Sleep(ms)
				}
				if g.Active() != 0 {
					t.Errorf("%d pulses are running", g.Active())
				}
			})
		})
	}
}

func TestPulseReturnsToWhatWasDrivenNotToWhatThePinShowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{}) // GPIO17 is tied to GPIO27
		g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
		for _, w := range []struct {
			line  string
			level device.Level
			pulse time.Duration
		}{{"GPIO17", 1, 0}, {"GPIO27", 0, 0}, {"GPIO17", 0, time.Second}} {
			if _, err := g.write(knownLine{name: w.line}, w.level, w.pulse); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(2 * time.Second)
		if _, err := g.write(knownLine{name: "GPIO27"}, 1, 0); err != nil {
			t.Fatal(err)
		}
		if got := stands(t, b.GPIO(), "GPIO17"); got != "out held 1" {
			t.Errorf("GPIO17 is %q", got)
		}
	})
}

func TestTwoNamesOfALineShareAPulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{})
		c := newClient(t, b)
		c.must("gpio_write", `{"line":"GPIO40","level":0,"for_ms":100}`)
		if got := c.must("gpio_write", `{"line":"CAM_GPIO0","level":0}`); !strings.HasPrefix(got, `{"line":"CAM_GPIO0",`) {
			t.Error(got)
		}
		if c.guard.Active() != 0 {
			t.Error("the plain write did not end the pulse")
		}
	})
}

func TestCloseEndsPulsesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{})
		g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
		for _, w := range []struct {
			line  string
			level device.Level
			pulse time.Duration
		}{{"GPIO5", 0, time.Hour}, {"GPIO6", 1, 0}, {"GPIO6", 0, time.Hour}, {"GPIO13", 1, 0}} {
			if _, err := g.write(knownLine{name: w.line}, w.level, w.pulse); err != nil {
				t.Fatal(err)
			}
		}
		if g.Active() != 2 {
			t.Errorf("%d pulses are running, not 2", g.Active())
		}
		g.Close()
		_, err := g.write(knownLine{name: "GPIO5"}, 0, time.Hour)
		if want := `line "GPIO5": not written, as the server is ending`; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		g.Close()
		next := b.Another()
		b.Close()
		for line, want := range map[string]string{"GPIO5": "in 1", "GPIO6": "in 1", "GPIO13": "in 0"} {
			if got := stands(t, next.GPIO(), line); got != want {
				t.Errorf("%s is %q, not %q", line, got, want)
			}
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
	})
}

func TestCloseDoesNotWaitForABus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &expander{}
		g := newGuard(e, func(err error) { t.Error(err) })
		if _, err := g.write(knownLine{"slow", "gpio:gpiochip0"}, 1, time.Minute); err != nil {
			t.Fatal(err)
		}
		g.Close()
		time.Sleep(time.Hour)
		if got := strings.Join(e.writes, ", "); got != "slow=1" {
			t.Errorf("the board saw %s", got)
		}
	})
}

// A rule of the board can bring a line elsewhere than where it was written: the pulse
// that follows returns to where it stood.
func TestPulseReturnsToWhereARuleHasBroughtTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := sim.Open(sim.Wiring{})
		g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
		pulse := func(line string, want string) {
			t.Helper()
			if _, err := g.write(knownLine{name: line}, 1, time.Second); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			if got := stands(t, b.GPIO(), line); got != want {
				t.Errorf("%s is %q, not %q", line, got, want)
			}
		}
		for _, line := range []string{"GPIO5", "GPIO6"} {
			if _, err := g.write(knownLine{name: line}, 1, 0); err != nil {
				t.Fatal(err)
			}
		}
		b.GPIO().Write("GPIO5", 0) // as max_on does
		pulse("GPIO5", "out held 0")
		b.GPIO().Release("GPIO6")
		pulse("GPIO6", "in 1")
	})
}

func TestReturnThatARuleForbidsIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{GPIO: sim.Open(sim.Wiring{}).GPIO()}
		var reports []string
		g := newGuard(f, func(err error) { reports = append(reports, err.Error()) })
		if _, err := g.write(knownLine{name: "GPIO17"}, 1, time.Second); err != nil {
			t.Fatal(err)
		}
		f.fail(&device.Error{Subject: "it", Kind: device.ErrPermission})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if got := strings.Join(reports, "\n"); got != `line "GPIO17" does not go back to how it stood before its pulse: it: not permitted` || g.Active() != 0 {
			t.Errorf("reported %q, %d pulses", got, g.Active())
		}
	})
}

func TestWriteThatFailsLeavesThePulse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{GPIO: sim.Open(sim.Wiring{}).GPIO()}
		var reports []string
		g := newGuard(f, func(err error) { reports = append(reports, err.Error()) })
		if _, err := g.write(knownLine{name: "GPIO17"}, 1, time.Second); err != nil {
			t.Fatal(err)
		}
		f.fail(errors.New("the line is gone"))
		if _, err := g.write(knownLine{name: "GPIO17"}, 1, 0); err != f.failure() {
			t.Errorf("got %v", err)
		}
		if g.Active() != 1 {
			t.Error("the pulse has ended")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := strings.Join(reports, "\n"); got != `line "GPIO17" may still have the level of its pulse, which has ended: the line is gone` {
			t.Errorf("reported %q", got)
		}
		if g.Active() != 1 {
			t.Error("the guard has given the line up")
		}
		f.fail(nil)
		time.Sleep(retryEvery)
		synctest.Wait()
		if l, _ := f.GPIO.Find("GPIO17"); l.Held || g.Active() != 0 {
			t.Errorf("the line is held: %v, pulses: %d", l.Held, g.Active())
		}
	})
}

func TestReturnThatKeepsFailingIsGivenUpAndReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failing{GPIO: sim.Open(sim.Wiring{}).GPIO()}
		reports := 0
		g := newGuard(f, func(error) { reports++ })
		if _, err := g.write(knownLine{name: "GPIO17"}, 1, time.Second); err != nil {
			t.Fatal(err)
		}
		f.fail(errors.New("the bus is jammed"))
		time.Sleep(time.Second + maxTries*retryEvery)
		synctest.Wait()
		if reports != 2 || g.Active() != 0 {
			t.Errorf("%d reports, want the first failure and the last; %d pulses", reports, g.Active())
		}
	})
}

type failing struct {
	device.GPIO
	mu  sync.Mutex
	err error
}

// fail sets the error of what follows; nil: none.
func (f *failing) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *failing) failure() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *failing) Write(name string, level device.Level) (device.State, error) {
	if err := f.failure(); err != nil {
		return device.State{}, err
	}
	return f.GPIO.Write(name, level)
}

func (f *failing) Release(name string) error {
	if err := f.failure(); err != nil {
		return err
	}
	return f.GPIO.Release(name)
}

func TestTimerThatFiresLateEndsNothing(t *testing.T) {
	b := sim.Open(sim.Wiring{})
	g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
	defer g.Close()
	if _, err := g.write(knownLine{name: "GPIO17"}, 1, time.Hour); err != nil {
		t.Fatal(err)
	}
	// As if it had fired for an earlier pulse and then waited for the lock.
	g.outputs["GPIO17"].expire()
	if got := stands(t, b.GPIO(), "GPIO17"); got != "out held 1" || g.Active() != 1 {
		t.Errorf("it is %q, and %d pulses are running", got, g.Active())
	}
}

func TestPulsesFromManyGoroutines(t *testing.T) {
	b := sim.Open(sim.Wiring{Wires: []sim.Wire{}})
	g := newGuard(b.GPIO(), func(err error) { t.Error(err) })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 200 {
				g.write(knownLine{name: fmt.Sprint("GPIO", 16+i%3)}, device.Level(k%2), time.Duration(k%3)*50*time.Microsecond)
			}
		})
	}
	all.Wait()
	g.Close()
	b.Close()
}
