package sim

import (
	"io"

	"boardhand/device"
)

// trace writes down how lines are driven. The caller of its methods has the pins' lock.
type trace struct {
	out  io.Writer
	last [len(pinout)]device.State
	line []byte
}

func newTrace(out io.Writer, p *pins) *trace {
	t := &trace{out: out}
	for i := range p.lines {
		t.last[i] = p.lines[i].driven()
	}
	return t
}

// driven is how the line is driven, at the pin; of an input the level is low.
func (l *pin) driven() device.State {
	if l.Direction == device.In {
		return device.State{}
	}
	return device.State{Direction: device.Out, Level: l.Level}
}

// look writes a line for each line whose drive has changed, in one write:
//
//	2026-11-30T10:00:00.123456Z GPIO17 high
//	2026-11-30T10:00:01.234567Z GPIO17 input
func (t *trace) look(p *pins) {
	t.line = t.line[:0]
	for i := range p.lines {
		now := p.lines[i].driven()
		if now == t.last[i] {
			continue
		}
		t.last[i] = now
		t.line = p.now().UTC().AppendFormat(t.line, "2006-01-02T15:04:05.000000Z07:00")
		t.line = append(append(t.line, ' '), pinout[i].name...)
		switch now {
		case device.State{}:
			t.line = append(t.line, " input\n"...)
		case device.State{Direction: device.Out}:
			t.line = append(t.line, " low\n"...)
		default:
			t.line = append(t.line, " high\n"...)
		}
	}
	if len(t.line) > 0 {
		_, _ = t.out.Write(t.line) // a full disk does not stop a simulated board
	}
}
