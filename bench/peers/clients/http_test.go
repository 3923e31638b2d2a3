package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// onHTTP is a server over HTTP, and what the clients sent to it: they reach it through
// a proxy that takes notes.
type onHTTP struct {
	url    string // of the server itself
	stderr *tail
	cmd    *exec.Cmd
	ended  chan error

	mu        sync.Mutex
	sent      []string        // bodies
	cancelled map[string]bool // the ids of calls, by a notification or by the end of their stream
}

// tail keeps what a process says.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.WriteString(line)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// newHTTPServer starts a server over HTTP on the board that a board file's text
// describes. Its argv is the address that clients go to.
func newHTTPServer(t *testing.T, board string) *server {
	t.Helper()
	exe, err := filepath.Abs(*binary)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, boardFile)
	if err := os.WriteFile(config, []byte(board), 0o644); err != nil {
		t.Fatal(err)
	}
	h := &onHTTP{cancelled: map[string]bool{}, stderr: new(tail), ended: make(chan error, 1)}
	h.cmd = exec.Command(exe, "serve", "--http", "127.0.0.1:0", "--board", "sim", "--config", config)
	out, err := h.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatalf("no boardhand to try (%v); run make build, or name one by -boardhand", err)
	}
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	ready := make(chan string, 1)
	go func() {
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			h.stderr.add(line)
			if _, url, ok := strings.Cut(line, "serving at "); ok {
				ready <- strings.TrimSpace(url)
			}
			if err != nil {
				break
			}
		}
		h.ended <- h.cmd.Wait()
	}()
	select {
	case h.url = <-ready:
	case err := <-h.ended:
		t.Fatalf("the server did not start: %v\n%s", err, h.stderr)
	case <-time.After(patience):
		t.Fatal("the server did not start in time")
	}
	proxy := httptest.NewServer(h)
	t.Cleanup(proxy.Close)
	return &server{argv: []string{proxy.URL + "/mcp"}, dir: dir, http: h}
}

// ServeHTTP passes a request on and notes what it was.
func (h *onHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.note(string(body))
	out, err := http.NewRequestWithContext(r.Context(), r.Method, strings.TrimSuffix(h.url, "/mcp")+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	out.Header = r.Header.Clone()
	res, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		if r.Context().Err() != nil {
			h.left(body)
		}
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer res.Body.Close()
	for k, v := range res.Header {
		w.Header()[k] = v
	}
	w.WriteHeader(res.StatusCode)
	_ = http.NewResponseController(w).Flush()
	buf := make([]byte, 32<<10)
	for {
		n, err := res.Body.Read(buf)
		if _, failed := w.Write(buf[:n]); failed != nil {
			h.left(body)
			return
		}
		_ = http.NewResponseController(w).Flush()
		if err != nil {
			if err != io.EOF && r.Context().Err() != nil {
				h.left(body)
			}
			return
		}
	}
}

func (h *onHTTP) note(body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, body)
	var m struct {
		Method string
		Params struct{ RequestID json.RawMessage }
	}
	if json.Unmarshal([]byte(body), &m) == nil && m.Method == "notifications/cancelled" {
		h.cancelled[string(m.Params.RequestID)] = true
	}
}

// left notes that a client has gone before its response was whole, which cancels a
// call of MCP 2026-07-28.
func (h *onHTTP) left(body []byte) {
	var m struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Meta map[string]any `json:"_meta"`
		}
	}
	_ = json.Unmarshal(body, &m)
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.Method == "tools/call" && m.Params.Meta["io.modelcontextprotocol/protocolVersion"] != nil {
		h.cancelled[string(m.ID)] = true
	}
}

func (h *onHTTP) has(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, body := range h.sent {
		if strings.Contains(body, text) {
			return true
		}
	}
	return false
}

// stop ends the server and checks that it ends well. It returns how many calls were
// cancelled.
func (h *onHTTP) stop(t *testing.T) int {
	t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	select {
	case err := <-h.ended:
		if err != nil {
			t.Errorf("exit status: %v", err)
		}
	case <-time.After(patience):
		t.Error("it does not end")
	}
	equal(t, "stderr", h.stderr.String(), "boardhand: this is a simulated board; nothing here is real\nboardhand: serving at "+h.url+"\n")
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.cancelled)
}

// TestClientsOverHTTP is TestClients for the clients that speak HTTP.
func TestClientsOverHTTP(t *testing.T) {
	for _, c := range clients {
		if strings.HasPrefix(c.name, "vscode") || strings.HasSuffix(c.name, "2024-11-05") {
			continue // one speaks no HTTP, and of the other there is none
		}
		if c.name == "mcp-go, 2025-11-25" { // it closes the stream, which cancels nothing in this revision
			c.lacks = append(slices.Clip(c.lacks), cancels)
		}
		t.Run(c.name, func(t *testing.T) { tryClient(t, c, newHTTPServer) })
	}
}
