package tools

import (
	"testing"
	"time"

	"boardhand/device"
)

// meters are sensors that measure the same for ever.
type meters struct{ listed int }

func (m *meters) List(dst []device.Sensor) ([]device.Sensor, error) {
	m.listed++
	return append(dst,
		device.Sensor{Name: "bme280/temp1", Quantity: device.Temperature, Source: "hwmon"},
		device.Sensor{Name: "cpu-thermal", Quantity: device.Temperature, Source: "thermal"}), nil
}

func (m *meters) Read(name string) (device.Sensor, device.Reading, error) {
	if name != "bme280/temp1" {
		return device.Sensor{}, device.Reading{}, &device.Error{Subject: "sensor", Kind: device.ErrNotFound}
	}
	return device.Sensor{Name: name, Quantity: device.Temperature}, device.Reading{
		Value: device.Decimal{Value: -21500, Exp: -3},
		Time:  time.Date(2026, 1, 2, 3, 4, 5, 600e6, time.FixedZone("", 3600)),
	}, nil
}

func TestSensorBehindABusHasAQueue(t *testing.T) {
	m := &meters{}
	c := newClient(t, noBoard{sensors: m})
	const want = `{"sensor":"bme280/temp1","value":-21.5,"unit":"°C","time":"2026-01-02T02:04:05.600Z"}`
	for range 3 {
		if got := c.must("sensor_read", `{"sensor":"bme280/temp1"}`); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if m.listed != 1 {
		t.Errorf("the sensors were listed %d times", m.listed)
	}
	for _, uri := range []string{"sensor://bme280/temp1", "sensor://bme280%2Ftemp1"} {
		if a, raw := c.ask("resources/read", `"uri":"`+uri+`"`); len(a.Result.Contents) != 1 || a.Result.Contents[0].Text != want {
			t.Error(raw)
		}
	}
	s := &sensorTools{sensors: m}
	for name, want := range map[string]string{"bme280/temp1": "sensor bme280", "cpu-thermal": "", "none": ""} {
		for range 2 {
			if got := s.queueOf(name); got != want {
				t.Errorf("%s has the queue %q, not %q", name, got, want)
			}
		}
	}
}
