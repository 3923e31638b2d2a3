package httpfront

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"boardhand/rpc"
)

// FuzzPost: whatever comes, there is one response, of a status that is one, and what
// says that it is JSON is JSON without a line end but its last.
func FuzzPost(f *testing.F) {
	modern := modernCall("tools/call", `"name":"read","arguments":{"line":"a"}`)
	f.Add("2026-07-28", "tools/call", "read", "", "application/json, text/event-stream", modern)
	f.Add("", "", "", "", "", `{"jsonrpc":"2.0","method":"ping"}`)
	f.Add("", "", "", "", "", `{"jsonrpc":"2.0","id":1,"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/read:v1"}}`)
	f.Add("", "", "", "", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":{}}}`+"\n"+`{"jsonrpc":"2.0","id":2,"method":"mcp/listTools"}`)
	f.Add("2025-11-25", "", "", "", "text/event-stream", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	f.Add("2025-03-26", "", "", "x", "*/*", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`)
	f.Add("2026-07-28", "tools/call", "=?base64?cmVhZA==?=", "", "", modern)
	f.Add("2099-01-01", "", "", "", "", `{"jsonrpc":"2.0","id":{},"method":"ping"}`)
	srv := rpc.NewServer(testCatalogue(), rpc.Limits{Timeout: 20 * time.Millisecond}, func(entry string, value any, stack []byte) {
		panic(value)
	})
	s := New(Config{Open: func(out Sink) Conn { return srv.NewConn(out) }, Catalogue: srv.Catalogue(), Message: 1 << 16})
	f.Fuzz(func(t *testing.T, version, method, name, session, accept, body string) {
		if strings.Contains(body, "wait") {
			return // which would wait
		}
		r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		for k, v := range map[string]string{headerVersion: version, headerMethod: method, headerName: name, headerSession: session, "Accept": accept} {
			if v != "" {
				r.Header[k] = []string{v}
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		text := w.Body.String()
		if w.Header().Get("Content-Type") == "application/json" && w.Code >= 200 && w.Code < 500 {
			for line := range strings.Lines(text) {
				if !json.Valid([]byte(line)) {
					t.Fatalf("status %d: %q is no JSON", w.Code, line)
				}
			}
		}
		if w.Code == http.StatusAccepted && text != "" {
			t.Fatalf("202 with %q", text)
		}
		s.sessions.sweep(time.Now().Add(time.Hour), time.Minute)
	})
}

func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":"a\"b","method":"x"}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"x"}}`))
	f.Add([]byte(`{"id":1,"jsonrpc":"2.0","error":{"code":-32601}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0"}]`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var m message
		_, _ = m.answers(line)
	})
}
