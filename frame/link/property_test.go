package link

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	seedFlag  = flag.Uint64("link.seed", 0, "run the model of this seed only")
	seedsFlag = flag.Uint64("link.seeds", 100, "how many seeds to run the model of")
)

// faults are what harms a line, each with its probability for a byte or a step.
type faults struct {
	bit, drop, insert, repeat float64 // of a byte
	burst                     float64 // of a piece of 16 bytes: 200 bytes of noise
	text                      float64 // of a piece: a line of the kernel's log
	stall                     float64 // of a step: 5 s
	cut                       float64 // of a step: this direction is dead for up to 10 s
}

func (f *faults) harm(r *rand.Rand, cutUntil *time.Duration, b []byte, now time.Duration) []byte {
	if now < *cutUntil {
		return nil
	}
	var out []byte
	if r.Float64() < f.burst {
		out = append(out, noise(r, 200)...)
	}
	if r.Float64() < f.text {
		out = append(out, "[   12.345678] usb 1-1: new full-speed USB device number 2\r\n"...)
	}
	bits := 8 * f.bit
	if bits+f.drop+f.insert+f.repeat == 0 {
		return append(out, b...)
	}
	for _, c := range b {
		x := r.Float64()
		switch {
		case x < bits:
			out = append(out, c^1<<r.IntN(8))
		case x < bits+f.drop:
		case x < bits+f.drop+f.insert:
			out = append(out, c, byte(r.Uint32()))
		case x < bits+f.drop+f.insert+f.repeat:
			out = append(out, c, c)
		default:
			out = append(out, c)
		}
	}
	return out
}

// sent is the model's knowledge of a message.
type sent struct {
	msg       []byte
	process   int // of the sender: which start of it
	order     int // among those of the process
	long      bool
	ordered   bool
	delivered int
	lost      bool
	outcome   Outcome
}

// model watches a world: who sent what, what arrived and what was reported.
type model struct {
	t        *testing.T
	r        *rand.Rand
	w        *world
	messages map[uint64]*sent     // by number, which the message begins with
	tickets  [2]map[uint64]uint64 // of the live process: ticket to number
	open     [2]map[uint64]*sent  // of the live process: neither delivered nor reported
	process  [2]int
	sentBy   [2]int
	last     [2]map[string]int // at the receiver: the last order of a stream in this session
	up       [2]bool
	store    map[[8]byte][]byte
	large    bool // messages with the codec, some of them large
	seed     uint64
}

func (m *model) fatalf(format string, args ...any) {
	m.t.Helper()
	m.t.Fatalf("-link.seed %d: at %v: %s", m.seed, m.w.now, fmt.Sprintf(format, args...))
}

// newEnd starts the program of a side.
func (m *model) newEnd(side int) *end {
	e := newEnd(m.config(side))
	if !m.large {
		e.speaks = 0 // the codec takes most of the time and is tested by itself
	}
	e.opened(m.w.now)
	return e
}

func (m *model) config(side int) Config {
	cfg := Config{Host: side == 0, Epoch: m.r.Uint32() | 1, Program: "model", Max: 256 << 10, Baud: m.w.host.cfg.Baud}
	if side == 0 {
		cfg.Known = func(h [8]byte) ([]byte, bool) { tail, ok := m.store[h]; return tail, ok }
		cfg.Learn = func([8]byte, []byte) {}
		cfg.Log = func([]byte) {}
		cfg.Stray = func([]byte) {}
	}
	return cfg
}

func (m *model) side(i int) *end {
	if i == 0 {
		return m.w.host
	}
	return m.w.board
}

func (m *model) send(i int) {
	e := m.side(i)
	if e.unread > 0 || len(m.open[i]) > 200 {
		return
	}
	number := uint64(len(m.messages) + 1)
	size := m.r.IntN(60)
	switch m.r.IntN(20) {
	case 0:
		size = m.r.IntN(900)
	case 1:
		size = m.r.IntN(8 << 10)
	case 2:
		if m.large && m.r.IntN(5) == 0 {
			size = m.r.IntN(80 << 10)
		}
	}
	msg := binary.BigEndian.AppendUint64(nil, number)
	if i == 1 && m.r.IntN(15) == 0 {
		tail := rand.New(rand.NewPCG(uint64(m.r.IntN(4)), 7))
		msg = append(append(msg, `,"result":`...), noise(tail, 1500+100*tail.IntN(50))...)
	} else if m.r.IntN(2) == 0 {
		msg = append(msg, noise(m.r, size)...)
	} else {
		msg = append(msg, bytes.Repeat([]byte(`{"jsonrpc":"2.0"}`), size/17+1)...)
	}
	var f Flags
	if m.r.IntN(4) == 0 {
		f |= Ordered
	}
	if !e.room(len(msg)) {
		return
	}
	m.sentBy[i]++
	m.messages[number] = &sent{msg: msg, process: m.process[i], order: m.sentBy[i], long: len(msg) > shortMessage, ordered: f&Ordered != 0}
	m.open[i][number] = m.messages[number]
	m.tickets[i][e.send(msg, f)] = number
}

func (m *model) take(i int) {
	e := m.side(i)
	from := 1 - i
	for _, msg := range take(e, m.w.now) {
		if msg == nil {
			clear(m.last[i])
			continue
		}
		if len(msg) < 8 {
			m.fatalf("a message of %d bytes that nobody sent", len(msg))
		}
		s := m.messages[binary.BigEndian.Uint64(msg)]
		switch {
		case s == nil:
			m.fatalf("side %d: a message that nobody sent: %.40q", i, msg)
		case s.delivered > 0:
			m.fatalf("side %d: message %d twice", i, binary.BigEndian.Uint64(msg))
		case s.lost && s.outcome == NotSent:
			m.fatalf("side %d: message %d was reported as not sent", i, binary.BigEndian.Uint64(msg))
		case !bytes.Equal(s.msg, msg):
			m.fatalf("side %d: a message that nobody sent so: %.40q", i, msg)
		}
		s.delivered++
		s.msg = nil
		delete(m.open[from], binary.BigEndian.Uint64(msg))
		stream := fmt.Sprint(s.long, s.process, from)
		if s.ordered {
			for _, o := range m.open[from] {
				if o.process == s.process && o.order < s.order {
					m.fatalf("side %d: the ordered message %d overtook %d", i, s.order, o.order)
				}
			}
			continue
		}
		if s.order <= m.last[i][stream] {
			m.fatalf("side %d: out of order", i)
		}
		m.last[i][stream] = s.order
	}
}

func (m *model) events(i int) {
	e := m.side(i)
	data := e.eventData
	for _, v := range e.events {
		switch v.kind {
		case evUp:
			if m.up[i] {
				m.fatalf("side %d: up twice", i)
			}
			m.up[i] = true
		case evDown:
			if !m.up[i] {
				m.fatalf("side %d: down twice", i)
			}
			m.up[i] = false
		case evEnded:
			if m.up[i] {
				m.fatalf("side %d: ended while up", i)
			}
			if !errors.Is(v.err, ErrSilence) && !errors.Is(v.err, ErrRestarted) && !errors.Is(v.err, ErrGoodbye) {
				m.fatalf("side %d: ended: %v", i, v.err)
			}
		case evLost:
			s := m.messages[m.tickets[i][v.ticket]]
			if s == nil || s.lost {
				m.fatalf("side %d: ticket %d lost twice, or never given", i, v.ticket)
			}
			if v.outcome == NotSent && s.delivered > 0 {
				m.fatalf("side %d: message %d was delivered, and reported as not sent", i, m.tickets[i][v.ticket])
			}
			s.lost, s.outcome = true, v.outcome
			delete(m.open[i], m.tickets[i][v.ticket])
		case evLearn:
			m.store[v.hash] = bytes.Clone(data[:v.size])
		}
		data = data[v.size:]
	}
	e.events, e.eventData = e.events[:0], e.eventData[:0]
}

func (m *model) restart(i int) {
	m.take(i)
	m.events(i)
	if m.r.IntN(2) == 0 { // not killed, but ended
		m.w.down.write(m.side(i).goodbye(nil), m.w.now) // a board's says nothing
	}
	m.process[i] += 2
	m.sentBy[i] = 0
	clear(m.tickets[i])
	clear(m.open[i])
	clear(m.last[i])
	m.up[i] = false
	e := m.newEnd(i)
	if i == 0 {
		m.w.host = e
	} else {
		m.w.board = e
	}
}

// quiet says that an end has nothing left to do.
func quiet(e *end) bool {
	return e.first == e.next && e.unacked == 0 && e.lostCount == 0 && e.waiting == 0 && e.in.empty() &&
		!e.short.waits() && !e.long.waits() && !e.log.waits() && len(e.flights.tickets) == e.flights.head
}

// kept is the bytes of an end's buffers that grow, without events.
func kept(e *end) (n int) {
	for i := range window {
		n += cap(e.slots[i].payload) + cap(e.held[i].payload)
	}
	for _, s := range []*outStream{&e.short, &e.long, &e.log} {
		n += cap(s.queue.buf) + 32*cap(s.queue.items) + cap(s.coded)
	}
	for i := range e.assembly {
		n += cap(e.assembly[i].coded)
	}
	return n + cap(e.head) + cap(e.in.buf) + 8*cap(e.in.ends) + 8*cap(e.flights.tickets) + cap(e.line.Line)
}

func runModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	bauds := []int{9600, 115200, 115200, 460800, 3000000, 0}
	m := &model{t: t, r: r, seed: seed, messages: map[uint64]*sent{}, store: map[[8]byte][]byte{}, process: [2]int{0, 1}, large: seed%100 == 0}
	for i := range 2 {
		m.open[i] = map[uint64]*sent{}
		m.tickets[i], m.last[i] = map[uint64]uint64{}, map[string]int{}
	}
	m.w = newWorld(t, bauds[r.IntN(len(bauds))], Config{}, Config{})
	m.w.host, m.w.board = m.newEnd(0), m.newEnd(1)
	level := func(most float64) float64 {
		if r.IntN(3) > 0 {
			return 0
		}
		return most * r.Float64()
	}
	f := faults{bit: level(.001), drop: level(.01), insert: level(.01), repeat: level(.01), burst: level(.01), text: level(.01), stall: level(.001), cut: level(.003)}
	if r.IntN(3) == 0 { // gentler, where most packets pass
		f.bit, f.drop, f.insert, f.repeat = f.bit/10, f.drop/10, f.insert/10, f.repeat/10
	}
	var cutUntil [2]time.Duration
	m.w.down.harm = func(b []byte, now time.Duration) []byte { return f.harm(r, &cutUntil[0], b, now) }
	m.w.up.harm = func(b []byte, now time.Duration) []byte { return f.harm(r, &cutUntil[1], b, now) }
	restarts, reopens := level(.003), level(.003)
	m.w.after = func() {
		for i := range 2 {
			if r.IntN(8) > 0 {
				m.take(i)
			}
			m.events(i)
			if e := m.side(i); len(e.in.buf) > receiveQueue+e.cfg.Max || len(e.in.ends) > receiveItems+together ||
				e.short.queue.waits()+e.long.queue.waits() > sendQueue+e.cfg.Max || e.log.queue.waits() > logQueue || len(e.events) > 500 {
				m.fatalf("side %d: a queue grew beyond its limit", i)
			}
		}
	}
	until := time.Duration(1+r.IntN(8)) * time.Second
	if m.large {
		until *= 4
	}
	pause := time.Duration(1+r.IntN(400)) * time.Millisecond
	var nextSend [2]time.Duration
	for m.w.now < until {
		m.w.step(m.w.now + 50*time.Millisecond)
		for i := range 2 {
			if m.w.now >= nextSend[i] {
				for range 1 + r.IntN(4) {
					m.send(i)
				}
				nextSend[i] = m.w.now + time.Duration(r.Float64()*float64(pause))
			}
			l := m.w.down
			if i == 1 {
				l = m.w.up
			}
			if r.Float64() < f.stall {
				for j := range l.flying {
					l.flying[j].at += 5 * time.Second
				}
				l.free = max(l.free, m.w.now) + 5*time.Second
			}
			if r.Float64() < f.cut {
				cutUntil[i] = m.w.now + time.Duration(r.IntN(10000))*time.Millisecond
			}
			if r.Float64() < restarts {
				m.restart(i)
			}
			if r.Float64() < reopens {
				e := m.side(i)
				e.closed(m.w.now)
				m.w.down.flying, m.w.up.flying = nil, nil
				e.opened(m.w.now)
			}
			if r.IntN(40) == 0 {
				m.side(i).logLine(noise(r, r.IntN(200)))
			}
		}
	}
	// Now the line is clean: everything must come to an end.
	f = faults{}
	cutUntil = [2]time.Duration{}
	done := func() bool {
		return len(m.open[0])+len(m.open[1]) == 0 && m.up[0] && m.up[1] && quiet(m.w.host) && quiet(m.w.board)
	}
	if !m.w.run(5*time.Minute, done) {
		m.fatalf("%d and %d of %d messages are unaccounted for, or an end does not come to rest; host %+v board %+v", len(m.open[0]), len(m.open[1]), len(m.messages), m.w.host.stats, m.w.board.stats)
	}
	for i := range 2 {
		m.take(i)
		m.events(i)
		if n := kept(m.side(i)); n > 160<<10 {
			m.fatalf("side %d: an end at rest keeps %d bytes of buffers", i, n)
		}
	}
}

// Whatever happens to the line and to the programs at its ends: each message
// arrives once, as it was, in the order of its stream, or its sender is told; and
// when the line is good again both ends come to rest.
func TestEveryMessageOnceInOrderOrReported(t *testing.T) {
	if *seedFlag != 0 {
		runModel(t, *seedFlag)
		return
	}
	n := *seedsFlag
	if testing.Short() {
		n = min(n, 500)
	}
	if raceDetector {
		n = min(n, 10)
	}
	const part = 100
	for from := uint64(1); from <= n; from += part {
		t.Run(fmt.Sprintf("from seed %d", from), func(t *testing.T) {
			t.Parallel()
			for seed := from; seed < from+part && seed <= n; seed++ {
				runModel(t, seed)
			}
		})
	}
}
