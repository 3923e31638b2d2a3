package contract

import (
	"testing"
	"time"

	"boardhand/device"
)

// CANWiring names an interface whose link is up and acknowledges.
type CANWiring struct {
	Name string
	FD   bool // takes FD frames
}

// canWait is how long a frame that must come may take.
const canWait = 5 * time.Second

// CAN tests a board's CAN interfaces. Each call of open gives a board on the same
// hardware, as another process would see it; what the one sends the other receives.
func CAN(t *testing.T, open func() device.Board, w CANWiring) {
	one, other := open(), open()
	defer one.Close()
	defer other.Close()
	a, b := one.CAN(), other.CAN()
	if a == nil {
		t.Fatal("the board has no CAN interface")
	}
	send := func(t *testing.T, f device.CANFrame) uint64 {
		t.Helper()
		before := time.Now()
		when, next, err := a.Send(w.Name, &f, time.Now().Add(canWait))
		must(t, err)
		if when.Before(before.Add(-time.Minute)) || when.After(time.Now().Add(time.Minute)) {
			t.Errorf("sent at %v, now it is %v", when, time.Now())
		}
		return next
	}
	// only asks for frames with these identifiers: the bus may have others.
	only := func(ids ...uint32) func(*device.CANFrame) device.CANVerdict {
		return func(f *device.CANFrame) device.CANVerdict {
			for _, id := range ids {
				if f.ID == id && !f.Error {
					return device.CANTake
				}
			}
			return device.CANSkip
		}
	}
	receive := func(t *testing.T, c device.CAN, want device.CANWanted) ([]device.CANReceived, device.CANTaken) {
		t.Helper()
		frames, taken, err := c.Receive(w.Name, want, []device.CANReceived{{Offset: 77}})
		must(t, err)
		if frames[0].Offset != 77 {
			t.Error("Receive did not append")
		}
		return frames[1:], taken
	}
	here := func(t *testing.T, c device.CAN) uint64 {
		t.Helper()
		_, taken := receive(t, c, device.CANWanted{From: device.CANFromNow, Count: 1})
		return taken.Next
	}
	now := func() time.Time { return time.Now().Add(canWait) }

	t.Run("links are in order", func(t *testing.T) {
		links, err := a.Links([]device.CANLink{{Name: ""}})
		must(t, err)
		found := false
		for i, l := range links[1:] {
			if l.Name <= links[i].Name {
				t.Errorf("%q comes after %q", l.Name, links[i].Name)
			}
			t.Logf("%s: %v", l.Name, &l)
			if l.Name == w.Name {
				found = true
				if !l.Up || l.Quiet() != nil || l.FD != w.FD {
					t.Errorf("%+v", l)
				}
			}
		}
		if !found {
			t.Errorf("%q is not among %+v", w.Name, links)
		}
	})
	t.Run("an unknown interface is not found", func(t *testing.T) {
		for _, name := range []string{"can99", "", "lo", "../" + w.Name} {
			_, _, err := a.Send(name, &device.CANFrame{}, now())
			refused(t, err, device.ErrNotFound, w.Name)
			_, _, err = a.Receive(name, device.CANWanted{Count: 1}, nil)
			refused(t, err, device.ErrNotFound, w.Name)
		}
	})
	t.Run("what one sends the other receives as it was", func(t *testing.T) {
		frames := []device.CANFrame{
			{ID: 0x321, Len: 3, Data: [64]byte{1, 2, 0xff}},
			{ID: 0x7ff},
			{ID: 0x0},
			{ID: 0x321, Extended: true, Len: 8, Data: [64]byte{8, 7, 6, 5, 4, 3, 2, 1}},
			{ID: 0x1fffffff, Extended: true, Len: 1},
			{ID: 0x322, Remote: true, Len: 4},
		}
		if w.FD {
			long := device.CANFrame{ID: 0x323, FD: true, BRS: true, Len: 64}
			for i := range long.Data {
				long.Data[i] = byte(i)
			}
			frames = append(frames, long, device.CANFrame{ID: 0x323, FD: true, Len: 12}, device.CANFrame{ID: 0x324, FD: true, ESI: true})
		}
		from := here(t, b)
		for i := range frames {
			send(t, frames[i])
		}
		got, taken := receive(t, b, device.CANWanted{From: from, Count: len(frames), Deadline: now(),
			Match: only(0x321, 0x7ff, 0, 0x1fffffff, 0x322, 0x323, 0x324)})
		if len(got) != len(frames) || taken.Lost != 0 {
			t.Fatalf("got %d of %d frames, lost %d", len(got), len(frames), taken.Lost)
		}
		for i := range frames {
			if got[i].CANFrame != frames[i] {
				t.Errorf("got %+v, sent %+v", got[i], frames[i])
			}
			if i > 0 && (got[i].Offset <= got[i-1].Offset || got[i].Time.Before(got[i-1].Time)) {
				t.Errorf("%d at %v comes after %d at %v", got[i].Offset, got[i].Time, got[i-1].Offset, got[i-1].Time)
			}
		}
	})
	t.Run("a sender does not receive its own", func(t *testing.T) {
		from := here(t, a)
		send(t, device.CANFrame{ID: 0x330, Len: 1})
		_, _, err := b.Send(w.Name, &device.CANFrame{ID: 0x331, Len: 1}, now())
		must(t, err)
		got, _ := receive(t, a, device.CANWanted{From: from, Count: 1, Deadline: now(), Match: only(0x330, 0x331)})
		if len(got) != 1 || got[0].ID != 0x331 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("frames between calls are kept", func(t *testing.T) {
		from := here(t, b)
		for i := range 20 {
			send(t, device.CANFrame{ID: 0x340, Len: 1, Data: [64]byte{byte(i)}})
		}
		for i := range 20 {
			got, taken := receive(t, b, device.CANWanted{From: from, Count: 1, Deadline: now(), Match: only(0x340)})
			if len(got) != 1 || got[0].Data[0] != byte(i) || taken.Lost != 0 {
				t.Fatalf("frame %d is %+v, lost %d", i, got, taken.Lost)
			}
			from = taken.Next
		}
	})
	t.Run("next of a Send is before its answer", func(t *testing.T) {
		_, next, err := b.Send(w.Name, &device.CANFrame{ID: 0x350}, now())
		must(t, err)
		send(t, device.CANFrame{ID: 0x351})
		got, _ := receive(t, b, device.CANWanted{From: next, Count: 1, Deadline: now(), Match: only(0x350, 0x351)})
		if len(got) != 1 || got[0].ID != 0x351 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a verdict ends the call before the frame", func(t *testing.T) {
		from := here(t, b)
		send(t, device.CANFrame{ID: 0x360})
		for range 2 {
			got, taken := receive(t, b, device.CANWanted{From: from, Count: 1, Deadline: now(), Match: func(f *device.CANFrame) device.CANVerdict {
				if f.ID == 0x360 {
					return device.CANEnd
				}
				return device.CANSkip
			}})
			if len(got) != 0 {
				t.Errorf("got %+v", got)
			}
			from = taken.Next
		}
	})
	t.Run("a wait ends at its deadline and when told", func(t *testing.T) {
		asked := false
		for _, want := range []device.CANWanted{
			{From: device.CANFromNow, Count: 1, Match: only(0x370)},
			{From: device.CANFromNow, Count: 1, Match: only(0x370), Deadline: time.Now().Add(20 * time.Millisecond)},
			{From: device.CANFromNow, Count: 1, Match: only(0x370), Deadline: time.Now().Add(time.Hour), Stop: func() bool { asked = true; return true }},
		} {
			if got, _ := receive(t, b, want); len(got) != 0 {
				t.Errorf("got %+v", got)
			}
		}
		if !asked {
			t.Error("Stop was not asked")
		}
	})
	t.Run("what no bus takes is refused", func(t *testing.T) {
		for _, f := range []device.CANFrame{
			{ID: 0x800}, {ID: 0x20000000, Extended: true}, {ID: 1, Len: 9}, {ID: 1, BRS: true}, {ID: 1, Error: true},
			{ID: 1, FD: true, Len: 9}, {ID: 1, FD: true, Len: 65}, {ID: 1, FD: true, Remote: true},
		} {
			_, _, err := a.Send(w.Name, &f, now())
			refused(t, err, device.ErrNotSupport, f.String())
		}
		if !w.FD {
			_, _, err := a.Send(w.Name, &device.CANFrame{FD: true}, now())
			refused(t, err, device.ErrNotSupport, w.Name, "fd on")
		}
	})
	t.Run("a closed board ends its waits", func(t *testing.T) {
		third := open()
		c := third.CAN()
		here(t, c)
		done := make(chan error)
		go func() {
			_, _, err := c.Receive(w.Name, device.CANWanted{From: device.CANFromNow, Count: 1, Deadline: now().Add(time.Hour), Match: only(0x380)}, nil)
			done <- err
		}()
		time.Sleep(20 * time.Millisecond)
		must(t, third.Close())
		refused(t, <-done, device.ErrUnplugged)
		_, _, err := c.Send(w.Name, &device.CANFrame{}, now())
		refused(t, err, device.ErrUnplugged)
		_, _, err = c.Receive(w.Name, device.CANWanted{Count: 1}, nil)
		refused(t, err, device.ErrUnplugged)
		_, err = c.Links(nil)
		refused(t, err, device.ErrUnplugged)
	})
}
