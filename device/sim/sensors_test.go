package sim

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"boardhand/device"
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

func TestTheThermometerShowsItsPowerOnValueFirst(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	b := opened(t, Wiring{Now: func() time.Time { return now }})
	_, r, err := b.sensors.Read(thermometer)
	if err != nil || r.Value != (device.Decimal{Value: 85000, Exp: -3}) || r.Suspect == "" {
		t.Errorf("at power-on %+v, %v", r, err)
	}
	now = now.Add(thermometerStarts)
	_, r, err = b.sensors.Read(thermometer)
	if err != nil || r.Value.Value < 20000 || r.Value.Value > 23000 || r.Suspect != "" {
		t.Errorf("afterwards %+v, %v", r, err)
	}
}

func TestACaptureOfTheAccelerometer(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	names := []string{"adxl345/accel_z", "adxl345/accel_x"}
	take := func(seed int64) device.Capture {
		c, err := opened(t, Wiring{Seed: seed, Now: func() time.Time { return now }}).sensors.Capture(names, 25, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	one, same, other := take(1), take(1), take(2)
	if !reflect.DeepEqual(one, same) || reflect.DeepEqual(one, other) {
		t.Error("the seed does not decide")
	}
	if one.Span != 240*time.Millisecond || len(one.Samples) != 2 {
		t.Errorf("%+v", one)
	}
	moved := false
	for i, v := range one.Samples[0].Values {
		if f := v.Float(); f < 9.7 || f > 9.9 {
			t.Errorf("the Z axis feels %v", f)
		}
		moved = moved || v != one.Samples[0].Values[0]
		if f := one.Samples[1].Values[i].Float(); f < 0 || f > 0.2 {
			t.Errorf("the X axis feels %v", f)
		}
	}
	if !moved {
		t.Error("there is no noise")
	}
	_, err := opened(t, Wiring{}).sensors.Capture([]string{"adxl345/accel_x", "supply"}, 2, nil)
	if !errors.Is(err, device.ErrNotSupport) {
		t.Error(err)
	}
	calls := 0
	c, err := opened(t, Wiring{}).sensors.Capture(names, 1000, func() bool { calls++; return calls > 3 })
	if err != nil || len(c.Samples[0].Values) >= 1000 || len(c.Samples[0].Values) == 0 {
		t.Errorf("a stopped capture gives %d samples, %v", len(c.Samples[0].Values), err)
	}
}
