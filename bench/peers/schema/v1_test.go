package schema

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The Content-Length MCP 1.0, "Tool, Resource and Prompt Protocol Reference".
// Its definitions, as they are printed there.
const (
	toolDefinition = `{
		"type": "object",
		"properties": {
			"mcpId": {"type": "string"},
			"name": {"type": "string"},
			"description": {"type": "string"},
			"inputSchema": {"type": "object"},
			"outputSchema": {"type": "object"}
		},
		"required": ["mcpId", "name", "description", "inputSchema", "outputSchema"]
	}`
	resourceDefinition = `{
		"type": "object",
		"properties": {
			"mcpId": {"type": "string"},
			"name": {"type": "string"},
			"description": {"type": "string"},
			"mediaType": {"type": "string"},
			"content": {"type": "string"}
		},
		"required": ["mcpId", "name", "description", "mediaType", "content"]
	}`
	promptDefinition = `{
		"type": "object",
		"properties": {
			"mcpId": {"type": "string"},
			"name": {"type": "string"},
			"description": {"type": "string"},
			"role": {"type": "string", "enum": ["system", "user", "assistant"]},
			"content": {"type": "string"}
		},
		"required": ["mcpId", "name", "role", "content"]
	}`
	// What it has as a TypeScript interface.
	serverCapabilities = `{
		"type": "object",
		"properties": {
			"listToolsProvider": {"type": "boolean"},
			"listResourcesProvider": {"type": "boolean"},
			"listPromptsProvider": {"type": "boolean"},
			"executionProvider": {
				"type": "object",
				"properties": {"execute": {"type": "boolean"}},
				"required": ["execute"],
				"additionalProperties": false
			}
		},
		"required": ["listToolsProvider", "listResourcesProvider", "listPromptsProvider"],
		"additionalProperties": false
	}`
	// A response of JSON-RPC 2.0, section 5. Its id is null where it could not be read.
	rpcResponse = `{
		"oneOf": [
			{
				"type": "object",
				"properties": {"jsonrpc": {"const": "2.0"}, "id": {"type": ["string", "integer"]}, "result": true},
				"required": ["jsonrpc", "id", "result"],
				"additionalProperties": false
			},
			{
				"type": "object",
				"properties": {
					"jsonrpc": {"const": "2.0"},
					"id": {"type": ["string", "integer", "null"]},
					"error": {
						"type": "object",
						"properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": true},
						"required": ["code", "message"],
						"additionalProperties": false
					}
				},
				"required": ["jsonrpc", "id", "error"],
				"additionalProperties": false
			}
		]
	}`
)

// v1 speaks the Content-Length MCP 1.0 with a server.
type v1 struct {
	*server
	t        testing.TB
	response *jsonschema.Schema
	lastID   int
}

func startV1(t testing.TB) *v1 {
	t.Helper()
	return &v1{server: start(t, header, ""), t: t, response: literal(t, "rpc", rpcResponse), lastID: 1}
}

// openV1 does the handshake too.
func openV1(t testing.TB) *v1 {
	t.Helper()
	c := startV1(t)
	c.initialize()
	c.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	return c
}

// initialize gives the server's capabilities; the id of this request is 1.
func (c *v1) initialize() obj {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","method":"initialize","params":{"clientCapabilities":{}},"id":1}`)
	capabilities, ok := in(c.answerTo("1"), "result.capabilities").(obj)
	if !ok {
		c.t.Fatal("the result of initialize has no capabilities")
	}
	return capabilities
}

// answerTo gives the next message, which must be the response with this id, as
// it is written in JSON.
func (c *v1) answerTo(id string) obj {
	c.t.Helper()
	got := c.next()
	if err := c.response.Validate(got); err != nil {
		c.t.Fatalf("%s is no response of JSON-RPC 2.0: %v", show(got), err)
	}
	if have := text(in(got, "id")); have != id {
		c.t.Fatalf("a response to %s was due, and %s came", id, show(got))
	}
	return got.(obj)
}

// ask sends a request, its params as JSON or none, and gives the response.
func (c *v1) ask(method, params string) obj {
	c.t.Helper()
	c.lastID++
	if params != "" {
		params = `,"params":` + params
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q%s,"id":%d}`, method, params, c.lastID))
	return c.answerTo(fmt.Sprint(c.lastID))
}

// fault checks that a response is this error, and gives its data.
func (c *v1) fault(got obj, code int) any {
	c.t.Helper()
	if have := in(got, "error.code"); fmt.Sprint(have) != fmt.Sprint(code) {
		c.t.Errorf("an error %d was due, and %s came", code, show(got))
	}
	return in(got, "error.data")
}

// list gives a list, whose items must be as their definition has them.
func (c *v1) list(method, definition string) []obj {
	c.t.Helper()
	got, ok := in(c.ask(method, "{}"), "result").([]any)
	if !ok || len(got) == 0 {
		c.t.Fatalf("%s gives no array, or nothing in it", method)
	}
	s := literal(c.t, method, definition)
	var items []obj
	for _, item := range got {
		if err := s.Validate(item); err != nil {
			c.t.Errorf("%s is not as %s defines it: %v", show(item), method, err)
		}
		for _, path := range strangers("", item, s) {
			c.t.Errorf("%s names no such member, in %s", path, show(item))
		}
		items = append(items, item.(obj))
	}
	return items
}

// v1Lists are the listing methods, each with the capability that says it is there.
var v1Lists = []struct{ method, provider, definition string }{
	{"mcp/listTools", "listToolsProvider", toolDefinition},
	{"mcp/listResources", "listResourcesProvider", resourceDefinition},
	{"mcp/listPrompts", "listPromptsProvider", promptDefinition},
}

// execute calls a tool by its short name.
func (c *v1) execute(tool string, arguments obj) obj {
	c.t.Helper()
	return c.ask("mcp/executeTool", text(obj{"id": toolID(tool), "arguments": arguments}))
}

func toolID(tool string) string { return "mcp://boardhand/tools/" + tool + ":v1" }

// checklist is the reference's compliance checklist, line by line, with what
// shows that a server over stdio complies.
var checklist = []struct {
	line  string
	check func(t *testing.T)
}{
	{"Correctly implement one or both of the specified transport layers (stdio or HTTP).", func(t *testing.T) {
		c := openV1(t)
		ask := func(head string) {
			t.Helper()
			c.lastID++
			body := fmt.Sprintf(`{"jsonrpc":"2.0","method":"mcp/executeTool","params":{"id":"%s","arguments":{"sensor":"ü€😀"}},"id":%d}`,
				toolID("sensor_read"), c.lastID)
			c.write(fmt.Sprintf(head, len(body)) + "\r\n" + body)
			c.fault(c.answerTo(fmt.Sprint(c.lastID)), -32000)
		}
		ask("Content-Length: %d\r\n")
		ask("Content-Length: %d\r\nContent-Type: application/json\r\n")
		ask("Content-Type: application/json; charset=utf-8\r\nContent-Length: %d\r\n")
		ask("content-length: %d\r\n")
		// Several at once, cut anywhere.
		one := func(id int) string {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","method":"mcp/listTools","params":null,"id":%d}`, id)
			return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
		}
		both := one(100) + one(101)
		for i := range both {
			c.write(both[i : i+1])
		}
		c.answerTo("100")
		c.answerTo("101")
		c.close()
	}},
	{"If using stdio, correctly frame all stdout messages with Content-Length.", func(t *testing.T) {
		// Every read of this test is strict about the header; here are answers of all kinds and sizes.
		c := openV1(t)
		c.ask("mcp/listTools", "")
		c.ask("mcp/listPrompts", "")
		c.execute("sensor_list", obj{}) // °C: two bytes, one character
		c.execute("gpio_read", obj{"lines": []any{"nope"}})
		c.ask("no/such", "")
		c.send(`{"jsonrpc":"2.0","method":`)
		c.answerTo("null")
		c.write("Content-Length: x\r\n\r\n")
		c.answerTo("null")
		c.ask("mcp/listTools", "")
		c.close()
	}},
	{"Wait for the client's initialize request as the first message.", func(t *testing.T) {
		c := startV1(t)
		for _, method := range []string{"mcp/listTools", "mcp/listResources", "mcp/listPrompts", "mcp/executeTool"} {
			if got := c.ask(method, `{"id":"`+toolID("board_info")+`"}`); got["error"] == nil {
				t.Errorf("%s is served before initialize: %s", method, show(got))
			}
		}
		c.send(`{"jsonrpc":"2.0","method":"initialized"}`)
		c.initialize()
		c.ask("mcp/listTools", "")
		c.close()
	}},
	{"Respond to initialize with a result object containing a valid capabilities object.", func(t *testing.T) {
		s := literal(t, "capabilities", serverCapabilities)
		for _, params := range []string{
			`{"clientCapabilities":{}}`,
			`{"clientCapabilities":{"x":{"y":1}},"rootUri":"file:///home","trace":"on"}`,
		} {
			c := startV1(t)
			c.send(`{"jsonrpc":"2.0","method":"initialize","params":` + params + `,"id":1}`)
			got := c.answerTo("1")
			if err := s.Validate(in(got, "result.capabilities")); err != nil {
				t.Errorf("%s: %v", show(got), err)
			}
			c.close()
		}
		c := startV1(t)
		c.fault(c.ask("initialize", `{"clientCapabilities":[]}`), -32602)
		c.close()
	}},
	{"Wait for the client's initialized notification before sending any server-initiated notifications.", func(t *testing.T) {
		c := startV1(t)
		c.initialize()
		// Calls that in other revisions tell of their progress; a notification would stand where the response is due.
		c.ask("mcp/executeTool", `{"id":"`+toolID("i2c_scan")+`","arguments":{},"_meta":{"progressToken":1}}`)
		c.execute("gpio_write", obj{"line": "GPIO22", "level": 1, "for_ms": 1})
		c.ask("mcp/listTools", "")
		c.close()
	}},
	{"Implement all declared capabilities correctly (e.g., if listToolsProvider: true, the mcp/listTools method must be implemented).", func(t *testing.T) {
		c := startV1(t)
		capabilities := c.initialize()
		c.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
		for _, l := range v1Lists {
			if capabilities[l.provider] != true {
				t.Errorf("%s is not declared", l.provider)
			}
			c.list(l.method, l.definition)
			for _, params := range []string{"", "null", "{}"} {
				if got := c.ask(l.method, params); got["result"] == nil {
					t.Errorf("%s with params %q: %s", l.method, params, show(got))
				}
			}
		}
		if in(capabilities, "executionProvider.execute") != true {
			t.Error("execution is not declared")
		}
		for _, tool := range c.list("mcp/listTools", toolDefinition) {
			id := tool["mcpId"].(string)
			name := strings.TrimSuffix(strings.TrimPrefix(id, "mcp://boardhand/tools/"), ":v1")
			plan, ok := calls[name]
			if !ok {
				t.Errorf("the test calls no %s", id)
			}
			input := compile(t, "v1/"+name+"/input", tool["inputSchema"])
			output := compile(t, "v1/"+name+"/output", tool["outputSchema"])
			for _, arguments := range plan.right {
				got := c.ask("mcp/executeTool", text(obj{"id": id, "arguments": arguments}))
				result, _ := got["result"].(obj)
				if result == nil {
					t.Errorf("%s %s failed: %s", id, text(arguments), show(got))
					continue
				}
				checkMembers(t, result, "output")
				if err := output.Validate(result["output"]); err != nil {
					t.Errorf("%s gives %s: %v", id, show(result), err)
				}
				for _, path := range strangers(name, result["output"], output) {
					t.Errorf("%s is not in the output schema", path)
				}
				v, _ := decode([]byte(text(arguments)))
				if err := input.Validate(v); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
			for _, arguments := range append(slices.Clone(plan.board), plan.wrong...) {
				got := c.ask("mcp/executeTool", text(obj{"id": id, "arguments": arguments}))
				code := text(in(got, "error.code"))
				if code != "-32602" && code != "-32000" {
					t.Errorf("%s takes %s: %s", id, text(arguments), show(got))
				}
			}
		}
		c.close()
	}},
	{"Adhere strictly to JSON-RPC 2.0 message formats for all requests, responses, and notifications.", func(t *testing.T) {
		c := openV1(t)
		for _, id := range []string{`7`, `-1`, `0`, `"a"`, `""`, `"ü"`, `123456789012345678901234567890`} {
			c.send(`{"jsonrpc":"2.0","method":"mcp/listPrompts","id":` + id + `}`)
			if got := c.answerTo(id); got["result"] == nil {
				t.Errorf("id %s: %s", id, show(got))
			}
		}
		// Notifications are not answered, whatever they are.
		for _, n := range []string{
			`{"jsonrpc":"2.0","method":"initialized"}`,
			`{"jsonrpc":"2.0","method":"mcp/listTools"}`,
			`{"jsonrpc":"2.0","method":"mcp/executeTool","params":{"id":"` + toolID("board_info") + `"}}`,
			`{"jsonrpc":"2.0","method":"no/such","params":[]}`,
			`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`,
		} {
			c.send(n)
		}
		c.ask("mcp/listPrompts", "")
		// An id that cannot be read is null.
		for message, code := range map[string]int{
			`{"jsonrpc":"2.0","method"`: -32700,
			`nonsense`:                  -32700,
			`{"jsonrpc":"2.0","method":"mcp/listTools","id":null}`: -32600,
			`{"jsonrpc":"2.0","method":"mcp/listTools","id":{}}`:   -32600,
			`{"jsonrpc":"2.0","method":"mcp/listTools","id":1.5}`:  -32600,
			`[]`: -32600,
			`7`:  -32600,
		} {
			c.send(message)
			c.fault(c.answerTo("null"), code)
		}
		for message, code := range map[string]int{
			`{"jsonrpc":"1.0","method":"mcp/listTools","id":9}`:              -32600,
			`{"jsonrpc":"2.0","method":7,"id":9}`:                            -32600,
			`{"jsonrpc":"2.0","id":9}`:                                       -32600,
			`{"jsonrpc":"2.0","method":"mcp/listTools","params":"x","id":9}`: -32600,
			`{"jsonrpc":"2.0","method":"mcp/listTools","params":[1],"id":9}`: -32602,
		} {
			c.send(message)
			c.fault(c.answerTo("9"), code)
		}
		c.close()
	}},
	{"For any defined tool, resource, or prompt, provide a stable and unique mcpId.", func(t *testing.T) {
		ids := func() (all []string) {
			c := openV1(t)
			for _, l := range v1Lists {
				for _, item := range c.list(l.method, l.definition) {
					all = append(all, item["mcpId"].(string))
				}
			}
			c.close()
			return all
		}
		first, second := ids(), ids()
		if !slices.Equal(first, second) {
			t.Errorf("one process says %v, the next %v", first, second)
		}
		form := regexp.MustCompile(`^mcp://boardhand/(tools|resources|prompts)/[a-z0-9_]+(:v1)?$`)
		seen := map[string]bool{}
		for _, id := range first {
			if seen[id] || !form.MatchString(id) {
				t.Errorf("%q stands twice or is no namespaced URI", id)
			}
			seen[id] = true
		}
	}},
	{"Provide valid JSON Schema for inputSchema and outputSchema in all ToolDefinition objects.", func(t *testing.T) {
		c := openV1(t)
		for _, tool := range c.list("mcp/listTools", toolDefinition) {
			for _, member := range []string{"inputSchema", "outputSchema"} {
				compile(t, fmt.Sprint(tool["mcpId"], "/", member), tool[member])
			}
		}
		c.close()
	}},
	{"Return a JSON-RPC error object for failed operations, using the specified error codes.", func(t *testing.T) {
		c := openV1(t)
		if got := c.fault(c.execute("gpio_write", obj{"line": "GPIO22"}), -32602); got != "Missing required property: 'level' in arguments for tool "+toolID("gpio_write") {
			t.Errorf("a missing argument is told as %v", got)
		}
		withData := func(got obj, code int) {
			t.Helper()
			if data, ok := c.fault(got, code).(string); !ok || data == "" {
				t.Errorf("%s says nothing in data", show(got))
			}
		}
		withData(c.execute("gpio_write", obj{"line": "GPIO22", "level": 7}), -32602)
		withData(c.execute("gpio_write", obj{"line": "GPIO22", "level": 1, "x": 1}), -32602)
		withData(c.execute("nope", obj{}), -32602)
		withData(c.ask("mcp/executeTool", `{"id":"board_info","arguments":{}}`), -32602)
		withData(c.ask("mcp/executeTool", `{"id":7,"arguments":{}}`), -32602)
		withData(c.ask("mcp/executeTool", `{"id":"`+toolID("board_info")+`","arguments":[]}`), -32602)
		withData(c.ask("mcp/executeTool", `{"arguments":{}}`), -32602)
		withData(c.ask("mcp/executeTool", `{}`), -32602)
		withData(c.ask("mcp/executeTool", ``), -32602)
		// The protocol's own codes are -32000 to -32099.
		withData(c.execute("gpio_write", obj{"line": "nope", "level": 1}), -32000)
		withData(c.execute("gpio_read", obj{"lines": []any{"GPIO8"}}), -32000)
		withData(c.execute("i2c_read", obj{"address": "0x42"}), -32000)
		for _, method := range []string{"mcp/noSuch", "mcp/", "no/such", "tools/list", ""} {
			c.fault(c.ask(method, ""), -32601)
		}
		c.close()
	}},
	{"Not send any non-protocol data over the primary communication channel (stdout for stdio, the HTTP response body for HTTP).", func(t *testing.T) {
		// All of stdout to its end is frames, each of them asked for, also when things fail; close says so of stdout and stderr.
		c := openV1(t)
		c.write("Content-Length: 4000000000\r\n\r\n")
		c.fault(c.answerTo("null"), -32700)
		c.send(strings.Repeat("[", 5000))
		c.answerTo("null")
		c.execute("i2c_read", obj{"address": "0x42"})
		c.execute("gpio_write", obj{"line": "GPIO22", "level": 1, "for_ms": 60000})
		c.close()
	}},
}

func TestContentLengthMCPComplianceChecklist(t *testing.T) {
	for _, item := range checklist {
		t.Run(item.line, item.check)
	}
}

// The checklist here is the reference's own.
func TestTheChecklistIsWhole(t *testing.T) {
	file := filepath.Join(*schemasDir, "..", "reference", "content-length-mcp-1.0.txt")
	reference, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("the reference of the Content-Length MCP 1.0 is not here (%v); -schemas names the folder beside its own", err)
	}
	var lines []string
	for _, line := range strings.Split(string(reference), "\n") {
		if line, ok := strings.CutPrefix(line, "• [ ] "); ok {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	var have []string
	for _, item := range checklist {
		have = append(have, item.line)
	}
	if !slices.Equal(lines, have) {
		t.Errorf("the reference has\n%s\nand the test\n%s", strings.Join(lines, "\n"), strings.Join(have, "\n"))
	}
}

// Where both are spoken on one line, each request gets the shape of its own.
func TestTheContentLengthMCPBesideTheStatelessRevision(t *testing.T) {
	o := loadOfficial(t, modern)
	c := openV1(t)
	m := &session{server: c.server, t: t, official: o, asked: map[string]bool{}, lastID: 1000}
	c.ask("mcp/listTools", "")
	m.ask("tools/list", nil)
	m.refused("mcp/listTools", nil, -32601)
	c.fault(c.ask("tools/list", ""), -32601)
	c.execute("board_info", obj{})
	c.close()
}
