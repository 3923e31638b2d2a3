package sim

import (
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// meter is a sensor and what it measures.
type meter struct {
	sensor device.Sensor
	exp    int8
	value  wave
}

// newMeters gives the board's sensors, by name. The fan follows the processor's
// temperature, so the two waves are one.
func newMeters(seed int64) []meter {
	const heat = 3
	return []meter{
		{device.Sensor{Name: "cpu-fan", Quantity: device.Speed, Source: "sim"}, 0,
			newWave(seed, heat, 2400, 300, 10*time.Minute)},
		{device.Sensor{Name: "cpu-thermal", Quantity: device.Temperature, Source: "sim"}, -3,
			newWave(seed, heat, 48, 4, 10*time.Minute)},
		{device.Sensor{Name: "supply", Label: "5V", Quantity: device.Voltage, Source: "sim"}, -3,
			newWave(seed, heat+1, 5.08, 0.03, 3*time.Minute)},
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

// Read measures at once.
func (s *sensors) Read(name string) (device.Sensor, device.Reading, error) {
	if s.closed.Load() {
		return device.Sensor{}, device.Reading{}, errClosed()
	}
	for _, m := range s.hw.meters {
		if m.sensor.Name == name {
			now := s.hw.now()
			value := int64(math.Round(m.value.at(now) * math.Pow10(-int(m.exp))))
			return m.sensor, device.Reading{Value: device.Decimal{Value: value, Exp: m.exp}, Time: now}, nil
		}
	}
	return device.Sensor{}, device.Reading{}, &device.Error{Subject: fmt.Sprintf("sensor %.64q", name), Kind: device.ErrNotFound,
		Hint: fmt.Sprintf("sensor_list shows %d sensors", len(s.hw.meters))}
}
