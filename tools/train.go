package tools

import (
	"errors"
	"fmt"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

const (
	maxPulses     = 100000
	maxPhase      = 10 * time.Second
	maxTrain      = time.Minute
	trainLookEach = 20 * time.Millisecond // for a cancellation
	// trainGrace is how long after a phase should have ended the guard waits for its
	// end: then it puts the line back by itself.
	trainGrace = 5 * time.Second
)

func (t *gpioTools) pulseTool() rpc.Tool {
	return rpc.Tool{
		Name:        "gpio_pulse",
		Title:       "Pulse a line",
		Description: "count times high, then low; then it is as it was. Times are minima. Know what is connected.",
		Hints:       rpc.Hints{Destructive: true},
		Params: []rpc.Param{
			{Name: "line", Type: rpc.String, Required: true, Max: maxName},
			{Name: "high_us", Type: rpc.Integer, Required: true},
			{Name: "low_us", Type: rpc.Integer, Description: "default high_us"},
			{Name: "count", Type: rpc.Integer},
		},
		Result: []rpc.Field{
			{Name: "line", Type: rpc.String},
			{Name: "count", Type: rpc.Integer},
			{Name: "high_us", Type: rpc.Object, Fields: spanFields},
			{Name: "low_us", Type: rpc.Object, Fields: spanFields},
			{Name: "took_ms", Type: rpc.Number},
		},
		Queue: func(c *rpc.Call) string {
			line, err := t.names.find(c.Str(0))
			if err != nil {
				return "" // the handler says so
			}
			return "gpio_pulse " + line.name
		},
		Timeout:  maxTrain + 5*time.Second,
		Subjects: t.lineSubject,
		Run:      t.pulse,
	}
}

var spanFields = []rpc.Field{
	{Name: "min", Type: rpc.Number, Description: "as it was reached"},
	{Name: "mean", Type: rpc.Number},
	{Name: "max", Type: rpc.Number},
}

func (t *gpioTools) pulse(c *rpc.Call) error {
	line, err := t.names.find(c.Str(0))
	if err != nil {
		return err
	}
	us, err := bounded(c, 1, "high_us", 1, maxPhase.Microseconds(), 0)
	if err != nil {
		return err
	}
	lowUs, err := bounded(c, 2, "low_us", 1, maxPhase.Microseconds(), us)
	if err != nil {
		return err
	}
	n, err := bounded(c, 3, "count", 1, maxPulses, 1)
	if err != nil {
		return err
	}
	high, low, count := time.Duration(us)*time.Microsecond, time.Duration(lowUs)*time.Microsecond, int(n)
	if total := time.Duration(count) * (high + low); total > maxTrain {
		return fmt.Errorf("%d pulses of %v take %v; %v are allowed, so give a lower count", count, high+low, total, maxTrain)
	}
	if c.Deadline().IsZero() { // it would hold all else up
		return fmt.Errorf("line %q came only now; call again", c.Str(0))
	}
	last := c.Deadline().Add(-answerEarly)
	r, err := t.guard.train(line, high, low, count, func(done int) error {
		switch {
		case c.Cancelled():
			return errors.New("cancelled")
		case time.Now().After(last):
			return fmt.Errorf("line %q: only %d of %d pulses until the deadline, then put back; give a lower count", c.Str(0), done, count)
		}
		c.Progress(float64(done), float64(count), "pulses")
		return nil
	})
	if err != nil {
		return err
	}
	dst := wire.AppendString(append(c.Out, `{"line":`...), c.Str(0))
	dst = wire.AppendInt(append(dst, `,"count":`...), int64(count))
	dst = r.high.append(wire.AppendKey(dst, "high_us"))
	dst = r.low.append(wire.AppendKey(dst, "low_us"))
	c.Out = append(wire.AppendDecimal(wire.AppendKey(dst, "took_ms"), r.took.Microseconds(), -3), '}')
	return nil
}

// trainTimes is the timing that a train of pulses reached.
type trainTimes struct {
	high, low span
	took      time.Duration
}

// span is how long the phases of one kind were.
type span struct {
	min, max, sum time.Duration
	n             int64
}

func (s *span) add(d time.Duration) {
	if s.n == 0 || d < s.min {
		s.min = d
	}
	s.max = max(s.max, d)
	s.sum += d
	s.n++
}

func (s *span) append(dst []byte) []byte {
	dst = wire.AppendDecimal(append(dst, `{"min":`...), s.min.Nanoseconds()/100, -1)
	dst = wire.AppendDecimal(append(dst, `,"mean":`...), s.sum.Nanoseconds()/s.n/100, -1)
	return append(wire.AppendDecimal(append(dst, `,"max":`...), s.max.Nanoseconds()/100, -1), '}')
}

// train makes count pulses and puts the line back to how it stood before. goOn is
// asked now and then, with how many pulses are over; its error ends the train, and
// so does anything else that is done with the line, which then stays.
func (g *Guard) train(line knownLine, high, low time.Duration, count int, goOn func(done int) error) (r trainTimes, err error) {
	o := g.output(line)
	mine, began, last := 0, time.Now(), time.Time{}
	for done := range count {
		for _, phase := range []struct {
			level   device.Level
			lasts   time.Duration
			before  *span // the phase that ends with this one's begin
			isFirst bool
		}{{device.High, high, &r.low, done == 0}, {device.Low, low, &r.high, false}} {
			now, err := o.edge(phase.level, phase.lasts, &mine)
			if err != nil {
				return r, fmt.Errorf("after %d of %d pulses: %w", done, count, err)
			}
			if !phase.isFirst {
				phase.before.add(now.Sub(last))
			}
			last = now
			if err := g.rest(phase.lasts, func() error { return goOn(done) }); err != nil {
				return r, errors.Join(err, o.endTrain(mine))
			}
		}
	}
	err = o.endTrain(mine)
	end := time.Now()
	r.low.add(end.Sub(last))
	r.took = end.Sub(began)
	return r, err
}

// rest waits for so long, and never less. goOn can end it early.
func (g *Guard) rest(d time.Duration, goOn func() error) error {
	for end := time.Now().Add(d); ; {
		left := time.Until(end)
		if err := goOn(); err != nil {
			return err
		}
		if left <= trainLookEach {
			g.sleep(time.Until(end))
			return nil
		}
		time.Sleep(trainLookEach / 2)
	}
}

// sleepCoarse is how much later than told a sleep of the runtime may end: it waits
// in whole milliseconds.
const sleepCoarse = 1200 * time.Microsecond

// sleepExactly waits for d and spends the end of it awake, for the runtime's own
// sleep is too coarse for short pulses.
func sleepExactly(d time.Duration) {
	end := time.Now().Add(d)
	if d > sleepCoarse {
		time.Sleep(d - sleepCoarse)
	}
	for time.Now().Before(end) {
	}
}

// edge sets the level of the next phase of a train, if the train is still the
// line's; mine is 0 for the first, and knows the train. It gives when the level was set.
func (o *output) edge(level device.Level, lasts time.Duration, mine *int) (time.Time, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.guard.closed.Load():
		return time.Time{}, errEnding(o.line.name, "no more pulses")
	case *mine != 0 && o.trains != *mine:
		return time.Time{}, &device.Error{Subject: fmt.Sprintf("line %q", o.line.name), Kind: device.ErrCancelled,
			Reason: "another call or the guard has taken the line over", Hint: "gpio_list shows how it stands"}
	}
	before, err := o.guard.gpio.Write(o.line.name, level)
	if err != nil {
		if *mine != 0 {
			err = errors.Join(err, o.backSoon())
		}
		return time.Time{}, err
	}
	now := time.Now()
	o.stoodAs(before)
	o.pulse(lasts + trainGrace)
	*mine = o.trains
	return now, nil
}

// endTrain puts the line back, if the train is still the line's.
func (o *output) endTrain(mine int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.trains != mine || !o.pulsing {
		return nil
	}
	return o.backSoon()
}
