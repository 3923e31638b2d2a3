package oauth

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"
)

// client is a program that asks for access. It does not change once it is made.
type client struct {
	id        string
	name      string   // as a person sees it, which anyone may have chosen
	redirects []string // where its answers may go
	method    string   // how it proves who it is: authNone, authPost or authBasic
	secret    digest   // with authPost and authBasic
	described bool     // by the document at its id
}

// The ways to prove who a client is (RFC 7591, section 2).
const (
	authNone  = "none"
	authPost  = "client_secret_post"
	authBasic = "client_secret_basic"
)

// The limits of what a client says of itself.
const (
	maxRedirects = 16
	maxURL       = 1024 // bytes
	maxName      = 64   // characters shown
)

// showable makes of what a client calls itself a name to show: one line, no
// characters that hide or turn round others.
func showable(name string) string {
	var b strings.Builder
	space, n := false, 0
	for _, r := range name {
		switch {
		case unicode.IsSpace(r):
			space = b.Len() > 0
			continue
		case r == utf8.RuneError || !unicode.IsPrint(r):
			continue
		}
		if n++; space {
			n++
		}
		if n > maxName {
			b.WriteString("…")
			break
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "a client without a name"
	}
	return b.String()
}

// checkRedirect says whether answers may go to this address: an https URL, or http
// on the machine of the browser, as MCP's authorization demands.
func checkRedirect(text string) error {
	u, err := parseURL(text)
	if err != nil {
		return fmt.Errorf("redirect_uri %.100q %w", text, err)
	}
	if u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("redirect_uri %.100q is neither https nor http on localhost, 127.0.0.1 or [::1]", text)
}

// parseURL parses an absolute URL that a stranger gave.
func parseURL(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("is longer than %d bytes", maxURL)
	}
	for i := range len(text) {
		if c := text[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"'<>\\^`{|};,", c) >= 0 {
			return nil, fmt.Errorf("holds the byte 0x%02x, which must be percent-encoded in a URL", c)
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Opaque != "", u.Hostname() == "", u.Scheme == "":
		return nil, errors.New("is no absolute URL")
	case u.User != nil:
		return nil, errors.New("holds a user name; leave it out")
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, errors.New("has a fragment; leave it out")
	case !isHost(u.Host):
		return nil, errors.New("has no proper host")
	}
	return u, nil
}

// isHost says whether s is a host with or without a port, in the characters that may
// stand in a header and a policy without a second thought.
func isHost(s string) bool {
	host, port := s, ""
	if at := strings.LastIndexByte(s, ':'); at > strings.LastIndexByte(s, ']') {
		host, port = s[:at], s[at+1:]
		if len(port) == 0 || len(port) > 5 || strings.Trim(port, "0123456789") != "" {
			return false
		}
	}
	if in, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(in, "]"))
		return err == nil && strings.HasSuffix(in, "]") && addr.Is6() && addr.Zone() == ""
	}
	for i := range len(host) {
		c := host[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return host != "" && len(host) <= 253
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// allows says whether text is one of the client's redirect addresses. They are
// compared byte by byte, but for the port of http on the browser's own machine, where a program
// takes whatever port is free (RFC 8252, section 7.3).
func (c *client) allows(text string) bool {
	if checkRedirect(text) != nil {
		return false
	}
	for _, known := range c.redirects {
		if text == known || portless(known) != "" && portless(text) == portless(known) {
			return true
		}
	}
	return false
}

// portless is a loopback address without its port; "" of any other.
func portless(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || !isLoopback(u.Hostname()) {
		return ""
	}
	rest := strings.TrimPrefix(text, "http://"+u.Host)
	if rest == text {
		return "" // not in its plain form
	}
	return "http://" + u.Hostname() + rest
}

// registered holds the clients that have registered and that nobody has approved
// yet: in memory, and the oldest goes when there are too many.
type registered struct {
	mu      sync.Mutex
	clients map[string]registration
}

type registration struct {
	*client
	at time.Time
}

// maxRegistered is how many clients may be registered without being approved.
const maxRegistered = 256

func (r *registered) add(c *client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.clients == nil {
		r.clients = make(map[string]registration)
	}
	if len(r.clients) >= maxRegistered {
		dropOldest(r.clients, func(c registration) time.Time { return c.at })
	}
	r.clients[c.id] = registration{c, time.Now()}
}

func (r *registered) get(id string) *client {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.clients[id].client
}

// newClientID makes the id of a client that registers.
func newClientID() string { return "bhc_" + rand.Text() }

// isDocument says whether a client id is the URL of a document that describes it.
func isDocument(id string) bool { return strings.HasPrefix(id, "https://") }
