package policy

import (
	"fmt"
	"slices"
	"strings"

	"boardhand/device"
)

// sensors shows the sensors that are open, with their values converted.
type sensors struct {
	naming
	inner device.Sensors
	bound []Sensor
}

func newSensors(inner device.Sensors, r *Rules) *sensors {
	return &sensors{newNaming(r, "sensor", "sensor", len(r.Sensors), AccessRead, func(i int) (*Rule, string) {
		return &r.Sensors[i].Rule, r.Sensors[i].Sensor
	}), inner, r.Sensors}
}

// Sensors implements device.Board: it is nil where no sensor is open.
func (b *Board) Sensors() device.Sensors {
	if b.sensors == nil {
		return nil
	}
	return b.sensors
}

// show is a sensor of the board as the model sees it.
func (s *sensors) show(t *thing, x device.Sensor) device.Sensor {
	x.Name, x.Description = t.shown, t.description()
	if t.rule != nil {
		x.Unit = s.bound[t.index].Unit
	}
	return x
}

// List implements device.Sensors.
func (s *sensors) List(dst []device.Sensor) ([]device.Sensor, error) {
	begin := len(dst)
	dst, err := s.inner.List(dst)
	keep := dst[:begin]
	for _, x := range dst[begin:] {
		if t, open := s.of(x.Name); open {
			keep = append(keep, s.show(t, x))
		}
	}
	slices.SortFunc(keep[begin:], func(a, b device.Sensor) int { return strings.Compare(a.Name, b.Name) })
	return keep, err
}

// Read implements device.Sensors.
func (s *sensors) Read(name string) (device.Sensor, device.Reading, error) {
	t, err := s.find(name)
	if err != nil {
		return device.Sensor{}, device.Reading{}, err
	}
	x, r, err := s.inner.Read(t.own)
	if err != nil {
		return x, r, named(err, t.own, t.shown)
	}
	if t.rule != nil {
		b := &s.bound[t.index]
		r.Value = b.convert(r.Value)
		if r.Suspect == "" {
			r.Suspect = b.suspect(r.Value, s.rules)
		}
	}
	return s.show(t, x), r, nil
}

// convert is what the sensor's value means.
func (s *Sensor) convert(v device.Decimal) device.Decimal {
	if s.Scale != nil {
		v = v.Mul(*s.Scale)
	}
	if s.Offset != nil {
		v = v.Add(*s.Offset)
	}
	return v
}

// suspect says why a value is none that the file expects, or is empty.
func (s *Sensor) suspect(v device.Decimal, r *Rules) string {
	f := v.Float()
	switch {
	case s.Min != nil && f < *s.Min:
		return fmt.Sprintf("below %v, the least that %s expects", *s.Min, r.where(s.At))
	case s.Max != nil && f > *s.Max:
		return fmt.Sprintf("above %v, the most that %s expects", *s.Max, r.where(s.At))
	}
	return ""
}

// Begin implements device.Sensors.
func (s *sensors) Begin(names []string, stop func() bool) {
	own := make([]string, 0, len(names))
	for _, name := range names {
		if t, err := s.find(name); err == nil {
			own = append(own, t.own)
		}
	}
	s.inner.Begin(own, stop)
}

// Capture implements device.Sensors.
func (s *sensors) Capture(names []string, n int, stop func() bool) (device.Capture, error) {
	own := make([]string, len(names))
	things := make([]*thing, len(names))
	for i, name := range names {
		t, err := s.find(name)
		if err != nil {
			return device.Capture{}, err
		}
		own[i], things[i] = t.own, t
	}
	c, err := s.inner.Capture(own, n, stop)
	for i := range c.Samples {
		x, t := &c.Samples[i], things[i]
		x.Sensor = s.show(t, x.Sensor)
		if t.rule == nil {
			continue
		}
		b := &s.bound[t.index]
		for j := range x.Values {
			x.Values[j] = b.convert(x.Values[j])
			if x.Suspect == "" {
				x.Suspect = b.suspect(x.Values[j], s.rules)
			}
		}
	}
	return c, namedAmong(err, own, names)
}
