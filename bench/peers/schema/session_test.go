package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
)

// session speaks one revision of MCP with a server, and checks each message of
// the server against that revision's schema.
type session struct {
	*server
	t        testing.TB
	official *official
	lastID   int
	asked    map[string]bool // methods that were sent with an id
	notes    []obj           // notifications since they were last taken
}

// modern is the stateless revision.
const modern = "2026-07-28"

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", modern}

// results are the definitions of the results of all methods that are served.
var results = map[string]string{
	"initialize":               "InitializeResult",
	"ping":                     "EmptyResult",
	"logging/setLevel":         "EmptyResult",
	"server/discover":          "DiscoverResult",
	"tools/list":               "ListToolsResult",
	"tools/call":               "CallToolResult",
	"resources/list":           "ListResourcesResult",
	"resources/templates/list": "ListResourceTemplatesResult",
	"resources/read":           "ReadResourceResult",
	"prompts/list":             "ListPromptsResult",
	"prompts/get":              "GetPromptResult",
	"completion/complete":      "CompleteResult",
}

// errorDefs are the definitions that 2026-07-28 has for an error object, by code.
var errorDefs = map[string]string{
	"-32700": "ParseError",
	"-32600": "InvalidRequestError",
	"-32601": "MethodNotFoundError",
	"-32602": "InvalidParamsError",
	"-32603": "InternalError",
}

// responseDefs are the definitions that 2026-07-28 has for a whole error response, by code.
var responseDefs = map[string]string{
	"-32021": "MissingRequiredClientCapabilityError",
	"-32022": "UnsupportedProtocolVersionError",
}

// open starts a server and, where the revision has one, does the handshake.
func open(t testing.TB, o *official, f framing, file string) *session {
	t.Helper()
	s := &session{server: start(t, f, file), t: t, official: o, asked: map[string]bool{}}
	if !s.stateless() {
		s.handshake()
	}
	return s
}

func (s *session) stateless() bool { return s.official.version == modern }

// handshake agrees on the session's revision.
func (s *session) handshake() {
	s.t.Helper()
	got := s.ask("initialize", obj{
		"protocolVersion": s.official.version, "capabilities": obj{}, "clientInfo": obj{"name": "schema-test", "version": "1"},
	})
	if got["protocolVersion"] != s.official.version {
		s.t.Fatalf("asked for %s, got %v", s.official.version, got["protocolVersion"])
	}
	s.notify("notifications/initialized", nil)
}

// request builds a request with the next id. The stateless revision's own _meta
// is added to that in params.
func (s *session) request(method string, params obj) obj {
	s.lastID++
	r := obj{"jsonrpc": "2.0", "id": s.lastID, "method": method}
	params = maps.Clone(params)
	if s.stateless() {
		meta := obj{
			"io.modelcontextprotocol/protocolVersion":    modern,
			"io.modelcontextprotocol/clientCapabilities": obj{},
		}
		if more, ok := params["_meta"].(obj); ok {
			maps.Copy(meta, more)
		}
		if params == nil {
			params = obj{}
		}
		params["_meta"] = meta
	}
	if params != nil {
		r["params"] = params
	}
	s.asked[method] = true
	return r
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// notify sends a notification.
func (s *session) notify(method string, params obj) {
	s.t.Helper()
	n := obj{"jsonrpc": "2.0", "method": method}
	if params != nil {
		n["params"] = params
	}
	s.send(text(n))
}

// ask sends a valid request and gives its result.
func (s *session) ask(method string, params obj) obj {
	s.t.Helper()
	r := s.request(method, params)
	s.mustBeRequest(r)
	s.send(text(r))
	return s.result(method, s.answerTo(r["id"]))
}

// refused sends a request and gives the error that must have this code.
func (s *session) refused(method string, params obj, code int) obj {
	s.t.Helper()
	r := s.request(method, params)
	s.send(text(r))
	return s.fault(s.answerTo(r["id"]), code)
}

// mustBeRequest checks what the test itself sends: a result that was got by a
// request that the schema refuses would prove nothing.
func (s *session) mustBeRequest(r obj) {
	s.t.Helper()
	v, err := decode([]byte(text(r)))
	if err != nil {
		s.t.Fatal(err)
	}
	request := s.official.requests(s.t)[r["method"].(string)]
	if request == nil {
		s.t.Fatalf("MCP %s has no %s", s.official.version, r["method"])
	}
	if err := request.Validate(v); err != nil {
		s.t.Fatalf("the test's own %s is no request of MCP %s: %v", text(r), s.official.version, err)
	}
}

// answerTo gives the response with this id, nil for one without. What comes
// before it are notifications, which are checked and kept.
func (s *session) answerTo(id any) obj {
	s.t.Helper()
	for {
		got, ok := s.next().(obj)
		if !ok {
			s.t.Fatalf("an array came, where one response was due")
		}
		if got["method"] != nil {
			s.note(got)
			continue
		}
		have, has := got["id"]
		if has != (id != nil) || has && text(have) != text(id) {
			s.t.Fatalf("a response to %v was due, and %s came", id, show(got))
		}
		return got
	}
}

// note checks a notification.
func (s *session) note(got obj) {
	s.t.Helper()
	s.official.check(s.t, "JSONRPCNotification", without(got, "params"))
	name := notificationDef(got["method"])
	if name == "" {
		s.t.Errorf("the server must not send %s", show(got))
		return
	}
	if err := s.official.def(s.t, "ServerNotification").Validate(got); err != nil {
		s.t.Errorf("%s is no ServerNotification of MCP %s: %v", show(got), s.official.version, err)
	}
	// Older revisions leave the version of JSON-RPC out of what they define.
	body := got
	if !names(s.official.def(s.t, name), "jsonrpc") {
		body = without(got, "jsonrpc")
	}
	s.official.check(s.t, name, body)
	s.notes = append(s.notes, got)
}

func notificationDef(method any) string {
	switch method {
	case "notifications/progress":
		return "ProgressNotification"
	case "notifications/message":
		return "LoggingMessageNotification"
	}
	return ""
}

// result checks a response that must hold the result of method.
func (s *session) result(method string, got obj) obj {
	s.t.Helper()
	checkResult(s.t, s.official, method, got)
	result, _ := got["result"].(obj)
	if result == nil {
		s.t.Fatalf("%s was refused: %s", method, show(got))
	}
	if s.stateless() && in(result, "_meta") == nil {
		s.t.Errorf("%s does not say which server it is from: %s", method, show(got))
	}
	return result
}

// fault checks a response that must be an error with this code.
func (s *session) fault(got obj, code int) obj {
	s.t.Helper()
	checkError(s.t, s.official, got)
	e, _ := got["error"].(obj)
	if fmt.Sprint(e["code"]) != fmt.Sprint(code) {
		s.t.Errorf("an error %d was due, and %s came", code, show(got))
	}
	return e
}

func checkResult(t testing.TB, o *official, method string, got obj) {
	t.Helper()
	checkMembers(t, got, "jsonrpc", "id", "result")
	checkMessage(t, o, got)
	name := o.first(t, "JSONRPCResultResponse", "JSONRPCResponse")
	if err := o.def(t, name).Validate(got); err != nil {
		t.Errorf("%s is no %s of MCP %s: %v", show(got), name, o.version, err)
	}
	o.check(t, results[method], got["result"])
	if whole := results[method] + "Response"; o.has(whole) {
		if err := o.def(t, whole).Validate(got); err != nil {
			t.Errorf("%s is no %s of MCP %s: %v", show(got), whole, o.version, err)
		}
	}
}

// checkError checks an error response. JSON-RPC has errors without an id, about
// a request whose id could not be read, and the revisions before 2025-11-25 have
// none: such a response must be one of theirs but for the id.
func checkError(t testing.TB, o *official, got obj) {
	t.Helper()
	name := o.first(t, "JSONRPCErrorResponse", "JSONRPCError")
	if _, has := got["id"]; !has {
		checkMembers(t, got, "jsonrpc", "error")
		if slices.Contains(o.def(t, name).Required, "id") {
			got = maps.Clone(got)
			got["id"] = json.Number("0")
		}
	}
	checkMessage(t, o, got)
	o.check(t, name, got)
	code := fmt.Sprint(in(got, "error.code"))
	if def := errorDefs[code]; o.has(def) {
		o.check(t, def, got["error"])
	}
	if def := responseDefs[code]; o.has(def) {
		o.check(t, def, got)
	}
}

func checkMessage(t testing.TB, o *official, got obj) {
	t.Helper()
	if err := o.def(t, "JSONRPCMessage").Validate(got); err != nil {
		t.Errorf("%s is no JSONRPCMessage of MCP %s: %v", show(got), o.version, err)
	}
}

// checkMembers says that an object has not exactly these members.
func checkMembers(t testing.TB, got obj, want ...string) {
	t.Helper()
	have := slices.Sorted(maps.Keys(got))
	slices.Sort(want)
	if !reflect.DeepEqual(have, want) {
		t.Errorf("%s has the members %v, not %v", show(got), have, want)
	}
}

func without(o obj, key string) obj {
	o = maps.Clone(o)
	delete(o, key)
	return o
}
