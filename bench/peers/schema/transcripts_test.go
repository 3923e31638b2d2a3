package schema

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The conversations in rpc/testdata show what the simulated board never says:
// errors of a client that lacks a capability, and of a handler that fails.
func TestTheRecordedConversationsAreOfTheirRevision(t *testing.T) {
	for file, version := range map[string]string{
		"2024-11-05.txt": "2024-11-05", "2025-03-26.txt": "2025-03-26", "2025-06-18.txt": "2025-06-18", "2025-11-25.txt": "2025-11-25",
		"modern.txt": modern, "envelope.txt": modern,
	} {
		t.Run(file, func(t *testing.T) {
			o := loadOfficial(t, version)
			conversation, err := os.ReadFile(filepath.Join("..", "..", "..", "rpc", "testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			s := &session{t: t, official: o}
			method := map[string]string{} // by id
			codes := map[string]bool{}
			var check func(v any)
			check = func(v any) {
				switch got := v.(type) {
				case []any:
					for _, one := range got {
						check(one)
					}
				case obj:
					switch {
					case got["method"] != nil:
						s.note(got)
					case got["error"] != nil:
						codes[text(in(got, "error.code"))] = true
						checkError(t, o, got)
					case file == "envelope.txt": // results of ping, before any handshake
						checkMembers(t, got, "jsonrpc", "id", "result")
					default:
						checkResult(t, o, method[text(got["id"])], got)
					}
				}
			}
			for _, line := range strings.Split(string(conversation), "\n") {
				if sent, ok := strings.CutPrefix(line, "> "); ok {
					v, err := jsonschema.UnmarshalJSON(strings.NewReader(sent))
					if err != nil {
						continue // it shows how that is answered
					}
					requests, ok := v.([]any)
					if !ok {
						requests = []any{v}
					}
					for _, r := range requests {
						if name, ok := in(r, "method").(string); ok && in(r, "id") != nil {
							method[text(in(r, "id"))] = name
						}
					}
				}
				if got, ok := strings.CutPrefix(line, "< "); ok {
					v, err := decode([]byte(got))
					if err != nil {
						t.Errorf("%s: %v", line, err)
						continue
					}
					check(v)
				}
			}
			if file == "modern.txt" && !(codes["-32021"] && codes["-32603"] && codes["-32602"] && codes["-32601"]) {
				t.Errorf("the conversation shows only the errors %v", codes)
			}
		})
	}
}
