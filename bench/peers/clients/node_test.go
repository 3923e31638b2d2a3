package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

//go:embed node
var scripts embed.FS

// patience bounds every wait; a run of a client takes a few seconds, and a minute where
// a browser starts on a busy machine.
const patience = 5 * time.Minute

// runNode runs a script of node/ and gives what it printed.
func runNode(t *testing.T, calm, jammed *server, script string, args ...string) (o outcome) {
	t.Helper()
	dir := installed(t)
	commands, err := json.Marshal([][]string{calm.argv, jammed.argv})
	if err != nil {
		t.Fatal(err)
	}
	cmd := nodeCommand(t, dir, append([]string{filepath.Join(dir, script), string(commands)}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", script, err, out, &stderr)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%s printed no outcome: %v\n%s%s", script, err, out, &stderr)
	}
	return o
}

// nodeCommand is node with these arguments: the one installed with the clients,
// since some of them want a newer one than systems have, else the system's.
func nodeCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	exe := "node"
	if found, _ := filepath.Glob(filepath.Join(dir, "node_modules/node-*/bin/node")); len(found) > 0 {
		exe = found[0]
	}
	cmd := exec.CommandContext(ctx, exe, args...)
	cmd.Dir = dir
	cmd.WaitDelay = time.Second
	return cmd
}

// installed gives the folder that holds the scripts and what they need, and
// fills it the first time. Where it cannot, it ends the test.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := install()
	switch {
	case err != nil && *require:
		t.Fatalf("%s cannot be tried: %v", t.Name(), err)
	case err != nil:
		t.Skipf("%s is not tried: %v; with -require this is a failure", t.Name(), err)
	}
	return dir
}

var install = sync.OnceValues(func() (string, error) {
	dir := os.Getenv("BOARDHAND_CACHE")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(cache, "boardhand-clients")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	sum := sha256.New()
	files, err := fs.ReadDir(scripts, "node")
	if err != nil {
		return "", err
	}
	for _, f := range files {
		text, err := scripts.ReadFile("node/" + f.Name())
		if err != nil {
			return "", err
		}
		if filepath.Ext(f.Name()) == ".json" {
			sum.Write(text)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), text, 0o644); err != nil {
			return "", err
		}
	}
	done := filepath.Join(dir, "node_modules", ".boardhand")
	want := hex.EncodeToString(sum.Sum(nil))
	if got, err := os.ReadFile(done); err == nil && string(got) == want {
		return dir, nil
	}
	if err := npmInstall(dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(done, []byte(want), 0o644)
})
