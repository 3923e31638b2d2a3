package rpc

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boardhand/frame"
	"boardhand/rpc/wire"
)

// FuzzHandle: whatever a message holds, the server lives, writes only valid JSON
// lines, and answers the next request.
func FuzzHandle(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			if msg, ok := strings.CutPrefix(line, "> "); ok {
				f.Add([]byte(msg))
			}
		}
	}
	b := newBus()
	close(b.release)
	srv := NewServer(testCatalogue(b), Limits{}, nil)
	f.Fuzz(func(t *testing.T, msg []byte) {
		for len(b.started) > 0 {
			<-b.started
		}
		var out bytes.Buffer
		c := srv.NewConn(&out)
		c.Handle([]byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`), frame.Newline)
		c.Handle(msg, frame.Newline)
		c.Wait()
		c.Handle([]byte(request1(987654321, "prompts/list")), frame.Newline)
		if err := c.Flush(); err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte("\n"))
		for _, l := range lines {
			if err := wire.Scan(l, wire.Limits{Depth: 64, Values: 1 << 20}); err != nil {
				t.Fatalf("%q was answered with %q: %v", msg, l, err)
			}
		}
		if last := lines[len(lines)-1]; !bytes.HasPrefix(last, []byte(`{"jsonrpc":"2.0","id":987654321,"result":`)) {
			t.Fatalf("after %q the next request was answered with %q", msg, last)
		}
	})
}
