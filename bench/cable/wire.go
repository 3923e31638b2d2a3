//go:build linux

package cable

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// wire is one direction. Its goroutine has a thread of its own and sleeps by the
// kernel's clock: the runtime's timers are a millisecond late at times, as long as
// eleven bytes at 115200 baud.
type wire struct {
	c    *Cable
	from End
	baud int // 0: what the ends have set
	rng  *rand.Rand
	free time.Time // when the last byte has passed

	mu     sync.Mutex
	counts Counts
	state  state
}

// state is what is changed from outside.
type state struct {
	faults             Faults
	seed               *uint64 // of all chance from now on
	noise              int     // bytes to come
	inject             []byte  // to come
	stall, cut, garble time.Time
}

const (
	chunkTime = time.Millisecond      // bytes move in pieces of so much of the line
	idle      = 20 * time.Millisecond // how long a change from outside may wait
	spin      = 80 * time.Microsecond // a sleep ends so much too late, so the last part is not slept
	lateness  = 5 * time.Millisecond  // by which bytes may be delivered early after the relay was late itself
)

func newWire(c *Cable, from End, cfg Config) *wire {
	w := &wire{c: c, from: from, baud: cfg.Baud}
	w.state.faults, w.state.seed = cfg.Faults, &cfg.Seed
	return w
}

func (w *wire) set(change func(*state)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.state)
}

func (w *wire) run() {
	runtime.LockOSThread() // and never unlocked: the thread ends with its timer slack
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	var buf, out []byte
	for !w.c.closed.Load() {
		w.mu.Lock()
		s := w.state
		if s.seed != nil {
			w.rng, w.state.seed = rand.New(rand.NewPCG(*s.seed, uint64(w.from))), nil
		}
		w.mu.Unlock()
		now := time.Now()
		if d := s.stall.Sub(now); d > 0 {
			time.Sleep(min(d, idle))
			continue
		}
		tx, _ := w.speeds()
		chunk := max(1, int(int64(tx)*int64(chunkTime)/int64(10*time.Second)))
		if cap(buf) < chunk {
			buf = make([]byte, chunk)
		}
		var waited bool
		var n int // byte times
		kind := &w.counts.Sent
		switch {
		case s.noise > 0:
			n = min(s.noise, chunk)
			lost := len(w.read(buf[:n], 0))
			out = w.random(out[:0], n)
			w.mu.Lock()
			w.state.noise -= n
			w.counts.Sent += int64(lost)
			w.counts.Dropped += int64(lost)
			w.mu.Unlock()
			kind = &w.counts.Noise
		case len(s.inject) > 0:
			n = min(len(s.inject), chunk)
			out = append(out[:0], s.inject[:n]...)
			w.set(func(s *state) { s.inject = s.inject[n:] })
			kind = &w.counts.Text
		default:
			got := w.read(buf[:chunk], 0)
			if len(got) == 0 {
				waited = true
				got = w.read(buf[:chunk], idle)
			}
			if len(got) == 0 {
				continue
			}
			n = len(got)
			out = append(out[:0], got...)
		}
		tx, rx := w.speeds() // they, and the state, may have changed while nothing came
		w.mu.Lock()
		s = w.state
		*kind += int64(n)
		out = s.faults.apply(out, w.rng, &w.counts)
		switch now := time.Now(); {
		case s.cut.After(now):
			w.counts.Cut += int64(len(out))
			out = out[:0]
		case tx != rx:
			out = w.garble(out[:0], max(1, n*rx/tx))
		case s.garble.After(now):
			out = w.garble(out[:0], n)
		}
		w.mu.Unlock()
		w.pass(max(n, len(out)), tx, waited)
		w.write(out)
	}
}

// speeds are the bauds of the sender and of the receiver.
func (w *wire) speeds() (tx, rx int) {
	if w.baud > 0 {
		return w.baud, w.baud
	}
	speed := func(e End) int {
		w.c.mu[e].RLock()
		defer w.c.mu[e].RUnlock()
		if p := w.c.ends[e]; p != nil {
			if baud := p.baud(); baud > 0 {
				return baud
			}
		}
		return 9600
	}
	return speed(w.from), speed(w.from.other())
}

// read waits so long at most for bytes from the end.
func (w *wire) read(b []byte, wait time.Duration) []byte {
	w.c.mu[w.from].RLock()
	p := w.c.ends[w.from]
	got, open := p.read(b, wait)
	left := p != nil && p.open && !open
	if p != nil {
		p.open = open
	}
	stuck := left && p.reset() != nil
	w.c.mu[w.from].RUnlock()
	if stuck {
		w.c.replace(w.from, p)
	}
	if !open {
		time.Sleep(min(wait, idle/2)) // poll does not wait for somebody to open it
	}
	return got
}

// pass lets the time go by that n bytes need on the line. They have begun when the
// last ones had passed, or just now where the line was waiting for them.
func (w *wire) pass(n, baud int, waited bool) {
	now := time.Now()
	if waited || w.free.Before(now.Add(-lateness)) {
		w.free = now
	}
	w.free = w.free.Add(time.Duration(int64(n) * int64(10*time.Second) / int64(baud)))
	for d := time.Until(w.free); d > 0; d = time.Until(w.free) {
		if d > spin {
			t := unix.NsecToTimespec(int64(d - spin))
			_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
		}
	}
}

func (w *wire) write(b []byte) {
	if len(b) == 0 {
		return
	}
	to := w.from.other()
	w.c.mu[to].RLock()
	defer w.c.mu[to].RUnlock()
	n, lost := 0, &w.counts.Unheard
	if p := w.c.ends[to]; p != nil && p.heard() {
		lost = &w.counts.Overrun
		n, _ = unix.Write(p.fd, b) // what does not fit is lost, as in a UART
		n = max(0, n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Delivered += int64(n)
	*lost += int64(len(b) - n)
}
