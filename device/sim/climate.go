package sim

import (
	"math"
	"time"
)

// wave is a value that moves slowly and smoothly about its mean: two sines of
// which the second, a fifth as high, has no common period with the first.
type wave struct {
	mean, swing float64
	period      time.Duration
	phase       float64 // in turns
}

func (w wave) at(t time.Time) float64 {
	turns := float64(t.UnixMilli())/float64(w.period.Milliseconds()) + w.phase
	return w.mean + w.swing*(0.8*math.Sin(2*math.Pi*turns)+0.2*math.Sin(2*math.Pi*turns*math.Sqrt(29)))
}

// newWave shifts a wave by the seed and by which of the board's waves it is.
func newWave(seed int64, which int, mean, swing float64, period time.Duration) wave {
	// The golden ratio spreads neighbouring numbers over a turn.
	_, phase := math.Modf(float64(uint64(seed)%(1<<20))*math.Phi + float64(which)*math.Sqrt2)
	return wave{mean, swing, period, phase}
}

// climate is the air around the board: 20 to 23 °C, 1009 to 1017 hPa, 37 to 53 %.
func climate(seed int64) func(time.Time) surroundings {
	celsius := newWave(seed, 0, 21.5, 1.5, 40*time.Minute)
	pascal := newWave(seed, 1, 101300, 400, 7*time.Hour)
	percent := newWave(seed, 2, 45, 8, 70*time.Minute)
	return func(t time.Time) surroundings {
		return surroundings{celsius.at(t), pascal.at(t), percent.at(t)}
	}
}
