package clients

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The simulated boards: one whose bus is slow enough for a scan to report
// progress, and one whose bus hangs at every call, for longer than any client
// here takes to cancel it.
const (
	calmBoard   = "[[sim.slow]]\nbus = 1\nms = 3\n"
	jammedBoard = "[[sim.jam]]\nbus = 1\nseconds = 2\n"
)

// server is the command that starts boardhand on one board.
type server struct {
	argv []string // the program and its arguments, or over HTTP the address
	http *onHTTP  // nil: over stdio
	dir  string   // a folder of its own, where the launcher leaves its notes
}

// newServer prepares a server on the board that a board file's text describes.
func newServer(t *testing.T, board string) *server {
	t.Helper()
	exe, err := filepath.Abs(*binary)
	if err == nil {
		_, err = os.Stat(exe)
	}
	if err != nil {
		t.Fatalf("no boardhand to try (%v); run make build, or name one by -boardhand", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, boardFile), []byte(board), 0o644); err != nil {
		t.Fatal(err)
	}
	return &server{argv: []string{self, launchWord, dir, exe}, dir: dir}
}

// ended waits until every process of the server has ended, and checks of each
// that it did so with status 0, that it said nothing on stderr but that the
// board is simulated, and that it answered each request once, unless the client
// cancelled it. It returns how many were cancelled.
func (s *server) ended(t *testing.T) (cancelled int) {
	t.Helper()
	if s.http != nil {
		return s.http.stop(t)
	}
	started, err := filepath.Glob(filepath.Join(s.dir, "*"+sentNote))
	if err != nil {
		t.Fatal(err)
	}
	if len(started) == 0 {
		t.Error("it never started")
	}
	for _, name := range started {
		process := strings.TrimSuffix(name, sentNote)
		status := ""
		for deadline := time.Now().Add(patience); status == "" && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			text, _ := os.ReadFile(process + statusNote)
			status = string(text)
		}
		equal(t, "exit status", status, "0")
		equal(t, "stderr", note(t, process+stderrNote), "boardhand: this is a simulated board; nothing here is real\n")
		cancelled += checkAnswers(t, note(t, process+sentNote), note(t, process+receivedNote))
	}
	return cancelled
}

// waitFor waits until a client has sent text.
func (s *server) waitFor(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if s.http != nil && s.http.has(text) {
			return
		}
		processes, _ := filepath.Glob(filepath.Join(s.dir, "*"+sentNote))
		for _, name := range processes {
			if strings.Contains(note(t, name), text) {
				return
			}
		}
	}
	t.Errorf("the client never sent %s", text)
}

func note(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
