package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"boardhand/rpc/wire"
)

// Config is what a Server is made of.
type Config struct {
	// Path is the path of the protected resource, "/mcp" where it is empty.
	Path string
	// URL is how clients reach the board, where a proxy in front of it hides that:
	// "https://board.example". Where it is empty the board takes the word of each
	// request's Host header, which whoever calls Handler and Identify has checked.
	URL string
	// Store keeps the grants; nil keeps them in memory.
	Store *Store
	// Bearer is a token that may do everything, as BOARDHAND_TOKEN gives it; empty: none.
	Bearer string
	// Name is what the approval page calls the board, its host name for one.
	Name string
	// Say writes a line on the board's console or log: the pairing codes, and what
	// becomes of them. It is called by several goroutines at once; nil: not at all.
	Say func(line string)
}

// Server is the authorization server, and the check of the resource server. Its
// methods may be called by several goroutines at once.
type Server struct {
	path   string
	url    string
	store  *Store
	bearer digest
	static bool // that there is a bearer
	name   string
	say    func(string)

	registered registered
	documents  documents
	requests   requests
	codes      codes
	lockouts   lockouts
	foreign    *http.CrossOriginProtection
	routes     map[string]route
	failures   limiter // of bearer tokens that do not hold
}

type route struct {
	methods []string
	limit   *limiter
	serve   http.HandlerFunc
}

// minBearer is how long a token from the environment must be, in bytes: it can be
// guessed at by whoever reaches the board.
const minBearer = 20

// New makes a Server. Its error says what of the configuration is wrong, and never
// quotes the bearer.
func New(c Config) (*Server, error) {
	s := &Server{path: c.Path, store: c.Store, name: showable(c.Name), say: c.Say}
	if s.path == "" {
		s.path = "/mcp"
	}
	if !strings.HasPrefix(s.path, "/") || s.path == "/" {
		return nil, fmt.Errorf("the path of the endpoint is %q; it must begin with a slash and have a name", s.path)
	}
	if c.Name == "" {
		s.name = "this board"
	}
	if s.say == nil {
		s.say = func(string) {}
	}
	if s.store == nil {
		s.store, _ = OpenStore("", s.say)
	}
	if c.URL != "" {
		u, err := parseURL(strings.TrimSuffix(c.URL, "/"))
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Path != "" || u.RawQuery != "" {
			return nil, fmt.Errorf("the address of the board is %q; it must be http or https with a host and nothing behind it, such as https://board.example", c.URL)
		}
		s.url = strings.ToLower(u.String())
	}
	s.foreign = http.NewCrossOriginProtection()
	if s.url != "" {
		if err := s.foreign.AddTrustedOrigin(s.url); err != nil {
			return nil, fmt.Errorf("the address of the board: %w", err)
		}
	}
	if c.Bearer != "" {
		if err := checkBearer(c.Bearer); err != nil {
			return nil, err
		}
		s.bearer, s.static = digestOf(c.Bearer), true
	}
	s.documents.slots = make(chan struct{}, maxFetches)
	s.failures = limiter{each: allowance{120, 500 * time.Millisecond}, all: allowance{1000, 50 * time.Millisecond}}

	get, post := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}
	limit := func(burst int, every time.Duration, all int, allEvery time.Duration) *limiter {
		return &limiter{each: allowance{burst, every}, all: allowance{all, allEvery}}
	}
	metadata := limit(60, time.Second, 300, 100*time.Millisecond)
	resource, server := route{get, metadata, s.resourceMetadata}, route{get, metadata, s.serverMetadata}
	s.routes = map[string]route{
		resourceWellKnown:          resource,
		resourceWellKnown + s.path: resource,
		serverWellKnown:            server,
		registerPath:               {post, limit(10, 6*time.Second, 60, time.Second), s.register},
		tokenPath:                  {post, limit(30, 2*time.Second, 300, 200*time.Millisecond), s.token},
		revokePath:                 {post, limit(30, 2*time.Second, 300, 200*time.Millisecond), s.revoke},
		authorizePath:              {[]string{http.MethodGet, http.MethodPost}, limit(20, 3*time.Second, 60, time.Second), s.authorize},
	}
	return s, nil
}

func checkBearer(token string) error {
	if len(token) < minBearer || len(token) > maxToken {
		return fmt.Errorf("BOARDHAND_TOKEN has %d bytes; it must have from %d to %d: make one with \"openssl rand -hex 24\"", len(token), minBearer, maxToken)
	}
	if !isToken(token) {
		return errors.New("BOARDHAND_TOKEN may hold letters, digits and -._~+/= only, as a Bearer header can carry; make one with \"openssl rand -hex 24\"")
	}
	return nil
}

// The paths of the endpoints. Those outside of .well-known are the ones that clients
// of MCP 2025-03-26 take when they find no metadata.
const (
	resourceWellKnown = "/.well-known/oauth-protected-resource"
	serverWellKnown   = "/.well-known/oauth-authorization-server"
	authorizePath     = "/authorize"
	tokenPath         = "/token"
	registerPath      = "/register"
	revokePath        = "/revoke"
)

// Serves says whether a path is one of the authorization server's. The caller has
// checked the Host of the requests it hands to ServeHTTP.
func (s *Server) Serves(path string) bool {
	_, ok := s.routes[path]
	return ok
}

// ServeHTTP serves the endpoints of the authorization server.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	to, ok := s.routes[r.URL.Path]
	switch {
	case !ok:
		http.Error(w, "there is nothing at this address", http.StatusNotFound)
		return
	case s.url == "" && !isHost(r.Host):
		http.Error(w, "the Host header is no host", http.StatusBadRequest)
		return
	}
	allowed := false
	for _, m := range to.methods {
		allowed = allowed || r.Method == m
	}
	if !allowed {
		h.Set("Allow", strings.Join(to.methods, ", "))
		http.Error(w, "the method must be "+strings.Join(to.methods, " or "), http.StatusMethodNotAllowed)
		return
	}
	if wait := to.limit.take(peer(r)); wait > 0 {
		retryAfter(h, wait)
		if r.URL.Path == authorizePath {
			s.message(w, http.StatusTooManyRequests, "Too many requests", "The board has had too many requests. "+tryIn(wait))
			return
		}
		fail(w, http.StatusTooManyRequests, "temporarily_unavailable", "too many requests; "+tryIn(wait))
		return
	}
	to.serve(w, r)
}

// retryAfter tells when to come again, in whole seconds.
func retryAfter(h http.Header, wait time.Duration) {
	h.Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
}

func tryIn(wait time.Duration) string {
	if wait > 90*time.Second {
		return "Try again in " + strconv.Itoa(int((wait+time.Minute-1)/time.Minute)) + " minutes."
	}
	return "Try again in " + strconv.Itoa(int((wait+time.Second-1)/time.Second)) + " seconds."
}

// issuer is the authorization server's name to this client: the address that it
// reaches the board by.
func (s *Server) issuer(r *http.Request) string {
	if s.url != "" {
		return s.url
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	return scheme + strings.ToLower(r.Host)
}

// resource is the address of the protected resource to this client.
func (s *Server) resource(r *http.Request) string { return s.issuer(r) + s.path }

// isResource says whether a resource parameter (RFC 8707) means this board: its
// endpoint, or the whole of it.
func (s *Server) isResource(r *http.Request, text string) bool {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxURL || u.Fragment != "" || u.RawQuery != "" || u.User != nil {
		return false
	}
	path := strings.TrimSuffix(u.Path, "/")
	return strings.ToLower(u.Scheme+"://"+u.Host) == s.issuer(r) && (path == "" || path == s.path)
}

func (s *Server) resourceMetadata(w http.ResponseWriter, r *http.Request) {
	b := wire.AppendString(wire.AppendKey([]byte{'{'}, "resource"), s.resource(r))
	b = appendStrings(wire.AppendKey(b, "authorization_servers"), s.issuer(r))
	b = appendStrings(wire.AppendKey(b, "scopes_supported"), "board:read", "board:write")
	b = appendStrings(wire.AppendKey(b, "bearer_methods_supported"), "header")
	b = wire.AppendString(wire.AppendKey(b, "resource_name"), s.name)
	answer(w, http.StatusOK, append(b, '}'))
}

func (s *Server) serverMetadata(w http.ResponseWriter, r *http.Request) {
	base := s.issuer(r)
	b := wire.AppendString(wire.AppendKey([]byte{'{'}, "issuer"), base)
	for _, e := range []struct{ name, path string }{
		{"authorization_endpoint", authorizePath}, {"token_endpoint", tokenPath},
		{"registration_endpoint", registerPath}, {"revocation_endpoint", revokePath},
	} {
		b = wire.AppendString(wire.AppendKey(b, e.name), base+e.path)
	}
	b = appendStrings(wire.AppendKey(b, "scopes_supported"), "board:read", "board:write")
	b = appendStrings(wire.AppendKey(b, "response_types_supported"), "code")
	b = appendStrings(wire.AppendKey(b, "response_modes_supported"), "query")
	b = appendStrings(wire.AppendKey(b, "grant_types_supported"), "authorization_code", "refresh_token")
	b = appendStrings(wire.AppendKey(b, "token_endpoint_auth_methods_supported"), authNone, authPost, authBasic)
	b = appendStrings(wire.AppendKey(b, "revocation_endpoint_auth_methods_supported"), authNone, authPost, authBasic)
	b = appendStrings(wire.AppendKey(b, "code_challenge_methods_supported"), "S256")
	b = wire.AppendBool(wire.AppendKey(b, "authorization_response_iss_parameter_supported"), true)
	b = wire.AppendBool(wire.AppendKey(b, "client_id_metadata_document_supported"), s.documents.reachable())
	answer(w, http.StatusOK, append(b, '}'))
}

func answer(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// fail answers with an OAuth error (RFC 6749, section 5.2).
func fail(w http.ResponseWriter, status int, code, description string) {
	b := wire.AppendString(wire.AppendKey([]byte{'{'}, "error"), code)
	b = wire.AppendString(wire.AppendKey(b, "error_description"), description)
	answer(w, status, append(b, '}'))
}
