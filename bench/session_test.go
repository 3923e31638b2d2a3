package bench

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"testing"

	"boardhand/device/sim"
	"boardhand/frame"
	"boardhand/rpc"
	"boardhand/tools"
)

// board is a server on the simulated board as main serves it.
func board(t testing.TB) *rpc.Server {
	t.Helper()
	b := sim.Open(sim.Wiring{})
	cat, guard := tools.Catalogue(b, Version, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		guard.Close()
		_ = b.Close()
	})
	return rpc.NewServer(cat, rpc.Limits{}, func(entry string, value any, _ []byte) { t.Errorf("%s panicked: %v", entry, value) })
}

var dialects = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1.0"}

var framings = map[string]frame.Mode{"newline": frame.Newline, "header": frame.Header}

// opening is what a client says before its first request, or "".
func opening(dialect string) string {
	switch dialect {
	case "2026-07-28":
		return ""
	case "1.0":
		return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientCapabilities":{}}}`
	}
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + dialect +
		`","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}`
}

// request is a method with its params, whose closing brace is left out: "" for
// none, "{" for empty ones.
func request(dialect, method, params string) string {
	s := `{"jsonrpc":"2.0","id":1,"method":"` + method + `"`
	if dialect == "2026-07-28" {
		switch params {
		case "", "{":
			params = "{"
		default:
			params += ","
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
			`"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}`
	}
	if params != "" {
		s += `,"params":` + params + "}"
	}
	return s + "}"
}

// call is a call of a tool.
func call(dialect, tool, args string) string {
	if dialect == "1.0" {
		return request(dialect, "mcp/executeTool", `{"id":"mcp://boardhand/tools/`+tool+`:v1","arguments":`+args)
	}
	return request(dialect, "tools/call", `{"name":"`+tool+`","arguments":`+args)
}

// steady is one of the requests of which a warm server allocates nothing, or ""
// where the dialect has none such.
func steady(dialect, name string) string {
	switch name {
	case "ping":
		if dialect == "1.0" || dialect == "2026-07-28" {
			return ""
		}
		return request(dialect, "ping", "")
	case "gpio_read":
		return call(dialect, "gpio_read", `{"lines":["GPIO17","GPIO27"]}`)
	case "gpio_write":
		return call(dialect, "gpio_write", `{"line":"GPIO17","level":1}`)
	case "gpio_write_for_ms":
		return call(dialect, "gpio_write", `{"line":"GPIO22","level":1,"for_ms":3600000}`)
	case "tools_list":
		if dialect == "1.0" {
			return request(dialect, "mcp/listTools", "")
		}
		return request(dialect, "tools/list", "")
	}
	panic("no request " + name)
}

func framed(msg string, mode frame.Mode) []byte {
	if mode == frame.Newline {
		return []byte(msg + "\n")
	}
	return []byte("Content-Length: " + strconv.Itoa(len(msg)) + "\r\n\r\n" + msg)
}

// answers serves the messages in one connection and gives what comes back, a
// line each.
func answers(t testing.TB, srv *rpc.Server, messages ...string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := srv.Serve(strings.NewReader(strings.Join(messages, "\n")), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	return lines[:len(lines)-1]
}

// repeat is a client that sends an opening, unless it is empty, and then one
// message again and again, several in one read.
type repeat struct {
	opening []byte
	msg     []byte // framed
	burst   int    // messages in one read, as far as the buffer holds them
	count   int    // messages to send; then the input ends
	sent    func(n int)

	rest []byte
	n    int
}

func (r *repeat) Read(b []byte) (int, error) {
	if len(r.opening) > 0 {
		n := copy(b, r.opening)
		r.opening = r.opening[n:]
		return n, nil
	}
	done := 0
	for i := 0; i < r.burst; i++ {
		if len(r.rest) == 0 {
			if r.n == r.count {
				break
			}
			if r.sent != nil {
				r.sent(r.n)
			}
			r.n++
			r.rest = r.msg
		}
		n := copy(b[done:], r.rest)
		done += n
		r.rest = r.rest[n:]
		if len(r.rest) > 0 {
			return done, nil
		}
	}
	if done == 0 {
		return 0, io.EOF
	}
	return done, nil
}

// client makes one such client of a dialect. Its opening is never header-framed,
// so that both framings meet on one connection.
func client(dialect, msg string, mode frame.Mode, burst, count int) *repeat {
	r := &repeat{msg: framed(msg, mode), burst: burst, count: count}
	if o := opening(dialect); o != "" {
		r.opening = framed(o, frame.Newline)
	}
	return r
}

// failures counts answers that are errors, of the protocol or of a tool.
type failures struct {
	n     int
	bytes int64
	first string
}

func (f *failures) Write(b []byte) (int, error) {
	f.bytes += int64(len(b))
	if f.n == 0 && (bytes.Contains(b, []byte(`"error":{"code":`)) || bytes.Contains(b, []byte(`"isError":true`))) {
		f.n++
		f.first = string(b)
	}
	return len(b), nil
}
