//go:build linux

package cable

import (
	"math/rand/v2"
	"sync"
	"time"
)

// events makes happen what has a mean time between.
type events struct {
	c    *Cable
	rng  *rand.Rand
	wake chan struct{} // the faults have changed, or the end has come
	done sync.WaitGroup

	mu     sync.Mutex
	faults Faults
	seed   *uint64 // to go on with
}

func (v *events) start(c *Cable, cfg Config) {
	v.c, v.faults = c, cfg.Faults
	v.seed = &cfg.Seed
	v.wake = make(chan struct{}, 1)
	v.done.Go(v.run)
}

func (v *events) set(f Faults) {
	v.mu.Lock()
	v.faults = f
	v.mu.Unlock()
	v.poke()
}

func (v *events) reseed(seed uint64) {
	v.mu.Lock()
	v.seed = &seed
	v.mu.Unlock()
	v.poke()
}

func (v *events) stop() {
	v.poke()
	v.done.Wait()
}

func (v *events) poke() {
	select {
	case v.wake <- struct{}{}:
	default:
	}
}

func (v *events) run() {
	for !v.c.closed.Load() {
		v.mu.Lock()
		f := v.faults
		if v.seed != nil {
			v.rng, v.seed = rand.New(rand.NewPCG(*v.seed, 2)), nil
		}
		v.mu.Unlock()
		wait, happen := v.next(f)
		timer := time.NewTimer(wait)
		select {
		case <-v.wake:
		case <-timer.C:
			happen()
		}
		timer.Stop()
	}
}

// next draws what happens first, and after what time.
func (v *events) next(f Faults) (wait time.Duration, happen func()) {
	wait = time.Hour
	happen = func() {}
	for _, kind := range []struct {
		mean time.Duration
		do   func(e End)
	}{
		{f.Noise, func(e End) { v.c.Noise(e, NoiseLength) }},
		{f.Text, func(End) { v.c.Inject(B, []byte(Texts[v.rng.IntN(len(Texts))])) }},
		{f.Stall, func(e End) { v.c.Stall(e, StallTime) }},
		{f.Cut, func(e End) { v.c.Cut(e, CutTime) }},
		{f.Garble, func(e End) { v.c.Garble(e, GarbleTime) }},
		{f.Unplug, v.replug},
	} {
		if kind.mean == 0 {
			continue
		}
		if d := time.Duration(v.rng.ExpFloat64() * float64(kind.mean)); d < wait {
			wait, happen = d, func() { kind.do(End(v.rng.IntN(2))) }
		}
	}
	return wait, happen
}

func (v *events) replug(e End) {
	v.c.Unplug(e)
	select {
	case <-v.wake:
		v.poke() // for run
	case <-time.After(UnplugTime):
	}
	for !v.c.closed.Load() && v.c.Plug(e) != nil {
		time.Sleep(UnplugTime) // no terminal to be had just now
	}
}

// Texts is what else is written on a board's serial port: by a boot loader, by the
// kernel and by a login.
var Texts = []string{
	"\r\n\r\nU-Boot 2025.01 (Jan 06 2025 - 12:00:00 +0000)\r\n\r\nDRAM:  512 MiB\r\nHit any key to stop autoboot:  2 \b\b\b 1 \b\b\b 0 \r\n",
	"[    0.000000] Booting Linux on physical CPU 0x0\r\n[    0.000000] Machine model: Some Board Rev 1.1\r\n",
	"[  812.114233] usb 1-1: new high-speed USB device number 4 using dwc2\r\n",
	"[  813.002187] Under-voltage detected! (0x00050005)\r\n",
	"\r\nDebian GNU/Linux 12 board ttyAMA0\r\n\r\nboard login: ",
	"Password: \r\nLogin incorrect\r\nboard login: ",
	`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n",
}
