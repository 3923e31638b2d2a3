package oauth

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// Identity is who sends a request.
type Identity struct {
	// ID is the grant's id, or "environment" of the static bearer. A session belongs to
	// one of them.
	ID    string
	Scope Scope
}

// static is the Identity.ID of the token from the environment; no grant's id is as long.
const static = "environment"

// Why a request is not let in.
var (
	// ErrNoToken says that a request has no bearer token.
	ErrNoToken = errors.New("this board wants a bearer token")
	// ErrToken says that a token does not hold here: it was revoked, has expired, is
	// for another address, or is none.
	ErrToken = errors.New("the access token does not hold at this address: it has expired, was revoked, or is for another")
	// ErrScope says that a token is good, and not for this.
	ErrScope = errors.New("the access token does not allow this")
)

const maxToken = 256 // bytes of a bearer token

// Identify says who sends a request, by its Authorization header; its error is
// ErrNoToken or ErrToken, for Refuse. The request's Host has been checked. A token is
// looked at anew for each request, since it may be revoked at any time.
func (s *Server) Identify(r *http.Request) (Identity, error) {
	header := r.Header["Authorization"]
	if len(header) == 0 {
		return Identity{}, ErrNoToken
	}
	scheme, token, _ := strings.Cut(header[0], " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer"):
		return Identity{}, ErrNoToken
	case len(header) > 1 || len(token) > maxToken || !isToken(token):
		return Identity{}, ErrToken
	}
	var buf [maxToken]byte
	d := digest(sha256.Sum256(buf[:copy(buf[:], token)]))
	if s.static && subtle.ConstantTimeCompare(d[:], s.bearer[:]) == 1 {
		return Identity{static, Both}, nil
	}
	g, ok := s.store.byAccess(d)
	if !ok || !s.isFor(r, g.Resource) {
		return Identity{}, ErrToken
	}
	return Identity{g.ID, g.Scope}, nil
}

// isFor says whether a request came to the address that a token is for, without
// allocating.
func (s *Server) isFor(r *http.Request, resource string) bool {
	base, ok := strings.CutSuffix(resource, s.path)
	if !ok {
		return false
	}
	if s.url != "" {
		return base == s.url
	}
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	host, ok := strings.CutPrefix(base, scheme)
	return ok && strings.EqualFold(host, r.Host)
}

// Lives says whether who was identified by id may still be served: a stream that
// stays open asks it now and then.
func (s *Server) Lives(id string) bool { return id == static && s.static || s.store.lives(id) }

// isToken says whether s is the token68 of RFC 6750, section 2.1.
func isToken(s string) bool {
	body := strings.TrimRight(s, "=")
	for i := range len(body) {
		c := body[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return body != ""
}

// Refuse answers a request that is not let in: 401 for ErrNoToken and ErrToken, 403
// for ErrScope, where need is what the request takes, and 429 when its address has sent
// too many bad tokens. The header says where to get a token that will do (RFC 6750,
// section 3; RFC 9728, section 5.1). A client that comes anew is told to ask for both
// scopes, so that a person approves once, and takes away there what they will not give.
func (s *Server) Refuse(w http.ResponseWriter, r *http.Request, need Scope, err error) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	status, code := http.StatusUnauthorized, ""
	switch {
	case errors.Is(err, ErrScope):
		status, code, err = http.StatusForbidden, "insufficient_scope", ErrScope
		need |= Read
	case errors.Is(err, ErrToken):
		if wait := s.failures.take(peer(r)); wait > 0 {
			retryAfter(h, wait)
			fail(w, http.StatusTooManyRequests, "temporarily_unavailable", "too many bad tokens; "+tryIn(wait))
			return
		}
		code, err, need = "invalid_token", ErrToken, Both
	default:
		err, need = ErrNoToken, Both
	}
	challenge := "Bearer "
	if code != "" { // RFC 6750, section 3.1: none where the request had no token
		challenge += `error="` + code + `", error_description="` + err.Error() + `", `
	}
	if isHost(r.Host) || s.url != "" {
		challenge += `resource_metadata="` + s.issuer(r) + resourceWellKnown + s.path + `", `
	}
	h.Set("WWW-Authenticate", challenge+`scope="`+need.String()+`"`)
	fail(w, status, cmp.Or(code, "invalid_request"), err.Error())
}
