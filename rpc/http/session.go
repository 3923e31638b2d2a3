package httpfront

import (
	"bytes"
	"crypto/rand"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"boardhand/frame"
	"boardhand/rpc/http/oauth"
	"boardhand/rpc/wire"
)

// sessions are those that initialize has begun, by their ids.
type sessions struct {
	mu     sync.Mutex
	open   map[string]*session
	closed bool
}

// session is one of them. Its Conn serves all its requests. Each has a tag, in which
// what the Conn writes about it comes framed.
type session struct {
	id    string
	owner string // oauth.Identity.ID
	conn  Conn
	ended chan struct{}

	mu      sync.Mutex
	waiting map[frame.Mode]*waiting // by tag
	next    uint8
	streams int // that GET has opened
	last    time.Time
	over    bool
}

// waiting is a request without its answer.
type waiting struct {
	out    *outbox // nil: whoever asked has gone
	id     []byte  // nil of a batch and of what has none
	answer bool    // has come
}

// maxWaiting is how many tags there are.
const maxWaiting = 256 - int(frame.Tagged)

// begin takes a tag for a request; 0: there is none left, or the session is over.
func (s *session) begin(out *outbox, m *message) frame.Mode {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(s.waiting) >= maxWaiting {
		return 0
	}
	for s.next < uint8(frame.Tagged) || s.waiting[frame.Mode(s.next)] != nil {
		s.next++
	}
	tag := frame.Mode(s.next)
	s.waiting[tag] = &waiting{out: out, id: bytes.Clone(m.id)}
	s.last = time.Now()
	s.next++
	return tag
}

// end gives a tag back, as soon as its answer has come where one will.
func (s *session) end(tag frame.Mode, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
	w := s.waiting[tag]
	if w == nil {
		return
	}
	if w.out = nil; answered || w.answer || s.over {
		delete(s.waiting, tag)
	}
}

// Write takes what the Conn writes: messages, each a line and its tag.
func (s *session) Write(messages []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m message
	for rest := messages; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n') + 1
		if end <= 0 || end >= len(rest) {
			break
		}
		line, tag := rest[:end], frame.Mode(rest[end])
		rest = rest[end+1:]
		w := s.waiting[tag]
		if w == nil {
			continue
		}
		if _, yes := m.answers(line[:end-1]); yes {
			w.answer = true
		}
		switch {
		case w.out != nil:
			_ = w.out.add(line)
			if w.answer {
				w.out.end()
			}
		case w.answer:
			delete(s.waiting, tag)
		}
	}
	return len(messages), nil
}

// cancelled ends the request that a notification has cancelled: it gets no answer.
func (s *session) cancelled(id []byte) {
	if len(id) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for tag, w := range s.waiting {
		switch {
		case w.answer || !bytes.Equal(w.id, id):
		case w.out != nil:
			w.answer = true
			w.out.end()
		default:
			delete(s.waiting, tag)
		}
	}
}

// idle is how long a session has not been used.
func (s *session) idle(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) > 0 || s.streams > 0 {
		return 0
	}
	return now.Sub(s.last)
}

// stop ends a session and what still runs in it.
func (s *session) stop() {
	s.mu.Lock()
	over := s.over
	s.over = true
	if !over {
		close(s.ended)
	}
	s.mu.Unlock()
	if !over {
		s.conn.Close()
	}
}

// find gives a session to who has begun it.
func (a *sessions) find(id string, who oauth.Identity) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.open[id]
	if s == nil || s.owner != who.ID {
		return nil
	}
	return s
}

// evictable is how long a session must have been idle to make room for a new one.
const evictable = time.Minute

// add keeps a session. When there are limit already, the one that was idle for longest
// ends; false: none was for long enough.
func (a *sessions) add(s *session, limit int) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return false
	}
	if len(a.open) >= limit {
		var oldest *session
		var longest time.Duration
		now := time.Now()
		for _, other := range a.open {
			if idle := other.idle(now); idle > longest {
				oldest, longest = other, idle
			}
		}
		if longest < evictable {
			return false
		}
		delete(a.open, oldest.id)
		go oldest.stop()
	}
	a.open[s.id] = s
	return true
}

// remove takes a session off, and says whether it was there.
func (a *sessions) remove(s *session) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	was := a.open[s.id] == s
	if was {
		delete(a.open, s.id)
	}
	return was
}

// none says whether no session is left.
func (a *sessions) none() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open) == 0
}

// sweep ends the sessions that were idle for so long.
func (a *sessions) sweep(now time.Time, idle time.Duration) {
	a.mu.Lock()
	var old []*session
	for id, s := range a.open {
		if s.idle(now) > idle {
			old = append(old, s)
			delete(a.open, id)
		}
	}
	a.mu.Unlock()
	for _, s := range old {
		s.stop()
	}
}

// trim lets every session give up what it keeps for its next message.
func (a *sessions) trim() {
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.open))
	a.mu.Unlock()
	for _, s := range all {
		if c, ok := s.conn.(interface{ Trim() }); ok {
			c.Trim()
		}
	}
}

func (a *sessions) close() {
	a.mu.Lock()
	a.closed = true
	all := a.open
	a.open = map[string]*session{}
	a.mu.Unlock()
	for _, s := range all {
		s.stop()
	}
}

// initialize begins a session, unless the answer is an error.
func (s *Server) initialize(w http.ResponseWriter, r *http.Request, t *turn, who oauth.Identity) {
	n := &session{id: rand.Text(), owner: who.ID, ended: make(chan struct{}), waiting: map[frame.Mode]*waiting{}, last: time.Now()}
	n.conn = s.cfg.Open(n)
	t.out.open(s.cfg.Pending)
	tag := n.begin(&t.out, &t.msg)
	if !s.sessions.add(n, s.cfg.Sessions) {
		n.stop()
		w.Header().Set("Retry-After", "60")
		refuse(w, http.StatusServiceUnavailable, t.msg.validID(), wire.CodeInternal, "all sessions are in use; end one by DELETE, or come again in a minute")
		return
	}
	n.conn.Handle(t.body, tag)
	_ = n.conn.Flush()
	good := false
	whole := t.respond(w, r, &s.cfg, n.ended, func(code int) {
		if good = code == 0; good {
			w.Header().Set(headerSession, n.id)
		}
	}, sessionStatus)
	n.end(tag, whole)
	t.out.close()
	if !good && s.sessions.remove(n) {
		n.stop()
	}
}

// inSession serves a message of a session.
func (s *Server) inSession(w http.ResponseWriter, r *http.Request, t *turn, id string, who oauth.Identity) {
	m := &t.msg
	n := s.sessions.find(id, who)
	if n == nil {
		noSession(w, m.validID())
		return
	}
	t.out.open(s.cfg.Pending)
	tag := n.begin(&t.out, m)
	if tag == 0 {
		t.out.close()
		refuse(w, http.StatusServiceUnavailable, m.validID(), wire.CodeInternal, "too many requests of this session wait for their answers")
		return
	}
	n.conn.Handle(t.body, tag)
	_ = n.conn.Flush()
	if m.kind == call || m.kind == broken || m.asks {
		whole := t.respond(w, r, &s.cfg, n.ended, nil, sessionStatus)
		n.end(tag, whole)
		t.out.close()
		return
	}
	if string(m.method) == "notifications/cancelled" {
		n.cancelled(m.tree.Raw(m.tree.Get(m.params, "requestId")))
	}
	lines, _ := t.out.take(t.lines[:0])
	t.lines = lines
	n.end(tag, true)
	t.out.close()
	if line, _ := nextLine(lines); len(line) > 0 {
		sendJSON(w, http.StatusBadRequest, line)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// noSession answers for a session that is not there. Nothing tells one that has ended
// from one that never was, or is another's.
func noSession(w http.ResponseWriter, id []byte) {
	refuse(w, http.StatusNotFound, id, wire.CodeInvalidRequest, "there is no such session, or it has ended; send initialize for a new one")
}

// get opens a stream of a session, on which comments come, and nothing else: this
// server says nothing that is about no request.
func (s *Server) get(w http.ResponseWriter, r *http.Request, who oauth.Identity) {
	ids := r.Header[headerSession]
	if len(ids) == 0 || len(r.Header[headerVersion]) > 0 && r.Header[headerVersion][0] == modern {
		notAllowed(w, "POST", "GET opens a stream of a session, which MCP "+modern+" has not; send a POST")
		return
	}
	if !accepts(r, "text/event-stream") {
		refuse(w, http.StatusNotAcceptable, nil, wire.CodeInvalidRequest, "the Accept header must name text/event-stream")
		return
	}
	n := s.sessions.find(ids[0], who)
	if n == nil {
		noSession(w, nil)
		return
	}
	if !n.openStream(s.cfg.Streams) {
		refuse(w, http.StatusConflict, nil, wire.CodeInvalidRequest, "the session has enough streams open")
		return
	}
	defer n.closeStream()
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{})
	startStream(w)
	alive := time.NewTicker(s.cfg.KeepAlive)
	defer alive.Stop()
	for {
		_ = rc.SetWriteDeadline(time.Now().Add(s.cfg.Send))
		if _, err := io.WriteString(w, comment); err != nil || rc.Flush() != nil {
			return
		}
		select {
		case <-alive.C:
			if s.cfg.Auth != nil && !s.cfg.Auth.Lives(who.ID) {
				return
			}
		case <-n.ended:
			return
		case <-s.ended:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (s *session) openStream(limit int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.streams >= limit {
		return false
	}
	s.streams++
	return true
}

func (s *session) closeStream() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams--
	s.last = time.Now()
}

// delete ends a session.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, who oauth.Identity) {
	ids := r.Header[headerSession]
	if len(ids) == 0 || len(r.Header[headerVersion]) > 0 && r.Header[headerVersion][0] == modern {
		notAllowed(w, "POST", "DELETE ends a session, which MCP "+modern+" has not")
		return
	}
	n := s.sessions.find(ids[0], who)
	if n == nil || !s.sessions.remove(n) {
		noSession(w, nil)
		return
	}
	n.stop()
	if s.sessions.none() {
		s.presence.ended()
	}
	w.WriteHeader(http.StatusNoContent)
}
