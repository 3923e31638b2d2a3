package proxy

import (
	"errors"
	"slices"

	"boardhand/frame/link"
)

// line is what the proxy knows of the link. Its sessions are numbered by their
// beginnings and by their ends, of which the link tells twice: by Ended at once, and
// by Receive when all that came in the session was taken.
type line struct {
	link     Link
	up       bool // messages pass now
	begun    int
	ended    int // as Receive has it
	opened   int // the last session in which the client's session was opened
	lost     map[uint64]link.Outcome
	why      error // of the last end
	receives []*receiving
}

// receiving is a link that is received from.
type receiving struct {
	link         Link
	begun, ended int // sessions, the latter as Receive has it
}

// usable is the link while messages of the client may be sent over it, or nil.
func (l *line) usable() Link {
	if l.alive() && l.opened == l.begun {
		return l.link
	}
	return nil
}

// alive says that a session is there, and that all that came in those before it was
// taken.
func (l *line) alive() bool { return l.up && l.begun == l.ended+1 }

// Up takes that a session begins over l, or goes on. It is link.Config.Up's, and
// like the others below never waits.
func (p *Proxy) Up(l Link, peer link.Peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.link, p.line.up = l, true
	i := slices.IndexFunc(p.line.receives, func(r *receiving) bool { return r.link == l })
	if i < 0 {
		i = len(p.line.receives)
		p.line.receives = append(p.line.receives, &receiving{link: l})
		go p.receive(p.line.receives[i])
	}
	if peer.New {
		p.line.begun++
		p.line.receives[i].begun++
	}
	p.changed.Broadcast()
}

// Down takes that the board is silent, but that its session may go on.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.up = false
}

// Lost takes what became of a message whose session is dead.
func (p *Proxy) Lost(ticket uint64, o link.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.lost[ticket] = o
}

// Ended takes that a session is dead.
func (p *Proxy) Ended(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.up, p.line.why = false, why
}

// leave takes that a link was closed, and with it the session that it had.
func (p *Proxy) leave(r *receiving) {
	p.mu.Lock()
	if p.line.link == r.link {
		p.line.up = false
	}
	p.line.receives = slices.DeleteFunc(p.line.receives, func(other *receiving) bool { return other == r })
	ends := r.begun > r.ended
	p.mu.Unlock()
	if ends {
		p.lose()
	}
}

// What an error says of its request, in data.
const (
	outcomeNone    = `{"outcome":"not done"}`
	outcomeUnknown = `{"outcome":"unknown"}`
)

// lose settles what was on its way in a session that is dead, when all that came in
// it was taken: it waits for the next one, or is answered by an error. Until this
// has returned the link sends nothing.
func (p *Proxy) lose() {
	type unknown struct {
		m    *message
		open []request
	}
	var all []unknown
	p.sending.Lock() // the tickets of all that was sent are known now
	p.mu.Lock()
	for _, m := range slices.Clone(p.open) {
		if !m.sent {
			continue
		}
		o, ok := p.line.lost[m.ticket]
		if m.again || ok && o == link.NotSent {
			p.wait(m)
			continue
		}
		all = append(all, unknown{m, p.give(m)})
	}
	clear(p.line.lost)
	withdrawn, mode := p.withdraw(), p.mode
	p.unsettled = 0
	p.handshake.replays = 0
	why := "the link to the board was lost"
	if errors.Is(p.line.why, link.ErrRestarted) {
		why = "the board restarted"
	}
	p.mu.Unlock()
	p.sending.Unlock()
	for _, text := range withdrawn {
		p.reply(mode, text)
	}
	for _, u := range all {
		p.fail(u.m, u.open, why+" while this call ran: whether it was done is not known; read the state before you repeat it", outcomeUnknown)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line.ended++ // only now, for the link sends nothing while the client does not read this
	p.changed.Broadcast()
}

// sessions opens the client's session in each of the link's, and then sends what
// waits, until the proxy ends.
func (p *Proxy) sessions() {
	for {
		p.mu.Lock()
		for !p.closed && !p.waited() {
			p.changed.Wait()
		}
		if p.closed {
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		p.openSession()
	}
}

// waited says that there is a session to open, or that something waits for one that
// goes on.
func (p *Proxy) waited() bool {
	l := &p.line
	return l.alive() && (l.opened != l.begun || len(p.replies) > 0 || slices.ContainsFunc(p.open, func(m *message) bool { return m.timer != nil }))
}

// openSession sends the client's handshake where the session is new, and what waits.
func (p *Proxy) openSession() {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	l, session, old := p.line.link, p.line.begun, p.line.opened
	var replay [][]byte
	if old != session {
		replay = p.handshake.replay()
		p.unsettled += p.handshake.replays
	}
	replay, p.replies = append(replay, p.replies...), nil // of the latter a new session has none
	waiting := slices.DeleteFunc(slices.Clone(p.open), func(m *message) bool { return m.sent })
	p.mu.Unlock()
	for _, msg := range replay {
		if _, err := l.Send(msg, link.Ordered); err != nil {
			return // this session has ended, too
		}
	}
	p.mu.Lock()
	p.line.opened = session
	p.mu.Unlock()
	for _, m := range waiting {
		p.send(m)
	}
}

// handshake is what the client opened its session with, to be replayed.
type handshake struct {
	initialize  []byte // the params of the last that was answered well, or nil
	initialized bool   // it has said since then that it is ready
	level       []byte // the params of logging/setLevel, or nil

	replays int // how many answers to come are to a replay
}

// keep takes a request that was answered well.
func (h *handshake) keep(r *request) {
	switch r.method {
	case initialize:
		h.initialize, h.level = r.params, nil
	case setLevel:
		h.level = r.params
	}
}

// The ids of replayed requests, which no client will have.
const (
	replayInitialize = `"boardhand/replay/initialize"`
	replayLevel      = `"boardhand/replay/level"`
)

// replayed says that an answer is to a replay.
func (h *handshake) replayed(id []byte) bool {
	if h.replays == 0 || string(id) != replayInitialize && string(id) != replayLevel {
		return false
	}
	h.replays--
	return true
}

// replay gives the messages that open the session again.
func (h *handshake) replay() (out [][]byte) {
	request := func(id, method string, params []byte) {
		msg := append([]byte(nil), `{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`"`...)
		if len(params) > 0 {
			msg = append(append(msg, `,"params":`...), params...)
		}
		out = append(out, append(msg, '}'))
		h.replays++
	}
	h.replays = 0
	if h.initialize != nil {
		request(replayInitialize, "initialize", h.initialize)
		if h.initialized {
			out = append(out, []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
		}
	}
	if h.level != nil {
		request(replayLevel, "logging/setLevel", h.level)
	}
	return out
}
