package rpc_test

import (
	"bufio"
	"io"
	"strings"
	"testing"
	"time"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// rawCatalogue has what writes its results itself.
func rawCatalogue(gone chan<- bool) rpc.Catalogue {
	own := func(*rpc.Call) string { return "own" }
	return rpc.Catalogue{
		Name: "raw", Version: "1", Capabilities: `"tools":{"listChanged":true}`,
		Tools: []rpc.Tool{
			{Name: "picture", Description: "d", Raw: true, Run: func(c *rpc.Call) error {
				c.Out = append(c.Out, `"content":[{"type":"image","data":"","mimeType":"image/png"}]`...)
				return nil
			}},
			{Name: "question", Description: "d", Raw: true, Run: func(c *rpc.Call) error {
				c.Incomplete = true
				c.Out = append(c.Out, `"inputRequests":{}`...)
				return nil
			}},
			{Name: "refuse", Description: "d", Raw: true, Run: func(c *rpc.Call) error {
				return &rpc.Error{Code: wire.CodeInvalidParams, Message: "no", Data: []byte(`{"why":1}`)}
			}},
			{Name: "echo", Description: "d", Raw: true, Schema: `{"type":"object","title":"x"}`, Run: func(c *rpc.Call) error {
				c.Out = append(append(append(c.Out, `"content":[],"params":`...), c.Params()...), ',', '"', 'i', 'd', '"', ':')
				c.Out = append(c.Out, c.ID()...)
				return nil
			}},
			{Name: "ask", Description: "d", Raw: true, Queue: own, Timeout: time.Second, Run: func(c *rpc.Call) error {
				answer, err := c.Ask("roots/list", []byte(`{}`))
				if err != nil {
					return err
				}
				c.Out = append(append(c.Out, `"content":[],"answer":`...), answer...)
				return nil
			}},
			{Name: "wait", Description: "d", Raw: true, Queue: own, Run: func(c *rpc.Call) error {
				c.Notify("notifications/begun", []byte(`{}`))
				<-c.Gone()
				gone <- true
				return nil
			}},
		},
		Resources: []rpc.Resource{{URI: "x://blob", Name: "blob", MIMEType: "image/png", Raw: true, Read: func(c *rpc.Call) error {
			c.Out = append(c.Out, `"contents":[{"uri":"x://blob","blob":""}]`...)
			return nil
		}}},
		Templates: []rpc.Template{{Prefix: "x://", Suffix: "/data", Name: "t", Param: rpc.Param{Name: "id"}, MIMEType: "text/plain", Read: func(c *rpc.Call) error {
			c.Out = append(c.Out, c.Str(0)...)
			return nil
		}}},
		Prompts: []rpc.Prompt{{Name: "p", Description: "d", Raw: true, Render: func(c *rpc.Call) error {
			c.Out = append(c.Out, `"messages":[]`...)
			return nil
		}}},
		Methods: map[string]*rpc.Method{"own/method": {Run: func(c *rpc.Call) error {
			c.Notify("notifications/own", []byte(`{"n":1}`))
			c.Out = append(c.Out, `"stateless":`...)
			c.Out = wire.AppendBool(c.Out, c.Stateless())
			return nil
		}}},
	}
}

func TestRawResults(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	const whole = `"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"raw","version":"1"}},`
	for _, x := range []struct{ method, params, want, modern string }{
		{"tools/call", `"name":"picture"`, `"result":{"content":[{"type":"image","data":"","mimeType":"image/png"}]}}`, `"result":{` + whole + `"content":[`},
		{"tools/call", `"name":"question"`, `"result":{"inputRequests":{}}}`, `"result":{"resultType":"input_required","inputRequests":{}}}`},
		{"tools/call", `"name":"refuse"`, `"error":{"code":-32602,"message":"no","data":{"why":1}}}`, `"error":{"code":-32602`},
		{"tools/call", `"name":"echo","arguments":{"any":1}`, `"params":{"name":"echo","arguments":{"any":1}},"id":1}}`, `"arguments":{"any":1}`},
		{"tools/list", ``, `"inputSchema":{"type":"object","title":"x"}`, `"inputSchema":{"type":"object","title":"x"}`},
		{"resources/read", `"uri":"x://blob"`, `"result":{"contents":[{"uri":"x://blob","blob":""}]}}`, `"result":{` + whole + `"contents":[`},
		{"resources/read", `"uri":"x://a%20b/data"`, `"text":"a b"`, `"text":"a b"`},
		{"resources/read", `"uri":"x:///data"`, `-32002`, `-32602`},
		{"resources/templates/list", ``, `"uriTemplate":"x://{id}/data"`, `"uriTemplate":"x://{id}/data"`},
		{"prompts/get", `"name":"p"`, `"result":{"messages":[]}}`, `"result":{` + whole + `"messages":[]}}`},
		{"own/method", ``, `{"jsonrpc":"2.0","method":"notifications/own","params":{"n":1}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"stateless":false}}`, `"stateless":true}}`},
		{"tools/call", `"name":"ask"`, `"method":"roots/list","params":{}}`, `"isError":true`},
		{"no/method", ``, `-32601`, `-32601`},
	} {
		t.Run(x.method+x.params, func(t *testing.T) {
			srv := rpc.NewServer(rawCatalogue(nil), rpc.Limits{}, nil)
			var out strings.Builder
			request := `{"jsonrpc":"2.0","id":1,"method":"` + x.method + `","params":{`
			legacy := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}` + "\n" + request + x.params + "}}\n"
			if err := srv.Serve(strings.NewReader(legacy), &out); err != nil || !strings.Contains(out.String(), x.want) {
				t.Errorf("%v %s\nwant %s", err, out.String(), x.want)
			}
			if !strings.Contains(out.String(), `"capabilities":{"tools":{"listChanged":true},"completions":{}}`) {
				t.Errorf("%s\nlacks the capabilities", out.String())
			}
			out.Reset()
			params := x.params
			if params != "" {
				params += ","
			}
			if err := srv.Serve(strings.NewReader(request+params+meta+"}}\n"), &out); err != nil || !strings.Contains(out.String(), x.modern) {
				t.Errorf("%v %s\nwant %s", err, out.String(), x.modern)
			}
		})
	}
}

func TestAskGetsTheAnswerAndGoneTheEnd(t *testing.T) {
	gone := make(chan bool, 1)
	srv := rpc.NewServer(rawCatalogue(gone), rpc.Limits{}, nil)
	in, client := io.Pipe()
	answers, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- srv.Serve(in, out) }()
	lines := bufio.NewReader(answers)
	say := func(text, want string) {
		t.Helper()
		_, _ = io.WriteString(client, text+"\n")
		if want == "" {
			return
		}
		if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, want) {
			t.Fatalf("%q, %v; want %s", line, err, want)
		}
	}
	say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}`, "serverInfo")
	say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`, `{"jsonrpc":"2.0","id":"ask-1","method":"roots/list","params":{}}`)
	say(`{"jsonrpc":"2.0","id":"ask-9","result":{}}`, "") // of a question that nobody asked
	say(`{"jsonrpc":"2.0","id":"ask-1","result":{"roots":[]}}`, `"answer":{"jsonrpc":"2.0","id":"ask-1","result":{"roots":[]}}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"ask"}}`, `"ask-2"`)
	if line, err := lines.ReadString('\n'); err != nil || !strings.Contains(line, `"id":2`) { // its time is over
		t.Errorf("%q, %v", line, err)
	}
	say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"wait"}}`, "notifications/begun")
	say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, "")
	select {
	case <-gone:
	case <-time.After(5 * time.Second):
		t.Error("a cancelled call is not told")
	}
	_ = client.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
