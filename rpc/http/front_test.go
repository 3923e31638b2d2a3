package httpfront

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/rpc/http/oauth"
	"boardhand/rpc/wire"
)

// testCatalogue has a tool that answers at once, one that takes its time, and one that
// reports progress.
func testCatalogue() rpc.Catalogue {
	return rpc.Catalogue{
		Name: "thing", Title: "A thing", Version: "1.0",
		Tools: []rpc.Tool{
			{Name: "read", Title: "Read", Description: "Reads.", Hints: rpc.Hints{ReadOnly: true},
				Params: []rpc.Param{{Name: "line", Type: rpc.String, Header: "Line"}, {Name: "n", Type: rpc.Integer, Header: "N", Min: 0, Max: 1000}},
				Run: func(c *rpc.Call) error {
					c.Out = append(wire.AppendString(append(c.Out, `{"line":`...), c.Str(0)), '}')
					return nil
				}},
			{Name: "write", Title: "Write", Description: "Writes.", Run: func(c *rpc.Call) error {
				c.Out = append(c.Out, "{}"...)
				return nil
			}},
			{Name: "wait", Title: "Wait", Description: "Waits until it is cancelled.", Timeout: 10 * time.Second,
				Queue: func(c *rpc.Call) string { return "bus" },
				Run: func(c *rpc.Call) error {
					<-c.Gone()
					cancelled <- true
					return fmt.Errorf("nobody wants it")
				}},
			{Name: "report", Title: "Report", Description: "Reports and answers.", Raw: true,
				Queue: func(c *rpc.Call) string { return "other" },
				Run: func(c *rpc.Call) error {
					if token := c.ProgressToken(); len(token) > 0 {
						c.Notify("notifications/progress", []byte(`{"progressToken":`+string(token)+`,"progress":1}`))
					}
					c.Out = append(c.Out, `"content":[]`...)
					return nil
				}},
		},
	}
}

var cancelled = make(chan bool, 8)

// serve serves the test's catalogue and gives the address.
func serve(t testing.TB, change func(*Config)) (url string, s *Server) {
	t.Helper()
	srv := rpc.NewServer(testCatalogue(), rpc.Limits{}, nil)
	c := Config{
		Open:      func(out Sink) Conn { return srv.NewConn(out) },
		Catalogue: srv.Catalogue(),
		Card:      CardOf(srv.Catalogue(), "A thing to test"),
	}
	if change != nil {
		change(&c)
	}
	s = New(c)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l, nil, func(line string) { t.Error(line) }) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String() + Path, s
}

// exchange is a request and what must come back.
type exchange struct {
	name    string
	method  string // POST
	path    string // the endpoint
	headers string // "Name: value" lines
	body    string
	status  int
	kind    string // of the response's content, or empty
	want    string // a part of the body
	not     string // no part of it
}

const (
	jsonBody   = "Content-Type: application/json\n"
	both       = jsonBody + "Accept: application/json, text/event-stream\n"
	modernHead = both + "MCP-Protocol-Version: 2026-07-28\n"
	meta       = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
)

func modernCall(method, params string) string {
	if params != "" {
		params += ","
	}
	return `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + meta + `}}`
}

func send(t testing.TB, url string, x exchange) (*http.Response, string) {
	t.Helper()
	method := x.method
	if method == "" {
		method = http.MethodPost
	}
	if x.path != "" {
		url = strings.TrimSuffix(url, Path) + x.path
	}
	r, err := http.NewRequest(method, url, strings.NewReader(x.body))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(x.headers) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if k == "Host" {
			r.Host = v
		} else {
			r.Header.Add(k, v)
		}
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(text)
}

func TestRequests(t *testing.T) {
	t.Run("here", func(t *testing.T) { url, _ := serve(t, func(c *Config) { c.Message = 4096 }); testRequests(t, url) })
	t.Run("at the end of a stream", func(t *testing.T) {
		url, _ := serve(t, func(c *Config) { c.Message = 4096; c.Open = remote(t).Open })
		testRequests(t, url)
	})
}

// remote is the test's catalogue at the other end of a stream.
func remote(t *testing.T) *Remote {
	srv := rpc.NewServer(testCatalogue(), rpc.Limits{}, nil)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	r := NewRemote(toServer, frame.Newline, 0)
	ended := make(chan error, 2)
	go func() { ended <- srv.Serve(in, out); out.Close() }()
	go func() { ended <- r.Run(fromServer, 1<<20) }()
	t.Cleanup(func() {
		toServer.Close()
		<-ended
		<-ended
	})
	return r
}

func testRequests(t *testing.T, url string) {
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), Path)
	tool := func(name, more string) string { return modernCall("tools/call", `"name":"`+name+`"`+more) }
	called := modernHead + "Mcp-Method: tools/call\nMcp-Name: read\n"
	for _, x := range []exchange{
		// MCP 2026-07-28
		{name: "stateless call", headers: called, body: tool("read", ""), status: 200, kind: "application/json", want: `"id":7,"result":{"resultType":"complete"`},
		{name: "stateless discovery", headers: modernHead + "Mcp-Method: server/discover\n", body: modernCall("server/discover", ""), status: 200, want: `"supportedVersions"`},
		{name: "header names in any case", headers: both + "mcp-protocol-version: 2026-07-28\nMCP-METHOD: tools/call\nmcp-NAME: read\n", body: tool("read", ""), status: 200},
		{name: "no version header", headers: both + "Mcp-Method: tools/call\nMcp-Name: read\n", body: tool("read", ""), status: 400, want: `"id":7,"error":{"code":-32020`},
		{name: "another version header", headers: both + "MCP-Protocol-Version: 2025-11-25\nMcp-Method: tools/call\nMcp-Name: read\n", body: tool("read", ""), status: 400, want: `-32020`},
		{name: "no method header", headers: modernHead + "Mcp-Name: read\n", body: tool("read", ""), status: 400, want: `-32020`},
		{name: "another method header", headers: modernHead + "Mcp-Method: TOOLS/CALL\nMcp-Name: read\n", body: tool("read", ""), status: 400, want: `-32020`},
		{name: "two method headers", headers: called + "Mcp-Method: tools/list\n", body: tool("read", ""), status: 400, want: `-32020`},
		{name: "no name header", headers: modernHead + "Mcp-Method: tools/call\n", body: tool("read", ""), status: 400, want: `-32020`},
		{name: "another name header", headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: write\n", body: tool("read", ""), status: 400, want: `write`},
		{name: "coded name header", headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: =?base64?cmVhZA==?=\n", body: tool("read", ""), status: 200},
		{name: "badly coded name header", headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: =?base64?cmVhZA?=\n", body: tool("read", ""), status: 400, want: `-32020`},
		{name: "argument without its header", headers: called, body: tool("read", `,"arguments":{"line":"a"}`), status: 400, want: `Mcp-Param-Line`},
		{name: "argument with its header", headers: called + "Mcp-Param-Line: a\n", body: tool("read", `,"arguments":{"line":"a"}`), status: 200, want: `\"line\":\"a\"`},
		{name: "argument with a coded header", headers: called + "Mcp-Param-Line: =?base64?w6Q=?=\n", body: tool("read", `,"arguments":{"line":"ä"}`), status: 200},
		{name: "argument with another header", headers: called + "Mcp-Param-Line: b\n", body: tool("read", `,"arguments":{"line":"a"}`), status: 400, want: `-32020`},
		{name: "header without its argument", headers: called + "Mcp-Param-Line: b\n", body: tool("read", ""), status: 400, want: `-32020`},
		{name: "number written otherwise", headers: called + "Mcp-Param-N: 42.0\n", body: tool("read", `,"arguments":{"n":42}`), status: 200},
		{name: "header of nobody", headers: called + "Mcp-Param-Other: b\n", body: tool("read", ""), status: 200},
		{name: "unknown method", headers: modernHead + "Mcp-Method: no/such\n", body: modernCall("no/such", ""), status: 404, want: `-32601`},
		{name: "method of older revisions", headers: modernHead + "Mcp-Method: initialize\n", body: `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{}}`, status: 404, want: `"id":7,"error":{"code":-32601`},
		{name: "unknown version", headers: both + "MCP-Protocol-Version: 2099-01-01\n", body: `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, status: 400, want: `-32022`},
		{name: "unknown version in both places", headers: both + "MCP-Protocol-Version: 2099-01-01\nMcp-Method: tools/list\n",
			body: strings.Replace(modernCall("tools/list", ""), "2026-07-28", "2099-01-01", 1), status: 400, want: `-32022`},
		{name: "no meta", headers: modernHead + "Mcp-Method: tools/list\n", body: `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{}}`, status: 400, want: `"code":-32602`},
		{name: "unknown tool", headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: nothing\n", body: tool("nothing", ""), status: 200, want: `"code":-32602`},
		{name: "notification", headers: modernHead, body: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,` + meta + `}}`, status: 202},
		{name: "response", headers: modernHead, body: `{"jsonrpc":"2.0","id":1,"result":{}}`, status: 400},
		{name: "batch", headers: modernHead, body: `[` + modernCall("tools/list", "") + `]`, status: 400},
		{name: "stream of a call that reports", headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: report\n",
			body: strings.Replace(tool("report", ""), `"_meta":{`, `"_meta":{"progressToken":"p",`, 1), status: 200, kind: "text/event-stream", want: `"notifications/progress"`},
		{name: "JSON of a call that has nothing to report", headers: modernHead + "Mcp-Method: tools/call\nMcp-Name: report\n", body: tool("report", ""), status: 200, kind: "application/json", want: `"content":[]`},
		{name: "no stream for who takes none", headers: jsonBody + "Accept: application/json\nMCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: report\n",
			body: strings.Replace(tool("report", ""), `"_meta":{`, `"_meta":{"progressToken":"p",`, 1), status: 200, kind: "application/json", want: `"content":[]`},
		{name: "GET", method: "GET", headers: modernHead, status: 405},
		{name: "DELETE", method: "DELETE", headers: modernHead, status: 405},
		{name: "PUT", method: "PUT", headers: modernHead, status: 405},
		{name: "session of a newer client", headers: called + "Mcp-Session-Id: 1\n", body: tool("read", ""), status: 200},

		// What is no message
		{name: "no JSON", headers: both, body: `{"jsonrpc":`, status: 400, want: `-32700`},
		{name: "nothing", headers: both, status: 400, want: `-32700`},
		{name: "no object", headers: both, body: `"text"`, status: 400},
		{name: "another content type", headers: "Content-Type: text/plain\n", body: `{}`, status: 415},
		{name: "too long", headers: both, body: `{"x":"` + strings.Repeat("x", 4096) + `"}`, status: 413, want: `4096`},

		// Strangers
		{name: "another host", headers: both + "Host: evil.example.com\n", body: `{}`, status: 403},
		{name: "another site's page", headers: both + "Origin: http://evil.example.com\n", body: `{}`, status: 403},
		{name: "a page of nobody", headers: both + "Origin: null\n", body: `{}`, status: 403},
		{name: "a page on this machine", headers: called + "Origin: http://localhost:6274\n", body: tool("read", ""), status: 200},
		{name: "a page on another machine in the network", headers: called + "Origin: http://192.168.1.7\n", body: tool("read", ""), status: 403},
		{name: "localhost", headers: called + "Host: localhost:1\n", body: tool("read", ""), status: 200},
		{name: "localhost in version 6", headers: called + "Host: [::1]:1\n", body: tool("read", ""), status: 200},
		{name: "another path", path: "/", headers: both, body: `{}`, status: 404},

		// A client without a session that takes no stream
		{name: "plain ping", headers: jsonBody, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, status: 200, kind: "application/json", want: `{"jsonrpc":"2.0","id":1,"result":{}}`},
		{name: "plain list", headers: jsonBody, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`, status: 200, want: `"tools":[`},
		{name: "plain call", headers: jsonBody, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{"line":"x"}}}`, status: 200, want: `"isError"`, not: `"isError"`},
		{name: "plain initialize", headers: jsonBody, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, status: 200, want: `"protocolVersion":"2025-03-26"`},
		{name: "plain ping without an id", headers: jsonBody, body: ` {"jsonrpc":"2.0","method":"ping"}`, status: 200, want: `{"jsonrpc":"2.0","result":{}}`},
		{name: "plain call without an id", headers: jsonBody, body: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write"}}`, status: 200, want: `{"jsonrpc":"2.0","result":{"content"`},
		{name: "plain notification", headers: jsonBody, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 202},
		{name: "without a session and with streams", headers: both, body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, status: 400, want: `initialize`},
		{name: "a session that is not there", headers: both + "Mcp-Session-Id: nothing\n", body: `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, status: 404},

		// The Content-Length MCP 1.0
		{name: "1.0: a call as its specification shows it", headers: jsonBody, body: `{"jsonrpc": "2.0",
			"method": "mcp/executeTool", "params": {"id": "mcp://boardhand/tools/read:v1", "arguments": {"line": "x"}}, "id": 2}`,
			status: 200, kind: "application/json", want: `"result":{"output":{"line":"x"}}`},
		{name: "1.0: an error with status 200", headers: jsonBody, body: `{"jsonrpc":"2.0","id":3,"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/none:v1"}}`,
			status: 200, want: `"id":3,"error":{"code":-32602,"message":"Invalid params"`},
		{name: "1.0: bad JSON", headers: jsonBody, body: `{"jsonrpc":"2.0","id":3,"method":"mcp/`, status: 400, want: `-32700`},
		{name: "1.0: a session in one body", headers: jsonBody, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":{}}}
			{"jsonrpc":"2.0","method":"initialized","params":{}}
			{"jsonrpc":"2.0","id":2,"method":"mcp/listTools"}`, status: 200, want: "\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":["},
		{name: "1.0: initialize alone", headers: jsonBody, body: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":{}}}`, status: 200, want: `"listToolsProvider":true`},

		// The card
		{name: "card", method: "GET", path: "/mcp/server-card", status: 200, kind: "application/mcp-server-card+json", want: `"url":"http://` + host + `/mcp"`},
		{name: "card at the well-known path", method: "GET", path: "/.well-known/mcp/server-card", status: 200, kind: "application/mcp-server-card+json"},
		{name: "card is not written", method: "POST", path: "/mcp/server-card", status: 405},
	} {
		t.Run(x.name, func(t *testing.T) {
			res, body := send(t, url, x)
			if res.StatusCode != x.status {
				t.Errorf("status %d, want %d: %s", res.StatusCode, x.status, body)
			}
			if kind := res.Header.Get("Content-Type"); x.kind != "" && kind != x.kind {
				t.Errorf("content %q, want %q", kind, x.kind)
			}
			if x.not != "" {
				if strings.Contains(body, x.not) {
					t.Errorf("%s; it must not hold %s", body, x.not)
				}
			} else if !strings.Contains(body, x.want) {
				t.Errorf("%s; want %s in it", body, x.want)
			}
		})
	}
}

// begin begins a session.
func begin(t testing.TB, url, version string) (id string) {
	t.Helper()
	res, body := send(t, url, exchange{headers: both, body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`})
	id = res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != 200 || id == "" || !strings.Contains(body, `"protocolVersion":"`+version+`"`) {
		t.Fatalf("initialize: status %d, session %q: %s", res.StatusCode, id, body)
	}
	return id
}

func TestSessions(t *testing.T) {
	t.Run("here", func(t *testing.T) { testSessions(t, false) })
	t.Run("at the end of a stream", func(t *testing.T) { testSessions(t, true) })
}

func testSessions(t *testing.T, far bool) {
	for _, version := range []string{"2025-03-26", "2025-06-18", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			url, s := serve(t, func(c *Config) {
				if far {
					c.Open = remote(t).Open
				}
			})
			id := begin(t, url, version)
			in := both + "Mcp-Session-Id: " + id + "\n"
			if version != "2025-03-26" {
				in += "MCP-Protocol-Version: " + version + "\n"
			}
			for _, x := range []exchange{
				{headers: in, body: `{"jsonrpc":"2.0","method":"notifications/initialized"}`, status: 202},
				{headers: in, body: `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"read","arguments":{"line":"x"}}}`, status: 200, want: `"id":"a","result":{"content"`},
				{headers: in, body: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"report","arguments":{},"_meta":{"progressToken":1}}}`, status: 200, want: `"notifications/progress"`},
				{headers: in, body: `{"jsonrpc":"2.0","id":3,"method":"no/such"}`, status: 200, want: `-32601`},
				{headers: in, body: `{"jsonrpc":"2.0","id":9,"result":{}}`, status: 202},
				{headers: in, body: `{"jsonrpc":`, status: 400, want: `-32700`},
				{headers: in + "MCP-Protocol-Version: 2099-01-01\n", body: `{"jsonrpc":"2.0","id":4,"method":"ping"}`, status: map[bool]int{true: 400, false: 200}[version == "2025-03-26"]},
				{method: "GET", headers: "Mcp-Session-Id: " + id + "\n", status: 406},
				{method: "GET", headers: "Accept: text/event-stream\n", status: 405},
				{method: "GET", headers: "Accept: text/event-stream\nMcp-Session-Id: no\n", status: 404},
			} {
				res, body := send(t, url, x)
				if res.StatusCode != x.status || !strings.Contains(body, x.want) {
					t.Errorf("%s: status %d, want %d: %s; want %s", x.body, res.StatusCode, x.status, body, x.want)
				}
			}
			if version == "2025-03-26" && !far {
				res, body := send(t, url, exchange{headers: in, body: `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/initialized"}]`})
				if res.StatusCode != 200 || strings.Count(body, `"result":{}`) != 2 || body[0] != '[' {
					t.Errorf("a batch: status %d: %s", res.StatusCode, body)
				}
				if res, _ := send(t, url, exchange{headers: in, body: `[{"jsonrpc":"2.0","method":"notifications/initialized"}]`}); res.StatusCode != 202 {
					t.Errorf("a batch of notifications: status %d", res.StatusCode)
				}
			}
			if res, _ := send(t, url, exchange{method: "DELETE", headers: "Mcp-Session-Id: " + id + "\n"}); res.StatusCode != 204 {
				t.Errorf("DELETE: status %d", res.StatusCode)
			}
			for _, method := range []string{"POST", "DELETE"} {
				if res, _ := send(t, url, exchange{method: method, headers: in, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}); res.StatusCode != 404 {
					t.Errorf("%s after the end: status %d, want 404", method, res.StatusCode)
				}
			}
			if n := len(s.sessions.open); n != 0 {
				t.Errorf("%d sessions are left", n)
			}
		})
	}
}

// stream opens a request and gives its response before it has ended.
func stream(t testing.TB, url, method, headers, body string) (*http.Response, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(headers) {
		k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); res.Body.Close() })
	return res, cancel
}

func TestAStreamThatIsClosedCancelsItsCall(t *testing.T) {
	url, _ := serve(t, func(c *Config) { c.KeepAlive = 20 * time.Millisecond })
	res, cancel := stream(t, url, "POST", modernHead+"Mcp-Method: tools/call\nMcp-Name: wait\n", modernCall("tools/call", `"name":"wait"`))
	if line, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil || line[0] != ':' {
		t.Fatalf("%q, %v; want a comment", line, err)
	}
	cancel()
	select {
	case <-cancelled:
	case <-time.After(5 * time.Second):
		t.Error("the call goes on")
	}
}

func TestASessionsCallIsCancelledByANotificationOnly(t *testing.T) {
	url, s := serve(t, func(c *Config) { c.KeepAlive = 20 * time.Millisecond })
	id := begin(t, url, "2025-11-25")
	in := both + "Mcp-Session-Id: " + id + "\n"
	wait := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`
	res, cancel := stream(t, url, "POST", in, wait)
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case <-cancelled:
		t.Fatal("the call has ended with its stream")
	case <-time.After(100 * time.Millisecond):
	}
	stop := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	if res, body := send(t, url, exchange{headers: in, body: stop}); res.StatusCode != 202 {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
	<-cancelled
	// One whose client waits gets no answer, and its stream ends.
	res, _ = stream(t, url, "POST", in, wait)
	send(t, url, exchange{headers: in, body: stop})
	<-cancelled
	if text, err := io.ReadAll(res.Body); err != nil || bytes.Contains(text, []byte(`"id":1`)) {
		t.Errorf("%q, %v; want no answer", text, err)
	}
	s.sessions.mu.Lock()
	n := s.sessions.open[id]
	s.sessions.mu.Unlock()
	busy := func() bool {
		n.mu.Lock()
		defer n.mu.Unlock()
		return len(n.waiting) > 0 || n.streams > 0
	}
	for deadline := time.Now().Add(time.Second); busy() && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if n := len(n.waiting); n != 0 {
		t.Errorf("%d tags are in use", n)
	}
}

func TestAGetStreamLastsAsLongAsItsSession(t *testing.T) {
	url, _ := serve(t, func(c *Config) { c.Streams = 1 })
	id := begin(t, url, "2025-06-18")
	headers := "Accept: text/event-stream\nMcp-Session-Id: " + id + "\n"
	res, _ := stream(t, url, "GET", headers, "")
	if res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("headers %v", res.Header)
	}
	if res, _ := send(t, url, exchange{method: "GET", headers: headers}); res.StatusCode != http.StatusConflict {
		t.Errorf("a second stream: status %d", res.StatusCode)
	}
	send(t, url, exchange{method: "DELETE", headers: headers})
	if text, err := io.ReadAll(res.Body); err != nil || string(text) != comment {
		t.Errorf("%q, %v; want the stream's end", text, err)
	}
}

func TestSessionsHaveALimit(t *testing.T) {
	url, s := serve(t, func(c *Config) { c.Sessions = 2 })
	first, second := begin(t, url, "2025-11-25"), begin(t, url, "2025-11-25")
	open := exchange{headers: both, body: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`}
	if res, body := send(t, url, open); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("status %d: %s", res.StatusCode, body)
	}
	s.sessions.open[first].last = time.Now().Add(-2 * evictable)
	begin(t, url, "2025-11-25")
	for id, want := range map[string]int{first: 404, second: 200} {
		if res, _ := send(t, url, exchange{headers: both + "Mcp-Session-Id: " + id + "\n", body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}); res.StatusCode != want {
			t.Errorf("status %d, want %d", res.StatusCode, want)
		}
	}
	s.sessions.sweep(time.Now().Add(2*time.Hour), time.Hour)
	if n := len(s.sessions.open); n != 0 {
		t.Errorf("%d sessions have outlived the idle time", n)
	}
}

// A body that comes line by line is answered line by line (the Content-Length MCP 1.0,
// "HTTP/1.1").
func TestABodyThatComesInLinesIsAnsweredInLines(t *testing.T) {
	url, _ := serve(t, nil)
	body, lines := io.Pipe()
	r, err := http.NewRequest("POST", url, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	type answer struct {
		res *http.Response
		err error
	}
	answers := make(chan answer, 1)
	go func() { res, err := http.DefaultClient.Do(r); answers <- answer{res, err} }()
	_, _ = io.WriteString(lines, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":{}}}`+"\n")
	a := <-answers
	if a.err != nil {
		t.Fatal(a.err)
	}
	defer a.res.Body.Close()
	if a.res.Header.Get("Content-Type") != "application/json" || len(a.res.TransferEncoding) == 0 {
		t.Errorf("headers %v, %v", a.res.Header, a.res.TransferEncoding)
	}
	in := bufio.NewReader(a.res.Body)
	for i, x := range []struct{ send, want string }{
		{"", `"listToolsProvider":true`},
		{`{"jsonrpc":"2.0","method":"initialized"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"mcp/listTools"}` + "\n", `"id":2`},
		{`{"jsonrpc":"2.0","id":3,"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/report:v1","arguments":{}}}` + "\n", `"id":3`},
		{"no JSON\n", `-32700`},
	} {
		_, _ = io.WriteString(lines, x.send)
		line, err := in.ReadString('\n')
		if err != nil || !strings.Contains(line, x.want) || !json.Valid([]byte(line)) {
			t.Errorf("line %d: %q, %v; want %s", i, line, err, x.want)
		}
	}
	_ = lines.Close()
	if rest, err := io.ReadAll(in); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v; want the end", rest, err)
	}
}

func TestTLS(t *testing.T) {
	pair := selfSigned(t)
	srv := rpc.NewServer(testCatalogue(), rpc.Limits{}, nil)
	s := New(Config{Open: func(out Sink) Conn { return srv.NewConn(out) }, Catalogue: srv.Catalogue(), Card: CardOf(srv.Catalogue(), "x")})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l, &tls.Config{Certificates: []tls.Certificate{pair}}, nil) }()
	defer func() {
		s.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	roots := x509.NewCertPool()
	roots.AddCert(pair.Leaf)
	c := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	res, err := c.Get("https://" + l.Addr().String() + "/mcp/server-card")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 || !strings.Contains(string(text), `"url":"https://`+l.Addr().String()+`/mcp"`) {
		t.Errorf("status %d: %s", res.StatusCode, text)
	}
}

func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// What a token may not do it may not do in any way of saying it.
func TestWhoMayOnlyReadChangesNothing(t *testing.T) {
	store, err := oauth.OpenStore("", nil)
	if err != nil {
		t.Fatal(err)
	}
	auth, err := oauth.New(oauth.Config{Path: Path, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	srv := rpc.NewServer(testCatalogue(), rpc.Limits{}, nil)
	s := New(Config{Open: func(out Sink) Conn { return srv.NewConn(out) }, Catalogue: srv.Catalogue(), Auth: auth, Values: 64})
	write := modernCall("tools/call", `"name":"write"`)
	for name, x := range map[string]struct {
		headers, body string
		want          int
	}{
		"reads":             {modernHead + "Mcp-Method: tools/call\nMcp-Name: read\n", modernCall("tools/call", `"name":"read"`), 200},
		"lists":             {modernHead + "Mcp-Method: tools/list\n", modernCall("tools/list", ""), 200},
		"writes":            {modernHead + "Mcp-Method: tools/call\nMcp-Name: write\n", write, 403},
		"an unknown tool":   {modernHead + "Mcp-Method: tools/call\nMcp-Name: no\n", modernCall("tools/call", `"name":"no"`), 403},
		"says it twice":     {modernHead + "Mcp-Method: tools/call\nMcp-Name: read\n", modernCall("tools/call", `"name":"read","name":"write"`), 200}, // with an error
		"plainly":           {jsonBody, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}`, 403},
		"without an id":     {jsonBody, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"write"}}`, 403},
		"escaped":           {jsonBody, `{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"n\u0061me":"wr\u0069te"}}`, 403},
		"in a batch":        {jsonBody, `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write"}}]`, 403},
		"by 1.0":            {jsonBody, `{"jsonrpc":"2.0","id":1,"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/write:v1"}}`, 403},
		"in lines of 1.0":   {jsonBody, openingLine + `{"jsonrpc":"2.0","id":1,"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/write:v1"}}`, 200}, // which ends the stream
		"beyond the limits": {jsonBody, `{"x":[` + strings.Repeat("0,", 100) + `0],"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write"}}`, 400},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("POST", "http://localhost/mcp", strings.NewReader(x.body))
			for line := range strings.Lines(x.headers) {
				k, v, _ := strings.Cut(strings.TrimSpace(line), ": ")
				r.Header.Set(k, v)
			}
			s.post(w, r, oauth.Identity{ID: "somebody", Scope: oauth.Read})
			body := w.Body.String()
			if w.Code != x.want || strings.Contains(body, `"content":[{"type":"text","text":"{}"}]`) || strings.Contains(body, `"output":{}`) {
				t.Errorf("status %d, want %d: %s", w.Code, x.want, body)
			}
		})
	}
}

const openingLine = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientCapabilities":{}}}` + "\n"
