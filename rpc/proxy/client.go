package proxy

import (
	"bytes"
	"time"

	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/rpc/wire"
)

// fromClient takes one message of the client. It waits where there is no room.
func (p *Proxy) fromClient(msg []byte, mode frame.Mode) {
	t := &p.tree
	if err := t.Scan(msg, wire.Limits{Values: p.cfg.Values}); err != nil {
		code := wire.CodeParse
		if _, ok := err.(*wire.LimitError); ok {
			code = wire.CodeInvalidRequest
		}
		p.reply(mode, appendError(nil, nil, code, err.Error(), ""))
		return
	}
	defer t.Clear()
	m := &message{mode: mode, again: true}
	switch root := t.Root(); t.Kind(root) {
	case wire.Object:
		if !p.read(m, root) {
			return
		}
	case wire.Array:
		m.batch = true
		for item, end := t.Children(root); item < end; item = t.Next(item) {
			if t.Kind(item) == wire.Object && !p.read(m, item) {
				return
			}
		}
	default:
		p.refuse(mode, "a message must be a JSON object")
		return
	}
	switch {
	case m.answers != nil:
		p.replied(m.answers, msg)
		return
	case len(m.open) == 0:
		p.notify(msg, mode)
		return
	}
	m.text = bytes.Clone(msg)
	if p.admit(m) {
		p.sending.Lock()
		p.send(m)
		p.sending.Unlock()
	}
}

func (p *Proxy) refuse(mode frame.Mode, message string) {
	p.reply(mode, appendError(nil, nil, wire.CodeInvalidRequest, message, ""))
}

// read takes one request, notification or answer of the client. False: it was
// refused. The board would refuse it in the same way, but by an answer of which
// nobody could say whose it is.
func (p *Proxy) read(m *message, v wire.Value) bool {
	t := &p.tree
	var id, name, params wire.Value
	for member, end := t.Children(v); member < end; member = t.Next(member) {
		switch string(t.Key(member)) {
		case "id":
			if id != 0 {
				p.refuse(m.mode, `key "id" stands twice in the message`)
				return false
			}
			id = member
		case "method":
			name = member
		case "params":
			params = member
		}
	}
	switch {
	case id != 0 && !validID(t.Raw(id)):
		p.refuse(m.mode, "id must be a string or a whole number")
		return false
	case name == 0 && (t.Get(v, "result") != 0 || t.Get(v, "error") != 0):
		if !m.batch { // which no revision of MCP has where a board asks
			m.answers = t.Raw(id)
		}
		return true
	case id == 0:
		p.notified(t.Text(name), params)
		return true
	}
	r := request{id: bytes.Clone(t.Raw(id)), method: methodOf(t.Text(name))}
	if token := t.Get(t.Get(params, "_meta"), "progressToken"); token != 0 {
		r.token = bytes.Clone(t.Raw(token))
	}
	if r.method.changes() {
		r.params = bytes.Clone(t.Raw(params))
	}
	if r.method == initialize {
		p.setInitialized(false)
	}
	m.again = m.again && r.method != acts
	m.open = append(m.open, r)
	return true
}

// validID is the server's rule: a string, or an integer without fraction or
// exponent.
func validID(raw []byte) bool {
	if len(raw) > maxID {
		return false
	}
	if raw[0] == '"' {
		return true
	}
	for i, b := range raw {
		if (b < '0' || b > '9') && (b != '-' || i != 0) {
			return false
		}
	}
	return true
}

// notified takes from a notification what means something here.
func (p *Proxy) notified(name []byte, params wire.Value) {
	switch string(name) {
	case "notifications/initialized":
		p.setInitialized(true)
	case "notifications/cancelled":
		if id := p.tree.Get(params, "requestId"); id != 0 {
			p.cancel(p.tree.Raw(id))
		}
	}
}

func (p *Proxy) setInitialized(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.handshake.initialized = yes
}

// cancel forgets a request: whatever still comes of it is dropped.
func (p *Proxy) cancel(id []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.open {
		if r := m.find(id); r != nil && r.method != initialize {
			p.answered(m, r)
			return
		}
	}
}

// notify passes on what is not answered. Where no board is there it is dropped: it
// would say nothing to a session that begins.
func (p *Proxy) notify(msg []byte, mode frame.Mode) {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	p.mode = mode
	l := p.line.usable()
	p.mu.Unlock()
	if l != nil {
		_, _ = l.Send(msg, link.Ordered) // what ends with its session says nothing to the next
	}
}

// send sends a message, or lets it wait for a board. The caller holds sending.
func (p *Proxy) send(m *message) {
	p.mu.Lock()
	l := p.line.usable()
	switch {
	case m.sent || len(m.open) == 0: // by the opening of a session; or it is done with
		p.mu.Unlock()
		return
	case l == nil:
		p.wait(m)
		p.mu.Unlock()
		return
	}
	m.stopWaiting()
	var flags link.Flags
	if p.unsettled > 0 || !m.again { // what acts does so in the client's order
		flags = link.Ordered
	}
	m.sent, m.ticket = true, 0
	p.unsettled += m.changing()
	p.mu.Unlock()

	ticket, err := l.Send(m.text, flags)

	p.mu.Lock()
	m.ticket = ticket
	long, tooLong := err.(*link.TooLongError)
	var refused []request
	switch {
	case err == nil || len(m.open) == 0:
	case tooLong:
		refused = p.give(m)
	default: // the session has ended
		p.unsettled -= m.changing()
		p.wait(m)
	}
	p.mu.Unlock()
	if refused != nil {
		p.fail(m, refused, long.Error(), outcomeNone)
	}
}

// changing is how many open requests of a message change the session.
func (m *message) changing() (n int) {
	for i := range m.open {
		if m.open[i].method.changes() {
			n++
		}
	}
	return n
}

// wait lets a message wait for a board. The caller holds mu.
func (p *Proxy) wait(m *message) {
	m.sent = false
	if m.timer == nil && len(m.open) > 0 && !p.closed {
		m.timer = time.AfterFunc(p.cfg.Wait, func() { p.expire(m) })
	}
}

// expire answers a message for which no board came in time.
func (p *Proxy) expire(m *message) {
	p.mu.Lock()
	var late []request
	if !m.sent {
		late = p.give(m)
	}
	p.mu.Unlock()
	if late != nil {
		p.fail(m, late, p.cfg.Why()+"; nothing was done", outcomeNone)
	}
}
