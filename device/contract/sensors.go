package contract

import (
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
			if reading.Time.IsZero() || reading.Value.Exp < -9 || reading.Value.Exp > 9 {
				t.Errorf("%s: %+v", sensor.Name, reading)
			}
		}
	})
	t.Run("unknown are not found", func(t *testing.T) {
		for _, name := range []string{"no such sensor", "../../etc/passwd", list[1].Name + "/"} {
			_, _, err := s.Read(name)
			refused(t, err, device.ErrNotFound, name)
		}
	})
}
