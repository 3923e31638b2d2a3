package schema

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A bus that takes its time, so that a scan has progress to report.
const slowBus = "[[sim.slow]]\nbus = 1\nms = 4.0\n"

// every runs a test in each revision and in both framings.
func every(t *testing.T, test func(t *testing.T, o *official, f framing)) {
	for _, version := range revisions {
		t.Run(version, func(t *testing.T) {
			for _, f := range framings {
				t.Run(string(f), func(t *testing.T) {
					t.Parallel()
					test(t, loadOfficial(t, version), f)
				})
			}
		})
	}
}

func TestEveryMethodInEveryRevision(t *testing.T) {
	every(t, func(t *testing.T, o *official, f framing) {
		s := open(t, o, f, "")
		driveHandshake(s)
		driveLists(s)
		driveTools(s)
		driveResources(s)
		drivePrompts(s)
		driveCompletions(s)
		driveRefusals(s)
		driveUnserved(s)
		driveUnreadable(s)
		for method := range o.requests(t) {
			if !s.asked[method] {
				t.Errorf("the test never asks %s, which MCP %s has", method, o.version)
			}
		}
		s.close()
	})
}

// driveHandshake asks what opens a conversation.
func driveHandshake(s *session) {
	s.t.Helper()
	if s.stateless() {
		got := s.ask("server/discover", nil)
		if versions := in(got, "supportedVersions"); len(versions.([]any)) != len(revisions) || in(versions, "0") != modern {
			s.t.Errorf("discovery names %v", versions)
		}
		for _, method := range []string{"initialize", "ping", "logging/setLevel"} {
			s.refused(method, obj{"protocolVersion": modern, "level": "info"}, -32601)
		}
		return
	}
	s.ask("ping", nil)
	s.ask("ping", obj{"_meta": obj{"progressToken": "p"}})
	for _, level := range []string{"emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"} {
		s.ask("logging/setLevel", obj{"level": level})
	}
	// What the server does not know, it answers with the newest that it does.
	for _, version := range []string{"1999-01-01", "2099-01-01", modern} {
		r := s.request("initialize", obj{"protocolVersion": version, "capabilities": obj{}, "clientInfo": obj{"name": "t", "version": "1"}})
		s.send(text(r))
		got := s.answerTo(r["id"])
		newest := revisions[len(revisions)-2]
		checkResult(s.t, loadOfficial(s.t, newest), "initialize", got)
		if v := in(got, "result.protocolVersion"); v != newest {
			s.t.Errorf("initialize with %s is answered by %v, not %s", version, v, newest)
		}
	}
	s.handshake()
	s.ask("logging/setLevel", obj{"level": "debug"})
}

// the lists of MCP, and the member that holds their items.
var lists = map[string]string{
	"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates", "prompts/list": "prompts",
}

func driveLists(s *session) {
	s.t.Helper()
	for method, member := range lists {
		items := s.list(method)
		if len(items) == 0 {
			s.t.Errorf("%s shows nothing", method)
		}
		if got := s.ask(method, obj{}); len(got[member].([]any)) > len(items) {
			s.t.Errorf("%s with empty params shows more than without", method)
		}
		for _, cursor := range []any{"", "page-", "page-0", "page-99", "x", 1, nil, obj{}} {
			s.refused(method, obj{"cursor": cursor}, -32602)
		}
	}
}

// list gives all items of a list, page by page.
func (s *session) list(method string) (items []obj) {
	s.t.Helper()
	var params obj
	for {
		got := s.ask(method, params)
		for _, item := range got[lists[method]].([]any) {
			items = append(items, item.(obj))
		}
		if got["nextCursor"] == nil {
			return items
		}
		params = obj{"cursor": got["nextCursor"]}
	}
}

func driveResources(s *session) {
	s.t.Helper()
	read := func(uri string) {
		s.t.Helper()
		got := s.ask("resources/read", obj{"uri": uri})
		if in(got, "contents.0.uri") != uri {
			s.t.Errorf("asked for %s, got %s", uri, show(got))
		}
		if in(got, "contents.0.mimeType") == "application/json" {
			if _, err := decode([]byte(in(got, "contents.0.text").(string))); err != nil {
				s.t.Errorf("the text of %s is no JSON: %v", uri, err)
			}
		}
	}
	for _, r := range s.list("resources/list") {
		read(r["uri"].(string))
	}
	for _, template := range s.list("resources/templates/list") {
		uri := template["uriTemplate"].(string)
		prefix, variable, ok := strings.Cut(strings.TrimSuffix(uri, "}"), "{")
		if !ok {
			s.t.Fatalf("template %s has no variable", uri)
		}
		values := s.complete(obj{"type": "ref/resource", "uri": uri}, variable, "")
		if len(values) == 0 {
			s.t.Errorf("template %s completes to nothing", uri)
		}
		for _, value := range values {
			read(prefix + value)
			read(prefix + fmt.Sprintf("%%%02x", value[0]) + value[1:])
		}
		for _, value := range []string{"nope", "%zz", "%", ""} {
			s.noResource(prefix + value)
		}
	}
	s.noResource("file:///etc/passwd")
	s.noResource("board://infos")
	s.noResource("")
	s.refused("resources/read", obj{}, -32602)
	s.refused("resources/read", obj{"uri": 7}, -32602)
}

// noResource asks for a resource that does not exist. The code for that changed
// with 2026-07-28.
func (s *session) noResource(uri string) {
	s.t.Helper()
	code := -32002
	if s.stateless() {
		code = -32602
	}
	if e := s.refused("resources/read", obj{"uri": uri}, code); in(e, "data.uri") != uri {
		s.t.Errorf("the error about %q does not name it: %s", uri, show(e))
	}
}

func drivePrompts(s *session) {
	s.t.Helper()
	for _, prompt := range s.list("prompts/list") {
		name := prompt["name"]
		s.ask("prompts/get", obj{"name": name})
		s.ask("prompts/get", obj{"name": name, "arguments": obj{}})
		all := obj{}
		for _, a := range prompt["arguments"].([]any) {
			arg := in(a, "name").(string)
			all[arg] = "a \"quoted\"\nline ü"
			s.ask("prompts/get", obj{"name": name, "arguments": obj{arg: "GPIO17"}})
			s.refused("prompts/get", obj{"name": name, "arguments": obj{arg: 7}}, -32602)
			s.refused("prompts/get", obj{"name": name, "arguments": obj{arg: strings.Repeat("x", 300)}}, -32602)
		}
		s.ask("prompts/get", obj{"name": name, "arguments": all})
		s.refused("prompts/get", obj{"name": name, "arguments": obj{"nope": "x"}}, -32602)
		s.refused("prompts/get", obj{"name": name, "arguments": []any{}}, -32602)
	}
	s.refused("prompts/get", obj{"name": "nope"}, -32602)
	s.refused("prompts/get", obj{"name": 7}, -32602)
	s.refused("prompts/get", obj{}, -32602)
}

func driveCompletions(s *session) {
	s.t.Helper()
	var prompt obj
	for _, prompt = range s.list("prompts/list") {
		ref := obj{"type": "ref/prompt", "name": prompt["name"]}
		for _, a := range prompt["arguments"].([]any) {
			for _, prefix := range []string{"", "G", "gpio1", "1", "no such"} {
				s.complete(ref, in(a, "name").(string), prefix)
			}
		}
		s.refused("completion/complete", obj{"ref": ref, "argument": obj{"name": "nope", "value": ""}}, -32602)
		s.refused("completion/complete", obj{"ref": ref, "argument": obj{"name": "line"}}, -32602)
		s.refused("completion/complete", obj{"ref": ref, "argument": 7}, -32602)
		s.refused("completion/complete", obj{"ref": ref}, -32602)
	}
	argument := obj{"name": "line", "value": "G"}
	s.refused("completion/complete", obj{"ref": obj{"type": "ref/prompt", "name": "nope"}, "argument": argument}, -32602)
	s.refused("completion/complete", obj{"ref": obj{"type": "ref/resource", "uri": "nope://{line}"}, "argument": argument}, -32602)
	s.refused("completion/complete", obj{"ref": obj{"type": "ref/tool", "name": "gpio_read"}, "argument": argument}, -32602)
	s.refused("completion/complete", obj{"argument": argument}, -32602)
	s.refused("completion/complete", nil, -32602)
}

// complete gives the values that a prefix completes to.
func (s *session) complete(ref obj, argument, prefix string) (values []string) {
	s.t.Helper()
	got := s.ask("completion/complete", obj{"ref": ref, "argument": obj{"name": argument, "value": prefix}})
	for _, v := range in(got, "completion.values").([]any) {
		if v := v.(string); !strings.HasPrefix(strings.ToLower(v), strings.ToLower(prefix)) {
			s.t.Errorf("%q does not complete %q", v, prefix)
		} else {
			values = append(values, v)
		}
	}
	return values
}

// Progress and log messages come when they are asked for; a cancelled call says
// nothing more.
func TestNotifications(t *testing.T) {
	every(t, func(t *testing.T, o *official, f framing) {
		s := open(t, o, f, slowBus)
		driveNotifications(s)
		s.close()
	})
}

func driveNotifications(s *session) {
	s.t.Helper()
	count := func(method string) (n int) {
		for _, note := range s.notes {
			if note["method"] == method {
				n++
			}
		}
		return n
	}
	if !s.stateless() {
		s.ask("logging/setLevel", obj{"level": "emergency"})
	}
	s.notes = nil
	arguments := obj{"last": "0x47"} // 64 addresses, well over the tenth of a second between two reports
	scan := obj{"name": "i2c_scan", "arguments": arguments}
	s.ask("tools/call", scan)
	if len(s.notes) != 0 {
		s.t.Errorf("nobody asked for %s", show(s.notes))
	}
	for _, token := range []any{"a token", "", 1 << 40} {
		s.notes = nil
		s.ask("tools/call", obj{"name": "i2c_scan", "arguments": arguments, "_meta": obj{"progressToken": token}})
		if count("notifications/progress") < 2 || count("notifications/progress") != len(s.notes) {
			s.t.Errorf("asked for progress, got %s", show(s.notes))
		}
		for _, note := range s.notes {
			if got := in(note, "params.progressToken"); text(got) != text(token) {
				s.t.Errorf("progress of %v, not of %v", got, token)
			}
		}
	}
	s.notes = nil
	if s.stateless() {
		s.ask("tools/call", obj{"name": "i2c_scan", "arguments": arguments, "_meta": obj{"io.modelcontextprotocol/logLevel": "info"}})
	} else {
		s.ask("logging/setLevel", obj{"level": "info"})
		s.ask("tools/call", scan)
		s.ask("logging/setLevel", obj{"level": "emergency"})
	}
	if count("notifications/message") == 0 {
		s.t.Errorf("asked for log messages, got %s", show(s.notes))
	}

	// A cancelled call says nothing more; neither does what is no request.
	r := s.request("tools/call", scan)
	s.send(text(r))
	s.notify("notifications/cancelled", obj{"requestId": r["id"], "reason": "a test"})
	s.notify("notifications/cancelled", obj{"requestId": "never sent"})
	s.notify("notifications/cancelled", nil)
	s.notify("notifications/roots/list_changed", nil)
	s.notify("no/such", nil)
	s.notify("tools/call", obj{"name": "gpio_read", "arguments": obj{"lines": []any{"GPIO17"}}})
	s.send(`{"jsonrpc":"2.0","method":"tools/list","params":7}`)
	s.send(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	s.send(`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}`)
	s.ask("tools/list", nil)
}

// driveRefusals sends requests that are well formed and wrong.
func driveRefusals(s *session) {
	s.t.Helper()
	s.refused("tools/call", obj{}, -32602)
	s.refused("tools/call", obj{"name": "nope", "arguments": obj{}}, -32602)
	s.refused("tools/call", obj{"name": 7}, -32602)
	s.refused("tools/call", obj{"name": "gpio_read", "arguments": []any{}}, -32602)
	s.refused("tools/call", obj{"name": "gpio_read", "arguments": "x"}, -32602)
	s.refused("no/such", nil, -32601)
	s.refused("", nil, -32601)

	raw := func(message string, id any, code int) {
		s.t.Helper()
		s.send(message)
		s.fault(s.answerTo(id), code)
	}
	raw(`{"jsonrpc":"2.0","id":"null","method":"tools/list","params":null}`, "null", -32602)
	raw(`{"jsonrpc":"2.0","id":"array","method":"tools/list","params":[]}`, "array", -32602)
	raw(`{"jsonrpc":"2.0","id":"text","method":"tools/list","params":"x"}`, "text", -32600)
	raw(`{"jsonrpc":"2.0","id":"meta","method":"tools/list","params":{"_meta":7}}`, "meta", -32602)
	raw(`{"jsonrpc":"1.0","id":"1.0","method":"tools/list"}`, "1.0", -32600)
	raw(`{"id":"none","method":"tools/list"}`, "none", -32600)
	raw(`{"jsonrpc":"2.0","id":"no method"}`, "no method", -32600)
	raw(`{"jsonrpc":"2.0","id":"number","method":7}`, "number", -32600)
	raw(`{"jsonrpc":"2.0","id":"twice","method":"tools/list","method":"tools/call"}`, "twice", -32600)

	if !s.stateless() {
		s.refused("initialize", nil, -32602)
		s.refused("initialize", obj{}, -32602)
		s.refused("initialize", obj{"protocolVersion": 20250618, "capabilities": obj{}}, -32602)
		s.refused("initialize", obj{"protocolVersion": s.official.version, "capabilities": []any{}}, -32602)
		s.refused("initialize", obj{"protocolVersion": s.official.version, "capabilities": obj{}, "clientInfo": "x"}, -32602)
		s.refused("logging/setLevel", obj{"level": "loud"}, -32602)
		s.refused("logging/setLevel", obj{"level": 3}, -32602)
		s.refused("logging/setLevel", obj{}, -32602)
		return
	}
	const version, capabilities = "io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"
	for _, method := range []string{"server/discover", "tools/list", "tools/call"} {
		for _, requested := range []string{"1900-01-01", "2027-01-01", "2025-06-18", ""} {
			e := s.refused(method, obj{"_meta": obj{version: requested}}, -32022)
			if in(e, "data.requested") != requested || len(in(e, "data.supported").([]any)) != len(revisions) {
				s.t.Errorf("%s in %q: %s", method, requested, show(e))
			}
		}
		for _, meta := range []obj{
			{version: 20260728},
			{version: nil},
			{capabilities: []any{}},
			{capabilities: nil},
			{"io.modelcontextprotocol/clientInfo": obj{"name": "x"}},
			{"io.modelcontextprotocol/clientInfo": "x"},
			{"io.modelcontextprotocol/logLevel": "loud"},
			{"io.modelcontextprotocol/logLevel": 3},
			{"progressToken": 1.5},
			{"progressToken": obj{}},
		} {
			s.refused(method, obj{"_meta": meta}, -32602)
		}
		raw(`{"jsonrpc":"2.0","id":"bare","method":"`+method+`"}`, "bare", -32602)
		raw(`{"jsonrpc":"2.0","id":"empty","method":"`+method+`","params":{"_meta":{}}}`, "empty", -32602)
		raw(`{"jsonrpc":"2.0","id":"half","method":"`+method+`","params":{"_meta":{"`+version+`":"`+modern+`"}}}`, "half", -32602)
		raw(`{"jsonrpc":"2.0","id":"half","method":"`+method+`","params":{"_meta":{"`+capabilities+`":{}}}}`, "half", -32602)
	}
}

// driveUnserved asks for every method that the revision has and the server does
// not: it must not advertise what it refuses.
func driveUnserved(s *session) {
	s.t.Helper()
	for method := range s.official.requests(s.t) {
		if results[method] == "" {
			s.refused(method, obj{"uri": "board://info", "taskId": "1", "notifications": obj{}}, -32601)
		}
	}
	var got obj
	if s.stateless() {
		got = s.ask("server/discover", nil)
	} else {
		got = s.ask("initialize", obj{"protocolVersion": s.official.version, "capabilities": obj{}, "clientInfo": obj{"name": "t", "version": "1"}})
	}
	for _, path := range []string{
		"tasks", "resources.subscribe", "resources.listChanged", "tools.listChanged", "prompts.listChanged", "experimental", "extensions",
	} {
		if v := in(got, "capabilities."+path); v != nil {
			s.t.Errorf("the server offers %s, which it does not have: %v", path, v)
		}
	}
}

// unreadable are messages whose id cannot be read: JSON-RPC answers them without
// one, which the schemas before 2025-11-25 do not have.
var unreadable = []struct {
	message string
	code    int
}{
	{`{"jsonrpc":"2.0","id":1,"method":"ping"`, -32700},
	{`{"jsonrpc":"2.0","id":1,"method":"ping"} x`, -32700},
	{`{'jsonrpc':"2.0"}`, -32700},
	{"U-Boot 2024.01 (Jan 01 2024 - 00:00:00)", -32700},
	{"[    0.000000] Booting Linux on physical CPU 0x0", -32700},
	{"\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, -32700},
	{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffng\"}", -32700},
	{"nul", -32700},
	{"null", -32600},
	{"17", -32600},
	{`"ping"`, -32600},
	{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, -32600},
	{`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, -32600},
	{strings.Repeat("[", 100), -32600},
	{`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[` + strings.Repeat("1,", 5000) + `1]}}`, -32600},
}

func driveUnreadable(s *session) {
	s.t.Helper()
	for _, u := range unreadable {
		s.send(u.message)
		s.fault(s.answerTo(nil), u.code)
		s.ask("tools/list", nil)
	}
	if s.official.version != "2025-03-26" {
		for _, batch := range []string{`[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`} {
			s.send(batch)
			s.fault(s.answerTo(nil), -32600)
		}
	}
	// What the framer makes no message of.
	broken := []string{strings.Repeat("x", 5<<20) + "\n"}
	if s.framing == header {
		broken = []string{
			"Content-Length: 4000000000\r\n\r\n",
			"Content-Length: -1\r\n\r\n",
			"Content-Length: 12x\r\n\r\n",
			"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
			"Content-Type: application/json\r\n\r\n",
			"Content-Length: 2\r\nContent-Type: application/json; charset=utf-16\r\n\r\n{}",
		}
	}
	for _, b := range broken {
		s.write(b)
		s.fault(s.answerTo(nil), -32700)
		s.ask("tools/list", nil)
	}
}

// Before a handshake only ping is served, and the stateless revision.
func TestNothingButPingComesBeforeInitialize(t *testing.T) {
	for _, version := range revisions[:len(revisions)-1] {
		t.Run(version, func(t *testing.T) {
			o := loadOfficial(t, version)
			for _, f := range framings {
				s := &session{server: start(t, f, ""), t: t, official: o, asked: map[string]bool{}}
				s.ask("ping", nil)
				s.notify("notifications/initialized", nil)
				for _, method := range []string{"tools/list", "tools/call", "resources/read", "no/such"} {
					s.refused(method, obj{"name": "board_info", "uri": "board://info"}, -32602)
				}
				s.handshake()
				s.ask("tools/list", nil)
				s.close()
			}
		})
	}
}

// One connection serves both eras, each in its own shape.
func TestBothErasOnOneConnection(t *testing.T) {
	stateless := loadOfficial(t, modern)
	for _, version := range revisions[:len(revisions)-1] {
		t.Run(version, func(t *testing.T) {
			o := loadOfficial(t, version)
			s := open(t, o, newline, "")
			m := &session{server: s.server, t: t, official: stateless, asked: map[string]bool{}, lastID: 1000}
			for method := range lists {
				s.ask(method, nil)
				m.ask(method, nil)
			}
			s.ask("tools/call", obj{"name": "board_info"})
			m.ask("tools/call", obj{"name": "board_info"})
			s.close()
		})
	}
}

func TestBatches(t *testing.T) {
	o := loadOfficial(t, "2025-03-26")
	for _, f := range framings {
		t.Run(string(f), func(t *testing.T) {
			s := open(t, o, f, slowBus)
			// batch sends requests and gives their responses by id; without names the one of those that have none.
			batch := func(messages ...any) map[string]obj {
				t.Helper()
				s.send(text(messages))
				for {
					switch got := s.next().(type) {
					case obj:
						if got["method"] == nil {
							t.Fatalf("the answer to a batch is %s", show(got))
						}
						s.note(got)
					case []any:
						byID := map[string]obj{}
						var whole []any
						for _, r := range got {
							r := r.(obj)
							id := ""
							if r["id"] != nil {
								id = text(r["id"])
								whole = append(whole, r)
							}
							if byID[id] != nil {
								t.Errorf("two responses to %s", id)
							}
							byID[id] = r
						}
						for _, def := range []string{"JSONRPCBatchResponse", "JSONRPCMessage"} {
							if err := o.def(t, def).Validate(whole); err != nil {
								t.Errorf("%s is no %s: %v", show(whole), def, err)
							}
						}
						return byID
					}
				}
			}
			note := obj{"jsonrpc": "2.0", "method": "notifications/initialized"}
			ping := s.request("ping", nil)
			tools := s.request("tools/list", nil)
			scan := s.request("tools/call", obj{"name": "i2c_scan", "_meta": obj{"progressToken": "b"}})
			read := s.request("tools/call", obj{"name": "gpio_read", "arguments": obj{"lines": []any{"nope"}}})
			prompt := s.request("prompts/get", obj{"name": "check_wiring"})
			unknown := s.request("no/such", nil)
			again := s.request("initialize", obj{"protocolVersion": "2025-03-26", "capabilities": obj{}, "clientInfo": obj{"name": "t", "version": "1"}})
			got := batch(ping, note, tools, scan, read, prompt, unknown, 7, again)
			if len(got) != 8 {
				t.Errorf("8 responses were due, and %d came", len(got))
			}
			for _, r := range []obj{ping, tools, scan, read, prompt} {
				s.result(r["method"].(string), got[text(r["id"])])
			}
			s.fault(got[text(unknown["id"])], -32601)
			s.fault(got[text(again["id"])], -32600)
			s.fault(got[""], -32600)
			if len(s.notes) == 0 {
				t.Error("a call in a batch tells no progress")
			}

			one := s.request("ping", nil)
			s.result("ping", batch(one)[text(one["id"])])

			s.send(text([]any{note, note}))
			s.ask("ping", nil)

			s.send("[]")
			s.fault(s.answerTo(nil), -32600)
			many := slices.Repeat([]any{ping}, 1000)
			s.send(text(many))
			s.fault(s.answerTo(nil), -32600)
			s.close()
		})
	}
}

// A jammed bus: too many calls at once, an id that is in use, an error of the
// bus, and lists in between.
func TestErrorsOfABusThatHangs(t *testing.T) {
	every(t, func(t *testing.T, o *official, f framing) {
		s := open(t, o, f, "[[sim.jam]]\nbus = 1\nseconds = 0.3\n")
		params := obj{"name": "i2c_read", "arguments": obj{"address": "0x76", "register": "0xd0"}}
		first := s.request("tools/call", params)
		s.send(text(first))
		s.send(text(first))
		s.fault(s.answerTo(first["id"]), -32600)
		s.ask("tools/list", nil)
		got := s.result("tools/call", s.answerTo(first["id"]))
		if got["isError"] != true {
			t.Errorf("a jammed bus answers %s", show(got))
		}
		var all []obj
		for range 65 {
			r := s.request("tools/call", params)
			all = append(all, r)
			s.send(text(r))
		}
		got = s.result("tools/call", s.answerTo(all[64]["id"]))
		if got["isError"] != true {
			t.Errorf("one call too many is answered by %s", show(got))
		}
		for _, r := range all[:64] {
			s.notify("notifications/cancelled", obj{"requestId": r["id"]})
		}
		s.ask("tools/list", nil)
		s.close()
	})
}
