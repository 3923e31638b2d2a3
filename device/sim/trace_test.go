package sim

import (
	"bytes"
	"testing"
	"time"

	"boardhand/device"
)

func TestTraceShowsHowLinesAreDriven(t *testing.T) {
	now := time.Date(2026, 11, 30, 10, 0, 0, 123456789, time.UTC)
	var out bytes.Buffer
	b := Open(Wiring{Tracer: &out, Now: func() time.Time { return now }})
	g := b.GPIO()
	for _, level := range []device.Level{device.Low, device.Low, device.High} {
		g.Write("GPIO17", level)
		now = now.Add(time.Second)
	}
	g.Read([]string{"GPIO17"}, make([]device.Level, 1))
	b.Close()
	want := "2026-11-30T10:00:00.123456Z GPIO17 low\n2026-11-30T10:00:02.123456Z GPIO17 high\n2026-11-30T10:00:03.123456Z GPIO17 input\n"
	if got := out.String(); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}
