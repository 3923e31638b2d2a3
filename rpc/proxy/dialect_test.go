package proxy

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/rpc"
)

// board is one start of a board's program: the server that it is, at the other end of
// a fake link.
type board struct {
	link *fake
	conn *rpc.Conn
	mute bool // its answers are lost
}

// startBoard gives a board with a tool that acts, which counts in runs.
func startBoard(f *fake, runs *atomic.Int32) *board {
	b := &board{link: f}
	srv := rpc.NewServer(rpc.Catalogue{
		Name: "board", Version: "1",
		Tools: []rpc.Tool{{
			Name: "act", Title: "Act", Description: "Acts.", Hints: rpc.Hints{Destructive: true},
			Result: []rpc.Field{{Name: "done", Type: rpc.Integer}},
			Run: func(c *rpc.Call) error {
				c.Out = fmt.Appendf(c.Out, `{"done":%d}`, runs.Add(1))
				return nil
			},
		}},
	}, rpc.Limits{}, nil)
	b.conn = srv.NewConn(b)
	return b
}

// Write takes the lines that the server answers by.
func (b *board) Write(p []byte) (int, error) {
	for text := range strings.Lines(string(p)) {
		if !b.mute {
			b.link.give(strings.TrimSuffix(text, "\n"))
		}
	}
	return len(p), nil
}

// work handles all that has crossed the link, and how many messages that were.
func (b *board) work() (n int) {
	for ; ; n++ {
		msg, _ := b.link.take()
		if msg == "" {
			return n
		}
		b.conn.Handle([]byte(msg), frame.Newline)
		b.conn.Flush()
		synctest.Wait()
	}
}

// The client of every revision goes on through a restart of its board: what ran is not
// run again, what only reads is asked again, what was not delivered is done once, and
// it opens no session anew.
func TestEveryDialectOutlivesARestart(t *testing.T) {
	opens := func(revision string) []string {
		return []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + revision +
			`","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}
	}
	const (
		call = `"method":"tools/call","params":{"name":"act","arguments":{}}`
		list = `"method":"tools/list"`
		meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	)
	for _, d := range []struct {
		name       string
		open       []string
		call, list string
		mode       frame.Mode
	}{
		{"2024-11-05", opens("2024-11-05"), call, list, frame.Newline},
		{"2025-03-26", opens("2025-03-26"), call, list, frame.Newline},
		{"2025-06-18", opens("2025-06-18"), call, list, frame.Newline},
		{"2025-11-25", opens("2025-11-25"), call, list, frame.Newline},
		{"2026-07-28", nil, `"method":"tools/call","params":{` + meta + `,"name":"act","arguments":{}}`, list + `,"params":{` + meta + `}`, frame.Newline},
		{"1.0", []string{`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientCapabilities":{}}}`},
			`"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/act:v1","arguments":{}}`, `"method":"mcp/listTools"`, frame.Header},
	} {
		t.Run(d.name, func(t *testing.T) {
			bubble(t, func(b *bench) {
				var runs atomic.Int32
				say := func(messages ...string) {
					for _, m := range messages {
						text := m + "\n"
						if d.mode == frame.Header {
							text = header(m)
						}
						if _, err := io.WriteString(b.in, text); err != nil {
							t.Fatal(err)
						}
					}
					synctest.Wait()
				}
				request := func(id int, what string) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, id, what) }
				// hears checks that these parts of answers came, in any order, and no other answer.
				hears := func(want ...string) {
					t.Helper()
					synctest.Wait()
					b.mu.Lock()
					out := b.out.String()
					b.out.Reset()
					b.mu.Unlock()
					r := frame.NewReader(strings.NewReader(out), 0)
					n := 0
					for {
						msg, mode, err := r.Next()
						if err != nil {
							break
						}
						n++
						found := false
						for _, w := range want {
							id, part, _ := strings.Cut(w, " ")
							found = found || mode == d.mode && strings.Contains(string(msg), `"id":`+id+`,`) && strings.Contains(string(msg), part)
						}
						if !found {
							t.Errorf("the client got %s", msg)
						}
					}
					if n != len(want) {
						t.Errorf("the client got %d answers, want %q: %s", n, want, out)
					}
				}

				before := startBoard(b.link, &runs)
				b.link.begin()
				say(d.open...)
				before.work()
				if len(d.open) > 0 {
					hears(`0 "result":{`)
				}
				before.mute = true
				say(request(1, d.call), request(2, d.list))
				if n := before.work(); n != 2 || runs.Load() != 1 {
					t.Fatalf("%d messages crossed, and %d calls ran", n, runs.Load())
				}
				say(request(3, d.call)) // and is not delivered
				b.link.end(link.ErrRestarted)
				before.conn.Close()
				hears(`1 ` + unknownRestart)

				after := startBoard(b.link, &runs)
				b.link.begin()
				after.work()
				hears(`2 Acts.`, `3 done`)
				say(request(4, d.call))
				after.work()
				hears(`4 done`)
				if n := runs.Load(); n != 3 {
					t.Errorf("%d calls ran, want 1, 3 and 4 once", n)
				}
				after.conn.Close()
			})
		})
	}
}
