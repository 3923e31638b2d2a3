package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// meter is a sensor and what it measures at a time.
type meter struct {
	sensor  device.Sensor
	measure func(t time.Time) (v device.Decimal, suspect string)
	takes   time.Duration // a measurement
}

// newMeters gives the board's sensors, by name. The fan follows the processor's
// temperature, so the two waves are one.
func newMeters(seed int64, booted time.Time) []meter {
	const heat = 3
	meters := []meter{
		{device.Sensor{Name: "cpu-fan", Quantity: device.Speed, Source: "sim"},
			whole(newWave(seed, heat, 2400, 300, 10*time.Minute), 0), 0},
		{device.Sensor{Name: "cpu-thermal", Quantity: device.Temperature, Source: "sim"},
			whole(newWave(seed, heat, 48, 4, 10*time.Minute), -3), 0},
		{device.Sensor{Name: "supply", Label: "5V", Quantity: device.Voltage, Source: "sim"},
			whole(newWave(seed, heat+1, 5.08, 0.03, 3*time.Minute), -3), 0},
	}
	meters = append(meters, newThermometer(seed, booted))
	meters = append(meters, newAccelerometer(seed)...)
	slices.SortFunc(meters, func(a, b meter) int { return strings.Compare(a.sensor.Name, b.sensor.Name) })
	return meters
}

// whole is a wave in whole numbers of 10^exp.
func whole(w wave, exp int8) func(time.Time) (device.Decimal, string) {
	return func(t time.Time) (device.Decimal, string) {
		return device.Decimal{Value: int64(math.Round(w.at(t) * math.Pow10(-int(exp)))), Exp: exp}, ""
	}
}

// sensors is one board's access to the meters.
type sensors struct {
	hw     *hardware
	closed atomic.Bool
}

// List appends every sensor.
func (s *sensors) List(dst []device.Sensor) ([]device.Sensor, error) {
	if s.closed.Load() {
		return dst, errClosed()
	}
	for _, m := range s.hw.meters {
		dst = append(dst, m.sensor)
	}
	return dst, nil
}

// Read measures. The 1-Wire thermometer takes its time.
func (s *sensors) Read(name string) (device.Sensor, device.Reading, error) {
	m, err := s.find(name)
	if err != nil {
		return device.Sensor{}, device.Reading{}, err
	}
	if m.takes > 0 {
		s.wait(m.takes, nil)
	}
	now := s.hw.now()
	v, suspect := m.measure(now)
	return m.sensor, device.Reading{Value: v, Time: now, Suspect: suspect}, nil
}

func (s *sensors) find(name string) (*meter, error) {
	if s.closed.Load() {
		return nil, errClosed()
	}
	for i := range s.hw.meters {
		if s.hw.meters[i].sensor.Name == name {
			return &s.hw.meters[i], nil
		}
	}
	return nil, &device.Error{Subject: fmt.Sprintf("sensor %.64q", name), Kind: device.ErrNotFound,
		Hint: fmt.Sprintf("sensor_list shows %d sensors", len(s.hw.meters))}
}

// wait waits on the real clock; it ends early when the board is closed or stop,
// which may be nil, is true.
func (s *sensors) wait(d time.Duration, stop func() bool) (whole bool) {
	const step = 20 * time.Millisecond
	for ; d > 0; d -= step {
		if s.closed.Load() || stop != nil && stop() {
			return false
		}
		time.Sleep(min(d, step))
	}
	return true
}

// Begin has nothing to do: the board has one thermometer on its 1-Wire bus.
func (s *sensors) Begin([]string, func() bool) {}

// Capture takes samples of the accelerometer, at the rate that it has.
func (s *sensors) Capture(names []string, n int, stop func() bool) (device.Capture, error) {
	if len(names) == 0 || n < 1 || n > device.MaxSamples {
		return device.Capture{}, &device.Error{Subject: fmt.Sprintf("capture of %d samples", n), Kind: device.ErrNotSupport,
			Hint: fmt.Sprintf("1 to %d samples of at least one sensor are allowed", device.MaxSamples)}
	}
	c := device.Capture{}
	meters := make([]*meter, len(names))
	for i, name := range names {
		m, err := s.find(name)
		if err != nil {
			return device.Capture{}, err
		}
		if m.sensor.Waits != accelerometer {
			return device.Capture{}, &device.Error{Subject: fmt.Sprintf("sensor %q", name), Kind: device.ErrNotSupport,
				Reason: "has no buffer", Hint: "read it again and again"}
		}
		meters[i] = m
		c.Samples = append(c.Samples, device.Samples{Sensor: m.sensor, Values: make([]device.Decimal, 0, n)})
	}
	c.Time = s.hw.now().Truncate(accelerometerPeriod)
	took := 0
	for ; took < n; took++ {
		if took > 0 && took%accelerometerBurst == 0 && !s.wait(accelerometerBurst*accelerometerPeriod, stop) {
			break
		}
		for i, m := range meters {
			v, suspect := m.measure(c.Time.Add(time.Duration(took) * accelerometerPeriod))
			c.Samples[i].Values = append(c.Samples[i].Values, v)
			if c.Samples[i].Suspect == "" {
				c.Samples[i].Suspect = suspect
			}
		}
	}
	c.Span = time.Duration(took-1) * accelerometerPeriod
	return c, nil
}
