package tools

import (
	"slices"
	"strings"
	"testing"
	"time"

	"boardhand/device"
)

// meters are sensors that measure the same for ever.
type meters struct{ listed int }

func (m *meters) List(dst []device.Sensor) ([]device.Sensor, error) {
	m.listed++
	return append(dst,
		device.Sensor{Name: "bme280/temp1", Quantity: device.Temperature, Source: "hwmon", Waits: "sensor bme280"},
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

func (m *meters) Begin([]string, func() bool) {}

func (m *meters) Capture(names []string, _ int, _ func() bool) (device.Capture, error) {
	return device.Capture{}, &device.Error{Subject: "sensor", Kind: device.ErrNotSupport}
}

func TestSensorBehindABusHasAQueue(t *testing.T) {
	m := &meters{}
	c := newClient(t, noBoard{sensors: m})
	const want = `{"sensor":"bme280/temp1","value":-21.5,"unit":"°C","time":"2026-01-02T02:04:05.600Z"}`
	for range 3 {
		if got := c.must("sensor_read", `{"sensor":"bme280/temp1"}`); got != `{"sensors":[`+want+`]}` {
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

// workbench is sensors of which each has its own fate.
type workbench struct {
	begun    []string
	captures error
	reads    int
}

func (b *workbench) List(dst []device.Sensor) ([]device.Sensor, error) {
	for _, name := range []string{"a", "b", "broken", "chip/x", "slow"} {
		dst = append(dst, device.Sensor{Name: name, Quantity: device.Voltage, Source: "test"})
	}
	return dst, nil
}

func (b *workbench) Begin(names []string, _ func() bool) {
	b.begun = append(b.begun, strings.Join(names, " "))
}

func (b *workbench) Read(name string) (device.Sensor, device.Reading, error) {
	b.reads++
	s := device.Sensor{Name: name, Quantity: device.Voltage}
	r := device.Reading{Value: device.Decimal{Value: int64(b.reads), Exp: -3}, Time: time.Unix(1e9, 0)}
	switch name {
	case "b":
		r.Suspect = "a code"
	case "broken":
		return s, r, &device.Error{Subject: `sensor "broken"`, Kind: device.ErrNoAck, Hint: "check its wiring"}
	case "none":
		return s, r, &device.Error{Subject: `sensor "none"`, Kind: device.ErrNotFound}
	}
	return s, r, nil
}

func (b *workbench) Capture(names []string, n int, _ func() bool) (device.Capture, error) {
	if b.captures != nil {
		return device.Capture{}, b.captures
	}
	c := device.Capture{Time: time.Unix(1e9, 0), Span: 1500 * time.Millisecond}
	for i, name := range names {
		x := device.Samples{Sensor: device.Sensor{Name: name, Quantity: device.Voltage}, Suspect: "the first one"}
		for k := range n {
			x.Values = append(x.Values, device.Decimal{Value: int64(1000*(i+1) + k%2), Exp: -3})
		}
		c.Samples = append(c.Samples, x)
	}
	return c, nil
}

func TestSeveralSensorsAtOnce(t *testing.T) {
	b := &workbench{}
	c := newClient(t, noBoard{sensors: b})
	const at = `"time":"2001-09-09T01:46:40.000Z"`
	for _, tt := range []struct{ args, result, failure string }{
		{`{"sensor":["a","broken","b"]}`, `{"sensors":[{"sensor":"a","value":0.001,"unit":"V",` + at + `},` +
			`{"sensor":"broken","error":"sensor \"broken\": no acknowledge; check its wiring"},` +
			`{"sensor":"b","value":0.003,"unit":"V",` + at + `,"suspect":"a code"}]}`, ""},
		{`{"sensor":"broken"}`, "", `sensor "broken": no acknowledge; check its wiring`},
		{`{"sensor":["broken","broken"]}`, "", `sensor "broken": no acknowledge; check its wiring`},
		{`{"sensor":["a","none"]}`, "", `sensor "none" not found`},
		{`{"sensor":["a","broken"],"samples":2}`, `{"sensors":[{"sensor":"a","unit":"V",` + at + `,"min":1,"mean":1.0005,"max":1.001,"stddev":0.00071,"values":"1 1.001","suspect":"the first one"},` +
			`{"sensor":"broken","unit":"V",` + at + `,"min":2,"mean":2.0005,"max":2.001,"stddev":0.00071,"values":"2 2.001","suspect":"the first one"}],"samples":2,"seconds":1.5,"buffered":true}`, ""},
	} {
		if result, failure := c.call("sensor_read", tt.args); result != tt.result || failure != tt.failure {
			t.Errorf("%s\ngot  %s%s\nwant %s%s", tt.args, result, failure, tt.result, tt.failure)
		}
	}
	if want := []string{"a broken b", "broken broken", "a none"}; !slices.Equal(b.begun, want) {
		t.Errorf("begun %q, want %q", b.begun, want)
	}
}

func TestSamplesWithoutABuffer(t *testing.T) {
	for _, kind := range []error{device.ErrNotSupport, device.ErrPermission, device.ErrBusy} {
		b := &workbench{captures: &device.Error{Subject: "x", Kind: kind}}
		c := newClient(t, noBoard{sensors: b})
		got := c.must("sensor_read", `{"sensor":"b","samples":3}`)
		for _, part := range []string{`"min":0.001,"mean":0.002,"max":0.003,"stddev":0.001,"values":"0.001 0.002 0.003","suspect":"a code"}],"samples":3,"seconds":`} {
			if !strings.Contains(got, part) || strings.Contains(got, "buffered") {
				t.Errorf("%v: %s", kind, got)
			}
		}
		if _, failure := c.call("sensor_read", `{"sensor":["a","broken"],"samples":3}`); !strings.Contains(failure, "no acknowledge") {
			t.Error(failure)
		}
	}
	b := &workbench{captures: &device.Error{Subject: "chip", Kind: device.ErrTimeout}}
	if _, failure := newClient(t, noBoard{sensors: b}).call("sensor_read", `{"sensor":"b","samples":3}`); failure != "chip: timed out" || b.reads > 0 {
		t.Errorf("%q after %d reads", failure, b.reads)
	}
}

func TestManySamplesStayShort(t *testing.T) {
	c := newClient(t, noBoard{sensors: &workbench{}})
	lines := c.send("tools/call", `"name":"sensor_read","arguments":{"sensor":["`+strings.Repeat(`a","`, 15)+`b"],"samples":1000}`)
	if got := lines[len(lines)-1]; len(got) > 12000 || !strings.Contains(got, `"samples":1000`) {
		t.Errorf("%d bytes", len(got))
	}
	lines = c.send("tools/call", `"name":"sensor_read","arguments":{"sensor":"a","samples":1000}`)
	if got := lines[len(lines)-1]; len(got) > 8000 || strings.Count(got, "1.001 1") < 100 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestStatistics(t *testing.T) {
	d := func(v int64, exp int8) device.Decimal { return device.Decimal{Value: v, Exp: exp} }
	for _, tt := range []struct {
		values       []device.Decimal
		mean, stddev string
		min, max     device.Decimal
	}{
		{[]device.Decimal{d(5, 0)}, "5", "0", d(5, 0), d(5, 0)},
		{[]device.Decimal{d(2, 0), d(4, 0), d(4, 0), d(4, 0), d(5, 0), d(5, 0), d(7, 0), d(9, 0)}, "5", "2.14", d(2, 0), d(9, 0)},
		{[]device.Decimal{d(100653253906, -9), d(100653253907, -9)}, "100.6532539065", "0.00000000071", d(100653253906, -9), d(100653253907, -9)},
		{[]device.Decimal{d(-1, 1), d(-105, -1)}, "-10.25", "0.354", d(-105, -1), d(-1, 1)},
	} {
		st := statisticsOf(tt.values)
		mean, stddev := string(appendRounded(nil, st.mean, st.exp)), string(appendRounded(nil, st.stddev, st.exp))
		if mean != tt.mean || stddev != tt.stddev || st.min != tt.min || st.max != tt.max {
			t.Errorf("%v: mean %s, stddev %s, %v to %v", tt.values, mean, stddev, st.min, st.max)
		}
	}
}
