package sim

import (
	"math"
	"testing"
	"time"
)

func TestSensorsMoveSmoothlyWithinTheirRange(t *testing.T) {
	for name, c := range map[string]struct{ low, high, step float64 }{
		"cpu-thermal": {43.9, 52.1, 0.1},
		"cpu-fan":     {2099, 2701, 8},
		"supply":      {5.049, 5.111, 0.005},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1_700_000_000, 0)
			b := opened(t, Wiring{Now: func() time.Time { return now }})
			low, high, last := math.Inf(1), math.Inf(-1), math.NaN()
			for range 3600 {
				_, r, err := b.sensors.Read(name)
				if err != nil || !r.Time.Equal(now) {
					t.Fatal(r, err)
				}
				v := float64(r.Value.Value) * math.Pow10(int(r.Value.Exp))
				if v < c.low || v > c.high || math.Abs(v-last) > c.step {
					t.Fatalf("%v after %v", v, last)
				}
				low, high, last = min(low, v), max(high, v), v
				now = now.Add(time.Second)
			}
			if high-low < (c.high-c.low)/2 {
				t.Errorf("moved only from %v to %v in an hour", low, high)
			}
		})
	}
}

func TestTheSeedDecides(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	at := func(seed int64) int64 {
		_, r, err := opened(t, Wiring{Seed: seed, Now: func() time.Time { return now }}).sensors.Read("cpu-thermal")
		if err != nil {
			t.Fatal(err)
		}
		return r.Value.Value
	}
	if first, again := at(1), at(1); first != again {
		t.Error("one seed gave two values")
	}
	if at(1) == at(2) || at(0) == at(-1) {
		t.Error("two seeds gave one value")
	}
}
