package link

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// line is one direction of a simulated line: bytes leave at its speed, arrive
// after a delay, and may be harmed on the way.
type line struct {
	perByte time.Duration
	delay   time.Duration
	free    time.Duration // when the last byte will have left
	flying  []flying
	harm    func(b []byte, now time.Duration) []byte // nil: a clean line
	carried uint64
}

type flying struct {
	at time.Duration
	b  []byte
}

func (l *line) write(p []byte, now time.Duration) {
	l.free = max(l.free, now)
	// In small pieces, as a UART hands them over.
	for len(p) > 0 {
		n := min(len(p), 16)
		l.free += time.Duration(n) * l.perByte
		l.carried += uint64(n)
		l.flying = append(l.flying, flying{l.free + l.delay, bytes.Clone(p[:n])})
		p = p[n:]
	}
}

// next is when something arrives.
func (l *line) next() time.Duration {
	if len(l.flying) == 0 {
		return never
	}
	return l.flying[0].at
}

func (l *line) read(now time.Duration) []byte {
	var out []byte
	for len(l.flying) > 0 && l.flying[0].at <= now {
		b := l.flying[0].b
		if l.harm != nil {
			b = l.harm(b, now)
		}
		out = append(out, b...)
		l.flying = l.flying[1:]
	}
	return out
}

// world is two ends, the line between them and virtual time.
type world struct {
	t           testing.TB
	now         time.Duration
	host, board *end
	down, up    *line // to the board, to the host
	steps       int
	after       func() // after each step
}

func newWorld(t testing.TB, baud int, host, board Config) *world {
	host.Host, host.Baud, board.Baud = true, baud, baud
	if host.Epoch == 0 {
		host.Epoch = 1000
	}
	if board.Epoch == 0 {
		board.Epoch = 2000
	}
	perByte := time.Duration(0)
	if baud > 0 {
		perByte = 10 * time.Second / time.Duration(baud)
	}
	w := &world{t: t, host: newEnd(host), board: newEnd(board),
		down: &line{perByte: perByte, delay: time.Millisecond}, up: &line{perByte: perByte, delay: time.Millisecond}}
	w.host.opened(0)
	w.board.opened(0)
	return w
}

// step goes on to the next thing that happens, at most to until.
func (w *world) step(until time.Duration) {
	w.steps++
	w.pump(w.host, w.down)
	w.pump(w.board, w.up)
	next := min(w.host.deadline(), w.board.deadline(), w.down.next(), w.up.next(), until)
	w.now = max(w.now, next)
	if p := w.down.read(w.now); len(p) > 0 {
		w.board.receive(p, w.now)
	}
	if p := w.up.read(w.now); len(p) > 0 {
		w.host.receive(p, w.now)
	}
	if w.after != nil {
		w.after()
	}
}

func (w *world) pump(e *end, l *line) {
	for range 300 {
		p := e.transmit(nil, w.now)
		if len(p) == 0 {
			if e.deadline() <= w.now {
				w.t.Fatalf("at %v an end asks for a turn at %v, and does nothing", w.now, e.deadline())
			}
			return
		}
		l.write(p, w.now)
	}
	if l.perByte > 0 {
		w.t.Fatalf("at %v an end sends without end", w.now)
	}
}

// run goes on until done or, in virtual time, for d.
func (w *world) run(d time.Duration, done func() bool) bool {
	until := w.now + d
	for w.now < until {
		if done != nil && done() {
			return true
		}
		w.step(until)
	}
	return done == nil || done()
}

// take gives what an end has received; nil stands for the end of a session.
func take(e *end, now time.Duration) [][]byte {
	var all [][]byte
	for !e.in.empty() {
		front := e.in
		e.in = inbox{}
		for !front.empty() {
			msg, ok := front.take()
			if !ok {
				e.unread--
				msg = nil
			}
			all = append(all, msg)
		}
		e.taken(now)
	}
	return all
}

func noise(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestAMessageEachWay(t *testing.T) {
	w := newWorld(t, 115200, Config{Program: "host 1"}, Config{Program: "board 1", Name: "greenhouse"})
	w.host.send([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`), 0)
	var got [][]byte
	if !w.run(time.Second, func() bool { got = append(got, take(w.board, w.now)...); return len(got) > 0 }) {
		t.Fatal("nothing arrived")
	}
	if string(got[0]) != `{"jsonrpc":"2.0","id":1,"method":"ping"}` {
		t.Errorf("got %q", got[0])
	}
	w.board.send([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), 0)
	if !w.run(time.Second, func() bool { got = append(got, take(w.host, w.now)...); return len(got) > 1 }) {
		t.Fatal("no answer arrived")
	}
	if len(w.host.events) != 1 || w.host.events[0].kind != evUp || !w.host.events[0].peer.New || w.host.events[0].peer.Name != "greenhouse" {
		t.Errorf("events %+v", w.host.events)
	}
}
