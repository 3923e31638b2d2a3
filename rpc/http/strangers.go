package httpfront

import (
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// foreign says why a request may come from another site's page, which has made its
// visitor's browser send it, or "". Such a page gets at a server in the browser's
// network by a name of its own that it lets point there (DNS rebinding), so only a
// name that cannot be its own is taken: an address, localhost, or one of the board's.
// What the Origin header names must be such a name too.
func (s *Server) foreign(r *http.Request) string {
	if !s.ours(r.Host) {
		return "the Host header does not name this board: use its address, localhost or its host name; other names are to be given by --url"
	}
	origins := r.Header["Origin"]
	if len(origins) == 0 {
		return ""
	}
	u, err := url.Parse(origins[0])
	if len(origins) > 1 || err != nil || u.Scheme != "http" && u.Scheme != "https" || !s.ours(u.Host) {
		return "the Origin header names another site; a page of one may not use this board"
	}
	if local(u.Host) != local(r.Host) && !s.hosts[hostname(u.Host)] { // a proxy may send its own Host
		return "the Origin header names another machine than the Host header"
	}
	return ""
}

// ours says whether a host, with or without a port, is this machine by a name that no
// stranger can own.
func (s *Server) ours(host string) bool {
	name := hostname(host)
	if s.hosts[name] || name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsValid()
}

// local says whether a host is this machine to itself.
func local(host string) bool {
	name := hostname(host)
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// hostname is a host without its port, its brackets and its final dot, in lower case.
func hostname(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// hostNames are those of this machine, its name in the local network, and more.
func hostNames(more []string) map[string]bool {
	names := make(map[string]bool)
	if name, err := os.Hostname(); err == nil && name != "" {
		name = strings.ToLower(name)
		first, _, _ := strings.Cut(name, ".")
		names[name], names[first], names[first+".local"] = true, true, true
	}
	for _, name := range more {
		names[hostname(name)] = true
	}
	return names
}

// newErrorLog passes on what net/http has to say: a broken TLS handshake, a fault of a
// handler, with its stack. Nothing of a request's body or headers is in it.
func newErrorLog(tell func(line string)) *log.Logger {
	if tell == nil {
		tell = func(string) {}
	}
	return log.New(lineWriter(tell), "", 0)
}

type lineWriter func(line string)

func (w lineWriter) Write(p []byte) (int, error) {
	w("http: " + strings.TrimPrefix(strings.TrimSpace(string(p)), "http: "))
	return len(p), nil
}
