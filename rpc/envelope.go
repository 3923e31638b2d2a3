package rpc

import (
	"boardhand/frame"
	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// request is one JSON-RPC 2.0 request or notification, checked against section
// 4 of that specification. It is valid while its message is dispatched.
type request struct {
	id     []byte           // as it came, byte for byte; nil: a notification
	method []byte           // unescaped
	params *fastjson.Object // nil: none
	given  given            // members of params that mean something
	null   bool             // params was null, which only the Content-Length MCP 1.0 allows
	meta   meta
	mode   frame.Mode // how it came, and how the answer goes
	batch  *batch     // the batch it came in, or nil
}

// given are the members of params that any method looks at, found in one pass.
type given struct {
	meta, name, id, uri, cursor, level, arguments, ref, argument *fastjson.Value
}

// meta is what a request says of itself in params._meta.
type meta struct {
	version      *fastjson.Value // io.modelcontextprotocol/protocolVersion
	capabilities *fastjson.Value // io.modelcontextprotocol/clientCapabilities
	client       *fastjson.Value // io.modelcontextprotocol/clientInfo
	level        *fastjson.Value // io.modelcontextprotocol/logLevel
	token        *fastjson.Value // progressToken
}

// modern says that a request carries what only the stateless revisions have.
func (m *meta) modern() bool { return m.version != nil || m.capabilities != nil }

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

// read fills r from one message. Keys are exact: "Method" is a key that JSON-RPC
// does not have and is passed over. A key that decides anything may stand once.
func (r *request) read(v *fastjson.Value, scratch []byte) (*problem, []byte) {
	o, err := v.Object()
	if err != nil {
		return badRequest("a message must be a JSON object, not " + kind(v)), scratch
	}
	var version, id, method, params *fastjson.Value
	twice := ""
	answer := false
	once := func(dst **fastjson.Value, name string, v *fastjson.Value) {
		if *dst != nil {
			twice = name
		}
		*dst = v
	}
	o.Visit(func(key []byte, v *fastjson.Value) {
		switch string(key) {
		case "jsonrpc":
			once(&version, "jsonrpc", v)
		case "id":
			once(&id, "id", v)
		case "method":
			once(&method, "method", v)
		case "params":
			once(&params, "params", v)
		case "result", "error":
			answer = true
		}
	})
	if id != nil && twice != "id" {
		// The bytes of an id are taken before anything looks at its value, which would unescape it.
		start := len(scratch)
		scratch = id.MarshalTo(scratch)
		raw := scratch[start:]
		if !validID(raw) {
			return badRequest("id must be a string or a whole number, not " + brief(raw)), scratch
		}
		r.id = raw
	}
	if twice != "" {
		return badRequest(`key "` + twice + `" stands twice in the message`), scratch
	}
	if version == nil || version.Type() != fastjson.TypeString || string(version.GetStringBytes()) != "2.0" {
		return badRequest(`"jsonrpc" must be "2.0"`), scratch
	}
	if method == nil {
		if answer {
			return errResponse, scratch
		}
		return badRequest(`"method" is missing`), scratch
	}
	if method.Type() != fastjson.TypeString {
		return badRequest(`"method" must be a string, not ` + kind(method)), scratch
	}
	r.method = method.GetStringBytes()
	if params == nil {
		return nil, scratch
	}
	switch params.Type() {
	case fastjson.TypeObject:
		r.params, _ = params.Object()
		return r.readParams(), scratch
	case fastjson.TypeNull:
		r.null = true
		return nil, scratch
	case fastjson.TypeArray:
		return badParams(`"params" must be an object; this protocol has no positional parameters`), scratch
	}
	return badRequest(`"params" must be an object, not ` + kind(params)), scratch
}

// readParams finds the members of params that any method looks at, and those of
// params._meta that mean something to a server.
func (r *request) readParams() *problem {
	g := &r.given
	twice := ""
	r.params.Visit(func(key []byte, v *fastjson.Value) {
		var dst **fastjson.Value
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
		default:
			return
		}
		if *dst != nil {
			twice = string(key)
		}
		*dst = v
	})
	if twice != "" {
		return badParams(`key "` + twice + `" stands twice in params`)
	}
	if g.meta == nil {
		return nil
	}
	o, err := g.meta.Object()
	if err != nil {
		return badParams(`params._meta must be an object, not ` + kind(g.meta))
	}
	m := &r.meta
	o.Visit(func(key []byte, v *fastjson.Value) {
		var dst **fastjson.Value
		switch string(key) {
		case metaVersion:
			dst = &m.version
		case metaCapabilities:
			dst = &m.capabilities
		case metaClient:
			dst = &m.client
		case metaLevel:
			dst = &m.level
		case "progressToken":
			dst = &m.token
		default:
			return
		}
		if *dst != nil {
			twice = string(key)
		}
		*dst = v
	})
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

// kind names a JSON value's type for a message.
func kind(v *fastjson.Value) string {
	switch v.Type() {
	case fastjson.TypeObject:
		return "an object"
	case fastjson.TypeArray:
		return "an array"
	case fastjson.TypeString:
		return "a string"
	case fastjson.TypeNumber:
		return "a number"
	case fastjson.TypeNull:
		return "null"
	}
	return "a boolean"
}

// members reads an object's string members into dst, by name. A name that is missing leaves its dst nil. A
// known member that is no string, or that stands twice, is a problem.
func members(o *fastjson.Object, where string, names []string, dst ...*[]byte) *problem {
	var p *problem
	if o == nil {
		return nil
	}
	o.Visit(func(key []byte, v *fastjson.Value) {
		for i, name := range names {
			if string(key) != name || p != nil {
				continue
			}
			switch {
			case *dst[i] != nil:
				p = badParams(`key "` + name + `" stands twice in ` + where)
			case v.Type() != fastjson.TypeString:
				p = badParams(where + "." + name + " must be a string, not " + kind(v))
			default:
				*dst[i] = nonNil(v.GetStringBytes())
			}
		}
	})
	return p
}

// nonNil tells an empty string from none.
func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// text reads a string member of params; nil where it was not given.
func text(v *fastjson.Value, name string) ([]byte, *problem) {
	if v == nil {
		return nil, nil
	}
	if v.Type() != fastjson.TypeString {
		return nil, badParams("params." + name + " must be a string, not " + kind(v))
	}
	return nonNil(v.GetStringBytes()), nil
}

// object reads an object member of params; nil where it was not given, or was given
// as null, which is how a nil map of Go comes.
func object(v *fastjson.Value, name string) (*fastjson.Object, *problem) {
	if v == nil || v.Type() == fastjson.TypeNull {
		return nil, nil
	}
	o, err := v.Object()
	if err != nil {
		return nil, badParams("params." + name + " must be an object, not " + kind(v))
	}
	return o, nil
}
