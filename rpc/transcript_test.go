package rpc

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boardhand/frame"
	"boardhand/rpc/wire"
)

var update = flag.Bool("update", false, "write what the server answers into the transcripts")

// TestTranscripts plays the conversations in testdata: "> " lines are sent, the
// "< " lines behind each are what must come back, "# " lines say what is shown.
func TestTranscripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			b := newBus()
			b.slow = 100 * time.Millisecond
			close(b.release)
			var out bytes.Buffer
			c := NewServer(testCatalogue(b), Limits{Values: 200}, nil).NewConn(&out)
			var played strings.Builder
			for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				if strings.HasPrefix(line, "< ") {
					continue
				}
				played.WriteString(line + "\n")
				msg, ok := strings.CutPrefix(line, "> ")
				if !ok {
					continue
				}
				c.Handle([]byte(msg), frame.Newline)
				c.Wait()
				if err := c.Flush(); err != nil {
					t.Fatal(err)
				}
				for _, answer := range strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n") {
					if answer == "" {
						continue
					}
					if err := wire.Scan([]byte(answer), wire.Limits{Depth: 64, Values: 1 << 20}); err != nil {
						t.Errorf("the answer to %s is no JSON: %v", msg, err)
					}
					played.WriteString("< " + answer + "\n")
				}
				out.Reset()
			}
			if *update {
				if err := os.WriteFile(name, []byte(played.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got := played.String(); got != string(text) {
				t.Errorf("played:\n%s\nwritten:\n%s", got, text)
			}
		})
	}
}

func TestVersionsAreThoseOfTheShapes(t *testing.T) {
	want := []string{modernShape.version}
	for i := range legacyShapes {
		want = append(want, legacyShapes[len(legacyShapes)-1-i].version)
	}
	if got := Versions(); !slices.Equal(got, want) {
		t.Errorf("Versions gives %v, the shapes are %v", got, want)
	}
}
