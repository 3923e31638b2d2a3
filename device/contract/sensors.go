package contract

import (
	"slices"
	"testing"

	"boardhand/device"
)

// Sensors tests what a board measures. A listed sensor that cannot be read just
// now is no fault, if it says so in a *device.Error.
func Sensors(t *testing.T, b device.Board) {
	s := b.Sensors()
	if s == nil {
		t.Fatal("the board has no sensors")
	}
	list, err := s.List([]device.Sensor{{Name: ""}})
	must(t, err)
	if len(list) < 2 {
		t.Fatal("the board lists no sensors")
	}
	t.Run("are listed by name, each once", func(t *testing.T) {
		for i, sensor := range list[1:] {
			if sensor.Name <= list[i].Name {
				t.Errorf("%q comes after %q", sensor.Name, list[i].Name)
			}
			if sensor.Source == "" || sensor.Quantity.String() == "" || sensor.Quantity.Unit() == "" {
				t.Errorf("%+v lacks its source or its quantity", sensor)
			}
		}
	})
	t.Run("measure what the list says", func(t *testing.T) {
		for _, sensor := range list[1:] {
			got, reading, err := s.Read(sensor.Name)
			if _, ok := err.(*device.Error); ok {
				t.Logf("%s: %v", sensor.Name, err)
				continue
			}
			must(t, err)
			if got != sensor {
				t.Errorf("read %+v, listed %+v", got, sensor)
			}
			if reading.Time.IsZero() || reading.Value.Exp < -18 || reading.Value.Exp > 9 {
				t.Errorf("%s: %+v", sensor.Name, reading)
			}
		}
	})
	t.Run("are begun without a word", func(t *testing.T) {
		s.Begin(nil, nil)
		s.Begin([]string{"no such sensor", list[1].Name, list[1].Name}, func() bool { return true })
	})
	t.Run("are captured or say why not", func(t *testing.T) {
		for _, sensor := range list[1:] {
			capturing(t, s, sensor)
		}
		for _, n := range []int{-1, 0, device.MaxSamples + 1} {
			_, err := s.Capture([]string{list[1].Name}, n, nil)
			refused(t, err, device.ErrNotSupport)
		}
		_, err := s.Capture(nil, 1, nil)
		refused(t, err, device.ErrNotSupport)
		_, err = s.Capture([]string{"no such sensor"}, 1, nil)
		refused(t, err, device.ErrNotFound, "no such sensor")
	})
	t.Run("unknown are not found", func(t *testing.T) {
		for _, name := range []string{"no such sensor", "../../etc/passwd", list[1].Name + "/"} {
			_, _, err := s.Read(name)
			refused(t, err, device.ErrNotFound, name)
		}
	})
}

// capturing tests a capture of one sensor twice at once, where it has a buffer.
func capturing(t *testing.T, s device.Sensors, sensor device.Sensor) {
	const n = 3
	c, err := s.Capture([]string{sensor.Name, sensor.Name}, n, nil)
	if err != nil {
		if e, ok := err.(*device.Error); !ok || e.Hint == "" {
			t.Errorf("%s: %v gives no hint", sensor.Name, err)
		}
		return
	}
	if len(c.Samples) != 2 || c.Time.IsZero() || c.Span < 0 {
		t.Errorf("%s: %+v", sensor.Name, c)
		return
	}
	for _, samples := range c.Samples {
		if samples.Sensor != sensor || len(samples.Values) != n {
			t.Errorf("%s: %+v", sensor.Name, samples)
		}
	}
	if !slices.Equal(c.Samples[0].Values, c.Samples[1].Values) {
		t.Errorf("%s: one scan gave %v and %v", sensor.Name, c.Samples[0].Values, c.Samples[1].Values)
	}
}
