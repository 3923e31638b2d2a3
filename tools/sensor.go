package tools

import (
	"errors"
	"strings"
	"sync"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

func addSensors(cat *rpc.Catalogue, s device.Sensors) {
	t := &sensorTools{sensors: s}
	sensor := rpc.Param{Name: "sensor", Type: rpc.String, Required: true, Max: maxName, Description: "name from sensor_list"}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "sensor_list",
			Title:       "List sensors",
			Description: "What the board measures by itself.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params:      []rpc.Param{offsetParam},
			Result: append([]rpc.Field{
				{Name: "sensors", Type: rpc.Objects, Fields: []rpc.Field{
					{Name: "sensor", Type: rpc.String},
					{Name: "quantity", Type: rpc.String},
					{Name: "unit", Type: rpc.String},
					{Name: "label", Type: rpc.String, Optional: true},
				}},
			}, pageFields...),
			Run: t.list,
		},
		rpc.Tool{
			Name:        "sensor_read",
			Title:       "Read a sensor",
			Description: "Measure once.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params:      []rpc.Param{sensor},
			Result: []rpc.Field{
				{Name: "sensor", Type: rpc.String},
				{Name: "value", Type: rpc.Number},
				{Name: "unit", Type: rpc.String},
				{Name: "time", Type: rpc.String, Description: "RFC 3339, UTC"},
			},
			Queue: t.queue,
			Run:   t.read,
		})
	cat.Templates = append(cat.Templates, rpc.Template{
		Prefix:      "sensor://",
		Param:       rpc.Param{Name: "name", Type: rpc.String, Required: true, Complete: t.complete},
		Name:        "sensor",
		Title:       "A sensor",
		Description: "One measurement, as of now.",
		MIMEType:    mimeJSON,
		Queue:       t.queue,
		Read:        t.reading,
	})
}

type sensorTools struct {
	sensors device.Sensors

	mu    sync.Mutex
	known map[string]string // the queue of each sensor that was asked for
}

func (t *sensorTools) list(c *rpc.Call) error {
	sensors, err := t.sensors.List(nil)
	if err != nil {
		return err
	}
	p := page{offset: int(c.Int(0))}
	var item []byte
	c.Out = append(c.Out, `{"sensors":[`...)
	for i := range sensors {
		s := &sensors[i]
		item = wire.AppendString(append(item[:0], `{"sensor":`...), s.Name)
		item = wire.AppendString(wire.AppendKey(item, "quantity"), s.Quantity.String())
		item = wire.AppendString(wire.AppendKey(item, "unit"), s.Quantity.Unit())
		if s.Label != "" {
			item = wire.AppendString(wire.AppendKey(item, "label"), s.Label)
		}
		item = append(item, '}')
		c.Out = p.add(c.Out, item)
	}
	c.Out = p.end(c.Out)
	return nil
}

func (t *sensorTools) read(c *rpc.Call) error {
	s, r, err := t.sensors.Read(c.Str(0))
	if err != nil {
		return err
	}
	dst := wire.AppendString(append(c.Out, `{"sensor":`...), s.Name)
	dst = wire.AppendDecimal(wire.AppendKey(dst, "value"), r.Value.Value, r.Value.Exp)
	dst = wire.AppendString(wire.AppendKey(dst, "unit"), s.Quantity.Unit())
	dst = r.Time.UTC().AppendFormat(append(dst, `,"time":"`...), "2006-01-02T15:04:05.000Z07:00")
	c.Out = append(dst, `"}`...)
	return nil
}

// reading is the resource of one sensor.
func (t *sensorTools) reading(c *rpc.Call) error {
	err := t.read(c)
	if errors.Is(err, device.ErrNotFound) {
		return absent{err}
	}
	return err
}

// queue is that of the sensors which may wait for a bus: the drivers behind hwmon
// measure when they are read. A thermal zone has its value at hand.
func (t *sensorTools) queue(c *rpc.Call) string { return t.queueOf(c.Str(0)) }

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
		q := ""
		if sensors[i].Source == "hwmon" {
			chip, _, _ := strings.Cut(name, "/")
			q = "sensor " + chip
		}
		if t.known == nil {
			t.known = make(map[string]string)
		}
		if len(t.known) >= maxKnown {
			clear(t.known)
		}
		t.known[name] = q
		return q
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
