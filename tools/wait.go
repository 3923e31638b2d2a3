package tools

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

const (
	maxWait     = time.Minute
	usualWait   = 5 * time.Second
	maxCount    = 1000000
	lookEvery   = 50 * time.Millisecond  // for a cancellation
	answerEarly = 100 * time.Millisecond // before the caller's deadline
)

func (t *gpioTools) waitTool() rpc.Tool {
	return rpc.Tool{
		Name:        "gpio_wait",
		Title:       "Wait",
		Description: "Wait for count edges of inputs, or a level; tells what came.",
		Hints:       rpc.Hints{ReadOnly: true},
		Params: []rpc.Param{
			{Name: "lines", Type: rpc.Strings, Required: true, Max: maxName, MaxItems: device.MaxWatched},
			{Name: "until", Type: rpc.String, Choices: []string{"both", "rising", "falling", "high", "low"}},
			{Name: "count", Type: rpc.Integer},
			{Name: "timeout_ms", Type: rpc.Integer},
		},
		Result: []rpc.Field{
			{Name: "lines", Type: rpc.Objects, Fields: []rpc.Field{
				{Name: "line", Type: rpc.String},
				{Name: "level", Type: rpc.Integer, Description: "in the end"},
				{Name: "edges", Type: rpc.Integer, Description: "that were seen"},
				{Name: "lost", Type: rpc.Integer, Description: "edges that came too fast"},
			}},
			{Name: "events", Type: rpc.Objects, Fields: []rpc.Field{
				{Name: "line", Type: rpc.String},
				{Name: "edge", Type: rpc.String},
				{Name: "us", Type: rpc.Number, Description: "since the begin, by the kernel's clock"},
				{Name: "seq", Type: rpc.Integer, Description: "the kernel's number"},
			}},
			{Name: "left_out", Type: rpc.Integer, Optional: true, Description: "events that are counted and not listed"},
			{Name: "timed_out", Type: rpc.Boolean},
			{Name: "waited_ms", Type: rpc.Integer},
		},
		Queue: func(c *rpc.Call) string {
			line, err := t.names.find(c.Strs(0)[0])
			if err != nil {
				return "" // the handler says so
			}
			return "gpio_wait " + line.name
		},
		Timeout:  maxWait + 5*time.Second,
		Subjects: t.lineSubjects,
		Run:      t.wait,
	}
}

// waited is what a gpio_wait knows of one line.
type waited struct {
	edges, lost int64
	seq         uint32
	level       device.Level // after the last event
}

func (t *gpioTools) wait(c *rpc.Call) error {
	names := make([]string, len(c.Strs(0)))
	for i, name := range c.Strs(0) {
		line, err := t.names.find(name)
		if err != nil {
			return err
		}
		if slices.Contains(names[:i], line.name) {
			return fmt.Errorf("line %q stands twice in lines; name each once", name)
		}
		names[i] = line.name
	}
	count, err := bounded(c, 2, "count", 1, maxCount, 1)
	if err != nil {
		return err
	}
	ms, err := bounded(c, 3, "timeout_ms", 1, maxWait.Milliseconds(), usualWait.Milliseconds())
	if err != nil {
		return err
	}
	// One edge only is asked for where a level is: the level itself comes first.
	edges, level, forLevel := device.BothEdges, device.Low, false
	switch c.Str(1) {
	case "rising":
		edges = device.Rising
	case "falling":
		edges = device.Falling
	case "high":
		edges, level, forLevel = device.Rising, device.High, true
	case "low":
		edges, level, forLevel = device.Falling, device.Low, true
	}
	if forLevel && count > 1 {
		return fmt.Errorf("count is %d, but a level is waited for once; give until rising or falling to count edges", count)
	}
	if c.Deadline().IsZero() { // it would hold all else up
		return fmt.Errorf("line %q came only now; call again", names[0])
	}
	wait := time.Duration(ms) * time.Millisecond
	began := time.Now()
	end := began.Add(wait)
	if last := c.Deadline().Add(-answerEarly); last.Before(end) {
		end = last
		wait = end.Sub(began)
	}

	w, err := t.gpio.Watch(names, edges)
	if err != nil {
		return err
	}
	defer w.Close()
	levels := make([]device.Level, len(names))
	lines := make([]waited, len(names))
	events := make([]device.Event, 0, 2*lookEvents)
	p := page{}
	for _, name := range c.Strs(0) {
		p.cost += answerCost([]byte(name)) + lineCost
	}
	var listed, item []byte
	seen, reached := int64(0), false
	if forLevel {
		// Armed first, so that no edge goes unseen in between.
		if err := t.gpio.Read(names, levels); err != nil {
			return err
		}
		reached = slices.Contains(levels, level)
	}
	for late := false; !reached; {
		if c.Cancelled() {
			return errors.New("cancelled")
		}
		left := time.Until(end)
		if events, err = w.Next(events[:0], max(0, min(left, lookEvery))); err != nil {
			return err
		}
		// What came in time is counted, though it is fetched only now.
		late = len(events) == 0 && left <= 0
		for i := range events {
			e := &events[i]
			if late = e.Since > wait; late {
				break
			}
			l := &lines[e.Line]
			if missing := int64(e.Seq-l.seq) - 1; missing > 0 {
				l.lost += missing
			} else if l.seq > 0 && edges == device.BothEdges && e.Level == l.level {
				l.lost++ // the one between, which the chip had no time to show
			}
			l.seq, l.level = e.Seq, e.Level
			l.edges++
			seen++
			if p.next == 0 {
				item = appendEvent(item[:0], c.Strs(0)[e.Line], e)
				listed = p.add(listed, item)
			} else {
				p.total++
			}
			if reached = forLevel || seen >= count; reached {
				break
			}
		}
		if late {
			break
		}
		c.Progress(float64(seen), float64(count), "edges")
	}
	waitedFor := time.Since(began)
	if err := t.gpio.Read(names, levels); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	dst := append(c.Out, `{"lines":[`...)
	for i, name := range c.Strs(0) {
		dst = wire.AppendString(append(wire.AppendSep(dst), `{"line":`...), name)
		dst = wire.AppendInt(append(dst, `,"level":`...), int64(levels[i]))
		dst = wire.AppendInt(append(dst, `,"edges":`...), lines[i].edges)
		dst = append(wire.AppendInt(append(dst, `,"lost":`...), lines[i].lost), '}')
	}
	dst = append(append(append(dst, `],"events":[`...), listed...), ']')
	if p.next > 0 {
		dst = wire.AppendInt(wire.AppendKey(dst, "left_out"), int64(p.total-p.next))
	}
	dst = wire.AppendBool(wire.AppendKey(dst, "timed_out"), !reached)
	c.Out = append(wire.AppendInt(wire.AppendKey(dst, "waited_ms"), waitedFor.Milliseconds()), '}')
	return nil
}

const (
	lookEvents = 64  // how many events come at a time, see device.Watcher
	lineCost   = 130 // what a line takes of a page besides its name
)

// appendEvent appends one event of the line called name.
func appendEvent(dst []byte, name string, e *device.Event) []byte {
	dst = wire.AppendString(append(dst, `{"line":`...), name)
	if e.Level == device.High {
		dst = append(dst, `,"edge":"rising"`...)
	} else {
		dst = append(dst, `,"edge":"falling"`...)
	}
	dst = wire.AppendDecimal(append(dst, `,"us":`...), int64(e.Since), -3)
	return append(wire.AppendUint(append(dst, `,"seq":`...), uint64(e.Seq)), '}')
}
