//go:build linux && !board

package command_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"boardhand/bench/client"
)

// frontAt starts a program that serves over HTTP and gives its address.
func frontAt(t *testing.T, cmd *exec.Cmd) (url string, stop func() error) {
	t.Helper()
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	lines := bufio.NewReader(out)
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("%v does not serve: %v", cmd.Args, err)
		}
		_, url, _ = strings.Cut(strings.TrimSpace(line), "serving at ")
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	return url, func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			return err
		case <-time.After(client.Timeout):
			t.Fatal("it does not end")
			return nil
		}
	}
}

// overHTTP sends a request of MCP 2026-07-28 and gives its result.
func overHTTP(t *testing.T, url, token, method, name, params string) (status int, result string) {
	t.Helper()
	if params != "" {
		params += ","
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{` + params +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	r, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
		if v != "" {
			r.Header.Set(k, v)
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
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
	var m struct{ Result json.RawMessage }
	if json.Unmarshal(text, &m) != nil || m.Result == nil {
		return res.StatusCode, string(text)
	}
	return res.StatusCode, string(m.Result)
}

func TestHTTPIsAsIfThereWereNone(t *testing.T) {
	t.Parallel()
	local := serve(t)
	url, stop := frontAt(t, exec.Command(exe, "serve", "--board", "sim", "--http", "127.0.0.1:0"))
	for _, method := range []string{"tools/list", "resources/list", "prompts/list", "server/discover"} {
		status, got := overHTTP(t, url, "", method, "", "")
		if want := call(t, local, method, ""); status != 200 || got != string(want.Result) {
			t.Errorf("%s gave %d %s\nwithout HTTP %s", method, status, got, want.Result)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("its end: %v", err)
	}
}

func TestABoardAtTheEndOfACableIsServedOverHTTP(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b)
	local := serve(t)
	url, stop := frontAt(t, host(t, "connect", h, "--http", "127.0.0.1:0"))
	for _, method := range []string{"tools/list", "resources/list", "prompts/list"} {
		status, got := overHTTP(t, url, "", method, "", "")
		if want := call(t, local, method, ""); status != 200 || got != string(want.Result) {
			t.Errorf("%s gave %d %s\nwithout a cable %s", method, status, got, want.Result)
		}
	}
	if status, got := overHTTP(t, url, "", "tools/call", "i2c_read", `"name":"i2c_read","arguments":{"address":"0x76","register":"0xd0"}`); status != 200 || !strings.Contains(got, `"data":"60"`) {
		t.Errorf("the BME280's chip id: %d %s", status, got)
	}
	if err := stop(); err != nil {
		t.Errorf("its end: %v", err)
	}
}

func TestATokenOfTheEnvironmentLetsIn(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef0123456789abcdef"
	cmd := exec.Command(exe, "serve", "--board", "sim", "--http", "127.0.0.1:0", "--tokens", t.TempDir()+"/tokens.json")
	cmd.Env = append(os.Environ(), "BOARDHAND_TOKEN="+token)
	url, stop := frontAt(t, cmd)
	for _, x := range []struct {
		token string
		want  int
	}{{"", 401}, {token[1:], 401}, {token, 200}} {
		if status, text := overHTTP(t, url, x.token, "tools/list", "", ""); status != x.want {
			t.Errorf("token %q: %d %.200s; want %d", x.token, status, text, x.want)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("its end: %v", err)
	}
}

func TestHTTPFlags(t *testing.T) {
	for name, x := range map[string]struct {
		args []string
		want string
	}{
		"an address that others reach": {[]string{"serve", "--http", "0.0.0.0:0"}, "--insecure"},
		"no port":                      {[]string{"serve", "--http", "localhost"}, "an address and a port"},
		"flags without an address":     {[]string{"serve", "--auth"}, "--http ADDR"},
		"half of a certificate":        {[]string{"serve", "--http", "127.0.0.1:0", "--tls-cert", "x"}, "--tls-key"},
		"a certificate that is none":   {[]string{"serve", "--http", "127.0.0.1:0", "--tls-cert", "/dev/null", "--tls-key", "/dev/null"}, "--tls-cert"},
		"a grace of serve":             {[]string{"serve", "--http", "127.0.0.1:0", "--grace", "5s"}, "http_grace"},
		"a grace that is none":         {[]string{"connect", "/dev/null", "--http", "127.0.0.1:0", "--grace", "5"}, "60s"},
		"two places":                   {[]string{"serve", "--http", "127.0.0.1:0", "--serial", "/dev/null"}, "two places"},
		"no value":                     {[]string{"serve", "--http"}, "wants a value"},
		"an unknown flag":              {[]string{"serve", "--http", "127.0.0.1:0", "--nonsense"}, "nonsense"},
		"an address of nothing":        {[]string{"serve", "--http", "127.0.0.1:0", "--url", "board"}, "--url"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(exe, x.args...)
			cmd.Env = append(os.Environ(), "BOARDHAND_TOKEN=")
			out, err := cmd.CombinedOutput()
			if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), x.want) {
				t.Errorf("%v: %s; want %q", err, out, x.want)
			}
		})
	}
}

func TestOutputsAreSafeWhenAServerOverHTTPIsToldToStop(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "[[sim.jam]]\nbus = 1\nseconds = 20\n")
	url, stop := frontAt(t, exec.Command(exe, "serve", "--board", "sim", "--config", r.config, "--http", "127.0.0.1:0"))
	write := func(line string, level string) {
		if status, got := overHTTP(t, url, "", "tools/call", "gpio_write", `"name":"gpio_write","arguments":{"line":"`+line+`","level":`+level+`}`); status != 200 || strings.Contains(got, `"isError":true`) {
			t.Fatalf("%s: %d %s", line, status, got)
		}
	}
	for _, line := range []string{"pump", "fan", "heater"} {
		write(line, "1")
	}
	write("valve", "0")
	waits := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpio_wait","arguments":{"lines":"pump","timeout_ms":20000}}}`
	go func() {
		if res, err := http.Post(url, "application/json", strings.NewReader(waits)); err == nil {
			_ = res.Body.Close()
		}
	}()
	time.Sleep(300 * time.Millisecond) // it waits for an edge
	began := time.Now()
	done := make(chan error, 1)
	go func() { done <- stop() }()
	r.safeSoon(began)
	if err := <-done; err != nil {
		t.Errorf("its end: %v", err)
	}
	if left := r.left(); len(left) > 0 {
		t.Errorf("after the end there is %q", left)
	}
}

// HTTP has no connection: what holds an output is that its client is heard.
func TestOutputsAreSafeWhenNoClientIsHeardOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	url, stop := frontAt(t, exec.Command(exe, "serve", "--board", "sim", "--config", r.config, "--http", "127.0.0.1:0"))
	tool := func(name, arguments string) string {
		t.Helper()
		status, got := overHTTP(t, url, "", "tools/call", name, `"name":"`+name+`","arguments":`+arguments)
		if status != 200 || strings.Contains(got, `"isError":true`) {
			t.Fatalf("%s %s: %d %s", name, arguments, status, got)
		}
		return got
	}
	on := func() {
		t.Helper()
		for _, line := range []string{"pump", "fan", "heater"} {
			tool("gpio_write", `{"line":"`+line+`","level":1}`)
		}
		tool("gpio_write", `{"line":"valve","level":0}`)
	}
	isOn := func(when string) {
		t.Helper()
		if got := tool("gpio_read", `{"lines":["pump"]}`); !strings.Contains(got, `"level":1`) {
			t.Fatalf("%s: %s", when, got)
		}
	}
	on()
	var heard time.Time
	for end := time.Now().Add(2 * httpGrace); heard.Before(end); time.Sleep(httpGrace / 4) {
		isOn("while a client is heard")
		heard = time.Now()
	}
	r.safeSoon(heard.Add(httpGrace))
	on() // who comes again goes on

	// A session's stream holds them too, and its end gives them back, at once where
	// nobody works the board without a session.
	opening := inSession(t, url, "POST", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	session := opening.Header.Get("Mcp-Session-Id")
	_ = opening.Body.Close()
	stream := inSession(t, url, "GET", session, "")
	defer stream.Body.Close()
	time.Sleep(2 * httpGrace)
	r.stand("GPIO5 high, GPIO6 low, GPIO13 high, GPIO19 high")
	_ = stream.Body.Close()
	time.Sleep(httpGrace / 5)
	began := time.Now()
	if end := inSession(t, url, "DELETE", session, ""); end.StatusCode != 204 {
		t.Errorf("DELETE: %s", end.Status)
	}
	r.stand(allSafe)
	t.Logf("after DELETE they were safe within %v", time.Since(began))
	if err := stop(); err != nil {
		t.Errorf("its end: %v", err)
	}
}

// inSession sends a request of a session of MCP 2025-11-25, or the one that opens it.
func inSession(t *testing.T, url, method, session, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// The board knows nothing of the clients behind its host.
func TestABoardAtTheEndOfACableIsGivenBackWhenNoClientIsHeardOverHTTP(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	_, h, b := plug(t)
	boardAt(t, b, "--config", r.config)
	url, stop := frontAt(t, host(t, "connect", h, "--http", "127.0.0.1:0", "--grace", httpGrace.String()))
	for range 2 { // and again, over a new link
		if status, got := overHTTP(t, url, "", "tools/call", "gpio_write", `"name":"gpio_write","arguments":{"line":"pump","level":1}`); status != 200 || strings.Contains(got, `"isError":true`) {
			t.Fatalf("the pump: %d %s", status, got)
		}
		r.stand("GPIO5 high")
		r.safeSoon(time.Now().Add(httpGrace))
	}
	if err := stop(); err != nil {
		t.Errorf("its end: %v", err)
	}
}
