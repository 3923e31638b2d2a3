package httpfront

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"boardhand/rpc"
)

// raw is a connection on which a test writes what it likes.
func raw(t testing.TB, url, text string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), Path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// rendered is a request as it is on the wire, of a body that may be claimed longer.
func rendered(headers, body string, length int) string {
	return "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + strings.ReplaceAll(headers, "\n", "\r\n") + fmt.Sprintf("Content-Length: %d\r\n\r\n", length) + body
}

var aCall = func() string {
	body := modernCall("tools/call", `"name":"read"`)
	return rendered(modernHead+"Mcp-Method: tools/call\nMcp-Name: read\n", body, len(body))
}()

// served checks that the server answers others.
func served(t testing.TB, url string) {
	t.Helper()
	if res, body := send(t, url, exchange{headers: jsonBody, body: `{"jsonrpc":"2.0","id":1,"method":"ping"}`}); res.StatusCode != 200 {
		t.Errorf("another client: status %d: %s", res.StatusCode, body)
	}
}

// settled waits until no more goroutines run than before.
func settled(t testing.TB, before int) {
	t.Helper()
	http.DefaultClient.CloseIdleConnections()
	n := 0
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if n = runtime.NumGoroutine(); n <= before {
			return
		}
	}
	t.Errorf("%d goroutines, where there were %d", n, before)
}

func TestAThousandConnectionsAreServedAndLeaveNothing(t *testing.T) {
	url, _ := serve(t, nil)
	served(t, url)
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	conns := make([]net.Conn, 1000)
	readers := make([]*bufio.Reader, len(conns))
	for i := range conns {
		conns[i], readers[i] = raw(t, url, aCall)
	}
	for round := range 3 {
		for i, in := range readers {
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("round %d, connection %d: %v", round, i, err)
			}
			if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
				t.Fatalf("round %d, connection %d: status %d, %v: %s", round, i, res.StatusCode, err, text)
			}
		}
		for _, c := range conns {
			if _, err := io.WriteString(c, aCall); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range conns {
		_ = c.Close()
	}
	settled(t, before)
}

func TestConnectionsHaveALimit(t *testing.T) {
	url, _ := serve(t, func(c *Config) { c.Connections = 10 })
	var open []net.Conn
	for range 10 {
		c, in := raw(t, url, aCall)
		if _, err := http.ReadResponse(in, nil); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	_, in := raw(t, url, "")
	if text, err := io.ReadAll(in); len(text) > 0 {
		t.Errorf("an eleventh is served: %q, %v", text, err)
	}
	_ = open[0].Close()
	for deadline := time.Now().Add(5 * time.Second); ; {
		_, in := raw(t, url, aCall)
		if _, err := http.ReadResponse(in, nil); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatal("one more is not served when one has gone")
		}
	}
}

func TestWhoSendsNothingMoreIsCutOff(t *testing.T) {
	url, _ := serve(t, func(c *Config) { c.Receive = 200 * time.Millisecond })
	served(t, url)
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	var all sync.WaitGroup
	for _, text := range []string{
		"POST /mcp HTTP/1.1\r\nHost: localh",
		rendered(jsonBody, `{"jsonrpc":"2.0",`, 4000),
		rendered(jsonBody, `{"jsonrpc":"2.0",`, 4<<20),
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{\"jsonrpc\"",
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n51\r\n" +
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientCapabilities":{}}}` + "\r\n1\r\n\n\r\n",
	} {
		for range 20 {
			c, in := raw(t, url, text)
			all.Go(func() {
				_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
				if _, err := io.Copy(io.Discard, in); err != nil && !strings.Contains(err.Error(), "reset") {
					t.Errorf("%.40q: %v", text, err)
				}
				_ = c.Close()
			})
		}
	}
	served(t, url)
	all.Wait()
	settled(t, before)
}

func TestFloodsOfHeaders(t *testing.T) {
	url, _ := serve(t, nil)
	for name, headers := range map[string]string{
		"a long one":          "X-Flood: " + strings.Repeat("x", 1<<20) + "\r\n",
		"many":                strings.Repeat("X-Flood: x\r\n", 100_000),
		"one that never ends": "X-Flood: " + strings.Repeat("x", 64<<10),
	} {
		t.Run(name, func(t *testing.T) {
			c, in := raw(t, url, "")
			go func() { _, _ = io.WriteString(c, "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"+headers) }()
			_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
			if res, err := http.ReadResponse(in, nil); err == nil && res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("status %d", res.StatusCode)
			}
			served(t, url)
		})
	}
}

// A client that does not read loses its response and keeps nobody else waiting: not
// the worker of a bus, nor the dispatcher of its session.
func TestWhoReadsNothingIsCutOff(t *testing.T) {
	const size = 32 << 20 // more than the kernel keeps
	big := rpc.Tool{Name: "big", Title: "Big", Description: "Gives much.", Raw: true, Queue: func(*rpc.Call) string { return "bus" }, Run: func(c *rpc.Call) error {
		c.Out = append(append(append(c.Out, `"content":[{"type":"text","text":"`...), strings.Repeat("x", size)...), `"}]`...)
		return nil
	}}
	cat := testCatalogue()
	cat.Tools = append(cat.Tools, big)
	srv := rpc.NewServer(cat, rpc.Limits{}, nil)
	url, _ := serve(t, func(c *Config) {
		c.Open = func(out Sink) Conn { return srv.NewConn(out) }
		c.Send = 200 * time.Millisecond
	})
	id := begin(t, url, "2025-11-25")
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	modern := modernCall("tools/call", `"name":"big"`)
	session := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big"}}`
	for _, request := range []string{
		rendered(modernHead+"Mcp-Method: tools/call\nMcp-Name: big\n", modern, len(modern)),
		rendered(both+"Mcp-Session-Id: "+id+"\n", session, len(session)),
	} {
		c, _ := raw(t, url, request)
		start := time.Now()
		res, body := send(t, url, exchange{headers: both + "Mcp-Session-Id: " + id + "\n", body: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"report"}}`})
		if res.StatusCode != 200 || time.Since(start) > 5*time.Second {
			t.Errorf("status %d after %v: %s", res.StatusCode, time.Since(start), body)
		}
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * 200 * time.Millisecond)
		if n, _ := io.Copy(io.Discard, c); n >= size {
			t.Errorf("all %d bytes came", n)
		}
		_ = c.Close()
	}
	settled(t, before)
}

// Whoever comes and goes, what they have left behind is nothing.
func TestClientsThatGoInTheMiddle(t *testing.T) {
	url, s := serve(t, func(c *Config) { c.KeepAlive = 5 * time.Millisecond })
	served(t, url)
	http.DefaultClient.CloseIdleConnections()
	before := runtime.NumGoroutine()
	wait := modernCall("tools/call", `"name":"wait"`)
	for i := range 40 {
		text := rendered(modernHead+"Mcp-Method: tools/call\nMcp-Name: wait\n", wait, len(wait))
		if i%2 == 1 {
			text = text[:len(text)-i]
		}
		c, _ := raw(t, url, text)
		if i%4 == 0 {
			time.Sleep(10 * time.Millisecond)
		}
		_ = c.Close()
	}
	settled(t, before)
	for len(cancelled) > 0 {
		<-cancelled
	}
	if n := len(s.sessions.open); n > 0 {
		t.Errorf("%d sessions", n)
	}
}

func BenchmarkStateless(b *testing.B) {
	url, _ := serve(b, nil)
	c, in := raw(b, url, "")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := io.WriteString(c, aCall); err != nil {
			b.Fatal(err)
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
	}
}
