package rpc

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"boardhand/frame"
)

// steady are the requests of which a warm server allocates nothing, by dialect.
func steady(dialect string) (opening string, messages map[string]string) {
	call := `{"name":"read","arguments":{"lines":["GPIO17","GPIO27"]}`
	write := `{"name":"write","arguments":{"line":"GPIO17","level":1}`
	switch dialect {
	case "2026-07-28":
		return "", map[string]string{
			"tools/list": request1(1, "tools/list"),
			"read":       `{"jsonrpc":"2.0","id":"a-1","method":"tools/call","params":` + call + `,` + modernMeta + `}}`,
			"write":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + write + `,` + modernMeta + `}}`,
		}
	case "1.0":
		exec := func(tool, args string) string {
			return `{"jsonrpc":"2.0","id":1,"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/` + tool + `:v1",` + args + `}`
		}
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":{}}}`, map[string]string{
			"tools/list": `{"jsonrpc":"2.0","id":1,"method":"mcp/listTools"}`,
			"read":       exec("read", `"arguments":{"lines":["GPIO17","GPIO27"]}}`),
			"write":      exec("write", `"arguments":{"line":"GPIO17","level":1}}`),
		}
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, dialect),
		map[string]string{
			"ping":       `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			"tools/list": `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			"read":       `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call + `}}`,
			"write":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + write + `}}`,
		}
}

var allDialects = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1.0"}

// loop is a reader that gives the same message for ever.
type loop struct {
	msg  []byte
	rest []byte
}

func (l *loop) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		l.rest = l.msg
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func framed(msg string, mode frame.Mode) []byte {
	w := bytes.Buffer{}
	fw := frame.NewWriter(&w)
	fw.End(append(fw.Begin(), msg...), mode)
	_ = fw.Flush()
	return w.Bytes()
}

// step is one request from its bytes to the write of its answer.
func step(c *Conn, r *frame.Reader) {
	msg, mode, err := r.Next()
	if err != nil {
		panic(err)
	}
	c.Handle(msg, mode)
	if err := c.Flush(); err != nil {
		panic(err)
	}
}

func TestASteadyServerAllocatesNothing(t *testing.T) {
	srv := NewServer(testCatalogue(newBus()), Limits{}, nil)
	for _, d := range allDialects {
		opening, messages := steady(d)
		for name, msg := range messages {
			for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
				t.Run(fmt.Sprint(d, "/", name, "/", mode), func(t *testing.T) {
					c := srv.NewConn(io.Discard)
					if opening != "" {
						c.Handle([]byte(opening), frame.Newline)
					}
					r := frame.NewReader(&loop{msg: framed(msg, mode)}, DefaultMessage)
					step(c, r)
					if n := testing.AllocsPerRun(100, func() { step(c, r) }); n != 0 {
						t.Errorf("%v allocations per request", n)
					}
				})
			}
		}
	}
}

// A connection that has given up what it kept goes on as it was, and answers alike.
func TestATrimmedConnectionGoesOn(t *testing.T) {
	srv := NewServer(testCatalogue(newBus()), Limits{}, nil)
	for _, d := range allDialects {
		opening, messages := steady(d)
		for name, msg := range messages {
			t.Run(d+"/"+name, func(t *testing.T) {
				var out bytes.Buffer
				c := srv.NewConn(&out)
				c.Trim() // of nothing
				if opening != "" {
					c.Handle([]byte(opening), frame.Newline)
				}
				c.Trim() // while an answer is pending
				var answers [3]string
				for i := range answers {
					if err := c.Flush(); err != nil {
						t.Fatal(err)
					}
					out.Reset()
					c.Handle([]byte(msg), frame.Newline)
					if err := c.Flush(); err != nil {
						t.Fatal(err)
					}
					answers[i] = out.String()
					if i > 0 && c.w.Len() == 0 {
						c.Trim()
					}
				}
				if answers[0] == "" || answers[1] != answers[0] || answers[2] != answers[0] {
					t.Errorf("the answers differ: %q", answers)
				}
				if cap(c.scratch) > 0 || cap(c.inline.Out) > 0 {
					t.Error("it keeps what it had")
				}
			})
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	srv := NewServer(testCatalogue(newBus()), Limits{}, nil)
	for _, d := range []string{"2025-06-18", "2026-07-28", "1.0"} {
		opening, messages := steady(d)
		for _, name := range []string{"ping", "read", "write", "tools/list"} {
			msg := messages[name]
			if msg == "" {
				continue
			}
			b.Run(d+"/"+name, func(b *testing.B) {
				c := srv.NewConn(io.Discard)
				if opening != "" {
					c.Handle([]byte(opening), frame.Newline)
				}
				r := frame.NewReader(&loop{msg: framed(msg, frame.Newline)}, DefaultMessage)
				b.ReportAllocs()
				for b.Loop() {
					step(c, r)
				}
			})
		}
	}
}
