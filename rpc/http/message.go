package httpfront

import (
	"bytes"
	"encoding/json"

	"boardhand/rpc/wire"
)

// kind is what a body is, as JSON-RPC sees it.
type kind uint8

const (
	broken       kind = iota // no JSON, or nothing that a message can be: the Conn says why
	call                     // a request
	notification             // nothing answers it
	response                 // to a request of the server
	batch                    // an array of them
)

// message is a body taken apart, as far as HTTP needs it. It is valid as long as the
// body is.
type message struct {
	tree wire.Tree

	kind   kind
	id     []byte // as it came
	method []byte
	params wire.Value
	modern wire.Value // params._meta's protocol version, or its client's capabilities
	asks   bool       // of a batch: one of them is a request
}

// The keys of params._meta that only MCP 2026-07-28 has.
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// read takes a body apart. What is wrong with it the Conn will say.
func (m *message) read(body []byte, limits wire.Limits) error {
	if m.tree.Unescape == nil {
		m.tree.Unescape = unescape
	}
	m.kind, m.id, m.method, m.params, m.modern, m.asks = broken, nil, nil, 0, 0, false
	if err := m.tree.Scan(body, limits); err != nil {
		return err
	}
	t := &m.tree
	root := t.Root()
	switch t.Kind(root) {
	case wire.Array:
		m.kind = batch
		for item, end := t.Children(root); item < end; item = t.Next(item) {
			m.asks = m.asks || t.Kind(item) != wire.Object || t.Get(item, "id") != 0 && t.Get(item, "method") != 0
		}
		m.asks = m.asks || t.Len(root) == 0
		return nil
	case wire.Object:
	default:
		return nil
	}
	id, method := t.Get(root, "id"), t.Get(root, "method")
	if id != 0 {
		m.id = t.Raw(id)
	}
	m.method = t.Text(method)
	m.params = t.Get(root, "params")
	meta := t.Get(m.params, "_meta")
	if m.modern = t.Get(meta, metaVersion); m.modern == 0 {
		m.modern = t.Get(meta, metaCapabilities)
	}
	switch {
	case m.method != nil && id != 0:
		m.kind = call
	case m.method != nil:
		m.kind = notification
	case method == 0 && id != 0 && (t.Get(root, "result") != 0 || t.Get(root, "error") != 0):
		m.kind = response
	}
	return nil
}

// version is params._meta's protocol version; nil where it has none.
func (m *message) version() []byte {
	return m.tree.Text(m.tree.Get(m.tree.Get(m.params, "_meta"), metaVersion))
}

// v1 says that a message is one that only the Content-Length MCP 1.0 has.
func (m *message) v1() bool {
	switch {
	case bytes.HasPrefix(m.method, []byte("mcp/")):
		return true
	case string(m.method) == "initialize":
		return m.tree.Get(m.params, "protocolVersion") == 0 && m.tree.Get(m.params, "clientCapabilities") != 0
	}
	return false
}

// unescape undoes the escapes of a string that has passed the scan.
func unescape(dst, quoted []byte) []byte {
	var s string
	if err := json.Unmarshal(quoted, &s); err != nil {
		return dst
	}
	return append(dst, s...)
}

// Every message that a Conn writes begins so.
const head = `{"jsonrpc":"2.0",`

// answers says whether a line that a Conn wrote answers a request, which ends its
// response, and with which error, if any. What else comes is a notification, or a
// request of the server.
func (m *message) answers(line []byte) (code int, yes bool) {
	rest, ok := bytes.CutPrefix(line, []byte(head))
	if !ok {
		return m.answersBatch(line)
	}
	if bytes.HasPrefix(rest, []byte(`"method":`)) {
		return 0, false
	}
	if after, ok := bytes.CutPrefix(rest, []byte(`"id":`)); ok {
		end := idEnd(after)
		rest = bytes.TrimPrefix(after[end:], []byte(","))
		if bytes.HasPrefix(rest, []byte(`"method":`)) {
			return 0, false
		}
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(`"error":{"code":`)); ok {
		return leadingInt(rest), true
	}
	return 0, true
}

// answersBatch is answers for what does not begin as usual.
func (m *message) answersBatch(line []byte) (code int, yes bool) {
	t := wire.Tree{Unescape: unescape}
	if t.Scan(line, wire.Limits{Values: 1 << 30}) != nil {
		return wire.CodeInternal, true
	}
	root := t.Root()
	if t.Get(root, "method") != 0 {
		return 0, false
	}
	if e := t.Get(t.Get(root, "error"), "code"); e != 0 {
		return leadingInt(t.Raw(e)), true
	}
	return 0, true
}

// idEnd is where the id ends that text begins with: a string or a number.
func idEnd(text []byte) int {
	if len(text) > 0 && text[0] == '"' {
		for i := 1; i < len(text); i++ {
			switch text[i] {
			case '\\':
				i++
			case '"':
				return i + 1
			}
		}
		return len(text)
	}
	for i, c := range text {
		if c == ',' {
			return i
		}
	}
	return len(text)
}

func leadingInt(text []byte) int {
	n, sign := 0, 1
	for i, c := range text {
		switch {
		case i == 0 && c == '-':
			sign = -1
		case c >= '0' && c <= '9' && n < 1<<28:
			n = n*10 + int(c-'0')
		default:
			return sign * n
		}
	}
	return sign * n
}
