package oauth

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/valyala/fastjson"
)

// The limits of fetching a document that describes a client
// (draft-ietf-oauth-client-id-metadata-document-00, section 6).
const (
	maxDocument   = 16 << 10 // bytes
	fetchTime     = 6 * time.Second
	maxFetches    = 2 // at once
	maxDocuments  = 64
	minFresh      = 5 * time.Minute // how long a document is used at least, and at most
	maxFresh      = 24 * time.Hour
	failureFresh  = time.Minute      // how long a failure is remembered
	offlinePeriod = 10 * time.Minute // how long after a failure to connect such clients are not asked for
)

// documents fetches and keeps the documents that describe clients.
type documents struct {
	http    http.RoundTripper // nil: the careful one
	slots   chan struct{}
	mu      sync.Mutex
	known   map[string]document
	offline time.Time // until when the board takes itself to be without the internet
}

type document struct {
	client *client
	err    error
	until  time.Time
}

// reachable says that fetching has not failed lately for want of a network. A client
// that is told so registers itself where it sees that the board is alone.
func (d *documents) reachable() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return time.Now().After(d.offline)
}

// get gives the client that the document at id describes. Its error is for the person.
func (d *documents) get(ctx context.Context, id string) (*client, error) {
	if err := checkDocumentURL(id); err != nil {
		return nil, err
	}
	d.mu.Lock()
	k, ok := d.known[id]
	d.mu.Unlock()
	if ok && time.Now().Before(k.until) {
		return k.client, k.err
	}
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	default:
		return nil, fmt.Errorf("%d descriptions of clients are being fetched already; try again in a few seconds", maxFetches)
	}
	c, fresh, err := d.fetch(ctx, id)
	if ctx.Err() != nil && err != nil {
		return nil, err // the browser has gone, which says nothing of the document
	}
	d.keep(id, document{c, err, time.Now().Add(fresh)})
	return c, err
}

func (d *documents) keep(id string, k document) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var alone *unreachableError
	switch {
	case errors.As(k.err, &alone):
		d.offline = time.Now().Add(offlinePeriod)
	case k.err == nil:
		d.offline = time.Time{}
	}
	if d.known == nil {
		d.known = make(map[string]document)
	}
	if len(d.known) >= maxDocuments {
		dropOldest(d.known, func(k document) time.Time { return k.until })
	}
	d.known[id] = k
}

// checkDocumentURL says whether a client id is a URL as the draft's section 2 has
// it, which the board is willing to ask.
func checkDocumentURL(id string) error {
	u, err := parseURL(id)
	if err != nil {
		return fmt.Errorf("client_id %.100q %w", id, err)
	}
	host := u.Hostname()
	_, isAddr := netip.ParseAddr(host)
	switch {
	case u.Scheme != "https":
		err = errors.New("must be an https URL")
	case u.Path == "" || u.Path == "/":
		err = errors.New("names no document; a path must follow the host")
	case u.EscapedPath() != path.Clean(u.EscapedPath()) && u.EscapedPath() != path.Clean(u.EscapedPath())+"/":
		err = errors.New("has a path with dots or empty parts")
	case u.Port() != "" && u.Port() != "443":
		err = errors.New("has a port other than 443")
	case isAddr == nil || strings.HasPrefix(host, "[") || !strings.Contains(strings.Trim(host, "."), "."):
		err = errors.New("must name a public host")
	}
	if err != nil {
		return fmt.Errorf("client_id %.100q %w", id, err)
	}
	return nil
}

// unreachableError says that the board could not speak with the document's host.
type unreachableError struct {
	host  string
	cause error
}

func (e *unreachableError) Error() string {
	what := "the board cannot reach it"
	var (
		cert  x509.CertificateInvalidError
		roots x509.UnknownAuthorityError
		host  x509.HostnameError
		name  *net.DNSError
	)
	switch {
	case errors.As(e.cause, &cert) && cert.Reason == x509.Expired:
		what = "its certificate does not hold at the board's time, " + time.Now().UTC().Format("2006-01-02 15:04") + "; set the board's clock"
	case errors.As(e.cause, &roots):
		what = "the board knows no authority for its certificate; install ca-certificates on the board"
	case errors.As(e.cause, &host):
		what = "its certificate is for another name"
	case errors.As(e.cause, &name):
		what = "the board cannot find it by name"
	}
	return "this client describes itself at " + e.host + ", and " + what +
		". Without the internet, use a client that registers itself (most do when they try again in a minute), or a token in BOARDHAND_TOKEN"
}

func (e *unreachableError) Unwrap() error { return e.cause }

// fetch asks for the document at id, once, without following a redirect, and of a
// public address only. fresh is how long the outcome holds.
func (d *documents) fetch(ctx context.Context, id string) (c *client, fresh time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, failureFresh, err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "boardhand")
	transport := d.http
	if transport == nil {
		transport = careful
	}
	resp, err := transport.RoundTrip(req)
	var private *privateError
	switch {
	case errors.As(err, &private):
		return nil, failureFresh, private
	case err != nil:
		return nil, failureFresh, &unreachableError{req.URL.Hostname(), err}
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	what := ""
	switch {
	case resp.StatusCode != http.StatusOK:
		what = "answers " + strconv.Itoa(resp.StatusCode) + " where the client's description should be"
	case media != "application/json" && !strings.HasSuffix(media, "+json"):
		what = "gives a client's description that is no JSON"
	}
	if what != "" {
		return nil, failureFresh, errors.New(req.URL.Hostname() + " " + what)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, failureFresh, &unreachableError{req.URL.Hostname(), err}
	case len(body) > maxDocument:
		return nil, failureFresh, fmt.Errorf("the client's description at %s has more than %d bytes", req.URL.Hostname(), maxDocument)
	}
	v, err := parseObject(body)
	if err == nil {
		c, err = describeDocument(v, id)
	}
	if err != nil {
		return nil, failureFresh, fmt.Errorf("the client's description at %s: %w", req.URL.Hostname(), err)
	}
	return c, freshness(resp.Header), nil
}

// describeDocument makes a client of the document that was found at id.
func describeDocument(v *fastjson.Value, id string) (*client, error) {
	if got := string(v.GetStringBytes("client_id")); got != id {
		return nil, fmt.Errorf("client_id in it is %.100q; it must be the document's own address", got)
	}
	if len(v.GetStringBytes("client_name")) == 0 {
		return nil, errors.New("it has no client_name")
	}
	if v.Exists("client_secret") {
		return nil, errors.New("it holds a client_secret, which is none when everyone can read it")
	}
	if !v.Exists("token_endpoint_auth_method") {
		v.Set("token_endpoint_auth_method", fastjson.MustParse(`"`+authNone+`"`))
	}
	c, err := describe(v)
	switch {
	case err != nil:
		return nil, err
	case c.method != authNone:
		return nil, fmt.Errorf("token_endpoint_auth_method is %q; here such a client must take %q", c.method, authNone)
	}
	c.id, c.described = id, true
	return c, nil
}

// freshness is how long a document may be used (RFC 9111, as far as it matters here).
func freshness(h http.Header) time.Duration {
	fresh := time.Hour
	for word := range strings.SplitSeq(h.Get("Cache-Control"), ",") {
		word = strings.TrimSpace(word)
		if word == "no-store" || word == "no-cache" {
			return minFresh
		}
		if age, ok := strings.CutPrefix(word, "max-age="); ok {
			if n, err := strconv.ParseUint(age, 10, 31); err == nil {
				fresh = time.Duration(n) * time.Second
			}
		}
	}
	return min(max(fresh, minFresh), maxFresh)
}

// privateError says that a name stands for an address that strangers must not make
// the board speak to.
type privateError struct{ host string }

func (e *privateError) Error() string {
	return "the client's description is at " + e.host + ", which is no public address; the board does not ask there"
}

// careful connects to public addresses only, whatever a name resolves to, by no
// proxy, and keeps no connection.
var careful = &http.Transport{
	DialContext: (&net.Dialer{
		Timeout: fetchTime,
		Control: func(_, address string, _ syscall.RawConn) error {
			addr, err := netip.ParseAddrPort(address)
			if err != nil || !isPublic(addr.Addr()) || addr.Port() != 443 {
				return &privateError{address}
			}
			return nil
		},
	}).DialContext,
	TLSHandshakeTimeout:    fetchTime,
	ResponseHeaderTimeout:  fetchTime,
	MaxResponseHeaderBytes: 16 << 10,
	DisableKeepAlives:      true,
	ForceAttemptHTTP2:      false,
}

// Addresses that netip counts as global unicast and that lead inside all the same, or
// nowhere (the registries of RFC 6890), or carry an IPv4 address of which the same holds.
var special = func() (list []netip.Prefix) {
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

func isPublic(addr netip.Addr) bool {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Zone() != "" {
		return false
	}
	for _, p := range special {
		if p.Contains(addr) {
			return false
		}
	}
	return true
}

// hostOf is the host of a URL that was parsed before.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
