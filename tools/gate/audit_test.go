package gate_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"boardhand/tools/audit"
	"boardhand/tools/cli"
)

// What was written down is a table for a person, and lines of JSON for a machine.
func TestAPersonReadsTheAudit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(name, audit.Options{}, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, "[[line]]\nline = \"GPIO17\"\nname = \"pump\"\naccess = \"write\"\n[[line]]\nline = \"GPIO22\"\nname = \"heater\"\naccess = \"write\"\nconfirm = true\n"+
		"[[uart]]\nport = \"ttyUSB0\"\nname = \"modem\"\naccess = \"write\"\nsecret = true\n"+fmt.Sprintf("[audit]\nfile = %q\n", name), log)
	d.call("gpio_write", `{"line":"pump","level":1}`)
	d.call("gpio_read", `{"lines":["pump"]}`) // not an act
	d.confirm("gpio_write", `{"line":"heater","level":1}`)
	d.call("led_set", `{"led":"ACT","state":"on"}`)
	d.call("uart_exchange", `{"port":"modem","data":"AT+PIN=4711","timeout_ms":1}`)
	d.Close()
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	read := func(last int, asJSON bool) string {
		t.Helper()
		var out, errs bytes.Buffer
		status := cli.Audit(func(each func([]byte) error) error { return audit.Read(name, each) }, last, asJSON, &out, &errs)
		if status != 0 || errs.Len() > 0 {
			t.Errorf("status %d: %s", status, errs.String())
		}
		return out.String()
	}
	rows := strings.Split(strings.TrimSpace(read(0, false)), "\n")
	want := [][]string{
		{"TIME", "CLIENT", "CALL", "DECISION", "OUTCOME"},
		{"test 1", "gpio_write line=pump level=1", "allowed", "done"},
		{"gpio_write line=heater level=1", "asked", "not run", `board.toml:5: line "heater": confirm = true`},
		{"gpio_write line=heater level=1", "confirmed", "done"},
		{"led_set", "refused", "not run", "board.toml: tool"},
		{"uart_exchange ***", "allowed", "done"},
	}
	if len(rows) != len(want) {
		t.Fatalf("%d rows, want %d:\n%s", len(rows), len(want), strings.Join(rows, "\n"))
	}
	for i := range want {
		for _, part := range want[i] {
			if !strings.Contains(rows[i], part) {
				t.Errorf("row %d lacks %q: %s", i, part, rows[i])
			}
		}
	}
	if text := read(2, true); strings.Count(text, "\n") != 2 || !strings.Contains(text, `"tool":"uart_exchange"`) || strings.Contains(text, "heater") {
		t.Errorf("the last two are %s", text)
	}
	if text, err := os.ReadFile(name); err != nil || bytes.Contains(text, []byte("4711")) {
		t.Errorf("the secret is in the log, %v", err)
	}
}

// Several connections write one audit at once, and nothing is torn.
func TestConnectionsShareAnAudit(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := audit.Open(name, audit.Options{}, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, "[[line]]\nline = \"GPIO17\"\naccess = \"write\"\n"+fmt.Sprintf("[audit]\nfile = %q\n", name), log)
	var all sync.WaitGroup
	const connections, calls = 4, 50
	for range connections {
		c := &desk{t: t, srv: d.srv}
		c.Conn = d.srv.NewConn(&c.out)
		all.Go(func() {
			for i := range calls {
				c.call("gpio_write", fmt.Sprintf(`{"line":"GPIO17","level":%d}`, i%2))
			}
		})
	}
	all.Wait()
	dropped := 0
	seen := map[string]int{}
	for _, r := range records(t, name, log) {
		_, conn, _ := strings.Cut(r, `"conn":`)
		conn, _, _ = strings.Cut(conn, ",")
		seen[conn]++
		if strings.Contains(r, "dropped") {
			dropped++
		}
	}
	for conn, n := range seen {
		if n != calls {
			t.Errorf("connection %s has %d records, want %d", conn, n, calls)
		}
	}
	if len(seen) != connections || dropped > 0 {
		t.Errorf("%v, %d dropped", seen, dropped)
	}
}
