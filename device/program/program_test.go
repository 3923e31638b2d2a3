//go:build linux

package program

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func limits() Limits { return Limits{Time: 20 * time.Second, Output: 1 << 10} }

func TestRun(t *testing.T) {
	for name, tt := range map[string]struct {
		path      string
		arguments []string
		change    func(*Limits)
		status    int
		output    string
		err       string // part of it
	}{
		"says something":            {path: "/bin/echo", arguments: []string{"a b", "$HOME;`x`"}, output: "a b $HOME;`x`\n"},
		"has a status":              {path: "/bin/sh", arguments: []string{"-c", "echo out; echo err >&2; exit 3"}, status: 3, output: "out\nerr\n"},
		"has no input":              {path: "/bin/cat"},
		"has a small environment":   {path: "/usr/bin/env", output: strings.Join(environment, "\n") + "\n"},
		"starts in the root folder": {path: "/bin/pwd", output: "/\n"},
		"is not there":              {path: "/bin/no such program", err: "/bin/no such program cannot be started: no such file or directory"},
		"cannot be run":             {path: "/dev/null", err: "/dev/null cannot be started: permission denied"},
		"takes too long":            {path: "/bin/sleep", arguments: []string{"100"}, change: func(l *Limits) { l.Time = 50 * time.Millisecond }, err: "/bin/sleep was ended: its time was up; 50ms and 1024 bytes are allowed"},
		"says too much":             {path: "/bin/sh", arguments: []string{"-c", "while :; do echo yes; done"}, err: "it wrote too much"},
		"says all that is allowed":  {path: "/usr/bin/printf", arguments: []string{strings.Repeat("x", 1024)}, output: strings.Repeat("x", 1024)},
		"is cancelled":              {path: "/bin/sleep", arguments: []string{"100"}, change: func(l *Limits) { l.Cancelled = func() bool { return true } }, err: "cancelled"},
		"ends by a signal":          {path: "/bin/sh", arguments: []string{"-c", "kill -TERM $$"}, err: "signal: terminated"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(tt.path); err != nil && tt.err == "" {
				t.Skip(err)
			}
			l := limits()
			if tt.change != nil {
				tt.change(&l)
			}
			r, err := Run(tt.path, tt.arguments, l)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %q", err, tt.err)
			}
			if err == nil && r.Status != tt.status || string(r.Output) != tt.output {
				t.Errorf("status %d, output %q; want %d, %q", r.Status, r.Output, tt.status, tt.output)
			}
		})
	}
}

// What a program has started ends with it.
func TestGroupEndsWithItsProgram(t *testing.T) {
	for name, script := range map[string]string{
		"at its end":             "sleep 100 & echo $!",
		"when it takes too long": "sleep 100 & echo $! >&3; wait",
	} {
		t.Run(name, func(t *testing.T) {
			l := limits()
			file := t.TempDir() + "/pid"
			if name != "at its end" {
				l.Time = 300 * time.Millisecond
			}
			r, err := Run("/bin/sh", []string{"-c", strings.Replace(script, ">&3", "> "+file, 1)}, l)
			text := string(r.Output)
			if name != "at its end" {
				if err == nil {
					t.Error("no error")
				}
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				text = string(b)
			} else if err != nil {
				t.Fatal(err)
			}
			pid, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("process %d lives on", pid)
				}
			}
		})
	}
}

// alive says whether a process runs; what has ended and waits for its parent does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, state, _ := strings.Cut(string(text), ") ")
	return !strings.HasPrefix(state, "Z")
}
