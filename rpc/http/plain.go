package httpfront

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"boardhand/frame"
	"boardhand/rpc/http/oauth"
	"boardhand/rpc/wire"
)

// oldest is the revision of a request that names none (2025-11-25, basic/transports,
// "Protocol Version Header").
const oldest = "2025-03-26"

// plain serves a message of a client that has no session and takes no stream: each is
// answered as if it were the first after initialize.
func (s *Server) plain(w http.ResponseWriter, r *http.Request, t *turn, version string) {
	m := &t.msg
	if version == "" {
		version = oldest
	}
	conn := s.cfg.Open(&t.out)
	defer conn.Close()
	t.out.open(s.cfg.Pending)
	defer t.out.close()
	opening := wire.AppendString([]byte(`{"jsonrpc":"2.0","id":"","method":"initialize","params":{"protocolVersion":`), version)
	if !t.opens(r, conn, append(opening, `,"capabilities":{},"clientInfo":{"name":"http","version":""}}}`...)) {
		return
	}
	conn.Handle(t.body, frame.Newline)
	_ = conn.Flush()
	if m.kind == call || m.kind == broken || m.asks {
		t.respond(w, r, &s.cfg, s.ended, nil, sessionStatus)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// isBare says whether a message without an id is a request all the same: to a plain
// client that has none, these methods mean nothing as notifications.
func isBare(m *message) bool {
	switch string(m.method) {
	case "ping", "tools/list", "tools/call":
		return true
	case "initialize":
		return m.tree.Get(m.params, "protocolVersion") != 0
	}
	return false
}

const bareID = `"id":"",`

// identify gives such a message an id, which its answer has not.
func (t *turn) identify(limits wire.Limits) {
	body := bytes.TrimLeft(t.body, " \t\r\n")
	t.body = slices.Concat([]byte("{"+bareID), body[1:])
	t.bare = true
	_ = t.msg.read(t.body, limits)
}

// bared is an answer without the id that its request was given.
func (t *turn) bared(line []byte) []byte {
	if !t.bare {
		return line
	}
	return bytes.Replace(line, []byte(bareID), nil, 1)
}

// opens opens a session that the client has not asked for, and swallows the answer. It
// says whether one came.
func (t *turn) opens(r *http.Request, conn Conn, opening []byte) bool {
	conn.Handle(opening, frame.Newline)
	_ = conn.Flush()
	for {
		if t.lines, _ = t.out.take(t.lines[:0]); len(t.lines) > 0 {
			return true
		}
		select {
		case <-t.out.wake:
		case <-r.Context().Done():
			return false
		}
	}
}

// The Content-Length MCP 1.0 over HTTP ("HTTP/1.1"): a request and its response are
// one session. The messages of the body are those of a stream of lines, and so are
// those of the response, each sent as soon as it is there. An error is an answer like
// others, with status 200; only what is no JSON is a bad request.
//
// A body that begins with an mcp/ method is taken for one of a session that was
// initialized, as its specification's own examples send it.

// isLines says that a body may be several messages, one a line.
func (t *turn) isLines() bool { return bytes.IndexByte(bytes.TrimSpace(t.body), '\n') > 0 }

func (t *turn) firstLine() []byte {
	line, _, _ := bytes.Cut(bytes.TrimSpace(t.body), []byte{'\n'})
	return line
}

// readLine reads a body up to the first line's end, and gives that line if it is
// there; the body may have more.
func (t *turn) readLine(body io.Reader, limit int) (line []byte, err error) {
	t.body = t.body[:0]
	for len(t.body) <= limit {
		if cap(t.body)-len(t.body) < 512 {
			t.body = slices.Grow(t.body, 4096)
		}
		n, err := body.Read(t.body[len(t.body):cap(t.body)])
		t.body = t.body[:len(t.body)+n]
		if line, _, ok := bytes.Cut(t.body, []byte{'\n'}); ok && len(bytes.TrimSpace(line)) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errLong
}

// openingV1 opens a session of the Content-Length MCP 1.0.
var openingV1 = []byte(`{"jsonrpc":"2.0","id":"","method":"initialize","params":{"clientCapabilities":{}}}`)

// stream serves the messages of one body of the Content-Length MCP 1.0. t.body is what
// was read of it, t.msg the first message, which may be all there is.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, t *turn, who oauth.Identity, single bool) {
	conn := s.cfg.Open(&t.out)
	defer conn.Close()
	t.out.open(s.cfg.Pending)
	defer t.out.close()
	if string(t.msg.method) != "initialize" {
		if !t.opens(r, conn, openingV1) {
			return
		}
	}
	v := &v1{Server: s, w: w, r: r, rc: http.NewResponseController(w), t: t, who: who, conn: conn, streams: !single}
	if single {
		if !v.handle(t.body) {
			return
		}
	} else if !v.lines() {
		return
	}
	for v.open > 0 {
		select {
		case <-t.out.wake:
			if !v.send() {
				return
			}
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		}
	}
	if !v.sent {
		w.WriteHeader(http.StatusAccepted)
	}
}

// v1 is one body of the Content-Length MCP 1.0 being served.
type v1 struct {
	*Server
	w       http.ResponseWriter
	r       *http.Request
	rc      *http.ResponseController
	t       *turn
	who     oauth.Identity
	conn    Conn
	streams bool // answers are sent one by one
	sent    bool // one was
	open    int  // requests without an answer
}

// lines serves the messages of a body of several, and says whether it ended well.
func (v *v1) lines() bool {
	_ = v.rc.EnableFullDuplex()
	v.w.Header().Set("Connection", "close") // what is left of such a body is no request
	left := make(chan struct{})
	in := frame.NewReader(io.MultiReader(bytes.NewReader(bytes.Clone(v.t.body)), timed{v.r.Body, v.rc, v.cfg.Receive, left}), v.cfg.Message)
	messages := make(chan []byte)
	go func() {
		defer close(messages)
		for {
			msg, _, err := in.Next()
			var bad *frame.Error
			switch {
			case errors.As(err, &bad):
				msg = []byte{'!'} // which is no JSON either
			case err != nil:
				return
			}
			select {
			case messages <- bytes.Clone(msg):
			case <-left:
				return
			}
		}
	}()
	defer func() { // the body is nobody's any more when this returns
		close(left)
		_ = v.rc.SetReadDeadline(past)
		for range messages {
		}
		_ = v.rc.SetReadDeadline(time.Now().Add(v.cfg.Receive)) // net/http reads what is left of it
	}()
	for {
		select {
		case msg, ok := <-messages:
			if !ok {
				return true
			}
			if !v.handle(msg) {
				return false
			}
		case <-v.t.out.wake:
			if !v.send() {
				return false
			}
		case <-v.r.Context().Done():
			return false
		case <-v.ended:
			return false
		}
	}
}

// handle serves one message; false ends the response.
func (v *v1) handle(msg []byte) bool {
	m := &v.t.msg
	bad := m.read(msg, v.limits())
	if !v.who.Scope.Allows(v.needs(m)) {
		if !v.sent {
			v.cfg.Auth.Refuse(v.w, v.r, v.needs(m), oauth.ErrScope)
		}
		return false
	}
	if m.kind == call || m.kind == broken || m.kind == batch {
		v.open++
	}
	switch {
	case bad != nil && !v.sent:
		refuse(v.w, http.StatusBadRequest, nil, scanCode(bad), bad.Error())
		return false
	case bad != nil:
		_, _ = v.t.out.Write(append(appendError(nil, nil, scanCode(bad), bad.Error(), nil), '\n'))
	default:
		v.conn.Handle(msg, frame.Newline)
		_ = v.conn.Flush()
	}
	return v.send()
}

// send sends what has come; false: the client takes no more.
func (v *v1) send() bool {
	lines, over := v.t.out.take(v.t.lines[:0])
	v.t.lines = lines
	if len(lines) == 0 {
		return !over
	}
	for rest := lines; len(rest) > 0; {
		var line []byte
		line, rest = nextLine(rest)
		if _, yes := v.t.msg.answers(line); yes {
			v.open--
		}
	}
	_ = v.rc.SetWriteDeadline(time.Now().Add(v.cfg.Send))
	if !v.sent {
		v.sent = true
		v.w.Header()["Content-Type"] = jsonType
	}
	if _, err := v.w.Write(lines); err != nil {
		return false
	}
	return !v.streams || v.rc.Flush() == nil
}

// timed reads a body that comes bit by bit, each within a time, until left is closed
// and the deadline is past.
type timed struct {
	body io.Reader
	rc   *http.ResponseController
	wait time.Duration
	left <-chan struct{}
}

// past ends a read that waits.
var past = time.Unix(1, 0)

func (b timed) Read(p []byte) (int, error) {
	_ = b.rc.SetReadDeadline(time.Now().Add(b.wait))
	select {
	case <-b.left:
		_ = b.rc.SetReadDeadline(past)
	default:
	}
	return b.body.Read(p)
}
