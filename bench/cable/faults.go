//go:build linux

package cable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Faults are what the line does to bytes, in each direction: to single ones by
// chance, and from time to time, exponentially distributed, to all of them.
type Faults struct {
	Bits                 float64 // chance that a bit is wrong
	Drop, Insert, Repeat float64 // chance per byte

	// Mean times between, 0 for never. Which direction or end it is falls by chance.
	Noise  time.Duration // NoiseLength bytes of it
	Text   time.Duration // a few lines as a kernel or a getty writes them, from B only
	Stall  time.Duration // nothing passes for StallTime, none of it is lost
	Cut    time.Duration // all is lost for CutTime
	Garble time.Duration // all is garbled for GarbleTime
	Unplug time.Duration // an end is out for UnplugTime
}

// What the faults with a mean time between take.
const (
	NoiseLength = 200 // bytes
	StallTime   = 5 * time.Second
	CutTime     = 2 * time.Second
	GarbleTime  = 2 * time.Second
	UnplugTime  = time.Second
)

// ParseFaults reads faults as a person writes them: "bits=0.001,drop=0.01,
// insert=0.01,repeat=0.01,noise=2s,text=1s,stall=30s,cut=30s,garble=60s,unplug=10s",
// any of them, in any order.
func ParseFaults(text string) (Faults, error) {
	var f Faults
	chances := map[string]*float64{"bits": &f.Bits, "drop": &f.Drop, "insert": &f.Insert, "repeat": &f.Repeat}
	times := map[string]*time.Duration{"noise": &f.Noise, "text": &f.Text, "stall": &f.Stall, "cut": &f.Cut, "garble": &f.Garble, "unplug": &f.Unplug}
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch {
		case chances[name] != nil:
			*chances[name], err = strconv.ParseFloat(value, 64)
			if err == nil && !(*chances[name] >= 0 && *chances[name] <= 1) {
				err = errors.New("a chance is from 0 to 1")
			}
		case times[name] != nil:
			*times[name], err = time.ParseDuration(value)
			if err == nil && *times[name] < 0 {
				err = errors.New("a mean time is not negative")
			}
		default:
			err = errors.New("no such fault; the chances are bits, drop, insert and repeat, the mean times noise, text, stall, cut, garble and unplug")
		}
		if err != nil {
			return f, fmt.Errorf("fault %q: %w", word, err)
		}
	}
	return f, nil
}

// apply does to single bytes what chance wants, in place where it can.
func (f *Faults) apply(p []byte, rng *rand.Rand, c *Counts) []byte {
	if f.Bits == 0 && f.Drop == 0 && f.Insert == 0 && f.Repeat == 0 {
		return p
	}
	out := make([]byte, 0, len(p)+8)
	for _, b := range p {
		if rng.Float64() < f.Drop {
			c.Dropped++
			continue
		}
		wrong := b
		for bit := range 8 {
			if rng.Float64() < f.Bits {
				wrong ^= 1 << bit
			}
		}
		if wrong != b {
			c.Flipped++
		}
		out = append(out, wrong)
		if rng.Float64() < f.Repeat {
			c.Repeated++
			out = append(out, wrong)
		}
		if rng.Float64() < f.Insert {
			c.Inserted++
			out = append(out, byte(rng.Uint32()))
		}
	}
	return out
}

// random appends n bytes of noise.
func (w *wire) random(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, byte(w.rng.Uint32()))
	}
	return dst
}

// garble appends n bytes as a receiver at another baud makes them: mostly runs of one
// level, for it samples bits that are longer or shorter than its own.
func (w *wire) garble(dst []byte, n int) []byte {
	const runs = "\x00\x80\xc0\xe0\xf0\xf8\xfc\xfe\xff"
	for range n {
		b := byte(w.rng.Uint32())
		if w.rng.IntN(3) > 0 {
			b = runs[w.rng.IntN(len(runs))]
		}
		dst = append(dst, b)
	}
	w.counts.Garbled += int64(n)
	return dst
}
