package link

import (
	"fmt"
	"time"
)

// end is one end of a link without input, output and clock: receive takes what
// arrived, transmit gives what to write, deadline says when to ask again. now is
// a time since some fixed moment. It is not safe for concurrent use.
type end struct {
	cfg   Config
	stats Stats
	now   time.Duration // of the last call

	epoch     uint32 // own, of this session or the next
	speaks    uint8  // the coding this end can do
	peer      hello  // the other end of the session; its name is apart
	peerName  string
	session   bool
	up        bool          // the session, and the other end is not silent
	downSince time.Duration // while there is a session that is not up
	seedIn    uint32
	seedOut   uint32
	fatal     error // no session is possible

	hellos   int           // sent since it was up
	helloAt  time.Duration // host: when the next is due
	answer   uint8         // board: the version to answer a hello with
	answerTo uint32        // the hello's epoch
	answers  bool          // an answer is due
	unheard  bool          // board: nothing but hellos came since it answered one
	resetAt  time.Duration // board: before then none is sent
	resets   bool          // a reset is due

	clock
	sender
	receiver
	scan scanner

	events    []event
	eventData []byte // of the events that have bytes

	body              [1 + maxBody]byte // the packet that is built
	onPacket, onStray func([]byte)
}

// event is something to tell.
type event struct {
	kind    eventKind
	peer    Peer
	ticket  uint64
	outcome Outcome
	err     error
	hash    [hashSize]byte
	size    int // of its bytes
}

type eventKind uint8

const (
	evUp eventKind = iota
	evDown
	evEnded
	evLost
	evLog
	evStray
	evLearn
)

func newEnd(cfg Config) *end {
	if cfg.Max <= 0 {
		cfg.Max = DefaultMax
	}
	if cfg.Grace <= 0 {
		cfg.Grace = DefaultGrace
	}
	cfg.Program = cfg.Program[:min(len(cfg.Program), maxName)]
	cfg.Name = cfg.Name[:min(len(cfg.Name), maxName)]
	e := &end{cfg: cfg, epoch: cfg.Epoch, speaks: codecID}
	e.stats.Baud = cfg.Baud
	e.clock.set(cfg.Baud)
	e.encoders, e.decoders = newEncoders(cfg.Baud), newDecoders()
	e.onPacket, e.onStray = e.packet, e.strayed
	return e
}

func (e *end) tell(v event, data []byte) {
	v.size = len(data)
	if n := len(e.events); v.kind == evStray && n > 0 && e.events[n-1].kind == evStray {
		e.events[n-1].size += v.size
		e.eventData = append(e.eventData, data...)
		return
	}
	e.events = append(e.events, v)
	e.eventData = append(e.eventData, data...)
}

// opened is told that there is a port, new to both ends.
func (e *end) opened(now time.Duration) {
	e.now = now
	e.scan.state = between
	e.lineFree, e.lead = now, true
	e.hellos, e.helloAt = 0, now
}

// closed is told that the port is gone.
func (e *end) closed(now time.Duration) {
	e.now = now
	e.down()
}

func (e *end) down() {
	if e.up {
		e.up, e.downSince = false, e.now
		e.hellos, e.helloAt = 0, e.now
		e.tell(event{kind: evDown}, nil)
	}
}

// begin starts a session with the other end that p describes.
func (e *end) begin(p hello, name string) {
	host, board := e.epoch, p.Epoch
	e.peer, e.peerName = p, name
	if e.cfg.Host {
		e.seedOut, e.seedIn = seeds(host, board)
	} else {
		host, board = board, host
		e.seedIn, e.seedOut = seeds(host, board)
	}
	e.session = true
	e.beginSending()
	e.beginReceiving()
	e.stats.Sessions++
	e.rise(true)
}

// resume goes on with the session after silence.
func (e *end) resume() {
	if e.up {
		return
	}
	e.stats.Resumed++
	e.rise(false)
	e.ackAt = e.now
}

func (e *end) rise(fresh bool) {
	e.up, e.hellos = true, 0
	e.heard = e.now
	e.pings = e.cfg.Host
	e.loseAll()
	e.tell(event{kind: evUp, peer: Peer{Program: e.peer.Program, Name: e.peerName, Epoch: e.peer.Epoch, New: fresh}}, nil)
}

// end ends the session; what was to be sent is accounted for.
func (e *end) end(why error) {
	if !e.session {
		return
	}
	e.down()
	e.session = false
	if !e.cfg.Host || why != ErrRestarted {
		// The pair of epochs must not come again. If a host's board has
		// restarted, that changed its half.
		if e.epoch++; e.epoch == 0 {
			e.epoch = 1
		}
	}
	e.accountForAll()
	if e.in.end() {
		e.unread++
	}
	e.hellos, e.helloAt = 0, e.now
	e.tell(event{kind: evEnded, err: why}, nil)
}

func (e *end) lost(ticket uint64, o Outcome) {
	e.tell(event{kind: evLost, ticket: ticket, outcome: o}, nil)
}

// violated ends the session: the other end sent what it must not.
func (e *end) violated(format string, args ...any) {
	e.end(fmt.Errorf("link: the other end broke the protocol: "+format, args...))
	e.resets = !e.cfg.Host
}

// A hello and its answer begin with these in every version, and with the
// versions the sender speaks; an answer with the one it chose before.
const (
	magic0 = 'b'
	magic1 = 'h'
)

// appendHello appends the body of a host's hello.
func (e *end) appendHello(dst []byte) []byte {
	h := hello{Codec: e.speaks, Epoch: e.epoch, Max: uint32(e.cfg.Max), Window: receiveWindow,
		Baud: uint32(e.cfg.Baud), Offers: e.cfg.Known != nil, Program: e.cfg.Program}
	dst = append(dst, magic0, magic1, minVersion, maxVersion)
	return must(h.MarshalMsg(dst))
}

// appendAnswer appends the body of a board's answer.
func (e *end) appendAnswer(dst []byte) []byte {
	a := answer{Codec: e.codec(), Host: e.answerTo, Epoch: e.epoch, Max: uint32(e.cfg.Max), Window: receiveWindow,
		Program: e.cfg.Program, Name: e.cfg.Name}
	dst = append(dst, magic0, magic1, e.answer, minVersion, maxVersion)
	return must(a.MarshalMsg(dst))
}

// codec is the coding of the session: both ends' or none.
func (e *end) codec() uint8 {
	if e.peer.Codec == e.speaks {
		return e.speaks
	}
	return 0
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err) // these records have nothing that could fail
	}
	return b
}

// hello is what a host said: the board's part.
func (e *end) hello(body []byte) (ok bool) {
	if len(body) < 4 || body[0] != magic0 || body[1] != magic1 {
		return false
	}
	low, high := body[2], body[3]
	if low > maxVersion || high < minVersion || low > high {
		e.answer, e.answerTo, e.answers = 0, 0, true
		return true
	}
	var h hello
	if _, err := h.UnmarshalMsg(body[4:]); err != nil || h.Epoch == 0 {
		return false
	}
	h.Program = h.Program[:min(len(h.Program), maxName)]
	e.answer, e.answerTo, e.answers, e.resets = min(high, maxVersion), h.Epoch, true, false
	if e.session && e.peer.Epoch == h.Epoch {
		e.heard = e.now
		e.resume()
		return true
	}
	e.unheard = false
	e.end(ErrRestarted)
	e.begin(h, "")
	return true
}

// answered is what a board answered: the host's part.
func (e *end) answered(body []byte) (ok bool) {
	if len(body) < 5 || body[0] != magic0 || body[1] != magic1 {
		return false
	}
	var a answer
	_, err := a.UnmarshalMsg(body[5:])
	if body[2] < minVersion || body[2] > maxVersion {
		if !e.session {
			e.fatal = &VersionError{Program: a.Program, Min: body[3], Max: body[4]}
		}
		return true
	}
	if err != nil || a.Epoch == 0 {
		return false
	}
	if a.Host != e.epoch {
		return true // to a hello of before
	}
	if e.session && e.peer.Epoch == a.Epoch {
		e.resume()
		return true
	}
	e.end(ErrRestarted)
	p := hello{Codec: a.Codec, Epoch: a.Epoch, Max: a.Max, Window: a.Window, Program: a.Program[:min(len(a.Program), maxName)]}
	e.begin(p, a.Name[:min(len(a.Name), maxName)])
	return true
}

// reset is a board's word that it has no session.
func (e *end) reset(body []byte) (ok bool) {
	var r reset
	if _, err := r.UnmarshalMsg(body); err != nil {
		return false
	}
	if e.session && r.Epoch != e.peer.Epoch {
		e.down()
		e.helloAt = min(e.helloAt, e.now+resetEvery/4)
	}
	return true
}
