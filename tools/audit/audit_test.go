package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func open(t *testing.T, name string, o Options) *Log {
	t.Helper()
	l, err := Open(name, o, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// all are the lines of a log.
func all(t *testing.T, name string) []string {
	t.Helper()
	var lines []string
	if err := Read(name, func(line []byte) error {
		if !json.Valid(line) {
			t.Errorf("no JSON: %q", line)
		}
		lines = append(lines, string(line))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestLinesAreWrittenOutSoonAndAtTheEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, name, Options{})
	l.Write([]byte(`{"n":1}`))
	for range 500 {
		if text, _ := os.ReadFile(name); string(text) == "{\"n\":1}\n" {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	l.Write([]byte(`{"n":2}`))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Write([]byte(`{"n":3}`)) // too late
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(all(t, name), ""); got != `{"n":1}{"n":2}` {
		t.Error(got)
	}
	if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 && os.PathSeparator == '/' {
		t.Errorf("%v %v: others can read it", info.Mode(), err)
	}
}

func TestFilesAreRotatedBySizeAndTheOldestGo(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, name, Options{MaxBytes: 1000, Keep: 2})
	for i := range 1000 {
		l.Write(fmt.Appendf(nil, `{"n":%d}`, i))
		if i%7 == 0 {
			l.flush()
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(name + "*")
	if len(files) != 3 {
		t.Errorf("there are %q", files)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 1000 {
			t.Errorf("%s has %d bytes (%v)", f, info.Size(), err)
		}
	}
	lines := all(t, name)
	for i, line := range lines {
		if want := fmt.Sprintf(`{"n":%d}`, 1000-len(lines)+i); line != want {
			t.Fatalf("line %d of %d is %s, want %s", i, len(lines), line, want)
		}
	}
	if len(lines) < 150 {
		t.Errorf("only %d lines are kept", len(lines))
	}
}

func TestALineLongerThanAFileIsWrittenAlone(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, name, Options{MaxBytes: 10, Keep: 9})
	long := `{"text":"` + strings.Repeat("x", 100) + `"}`
	for range 3 {
		l.Write([]byte(long))
	}
	_ = l.Close()
	if got := all(t, name); strings.Join(got, "") != strings.Repeat(long, 3) {
		t.Errorf("%q", got)
	}
}

// What finds no room is counted by the next line that does.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, name, Options{})
	l.file.Lock() // the file takes nothing
	line := []byte(`{"text":"` + strings.Repeat("x", 991) + `"}`)
	fits := 0
	for range 200 {
		l.mu.Lock()
		dropped := l.dropped
		l.mu.Unlock()
		l.Write(line)
		l.mu.Lock()
		if l.dropped == dropped {
			fits++
		}
		l.mu.Unlock()
	}
	if fits > 2*maxBuffered/1000 {
		t.Errorf("%d lines of 1000 bytes were kept in a buffer of %d", fits, maxBuffered)
	}
	l.file.Unlock()
	l.flush()
	l.flush()
	l.Write([]byte(`{"n":1}`))
	_ = l.Close()
	got := all(t, name)
	if len(got) != fits+1 || got[fits] != fmt.Sprintf(`{"n":1,"dropped":%d}`, 200-fits) {
		t.Errorf("%d lines, the last %s; %d fitted", len(got), got[len(got)-1], fits)
	}
}

// A log that cannot be written is told of once, and counted.
func TestAFileThatCannotBeWrittenIsToldOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "audit.jsonl")
	var told []error
	l, err := Open(name, Options{}, func(err error) { told = append(told, err) })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		l.Write([]byte(`{"n":1}`))
		l.flush()
	}
	if len(told) != 1 || !strings.Contains(told[0].Error(), "calls go on without") {
		t.Errorf("told %v", told)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.Write([]byte(`{"n":2}`))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := all(t, name); len(got) != 1 || got[0] != `{"n":2,"dropped":3}` {
		t.Errorf("%q", got)
	}
}

func TestALineThatAPowerFailureCutOffEndsThere(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(name, []byte("{\"n\":1}\n{\"n\":"), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, name, Options{})
	l.Write([]byte(`{"n":2}`))
	_ = l.Close()
	if text, _ := os.ReadFile(name); string(text) != "{\"n\":1}\n{\"n\":\n{\"n\":2}\n" {
		t.Errorf("%q", text)
	}
}

// Two processes may have one log; whoever rotates it, no line is lost or torn.
func TestTwoLogsWriteOneFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	var wait sync.WaitGroup
	for who := range 2 {
		l := open(t, name, Options{MaxBytes: 1 << 20})
		wait.Go(func() {
			for i := range 300 {
				l.Write(fmt.Appendf(nil, `{"who":%d,"n":%d}`, who, i))
				if i%10 == 0 {
					l.flush()
				}
			}
			_ = l.Close()
		})
	}
	wait.Wait()
	if got := all(t, name); len(got) != 600 {
		t.Errorf("%d lines, want 600", len(got))
	}
	// One that was rotated by another process is found under its name.
	l := open(t, name, Options{})
	l.Write([]byte(`{"n":1}`))
	l.flush()
	if err := os.Rename(name, name+".1"); err != nil {
		t.Fatal(err)
	}
	l.Write([]byte(`{"n":2}`))
	l.flush()
	if text, err := os.ReadFile(name); string(text) != "{\"n\":2}\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestOpenRefusesWhatIsNoFile(t *testing.T) {
	for _, name := range []string{t.TempDir(), filepath.Join(t.TempDir(), "nosuch", "audit.jsonl"), os.DevNull} {
		l, err := Open(name, Options{}, nil)
		if err == nil {
			_ = l.Close()
			t.Errorf("%s was opened", name)
		} else if !strings.HasPrefix(err.Error(), "the audit log: ") {
			t.Error(err)
		}
	}
}

func TestReadStopsAtTheFirstError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(name, bytes.Repeat([]byte("{}\n"), 5), 0o600); err != nil {
		t.Fatal(err)
	}
	n, stop := 0, errors.New("stop")
	if err := Read(name, func([]byte) error { n++; return stop }); err != stop || n != 1 {
		t.Errorf("%v after %d lines", err, n)
	}
}

func TestWriteAllocatesNothing(t *testing.T) {
	l := open(t, filepath.Join(t.TempDir(), "audit.jsonl"), Options{})
	line := []byte(`{"tool":"gpio_write","args":{"line":"pump","level":1}}`)
	if n := testing.AllocsPerRun(2000, func() { l.Write(line) }); n != 0 {
		t.Errorf("%v allocations a line", n)
	}
}

func BenchmarkWrite(b *testing.B) {
	l, err := Open(filepath.Join(b.TempDir(), "audit.jsonl"), Options{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	line := bytes.Repeat([]byte("x"), 250)
	b.ReportAllocs()
	for b.Loop() {
		l.Write(line)
	}
}
