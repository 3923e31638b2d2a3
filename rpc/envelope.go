package rpc

import (
	"boardhand/frame"
	"boardhand/rpc/wire"
)

// request is one JSON-RPC 2.0 request or notification, checked against section
// 4 of that specification. It is valid while its message is dispatched.
type request struct {
	id     []byte     // as it came, byte for byte; nil: a notification
	method []byte     // unescaped
	params wire.Value // 0: none
	given  given      // members of params that mean something
	null   bool       // params was null, which only the Content-Length MCP 1.0 allows
	meta   meta
	mode   frame.Mode // how it came, and how the answer goes
	batch  *batch     // the batch it came in, or nil
}

// given are the members of params that any method looks at, found in one pass; 0:
// not given.
type given struct {
	meta, name, id, uri, cursor, level, arguments, ref, argument, state, responses wire.Value
}

// meta is what a request says of itself in params._meta.
type meta struct {
	version      wire.Value // io.modelcontextprotocol/protocolVersion
	capabilities wire.Value // io.modelcontextprotocol/clientCapabilities
	client       wire.Value // io.modelcontextprotocol/clientInfo
	level        wire.Value // io.modelcontextprotocol/logLevel
	token        wire.Value // progressToken
}

// modern says that a request carries what only the stateless revisions have.
func (m *meta) modern() bool { return m.version != 0 || m.capabilities != 0 }

// problem is why a request cannot be served: an error object of JSON-RPC.
type problem struct {
	code    int
	message string
	data    []byte // JSON, or nil
}

func (p *problem) Error() string { return p.message }

func badRequest(message string) *problem {
	return &problem{code: wire.CodeInvalidRequest, message: message}
}
func badParams(message string) *problem {
	return &problem{code: wire.CodeInvalidParams, message: message}
}

// errResponse marks a message that answers a request of ours: nothing to do.
var errResponse = &problem{}

// read fills r from one message, v. Keys are exact: "Method" is a key that JSON-RPC
// does not have and is passed over. A key that decides anything may stand once.
func (c *Conn) read(r *request, v wire.Value) *problem {
	t := &c.tree
	if t.Kind(v) != wire.Object {
		return badRequest("a message must be a JSON object, not " + c.kind(v))
	}
	var version, id, method, params wire.Value
	twice := ""
	answer := false
	for m, end := t.Children(v); m < end; m = t.Next(m) {
		var dst *wire.Value
		key := t.Key(m)
		switch string(key) {
		case "jsonrpc":
			dst = &version
		case "id":
			dst = &id
		case "method":
			dst = &method
		case "params":
			dst = &params
		case "result", "error":
			answer = true
			continue
		default:
			continue
		}
		if *dst != 0 {
			twice = string(key)
		}
		*dst = m
	}
	if id != 0 && twice != "id" {
		raw := t.Raw(id)
		if !validID(raw) {
			return badRequest("id must be a string or a whole number, not " + brief(raw))
		}
		r.id = raw
	}
	switch {
	case twice != "":
		return badRequest(`key "` + twice + `" stands twice in the message`)
	case string(t.Text(version)) != "2.0":
		return badRequest(`"jsonrpc" must be "2.0"`)
	case method == 0 && answer:
		return errResponse
	case method == 0:
		return badRequest(`"method" is missing`)
	case t.Kind(method) != wire.String:
		return badRequest(`"method" must be a string, not ` + c.kind(method))
	}
	r.method = t.Text(method)
	switch t.Kind(params) {
	case wire.None:
		return nil
	case wire.Object:
		r.params = params
		return c.readParams(r)
	case wire.Null:
		r.null = true
		return nil
	case wire.Array:
		return badParams(`"params" must be an object; this protocol has no positional parameters`)
	}
	return badRequest(`"params" must be an object, not ` + c.kind(params))
}

// readParams finds the members of params that any method looks at, and those of
// params._meta that mean something to a server.
func (c *Conn) readParams(r *request) *problem {
	t, g, meta := &c.tree, &r.given, &r.meta
	twice := ""
	for m, end := t.Children(r.params); m < end; m = t.Next(m) {
		var dst *wire.Value
		key := t.Key(m)
		switch string(key) {
		case "_meta":
			dst = &g.meta
		case "name":
			dst = &g.name
		case "arguments":
			dst = &g.arguments
		case "uri":
			dst = &g.uri
		case "id":
			dst = &g.id
		case "cursor":
			dst = &g.cursor
		case "level":
			dst = &g.level
		case "ref":
			dst = &g.ref
		case "argument":
			dst = &g.argument
		case "requestState":
			dst = &g.state
		case "inputResponses":
			dst = &g.responses
		default:
			continue
		}
		if *dst != 0 {
			twice = string(key)
		}
		*dst = m
	}
	if twice != "" {
		return badParams(`key "` + twice + `" stands twice in params`)
	}
	if g.meta != 0 && t.Kind(g.meta) != wire.Object {
		return badParams(`params._meta must be an object, not ` + c.kind(g.meta))
	}
	for m, end := t.Children(g.meta); m < end; m = t.Next(m) {
		var dst *wire.Value
		key := t.Key(m)
		switch string(key) {
		case metaVersion:
			dst = &meta.version
		case metaCapabilities:
			dst = &meta.capabilities
		case metaClient:
			dst = &meta.client
		case metaLevel:
			dst = &meta.level
		case "progressToken":
			dst = &meta.token
		default:
			continue
		}
		if *dst != 0 {
			twice = string(key)
		}
		*dst = m
	}
	if twice != "" {
		return badParams(`key "` + twice + `" stands twice in params._meta`)
	}
	return nil
}

// The reserved keys of params._meta (2026-07-28, basic, "_meta").
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaLevel        = "io.modelcontextprotocol/logLevel"
)

// validID says whether raw, a JSON value, may be a request's id: a string, or an
// integer of any size without fraction or exponent. MCP forbids null, and a
// fraction cannot be compared safely.
func validID(raw []byte) bool {
	if len(raw) == 0 {
		return false
	}
	if raw[0] == '"' {
		return len(raw) <= maxID
	}
	for i, b := range raw {
		if (b < '0' || b > '9') && (b != '-' || i != 0) {
			return false
		}
	}
	return len(raw) <= maxID
}

// maxID is the longest id that is taken, in bytes: it is kept while its call runs.
const maxID = 1 << 10

// validToken says whether a progress token is a string or an integer.
func validToken(raw []byte) bool { return validID(raw) }

// brief shows a JSON value in a message, cut short.
func brief(raw []byte) string {
	if len(raw) > 40 {
		return string(raw[:40]) + "…"
	}
	return string(raw)
}

// kind names a JSON value's kind for a message.
func (c *Conn) kind(v wire.Value) string {
	switch c.tree.Kind(v) {
	case wire.Object:
		return "an object"
	case wire.Array:
		return "an array"
	case wire.String:
		return "a string"
	case wire.Number:
		return "a number"
	case wire.Null:
		return "null"
	}
	return "a boolean"
}

// members reads an object's string members into dst, by name. A name that is missing leaves its dst nil. A
// known member that is no string, or that stands twice, is a problem.
func (c *Conn) members(o wire.Value, where string, names []string, dst ...*[]byte) *problem {
	t := &c.tree
	for m, end := t.Children(o); m < end; m = t.Next(m) {
		key := t.Key(m)
		for i, name := range names {
			switch {
			case string(key) != name:
			case *dst[i] != nil:
				return badParams(`key "` + name + `" stands twice in ` + where)
			case t.Kind(m) != wire.String:
				return badParams(where + "." + name + " must be a string, not " + c.kind(m))
			default:
				*dst[i] = t.Text(m)
			}
		}
	}
	return nil
}

// text reads a string member of params; nil where it was not given.
func (c *Conn) text(v wire.Value, name string) ([]byte, *problem) {
	if v != 0 && c.tree.Kind(v) != wire.String {
		return nil, badParams("params." + name + " must be a string, not " + c.kind(v))
	}
	return c.tree.Text(v), nil
}

// object reads an object member of params; 0 where it was not given, or was given
// as null, which is how a nil map of Go comes.
func (c *Conn) object(v wire.Value, name string) (wire.Value, *problem) {
	switch c.tree.Kind(v) {
	case wire.None, wire.Null:
		return 0, nil
	case wire.Object:
		return v, nil
	}
	return 0, badParams("params." + name + " must be an object, not " + c.kind(v))
}
