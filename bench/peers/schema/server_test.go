package schema

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var boardhand = flag.String("boardhand", "../../../boardhand", "the program to test")

// framing is how messages are told apart on a pipe.
type framing string

const (
	newline framing = "newline"
	header  framing = "header"
)

var framings = []framing{newline, header}

// patience bounds every wait for the program, so that a fault is no hang.
const patience = 30 * time.Second

// server is a running program: `boardhand serve` on the simulated board.
type server struct {
	t       testing.TB
	framing framing
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     chan received
	stderr  lockedBuffer
}

type received struct {
	message []byte
	err     error // io.EOF at the end of a whole message, or what was wrong with the bytes
}

// everything gives the simulated board the families that it has only by its file.
const everything = "[sim]\ncan = \"up\"\npwm = true\n"

// start runs the program; file is the rest of a board file's text, or empty.
func start(t testing.TB, f framing, file string) *server {
	t.Helper()
	if _, err := os.Stat(*boardhand); err != nil {
		t.Fatalf("no program to test: %v; run make test-schema, or name one by -boardhand", err)
	}
	name := t.TempDir() + "/board.toml"
	if err := os.WriteFile(name, []byte(everything+file), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, framing: f, cmd: exec.Command(*boardhand, "serve", "--board", "sim", "--config", name), out: make(chan received, 1024)}
	s.cmd.Stderr = &s.stderr
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r := bufio.NewReader(out)
		for {
			message, err := f.read(r)
			s.out <- received{message, err}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		if s.cmd.ProcessState == nil {
			_ = s.cmd.Process.Kill()
			<-ended
			_ = s.cmd.Wait()
		}
	})
	return s
}

// read reads one message, strictly as the framing has it.
func (f framing) read(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		if len(line) > 0 {
			err = fmt.Errorf("output ends in the middle of %q", line)
		}
		return nil, err
	}
	if f == newline {
		return line[:len(line)-1], nil
	}
	digits, ok := strings.CutPrefix(string(line), "Content-Length: ")
	if !ok || !strings.HasSuffix(digits, "\r\n") {
		return nil, fmt.Errorf("%q is no Content-Length", line)
	}
	n, err := strconv.Atoi(digits[:len(digits)-2])
	if err != nil {
		return nil, fmt.Errorf("%q: %w", line, err)
	}
	if line, err = r.ReadBytes('\n'); err != nil || string(line) != "\r\n" {
		return nil, fmt.Errorf("%q stands where the empty line is due: %v", line, err)
	}
	body := make([]byte, n)
	if got, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("%q, then only %d bytes", digits, got)
	}
	return body, nil
}

// write sends bytes as they are.
func (s *server) write(raw string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, raw); err != nil {
		s.t.Fatalf("the program does not read: %v\n%s", err, s.stderr.String())
	}
}

// send sends one message in the server's framing.
func (s *server) send(message string) {
	s.t.Helper()
	if s.framing == newline {
		s.write(message + "\n")
	} else {
		s.write(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message))
	}
}

// next waits for the next message of the server and decodes it.
func (s *server) next() any {
	s.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case got := <-s.out:
		if got.err != nil {
			s.t.Fatalf("no message: %v\n%s", got.err, s.stderr.String())
		}
		v, err := decode(got.message)
		if err != nil {
			s.t.Fatalf("%q is no JSON: %v", got.message, err)
		}
		return v
	case <-timer.C:
		s.t.Fatalf("no message within %v\n%s", patience, s.stderr.String())
	}
	return nil
}

// close ends the input. Nothing may follow that was not asked for, and the
// program ends well.
func (s *server) close() {
	s.t.Helper()
	_ = s.in.Close()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case got := <-s.out:
			if got.err == nil {
				s.t.Errorf("nobody asked for %s", got.message)
				continue
			}
			if got.err != io.EOF {
				s.t.Error(got.err)
			}
			if err := s.cmd.Wait(); err != nil {
				s.t.Errorf("the program ended with %v\n%s", err, s.stderr.String())
			}
			if got, want := s.stderr.String(), "boardhand: this is a simulated board; nothing here is real\n"; got != want {
				s.t.Errorf("stderr says %q, not %q", got, want)
			}
			return
		case <-timer.C:
			s.t.Fatalf("the program does not end within %v of its input's end", patience)
		}
	}
}

// lockedBuffer is what the program writes to stderr, readable meanwhile.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
