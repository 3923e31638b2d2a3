package link

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// heavy is noise in which of long packets hardly one in thousands is left whole: a byte
// in a hundred is lost, one has another after it, one comes twice.
var heavy = faults{drop: .01, insert: .01, repeat: .01}

// Noise that comes over a warm link finds packets of 256 bytes under way, and one that is
// there from the start those of a first message. They get through, with what is sent
// after them, and at a rate that does not sink to that of the longest timer.
func TestHeavyNoiseIsPassed(t *testing.T) {
	for _, line := range []struct {
		baud int
		most float64 // times the bytes
	}{{9600, 12}, {115200, 25}, {921600, 80}} {
		baud, most := line.baud, line.most
		for _, warm := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d baud, warm %t", baud, warm), func(t *testing.T) {
				seeds := uint64(10)
				if raceDetector || testing.Short() {
					seeds = 3
				}
				var worst, sum time.Duration
				for seed := range seeds {
					r := rand.New(rand.NewPCG(seed, 9))
					w := newWorld(t, baud, Config{}, Config{})
					w.host.speaks, w.board.speaks = 0, 0
					if warm { // packets have their full length
						w.run(100*time.Millisecond, nil)
						w.board.send(noise(r, 40_000), 0)
						w.host.send(noise(r, 40_000), 0)
						w.run(5*time.Minute, func() bool {
							take(w.board, w.now)
							take(w.host, w.now)
							return quiet(w.board) && quiet(w.host)
						})
						if min(w.board.size, w.host.size) < bulkFragment {
							t.Fatalf("packets have %d and %d bytes", w.board.size, w.host.size)
						}
					}
					var messages [][]byte
					for range 4 {
						msg := noise(r, 2000)
						messages = append(messages, msg)
						w.board.send(msg, 0)
						w.host.send(msg, 0)
					}
					if warm { // long packets are under way
						w.run(600*10*time.Second/time.Duration(baud), nil)
					}
					var cut time.Duration
					w.up.harm = func(b []byte, now time.Duration) []byte { return heavy.harm(r, &cut, b, now) }
					w.down.harm = w.up.harm
					begun := w.now
					var up, down [][]byte
					if !w.run(10*time.Minute, func() bool {
						up, down = append(up, take(w.host, w.now)...), append(down, take(w.board, w.now)...)
						return len(up) == len(messages) && len(down) == len(messages)
					}) {
						t.Fatalf("seed %d: %d and %d of %d messages after %v; board %+v", seed, len(up), len(down), len(messages), w.now-begun, w.board.stats)
					}
					for i := range messages {
						if !bytes.Equal(up[i], messages[i]) || !bytes.Equal(down[i], messages[i]) {
							t.Fatalf("seed %d: another message", seed)
						}
					}
					took := w.now - begun
					worst, sum = max(worst, took), sum+took
				}
				mean := sum / time.Duration(seeds)
				times := float64(mean) / float64(8000*10*time.Second/time.Duration(baud))
				t.Logf("8,000 bytes each way took %v, at most %v; %.1f times their bytes", mean, worst, times)
				if times > most {
					t.Errorf("8,000 bytes each way took %.1f times their bytes, want %v", times, most)
				}
			})
		}
	}
}

// Hello and answer are longer than what heavy noise leaves whole: who is not heard says
// them twice in turn.
func TestWhatOpensASessionIsSaidMoreOften(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	count := func(p []byte, typ byte) int { return bytes.Count(p, []byte{0, typ}) }
	var hello []byte
	for i := range 2 * hellosAlone {
		hello = w.host.transmit(nil, w.now)
		want := 1
		if i >= hellosAlone {
			want = 2
		}
		if n := count(hello, typeHello); n != want {
			t.Errorf("hello %d is said %d times, want %d", i, n, want)
		}
		w.now = w.host.helloAt
	}
	w.board.opened(w.now)
	for i, want := range []int{1, 2, 2} {
		w.board.receive(hello, w.now)
		if n := count(w.board.transmit(nil, w.now), typeAnswer); n != want {
			t.Errorf("hello %d is answered %d times, want %d", i, n, want)
		}
		w.now += time.Second
	}
	w.run(5*time.Second, nil)
	if !w.host.up || !w.board.up || w.board.stats.Sessions != 1 || w.board.unheard {
		t.Errorf("host up %t, board up %t, %d sessions", w.host.up, w.board.up, w.board.stats.Sessions)
	}
}
