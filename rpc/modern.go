package rpc

import (
	"boardhand/rpc/wire"
)

// MCP 2026-07-28: stateless. Every request says its revision and its client's
// capabilities in params._meta, and every result says who answered.
var modernShape = shape{
	version: "2026-07-28",
	methods: func(name []byte) method {
		if string(name) == "server/discover" {
			return func(c *Conn, r *request) { c.rendered(r, c.srv.modern.identity) }
		}
		return sharedMethods(name)
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
	case m.version == 0:
		return badParams("params._meta lacks " + metaVersion + `; it must be "` + c.srv.modern.version + `"`)
	case c.tree.Kind(m.version) != wire.String:
		return badParams("params._meta." + metaVersion + " must be a string, not " + c.kind(m.version))
	}
	if v := c.tree.Text(m.version); string(v) != c.srv.modern.version {
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
	case m.capabilities == 0:
		return badParams("params._meta lacks " + metaCapabilities + "; an empty object says that the client has none")
	case c.tree.Kind(m.capabilities) != wire.Object:
		return badParams("params._meta." + metaCapabilities + " must be an object, not " + c.kind(m.capabilities))
	}
	if m.client != 0 {
		var name, version []byte
		if c.tree.Kind(m.client) != wire.Object {
			return badParams("params._meta." + metaClient + " must be an object, not " + c.kind(m.client))
		}
		if p := c.members(m.client, "params._meta."+metaClient, clientMembers, &name, &version); p != nil {
			return p
		}
		if name == nil || version == nil {
			return badParams("params._meta." + metaClient + " needs name and version")
		}
	}
	if m.level != 0 {
		if c.tree.Kind(m.level) != wire.String {
			return badParams("params._meta." + metaLevel + " must be a string, not " + c.kind(m.level))
		}
		if _, ok := parseLevel(c.tree.Text(m.level)); !ok {
			return badLevel(c.tree.Text(m.level))
		}
	}
	if m.token != 0 {
		if raw := c.tree.Raw(m.token); !validToken(raw) {
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
