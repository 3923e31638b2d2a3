package httpfront

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// The headers of MCP, as net/http keys them.
const (
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerSession = "Mcp-Session-Id"
	paramPrefix   = "Mcp-Param-"
)

// modern is the revision that repeats a body in headers.
const modern = "2026-07-28"

var versions = rpc.Versions()

// mismatch says what of a stateless request's headers does not say what its body
// says, or "" (2026-07-28, basic/transports/streamable-http, "Server Validation").
func (s *Server) mismatch(h http.Header, m *message) string {
	if body := m.version(); body != nil {
		if why := differs(h, headerVersion, string(body), false); why != "" {
			return why
		}
	} else if len(h[headerVersion]) != 1 {
		return missing(headerVersion)
	}
	if m.kind != call {
		return "" // "header requirements for notification POSTs are not defined by this revision"
	}
	if why := differs(h, headerMethod, string(m.method), false); why != "" {
		return why
	}
	name := ""
	switch string(m.method) {
	case "tools/call", "prompts/get":
		name = "name"
	case "resources/read":
		name = "uri"
	default:
		return ""
	}
	v := m.tree.Get(m.params, name)
	if m.tree.Kind(v) != wire.String {
		return "" // the Conn says so
	}
	body := string(m.tree.Text(v))
	if why := differs(h, headerName, body, true); why != "" {
		return why
	}
	if string(m.method) == "tools/call" {
		if t := s.tools[body]; t != nil {
			return paramMismatch(h, m, t)
		}
	}
	return ""
}

// paramMismatch is mismatch for the arguments that a tool wants in headers.
func paramMismatch(h http.Header, m *message, t *rpc.Tool) string {
	arguments := m.tree.Get(m.params, "arguments")
	for i := range t.Params {
		p := &t.Params[i]
		if p.Header == "" {
			continue
		}
		key := http.CanonicalHeaderKey(paramPrefix + p.Header)
		v := m.tree.Get(arguments, p.Name)
		var body string
		switch m.tree.Kind(v) {
		case wire.None, wire.Null:
			if len(h[key]) > 0 {
				return key + " is given, and argument " + strconv.Quote(p.Name) + " is not"
			}
			continue
		case wire.String:
			body = string(m.tree.Text(v))
		default:
			body = string(m.tree.Raw(v))
		}
		header, why := value(h, key, true)
		if why != "" {
			return why
		}
		if header != body && !sameNumber(m.tree.Kind(v), header, body) {
			return key + " is " + strconv.Quote(shortened(header)) + ", where the body has " + strconv.Quote(shortened(body))
		}
	}
	return ""
}

func sameNumber(kind wire.Kind, a, b string) bool {
	if kind != wire.Number {
		return false
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && x == y
}

// differs says how a header does not say what the body does.
func differs(h http.Header, key, body string, coded bool) string {
	header, why := value(h, key, coded)
	if why == "" && header != body {
		why = key + " is " + strconv.Quote(shortened(header)) + ", where the body has " + strconv.Quote(shortened(body))
	}
	return why
}

func missing(key string) string { return "the header " + key + " is missing, or is there twice" }

// The marks around a value in base64.
const (
	codedPrefix = "=?base64?"
	codedSuffix = "?="
)

// value is a header's, with its coding undone where it may have one.
func value(h http.Header, key string, coded bool) (v, why string) {
	values := h[key]
	if len(values) != 1 {
		return "", missing(key)
	}
	v = values[0]
	for i := range len(v) {
		if v[i] < ' ' && v[i] != '\t' || v[i] > '~' {
			return "", "the header " + key + " holds a byte that is not visible ASCII; send it in base64, as " + codedPrefix + "..." + codedSuffix
		}
	}
	text, isCoded := strings.CutPrefix(v, codedPrefix)
	if !coded || !isCoded || !strings.HasSuffix(text, codedSuffix) {
		return v, ""
	}
	b, err := base64.StdEncoding.Strict().DecodeString(strings.TrimSuffix(text, codedSuffix))
	if err != nil {
		return "", "the header " + key + " is not base64: " + err.Error()
	}
	return string(b), ""
}

func shortened(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// unsupported refuses a revision that is none of this server's.
func unsupported(w http.ResponseWriter, id []byte, version string) {
	data := append([]byte(nil), `{"supported":[`...)
	for _, v := range versions {
		data = wire.AppendString(wire.AppendSep(data), v)
	}
	data = append(wire.AppendString(append(data, `],"requested":`...), version), '}')
	refuseWith(w, http.StatusBadRequest, id, wire.CodeUnsupportedVersion,
		headerVersion+" "+strconv.Quote(shortened(version))+" is not supported", data)
}

// isSupported says whether a revision is one of this server's; of 2024-11-05 there is
// no such header.
func isSupported(version string) bool { return slices.Contains(versions, version) }

// accepts says whether a client takes a type of content. One that names none takes JSON.
func accepts(r *http.Request, mediaType string) bool {
	for _, header := range r.Header["Accept"] {
		for part := range strings.SplitSeq(header, ",") {
			name, _, _ := strings.Cut(part, ";")
			name = strings.TrimSpace(name)
			kind, _, _ := strings.Cut(mediaType, "/")
			if strings.EqualFold(name, mediaType) || name == "*/*" && mediaType == "application/json" || strings.EqualFold(name, kind+"/*") {
				return true
			}
		}
	}
	return false
}

// isJSON says whether a request says that its body is JSON.
func isJSON(r *http.Request) bool {
	values := r.Header["Content-Type"]
	if len(values) != 1 {
		return false
	}
	name, _, _ := strings.Cut(values[0], ";")
	return strings.EqualFold(strings.TrimSpace(name), "application/json")
}
