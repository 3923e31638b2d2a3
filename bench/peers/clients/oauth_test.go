package clients

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// admission is what node/oauth.mjs prints.
type admission struct {
	Steps []struct {
		Name string
		What string // in JSON
	}
	Listed  string            // what "boardhand tokens" showed
	Log     string            // what the board said
	Secrets map[string]string // of the whole run
}

// TestClientsAreAuthorized lets the official SDK's clients go the whole way of
// authorization with the program: in a real browser where there is one.
func TestClientsAreAuthorized(t *testing.T) {
	for _, c := range []struct{ name, sdk, mode string }{
		{"TypeScript SDK v1", "v1", ""},
		{"TypeScript SDK v2, initialize", "v2", "legacy"},
		{"TypeScript SDK v2, discover", "v2", "2026-07-28"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := installed(t)
			tokens := filepath.Join(t.TempDir(), "state", "tokens.json")
			settings, err := json.Marshal(map[string]any{"argv": httpServer(t), "tokens": tokens, "sdk": c.sdk, "mode": c.mode, "browser": browser()})
			if err != nil {
				t.Fatal(err)
			}
			cmd := nodeCommand(t, dir, filepath.Join(dir, "oauth.mjs"), string(settings))
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s", err, out, &stderr)
			}
			var a admission
			if err := json.Unmarshal(out, &a); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			a.check(t, tokens)
		})
	}
}

func (a *admission) check(t *testing.T, tokens string) {
	const asks = `"asks the person"`
	steps := map[string]string{}
	for _, s := range a.Steps {
		steps[s.Name] = s.What
	}
	for name, want := range map[string]string{
		"a stranger": asks, "looks": "0", "writes again": "1", "refreshes": "1", "has new tokens": "true", "three calls at once": "[1,1,1]", "after a restart": "0", "after it was revoked": asks,
	} {
		equal(t, name, steps[name], want)
	}
	if steps["writes"] != asks {
		t.Logf("what it may not: %s", steps["writes"])
		if !strings.Contains(steps["writes"], "403") {
			t.Errorf("it writes: %s", steps["writes"])
		}
		equal(t, "writes, anew", steps["writes, anew"], asks)
	}
	for _, name := range []string{"is approved to look", "is approved to write"} {
		var asked struct{ Resource, Scope, Method string }
		if err := json.Unmarshal([]byte(steps[name]), &asked); err != nil || !strings.HasSuffix(asked.Resource, "/mcp") || asked.Method != "S256" ||
			!strings.Contains(asked.Scope, "board:write") {
			t.Errorf("%s: it asked for %s, %v", name, steps[name], err)
		}
	}
	for _, want := range []string{"TypeScript SDK", "127.0.0.1", "read, write", "/mcp"} {
		if !strings.Contains(a.Listed, want) {
			t.Errorf("boardhand tokens lacks %q:\n%s", want, a.Listed)
		}
	}
	file, err := os.ReadFile(tokens)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Secrets) < 8 {
		t.Errorf("%d secrets only", len(a.Secrets))
	}
	for name, secret := range a.Secrets {
		for where, text := range map[string]string{"the log": a.Log, "the file": string(file), "the list": a.Listed} {
			if secret == "" || strings.Contains(text, secret) {
				t.Errorf("%s is in %s:\n%s", name, where, text)
			}
		}
	}
}

// httpServer is a program and the arguments of a board that serves, but for where.
func httpServer(t *testing.T) []string {
	t.Helper()
	exe, err := filepath.Abs(*binary)
	if err == nil {
		_, err = os.Stat(exe)
	}
	if err != nil {
		t.Fatalf("no boardhand to try (%v); run make build, or name one by -boardhand", err)
	}
	return []string{exe, "serve", "--board", "sim"}
}

// browser is the program of a Chromium, or "".
func browser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// TestTheTokenOfTheEnvironment serves with BOARDHAND_TOKEN, for setups without a person.
func TestTheTokenOfTheEnvironment(t *testing.T) {
	const token = "0f7c2d51b9e84a6f3c1d5e7a9b2f4c60"
	start := func(token string) (endpoint string, said *bytes.Buffer, end func() error) {
		argv := httpServer(t)
		cmd := exec.Command(argv[0], append(argv[1:], "--http", "127.0.0.1:0", "--tokens", filepath.Join(t.TempDir(), "tokens.json"))...)
		cmd.Env = append(os.Environ(), "BOARDHAND_TOKEN="+token)
		pipe, err := cmd.StderrPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		said = new(bytes.Buffer)
		log := bufio.NewReader(io.TeeReader(pipe, said))
		for endpoint == "" {
			line, err := log.ReadString('\n')
			if _, at, ok := strings.Cut(line, "serving at "); ok {
				endpoint = strings.TrimSpace(at)
			}
			if err != nil {
				break
			}
		}
		return endpoint, said, func() error {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_, _ = io.Copy(io.Discard, log)
			return cmd.Wait()
		}
	}
	endpoint, said, end := start(token)
	for _, tt := range []struct {
		header string
		status int
	}{{"Bearer " + token, 200}, {"bearer " + token, 200}, {"", 401}, {"Bearer " + token[1:], 401}, {"Bearer " + token + "0", 401}, {"Basic " + token, 401}} {
		body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpio_write","arguments":{"line":"GPIO17","level":1}}}`
		r, err := http.NewRequest("POST", endpoint, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if tt.header != "" {
			r.Header.Set("Authorization", tt.header)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tt.status || strings.Contains(string(text), "GPIO17") != (tt.status == 200) {
			t.Errorf("Authorization: %s: %d %s", tt.header, resp.StatusCode, text)
		}
	}
	if err := end(); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if strings.Contains(said.String(), token[1:]) {
		t.Errorf("the log holds the token:\n%s", said)
	}

	_, said, end = start("too-short-secret")
	if err := end(); err == nil || !strings.Contains(said.String(), "BOARDHAND_TOKEN") || strings.Contains(said.String(), "too-short-secret") {
		t.Errorf("a token too short: %v\n%s", err, said)
	}
}
