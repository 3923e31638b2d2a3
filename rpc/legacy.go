package rpc

import (
	"strings"

	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// The revisions of MCP that begin with initialize, oldest first. One table of
// methods serves them all.
var legacyShapes = [...]shape{
	{version: "2024-11-05", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true},
	{version: "2025-03-26", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true,
		annotations: true, completions: true, progressText: true, batches: true},
	{version: "2025-06-18", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true,
		annotations: true, completions: true, progressText: true, titles: true, structured: true},
	{version: "2025-11-25", methods: legacyMethods, notFound: wire.CodeResourceNotFound, notifies: true,
		annotations: true, completions: true, progressText: true, titles: true, structured: true},
}

var legacyMethods = map[string]method{
	"ping":                     (*Conn).empty,
	"logging/setLevel":         setLevel,
	"tools/list":               list(listTools),
	"tools/call":               callTool,
	"resources/list":           list(listResources),
	"resources/templates/list": list(listTemplates),
	"resources/read":           readResource,
	"prompts/list":             list(listPrompts),
	"prompts/get":              getPrompt,
	"completion/complete":      complete,
}

// initialize opens a session: of MCP where params names a protocolVersion, of
// the Content-Length MCP 1.0 where it has clientCapabilities. A second one
// begins anew, as a client does that found the line already open.
func initialize(c *Conn, r *request) {
	if r.batch != nil {
		c.fail(r, badRequest("initialize must not be part of a batch"))
		return
	}
	var version, capabilities, client *fastjson.Value
	if r.params != nil {
		version, capabilities, client = r.params.Get("protocolVersion"), r.params.Get("capabilities"), r.params.Get("clientInfo")
		if version == nil && r.params.Get("clientCapabilities") != nil {
			initializeV1(c, r)
			return
		}
	}
	switch {
	case version == nil:
		c.fail(r, badParams("params.protocolVersion is missing; it is one of "+strings.Join(Versions()[1:], ", ")+
			"; the Content-Length MCP 1.0 sends clientCapabilities in its place"))
		return
	case version.Type() != fastjson.TypeString:
		c.fail(r, badParams("params.protocolVersion must be a string, not "+kind(version)))
		return
	case capabilities != nil && capabilities.Type() != fastjson.TypeObject:
		c.fail(r, badParams("params.capabilities must be an object, not "+kind(capabilities)))
		return
	case client != nil && client.Type() != fastjson.TypeObject:
		c.fail(r, badParams("params.clientInfo must be an object, not "+kind(client)))
		return
	}
	// A revision that is not known, or that has no initialize, gets the newest that has.
	d := c.srv.legacy[len(c.srv.legacy)-1]
	for i := range c.srv.legacy {
		if string(version.GetStringBytes()) == c.srv.legacy[i].version {
			d = c.srv.legacy[i]
		}
	}
	c.session, c.level = c.srv.ready(d), LogOff
	c.rendered(r, d.identity)
}

// setLevel serves logging/setLevel.
func setLevel(c *Conn, r *request) {
	name, p := text(r.given.level, "level")
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
