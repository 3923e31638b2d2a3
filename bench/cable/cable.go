//go:build linux

package cable

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// End is one end of a cable. As a direction it means the bytes that come from there.
type End int

// The ends. Where a board is at one of them, it is B.
const (
	A End = iota
	B
)

func (e End) other() End { return 1 - e }

// Config is how a cable is made.
type Config struct {
	// A and B are the paths of the ends: symbolic links, made by Open, replaced at each
	// Plug and removed by Close. One that exists must be a symbolic link.
	A, B string
	// Baud is the speed of the line in bits per second whatever the ends have set; with
	// 0 bytes leave at the speed that their sender has set, and are garbled where the
	// receiver has set another one.
	Baud   int
	Seed   uint64 // of all chance: the same bytes meet the same faults
	Faults Faults
}

// Cable is a cable whose relay runs. Its methods may be called from any goroutine.
type Cable struct {
	paths  [2]string
	wires  [2]*wire
	closed atomic.Bool
	done   sync.WaitGroup
	events events

	mu   [2]sync.RWMutex // while it is held for reading, the end stays what it is
	ends [2]*pty         // nil while unplugged
}

// Open makes a cable with both ends plugged in.
func Open(cfg Config) (*Cable, error) {
	if cfg.Baud < 0 {
		return nil, fmt.Errorf("baud %d: give a positive number, or 0 for what the ends set", cfg.Baud)
	}
	c := &Cable{paths: [2]string{cfg.A, cfg.B}}
	for _, e := range []End{A, B} {
		c.wires[e] = newWire(c, e, cfg)
		if err := c.Plug(e); err != nil {
			c.unplugAll()
			return nil, err
		}
	}
	c.events.start(c, cfg)
	for _, w := range c.wires {
		c.done.Go(w.run)
	}
	return c, nil
}

// Path is where a program opens an end.
func (c *Cable) Path(e End) string { return c.paths[e] }

// Close pulls both ends out for good.
func (c *Cable) Close() {
	c.closed.Store(true)
	c.events.stop()
	c.done.Wait()
	c.unplugAll()
}

func (c *Cable) unplugAll() {
	for _, e := range []End{A, B} {
		c.Unplug(e)
	}
}

// Unplug pulls an end out: a program that has it open sees its terminal hang up, and
// its path is gone. What was on its way is lost.
func (c *Cable) Unplug(e End) {
	c.mu[e].Lock()
	defer c.mu[e].Unlock()
	if c.ends[e] == nil {
		return
	}
	_ = os.Remove(c.paths[e])
	c.ends[e].close()
	c.ends[e] = nil
}

// Plug plugs an end in that was pulled out: another terminal under the same path.
func (c *Cable) Plug(e End) error {
	c.mu[e].Lock()
	defer c.mu[e].Unlock()
	if c.ends[e] != nil {
		return nil
	}
	p, err := openPTY()
	if err != nil {
		return err
	}
	if err := link(p.slave, c.paths[e]); err != nil {
		p.close()
		return err
	}
	c.ends[e] = p
	return nil
}

// replace is Unplug and Plug of an end that is still the same one.
func (c *Cable) replace(e End, old *pty) {
	c.mu[e].Lock()
	defer c.mu[e].Unlock()
	p, err := openPTY()
	if err != nil || c.ends[e] != old || link(p.slave, c.paths[e]) != nil {
		if err == nil {
			p.close()
		}
		return
	}
	old.close()
	c.ends[e] = p
}

// link makes path lead to target, at once where it has led elsewhere.
func link(target, path string) error {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Errorf("%s is no symbolic link; name a path that may be replaced", path)
	}
	next := path + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.Symlink(target, next); err != nil {
		return err
	}
	return os.Rename(next, path)
}

// SetFaults changes the faults of both directions from now on. What goes on, a stall
// for instance, goes on.
func (c *Cable) SetFaults(f Faults) {
	for _, w := range c.wires {
		w.set(func(s *state) { s.faults = f })
	}
	c.events.set(f)
}

// Seed makes all chance follow seed from now on, as if the cable were new.
func (c *Cable) Seed(seed uint64) {
	for _, w := range c.wires {
		w.set(func(s *state) { s.seed = &seed })
	}
	c.events.reseed(seed)
}

// Noise puts n bytes of noise onto the line from an end; they take the place of what
// is sent meanwhile.
func (c *Cable) Noise(from End, n int) { c.wires[from].set(func(s *state) { s.noise += n }) }

// Inject puts bytes onto the line as if the end's kernel had written them, between
// those of the program.
func (c *Cable) Inject(from End, p []byte) {
	c.wires[from].set(func(s *state) { s.inject = append(s.inject, p...) })
}

// Stall holds all bytes from an end for a while; none is lost.
func (c *Cable) Stall(from End, d time.Duration) {
	c.wires[from].set(func(s *state) { s.stall = time.Now().Add(d) })
}

// Cut loses all bytes from an end for a while.
func (c *Cable) Cut(from End, d time.Duration) {
	c.wires[from].set(func(s *state) { s.cut = time.Now().Add(d) })
}

// Garble makes all bytes from an end arrive as if its baud were wrong, for a while.
func (c *Cable) Garble(from End, d time.Duration) {
	c.wires[from].set(func(s *state) { s.garble = time.Now().Add(d) })
}

// Counts is what became of the bytes from an end, so far.
func (c *Cable) Counts(from End) Counts {
	w := c.wires[from]
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts
}

// Counts counts bytes, and times that something happened.
type Counts struct {
	Sent      int64 // by the program at the end
	Delivered int64 // to the other end, what was not sent included
	Flipped   int64 // bytes with a wrong bit
	Dropped   int64
	Inserted  int64
	Repeated  int64
	Noise     int64 // bytes of noise
	Text      int64 // injected bytes
	Garbled   int64 // at a wrong baud
	Cut       int64 // lost while the direction was cut
	Unheard   int64 // no program had the other end open
	Overrun   int64 // the program at the other end did not read in time
}
