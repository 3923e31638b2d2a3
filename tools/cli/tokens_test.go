//go:build !board

package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestTokens(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)
	list := []Token{
		{"k7qf2m", "Claude Code", "bhc_A", "localhost", "board:read board:write", "http://pi.local:8377/mcp", at, at.Add(time.Hour), at.Add(24 * time.Hour)},
		{"x", "a\x1b[31mb", "https://app.example/c", "app.example", "board:read", "https://board.example/mcp", at, at, at},
	}
	var out, errs bytes.Buffer
	if status := Tokens(list, "f", false, &out, &errs); status != ExitOK || errs.Len() > 0 {
		t.Fatalf("%d %s", status, &errs)
	}
	const want = `ID      CLIENT       ANSWERS TO   MAY          AT                         APPROVED          LAST TOKEN        ENDS
k7qf2m  Claude Code  localhost    read, write  http://pi.local:8377/mcp   2026-03-01 12:00  2026-03-01 13:00  2026-03-02 12:00
x       a\x1b[31mb   app.example  read         https://board.example/mcp  2026-03-01 12:00  2026-03-01 12:00  2026-03-01 12:00
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
	out.Reset()
	Tokens(list, "f", true, &out, &errs)
	var objects []map[string]string
	if err := json.Unmarshal(out.Bytes(), &objects); err != nil || len(objects) != 2 || objects[0]["id"] != "k7qf2m" || objects[1]["client"] != "a\x1b[31mb" ||
		objects[0]["expires"] != at.Add(24*time.Hour).UTC().Format(time.RFC3339) {
		t.Errorf("%v: %s", err, &out)
	}
	out.Reset()
	Tokens(nil, "/x/tokens.json", true, &out, &errs)
	Tokens(nil, "/x/tokens.json", false, &out, &errs)
	Ended(list[:1], &out, &errs)
	if got := out.String(); !strings.HasPrefix(got, "[]\n") || !strings.Contains(got, "No client is approved in /x/tokens.json.") || !strings.Contains(got, "Ended k7qf2m, Claude Code.") {
		t.Error(got)
	}
}
