package clients

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
)

// inspectorLacks: its command line makes one request per process, and has no
// completion, progress or cancellation.
var inspectorLacks = []string{"completes a name", "sees progress", waits, cancels}

// inspector runs the command line of the official Inspector, one process per
// request, with initialize (legacy) or server/discover (modern).
func inspector(era string) func(*testing.T, *server, *server) outcome {
	return func(t *testing.T, calm, _ *server) (o outcome) {
		dir := installed(t)
		home := t.TempDir()
		target := calm.argv
		if calm.http != nil {
			target = append(target[:1:1], "--transport", "http")
		}
		// request makes one, and reads the result into into; or gives the error.
		request := func(into any, method string, args ...string) string {
			t.Helper()
			argv := slices.Concat([]string{filepath.Join(dir, "node_modules/.bin/mcp-inspector"), "--cli"}, target,
				[]string{"--quiet", "--protocol-era", era, "--method", method}, args)
			cmd := nodeCommand(t, dir, argv...)
			cmd.Env = append(cmd.Environ(), "HOME="+home)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if len(out) == 0 && err != nil && into == nil {
				return stderr.String()
			}
			if into == nil {
				return "no error"
			}
			if len(out) == 0 {
				t.Fatalf("%s: %v\n%s", method, err, &stderr)
			}
			if err := json.Unmarshal(out, into); err != nil {
				t.Fatalf("%s: %v\n%s%s", method, err, out, &stderr)
			}
			return ""
		}
		var hello struct {
			ServerInfo                    struct{ Name string }
			ProtocolVersion, Instructions string
		}
		request(&hello, "initialize")
		o.Server, o.Version, o.Instructions = hello.ServerInfo.Name, hello.ProtocolVersion, hello.Instructions

		var lists struct {
			Tools, Prompts    []struct{ Name string }
			Resources         []struct{ URI string }
			ResourceTemplates []struct{ URITemplate string }
		}
		for _, method := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
			request(&lists, method)
		}
		for _, x := range lists.Tools {
			o.Tools = append(o.Tools, x.Name)
		}
		for _, x := range lists.Resources {
			o.Resources = append(o.Resources, x.URI)
		}
		for _, x := range lists.ResourceTemplates {
			o.Templates = append(o.Templates, x.URITemplate)
		}
		for _, x := range lists.Prompts {
			o.Prompts = append(o.Prompts, x.Name)
		}

		call := func(name, args string) (r toolResult) {
			t.Helper()
			request(&r, "tools/call", "--tool-name", name, "--tool-args-json", args)
			return r
		}
		written := call("gpio_write", `{"line":"GPIO17","level":1}`).output(t)
		o.Before, o.After = written.Before.Level, written.Level
		o.Refused = call("gpio_read", `{"lines":["GPIO99"]}`).refusal()
		o.Found = call("i2c_scan", `{}`).output(t).addresses()

		read := func(uri string) string {
			t.Helper()
			var r struct{ Contents []struct{ Text string } }
			request(&r, "resources/read", "--uri", uri)
			return r.Contents[0].Text
		}
		o.Board, o.Line = read("board://info"), read("gpio://GPIO17")
		var failure struct{ Error struct{ Message string } }
		if err := json.Unmarshal([]byte(request(nil, "resources/read", "--uri", "gpio://GPIO99")), &failure); err != nil {
			t.Errorf("no error as JSON: %v", err)
		}
		o.Absent = failure.Error.Message

		var prompt struct {
			Messages []struct{ Content struct{ Text string } }
		}
		request(&prompt, "prompts/get", "--prompt-name", "check_wiring", "--prompt-args", "line=GPIO17")
		o.Prompt = prompt.Messages[0].Content.Text
		return o
	}
}
