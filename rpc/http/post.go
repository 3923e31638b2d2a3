package httpfront

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"boardhand/frame"
	"boardhand/rpc/http/oauth"
	"boardhand/rpc/wire"
)

// turn is what serves one request: its body taken apart, and its response. It is used
// for one after the other.
type turn struct {
	msg   message
	out   outbox
	body  []byte
	lines []byte // being sent
	event []byte
	bare  bool // the request has no id, and is answered all the same
	who   oauth.Identity

	// conn is that of stateless requests, whose messages go to out. It is opened when
	// one comes, and lasts as long as the turn.
	conn Conn
}

// keepBody is the largest body whose buffer stays.
const keepBody = 64 << 10

func (s *Server) turn() *turn { return s.turns.Get().(*turn) }

func (s *Server) done(t *turn) {
	if t.msg.tree.Root() != 0 {
		t.msg.tree.Clear()
	}
	t.msg.id, t.msg.method = nil, nil
	if cap(t.body) > keepBody {
		t.body = nil
	}
	if cap(t.lines) > keepLines {
		t.lines = nil
	}
	if cap(t.event) > keepLines {
		t.event = nil
	}
	s.turns.Put(t)
}

// post serves one message, or several of the Content-Length MCP 1.0.
func (s *Server) post(w http.ResponseWriter, r *http.Request, who oauth.Identity) {
	if !isJSON(r) {
		refuse(w, http.StatusUnsupportedMediaType, nil, wire.CodeInvalidRequest, "the Content-Type must be application/json")
		return
	}
	t := s.turn()
	defer func() {
		if t != nil {
			s.done(t)
		}
	}()
	if r.ContentLength < 0 {
		first, err := t.readLine(r.Body, s.cfg.Message)
		if err == nil && first != nil && t.msg.read(first, s.limits()) == nil && t.msg.v1() {
			s.stream(w, r, t, who, false)
			return
		}
	}
	if err := t.readBody(r, s.cfg.Message); err != nil {
		s.unread(w, r, err)
		return
	}
	m := &t.msg
	bad := m.read(t.body, s.limits())
	if bad != nil && t.isLines() && m.read(t.firstLine(), s.limits()) == nil && m.v1() {
		s.stream(w, r, t, who, false)
		return
	}
	if bad != nil { // no Conn sees what was not looked at here
		refuse(w, http.StatusBadRequest, nil, scanCode(bad), bad.Error())
		return
	}
	if !who.Scope.Allows(s.needs(m)) {
		s.cfg.Auth.Refuse(w, r, s.needs(m), oauth.ErrScope)
		return
	}
	t.bare, t.who = false, who
	version, sid := "", ""
	if v := r.Header[headerVersion]; len(v) > 0 {
		version = v[0]
	}
	if v := r.Header[headerSession]; len(v) > 0 {
		sid = v[0]
	}
	if m.kind == notification && version == "" && sid == "" && isBare(m) && !accepts(r, "text/event-stream") {
		t.identify(s.limits())
	}
	opens := sid == "" && m.kind == call && string(m.method) == "initialize"
	if sid == "" && !opens {
		s.presence.outside()
	}
	switch {
	case m.v1() && version == "":
		s.stream(w, r, t, who, true)
	case version == modern, sid == "" && (m.modern != 0 || string(m.method) == "server/discover"):
		if !s.stateless(w, r, t) {
			t = nil
		}
	case version != "" && !isSupported(version):
		unsupported(w, m.validID(), version)
	case opens:
		s.initialize(w, r, t, who)
	case sid != "":
		s.inSession(w, r, t, sid, who)
	case accepts(r, "text/event-stream"):
		refuse(w, http.StatusBadRequest, m.validID(), wire.CodeInvalidRequest,
			"there is no "+headerSession+" header: send initialize first, and then the session that its response names; or send MCP "+modern+", which needs none")
	default:
		s.plain(w, r, t, version)
	}
}

func (s *Server) limits() wire.Limits { return wire.Limits{Values: s.cfg.Values} }

// validID is the message's id where an answer can carry it.
func (m *message) validID() []byte {
	if len(m.id) == 0 || len(m.id) > 1<<10 {
		return nil
	}
	if c := m.id[0]; c == '"' || c == '-' || c >= '0' && c <= '9' {
		return m.id
	}
	return nil
}

// needs is the scope that a message takes: to change something, where it calls a tool
// that may.
func (s *Server) needs(m *message) oauth.Scope {
	t := &m.tree
	if m.kind != batch {
		return s.needsOf(m.method, t, m.params)
	}
	need := oauth.Read
	root := t.Root()
	for item, end := t.Children(root); item < end; item = t.Next(item) {
		need |= s.needsOf(t.Text(t.Get(item, "method")), t, t.Get(item, "params"))
	}
	return need
}

const (
	v1Before = "mcp://boardhand/tools/"
	v1After  = ":v1"
)

func (s *Server) needsOf(method []byte, t *wire.Tree, params wire.Value) oauth.Scope {
	name := ""
	switch string(method) {
	case "tools/call":
		name = string(t.Text(t.Get(params, "name")))
	case "mcp/executeTool":
		id := string(t.Text(t.Get(params, "id")))
		if len(id) > len(v1Before)+len(v1After) {
			name = id[len(v1Before) : len(id)-len(v1After)]
		}
	default:
		return oauth.Read
	}
	if tool := s.tools[name]; tool != nil && tool.Hints.ReadOnly {
		return oauth.Read
	}
	return oauth.Write
}

// errLong says that a body has more bytes than a message may.
var errLong = errors.New("the body is too long")

// readBody reads the rest of a body.
func (t *turn) readBody(r *http.Request, limit int) error {
	if r.ContentLength < 0 {
		return t.readRest(r.Body, limit)
	}
	if r.ContentLength > int64(limit) {
		return errLong
	}
	n := int(r.ContentLength)
	t.body = t.body[:0]
	for len(t.body) < n { // what is claimed is believed when it has come
		room := min(n-len(t.body), 64<<10)
		if cap(t.body)-len(t.body) < room {
			grown := make([]byte, len(t.body), max(2*cap(t.body), len(t.body)+room))
			copy(grown, t.body)
			t.body = grown
		}
		got, err := r.Body.Read(t.body[len(t.body) : len(t.body)+room])
		t.body = t.body[:len(t.body)+got]
		if err != nil && len(t.body) < n {
			return err
		}
	}
	return nil
}

func (t *turn) readRest(body io.Reader, limit int) error {
	for {
		if cap(t.body)-len(t.body) < 512 {
			grown := make([]byte, len(t.body), 2*cap(t.body)+4096)
			copy(grown, t.body)
			t.body = grown
		}
		n, err := body.Read(t.body[len(t.body):cap(t.body)])
		t.body = t.body[:len(t.body)+n]
		switch {
		case len(t.body) > limit:
			return errLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// unread answers a request whose body could not be had.
func (s *Server) unread(w http.ResponseWriter, r *http.Request, err error) {
	if err == errLong {
		// So net/http knows that the client is still sending, and lets it read the answer.
		_, _ = http.MaxBytesReader(w, r.Body, 0).Read(make([]byte, 1))
		refuse(w, http.StatusRequestEntityTooLarge, nil, wire.CodeInvalidRequest,
			"the body exceeds "+strconv.Itoa(s.cfg.Message)+" bytes, the limit of a message; send less, or raise it by --max-message")
		return
	}
	w.Header().Set("Connection", "close")
	refuse(w, http.StatusBadRequest, nil, wire.CodeParse, "the body did not come whole: "+err.Error())
}

// scanCode is the code of an error of the scanner, as a Conn has it.
func scanCode(err error) int {
	if _, ok := err.(*wire.LimitError); ok {
		return wire.CodeInvalidRequest
	}
	return wire.CodeParse
}

// stateless serves a message of MCP 2026-07-28. It says whether the turn can be used
// again.
func (s *Server) stateless(w http.ResponseWriter, r *http.Request, t *turn) bool {
	m := &t.msg
	incomplete := false
	switch m.kind {
	case call, notification:
		if why := s.mismatch(r.Header, m); why != "" {
			refuse(w, http.StatusBadRequest, m.validID(), wire.CodeHeaderMismatch, why)
			return true
		}
		if m.modern == 0 && (string(m.method) == "initialize" || string(m.method) == "ping") {
			refuse(w, http.StatusNotFound, m.validID(), wire.CodeMethodNotFound, "MCP "+modern+" has no "+string(m.method))
			return true
		}
		meta := m.tree.Get(m.params, "_meta")
		incomplete = m.tree.Get(meta, metaVersion) == 0 || m.tree.Get(meta, metaCapabilities) == 0
	case response:
		refuse(w, http.StatusBadRequest, nil, wire.CodeInvalidRequest, "in MCP "+modern+" a client answers nothing; it calls again with inputResponses")
		return true
	case batch:
		refuse(w, http.StatusBadRequest, nil, wire.CodeInvalidRequest, "a message must be one JSON object; only MCP 2025-03-26 has batches")
		return true
	}
	if t.conn == nil {
		t.conn = s.cfg.Open(&t.out)
	}
	t.out.open(s.cfg.Pending)
	t.conn.Handle(t.body, frame.Newline)
	_ = t.conn.Flush()
	if m.kind == notification {
		lines, _ := t.out.take(t.lines[:0])
		t.lines = lines
		t.out.close()
		if len(lines) > 0 {
			line, _ := nextLine(lines)
			sendJSON(w, http.StatusBadRequest, line)
			return true
		}
		w.WriteHeader(http.StatusAccepted)
		return true
	}
	whole := t.respond(w, r, &s.cfg, s.ended, nil, func(code int) int { return statelessStatus(code, incomplete) })
	t.out.close()
	if !whole { // the client has gone: nobody wants what still runs
		t.conn.Close()
		t.conn = nil
		return false
	}
	return true
}

// statelessStatus is the status of a response by its error, 0 for none.
func statelessStatus(code int, incomplete bool) int {
	switch code {
	case wire.CodeMethodNotFound:
		return http.StatusNotFound
	case wire.CodeParse, wire.CodeInvalidRequest, wire.CodeHeaderMismatch, wire.CodeMissingCapability, wire.CodeUnsupportedVersion:
		return http.StatusBadRequest
	case wire.CodeInvalidParams:
		if incomplete {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// sessionStatus is statelessStatus of the revisions with sessions, where only what is
// no message is the client's fault to HTTP.
func sessionStatus(code int) int {
	if code == wire.CodeParse || code == wire.CodeInvalidRequest {
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// respond sends what comes, until the answer has. It says whether that was: else the
// client has gone, or nothing will come any more. begin, where it is not nil, is
// called before the header is sent.
func (t *turn) respond(w http.ResponseWriter, r *http.Request, cfg *Config, ended <-chan struct{}, begin func(code int), status func(code int) int) bool {
	var lines []byte
	over := false
	if lines, over = t.out.take(t.lines[:0]); len(lines) > 0 {
		t.lines = lines
		line, rest := nextLine(lines)
		if code, yes := t.msg.answers(line); yes && len(rest) == 0 {
			if begin != nil {
				begin(code)
			}
			sendJSON(w, status(code), t.bared(line))
			return true
		}
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Time{}) // the body is there; what is read from now on is that the client has gone
	streams := accepts(r, "text/event-stream")
	alive := time.NewTicker(cfg.KeepAlive)
	defer alive.Stop()
	started := false
	start := func(code int) {
		if begin != nil {
			begin(code)
		}
		startStream(w)
		started = true
	}
	for {
		for len(lines) > 0 {
			var line []byte
			line, lines = nextLine(lines)
			code, yes := t.msg.answers(line)
			_ = rc.SetWriteDeadline(time.Now().Add(cfg.Send))
			switch {
			case yes && !started:
				if begin != nil {
					begin(code)
				}
				sendJSON(w, status(code), t.bared(line))
				return true
			case !yes && !streams:
				continue
			case !started:
				start(code)
			}
			t.event = appendEvent(t.event[:0], line)
			if _, err := w.Write(t.event); err != nil {
				return yes
			}
			if yes {
				return true
			}
		}
		if started {
			if rc.Flush() != nil {
				return false
			}
		}
		if over {
			if !started {
				if begin != nil {
					begin(0)
				}
				_ = rc.SetWriteDeadline(time.Now().Add(cfg.Send))
				w.WriteHeader(http.StatusAccepted)
			}
			return false
		}
		select {
		case <-t.out.wake:
		case <-r.Context().Done():
			return false
		case <-ended:
			return false
		case <-alive.C:
			if cfg.Auth != nil && !cfg.Auth.Lives(t.who.ID) {
				return false // its token was revoked meanwhile
			}
			if !streams {
				break
			}
			_ = rc.SetWriteDeadline(time.Now().Add(cfg.Send))
			if !started {
				start(0)
			}
			if _, err := io.WriteString(w, comment); err != nil || rc.Flush() != nil {
				return false
			}
		}
		lines, over = t.out.take(t.lines[:0])
		t.lines = lines
	}
}

// comment is an event of nothing, which keeps a quiet stream open.
const comment = ": \n\n"

var (
	streamType = []string{"text/event-stream"}
	noStore    = []string{"no-cache, no-transform"}
	noBuffer   = []string{"no"}
)

// startStream begins a stream of events.
func startStream(w http.ResponseWriter) {
	h := w.Header()
	h["Content-Type"] = streamType
	h["Cache-Control"] = noStore
	h["X-Accel-Buffering"] = noBuffer
	w.WriteHeader(http.StatusOK)
}

// appendEvent appends a message as an event. A message has no line end in it.
func appendEvent(dst, line []byte) []byte {
	dst = append(dst, "event: message\ndata: "...)
	return append(append(dst, line...), "\n\n"...)
}
