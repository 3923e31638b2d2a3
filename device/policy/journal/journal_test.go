package journal

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestMain is also the process that has outputs and is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("JOURNAL_TEST_FOLDER"); dir != "" {
		if _, err := Open(dir, "sim", []string{`line "GPIO17" low`, `led "ACT" 0`}); err != nil {
			panic(err)
		}
		os.Stdout.WriteString("open\n")
		select {}
	}
	os.Exit(m.Run())
}

// start starts a process that has a journal in dir.
func start(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "serve", "a\nb")
	cmd.Env = append(os.Environ(), "JOURNAL_TEST_FOLDER="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this kernel does not start programs of the tests' processor, which is emulated")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(line, err)
	}
	return cmd
}

func lookOne(t *testing.T, dir string) *Found {
	t.Helper()
	all, err := Look(dir, "sim")
	if err != nil || len(all) != 1 {
		t.Fatalf("%d journals, %v", len(all), err)
	}
	return all[0]
}

func TestJournalOfAKilledProcessIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if all, err := Look(dir, "sim"); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
	cmd := start(t, dir)
	f := lookOne(t, dir)
	if !f.Alive || f.PID != cmd.Process.Pid || !strings.HasSuffix(f.Command, " serve a b") || f.Close(true) != nil {
		t.Errorf("%+v", f)
	}
	if all, err := Look(dir, "linux"); len(all) > 0 || err != nil {
		t.Errorf("another board has %v, %v", all, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	f = lookOne(t, dir)
	if f.Alive || !slices.Equal(f.Outputs, []string{`line "GPIO17" low`, `led "ACT" 0`}) {
		t.Errorf("%+v", f)
	}
	if again := lookOne(t, dir); !again.Alive {
		t.Error("two processes set to it")
	}
	if err := f.Close(false); err != nil {
		t.Error(err)
	}
	if err := lookOne(t, dir).Close(true); err != nil {
		t.Error(err)
	}
	if all, err := Look(dir, "sim"); len(all) > 0 || err != nil {
		t.Error(all, err)
	}
}

func TestJournalEndsWithClose(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir, "sim", nil)
	if err != nil {
		t.Fatal(err)
	}
	if f := lookOne(t, dir); !f.Alive || f.Outputs != nil {
		t.Errorf("%+v", f)
	}
	if err := j.Close(true); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error(left)
	}
}

// What is not at rest is left for the next, even of this process, and no journal of
// before is written over.
func TestJournalOfOutputsThatAreNotAtRestStays(t *testing.T) {
	dir := t.TempDir()
	for n := range 3 {
		j, err := Open(dir, "sim", []string{`line "GPIO17" low`})
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Close(false); err != nil {
			t.Error(err)
		}
		all, err := Look(dir, "sim")
		if err != nil || len(all) != n+1 {
			t.Errorf("%d journals, %v", len(all), err)
		}
		for _, f := range all {
			if f.Alive || f.PID != os.Getpid() {
				t.Errorf("%+v", f)
			}
			f.Close(n == 2)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Error(left)
	}
}

// A process is asked to halt only where it is the one of the journal: by now another one
// may have its number.
func TestOnlyTheProcessOfTheJournalIsAsked(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(dir, "sim", nil); err != nil {
		t.Fatal(err)
	}
	f := lookOne(t, dir)
	if f.started == 0 {
		t.Skip("this system does not say when a process has started")
	}
	if again := started(os.Getpid()); again != f.started {
		t.Errorf("started %d, then %d", f.started, again)
	}
	f.started++
	if err := f.Halt(); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err) // or the signal has ended this test
	}
	cmd := start(t, t.TempDir())
	cmd.Process.Kill()
	cmd.Wait()
	f.PID, f.started = cmd.Process.Pid, 0
	if err := f.Halt(); !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
}

func TestWhatIsNoJournalIsSaid(t *testing.T) {
	for name, text := range map[string]string{
		"empty":           "",
		"of a later kind": "boardhand outputs 2\nboard sim\npid 1\nstarted 0\ncommand x\n\n",
		"cut short":       "boardhand outputs 1\nboard sim\npid 1\nstarted 0\ncommand x\nline \"GPIO1",
		"without a pid":   "boardhand outputs 1\nboard sim\npid x\nstarted 0\ncommand x\n\n",
		"without a start": "boardhand outputs 1\nboard sim\npid 1\nstarted x\ncommand x\n\n",
		"too long":        "boardhand outputs 1\nboard sim\npid 1\nstarted 0\ncommand x\n" + strings.Repeat("x\n", maxSize/2),
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "boardhand-1.outputs")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all, err := Look(dir, "sim")
		if len(all) > 0 || err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v, %v", name, all, err)
		}
		if _, err := os.Stat(path); err != nil {
			t.Error("it was removed")
		}
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(path, "state"), "sim", nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
}

func TestFolderFollowsTheEnvironment(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "/run/a:/run/b")
	if dir, err := Folder(); dir != "/run/a" || err != nil {
		t.Error(dir, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("boardhand outputs 1\nboard sim\npid 1\nstarted 0\ncommand x\nline \"GPIO17\" low\n")
	f.Add("boardhand outputs 1\nboard sim\npid 1\nstarted 0\ncommand x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		found := Found{path: "p"}
		if ok, err := found.parse(text, "sim"); ok && (err != nil || found.PID < 1) {
			t.Errorf("%+v, %v", found, err)
		}
	})
}
