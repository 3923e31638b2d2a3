package proxy

import (
	"bytes"
	"time"

	"boardhand/frame"
	"boardhand/rpc/wire"
)

// message is something of the client that asks for an answer: a request, or a
// batch of them. Proxy.mu guards what changes.
type message struct {
	text  []byte // as it goes to the board
	mode  frame.Mode
	batch bool
	again bool      // it may be sent twice: it only reads
	open  []request // those not answered; none: the message is done with
	// answers is the id of a request of the board that the message is the answer to,
	// or nil; only while it is read.
	answers []byte

	sent   bool // in the present session
	ticket uint64
	timer  *time.Timer // of one that waits for a board
}

// request is one request of the client that is not answered.
type request struct {
	id     []byte // as it came
	token  []byte // for its progress, or nil
	method method
	params []byte // of a method that opens a session
}

// method is what the proxy needs to know of a method.
type method uint8

const (
	acts       method = iota // may act, for all that is known here
	reads                    // asking twice does nothing but ask twice
	initialize               // opens a session
	setLevel                 // changes it
)

// methodOf judges a method by its name. What is not named here may act.
func methodOf(name []byte) method {
	switch string(name) {
	case "initialize":
		return initialize
	case "logging/setLevel":
		return setLevel
	case "ping", "server/discover", "completion/complete",
		"tools/list", "resources/list", "resources/templates/list", "resources/read",
		"prompts/list", "prompts/get", "mcp/listTools", "mcp/listResources", "mcp/listPrompts":
		return reads
	}
	return acts
}

// changes says that what follows depends on the request.
func (m method) changes() bool { return m == initialize || m == setLevel }

// find is the open request with an id, or nil.
func (m *message) find(id []byte) *request {
	for i := range m.open {
		if bytes.Equal(m.open[i].id, id) {
			return &m.open[i]
		}
	}
	return nil
}

func (m *message) stopWaiting() {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
}

// answered takes a request off the list. The caller holds mu.
func (p *Proxy) answered(m *message, r *request) {
	if m.sent && r.method.changes() {
		p.unsettled--
	}
	at := 0
	for i := range m.open {
		if &m.open[i] != r {
			m.open[at] = m.open[i]
			at++
		}
	}
	m.open = m.open[:at]
	if at == 0 {
		p.drop(m)
	}
}

// drop takes a message off the list: it is answered, cancelled or given up. The
// caller holds mu.
func (p *Proxy) drop(m *message) {
	m.stopWaiting()
	for i := range p.open {
		if p.open[i] == m {
			copy(p.open[i:], p.open[i+1:])
			p.open[len(p.open)-1] = nil
			p.open = p.open[:len(p.open)-1]
			p.kept -= len(m.text)
			break
		}
	}
	m.open = nil
	p.changed.Broadcast()
}

// admit puts a message on the list, when there is room; false: the proxy has
// ended. The first message has room whatever its size.
func (p *Proxy) admit(m *message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.open) > 0 && (len(p.open) >= maxOpen || p.kept+len(m.text) > p.cfg.Max) && !p.closed {
		p.changed.Wait()
	}
	p.open = append(p.open, m)
	p.kept += len(m.text)
	p.mode = m.mode
	return !p.closed
}

// give takes a message off the list and gives what is open of it. The caller holds
// mu.
func (p *Proxy) give(m *message) []request {
	open := m.open
	if m.sent {
		p.unsettled -= m.changing()
	}
	p.drop(m)
	return open
}

// fail answers requests of a message by one error. Whoever calls it holds no lock.
func (p *Proxy) fail(m *message, open []request, message, data string) {
	if len(open) == 0 {
		return
	}
	var out []byte
	for i := range open {
		out = appendError(wire.AppendSep(out), open[i].id, wire.CodeInternal, message, data)
	}
	if m.batch {
		out = append(append([]byte{'['}, out...), ']')
	}
	p.reply(m.mode, out)
}

// appendError appends the answer to a request, nil for one whose id is not known,
// by an error. data is JSON, or "".
func appendError(dst, id []byte, code int, message, data string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if id != nil {
		dst = append(append(append(dst, `"id":`...), id...), ',')
	}
	dst = wire.AppendInt(append(dst, `"error":{"code":`...), int64(code))
	dst = wire.AppendString(append(dst, `,"message":`...), message)
	if data != "" {
		dst = append(append(dst, `,"data":`...), data...)
	}
	return append(dst, "}}"...)
}
