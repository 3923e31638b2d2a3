package link

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// A line that stands still for a moment, as on a busy machine, loses nothing, and what
// follows is late for good: the sender leaves no gap in which the line would catch up.
// What was then sent again for nothing must not make more be sent again.
func TestAStallIsNotMadeWorse(t *testing.T) {
	for _, baud := range []int{9600, 115200, 921600} {
		if raceDetector && baud > 115200 {
			break
		}
		for _, stall := range []time.Duration{100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second} {
			for _, after := range []time.Duration{400 * time.Millisecond, 5 * time.Second} {
				w := newWorld(t, baud, Config{}, Config{})
				w.run(100*time.Millisecond, nil)
				msg := noise(rand.New(rand.NewPCG(1, 2)), baud)
				begun := w.now
				w.board.send(msg, 0)
				w.run(after, nil)
				for i := range w.up.flying {
					w.up.flying[i].at += stall
				}
				w.up.free = max(w.up.free, w.now) + stall
				var got [][]byte
				w.run(time.Hour, func() bool { got = take(w.host, w.now); return len(got) > 0 })
				if len(got) != 1 || !bytes.Equal(got[0], msg) {
					t.Fatal("the message was not delivered")
				}
				took := w.now - begun - stall
				part := float64(time.Duration(len(msg))*w.up.perByte) / float64(took)
				again := w.board.stats.Retransmissions
				t.Logf("%d baud, %v after %v: %.1f %% of the line, %d packets sent again", baud, stall, after, 100*part, again)
				if part < .65 || again > 3*window {
					t.Errorf("%d baud, %v after %v: %.1f %% of the line, %d packets sent again", baud, stall, after, 100*part, again)
				}
			}
		}
	}
}

// A cut may have lost all that was under way: it is sent again as soon as the ends have
// found each other, not when timers that grew meanwhile say so.
func TestWhatACutLostIsSentAgainAtOnce(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.run(100*time.Millisecond, nil)
	w.up.harm = func([]byte, time.Duration) []byte { return nil }
	const n = 12
	for i := range n {
		w.board.send(noise(rand.New(rand.NewPCG(1, uint64(i))), 200), 0)
	}
	w.run(3*time.Second, nil)
	if w.board.backoff < 2 || w.board.next-w.board.first < timeoutPackets+2 {
		t.Fatalf("%d timeouts, %d packets under way", w.board.backoff, w.board.next-w.board.first)
	}
	w.up.harm = nil
	w.down.flying, w.up.flying = nil, nil
	for _, e := range []*end{w.host, w.board} {
		e.closed(w.now)
		e.opened(w.now)
	}
	begun, got := w.now, 0
	if !w.run(time.Second, func() bool { got += len(take(w.host, w.now)); return got == n }) {
		t.Fatalf("%d of %d messages arrived", got, n)
	}
	if most := n*230*w.up.perByte + 50*time.Millisecond; w.now-begun > most {
		t.Errorf("%d messages took %v after the cut, want %v", n, w.now-begun, most)
	}
}

// Who waits because the other end has no room is told when there is some.
func TestRoomIsToldAtOnce(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.run(100*time.Millisecond, nil)
	for range 50 {
		w.board.send(noise(rand.New(rand.NewPCG(1, 2)), 1000), 0)
	}
	w.run(8*time.Second, nil)
	if w.host.waiting == 0 || len(w.host.in.buf) < receiveQueue {
		t.Fatalf("%d packets wait for room, %d bytes for Receive", w.host.waiting, len(w.host.in.buf))
	}
	for len(w.host.transmit(nil, w.now)) > 0 {
		w.now += 50 * time.Millisecond
	}
	take(w.host, w.now)
	p := w.host.transmit(nil, w.now)
	w.board.receive(p, w.now)
	if len(p) == 0 || w.board.first != w.host.expected {
		t.Errorf("after there is room the other end is sent % x and knows of packets up to %d of %d", p, w.board.first, w.host.expected)
	}
}
