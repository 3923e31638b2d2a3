package rpc

import (
	"strings"

	"boardhand/rpc/wire"
)

// The revisions of MCP that begin with initialize, oldest first. One table of
// methods serves them all.
var legacyShapes = [...]shape{
	{version: "2024-11-05", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true},
	{version: "2025-03-26", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true,
		annotations: true, completions: true, progressText: true, batches: true},
	{version: "2025-06-18", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true,
		annotations: true, completions: true, progressText: true, titles: true, structured: true, elicits: true},
	{version: "2025-11-25", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true,
		annotations: true, completions: true, progressText: true, titles: true, structured: true, elicits: true},
}

func legacyMethods(name []byte) method {
	switch string(name) {
	case "ping":
		return (*Conn).empty
	case "logging/setLevel":
		return setLevel
	}
	return sharedMethods(name)
}

// initialize opens a session: of MCP where params names a protocolVersion, of
// the Content-Length MCP 1.0 where it has clientCapabilities. A second one
// begins anew, as a client does that found the line already open.
func initialize(c *Conn, r *request) {
	if r.batch != nil {
		c.fail(r, badRequest("initialize must not be part of a batch"))
		return
	}
	t := &c.tree
	version, capabilities, client := t.Get(r.params, "protocolVersion"), t.Get(r.params, "capabilities"), t.Get(r.params, "clientInfo")
	if version == 0 && t.Get(r.params, "clientCapabilities") != 0 {
		initializeV1(c, r)
		return
	}
	switch {
	case version == 0:
		c.fail(r, badParams("params.protocolVersion is missing; it is one of "+strings.Join(Versions()[1:], ", ")+
			"; the Content-Length MCP 1.0 sends clientCapabilities in its place"))
		return
	case t.Kind(version) != wire.String:
		c.fail(r, badParams("params.protocolVersion must be a string, not "+c.kind(version)))
		return
	case capabilities != 0 && t.Kind(capabilities) != wire.Object:
		c.fail(r, badParams("params.capabilities must be an object, not "+c.kind(capabilities)))
		return
	case client != 0 && t.Kind(client) != wire.Object:
		c.fail(r, badParams("params.clientInfo must be an object, not "+c.kind(client)))
		return
	}
	// A revision that is not known, or that has no initialize, gets the newest that has.
	d := c.srv.legacy[len(c.srv.legacy)-1]
	for i := range c.srv.legacy {
		if string(t.Text(version)) == c.srv.legacy[i].version {
			d = c.srv.legacy[i]
		}
	}
	c.session, c.level = c.srv.ready(d), LogOff
	c.client, c.asks = c.clientName(client), d.elicits && c.canAsk(t.Get(capabilities, "elicitation"))
	c.rendered(r, d.identity)
}

// setLevel serves logging/setLevel.
func setLevel(c *Conn, r *request) {
	name, p := c.text(r.given.level, "level")
	if p == nil && name == nil {
		p = badParams("params.level is missing")
	}
	if p != nil {
		c.fail(r, p)
		return
	}
	level, ok := parseLevel(name)
	if !ok {
		c.fail(r, badLevel(name))
		return
	}
	c.level = level
	c.empty(r)
}
