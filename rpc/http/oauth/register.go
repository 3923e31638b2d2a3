package oauth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

const (
	maxRegister = 16 << 10 // bytes of a registration
	maxDepth    = 8        // of JSON from a stranger
	maxValues   = 256
)

// register registers a client (RFC 7591).
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		fail(w, http.StatusBadRequest, "invalid_client_metadata", "the body must be application/json")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRegister))
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_client_metadata", fmt.Sprintf("the body could not be read, or has more than %d bytes", maxRegister))
		return
	}
	v, err := parseObject(body)
	if err != nil {
		fail(w, http.StatusBadRequest, "invalid_client_metadata", err.Error())
		return
	}
	c, err := describe(v)
	var bad *redirectError
	switch {
	case errors.As(err, &bad):
		fail(w, http.StatusBadRequest, "invalid_redirect_uri", err.Error())
		return
	case err != nil:
		fail(w, http.StatusBadRequest, "invalid_client_metadata", err.Error())
		return
	}
	c.id = newClientID()
	secret := ""
	if c.method != authNone {
		secret = rand.Text()
		c.secret = digestOf(secret)
	}
	s.registered.add(c)

	b := wire.AppendString(wire.AppendKey([]byte{'{'}, "client_id"), c.id)
	b = wire.AppendInt(wire.AppendKey(b, "client_id_issued_at"), time.Now().Unix())
	if secret != "" {
		b = wire.AppendString(wire.AppendKey(b, "client_secret"), secret)
		b = wire.AppendInt(wire.AppendKey(b, "client_secret_expires_at"), 0)
	}
	b = wire.AppendString(wire.AppendKey(b, "client_name"), c.name)
	b = appendStrings(wire.AppendKey(b, "redirect_uris"), c.redirects...)
	b = appendStrings(wire.AppendKey(b, "grant_types"), "authorization_code", "refresh_token")
	b = appendStrings(wire.AppendKey(b, "response_types"), "code")
	b = wire.AppendString(wire.AppendKey(b, "token_endpoint_auth_method"), c.method)
	b = wire.AppendString(wire.AppendKey(b, "scope"), Both.String())
	answer(w, http.StatusCreated, append(b, '}'))
}

// parseObject parses a JSON object that a stranger sent.
func parseObject(body []byte) (*fastjson.Value, error) {
	if err := wire.Scan(body, wire.Limits{Depth: maxDepth, Values: maxValues}); err != nil {
		var over *wire.LimitError
		if errors.As(err, &over) {
			return nil, fmt.Errorf("more than %d %s in the JSON at byte %d", over.Max, map[string]string{"Depth": "levels", "Values": "values"}[over.Limit], over.Offset)
		}
		return nil, err
	}
	v, err := fastjson.ParseBytes(body)
	if err != nil || v.Type() != fastjson.TypeObject {
		return nil, errors.New("the JSON is no object")
	}
	return v, nil
}

// redirectError says which redirect address is refused, and why.
type redirectError struct{ error }

// describe makes a client of its metadata (RFC 7591, section 2), but for its id and
// secret. What it says beyond that is ignored, as there.
func describe(v *fastjson.Value) (*client, error) {
	c := &client{name: showable(string(v.GetStringBytes("client_name")))}
	uris := v.GetArray("redirect_uris")
	if len(uris) == 0 || len(uris) > maxRedirects {
		return nil, &redirectError{fmt.Errorf("redirect_uris holds %d addresses; it must be from 1 to %d strings", len(uris), maxRedirects)}
	}
	for _, u := range uris {
		text, err := u.StringBytes()
		if err != nil {
			return nil, &redirectError{errors.New("redirect_uris holds something that is no string")}
		}
		if err := checkRedirect(string(text)); err != nil {
			return nil, &redirectError{err}
		}
		c.redirects = append(c.redirects, string(text))
	}
	for _, list := range []struct{ name, need string }{{"grant_types", "authorization_code"}, {"response_types", "code"}} {
		if at := v.Get(list.name); at != nil && !slices.ContainsFunc(at.GetArray(), func(e *fastjson.Value) bool { return string(e.GetStringBytes()) == list.need }) {
			return nil, fmt.Errorf("%s lacks %q, the only way in here", list.name, list.need)
		}
	}
	c.method = authBasic // what no word means (RFC 7591, section 2)
	if at := v.Get("token_endpoint_auth_method"); at != nil {
		c.method = string(at.GetStringBytes())
	}
	switch c.method {
	case authNone, authPost, authBasic:
		return c, nil
	}
	return nil, fmt.Errorf("token_endpoint_auth_method is %.60q; it must be %s, %s or %s", c.method, authNone, authPost, authBasic)
}

func appendStrings(b []byte, list ...string) []byte {
	b = append(b, '[')
	for _, s := range list {
		b = wire.AppendString(wire.AppendSep(b), s)
	}
	return append(b, ']')
}
