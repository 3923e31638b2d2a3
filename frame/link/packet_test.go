package link

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestCOBS(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 600 {
		for range 8 {
			p := make([]byte, n)
			for i := range p {
				if p[i] = byte(r.Uint32()); r.IntN(3) == 0 {
					p[i] = 0
				}
			}
			if r.IntN(2) == 0 {
				p = bytes.Repeat([]byte{7}, n)
			}
			coded := appendCOBS(nil, p)
			if bytes.IndexByte(coded, 0) >= 0 || len(coded) > n+1+n/254 {
				t.Fatalf("%d bytes became %d, with a zero at %d", n, len(coded), bytes.IndexByte(coded, 0))
			}
			got, ok := decodeCOBS(coded)
			if !ok || !bytes.Equal(got, p) {
				t.Fatalf("%x came back as %x", p, got)
			}
		}
	}
}

func TestScannerTellsPacketsFromText(t *testing.T) {
	packet := appendPacket(nil, append(make([]byte, 0, 99), typeAck, 5), 1)
	body := string(packet[:len(packet)-1])
	long := string(bytes.Repeat([]byte{0x90}, 2000))
	for _, tc := range []struct {
		name           string
		in             []string
		packets, stray string
		tooLong        uint64
	}{
		{"a packet", []string{body + "\x00"}, body, "", 0},
		{"a packet in pieces", []string{body[:3], body[3:], "\x00"}, body, "", 0},
		{"delimiters before it", []string{"\x00\x00" + body + "\x00"}, body, "", 0},
		{"text before a delimiter", []string{"login: \x00" + body + "\x00"}, body, "login: ", 0},
		{"text alone comes out at once", []string{"login: "}, "", "login: ", 0},
		{"text in another alphabet", []string{"grüße: 21 °C"}, "", "grüße: 21 °C", 0},
		{"a packet right after text is lost", []string{"text" + body + "\x00" + body + "\x00"}, body, "text" + body, 0},
		{"a packet that is too long is text", []string{long, "x\x00" + body + "\x00"}, body, long + "x", 1},
	} {
		var s scanner
		var packets, stray []byte
		var tooLong uint64
		for i, p := range tc.in {
			tooLong += s.scan([]byte(p), time.Duration(i), func(p []byte) { packets = append(packets, p...) }, func(p []byte) { stray = append(stray, p...) })
		}
		if string(packets) != tc.packets || string(stray) != tc.stray || tooLong != tc.tooLong {
			t.Errorf("%s: packets %q, stray %q, %d too long", tc.name, packets, stray, tooLong)
		}
	}
}

func TestAnUnfinishedPacketBecomesText(t *testing.T) {
	var s scanner
	var stray []byte
	take := func(p []byte) { stray = append(stray, p...) }
	s.scan([]byte("\xff{\"id\":"), 0, take, take)
	s.scan([]byte("{}"), time.Second, take, take)
	if string(stray) != "\xff{\"id\":{}" {
		t.Errorf("%q", stray)
	}
}

func TestSessionsDoNotReadEachOther(t *testing.T) {
	a, b := seeds(1, 2)
	c, d := seeds(1, 3)
	p := []byte{typeAck, 7}
	packet := appendPacket(nil, append(make([]byte, 0, 99), p...), a)
	opened, sum, ok := openPacket(packet[:len(packet)-1])
	if !ok || !bytes.Equal(opened, p) || !sealed(opened, sum, a) {
		t.Fatal("a packet does not come back")
	}
	for _, seed := range []uint32{b, c, d, 0} {
		if sealed(opened, sum, seed) {
			t.Errorf("the packet passes with seed %#x", seed)
		}
	}
}

func TestAHelloOfAnotherVersionIsAnswered(t *testing.T) {
	board := newEnd(Config{Epoch: 2, Program: "board 1"})
	board.opened(0)
	future := append(make([]byte, 0, 99), typeHello, magic0, magic1, 9, 12, 0xC7, 0xC7)
	board.receive(appendPacket(nil, future, 0), 0)
	reply := board.transmit(nil, 0)
	host := newEnd(Config{Host: true, Epoch: 1})
	host.opened(0)
	host.receive(reply, 0)
	e, ok := host.fatal.(*VersionError)
	if !ok || e.Min != minVersion || e.Max != maxVersion || e.Program != "board 1" || board.session {
		t.Fatalf("%v", host.fatal)
	}
}

// What an end is in when something arrives.
const (
	running uint8 = iota
	newborn       // it has had no session
	down
	dead // its session has ended, the other end's has not
	states
)

// Whatever arrives, an end stays within its limits and goes on.
func FuzzReceive(f *testing.F) {
	w := newWorld(f, 115200, Config{}, Config{})
	w.run(100*time.Millisecond, nil)
	f.Add(running, false, []byte{typeData | flagFirst | flagLast, 0, 0, 'x'})
	f.Add(running, false, []byte{typeData | flagFirst | flagLast | flagSeveral, 0, 0, 2, 'x', 'y', 200})
	f.Add(running, false, []byte{typeData | chanLong | flagFirst, 0, 0, 'x'})
	f.Add(running, true, []byte{typeData | chanOffer | flagFirst | flagLast, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add(running, true, []byte{typeData | chanLog | flagFirst | flagLast, 0, 0, 0x92, 0, 0xC4, 1, 'x'})
	f.Add(running, true, []byte{typeAck | ackPing | flagExtended, 0, extWant | 2, 255, 255})
	f.Add(running, false, append([]byte{typeHello}, w.host.appendHello(nil)...))
	f.Add(running, true, append([]byte{typeAnswer}, w.board.appendAnswer(nil)...))
	f.Add(running, true, []byte{typeReset, 0x91, 5})
	f.Add(running, false, []byte("login: "))
	f.Add(running, false, []byte{typeBye})
	piece := func(typ, index byte, content ...byte) []byte {
		return append([]byte{typ, 0, 0, index}, content...)
	}
	full := append([]byte{typeData | chanLong | flagFirst | flagLast}, make([]byte, pieceSize-1)...)
	f.Add(running, false, slices.Concat(piece(typePiece, 0, full...), piece(typePiece, 1|pieceLast, 'x')))
	f.Add(running, false, slices.Concat(piece(typePiece, 1|pieceLast, full...), piece(typePiece, 0, full...)))
	f.Add(running, true, slices.Concat(piece(typePiece, 1, full...), piece(typePiece, 1|pieceLast, 'x')))
	f.Add(running, true, piece(typePiece, 16|pieceLast, 'x'))
	f.Add(running, false, piece(typePiece, pieceLast, typeAck))
	for _, state := range []uint8{newborn, down, dead} {
		f.Add(state, false, []byte{typeBye})
		f.Add(state, false, piece(typePiece, pieceLast, typeData|flagFirst|flagLast))
		f.Add(state, false, append([]byte{typeHello}, w.host.appendHello(nil)...))
		f.Add(state, true, append([]byte{typeAnswer}, w.board.appendAnswer(nil)...))
		f.Add(state, true, []byte{typeReset, 0x91, 5})
		f.Add(state, false, []byte{typeData | flagFirst | flagLast, 0, 0, 'x'})
		f.Add(state, true, []byte{typeAck | ackPing, 0})
	}
	f.Fuzz(func(t *testing.T, state uint8, toHost bool, p []byte) {
		w := newWorld(t, 115200, Config{Max: 4 << 10}, Config{Max: 4 << 10})
		if state%states != newborn {
			w.run(50*time.Millisecond, nil)
		}
		e := w.board
		if toHost {
			e = w.host
		}
		switch state % states {
		case down:
			e.closed(w.now)
			e.opened(w.now)
		case dead:
			e.end(ErrSilence)
			take(e, w.now)
		}
		e.send([]byte("one"), 0)
		e.transmit(nil, w.now)
		e.receive(p, w.now) // as it is
		e.receive([]byte{0}, w.now)
		if len(p) > 0 && len(p) < maxBody { // and as a packet of the session
			seed := e.seedIn
			if p[0] >= typeHello && p[0] <= typeReset {
				seed = 0
			}
			for len(p) > 0 {
				n := 1 + int(p[0])%64
				if isPiece(p[0]) {
					n = 4 + pieceSize
				}
				n = min(n, len(p))
				piece := append(make([]byte, 0, 99), p[:n]...)
				e.receive(appendPacket(nil, piece, seed), w.now)
				p = p[n:]
			}
		}
		for i := range e.held {
			if h := &e.held[i]; cap(h.payload) > maxPayload || h.pieces>>piecesMost != 0 || h.size > 1+maxPayload {
				t.Fatalf("a packet of %d bytes and pieces %b, in a buffer of %d", h.size, h.pieces, cap(h.payload))
			}
		}
		if len(e.in.buf) > receiveQueue+4<<10 || len(e.assembly[1].coded) > 8<<10 {
			t.Fatalf("queues of %d and %d bytes", len(e.in.buf), len(e.assembly[1].coded))
		}
		if e.fatal != nil { // Run returns, and is called again
			e.fatal = nil
			e.closed(w.now)
			e.opened(w.now)
		}
		e.transmit(nil, w.now)
		if at := e.deadline(); at <= w.now && e.due() == dueNothing {
			t.Fatalf("at %v asks for %v", w.now, at)
		}
		// It can be talked to: in this session, or in one after it.
		w.run(50*time.Second, nil)
		if !w.host.up || !w.board.up {
			t.Fatalf("the ends do not find each other again")
		}
	})
}
