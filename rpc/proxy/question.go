package proxy

import (
	"bytes"
	"slices"

	"boardhand/frame/link"
)

// The board may ask the client, as for a person's yes. A question belongs to its
// session: when that is lost it is withdrawn, and an answer that comes then is for
// nobody, least of all for a question of the next session.

const (
	maxQuestions  = 64       // of the board that are not answered
	maxLateAnswer = 64 << 10 // bytes of an answer that waits for a board that is silent
)

// ask takes a question of the board; false: it has too many open. The caller holds
// mu.
func (p *Proxy) ask(id []byte) bool {
	if len(p.questions) >= maxQuestions {
		p.cfg.Log("dropped a question of the board: 64 are not answered")
		return false
	}
	p.questions = append(p.questions, bytes.Clone(id))
	return true
}

// asked takes a question off the list; false: there is none with this id. The caller
// holds mu.
func (p *Proxy) asked(id []byte) bool {
	i := slices.IndexFunc(p.questions, func(q []byte) bool { return bytes.Equal(q, id) })
	if i < 0 {
		return false
	}
	p.questions = slices.Delete(p.questions, i, i+1)
	return true
}

// replied passes on an answer of the client to a question of the board. While the board
// is silent it waits, for as long as the session may go on.
func (p *Proxy) replied(id, msg []byte) {
	p.sending.Lock()
	defer p.sending.Unlock()
	p.mu.Lock()
	if !p.asked(id) {
		p.mu.Unlock()
		return
	}
	l := p.line.usable()
	if l == nil && len(msg) <= maxLateAnswer {
		p.replies = append(p.replies, bytes.Clone(msg))
		p.changed.Broadcast()
	}
	p.mu.Unlock()
	if l != nil {
		_, _ = l.Send(msg, link.Ordered)
	}
}

// withdraw ends the questions of a session that is dead, and gives what tells the
// client so. The caller holds mu.
func (p *Proxy) withdraw() (told [][]byte) {
	for _, id := range p.questions {
		told = append(told, append(append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), id...),
			`,"reason":"the session with the board was lost"}}`...))
	}
	p.questions, p.replies = nil, nil
	return told
}
