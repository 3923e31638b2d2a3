package proxy

import (
	"bytes"
	"strconv"
	"time"

	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/rpc/wire"
)

// receive gives the client what comes over a link, for as long as the link lives.
func (p *Proxy) receive(r *receiving) {
	for {
		msg, err := r.link.Receive()
		switch err {
		case nil:
			p.fromBoard(msg)
			if !r.link.Buffered() { // even where this one was for nobody
				p.client.Lock()
				if p.w != nil {
					p.flush(false)
				}
				p.client.Unlock()
			}
		case link.ErrEnded:
			r.ended++
			p.lose()
		default:
			p.leave(r)
			return
		}
	}
}

// fromBoard takes one message of the board, and does not flush what it gives the
// client. It waits while the client does not read.
func (p *Proxy) fromBoard(msg []byte) {
	t := &p.answer
	if err := t.Scan(msg, wire.Limits{Values: maxValues}); err != nil {
		p.cfg.Log("dropped a message of the board, " + strconv.Itoa(len(msg)) + " bytes: " + err.Error())
		return
	}
	defer t.Clear()
	root := t.Root()
	switch t.Kind(root) {
	case wire.Object:
	case wire.Array:
		p.batch(root)
		return
	default:
		p.cfg.Log("dropped a message of the board that is no JSON object")
		return
	}
	p.mu.Lock()
	p.last = time.Now()
	mode, pass := p.mode, true
	id := t.Get(root, "id")
	switch name := t.Get(root, "method"); {
	case name != 0:
		params := t.Get(root, "params")
		switch method := string(t.Text(name)); {
		case id != 0:
			pass = p.ask(t.Raw(id))
		case method == "notifications/progress":
			mode, pass = p.progress(t.Raw(t.Get(params, "progressToken")))
		case method == "notifications/cancelled":
			p.asked(t.Raw(t.Get(params, "requestId")))
		}
	case id == 0 || t.Kind(id) == wire.Null:
		mode = p.refused()
	default:
		mode, pass = p.resolve(root, t.Raw(id))
	}
	p.mu.Unlock()
	if pass {
		p.write(mode, msg, true)
	}
}

// batch gives the client the answers to a batch, but for those it does not wait for.
func (p *Proxy) batch(root wire.Value) {
	t := &p.answer
	var out []byte
	p.mu.Lock()
	p.last = time.Now()
	mode := p.mode
	for item, end := t.Children(root); item < end; item = t.Next(item) {
		if id := t.Get(item, "id"); id != 0 && t.Kind(id) != wire.Null {
			its, pass := p.resolve(item, t.Raw(id))
			if !pass {
				continue
			}
			mode = its
		}
		out = append(wire.AppendSep(out), t.Raw(item)...)
	}
	p.mu.Unlock()
	if len(out) > 0 {
		p.write(mode, append(append([]byte{'['}, out...), ']'), true)
	}
}

// resolve takes the request that an answer is to off the list; pass is whether the
// client waits for it. The caller holds mu.
func (p *Proxy) resolve(answer wire.Value, id []byte) (mode frame.Mode, pass bool) {
	if p.handshake.replayed(id) {
		p.unsettled--
		if e := p.answer.Get(answer, "error"); e != 0 {
			p.cfg.Log("the board refused what opens the client's session again: " + string(p.answer.Raw(e)))
		}
		return 0, false
	}
	for _, m := range p.open {
		if r := m.find(id); r != nil && m.sent {
			if p.answer.Get(answer, "result") != 0 {
				p.handshake.keep(r)
			}
			p.answered(m, r)
			return m.mode, true
		}
	}
	return 0, false
}

// refused takes the oldest batch off the list, if any: an error without an id says
// that a batch as a whole was refused, for the board gets no other message whose id
// it could not read. The caller holds mu.
func (p *Proxy) refused() frame.Mode {
	for _, m := range p.open {
		if m.batch && m.sent {
			p.give(m)
			return m.mode
		}
	}
	return p.mode
}

// progress says whether the client waits for the request that a token was given
// with. The caller holds mu.
func (p *Proxy) progress(token []byte) (mode frame.Mode, pass bool) {
	for _, m := range p.open {
		for i := range m.open {
			if r := &m.open[i]; r.token != nil && bytes.Equal(r.token, token) {
				return m.mode, true
			}
		}
	}
	return 0, false
}
