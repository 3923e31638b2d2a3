package link

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// pieces cuts a packet of a whole message as a sender would.
func pieces(seq uint8, payload []byte) (all [][]byte) {
	content := append([]byte{typeData | chanLong | flagFirst | flagLast}, payload...)
	for i := 0; len(content) > 0; i++ {
		n := min(len(content), pieceSize)
		index := byte(i)
		if n == len(content) {
			index |= pieceLast
		}
		all = append(all, append([]byte{typePiece, seq, 0, index}, content[:n]...))
		content = content[n:]
	}
	return all
}

// arrive gives an end a packet of its session.
func (w *world) arrive(e *end, p []byte) {
	room := append(make([]byte, 0, len(p)+crcSize), p...)
	e.receive(appendPacket(nil, room, e.seedIn), w.now)
}

func TestPiecesMakeAPacket(t *testing.T) {
	for _, size := range []int{0, 1, 30, 31, 32, 62, 63, 64, 256, 511, 512} {
		r := rand.New(rand.NewPCG(uint64(size), 1))
		for range 20 {
			w := newWorld(t, 115200, Config{}, Config{})
			w.board.speaks = 0
			w.run(100*time.Millisecond, nil)
			payload := noise(r, size)
			all := pieces(0, payload)
			for _, i := range r.Perm(len(all)) {
				if n := w.board.expected; n != 0 {
					t.Fatalf("%d bytes: taken before all of %d pieces are there", size, len(all))
				}
				for range 1 + r.IntN(2) {
					w.arrive(w.board, all[i])
				}
			}
			got := take(w.board, w.now)
			if len(got) != 1 || !bytes.Equal(got[0], payload) || w.board.ackAt != w.now {
				t.Fatalf("%d bytes: got %x, want %x", size, got, payload)
			}
			// What comes after all is there is acknowledged at once, and no more.
			for len(w.board.transmit(nil, w.now)) > 0 {
				w.now += time.Millisecond
			}
			w.arrive(w.board, all[0])
			if got := take(w.board, w.now); len(got) != 0 || w.board.ackAt != w.now || w.board.held[0].pieces != 0 {
				t.Fatalf("%d bytes: a piece that came again: %x", size, got)
			}
		}
	}
}

func TestAPacketMayComeWholeAfterPiecesOfIt(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.board.speaks = 0
	w.run(100*time.Millisecond, nil)
	payload := noise(rand.New(rand.NewPCG(1, 2)), 100)
	for seq := range uint8(200) { // every slot, and more than once
		all := pieces(seq, payload)
		w.arrive(w.board, all[1])
		w.arrive(w.board, append([]byte{typeData | chanLong | flagFirst | flagLast, seq, 0}, payload...))
		if got := take(w.board, w.now); len(got) != 1 || !bytes.Equal(got[0], payload) {
			t.Fatalf("packet %d: got %x", seq, got)
		}
	}
}

func TestPiecesThatMustNotBeEndTheSession(t *testing.T) {
	const typ = typeData | chanLong | flagFirst | flagLast
	full := append([]byte{typ}, make([]byte, pieceSize-1)...)
	piece := func(index byte, content ...byte) []byte { return append([]byte{typePiece, 0, 0, index}, content...) }
	for _, tc := range []struct {
		name string
		sent [][]byte
	}{
		{"without its index", [][]byte{{typePiece, 0, 0}}},
		{"empty", [][]byte{piece(0)}},
		{"short and not the last", [][]byte{piece(1, full[:31]...)}},
		{"too long", [][]byte{piece(pieceLast, append(full, 0)...)}},
		{"reserved bits", [][]byte{piece(0x20, full...)}},
		{"beyond a packet", [][]byte{piece(17|pieceLast, 'x')}},
		{"of more than a packet", [][]byte{piece(16|pieceLast, 'x', 'y')}},
		{"16 that is not the last", [][]byte{piece(16, full...)}},
		{"of an acknowledgement", [][]byte{piece(pieceLast, typeAck)}},
		{"of a piece", [][]byte{piece(pieceLast, typePiece)}},
		{"of an extended packet", [][]byte{piece(pieceLast, typ|flagExtended)}},
		{"after the last", [][]byte{piece(1|pieceLast, 'x'), piece(2, full...)}},
		{"the last before another", [][]byte{piece(3, full...), piece(1|pieceLast, 'x')}},
		{"the last that was not", [][]byte{piece(1, full...), piece(1|pieceLast, 'x')}},
		{"not the last that was", [][]byte{piece(1|pieceLast, full...), piece(1, full...)}},
		{"two ends of one piece", [][]byte{piece(1|pieceLast, 'x'), piece(1|pieceLast, 'x', 'y')}},
	} {
		w := newWorld(t, 115200, Config{}, Config{})
		w.run(100*time.Millisecond, nil)
		for i, p := range tc.sent {
			bad := append(bytes.Clone(p), 'x', 'x', 'x', 'x', 'x')
			w.board.receive(append(appendCOBS([]byte{bad[0]}, bad[1:]), 0), w.now) // whose checksum is wrong
			if !w.board.session {
				t.Fatalf("%s: ended before piece %d", tc.name, i)
			}
			w.arrive(w.board, p)
		}
		if w.board.session {
			t.Errorf("%s: the session goes on", tc.name)
		}
		w.run(5*time.Second, nil)
		if !w.host.up || !w.board.up {
			t.Errorf("%s: the ends do not find each other again", tc.name)
		}
	}
}

// What others have shown to be lost twice goes in pieces, all of them each time, until it
// is acknowledged.
func TestWhatIsLostTwiceIsSentInPieces(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.board.speaks = 0
	w.run(100*time.Millisecond, nil)
	e := w.board
	e.send(noise(rand.New(rand.NewPCG(1, 2)), 80), 0)
	e.send(noise(rand.New(rand.NewPCG(1, 2)), 20), 0)
	types := func() (all []byte) {
		for range 20 {
			if p := e.transmit(nil, w.now); len(p) > 0 {
				all = append(all, bytes.TrimLeft(p, "\x00")[0])
			}
			w.now += 2 * time.Millisecond
		}
		return all
	}
	const whole, small = typeData | flagFirst | flagLast | flagSeveral, typeData | flagFirst | flagLast
	if got := types(); !bytes.Equal(got, []byte{whole, small}) {
		t.Fatalf("at first % x", got)
	}
	lose := func() {
		for seq := e.first; seq != e.next; seq++ {
			s := &e.slots[seq%window]
			s.losses = min(s.losses+1, wholeTimes)
			e.lose(s)
		}
	}
	lose()
	if got := types(); !bytes.Equal(got, []byte{whole, small}) {
		t.Errorf("lost once: % x", got)
	}
	const ping = typeAck | ackPing
	for range 2 {
		lose()
		if got := types(); !bytes.Equal(got, []byte{typePiece, typePiece, typePiece, small}) && !bytes.Equal(got, []byte{typePiece, typePiece, typePiece, small, ping}) {
			t.Errorf("lost twice: % x", got)
		}
	}
	lose()
	p := e.transmit(nil, w.now)
	if p[1] != typePiece {
		t.Fatalf("% x", p)
	}
	w.arrive(e, []byte{typeAck, 2})
	if got := types(); len(got) != 0 || e.lostCount != 0 {
		t.Errorf("acknowledged: % x", got)
	}
}

// A pong tells of what was sent before its ping, and how late the line is; a late one is
// not taken for one to a later ping.
func TestAPongNamesItsPing(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.run(100*time.Millisecond, nil)
	e := w.board
	e.send([]byte("x"), 0)
	send := func(wait time.Duration) {
		for len(e.transmit(nil, w.now)) > 0 {
			w.now += 2 * time.Millisecond
		}
		w.now += wait
	}
	send(100 * time.Millisecond)
	for range 3 {
		e.timeout()
		send(0)
	}
	first := e.pingNext - e.pinging
	if e.pinging < 2 || e.backoff != 3 {
		t.Fatalf("%d pings, %d timeouts", e.pinging, e.backoff)
	}
	w.now += 2 * time.Second
	w.arrive(e, []byte{typeAck | ackPong, 0, first + 1})
	if e.backoff != 0 || e.srtt < 2*time.Second || e.pinging != e.pingNext-first-2 {
		t.Errorf("after a pong %d timeouts, round trip %v, %d pings", e.backoff, e.srtt, e.pinging)
	}
	e.backoff = 1
	before := e.srtt
	for _, number := range []byte{first, first + 1, e.pingNext, e.pingNext + 100} {
		if w.arrive(e, []byte{typeAck | ackPong, 0, number}); e.backoff != 1 || e.srtt != before {
			t.Errorf("the pong to %d is taken, pings are %d to %d", number, first+2, e.pingNext-1)
		}
	}
	for _, p := range [][]byte{{typeAck | ackPong, 0}, {typeAck | ackPing, 0}, {typeAck, 0, 1}, {typeAck | ackPing | ackPong, 0, 1}} {
		bad := e.stats.BadPackets
		if w.arrive(e, p); e.stats.BadPackets != bad+1 {
			t.Errorf("% x is taken", p)
		}
	}
}

func TestPiecesAllocateNothing(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	w.host.speaks, w.board.speaks = 0, 0
	w.run(100*time.Millisecond, nil)
	msg := noise(rand.New(rand.NewPCG(1, 2)), 600)
	var buf []byte
	var front inbox
	round := func() {
		from, to := w.board, w.host
		from.send(msg, 0)
		for to.in.empty() {
			w.now += 10 * time.Millisecond
			if from.lostCount == 0 { // what is sent whole never arrives
				buf = from.transmit(buf[:0], w.now)
				for seq := from.first; seq != from.next; seq++ {
					if s := &from.slots[seq%window]; !s.sacked && !s.lost {
						s.losses = wholeTimes
						from.lose(s)
					}
				}
				continue
			}
			if buf = from.transmit(buf[:0], w.now); len(buf) > 0 {
				to.receive(buf, w.now)
			}
			if buf = to.transmit(buf[:0], w.now); len(buf) > 0 {
				from.receive(buf, w.now)
			}
			from.deadline()
		}
		front.reset()
		front, to.in = to.in, front
		to.taken(w.now)
		if got, _ := front.take(); !bytes.Equal(got, msg) {
			t.Fatalf("got %d bytes", len(got))
		}
	}
	for range 100 {
		round()
	}
	if n := testing.AllocsPerRun(100, round); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if w.board.stats.Retransmissions < 200 {
		t.Errorf("%d packets were sent again", w.board.stats.Retransmissions)
	}
}
