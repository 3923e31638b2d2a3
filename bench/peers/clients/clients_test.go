// Package clients tries boardhand with the clients that people have: each
// launches the binary on the simulated board, works it, cancels a call on a bus
// that hangs, and closes; the server then ends.
//
// The clients written in JavaScript come from npm, in the versions that
// node/package-lock.json holds, into the user's cache, or the folder that
// BOARDHAND_CACHE names.
package clients

import (
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"
)

var (
	binary  = flag.String("boardhand", "../../../boardhand", "the boardhand `binary`, as make build makes it")
	require = flag.Bool("require", false, "fail when a client cannot be installed, instead of skipping it")
)

// outcome is what a client saw. The scripts in node/ print it as one line of
// JSON; a member that a client has no way to see is left empty.
type outcome struct {
	Server       string // its name
	Version      string // the revision of MCP that was agreed on
	Instructions string
	Tools        []string
	Resources    []string // URIs
	Templates    []string
	Prompts      []string

	Before  int    // level of GPIO27 before GPIO17, tied to it, is driven high
	After   int    // and after
	Refused string // how reading GPIO99 failed

	Board  string // the resource board://info
	Line   string // the resource gpio://GPIO17, after the write
	Absent string // how reading the resource gpio://GPIO99 failed

	Prompt     string   // check_wiring
	Completion []string // of the line GPIO1
	Progress   []float64
	Found      []string // addresses on the bus

	Meanwhile int    // tools listed while a call hangs
	Jammed    string // how that call, which is then cancelled, ended for the client
	Next      string // how the next call on that bus failed, which waits for the end of the first
	Cancelled int    // calls, as seen on the wire

	Capabilities map[string]any // of the Content-Length MCP 1.0, in place of Server
	Errors       []string       // what the client finds wrong with the server
}

// client is one way to speak with boardhand.
type client struct {
	name    string
	version string // the revision it must agree on
	run     func(t *testing.T, calm, jammed *server) outcome
	lacks   []string // the checks that it has no way to make
}

func node(script string, args ...string) func(*testing.T, *server, *server) outcome {
	return func(t *testing.T, calm, jammed *server) outcome { return runNode(t, calm, jammed, script, args...) }
}

var clients = []client{
	{name: "TypeScript SDK v1", version: "2025-11-25", run: node("typescript_v1.mjs")},
	{name: "TypeScript SDK v2, initialize", version: "2025-11-25", run: node("typescript_v2.mjs", "legacy")},
	{name: "TypeScript SDK v2, probing", version: "2026-07-28", run: node("typescript_v2.mjs", "auto")},
	{name: "TypeScript SDK v2, pinned", version: "2026-07-28", run: node("typescript_v2.mjs", "2026-07-28")},
	{name: "Inspector, initialize", version: "2025-11-25", run: inspector("legacy"), lacks: inspectorLacks},
	{name: "Inspector, discover", version: "2026-07-28", run: inspector("modern"), lacks: inspectorLacks},
	{name: "go-sdk", version: "2026-07-28", run: goSDK("")},
	{name: "go-sdk, 2025-11-25", version: "2025-11-25", run: goSDK("2025-11-25")},
	{name: "go-sdk, 2025-06-18", version: "2025-06-18", run: goSDK("2025-06-18")},
	{name: "go-sdk, 2025-03-26", version: "2025-03-26", run: goSDK("2025-03-26")},
	{name: "go-sdk, 2024-11-05", version: "2024-11-05", run: goSDK("2024-11-05")},
	{name: "mcp-go", version: "2026-07-28", run: mcpGo("")},
	{name: "mcp-go, 2025-11-25", version: "2025-11-25", run: mcpGo("2025-11-25")},
	{name: "vscode-jsonrpc", version: "2025-11-25", run: node("vscode_jsonrpc.mjs", "2025-11-25")},
	{name: "vscode-jsonrpc, MCP 1.0", run: node("vscode_jsonrpc.mjs", "1.0"),
		lacks: []string{"connects", "lists templates", "reads a resource of a template", "completes a name", "sees progress", cancels}},
}

func TestClients(t *testing.T) {
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) { tryClient(t, c, newServer) })
	}
}

// tryClient tries a client with servers on two boards.
func tryClient(t *testing.T, c client, serve func(*testing.T, string) *server) {
	t.Parallel()
	calm, jammed := serve(t, calmBoard), serve(t, jammedBoard)
	o := c.run(t, calm, jammed)
	t.Run("the server answers and ends", func(t *testing.T) {
		o.Cancelled = calm.ended(t)
		if !slices.Contains(c.lacks, waits) {
			o.Cancelled += jammed.ended(t)
		}
	})
	if o.Version != c.version {
		t.Errorf("agreed on %q; want %q", o.Version, c.version)
	}
	for _, check := range checks {
		if slices.Contains(c.lacks, check.name) {
			continue
		}
		t.Run(check.name, func(t *testing.T) { check.run(t, o) })
	}
}

// The checks of a call that hangs.
const (
	waits   = "goes on while a call hangs"
	cancels = "cancels that call"
)

var checks = []struct {
	name string
	run  func(t *testing.T, o outcome)
}{
	{"connects", func(t *testing.T, o outcome) {
		equal(t, "server", o.Server, "boardhand")
		contain(t, "instructions", o.Instructions, "simulated")
	}},
	{"lists tools, resources and prompts", func(t *testing.T, o outcome) {
		for _, name := range []string{"board_info", "gpio_list", "gpio_read", "gpio_write", "i2c_scan", "i2c_read", "i2c_write", "sensor_list", "sensor_read"} {
			has(t, "tools", o.Tools, name)
		}
		if !slices.ContainsFunc(o.Resources, func(uri string) bool { return strings.Contains(uri, "board") }) {
			t.Errorf("resources: %q; want the board's", o.Resources)
		}
		has(t, "prompts", o.Prompts, "find_i2c_device")
		has(t, "prompts", o.Prompts, "check_wiring")
	}},
	{"lists templates", func(t *testing.T, o outcome) {
		has(t, "templates", o.Templates, "gpio://{line}")
		has(t, "templates", o.Templates, "sensor://{name}")
	}},
	{"writes a line and reads the level", func(t *testing.T, o outcome) {
		equal(t, "level before", o.Before, 0)
		equal(t, "level after", o.After, 1)
	}},
	{"is told of an unknown line", func(t *testing.T, o outcome) {
		contain(t, "error", o.Refused, `line "GPIO99" not found; gpio_list shows`)
	}},
	{"reads a resource", func(t *testing.T, o outcome) {
		equal(t, "simulated", member(t, o.Board, "simulated"), any(true))
	}},
	{"reads a resource of a template", func(t *testing.T, o outcome) {
		equal(t, "line", member(t, o.Line, "line"), any("GPIO17"))
		contain(t, "error", o.Absent, `line "GPIO99" not found`)
	}},
	{"gets a prompt", func(t *testing.T, o outcome) {
		contain(t, "prompt", o.Prompt, "Check whether")
	}},
	{"completes a name", func(t *testing.T, o outcome) {
		has(t, "completion", o.Completion, "GPIO17")
		if slices.Contains(o.Completion, "GPIO27") {
			t.Errorf("completion: %q; GPIO27 does not begin with GPIO1", o.Completion)
		}
	}},
	{"scans a bus", func(t *testing.T, o outcome) {
		equal(t, "addresses", strings.Join(o.Found, " "), "0x50 0x68 0x76")
	}},
	{"sees progress", func(t *testing.T, o outcome) {
		last := 0.0
		for _, p := range o.Progress {
			if p <= last || p > 1 {
				t.Errorf("progress: %v; want rising parts of 1", o.Progress)
			}
			last = p
		}
		if last == 0 {
			t.Error("no progress")
		}
	}},
	{waits, func(t *testing.T, o outcome) {
		if o.Meanwhile == 0 {
			t.Error("no tools listed meanwhile")
		}
		contain(t, "next call on the bus", o.Next, "timed out (ETIMEDOUT)")
	}},
	{cancels, func(t *testing.T, o outcome) {
		equal(t, "calls cancelled", o.Cancelled, 1)
		if !strings.Contains(strings.ToLower(o.Jammed), "cancel") && !strings.Contains(o.Jammed, "no longer wanted") {
			t.Errorf("the call ended with %q; want it cancelled", o.Jammed)
		}
	}},
	{"finds nothing wrong", func(t *testing.T, o outcome) {
		for _, e := range o.Errors {
			t.Error(e)
		}
		for name, can := range o.Capabilities {
			if can == false {
				t.Errorf("capability %s is false", name)
			}
		}
	}},
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v; want %v", what, got, want)
	}
}

func contain(t *testing.T, what, got, part string) {
	t.Helper()
	if !strings.Contains(got, part) {
		t.Errorf("%s: %q; want %q in it", what, got, part)
	}
}

func has(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if !slices.Contains(got, want) {
		t.Errorf("%s: %q; want %q among them", what, got, want)
	}
}

// member is one of the members of a JSON object.
func member(t *testing.T, text, name string) any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return object[name]
}
