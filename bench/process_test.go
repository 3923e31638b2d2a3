package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// build makes the program and gives its path.
func build(t testing.TB, arch string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "boardhand")
	if err := Build(out, arch); err != nil {
		t.Fatal(err)
	}
	return out
}

// process is the program with its standard streams, as a client starts it.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// patience is how long a process may live: longer than any test takes.
const patience = 10 * time.Minute

func start(t testing.TB, path string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p := &process{t: t, cmd: exec.CommandContext(ctx, path, "serve", "--board", "sim")}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReaderSize(out, 1<<20)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.in.Close()
		if err := p.cmd.Wait(); err != nil && !t.Failed() {
			t.Errorf("the program ended with %v", err)
		}
		cancel()
	})
	return p
}

const inFlight = 64

// ask sends a message n times, inFlight at a time, and awaits every answer.
func (p *process) ask(msg string, n int) {
	p.t.Helper()
	burst := []byte(strings.Repeat(msg+"\n", inFlight))
	for n > 0 {
		k := min(n, inFlight)
		// What is asked fits a pipe, so that writing waits for no reading.
		if _, err := p.in.Write(burst[:k*(len(msg)+1)]); err != nil {
			p.t.Fatal(err)
		}
		for range k {
			line, err := p.out.ReadSlice('\n')
			if err != nil {
				p.t.Fatal(err)
			}
			if !bytes.Contains(line, []byte(`"result":`)) || bytes.Contains(line, []byte(`"isError":true`)) {
				p.t.Fatalf("%s was answered by %.300s", msg, line)
			}
		}
		n -= k
	}
}

// status is one field of /proc/PID/status (proc(5)), in KiB.
func (p *process) status(field string) float64 {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), field+":")
	fields := strings.Fields(rest)
	if !ok || len(fields) == 0 {
		p.t.Fatalf("/proc/PID/status has no %s", field)
	}
	n, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}
