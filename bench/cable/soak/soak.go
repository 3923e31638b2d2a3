//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"boardhand/bench/cable"
	"boardhand/bench/client"
)

// patience is how long nothing may come of calls that wait: longer than a session
// outlives silence, and a call waits for a board after that.
const patience = 60 * time.Second

// lot is how many calls are due at one time.
const lot = 64

// Rules for the memory at both ends, in KiB of anonymous memory (RssAnon of proc(5)).
const (
	mostMemory = 16 << 10
	mostGrowth = 2 << 10 // of the peak from "clean" to "clean again", 57,000 calls: a garbage collector breathes
	warm       = 5000    // calls in "clean" from which on that is judged
)

type soak struct {
	o       *options
	dir     string
	cable   *cable.Cable
	counter *counter
	lists   map[bool]string // the result of tools/list, for a laptop with a session and one without

	board   *board
	laptop  *laptop
	laptops int      // with a cache of their own
	said    []string // by processes that have ended, the last few

	calls    []call // by their number
	inFlight int
	reports  []report
	failures []string
}

// report is what happened in a phase.
type report struct {
	name                                 string
	calls                                int
	outcomes                             [5]int
	boards, laptops                      int // started
	took                                 time.Duration
	slowest                              time.Duration // from a call to its right answer
	boardMemory, laptopMemory            int           // the most, in KiB
	sent, delivered, damaged, lost, text int64         // bytes
}

func newSoak(o *options, dir string) (*soak, error) {
	s := &soak{o: o, dir: dir, lists: map[bool]string{}}
	if err := s.askLists(); err != nil {
		return nil, err
	}
	var err error
	if s.counter, err = newCounter(o.seed); err != nil {
		return nil, err
	}
	s.cable, err = cable.Open(cable.Config{A: filepath.Join(dir, "a"), B: filepath.Join(dir, "b"), Seed: o.seed})
	return s, err
}

func (s *soak) close() {
	s.killLaptop()
	s.killBoard()
	s.cable.Close()
	s.counter.close()
}

func (s *soak) fail(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	fmt.Println("FAIL", text)
	s.failures = append(s.failures, text)
}

// run goes through one phase: n calls at least, and o.phase long at least.
func (s *soak) run(p phase, n int) error {
	at := slices.Index(phaseNames(), p.name)
	rng := rand.New(rand.NewPCG(s.o.seed, 1000+uint64(at))) // of what is done to processes
	s.cable.Seed(s.o.seed + uint64(at)<<32)
	p = p.lasting(s.o.phase)
	s.reports = append(s.reports, report{name: p.name})
	r := &s.reports[len(s.reports)-1]
	before := s.damage()
	s.cable.SetFaults(p.faults)
	began, first := time.Now(), len(s.calls)
	next := func(mean time.Duration) <-chan time.Time {
		if mean == 0 {
			return nil
		}
		return time.After(time.Duration(rng.ExpFloat64() * float64(mean)))
	}
	toKill := 0 // what the phase is not over without
	soon := func(mean time.Duration) <-chan time.Time {
		if mean == 0 {
			return nil
		}
		toKill++
		wait := min(time.Duration(rng.ExpFloat64()*float64(mean)), s.o.phase/2)
		if s.board == nil { // the first phase: let them meet
			wait += time.Second
		}
		return time.After(wait)
	}
	killBoard, killLaptop := soon(p.board), soon(p.laptop)
	s.begin(p.faults, rng)
	startBoard, startLaptop := startIf(s.board == nil), startIf(s.laptop == nil)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	heard := time.Now()
	for calm := false; ; {
		made := len(s.calls) - first
		if over := made >= n && time.Since(began) >= s.o.phase && toKill <= 0; over && !calm {
			// From here on nothing is wrong with the line, and all must come to an end.
			calm = true
			s.cable.SetFaults(cable.Faults{})
			killBoard, killLaptop = nil, nil
			heard = time.Now()
		}
		if calm && s.inFlight == 0 && s.board != nil && s.laptop != nil {
			break
		}
		if s.inFlight > 0 && time.Since(heard) > patience {
			return fmt.Errorf("%d calls have had neither an answer nor an error for %v", s.inFlight, patience)
		}
		if s.laptop != nil && s.laptop.ready && !calm {
			// Spread over the phase, so that every fault meets calls, and in lots, so that
			// it meets many at one time.
			due := n
			if d := time.Since(began); d < s.o.phase {
				due = int(float64(n)*float64(d)/float64(s.o.phase)) / lot * lot
			} else if toKill > 0 {
				due = made + lot
			}
			for s.inFlight < s.o.window && len(s.calls)-first < due {
				n := len(s.calls)
				s.calls = append(s.calls, newCall(s.o.seed, n))
				s.inFlight++
				if err := s.laptop.c.Send(s.calls[n].request(n, s.laptop.stateful, s.counter)); err != nil {
					return fmt.Errorf("the laptop's process takes no call: %w: %s", err, s.laptop.c.Stderr())
				}
			}
		}
		select {
		case raw, ok := <-s.messages():
			if !ok {
				return fmt.Errorf("the laptop's process ended by itself: %s", s.laptop.c.Stderr())
			}
			heard = time.Now()
			if err := s.take(raw, r); err != nil {
				return err
			}
		case <-tick.C:
			s.memory(r)
		case <-killBoard:
			killBoard = nil
			toKill--
			s.killBoard()
			startBoard = time.After(time.Duration(rng.Int64N(int64(s.o.phase / 30))))
		case <-startBoard:
			if err := s.startBoard(); err != nil {
				return err
			}
			r.boards++
			startBoard = nil
			if killBoard == nil && !calm {
				killBoard = next(p.board)
			}
		case <-killLaptop:
			killLaptop = nil
			toKill--
			s.killLaptop()
			startLaptop = time.After(time.Duration(rng.Int64N(int64(s.o.phase / 30))))
		case <-startLaptop:
			if err := s.startLaptop(p.find && !calm, rng); err != nil {
				return err
			}
			r.laptops++
			startLaptop = nil
			if killLaptop == nil && !calm {
				killLaptop = next(p.laptop)
			}
		}
	}
	r.took, r.calls = time.Since(began), len(s.calls)-first
	for _, c := range s.calls[first:] {
		r.outcomes[c.outcome]++
	}
	after := s.damage()
	r.sent, r.delivered, r.damaged, r.lost, r.text = after[0]-before[0], after[1]-before[1], after[2]-before[2], after[3]-before[3], after[4]-before[4]
	if len(s.reports) == 1 {
		fmt.Println(heading)
	}
	fmt.Println(r)
	return nil
}

// begin makes what a phase has seldom happen once at its beginning.
func (s *soak) begin(f cable.Faults, rng *rand.Rand) {
	for _, kind := range []struct {
		mean time.Duration
		do   func(from cable.End)
	}{
		{f.Stall, func(from cable.End) { s.cable.Stall(from, cable.StallTime) }},
		{f.Cut, func(from cable.End) { s.cable.Cut(from, cable.CutTime) }},
		{f.Garble, func(from cable.End) { s.cable.Garble(from, cable.GarbleTime) }},
	} {
		if from := cable.End(rng.IntN(2)); kind.mean > 0 {
			kind.do(from)
		}
	}
}

func startIf(now bool) <-chan time.Time {
	if now {
		return time.After(0)
	}
	return nil
}

// damage is the counts of both directions: bytes sent, delivered, damaged, lost, and
// of others' text.
func (s *soak) damage() (sum [5]int64) {
	for _, e := range []cable.End{cable.A, cable.B} {
		n := s.cable.Counts(e)
		for i, v := range []int64{n.Sent, n.Delivered, n.Flipped + n.Inserted + n.Repeated + n.Noise + n.Garbled,
			n.Dropped + n.Cut + n.Unheard + n.Overrun, n.Text} {
			sum[i] += v
		}
	}
	return sum
}

// take takes a message of the laptop's.
func (s *soak) take(raw []byte, r *report) error {
	m, err := client.Parse(raw)
	switch {
	case err != nil:
		return err
	case m.Method != "": // a notification
		return nil
	case string(m.ID) == `"hello"`:
		return s.laptop.opened(m)
	}
	id, err := strconv.Atoi(string(m.ID))
	n := id - 1
	if err != nil || n < 0 || n >= len(s.calls) {
		return fmt.Errorf("an answer to nothing: %.300s", raw)
	}
	c := &s.calls[n]
	if c.outcome != waiting {
		return fmt.Errorf("call %d is answered again: %.300s", n, raw)
	}
	if c.outcome, err = c.judge(m, n, s.o.seed, s.lists[s.laptop.stateful]); err != nil {
		return fmt.Errorf("call %d: %w: %.300s", n, err, raw)
	}
	s.inFlight--
	if c.outcome == right {
		r.slowest = max(r.slowest, time.Since(c.sent))
	}
	return nil
}

// judge holds what was counted against what the callers were told, and the memory
// against its rules.
func (s *soak) judge() {
	s.finish()
	runs, wrong := s.counter.counted()
	for _, text := range wrong {
		s.fail("what the counter was asked: %s", text)
	}
	for n := range runs {
		if n >= len(s.calls) || s.calls[n].kind == list {
			s.fail("call %d ran, which nobody made", n)
		}
	}
	var total [5]int
	done := [5]int{}
	twice := 0
	for n := range s.calls {
		c := &s.calls[n]
		total[c.outcome]++
		done[c.outcome] += runs[n]
		switch {
		case runs[n] > 1:
			twice++
			s.fail("call %d ran %d times", n, runs[n])
		case c.outcome == right && runs[n] == 0 && c.kind != list:
			s.fail("call %d was answered and never ran", n)
		case c.outcome == notDone && runs[n] != 0:
			s.fail("call %d ran, and an error said that it was not done", n)
		case c.outcome == waiting:
			s.fail("call %d was neither answered nor failed", n)
		}
		if len(s.failures) > 20 {
			break
		}
	}
	fmt.Printf("\n%d calls: %d answered rightly and run once, %d with an error that says not done and not run,\n"+
		"%d with an error that says unknown, of which %d ran, %d whose client was killed, of which %d ran; %d ran twice\n",
		len(s.calls), total[right], total[notDone], total[unknown], done[unknown], total[gone], done[gone], twice)
	var clean *report
	for i := range s.reports {
		r := &s.reports[i]
		for _, end := range []struct {
			name string
			kib  int
		}{{"board", r.boardMemory}, {"laptop", r.laptopMemory}} {
			if end.kib > mostMemory {
				s.fail("%s: the %s's process had %d KiB, at most %d are right", r.name, end.name, end.kib, mostMemory)
			}
		}
		switch {
		case r.name == "clean":
			clean = r
		case r.name == "clean again" && clean != nil:
			fmt.Printf("memory from %q to %q: board %d to %d KiB, laptop %d to %d KiB\n", clean.name, r.name,
				clean.boardMemory, r.boardMemory, clean.laptopMemory, r.laptopMemory)
			if clean.calls >= warm && max(r.boardMemory-clean.boardMemory, r.laptopMemory-clean.laptopMemory) > mostGrowth {
				s.fail("the memory has grown by more than %d KiB", mostGrowth)
			}
		}
	}
}

// finish ends both processes as a user does.
func (s *soak) finish() {
	if s.board == nil || s.laptop == nil || len(s.failures) > 0 {
		return
	}
	if status := s.laptop.c.Close(); status != 0 {
		s.fail("at the end of its input the laptop's process ends with status %d: %s", status, s.laptop.c.Stderr())
	}
	for range s.laptop.messages {
	}
	if err := s.board.stop(syscall.SIGTERM); err != nil {
		s.fail("at SIGTERM the board's process ends with %v: %s", err, s.board.said.String())
	}
	s.board, s.laptop = nil, nil
}

// remember keeps what a process has said.
func (s *soak) remember(who, said string) {
	s.said = append(s.said, who+" said:\n"+said)
	s.said = s.said[max(0, len(s.said)-4):]
}

// memory samples what both ends have.
func (s *soak) memory(r *report) {
	if s.board != nil {
		r.boardMemory = max(r.boardMemory, memoryOf(s.board.cmd.Process.Pid))
	}
	if s.laptop != nil {
		r.laptopMemory = max(r.laptopMemory, memoryOf(s.laptop.c.Pid()))
	}
}

const heading = "phase          calls    right notdone unknown    gone boards laptops    time slowest   sent KB damaged    lost    text  board KiB laptop KiB"

func (r report) String() string {
	return fmt.Sprintf("%-12s %7d  %7d %7d %7d %7d %6d %7d %6.1fs %6.2fs %9.0f %7d %7d %7d %10d %10d", r.name, r.calls,
		r.outcomes[right], r.outcomes[notDone], r.outcomes[unknown], r.outcomes[gone], r.boards, r.laptops, r.took.Seconds(), r.slowest.Seconds(),
		float64(r.sent)/1e3, r.damaged, r.lost, r.text, r.boardMemory, r.laptopMemory)
}

// tellWhatWasSaid prints what the processes wrote to their standard error.
func (s *soak) tellWhatWasSaid() {
	for _, text := range s.said {
		fmt.Println(text)
	}
	if s.board != nil {
		fmt.Printf("the board's process said:\n%s\n", s.board.said.String())
	}
	if s.laptop != nil {
		fmt.Printf("the laptop's process said:\n%s\n", s.laptop.c.Stderr())
	}
	for _, n := range s.stuck() {
		c := &s.calls[n]
		fmt.Printf("call %d, made %v ago: kind %d, %d registers or coils, %d bytes of padding\n",
			n, time.Since(c.sent).Round(time.Millisecond), c.kind, c.count, c.pad)
	}
}

// stuck are the first few calls that still wait.
func (s *soak) stuck() (all []int) {
	for n, c := range s.calls {
		if c.outcome == waiting && len(all) < 10 {
			all = append(all, n)
		}
	}
	return all
}
