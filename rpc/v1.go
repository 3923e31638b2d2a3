package rpc

import (
	"errors"

	"boardhand/rpc/wire"
)

// The Content-Length MCP 1.0 ("Tool, Resource and Prompt Protocol Reference"):
// mcp/ methods, lists as plain arrays, entries named by stable mcpId URIs, and
// every failure a JSON-RPC error with its details in data.
var v1Shape = shape{
	version: "1.0",
	methods: func(name []byte) method {
		switch string(name) {
		case "mcp/executeTool":
			return executeTool
		case "mcp/listTools":
			return func(c *Conn, r *request) { c.array(r, c.srv.list(c.srv.v1, listTools)[0], nil) }
		case "mcp/listResources":
			return func(c *Conn, r *request) { items, err := c.v1Resources(); c.array(r, items, err) }
		case "mcp/listPrompts":
			return func(c *Conn, r *request) { items, err := c.v1Prompts(); c.array(r, items, err) }
		}
		return nil
	},
	arrays:   true,
	nullID:   true,
	notFound: wire.CodeInvalidParams,
}

// v1URI opens every mcpId.
const (
	v1Tools     = "mcp://boardhand/tools/"
	v1Resources = "mcp://boardhand/resources/"
	v1Prompts   = "mcp://boardhand/prompts/"
	v1Version   = ":v1"
)

func initializeV1(c *Conn, r *request) {
	if v := c.tree.Get(r.params, "clientCapabilities"); c.tree.Kind(v) != wire.Object {
		c.fail(r, &problem{wire.CodeInvalidParams, "Invalid params",
			wire.AppendString(nil, "clientCapabilities must be an object, not "+c.kind(v))})
		return
	}
	c.session, c.level, c.client, c.asks = c.srv.ready(c.srv.v1), LogOff, "", false
	c.rendered(r, []byte(`"capabilities":{"listToolsProvider":true,"listResourcesProvider":true,`+
		`"listPromptsProvider":true,"executionProvider":{"execute":true}}`))
}

// array answers with a list that is the result itself.
func (c *Conn) array(r *request, items []byte, err error) {
	if err != nil {
		c.fail(r, &problem{wire.CodeInternal, "Internal error", wire.AppendString(nil, err.Error())})
		return
	}
	dst := append(c.begin(r.batch), `{"jsonrpc":"2.0","id":`...)
	dst = append(append(dst, r.id...), `,"result":[`...)
	c.end(r.batch, r.mode, append(append(dst, items...), "]}"...))
}

func appendV1Tools(dst []byte, cat *Catalogue) []byte {
	for i := range cat.Tools {
		t := &cat.Tools[i]
		dst = wire.AppendString(append(wire.AppendSep(dst), `{"mcpId":`...), v1Tools+t.Name+v1Version)
		dst = wire.AppendString(wire.AppendKey(dst, "name"), t.Title)
		dst = wire.AppendString(wire.AppendKey(dst, "description"), t.Description)
		dst = appendInputSchema(wire.AppendKey(dst, "inputSchema"), t.Params)
		dst = append(appendOutputSchema(wire.AppendKey(dst, "outputSchema"), t.Result), '}')
	}
	return dst
}

func (c *Conn) v1Resources() (dst []byte, err error) {
	for i := range c.srv.cat.Resources {
		res := &c.srv.cat.Resources[i]
		call := Call{conn: c, dialect: c.srv.v1, level: LogOff, client: c.client, entry: entry{name: res.URI, run: res.Read}}
		if err := c.runListed(&call); err != nil {
			return dst, err
		}
		dst = wire.AppendString(append(wire.AppendSep(dst), `{"mcpId":`...), v1Resources+res.Name)
		dst = wire.AppendString(wire.AppendKey(dst, "name"), res.Title)
		dst = wire.AppendString(wire.AppendKey(dst, "description"), res.Description)
		dst = wire.AppendString(wire.AppendKey(dst, "mediaType"), res.MIMEType)
		dst = append(wire.AppendBytes(wire.AppendKey(dst, "content"), call.Out), '}')
	}
	return dst, nil
}

// runListed runs a call that a list is made of, if the gate lets it pass.
func (c *Conn) runListed(call *Call) error {
	if c.gate != nil {
		if v := c.gate.Enter(call); v.Action != Pass {
			err := errors.New(v.Why)
			c.gate.Leave(call, Refused, err)
			return err
		}
	}
	err := c.srv.run(call)
	c.leave(call, Answered, err)
	return err
}

func (c *Conn) v1Prompts() (dst []byte, err error) {
	for i := range c.srv.cat.Prompts {
		p := &c.srv.cat.Prompts[i]
		call := Call{conn: c, dialect: c.srv.v1, level: LogOff, client: c.client, args: make([]arg, len(p.Params)), entry: entry{name: p.Name, run: p.Render}}
		if err := c.runListed(&call); err != nil {
			return dst, err
		}
		dst = wire.AppendString(append(wire.AppendSep(dst), `{"mcpId":`...), v1Prompts+p.Name+v1Version)
		dst = wire.AppendString(wire.AppendKey(dst, "name"), p.Title)
		dst = wire.AppendString(wire.AppendKey(dst, "description"), p.Description)
		dst = append(wire.AppendKey(dst, "role"), `"user"`...)
		dst = append(wire.AppendBytes(wire.AppendKey(dst, "content"), call.Out), '}')
	}
	return dst, nil
}

// executeTool serves mcp/executeTool.
func executeTool(c *Conn, r *request) {
	invalid := func(data string) {
		c.fail(r, &problem{wire.CodeInvalidParams, "Invalid params", wire.AppendString(nil, data)})
	}
	id, p := c.text(r.given.id, "id")
	var args wire.Value
	if p == nil && id != nil {
		args, p = c.object(r.given.arguments, "arguments")
	}
	switch {
	case p != nil:
		invalid(p.message)
		return
	case id == nil:
		invalid("Missing required property: 'id', the mcpId of a tool")
		return
	}
	var name []byte
	if n := len(id) - len(v1Version); n > len(v1Tools) && string(id[:len(v1Tools)]) == v1Tools && string(id[n:]) == v1Version {
		name = id[len(v1Tools):n]
	}
	t := c.srv.tools[string(name)]
	if t == nil {
		invalid("No tool has the mcpId " + quote(id) + "; mcp/listTools shows all")
		return
	}
	call := c.start(r, c.srv.v1, t.entry(answerV1))
	if err := c.check(call, t.Params, args); err != nil && t.Closed == "" {
		text := err.Error() + ", in arguments for tool " + string(id)
		if a, ok := err.(*argError); ok && a.what == missing {
			text = "Missing required property: '" + a.p.Name + "' in arguments for tool " + string(id)
		}
		invalid(text)
		return
	}
	c.perform(call)
}

func answerV1(call *Call, err error) {
	c := call.conn
	if err != nil {
		c.failID(call.batch, call.mode, call.id, &problem{wire.CodeToolFailed, "Tool failed", wire.AppendString(nil, err.Error())})
		return
	}
	dst := wire.AppendKey(c.result(call.batch, call.dialect, call.id), "output")
	if call.entry.tool.Raw {
		dst = append(append(append(dst, '{'), call.Out...), '}')
	} else {
		dst = append(dst, call.Out...)
	}
	c.endResult(call.batch, call.mode, dst)
}
