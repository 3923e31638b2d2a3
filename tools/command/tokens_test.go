//go:build !board

package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const noSecret = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

func grant(id, name string) string {
	return `{"id":"` + id + `","client":"bhc_` + id + `","name":"` + name + `","returns":"localhost","scope":"board:read","resource":"http://b/mcp","issuer":"http://b",` +
		`"created":1,"used":1,"expires":99999999999,"access":"` + noSecret + `","access_until":1,"family":"` + noSecret + `","refresh":"` + noSecret + `","method":"none","redirects":["http://localhost/"]}`
}

func TestTokensAreListedAndRevoked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"grants":[`+grant("aa", "One")+","+grant("bb", "Two")+","+grant("cc", "Three")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args   string
		status int
		want   []string
		not    string
	}{
		{"", 0, []string{"ID", "aa", "One", "bb", "Two", "cc", "Three", "http://b/mcp"}, noSecret},
		{"--json", 0, []string{`"id":"aa"`, `"expires":"5138-11-16T09:46:39Z"`}, noSecret},
		{"revoke", 2, []string{"--all"}, "Ended"},
		{"revoke --all aa", 2, []string{"--all"}, "Ended"},
		{"--all", 2, []string{"revoke"}, "Ended"},
		{"delete aa", 2, []string{`"delete"`}, "Ended"},
		{"--what", 2, []string{"boardhand tokens -h"}, "Ended"},
		{"revoke zz", 1, []string{`no client "zz"`}, "Ended"},
		{"revoke bb zz --json", 1, []string{"Ended bb, Two.", `no client "zz"`}, "aa"},
		{"", 0, []string{"aa", "cc"}, "bb"},
		{"revoke --all", 0, []string{"Ended aa, One.", "Ended cc, Three."}, "bb"},
		{"revoke --all", 0, []string{"none to end"}, "Ended"},
		{"", 0, []string{"No client is approved in " + file}, "aa"},
	} {
		var out, errs bytes.Buffer
		status := Run("0.1.0-test", append(append([]string{"tokens"}, strings.Fields(tt.args)...), "--tokens", file), &out, &errs)
		text := out.String() + errs.String()
		if status != tt.status || strings.Contains(strings.ReplaceAll(text, file, ""), tt.not) {
			t.Errorf("tokens %s: %d %s; want %d, without %s", tt.args, status, text, tt.status, tt.not)
		}
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("tokens %s: %s; want %s", tt.args, text, want)
			}
		}
	}
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if status := Run("0.1.0-test", []string{"tokens", "--tokens", file}, &out, &errs); status != 1 || !strings.Contains(errs.String(), "damaged") {
		t.Errorf("a damaged file: %d %s", status, &errs)
	}
}
