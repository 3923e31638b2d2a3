package rpc

import (
	"bytes"
	"errors"
	"strings"

	"boardhand/rpc/wire"
)

// The methods that all revisions of MCP share. What differs between them is in
// the dialect.

func sharedMethods(name []byte) method {
	switch string(name) {
	case "tools/call":
		return callTool
	case "tools/list":
		return func(c *Conn, r *request) { list(c, r, listTools) }
	case "resources/list":
		return func(c *Conn, r *request) { list(c, r, listResources) }
	case "resources/templates/list":
		return func(c *Conn, r *request) { list(c, r, listTemplates) }
	case "resources/read":
		return readResource
	case "prompts/list":
		return func(c *Conn, r *request) { list(c, r, listPrompts) }
	case "prompts/get":
		return getPrompt
	case "completion/complete":
		return complete
	}
	return nil
}

// list answers with the pages of one list.
func list(c *Conn, r *request, which int) {
	d := c.dialectOf(r)
	cursor, p := c.text(r.given.cursor, "cursor")
	if p != nil {
		c.fail(r, p)
		return
	}
	if cursor == nil {
		c.rendered(r, c.srv.list(d, which)[0])
		return
	}
	page := c.srv.list(d, which).page(cursor)
	if page == nil {
		c.fail(r, badParams("cursor "+quote(cursor)+" names no page of this list; take it from nextCursor, or start without one"))
		return
	}
	c.rendered(r, page)
}

// start readies the connection's inline call for one request.
func (c *Conn) start(r *request, d *dialect, e entry) *Call {
	call := &c.inline
	*call = Call{
		Out: call.Out[:0], args: call.args[:0], bytes: call.bytes[:0], strs: call.strs[:0],
		conn: c, dialect: d, mode: r.mode, batch: r.batch, id: r.id, level: c.level, entry: e,
		client: c.client, said: r.meta.client, subjects: call.subjects[:0], state: r.given.state, responses: r.given.responses,
	}
	if d.complete {
		call.level = LogOff
	}
	if r.meta.level != 0 && d.complete {
		call.level, _ = parseLevel(c.tree.Text(r.meta.level))
	}
	if token := c.tree.Raw(r.meta.token); validToken(token) {
		call.token = token
	}
	return call
}

// perform runs a call whose arguments are checked, if the gate lets it pass.
func (c *Conn) perform(call *Call) {
	if c.admit(call) {
		c.launch(call)
	}
}

// launch runs a call: at once, or on the worker of the queue that it names.
func (c *Conn) launch(call *Call) {
	queue := ""
	if call.entry.queue != nil {
		queue = call.entry.queue(call)
	}
	if queue == "" {
		err := c.srv.run(call)
		c.leave(call, Answered, err)
		call.entry.answer(call, err)
		return
	}
	c.submit(call.detach(), queue, call.entry.timeout)
}

// detach copies a call so that it outlives its message.
func (c *Call) detach() *Call {
	d := *c
	d.Out = nil
	d.args = append([]arg(nil), c.args...)
	d.bytes = append([]byte(nil), c.bytes...)
	d.strs = append([]string(nil), c.strs...)
	d.id = append([]byte(nil), c.id...)
	d.token = append([]byte(nil), c.token...)
	d.params = append([]byte(nil), c.params...)
	d.client, d.said = c.Client(), 0
	d.subjects = append([]Subject(nil), c.subjects...)
	d.state, d.responses = 0, 0
	return &d
}

// callTool serves tools/call.
func callTool(c *Conn, r *request) {
	name, p := c.text(r.given.name, "name")
	if p == nil && name == nil {
		p = badParams(`params.name, the name of a tool, is missing`)
	}
	var args wire.Value
	if p == nil {
		args, p = c.object(r.given.arguments, "arguments")
	}
	if p != nil {
		c.fail(r, p)
		return
	}
	t := c.srv.tools[string(name)]
	if t == nil {
		c.fail(r, badParams("unknown tool "+quote(name)+"; tools/list shows all"))
		return
	}
	d := c.dialectOf(r)
	if d.complete {
		if p := c.lacking(t, r); p != nil {
			c.fail(r, p)
			return
		}
	}
	call := c.start(r, d, t.entry(answerTool))
	if t.Raw {
		c.raw(call, r)
	}
	if t.Schema != "" {
		c.perform(call)
		return
	}
	if err := c.check(call, t.Params, args); err != nil && t.Closed == "" {
		answerTool(call, err)
		return
	}
	c.perform(call)
}

// lacking says that a call needs a capability that its client does not declare. Only
// a stateless request declares any.
func (c *Conn) lacking(t *Tool, r *request) *problem {
	if t.Requires == "" || c.tree.Get(r.meta.capabilities, t.Requires) != 0 {
		return nil
	}
	return &problem{
		code:    wire.CodeMissingCapability,
		message: "tool " + t.Name + " needs a client with the capability " + t.Requires,
		data:    []byte(`{"requiredCapabilities":{"` + t.Requires + `":{}}}`),
	}
}

// answerTool writes the result of tools/call. What goes wrong in a tool is a
// result with isError, so that the model can read it and mend its call.
func answerTool(call *Call, err error) {
	c := call.conn
	dst := c.result(call.batch, call.dialect, call.id)
	dst = append(wire.AppendKey(dst, "content"), `[{"type":"text","text":`...)
	if err != nil {
		dst = wire.AppendString(dst, err.Error())
		dst = append(dst, `}],"isError":true`...)
	} else {
		dst = append(dst, '"')
		dst = append(wire.AppendEscaped(dst, call.Out), `"}]`...)
		if call.dialect.structured {
			dst = append(wire.AppendKey(dst, "structuredContent"), call.Out...)
		}
	}
	c.endResult(call.batch, call.mode, dst)
}

// readResource serves resources/read.
func readResource(c *Conn, r *request) {
	uri, p := c.text(r.given.uri, "uri")
	if p == nil && uri == nil {
		p = badParams("params.uri, the URI of a resource, is missing")
	}
	if p != nil {
		c.fail(r, p)
		return
	}
	d := c.dialectOf(r)
	for i := range c.srv.cat.Resources {
		res := &c.srv.cat.Resources[i]
		if string(uri) == res.URI {
			call := c.start(r, d, entry{name: res.URI, run: res.Read, answer: answerResource(res.URI, res.MIMEType)})
			if res.Raw {
				c.raw(call, r)
			}
			c.perform(call)
			return
		}
	}
	for i := range c.srv.templates {
		t := &c.srv.templates[i]
		if len(uri) <= len(t.Prefix) || string(uri[:len(t.Prefix)]) != t.Prefix {
			continue
		}
		rest, fits := bytes.CutSuffix(uri[len(t.Prefix):], []byte(t.Suffix))
		if !fits || len(rest) == 0 {
			continue
		}
		value, ok := unescapeURI(rest)
		if !ok {
			break
		}
		full := string(uri)
		call := c.start(r, d, entry{name: full, closed: t.Closed, queue: t.Queue, run: t.Read, answer: answerResource(full, t.MIMEType)})
		call.args = append(call.args, arg{set: true, str: c.intern(value)})
		c.perform(call)
		return
	}
	c.fail(r, d.noResource(string(uri), "resource "+quote(uri)+" not found; resources/list and resources/templates/list show what there is"))
}

func (d *dialect) noResource(uri, message string) *problem {
	return &problem{code: d.notFound, message: message, data: append(wire.AppendString([]byte(`{"uri":`), uri), '}')}
}

// answerResource writes the result of resources/read.
func answerResource(uri, mimeType string) func(call *Call, err error) {
	return func(call *Call, err error) {
		c := call.conn
		if err != nil {
			p := &problem{code: wire.CodeInternal, message: err.Error()}
			if errors.Is(err, ErrNotFound) {
				p = call.dialect.noResource(uri, err.Error())
			}
			c.failID(call.batch, call.mode, call.id, p)
			return
		}
		dst := c.result(call.batch, call.dialect, call.id)
		dst = append(wire.AppendKey(dst, "contents"), `[{"uri":`...)
		dst = wire.AppendString(dst, uri)
		dst = wire.AppendString(wire.AppendKey(dst, "mimeType"), mimeType)
		dst = append(wire.AppendKey(dst, "text"), '"')
		dst = append(wire.AppendEscaped(dst, call.Out), `"}]`...)
		if call.dialect.complete {
			dst = append(dst, readTTL...)
		}
		c.endResult(call.batch, call.mode, dst)
	}
}

// unescapeURI undoes percent-encoding (RFC 3986, section 2.1).
func unescapeURI(b []byte) ([]byte, bool) {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '%' {
			out = append(out, b[i])
			continue
		}
		if i+2 >= len(b) {
			return nil, false
		}
		var ok bool
		if out, ok = appendUnhex(out, b[i+1:i+3]); !ok {
			return nil, false
		}
		i += 2
	}
	return out, true
}

// getPrompt serves prompts/get.
func getPrompt(c *Conn, r *request) {
	name, p := c.text(r.given.name, "name")
	if p == nil && name == nil {
		p = badParams("params.name, the name of a prompt, is missing")
	}
	var args wire.Value
	if p == nil {
		args, p = c.object(r.given.arguments, "arguments")
	}
	if p != nil {
		c.fail(r, p)
		return
	}
	prompt := c.srv.prompts[string(name)]
	if prompt == nil {
		c.fail(r, badParams("unknown prompt "+quote(name)+"; prompts/list shows all"))
		return
	}
	call := c.start(r, c.dialectOf(r), entry{name: prompt.Name, closed: prompt.Closed, run: prompt.Render, answer: answerPrompt(prompt)})
	if prompt.Raw {
		c.raw(call, r)
	}
	if err := c.check(call, prompt.Params, args); err != nil && prompt.Closed == "" {
		c.fail(r, badParams(err.Error()))
		return
	}
	c.perform(call)
}

func answerPrompt(p *Prompt) func(call *Call, err error) {
	return func(call *Call, err error) {
		c := call.conn
		if err != nil {
			c.failID(call.batch, call.mode, call.id, badParams(err.Error()))
			return
		}
		dst := c.result(call.batch, call.dialect, call.id)
		dst = wire.AppendString(wire.AppendKey(dst, "description"), p.Description)
		dst = append(wire.AppendKey(dst, "messages"), `[{"role":"user","content":{"type":"text","text":"`...)
		dst = append(wire.AppendEscaped(dst, call.Out), `"}}]`...)
		c.endResult(call.batch, call.mode, dst)
	}
}

// maxCompletions is how many values one answer may hold (completion, "Completion Results").
const maxCompletions = 100

var (
	refMembers      = []string{"type", "name", "uri"}
	argumentMembers = []string{"name", "value"}
)

// complete serves completion/complete: the values of a template's variable and
// of a prompt's arguments.
func complete(c *Conn, r *request) {
	if r.params == 0 {
		c.fail(r, badParams("params.ref and params.argument are missing"))
		return
	}
	var kindOf, refName, uri, name, value []byte
	ref, p := c.object(r.given.ref, "ref")
	var argument wire.Value
	if p == nil {
		argument, p = c.object(r.given.argument, "argument")
	}
	if p == nil && (ref == 0 || argument == 0) {
		p = badParams("params.ref and params.argument are both required")
	}
	if p == nil {
		p = c.members(ref, "params.ref", refMembers, &kindOf, &refName, &uri)
	}
	if p == nil {
		p = c.members(argument, "params.argument", argumentMembers, &name, &value)
	}
	if p == nil && (name == nil || value == nil) {
		p = badParams("params.argument needs name and value")
	}
	if p != nil {
		c.fail(r, p)
		return
	}
	var param *Param
	closed := ""
	switch string(kindOf) {
	case "ref/prompt":
		prompt := c.srv.prompts[string(refName)]
		if prompt == nil {
			c.fail(r, badParams("unknown prompt "+quote(refName)+"; prompts/list shows all"))
			return
		}
		closed = prompt.Closed
		for i := range prompt.Params {
			if prompt.Params[i].Name == string(name) {
				param = &prompt.Params[i]
			}
		}
	case "ref/resource":
		known := false
		for i := range c.srv.templates {
			t := &c.srv.templates[i]
			if t.Closed != "" && strings.HasPrefix(string(uri), t.Prefix) {
				known, closed = true, t.Closed
			} else if t.uri() == string(uri) {
				known = true
				if t.Param.Name == string(name) {
					param = &t.Param
				}
			}
		}
		if !known {
			c.fail(r, badParams("unknown resource template "+quote(uri)+"; resources/templates/list shows all"))
			return
		}
	default:
		c.fail(r, badParams("params.ref.type is "+quote(kindOf)+`; it must be "ref/prompt" or "ref/resource"`))
		return
	}
	if closed != "" {
		c.fail(r, badParams(closed))
		return
	}
	if param == nil {
		c.fail(r, badParams("there is no argument "+quote(name)+" to complete there"))
		return
	}
	var values []string
	if param.Complete != nil {
		values = param.Complete(nil, string(value))
	}
	dst := c.result(r.batch, c.dialectOf(r), r.id)
	dst = append(wire.AppendKey(dst, "completion"), `{"values":[`...)
	for i := 0; i < len(values) && i < maxCompletions; i++ {
		dst = wire.AppendString(wire.AppendSep(dst), values[i])
	}
	dst = wire.AppendInt(append(dst, `],"total":`...), int64(len(values)))
	dst = wire.AppendBool(append(dst, `,"hasMore":`...), len(values) > maxCompletions)
	c.endResult(r.batch, r.mode, append(dst, '}'))
}
