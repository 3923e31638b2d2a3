package rpc

import (
	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// MCP 2026-07-28: stateless. Every request says its revision and its client's
// capabilities in params._meta, and every result says who answered.
var modernShape = shape{
	version: "2026-07-28",
	methods: map[string]method{
		"server/discover":          func(c *Conn, r *request) { c.rendered(r, c.srv.modern.identity) },
		"tools/list":               list(listTools),
		"tools/call":               callTool,
		"resources/list":           list(listResources),
		"resources/templates/list": list(listTemplates),
		"resources/read":           readResource,
		"prompts/list":             list(listPrompts),
		"prompts/get":              getPrompt,
		"completion/complete":      complete,
	},
	complete:     true,
	titles:       true,
	annotations:  true,
	structured:   true,
	completions:  true,
	progressText: true,
	notifies:     true,
	notFound:     wire.CodeInvalidParams,
}

// checkMeta checks params._meta of a stateless request (basic, "Per-request
// protocol fields"; versioning, "Protocol Version Negotiation").
func (c *Conn) checkMeta(r *request) *problem {
	m := &r.meta
	switch {
	case m.version == nil:
		return badParams("params._meta lacks " + metaVersion + `; it must be "` + c.srv.modern.version + `"`)
	case m.version.Type() != fastjson.TypeString:
		return badParams("params._meta." + metaVersion + " must be a string, not " + kind(m.version))
	}
	if v := m.version.GetStringBytes(); string(v) != c.srv.modern.version {
		data := append([]byte(`{"supported":[`), versionList...)
		data = append(wire.AppendBytes(append(data, `],"requested":`...), v), '}')
		p := &problem{code: wire.CodeUnsupportedVersion, data: data}
		p.message = "protocol version " + quote(v) + " is not supported in params._meta"
		for i := range c.srv.legacy {
			if c.srv.legacy[i].version == string(v) {
				p.message = "protocol version " + quote(v) + " has no params._meta of its own; send initialize first"
			}
		}
		return p
	}
	switch {
	case m.capabilities == nil:
		return badParams("params._meta lacks " + metaCapabilities + "; an empty object says that the client has none")
	case m.capabilities.Type() != fastjson.TypeObject:
		return badParams("params._meta." + metaCapabilities + " must be an object, not " + kind(m.capabilities))
	}
	if m.client != nil {
		var name, version []byte
		o, err := m.client.Object()
		if err != nil {
			return badParams("params._meta." + metaClient + " must be an object, not " + kind(m.client))
		}
		if p := members(o, "params._meta."+metaClient, clientMembers, &name, &version); p != nil {
			return p
		}
		if name == nil || version == nil {
			return badParams("params._meta." + metaClient + " needs name and version")
		}
	}
	if m.level != nil {
		if m.level.Type() != fastjson.TypeString {
			return badParams("params._meta." + metaLevel + " must be a string, not " + kind(m.level))
		}
		if _, ok := parseLevel(m.level.GetStringBytes()); !ok {
			return badLevel(m.level.GetStringBytes())
		}
	}
	if m.token != nil {
		start := len(c.scratch)
		c.scratch = m.token.MarshalTo(c.scratch)
		raw := c.scratch[start:]
		if !validToken(raw) {
			return badParams("params._meta.progressToken must be a string or a whole number, not " + brief(raw))
		}
	}
	return nil
}

var clientMembers = []string{"name", "version"}

func badLevel(name []byte) *problem {
	s := "log level " + quote(name) + " does not exist; allowed:"
	for _, n := range levelNames {
		s += " " + n
	}
	return badParams(s)
}
