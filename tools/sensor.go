package tools

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// maxSensorsRead is how many sensors one sensor_read may name.
const maxSensorsRead = 16

// sensorTimeout bounds a sensor_read: a 1-Wire thermometer takes 0.8 s, and
// sixteen of them that cannot measure at the same time take 13.
const sensorTimeout = 30 * time.Second

func addSensors(cat *rpc.Catalogue, s device.Sensors) {
	t := &sensorTools{sensors: s}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "sensor_list",
			Title:       "List sensors",
			Description: "What the board measures.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params: []rpc.Param{
				{Name: "match", Type: rpc.String},
				{Name: "offset", Type: rpc.Integer},
			},
			Result: append([]rpc.Field{
				{Name: "sensors", Type: rpc.Objects, Fields: []rpc.Field{
					{Name: "sensor", Type: rpc.String},
					{Name: "quantity", Type: rpc.String},
					{Name: "unit", Type: rpc.String},
					{Name: "label", Type: rpc.String, Optional: true},
					descriptionField,
				}},
			}, pageFields...),
			Run: t.list,
		},
		rpc.Tool{
			Name:        "sensor_read",
			Title:       "Read sensors",
			Description: "Measure.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params: []rpc.Param{
				{Name: "sensor", Type: rpc.Strings, Required: true, Max: maxName, MaxItems: maxSensorsRead},
				{Name: "samples", Type: rpc.Integer}, // 1 to device.MaxSamples, checked below: every byte of the list counts
			},
			Result: []rpc.Field{
				{Name: "sensors", Type: rpc.Objects, Fields: []rpc.Field{
					{Name: "sensor", Type: rpc.String},
					{Name: "value", Type: rpc.Number, Optional: true},
					{Name: "unit", Type: rpc.String, Optional: true},
					{Name: "time", Type: rpc.String, Optional: true, Description: "RFC 3339, UTC, of the first sample"},
					{Name: "suspect", Type: rpc.String, Optional: true, Description: "why the value may not be what it seems"},
					{Name: "error", Type: rpc.String, Optional: true},
					{Name: "min", Type: rpc.Number, Optional: true},
					{Name: "mean", Type: rpc.Number, Optional: true},
					{Name: "max", Type: rpc.Number, Optional: true},
					{Name: "stddev", Type: rpc.Number, Optional: true},
					{Name: "values", Type: rpc.String, Optional: true, Description: "as many as fit, the first first"},
				}},
				{Name: "samples", Type: rpc.Integer, Optional: true, Description: "of each sensor"},
				{Name: "seconds", Type: rpc.Number, Optional: true, Description: "from the first to the last"},
				{Name: "buffered", Type: rpc.Boolean, Optional: true, Description: "the kernel took them in step"},
			},
			Queue:    t.queue,
			Timeout:  sensorTimeout,
			Subjects: t.subjects,
			Run:      t.read,
		})
	cat.Templates = append(cat.Templates, rpc.Template{
		Prefix:      "sensor://",
		Param:       rpc.Param{Name: "name", Type: rpc.String, Required: true, Complete: t.complete},
		Name:        "sensor",
		Title:       "A sensor",
		Description: "One measurement, as of now.",
		MIMEType:    mimeJSON,
		Queue:       func(c *rpc.Call) string { return t.queueOf(c.Str(0)) },
		Read:        t.reading,
	})
}

type sensorTools struct {
	sensors device.Sensors

	mu    sync.Mutex
	known map[string]string // what each sensor that was asked for waits for
}

func (t *sensorTools) list(c *rpc.Call) error {
	sensors, err := t.sensors.List(nil)
	if err != nil {
		return err
	}
	match := strings.ToLower(c.Str(0))
	p := page{offset: int(c.Int(1))}
	var item []byte
	c.Out = append(c.Out, `{"sensors":[`...)
	for i := range sensors {
		s := &sensors[i]
		if match != "" && !matches(s, match) {
			continue
		}
		item = wire.AppendString(append(item[:0], `{"sensor":`...), s.Name)
		item = wire.AppendString(wire.AppendKey(item, "quantity"), s.Quantity.String())
		item = wire.AppendString(wire.AppendKey(item, "unit"), s.UnitOf())
		if s.Label != "" {
			item = wire.AppendString(wire.AppendKey(item, "label"), s.Label)
		}
		item = appendDescription(item, s.Description)
		item = append(item, '}')
		c.Out = p.add(c.Out, item)
	}
	c.Out = p.end(c.Out)
	return nil
}

// matches says that a part of the sensor's name, label or quantity is match, which
// is in lower case.
func matches(s *device.Sensor, match string) bool {
	return strings.Contains(strings.ToLower(s.Name), match) || strings.Contains(strings.ToLower(s.Label), match) ||
		strings.Contains(strings.ToLower(s.Description), match) ||
		strings.Contains(s.Quantity.String(), match)
}

func (t *sensorTools) read(c *rpc.Call) error {
	switch n := c.IntOr(1, 1); {
	case n < 1 || n > device.MaxSamples:
		return fmt.Errorf("samples is %d; 1 to %d are allowed, default 1", n, device.MaxSamples)
	case n > 1:
		return t.sample(c, int(n))
	}
	names := c.Strs(0)
	if len(names) > 1 {
		t.sensors.Begin(names, c.Cancelled)
	}
	dst, failed := append(c.Out, `{"sensors":[`...), 0
	for _, name := range names {
		if c.Cancelled() {
			return device.ErrCancelled
		}
		s, r, err := t.sensors.Read(name)
		if err != nil {
			// One of several that fails leaves the others; a wrong name is the caller's to mend.
			if failed++; failed == len(names) || errors.Is(err, device.ErrNotFound) {
				return err
			}
			dst = wire.AppendString(append(wire.AppendSep(dst), `{"sensor":`...), name)
			dst = append(wire.AppendString(append(dst, `,"error":`...), err.Error()), '}')
			continue
		}
		dst = appendReading(wire.AppendSep(dst), &s, &r)
	}
	c.Out = append(dst, `]}`...)
	return nil
}

func appendReading(dst []byte, s *device.Sensor, r *device.Reading) []byte {
	dst = wire.AppendString(append(dst, `{"sensor":`...), s.Name)
	dst = wire.AppendDecimal(append(dst, `,"value":`...), r.Value.Value, r.Value.Exp)
	dst = wire.AppendString(append(dst, `,"unit":`...), s.UnitOf())
	dst = appendTime(dst, r.Time)
	return appendSuspect(dst, r.Suspect)
}

func appendTime(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(append(dst, `,"time":"`...), "2006-01-02T15:04:05.000Z07:00")
	return append(dst, '"')
}

// appendSuspect ends the object of a sensor.
func appendSuspect(dst []byte, suspect string) []byte {
	if suspect != "" {
		dst = wire.AppendString(append(dst, `,"suspect":`...), suspect)
	}
	return append(dst, '}')
}

// reading is the resource of one sensor.
func (t *sensorTools) reading(c *rpc.Call) error {
	s, r, err := t.sensors.Read(c.Str(0))
	if errors.Is(err, device.ErrNotFound) {
		return absent{err}
	}
	if err != nil {
		return err
	}
	c.Out = appendReading(c.Out, &s, &r)
	return nil
}

// queue is that of the first sensor which waits for something. Several samples
// take a while wherever they come from.
func (t *sensorTools) queue(c *rpc.Call) string {
	names := c.Strs(0)
	for _, name := range names {
		if q := t.queueOf(name); q != "" {
			return q
		}
	}
	if c.Int(1) > 1 && len(names) > 0 && t.is(names[0]) {
		return "sensor " + names[0]
	}
	return ""
}

// is says that there is such a sensor: nobody makes queues up.
func (t *sensorTools) is(name string) bool {
	t.queueOf(name)
	t.mu.Lock()
	defer t.mu.Unlock()
	_, ok := t.known[name]
	return ok
}

// queueOf is what the sensor called name waits for, or "".
func (t *sensorTools) queueOf(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q, ok := t.known[name]; ok {
		return q
	}
	sensors, err := t.sensors.List(nil)
	if err != nil {
		return "" // the handler says so
	}
	for i := range sensors {
		if sensors[i].Name != name {
			continue
		}
		if t.known == nil {
			t.known = make(map[string]string)
		}
		if len(t.known) >= maxKnown {
			clear(t.known)
		}
		t.known[name] = sensors[i].Waits
		return sensors[i].Waits
	}
	return ""
}

func (t *sensorTools) complete(dst []string, prefix string) []string {
	sensors, err := t.sensors.List(nil)
	if err != nil {
		return dst // a completion has no way to say so
	}
	names := make([]string, len(sensors))
	for i := range sensors {
		names[i] = sensors[i].Name
	}
	return appendMatching(dst, prefix, names)
}
