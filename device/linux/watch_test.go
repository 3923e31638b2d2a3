//go:build linux

package linux

import (
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

func TestAConfigurationBecomesFlags(t *testing.T) {
	const in, out = uapi.FlagInput, uapi.FlagOutput
	for _, c := range []struct {
		name   string
		config device.Config
		edges  device.Edges
		flags  uint64
	}{
		{"an input", device.Config{Level: device.High}, 0, in},
		{"pulled up, active low", device.Config{Bias: device.BiasUp, ActiveLow: true}, 0, in | uapi.FlagBiasPullUp | uapi.FlagActiveLow},
		{"pulled down", device.Config{Bias: device.BiasDown}, 0, in | uapi.FlagBiasPullDown},
		{"not pulled", device.Config{Bias: device.BiasOff}, 0, in | uapi.FlagBiasDisabled},
		{"with edges", device.Config{Drive: device.OpenDrain}, device.BothEdges, in | uapi.FlagEdgeRising | uapi.FlagEdgeFalling},
		{"with one edge", device.Config{}, device.Falling, in | uapi.FlagEdgeFalling},
		{"an output has no edges", device.Config{Direction: device.Out}, device.BothEdges, out},
		{"open drain", device.Config{Direction: device.Out, Drive: device.OpenDrain, Debounce: time.Second}, 0, out | uapi.FlagOpenDrain},
		{"open source", device.Config{Direction: device.Out, Drive: device.OpenSource}, 0, out | uapi.FlagOpenSource},
	} {
		got := lineConfig(c.config, c.edges)
		attrs := uint32(0)
		if c.config.Direction == device.Out {
			attrs = 1
		}
		if got.Flags != c.flags || got.Num_attrs != attrs {
			t.Errorf("%s: flags %#x, %d attributes, want %#x, %d", c.name, got.Flags, got.Num_attrs, c.flags, attrs)
		}
	}
	high := lineConfig(device.Config{Direction: device.Out, Level: device.High}, 0)
	if a := high.Attrs[0]; a.Attr.Id != uapi.AttrOutputValues || a.Attr.Flags != 1 || a.Mask != 1 {
		t.Errorf("%+v", a)
	}
	slow := lineConfig(device.Config{Debounce: 5 * time.Millisecond}, 0)
	info := uapi.LineInfo{Num_attrs: 1}
	info.Attrs[0] = slow.Attrs[0].Attr
	if slow.Num_attrs != 1 || slow.Attrs[0].Mask&1 == 0 || debounce(&info) != 5*time.Millisecond {
		t.Errorf("%+v is a debounce of %v", slow.Attrs[0], debounce(&info))
	}
}

// A watch over pipes in place of the kernel's requests, with the write end of each.
func pipedWatch(t *testing.T, lines int) (*watch, []int) {
	t.Helper()
	g := newGPIO(roots{})
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	must(t, err)
	w := &watch{gpio: g, wake: wake}
	c := chipOf(0, "", "", make([]string, lines)...)
	c.fd = -1
	var ends []int
	for i := range lines {
		var p [2]int
		must(t, unix.Pipe2(p[:], unix.O_CLOEXEC))
		l := &c.lines[i]
		l.fd, l.watch, l.name = p[0], w, "pipe"
		w.lines, w.own, w.base = append(w.lines, l), append(w.own, true), append(w.base, 0)
		w.polls = append(w.polls, unix.PollFd{Fd: int32(p[0]), Events: unix.POLLIN})
		ends = append(ends, p[1])
	}
	w.polls = append(w.polls, unix.PollFd{Fd: int32(wake), Events: unix.POLLIN})
	t.Cleanup(func() {
		w.Close()
		for _, fd := range ends {
			unix.Close(fd)
		}
	})
	return w, ends
}

func emit(t *testing.T, fd int, at time.Duration, id, seq uint32) {
	t.Helper()
	e := uapi.LineEvent{Timestamp_ns: uint64(at), Id: id, Line_seqno: seq}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&e)), unsafe.Sizeof(e))
	if n, err := unix.Write(fd, b); n != len(b) || err != nil {
		t.Fatal(n, err)
	}
}

func TestEventsOfSeveralLinesComeByTime(t *testing.T) {
	w, ends := pipedWatch(t, 2)
	w.began = 1000
	emit(t, ends[0], 1030, uapi.EventRising, 1)
	emit(t, ends[0], 1060, uapi.EventRising+1, 2)
	emit(t, ends[1], 1040, uapi.EventRising+1, 7)
	got, err := w.Next([]device.Event{{Line: 9}}, time.Second)
	must(t, err)
	want := []device.Event{{Line: 9}, {Line: 0, Level: 1, Since: 30, Seq: 1}, {Line: 1, Level: 0, Since: 40, Seq: 7}, {Line: 0, Level: 0, Since: 60, Seq: 2}}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("event %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	began := time.Now()
	if got, err = w.Next(got[:0], 20*time.Millisecond); len(got) != 0 || err != nil || time.Since(began) < 20*time.Millisecond {
		t.Errorf("%+v %v after %v", got, err, time.Since(began))
	}
}

func TestABurstComesInBatchesWithoutALoss(t *testing.T) {
	w, ends := pipedWatch(t, 1)
	const n = 1000 // 48 kB: fits in a pipe
	for i := range uint32(n) {
		emit(t, ends[0], time.Duration(i), 1+i%2, i+1)
	}
	events := make([]device.Event, 0, 2*watchBatch)
	seen := uint32(0)
	for seen < n {
		var err error
		events, err = w.Next(events[:0], time.Second)
		must(t, err)
		if len(events) == 0 || len(events) > watchBatch {
			t.Fatalf("%d events in one batch", len(events))
		}
		for _, e := range events {
			if seen++; e.Seq != seen {
				t.Fatalf("event %d comes as number %d", e.Seq, seen)
			}
		}
	}
	emit(t, ends[0], 1, 1, n+1)
	if a := testing.AllocsPerRun(10, func() {
		events, _ = w.Next(events[:0], 0)
		emit(t, ends[0], 1, 1, n+2)
	}); a > 1 { // emit's own event
		t.Errorf("Next allocates %v times", a)
	}
}

// A held line keeps its request, and some kernels go on counting where its last
// watch ended.
func TestNumbersBeginAtOneInEachWatch(t *testing.T) {
	for name, c := range map[string]struct{ base, first, want uint32 }{
		"a new request":           {0, 1, 1},
		"a count that goes on":    {500, 501, 1},
		"one that lost some":      {500, 520, 20},
		"a kernel that begins":    {500, 1, 1},
		"one that begins and had": {500, 3, 3},
	} {
		w, ends := pipedWatch(t, 1)
		w.base[0] = c.base
		emit(t, ends[0], 1, 1, c.first)
		emit(t, ends[0], 2, 2, c.first+1)
		got, err := w.Next(nil, time.Second)
		must(t, err)
		if len(got) != 2 || got[0].Seq != c.want || got[1].Seq != c.want+1 {
			t.Errorf("%s: %+v", name, got)
		}
		if w.lines[0].seq != c.first+1 {
			t.Errorf("%s: the line's last number is %d", name, w.lines[0].seq)
		}
	}
}

func TestTheEndWakesWhoWaits(t *testing.T) {
	w, _ := pipedWatch(t, 1)
	ended := make(chan error, 1)
	go func() {
		_, err := w.Next(nil, time.Minute)
		ended <- err
	}()
	time.Sleep(10 * time.Millisecond)
	w.end()
	select {
	case err := <-ended:
		expect(t, err, device.ErrUnplugged)
	case <-time.After(10 * time.Second):
		t.Fatal("it still waits")
	}
	_, err := w.Next(nil, time.Minute)
	expect(t, err, device.ErrUnplugged)
}

func TestARequestWhoseChipIsGone(t *testing.T) {
	w, ends := pipedWatch(t, 1)
	emit(t, ends[0], 1, 1, 1)
	unix.Close(ends[0])
	ends[0] = -1
	got, err := w.Next(nil, time.Minute)
	if len(got) != 1 || err != nil {
		t.Errorf("%+v %v", got, err)
	}
	_, err = w.Next(nil, time.Minute)
	expect(t, err, device.ErrUnplugged, "pipe", "ENODEV")
}

func TestLeftOverEventsAreDrained(t *testing.T) {
	w, ends := pipedWatch(t, 1)
	for i := range uint32(200) {
		emit(t, ends[0], 1, 1, i+1)
	}
	w.lines[0].drain(w.events[:])
	if w.lines[0].seq != 200 {
		t.Errorf("the last number is %d", w.lines[0].seq)
	}
	if got, err := w.Next(nil, 0); len(got) != 0 || err != nil {
		t.Errorf("%+v %v", got, err)
	}
}

func TestAWatchOfTooMuchIsRefused(t *testing.T) {
	g := open(tree(t, map[string]string{"dev/gpiochip0": ""})).GPIO()
	for _, names := range [][]string{nil, make([]string, device.MaxWatched+1)} {
		_, err := g.Watch(names, device.Rising)
		expect(t, err, device.ErrNotSupport, "1 to 16")
	}
	_, err := g.Watch([]string{"a"}, 0)
	expect(t, err, device.ErrNotSupport)
	_, err = g.Watch([]string{"a"}, device.Rising)
	expect(t, err, device.ErrNotSupport, "gpiochip0")
}
