package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A transport is what a server has as its standard input and output.
type transport string

const (
	pipe   transport = "pipe"   // a pipe each
	socket transport = "socket" // both the same end of a UNIX socket pair
)

var transports = []transport{pipe, socket}

// server is one program under measurement, and its process while one runs.
type server struct {
	name      string
	argv      []string
	canned    bool // answers every line, notifications too: gets no handshake
	startOnly bool // only its start is measured
	rounds    map[transport]map[string][]float64

	cmd     *exec.Cmd
	in, out int // our ends of its input and output
	id      int
	buf     []byte
}

func newServer(name string, argv ...string) *server {
	s := &server{name: name, argv: argv, buf: make([]byte, 1<<18), rounds: map[transport]map[string][]float64{}}
	for _, t := range transports {
		s.rounds[t] = map[string][]float64{}
	}
	return s
}

// add keeps one round's value of a metric.
func (s *server) add(t transport, metric string, value float64) {
	s.rounds[t][metric] = append(s.rounds[t][metric], value)
}

// start runs the program; it inherits the CPUs of the calling thread.
func (s *server) start(t transport) error {
	var ours, theirs [2]int
	if t == socket {
		pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		ours, theirs = [2]int{pair[0], pair[0]}, [2]int{pair[1], pair[1]}
	} else {
		var to, from [2]int
		if err := unix.Pipe2(to[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		if err := unix.Pipe2(from[:], unix.O_CLOEXEC); err != nil {
			return err
		}
		ours, theirs = [2]int{to[1], from[0]}, [2]int{to[0], from[1]}
	}
	s.in, s.out = ours[0], ours[1]
	s.cmd = exec.Command(s.argv[0], s.argv[1:]...)
	stdin := os.NewFile(uintptr(theirs[0]), "stdin")
	stdout := stdin
	if theirs[1] != theirs[0] {
		stdout = os.NewFile(uintptr(theirs[1]), "stdout")
		defer stdout.Close()
	}
	defer stdin.Close()
	s.cmd.Stdin, s.cmd.Stdout = stdin, stdout
	return s.cmd.Start()
}

// stop ends the program by the end of its input, and by a signal after 2 s.
func (s *server) stop() {
	unix.Close(s.in)
	if s.out != s.in {
		unix.Close(s.out)
	}
	kill := time.AfterFunc(2*time.Second, func() {
		fmt.Fprintf(os.Stderr, "peers: %s still runs 2 s after its input ended; killed\n", s.name)
		s.cmd.Process.Kill()
	})
	s.cmd.Wait()
	kill.Stop()
}

// write hands all of b to the server.
func (s *server) write(b []byte) error {
	for len(b) > 0 {
		n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(s.in), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return fmt.Errorf("write to %s: %w", s.name, errno)
		}
		b = b[n:]
	}
	return nil
}

// read returns what one read(2) brings, valid until the next read.
func (s *server) read() ([]byte, error) {
	for {
		n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(s.out), uintptr(unsafe.Pointer(&s.buf[0])), uintptr(len(s.buf)))
		switch {
		case errno == unix.EINTR:
		case errno != 0:
			return nil, fmt.Errorf("read from %s: %w", s.name, errno)
		case n == 0:
			return nil, fmt.Errorf("read from %s: %w", s.name, io.ErrUnexpectedEOF)
		default:
			return s.buf[:n], nil
		}
	}
}

// ask sends one request and waits for one line; the line's last part is valid
// until the next read.
func (s *server) ask(line []byte) ([]byte, error) {
	if err := s.write(line); err != nil {
		return nil, err
	}
	for {
		b, err := s.read()
		if err != nil || b[len(b)-1] == '\n' {
			return b, err
		}
	}
}

var (
	initialize  = []byte(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"peers","version":"1"}}}` + "\n")
	initialized = []byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
)

// open starts the server, shakes hands and sees one call answered rightly.
func (s *server) open(t transport) error {
	if err := s.start(t); err != nil {
		return err
	}
	if !s.canned {
		if answer, err := s.ask(initialize); err != nil {
			return err
		} else if !bytes.Contains(answer, []byte(`"serverInfo"`)) {
			return s.unexpected("initialize", answer)
		}
		if err := s.write(initialized); err != nil {
			return err
		}
	}
	return s.verify()
}

// verify sees one call answered rightly, and nothing more answered.
func (s *server) verify() error {
	answer, err := s.ask(call("GPIO17").next(&s.id))
	if err != nil {
		return err
	}
	if bytes.Count(answer, []byte("\n")) != 1 || !bytes.Contains(answer, []byte(`"result"`)) ||
		!bytes.Contains(answer, []byte("GPIO17")) || bytes.Contains(answer, []byte(`"isError":true`)) {
		return s.unexpected("tools/call", answer)
	}
	return nil
}

func (s *server) unexpected(method string, answer []byte) error {
	return fmt.Errorf("%v answered %s with %.300q; run it by hand to see why", s.argv, method, answer)
}

// request is a line whose id is the seven digits from offset idAt.
type request []byte

const idAt, idLen, firstID = len(`{"jsonrpc":"2.0","id":`), 7, 1_000_000

// call is the request to read one line.
func call(line string) request {
	return request(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["%s"]}}}`+"\n", firstID, line))
}

// next gives r an id of its own, counting in id, and returns r.
func (r request) next(id *int) request {
	*id++
	for n, i := firstID+*id, idAt+idLen-1; i >= idAt; i-- {
		r[i] = '0' + byte(n%10)
		n /= 10
	}
	return r
}

// pin keeps the calling thread, and what it starts, on the given CPUs.
func pin(cpus unix.CPUSet) error {
	if err := unix.SchedSetaffinity(0, &cpus); err != nil {
		return fmt.Errorf("sched_setaffinity: %w", err)
	}
	return nil
}

// cpuSets returns the CPUs allowed to this process, and the last of them alone,
// which usually serves fewer interrupts than the first.
func cpuSets() (all, one unix.CPUSet, err error) {
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return all, one, fmt.Errorf("sched_getaffinity: %w", err)
	}
	for cpu := len(all)*64 - 1; cpu >= 0; cpu-- {
		if all.IsSet(cpu) {
			one.Set(cpu)
			return all, one, nil
		}
	}
	return all, one, errors.New("sched_getaffinity: no CPU allowed")
}
