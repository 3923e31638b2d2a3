package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// example reads a file of the official examples, as its definition's name and its content.
func example(t testing.TB, file string) (def string, v any) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err = decode(b)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return filepath.Base(filepath.Dir(file)), v
}

func exampleFiles(t testing.TB, pattern string) []string {
	t.Helper()
	dir := filepath.Join(*schemasDir, "examples-"+modern)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("the official examples are not here (%v); -schemas names the folder above them", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, pattern, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples in %s: %v", dir, err)
	}
	return files
}

// What the checks of this package refuse must not be what the standard shows.
func TestTheOfficialExamplesPassTheChecks(t *testing.T) {
	o := loadOfficial(t, modern)
	for _, file := range exampleFiles(t, "*") {
		def, v := example(t, file)
		if def == "ReadResourceResultResponse" && in(v, "result.ttlMs") == nil {
			continue // it lacks what its own ReadResourceResult requires, and passes as an InputRequiredResult
		}
		if def == "ListRootsRequest" {
			v = without(v.(obj), "id") // which its definition does not have
		}
		t.Run(def, func(t *testing.T) { o.check(t, def, v) })
	}
}

// filled adds to a _meta what every stateless request has.
func filled(meta obj) obj {
	for key, v := range (obj{
		"io.modelcontextprotocol/protocolVersion":    modern,
		"io.modelcontextprotocol/clientCapabilities": obj{},
	}) {
		if meta[key] == nil {
			meta[key] = v
		}
	}
	return meta
}

// exampleMethods are the methods of the examples that show only params.
var exampleMethods = map[string]string{
	"CallToolRequestParams":            "tools/call",
	"CompleteRequestParams":            "completion/complete",
	"GetPromptRequestParams":           "prompts/get",
	"ReadResourceRequestParams":        "resources/read",
	"PaginatedRequestParams":           "tools/list",
	"SubscriptionsListenRequestParams": "subscriptions/listen",
	"CreateMessageRequestParams":       "sampling/createMessage",
	"ElicitRequestFormParams":          "elicitation/create",
	"ElicitRequestURLParams":           "elicitation/create",
}

// exampleCodes are the errors that the examples' methods get of a board that has
// no get_weather, no code_review and no files: what they name does not exist.
// Methods that are missing here give a result.
var exampleCodes = map[string]int{
	"tools/call":             -32602,
	"completion/complete":    -32602,
	"prompts/get":            -32602,
	"resources/read":         -32602,
	"subscriptions/listen":   -32601,
	"sampling/createMessage": -32601, // these are the server's to ask
	"elicitation/create":     -32601,
	"roots/list":             -32601,
}

// The requests that the standard shows are answered, each with its result or the
// right error.
func TestTheOfficialExampleRequestsAreAnswered(t *testing.T) {
	o := loadOfficial(t, modern)
	for _, f := range framings {
		t.Run(string(f), func(t *testing.T) {
			s := open(t, o, f, "")
			seen := map[string]bool{}
			for _, file := range exampleFiles(t, "*Request*") {
				def, v := example(t, file)
				r, ok := v.(obj)
				if !ok || strings.HasPrefix(def, "Input") || def == "InvalidRequestError" {
					continue
				}
				if method, ok := exampleMethods[def]; ok {
					r = obj{"method": method, "params": r}
				} else if !strings.HasSuffix(def, "Request") {
					continue
				}
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				message := strings.Join(strings.Fields(string(raw)), " ") // as it is, in one line
				if r["jsonrpc"] == nil || r["id"] == nil || in(r, "params._meta") == nil || exampleMethods[def] != "" {
					message = completed(r, def)
				}
				method := r["method"].(string)
				seen[method] = true
				s.send(message)
				got := s.answerTo(r["id"])
				code := exampleCodes[method]
				if def == "PaginatedRequestParams" {
					code = -32602 // its cursor is another server's
				}
				if code == 0 {
					s.result(method, got)
				} else {
					s.fault(got, code)
				}
			}
			for method := range o.requests(t) {
				if !seen[method] {
					t.Errorf("no example asks %s", method)
				}
			}
			for _, file := range exampleFiles(t, "CancelledNotification") {
				_, v := example(t, file)
				s.send(text(v))
			}
			s.ask("server/discover", nil)
			s.close()
		})
	}
}

// completed adds to an example what a message on a wire has and it lacks.
func completed(r obj, id string) string {
	if r["jsonrpc"] == nil {
		r["jsonrpc"] = "2.0"
	}
	if r["id"] == nil {
		r["id"] = id
	}
	params, _ := r["params"].(obj)
	if params == nil {
		params = obj{}
		r["params"] = params
	}
	meta, _ := params["_meta"].(obj)
	if meta == nil {
		meta = obj{}
	}
	params["_meta"] = filled(meta)
	return text(r)
}
