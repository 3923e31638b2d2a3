package oauth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"boardhand/rpc/wire"
)

const maxForm = 8 << 10 // bytes of a request for tokens

// form reads a posted form, none of whose fields may stand twice. Parameters in the
// address are not looked at: what stands there ends up in logs.
func form(w http.ResponseWriter, r *http.Request, limit int64) (map[string]string, string) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/x-www-form-urlencoded" {
		return nil, "the body must be application/x-www-form-urlencoded"
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err != nil {
		return nil, fmt.Sprintf("the body could not be read, or has more than %d bytes", limit)
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, "the body is not properly encoded"
	}
	return once(values)
}

// problem is an error of the token endpoint. It quotes no secret.
type problem struct {
	code, description string
}

func (p *problem) Error() string { return p.code + ": " + p.description }

var (
	errCode    = &problem{"invalid_grant", "the code was used, has expired, or is none; authorize anew"}
	errRefresh = &problem{"invalid_grant", "the refresh token was used before, was revoked, has expired, or is none; authorize anew"}
	errClient  = &problem{"invalid_client", "the client is unknown here, or its secret is not right; register anew"}
)

// authenticate finds who the client of a form is: by client_id alone, with a secret
// in the form or in the Authorization header, as it has registered. find gives the
// client of an id, or nil.
func authenticate(r *http.Request, f map[string]string, find func(id string) *client) (*client, *problem) {
	id, secret, method := f["client_id"], f["client_secret"], authNone
	if secret != "" {
		method = authPost
	}
	if header := r.Header.Get("Authorization"); header != "" {
		user, password, ok := r.BasicAuth()
		basicID, err1 := url.QueryUnescape(user) // RFC 6749, section 2.3.1
		basicSecret, err2 := url.QueryUnescape(password)
		if !ok || err1 != nil || err2 != nil || method != authNone || id != "" && id != basicID {
			return nil, errClient
		}
		id, secret, method = basicID, basicSecret, authBasic
	}
	if id == "" {
		return nil, &problem{"invalid_request", "client_id is missing"}
	}
	c := find(id)
	switch {
	case c == nil:
		return nil, errClient
	case c.method == authNone && method == authNone:
		return c, nil
	case c.method != authNone && method != authNone && c.secret.is(secret): // either way to send it is as good
		return c, nil
	}
	return nil, errClient
}

// token serves the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Pragma", "no-cache")
	f, bad := form(w, r, maxForm)
	if bad != "" {
		fail(w, http.StatusBadRequest, "invalid_request", bad)
		return
	}
	var (
		t    tokens
		give Grant
		err  error
	)
	switch f["grant_type"] {
	case "authorization_code":
		t, give, err = s.redeem(r, f)
	case "refresh_token":
		t, give, err = s.rotate(r, f)
	case "":
		err = &problem{"invalid_request", "grant_type is missing"}
	default:
		err = &problem{"unsupported_grant_type", "grant_type must be authorization_code or refresh_token"}
	}
	if err != nil {
		s.failToken(w, r, err)
		return
	}
	b := wire.AppendString(wire.AppendKey([]byte{'{'}, "access_token"), t.access)
	b = wire.AppendString(wire.AppendKey(b, "token_type"), "Bearer")
	b = wire.AppendInt(wire.AppendKey(b, "expires_in"), int64(time.Until(give.accessUntil).Round(time.Second)/time.Second))
	b = wire.AppendString(wire.AppendKey(b, "refresh_token"), t.refresh)
	b = wire.AppendString(wire.AppendKey(b, "scope"), give.Scope.String())
	answer(w, http.StatusOK, append(b, '}'))
}

func (s *Server) failToken(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	switch {
	case !errors.As(err, &p):
		s.say(err.Error())
		fail(w, http.StatusServiceUnavailable, "temporarily_unavailable", "the board cannot read or write its file of tokens; its log says why")
	case p.code == "invalid_client":
		if r.Header.Get("Authorization") != "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="boardhand"`)
		}
		fail(w, http.StatusUnauthorized, p.code, p.description)
	default:
		fail(w, http.StatusBadRequest, p.code, p.description)
	}
}

// redeem gives tokens for an authorization code. A code that is used twice was
// stolen by one of the two: what came of it ends (RFC 6749, section 4.1.2).
func (s *Server) redeem(r *http.Request, f map[string]string) (tokens, Grant, error) {
	a := s.codes.get(f["code"])
	c, bad := authenticate(r, f, func(id string) *client {
		if a != nil && a.client.id == id {
			return a.client
		}
		return s.known(id)
	})
	verifier := sha256.Sum256([]byte(f["code_verifier"]))
	switch {
	case bad != nil:
		return tokens{}, Grant{}, bad
	case f["code"] == "":
		return tokens{}, Grant{}, &problem{"invalid_request", "code is missing"}
	case a == nil || a.client.id != c.id:
		return tokens{}, Grant{}, errCode
	case !isVerifier(f["code_verifier"]):
		return tokens{}, Grant{}, &problem{"invalid_request", "code_verifier must be from 43 to 128 characters of A-Z a-z 0-9 - . _ ~"}
	case f["redirect_uri"] != "" && f["redirect_uri"] != a.redirect:
		return tokens{}, Grant{}, &problem{"invalid_grant", "redirect_uri is not that of the authorization request"}
	case f["resource"] != "" && (!s.isResource(r, f["resource"]) || a.resource != s.resource(r)):
		return tokens{}, Grant{}, &problem{"invalid_target", "resource must be " + a.resource}
	}
	challenge := digestOf(a.challenge)
	if !challenge.is(base64.RawURLEncoding.EncodeToString(verifier[:])) {
		return tokens{}, Grant{}, &problem{"invalid_grant", "code_verifier does not belong to the code_challenge"}
	}
	if earlier, first := s.codes.use(a); !first {
		if earlier != "" {
			s.endStolen(earlier, "an authorization code")
		}
		return tokens{}, Grant{}, errCode
	}
	var (
		t    tokens
		give Grant
	)
	err := s.store.kept(s.store.change(func() error {
		g := s.store.present(c, a.resource)
		if g == nil && len(s.store.grants) >= maxGrants {
			return &problem{"access_denied", fmt.Sprintf("%d clients are approved already; end one with boardhand tokens revoke", maxGrants)}
		}
		if g == nil {
			g = newGrant(c, s.store.grants)
		}
		g.Name, g.client, g.Created, g.repeat = c.name, c, time.Now(), nil
		g.Returns, g.Scope, g.Resource, g.issuer = hostOf(a.redirect), a.scope, a.resource, a.issuer
		t = g.issue(rand.Text())
		s.store.grants[g.ID] = g
		give = *g
		return nil
	}))
	if err == nil {
		if !s.codes.became(a, give.ID) {
			s.endStolen(give.ID, "an authorization code")
			return tokens{}, Grant{}, errCode
		}
		s.say(fmt.Sprintf("request %d: %q has its tokens; \"boardhand tokens revoke %s\" takes them back", a.number, c.name, give.ID))
	}
	return t, give, err
}

func isVerifier(v string) bool {
	return len(v) >= 43 && len(v) <= 128 && isToken(v) && !strings.ContainsAny(v, "+/=")
}

// holder is the client of a form that is about the grant g, or about none that is
// known. It is called while the store is being changed.
func (s *Server) holder(r *http.Request, f map[string]string, g *Grant) (*client, *problem) {
	return authenticate(r, f, func(id string) *client {
		if g != nil && g.Client == id {
			return g.client
		}
		if c := s.registered.get(id); c != nil {
			return c
		}
		return s.store.client(id)
	})
}

// rotate gives new tokens for a refresh token, which ends; the same ones again while a
// repeat is remembered.
func (s *Server) rotate(r *http.Request, f map[string]string) (t tokens, give Grant, err error) {
	family, own, ok := splitRefresh(f["refresh_token"])
	if f["refresh_token"] == "" {
		return t, give, &problem{"invalid_request", "refresh_token is missing"}
	}
	stolen := false
	err = s.store.change(func() error {
		var g *Grant
		if ok {
			g = s.store.families[digestOf(family)]
		}
		c, bad := s.holder(r, f, g)
		switch {
		case bad != nil:
			return bad
		case g == nil || g.Client != c.id:
			return errRefresh
		case f["resource"] != "" && (!s.isResource(r, f["resource"]) || g.Resource != s.resource(r)):
			return &problem{"invalid_target", "resource must be " + g.Resource}
		}
		give = *g
		if g.repeat != nil && g.repeat.own.is(own) && g.repeat.peer == peer(r) {
			t = g.repeat.tokens
			return errNothing
		}
		if stolen = !g.refresh.is(own); stolen {
			s.store.drop(g.ID)
			return nil
		}
		if f["scope"] != "" && !g.Scope.Allows(parseScope(f["scope"])) {
			return &problem{"invalid_scope", "scope is more than was approved, " + g.Scope.String()}
		}
		t = g.issue(family)
		s.store.remember(g, &repeat{digestOf(own), peer(r), t})
		give = *g
		return nil
	})
	if errors.Is(err, errNothing) {
		return t, give, nil
	}
	if err = s.store.kept(err); err == nil && stolen {
		s.say(fmt.Sprintf("grant %s of %q has ended: a refresh token was used twice, so someone else has a copy", give.ID, give.Name))
		return tokens{}, Grant{}, errRefresh
	}
	return t, give, err
}

func (s *Server) endStolen(id, what string) {
	err := s.store.kept(s.store.Revoke(id))
	if err == nil {
		s.say(fmt.Sprintf("grant %s has ended: %s was used twice, so someone else has a copy", id, what))
	} else if !errors.Is(err, ErrNoGrant) {
		s.say(err.Error())
	}
}

// revoke serves the revocation endpoint (RFC 7009). Either token ends the grant. That a
// token is unknown is no error, as there.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	f, bad := form(w, r, maxForm)
	if bad == "" && f["token"] == "" {
		bad = "token is missing"
	}
	if bad != "" {
		fail(w, http.StatusBadRequest, "invalid_request", bad)
		return
	}
	var ended *Grant
	err := s.store.change(func() error {
		g := s.store.access[digestOf(f["token"])]
		if family, own, ok := splitRefresh(f["token"]); ok {
			if g = s.store.families[digestOf(family)]; g != nil && !g.refresh.is(own) {
				g = nil
			}
		}
		c, bad := s.holder(r, f, g)
		switch {
		case bad != nil:
			return bad
		case g == nil:
			return errNothing
		case g.Client != c.id:
			return &problem{"invalid_grant", "the token belongs to another client"}
		}
		ended = g
		s.store.drop(g.ID)
		return nil
	})
	switch {
	case errors.Is(err, errNothing):
	case err != nil:
		s.failToken(w, r, err)
		return
	default:
		s.say(fmt.Sprintf("grant %s has ended: %q gave its token back", ended.ID, ended.Name))
	}
	w.WriteHeader(http.StatusOK)
}

// errNothing says that nothing is to be changed.
var errNothing = errors.New("nothing to change")
