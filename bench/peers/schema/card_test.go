package schema

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
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestServerCard holds the server card, as it is served and as it is printed, against
// its official schema, and against what the server says of itself.
func TestServerCard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(*schemasDir, "server-card.json"))
	if err != nil {
		t.Skipf("the official schemas are not here (%v); -schemas names their folder", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	const url = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
	compiler := newCompiler()
	if err := compiler.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile(url + "#/$defs/ServerCard")
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(*boardhand, "serve", "--board", "sim", "--http", "127.0.0.1:0")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("no program to test: %v; run make test-schema, or name one by -boardhand", err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	endpoint := ""
	for lines := bufio.NewReader(out); endpoint == ""; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, endpoint, _ = strings.Cut(strings.TrimSpace(line), "serving at ")
	}

	base := strings.TrimSuffix(endpoint, "/mcp")
	cards := map[string][]byte{}
	for _, path := range []string{"/mcp/server-card", "/.well-known/mcp/server-card", "/.well-known/mcp-server-card"} {
		res, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		if kind := res.Header.Get("Content-Type"); res.StatusCode != 200 || kind != "application/mcp-server-card+json" {
			t.Errorf("%s: status %d, content %q", path, res.StatusCode, kind)
		}
		cards[path], err = io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	if cards["boardhand card"], err = exec.Command(*boardhand, "card", "--board", "sim", "--http", strings.TrimPrefix(base, "http://")).Output(); err != nil {
		t.Fatal(err)
	}
	printed := exec.Command(*boardhand, "card", "--board", "sim", "--url", "https://board.example")
	printed.Env = append(os.Environ(), "BOARDHAND_TOKEN=0123456789abcdef0123456789abcdef")
	if cards["a card with a token"], err = printed.Output(); err != nil {
		t.Fatal(err)
	}

	r, _ := http.NewRequest("POST", endpoint, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"server/discover"}}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var discovered struct {
		Result struct {
			SupportedVersions []string
			Meta              struct {
				ServerInfo struct{ Name, Title, Version string } `json:"io.modelcontextprotocol/serverInfo"`
			} `json:"_meta"`
		}
	}
	if err := json.NewDecoder(res.Body).Decode(&discovered); err != nil {
		t.Fatal(err)
	}
	for what, card := range cards {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(card))
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", what, err, card)
			continue
		}
		var c struct {
			Name, Title, Version string
			Remotes              []struct {
				URL                       string
				SupportedProtocolVersions []string
			}
		}
		if err := json.Unmarshal(card, &c); err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(c.Name, "/")
		info := discovered.Result.Meta.ServerInfo
		if name != info.Name || c.Title != info.Title || c.Version != info.Version ||
			strings.Join(c.Remotes[0].SupportedProtocolVersions, " ") != strings.Join(discovered.Result.SupportedVersions, " ") {
			t.Errorf("%s: %s\ndoes not agree with server/discover: %+v", what, card, discovered.Result)
		}
		want := endpoint
		if what == "a card with a token" {
			want = "https://board.example/mcp"
		}
		if c.Remotes[0].URL != want {
			t.Errorf("%s: url %s, want %s", what, c.Remotes[0].URL, want)
		}
	}
}
