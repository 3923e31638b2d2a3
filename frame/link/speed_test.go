package link

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// A call and its answer, as a client of 2026-07-28 sends them.
func call(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"Example Client","version":"1.4.0"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"gpio_write","arguments":{"line":"GPIO%d","level":%d}}}`, id, argument(id)%26, argument(id)%2)
}

// argument makes the arguments of a call hard to foresee.
func argument(id int) uint32 { return uint32(id) * 2654435761 >> 12 }

func answerTo(id int) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","content":[{"type":"text","text":"{\"line\":\"GPIO%d\",\"level\":%d}"}],"structuredContent":{"line":"GPIO%d","level":%d}}}`, id, argument(id)%26, argument(id)%2, argument(id)%26, argument(id)%2)
}

// calls runs n calls over w, each sent when fewer than ahead are unanswered, and
// returns how long they took.
func (w *world) calls(n, ahead int) time.Duration {
	begun := w.now
	sent, answered := 0, 0
	ok := w.run(time.Hour, func() bool {
		for range take(w.host, w.now) {
			answered++
		}
		for _, msg := range take(w.board, w.now) {
			var id int
			fmt.Sscanf(string(msg), `{"jsonrpc":"2.0","id":%d`, &id)
			w.board.send(answerTo(id), 0)
		}
		for sent < n && sent-answered < ahead {
			sent++
			w.host.send(call(sent), 0)
		}
		return answered == n
	})
	if !ok {
		w.t.Fatalf("%d of %d calls were answered", answered, n)
	}
	return w.now - begun
}

func TestCallsCostFewBytes(t *testing.T) {
	for _, tc := range []struct {
		baud, ahead        int
		call, answer, rate float64 // bytes at most, calls a second at least
	}{
		{115200, 1, 24, 16, 200},
		{115200, 16, 24, 16, 400},
		{9600, 1, 24, 16, 16},
		{9600, 16, 24, 16, 33},
	} {
		w := newWorld(t, tc.baud, Config{Program: "boardhand 0.2.0"}, Config{Program: "boardhand 0.2.0", Name: "pi"})
		w.up.delay, w.down.delay = 200*time.Microsecond, 200*time.Microsecond
		w.calls(100, tc.ahead)
		down, up := w.down.carried, w.up.carried
		const n = 500
		took := w.calls(n, tc.ahead)
		perCall, perAnswer, rate := float64(w.down.carried-down)/n, float64(w.up.carried-up)/n, n/took.Seconds()
		t.Logf("%d baud, %d ahead: %.1f bytes a call, %.1f its answer, %.0f calls/s", tc.baud, tc.ahead, perCall, perAnswer, rate)
		if perCall > tc.call || perAnswer > tc.answer || rate < tc.rate {
			t.Errorf("%d baud, %d ahead: %.1f bytes a call, %.1f its answer, %.0f calls/s; want %v, %v, %v", tc.baud, tc.ahead, perCall, perAnswer, rate, tc.call, tc.answer, tc.rate)
		}
	}
}

// One call is there when its bytes are, but for a fifth.
func TestACallIsNotHeldUp(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.down.delay = 0
	w.calls(50, 1)
	for range 20 {
		w.run(time.Duration(100+len(w.down.flying))*time.Millisecond, nil)
		bytes := w.down.carried
		begun := w.now
		w.host.send(call(1), 0)
		if !w.run(time.Second, func() bool { return len(take(w.board, w.now)) > 0 }) {
			t.Fatal("the call did not arrive")
		}
		wire := time.Duration(w.down.carried-bytes) * w.down.perByte
		if took := w.now - begun; took > wire*12/10 {
			t.Errorf("a call took %v, its %v bytes %v", took, w.down.carried-bytes, wire)
		}
	}
}

func TestALargeMessageFillsTheLine(t *testing.T) {
	for _, tc := range []struct {
		baud int
		want float64
	}{{9600, .93}, {115200, .95}, {921600, .95}, {3000000, .95}} {
		if raceDetector && tc.baud > 115200 {
			break
		}
		w := newWorld(t, tc.baud, Config{}, Config{})
		w.run(100*time.Millisecond, nil)
		size := tc.baud
		msg := noise(rand.New(rand.NewPCG(1, 2)), size)
		begun := w.now
		w.board.send(msg, 0)
		var got [][]byte
		w.run(time.Hour, func() bool { got = take(w.host, w.now); return len(got) > 0 })
		if len(got) != 1 || !bytes.Equal(got[0], msg) {
			t.Fatal("the message was not delivered")
		}
		ideal := time.Duration(size) * w.up.perByte
		part := float64(ideal) / float64(w.now-begun)
		t.Logf("%d baud: %.1f %% of the line, %d retransmissions", tc.baud, 100*part, w.board.stats.Retransmissions)
		if part < tc.want {
			t.Errorf("%d baud: a large message gets %.1f %% of the line, want %.0f", tc.baud, 100*part, 100*tc.want)
		}
	}
}

// Both directions at once, as two programs that copy files would.
func TestBothDirectionsFillTheLine(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.run(100*time.Millisecond, nil)
	msg := noise(rand.New(rand.NewPCG(1, 2)), 115200)
	begun := w.now
	w.board.send(msg, 0)
	w.host.send(msg, 0)
	a, b := 0, 0
	w.run(time.Hour, func() bool { a += len(take(w.host, w.now)); b += len(take(w.board, w.now)); return a+b == 2 })
	part := float64(time.Duration(len(msg))*w.up.perByte) / float64(w.now-begun)
	t.Logf("%.1f %% of the line each way, %d and %d retransmissions", 100*part, w.board.stats.Retransmissions, w.host.stats.Retransmissions)
	if part < .95 || w.board.stats.Retransmissions > 0 {
		t.Errorf("%.1f %% of the line each way, %d retransmissions", 100*part, w.board.stats.Retransmissions)
	}
}

func TestAShortMessageOvertakesALongOne(t *testing.T) {
	for _, baud := range []int{9600, 115200} {
		w := newWorld(t, baud, Config{}, Config{})
		w.run(100*time.Millisecond, nil)
		w.board.send(noise(rand.New(rand.NewPCG(1, 2)), baud/2), 0)
		w.run(3*time.Second, nil)
		w.board.send(answerTo(1), 0) // the first costs more: the codec has seen none
		w.run(500*time.Millisecond, nil)
		take(w.host, w.now)
		worst := time.Duration(0)
		for i := range 10 {
			begun := w.now
			w.board.send(answerTo(1), 0)
			if !w.run(time.Second, func() bool { return len(take(w.host, w.now)) > 0 }) {
				t.Fatalf("%d baud: the short message did not arrive in time", baud)
			}
			if i > 0 {
				worst = max(worst, w.now-begun)
			}
			w.run(70*time.Millisecond, nil)
		}
		if !w.board.long.busy {
			t.Fatal("the long message is through")
		}
		most := 50*time.Millisecond + 100*w.up.perByte
		t.Logf("%d baud: at most %v", baud, worst)
		if worst > most {
			t.Errorf("%d baud: a short message took %v beside a long one, want %v", baud, worst, most)
		}
	}
}

func TestAKnownListCostsItsHash(t *testing.T) {
	store := map[[8]byte][]byte{}
	known := func(h [8]byte) ([]byte, bool) { tail, ok := store[h]; return tail, ok }
	list := append([]byte(`{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[`), noise(rand.New(rand.NewPCG(3, 4)), 8000)...)
	for _, tc := range []struct {
		name    string
		n, cost int
	}{{"first", 1, 9000}, {"later", 3, 32}} {
		w := newWorld(t, 115200, Config{Known: known, Learn: func([8]byte, []byte) {}}, Config{})
		w.calls(20, 1)
		w.run(900*time.Millisecond, nil)
		before := w.up.carried
		beforeDown := w.down.carried
		w.board.send(list, 0)
		var got [][]byte
		w.run(5*time.Second, func() bool { got = append(got, take(w.host, w.now)...); return len(got) > 0 })
		w.run(50*time.Millisecond, nil)
		if len(got) != 1 || !bytes.Equal(got[0], list) {
			t.Fatalf("%s: the list did not arrive", tc.name)
		}
		cost := int(w.up.carried - before + w.down.carried - beforeDown)
		t.Logf("%s: %d bytes, %d of them back", tc.name, cost, w.down.carried-beforeDown)
		if cost > tc.cost {
			t.Errorf("%s: a list costs %d bytes both ways, want %d", tc.name, cost, tc.cost)
		}
		data := w.host.eventData
		for _, v := range w.host.events {
			if v.kind == evLearn {
				store[v.hash] = bytes.Clone(data[:v.size])
			}
			data = data[v.size:]
		}
	}
}

// Noise of one bit in a thousand spoils two packets in three of the usual
// length; shorter ones get through.
func TestShortFragmentsPassANoisyLine(t *testing.T) {
	for _, baud := range []int{115200, 921600} {
		if raceDetector && baud > 115200 {
			break
		}
		for _, bit := range []float64{1e-5, 1e-4, 1e-3} {
			r := rand.New(rand.NewPCG(5, 6))
			w := newWorld(t, baud, Config{}, Config{})
			f := faults{bit: bit}
			var cut time.Duration
			w.up.harm = func(b []byte, now time.Duration) []byte { return f.harm(r, &cut, b, now) }
			w.down.harm = w.up.harm
			w.run(2*time.Second, nil)
			msg := noise(r, baud/4)
			begun := w.now
			w.board.send(msg, 0)
			if !w.run(time.Minute, func() bool { return len(take(w.host, w.now)) > 0 }) {
				t.Fatalf("%d baud, bit errors %v: nothing gets through: %+v", baud, bit, w.board.stats)
			}
			part := float64(time.Duration(len(msg))*w.up.perByte) / float64(w.now-begun)
			t.Logf("%d baud, bit errors %v: %.0f %% of the line, fragments of %d", baud, bit, 100*part, w.board.size)
			if part < map[float64]float64{1e-5: .85, 1e-4: .6, 1e-3: .25}[bit] {
				t.Errorf("%d baud, bit errors %v: %.0f %% of the line", baud, bit, 100*part)
			}
		}
	}
}
