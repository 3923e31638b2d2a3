package contract

import (
	"testing"

	"boardhand/device"
)

// System tests what a machine knows of itself, and closes the board.
func System(t *testing.T, b device.Board) {
	s := b.System()
	if s == nil {
		t.Fatal("the board knows nothing of itself")
	}
	first, err := s.Status()
	must(t, err)
	again, err := s.Status()
	must(t, err)
	if again.Uptime < first.Uptime || first.MemTotal <= 0 || first.MemFree > first.MemTotal || first.SwapFree > first.SwapTotal {
		t.Errorf("%+v, then %+v", first, again)
	}
	if n := max(len(first.Storage), len(first.Networks), len(first.Watchdogs)); n > device.MaxStatus {
		t.Errorf("%d entries in a list", n)
	}
	if !first.Throttled && first.Throttling != nil {
		t.Errorf("throttling %q, and nothing tells", first.Throttling)
	}
	for _, m := range first.Storage {
		if m.Mount == "" || m.Type == "" || m.Free > m.Total {
			t.Errorf("%+v", m)
		}
	}
	for _, n := range first.Networks {
		if n.Name == "" || n.State == "" {
			t.Errorf("%+v", n)
		}
	}
	for _, w := range first.Watchdogs {
		if w.Name == "" {
			t.Errorf("%+v", w)
		}
	}
	must(t, b.Close())
	_, err = s.Status()
	refused(t, err, device.ErrUnplugged)
}
