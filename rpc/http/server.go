package httpfront

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/rpc/http/oauth"
	"boardhand/rpc/wire"
)

// Conn is one connection to what serves: a *rpc.Conn is one.
type Conn interface {
	// Handle takes one message; it does not keep it. What it answers at once is out
	// when Flush returns, anything else later.
	Handle(msg []byte, mode frame.Mode)
	Flush() error
	// Close ends what still runs, without an answer.
	Close()
}

// Config is what a Server is made of. A zero limit means its default.
type Config struct {
	// Open opens a connection whose messages go to out, each in the framing of the
	// message it belongs to.
	Open func(out Sink) Conn
	// Catalogue is what is served: which of its tools only read, and which of their
	// arguments are repeated in headers. Nil: every call of a tool takes the scope to write.
	Catalogue *rpc.Catalogue
	// Card is the server card's own part; see Card.
	Card Card
	// Auth is who may send requests; nil: everybody who reaches the address.
	Auth *oauth.Server
	// Hosts are names that the board is called by in a Host header, beside its
	// addresses and localhost.
	Hosts []string
	// Unheard is told why no client is there any more that could change something, and
	// "" when there is one again, before anything of it is done: what a client holds is
	// held while it is there. Nil drops it.
	Unheard func(gone string)
	// Quiet is called when requests were served and there was none for some seconds: a
	// moment to give memory back. Nil drops it.
	Quiet func()

	Message     int           // bytes of a body; rpc.DefaultMessage
	Values      int           // JSON values in one; wire.DefaultLimits
	Connections int           // of TCP; 2,048
	Sessions    int           // of MCP 2025-11-25 and older; 2,048
	Streams     int           // GET streams of one of them; 4
	Idle        time.Duration // after which a session may be ended; 1 hour
	Pending     int           // bytes that a response may wait with for its reader; 1 MiB
	KeepAlive   time.Duration // between the comments on a quiet stream; 15 s
	Receive     time.Duration // for a request to come in, headers and body; 30 s
	Send        time.Duration // for a client to take what is sent to it; 30 s
	Grace       time.Duration // without a request, after which no client is there; DefaultGrace
}

// DefaultGrace is how long after its last request a client is taken for gone: longer than
// a model thinks, as a rule, and short for a pump.
const DefaultGrace = time.Minute

// Sink is where a Conn's messages go, in whole ones.
type Sink interface {
	Write(messages []byte) (int, error)
}

func (c *Config) fill() {
	number := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	wait := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	number(&c.Message, rpc.DefaultMessage)
	number(&c.Values, wire.DefaultLimits.Values)
	number(&c.Connections, 2048)
	number(&c.Sessions, 2048)
	number(&c.Streams, 4)
	wait(&c.Idle, time.Hour)
	number(&c.Pending, 1<<20)
	wait(&c.KeepAlive, 15*time.Second)
	wait(&c.Receive, 30*time.Second)
	wait(&c.Send, 30*time.Second)
	wait(&c.Grace, DefaultGrace)
}

// The bounds that are not for a user to set.
const (
	maxHeaders  = 16 << 10         // bytes of a request's headers; net/http adds 4 KiB
	keepOpen    = 2 * time.Minute  // an idle TCP connection
	gracePeriod = 2 * time.Second  // for responses on their way when the server ends
	sweepEvery  = 30 * time.Second // idle sessions
)

// Server is the front. It is an http.Handler, for one address.
type Server struct {
	cfg   Config
	tools map[string]*rpc.Tool
	hosts map[string]bool
	turns sync.Pool // of *turn

	sessions sessions
	presence presence
	quiet    *quiet
	ended    chan struct{}
	ending   sync.Once
}

// New makes a Server, which Close ends.
func New(cfg Config) *Server {
	cfg.fill()
	s := &Server{cfg: cfg, hosts: hostNames(cfg.Hosts), ended: make(chan struct{})}
	if cfg.Catalogue != nil {
		s.tools = make(map[string]*rpc.Tool, len(cfg.Catalogue.Tools))
		for i := range cfg.Catalogue.Tools {
			s.tools[cfg.Catalogue.Tools[i].Name] = &cfg.Catalogue.Tools[i]
		}
	}
	s.turns.New = func() any { return new(turn) }
	s.sessions.open = make(map[string]*session)
	s.presence.grace, s.presence.tell = cfg.Grace, cfg.Unheard
	if cfg.Unheard == nil {
		s.presence.tell = func(string) {}
	}
	s.quiet = newQuiet(func() {
		s.sessions.trim()
		if cfg.Quiet != nil {
			cfg.Quiet()
		}
	})
	return s
}

// Serve serves whoever connects to l until Close. With certificates it speaks TLS.
func (s *Server) Serve(l net.Listener, certificates *tls.Config, log func(line string)) error {
	var only http.Protocols
	only.SetHTTP1(true)
	h := &http.Server{
		Handler:           s,
		Protocols:         &only,
		MaxHeaderBytes:    maxHeaders,
		ReadHeaderTimeout: s.cfg.Receive,
		ReadTimeout:       s.cfg.Receive,
		WriteTimeout:      s.cfg.Receive + s.cfg.Send,
		IdleTimeout:       keepOpen,
		ErrorLog:          newErrorLog(log),
		TLSConfig:         certificates,
		ConnState:         noteState,
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		sweep := time.NewTicker(sweepEvery)
		defer sweep.Stop()
		for {
			select {
			case <-sweep.C:
				s.sessions.sweep(time.Now(), s.cfg.Idle)
			case <-s.ended:
				ctx, cancel := context.WithTimeout(context.Background(), gracePeriod)
				defer cancel()
				if h.Shutdown(ctx) != nil {
					_ = h.Close()
				}
				return
			}
		}
	}()
	l = &bounded{Listener: l, limit: int64(s.cfg.Connections)}
	var err error
	if certificates != nil {
		err = h.ServeTLS(l, "", "")
	} else {
		err = h.Serve(newParking(l))
	}
	s.Close()
	<-done
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends every session and every stream.
func (s *Server) Close() {
	s.ending.Do(func() {
		close(s.ended)
		s.sessions.close()
		s.presence.close()
	})
}

// bounded closes connections at once that are more than the limit: to let them wait
// would let idle ones keep all others out without a word.
type bounded struct {
	net.Listener
	limit int64
	open  atomic.Int64
}

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if b.open.Add(1) <= b.limit {
			noticeLoss(c)
			return &counted{Conn: c, open: &b.open}, nil
		}
		b.open.Add(-1)
		_ = c.Close()
	}
}

type counted struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// Path is that of the endpoint.
const Path = "/mcp"

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.quiet.request()
	if why := s.foreign(r); why != "" {
		refuse(w, http.StatusForbidden, nil, wire.CodeInvalidRequest, why)
		return
	}
	switch path := r.URL.Path; {
	case path == Path:
		s.endpoint(w, r)
	case isCardPath(path):
		s.card(w, r)
	case s.cfg.Auth != nil && s.cfg.Auth.Serves(path):
		s.cfg.Auth.ServeHTTP(w, r)
	default:
		refuse(w, http.StatusNotFound, nil, wire.CodeInvalidRequest, "there is nothing at this path; the endpoint is "+Path)
	}
}

func (s *Server) endpoint(w http.ResponseWriter, r *http.Request) {
	who := oauth.Identity{Scope: oauth.Both}
	if s.cfg.Auth != nil {
		var err error
		if who, err = s.cfg.Auth.Identify(r); err != nil {
			s.cfg.Auth.Refuse(w, r, oauth.Read, err)
			return
		}
	}
	if who.Scope.Allows(oauth.Write) {
		s.presence.enter()
		defer s.presence.leave()
	}
	switch r.Method {
	case http.MethodPost:
		s.post(w, r, who)
	case http.MethodGet:
		s.get(w, r, who)
	case http.MethodDelete:
		s.delete(w, r, who)
	default:
		notAllowed(w, "POST, GET, DELETE", "the method must be POST; GET and DELETE belong to a session")
	}
}

func notAllowed(w http.ResponseWriter, allow, why string) {
	w.Header().Set("Allow", allow)
	refuse(w, http.StatusMethodNotAllowed, nil, wire.CodeInvalidRequest, why)
}

// refuse answers with an error object of the front's own, for what reached no Conn.
// id is a valid one or nil.
func refuse(w http.ResponseWriter, status int, id []byte, code int, why string) {
	refuseWith(w, status, id, code, why, nil)
}

func refuseWith(w http.ResponseWriter, status int, id []byte, code int, why string, data []byte) {
	sendJSON(w, status, appendError(make([]byte, 0, 256), id, code, why, data))
}

// appendError appends an error object.
func appendError(dst, id []byte, code int, why string, data []byte) []byte {
	dst = append(dst, head...)
	if len(id) > 0 {
		dst = append(append(append(dst, `"id":`...), id...), ',')
	}
	dst = wire.AppendInt(append(dst, `"error":{"code":`...), int64(code))
	dst = wire.AppendString(append(dst, `,"message":`...), why)
	if data != nil {
		dst = append(append(dst, `,"data":`...), data...)
	}
	return append(dst, "}}"...)
}

var jsonType = []string{"application/json"}

// sendJSON sends a whole response.
func sendJSON(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = jsonType
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
