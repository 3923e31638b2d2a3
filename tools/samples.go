package tools

import (
	"errors"
	"math"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// sampleMargin is how long before its deadline a call that goes on measuring
// stops, and answers with what it has.
const sampleMargin = time.Second

// sampleBytes is how much of an answer the values of all sensors may take; they
// go out twice.
const sampleBytes = 2400

// sample measures the sensors n times: through the kernel's buffer where they
// have one, else one after another as fast as they answer. It ends early with
// what it has before its deadline.
func (t *sensorTools) sample(c *rpc.Call, n int) error {
	names := c.Strs(0)
	stop := func() bool {
		return c.Cancelled() || !c.Deadline().IsZero() && time.Until(c.Deadline()) < sampleMargin
	}
	capture, err := t.sensors.Capture(names, n, stop)
	buffered := err == nil
	switch {
	case buffered:
	case errors.Is(err, device.ErrNotSupport), errors.Is(err, device.ErrPermission), errors.Is(err, device.ErrBusy):
		if capture, err = t.again(c, names, n, stop); err != nil {
			return err
		}
	default:
		return err
	}
	if c.Cancelled() {
		return device.ErrCancelled
	}
	dst := append(c.Out, `{"sensors":[`...)
	for i := range capture.Samples {
		dst = appendSamples(wire.AppendSep(dst), &capture.Samples[i], capture.Time, sampleBytes/len(capture.Samples))
	}
	dst = wire.AppendInt(append(dst, `],"samples":`...), int64(len(capture.Samples[0].Values)))
	dst = wire.AppendDecimal(append(dst, `,"seconds":`...), capture.Span.Microseconds(), -6)
	if buffered {
		dst = append(dst, `,"buffered":true`...)
	}
	c.Out = append(dst, '}')
	return nil
}

// again reads the sensors in turn, n times. An error ends it: a series with a gap
// would pass for one without.
func (t *sensorTools) again(c *rpc.Call, names []string, n int, stop func() bool) (device.Capture, error) {
	capture := device.Capture{Samples: make([]device.Samples, len(names))}
	var began time.Time
	var longest time.Duration
	for i := range n {
		start := time.Now()
		if i > 0 && (stop() || !c.Deadline().IsZero() && time.Until(c.Deadline()) < sampleMargin+longest) {
			break
		}
		if len(names) > 1 {
			t.sensors.Begin(names, c.Cancelled)
		}
		for k, name := range names {
			s, r, err := t.sensors.Read(name)
			if err != nil {
				return capture, err
			}
			if i == 0 && k == 0 {
				capture.Time, began = r.Time, time.Now()
			}
			x := &capture.Samples[k]
			x.Sensor = s
			x.Values = append(x.Values, r.Value)
			if x.Suspect == "" {
				x.Suspect = r.Suspect
			}
			if k == 0 {
				capture.Span = time.Since(began)
			}
		}
		longest = max(longest, time.Since(start))
		c.Progress(float64(i+1), float64(n), "samples")
	}
	return capture, nil
}

// appendSamples appends the object of one sensor: its statistics, and as many
// values as fit in room bytes.
func appendSamples(dst []byte, x *device.Samples, began time.Time, room int) []byte {
	dst = wire.AppendString(append(dst, `{"sensor":`...), x.Sensor.Name)
	dst = wire.AppendString(append(dst, `,"unit":`...), x.Sensor.UnitOf())
	dst = appendTime(dst, began)
	st := statisticsOf(x.Values)
	dst = wire.AppendDecimal(append(dst, `,"min":`...), st.min.Value, st.min.Exp)
	dst = appendRounded(append(dst, `,"mean":`...), st.mean, st.exp)
	dst = wire.AppendDecimal(append(dst, `,"max":`...), st.max.Value, st.max.Exp)
	dst = appendRounded(append(dst, `,"stddev":`...), st.stddev, st.exp)
	dst = append(dst, `,"values":"`...)
	begin := len(dst)
	for i, v := range x.Values {
		before := len(dst)
		if i > 0 {
			dst = append(dst, ' ')
		}
		if dst = wire.AppendDecimal(dst, v.Value, v.Exp); len(dst)-begin > room && i > 0 {
			dst = dst[:before]
			break
		}
	}
	return appendSuspect(append(dst, '"'), x.Suspect)
}

// statistics of a series. stddev is that of a sample, with n-1; of one value it
// is zero.
type statistics struct {
	min, max     device.Decimal
	mean, stddev float64
	exp          int8 // of two digits more than the values have
}

// statisticsOf needs at least one value. The sums are taken of the distance from
// the first, so that a small scatter about a large value is not lost.
func statisticsOf(values []device.Decimal) statistics {
	st := statistics{min: values[0], max: values[0], exp: values[0].Exp}
	first := values[0]
	first.Value = -first.Value
	low, high, sum, squares := 0.0, 0.0, 0.0, 0.0
	for _, v := range values {
		st.exp = min(st.exp, v.Exp)
		d := v.Add(first).Float()
		if d < low {
			st.min, low = v, d
		}
		if d > high {
			st.max, high = v, d
		}
		sum += d
		squares += d * d
	}
	n := float64(len(values))
	st.exp -= 2
	st.mean = values[0].Float() + sum/n
	if n > 1 {
		st.stddev = math.Sqrt(max(0, squares-sum*sum/n) / (n - 1))
	}
	return st
}

// appendRounded appends f with the digits that 10^exp gives.
func appendRounded(dst []byte, f float64, exp int8) []byte {
	if d, ok := device.DecimalOf(f, exp); ok {
		return wire.AppendDecimal(dst, d.Value, d.Exp)
	}
	return wire.AppendFloat(dst, f)
}
