package sim

import (
	"math"
	"time"
)

// adc is a converter of 10 bits and 8 channels like the MCP3008 (Microchip,
// DS21295D, 5.0 and 6.1): after a start bit come single-ended or not and three
// bits of the channel, and from the seventh bit behind the start bit on the value,
// highest bit first, then again the other way round.
type adc struct {
	channels [8]wave // as shares of the reference
}

func newADC(seed int64) *adc {
	a := &adc{}
	for i := range a.channels {
		a.channels[i] = newWave(seed, 8+i, 0.1*float64(i+1), 0.05, time.Duration(i+1)*time.Minute)
	}
	return a
}

const adcFull = 1023

func (a *adc) exchange(now time.Time, out, in []byte) {
	bit := func(i int) int {
		if i >= 8*len(out) {
			return 0
		}
		return int(out[i/8] >> (7 - i%8) & 1)
	}
	start := 0
	for start < 8*len(out) && bit(start) == 0 {
		start++
	}
	value := a.convert(now, bit(start+1) == 1, bit(start+2)<<2|bit(start+3)<<1|bit(start+4))
	for i := range 19 {
		at, from := start+7+i, 9-i
		if i > 9 {
			from = i - 9
		}
		if at < 8*len(in) {
			in[at/8] |= byte(value>>from&1) << (7 - at%8)
		}
	}
}

// convert measures a channel against ground, or against its neighbour.
func (a *adc) convert(now time.Time, single bool, channel int) int {
	v := a.channels[channel].at(now)
	if !single {
		v -= a.channels[channel^1].at(now)
	}
	return int(math.Round(min(max(v, 0), 1) * adcFull))
}
