//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// emulator is a running QEMU. Its console is the guest's, see package guest.
type emulator struct {
	cmd   *exec.Cmd
	dir   string // of its sockets
	in    io.Writer
	lines chan string // of the console
	// ctx ends with the machine's time, or when the kernel or QEMU fails; its
	// cause says which.
	ctx  context.Context
	fail context.CancelCauseFunc
	log  *os.File
}

// start runs QEMU with its console on the standard streams, and QMP and qtest on
// sockets. {dir} in an argument is the directory of sockets. The log gets all that
// is on the console.
func start(ctx context.Context, log *os.File, args []string) (*emulator, error) {
	dir, err := os.MkdirTemp("", "boards") // short, for the path of a socket has 107 bytes
	if err != nil {
		return nil, err
	}
	e := &emulator{dir: dir, lines: make(chan string, 1024), log: log}
	e.ctx, e.fail = context.WithCancelCause(ctx)
	args = append(args, "-nodefaults", "-no-reboot", "-display", "none",
		"-qmp", "unix:{dir}/qmp,server=on,wait=off", "-qtest", "unix:{dir}/qtest,server=on,wait=off", "-qtest-log", "none",
		"-chardev", "socket,id=session,path={dir}/session,server=on,wait=off")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "{dir}", dir)
	}
	e.cmd = exec.Command(args[0], args[1:]...)
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.in, e.cmd.Stderr = in, e.cmd.Stdout
	if err := e.cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	go e.listen(out)
	return e, nil
}

// listen passes the console's lines on.
func (e *emulator) listen(out io.Reader) {
	s := bufio.NewScanner(out)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		line := strings.TrimRight(s.Text(), "\r")
		fmt.Fprintln(e.log, line)
		for _, end := range []string{"Kernel panic", "Internal error: Oops"} {
			if strings.Contains(line, end) {
				e.fail(errors.New("the kernel failed: " + line))
			}
		}
		select {
		case e.lines <- line:
		case <-e.ctx.Done():
		}
	}
	e.fail(errEnded)
}

// errEnded is why nothing more comes of a machine that was reset, too.
var errEnded = errors.New("QEMU ended")

// end kills QEMU, which has nothing to lose.
func (e *emulator) end() {
	e.fail(errors.New("all is done"))
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
	os.RemoveAll(e.dir)
}

// dial connects to one of QEMU's sockets.
func (e *emulator) dial(name string) (net.Conn, error) {
	for {
		conn, err := net.Dial("unix", filepath.Join(e.dir, name))
		if err == nil {
			return conn, nil
		}
		select {
		case <-e.ctx.Done():
			return nil, fmt.Errorf("%w: %w", context.Cause(e.ctx), err)
		case <-time.After(20 * time.Millisecond): // it makes them while it starts
		}
	}
}

// await shows each line of the console to see until that returns true.
func (e *emulator) await(see func(line string) bool) error {
	for {
		select {
		case line := <-e.lines:
			if see(line) {
				return nil
			}
		case <-e.ctx.Done():
			return context.Cause(e.ctx)
		}
	}
}

// booted waits until the guest takes commands.
func (e *emulator) booted() error {
	return e.await(func(line string) bool { return line == "boards: ready" })
}

// do gives the guest a command and returns its answer. Lines that come before the
// answer are shown to see, which may be nil.
func (e *emulator) do(see func(line string), command ...string) (string, error) {
	if _, err := io.WriteString(e.in, strings.Join(command, " ")+"\n"); err != nil {
		return "", err
	}
	var text string
	var failure error
	err := e.await(func(line string) bool {
		if quoted, ok := strings.CutPrefix(line, "boards: ok "); ok {
			text, failure = strconv.Unquote(quoted)
			return true
		}
		if quoted, ok := strings.CutPrefix(line, "boards: error "); ok {
			text, failure = strconv.Unquote(quoted)
			if failure == nil {
				failure = fmt.Errorf("in the guest, %s: %s", strings.Join(command, " "), text)
			}
			return true
		}
		if see != nil {
			see(line)
		}
		return false
	})
	return text, errors.Join(err, failure)
}

// read is the text of a file in the guest, without the newline at its end.
func (e *emulator) read(path string) (string, error) {
	text, err := e.do(nil, "read", path)
	return strings.TrimSuffix(text, "\n"), err
}

// pins are the lines of an emulated board, from outside: through the qtest
// protocol of QEMU's docs/devel/testing/qtest.rst.
type pins struct {
	ctx     context.Context
	w       io.Writer
	replies chan string
	turn    sync.Mutex // one command at a time

	mu     sync.Mutex
	levels map[int]bool // of the outputs; qtest tells of changes, and all are low at first
	rises  map[int]int  // of each output since the start
	moved  chan struct{}
}

func (e *emulator) openPins() (*pins, error) {
	conn, err := e.dial("qtest")
	if err != nil {
		return nil, err
	}
	p := &pins{ctx: e.ctx, w: conn, replies: make(chan string, 1), levels: map[int]bool{}, rises: map[int]int{}, moved: make(chan struct{}, 1)}
	go p.listen(conn)
	return p, nil
}

func (p *pins) listen(r io.Reader) {
	for s := bufio.NewScanner(r); s.Scan(); {
		words := strings.Fields(s.Text())
		if len(words) == 3 && words[0] == "IRQ" {
			n, _ := strconv.Atoi(words[2])
			p.mu.Lock()
			high := words[1] == "raise"
			if high && !p.levels[n] {
				p.rises[n]++
			}
			p.levels[n] = high
			p.mu.Unlock()
			select {
			case p.moved <- struct{}{}:
			default:
			}
			continue
		}
		select {
		case p.replies <- s.Text():
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *pins) command(format string, args ...any) error {
	p.turn.Lock()
	defer p.turn.Unlock()
	if _, err := fmt.Fprintf(p.w, format+"\n", args...); err != nil {
		return err
	}
	select {
	case r := <-p.replies:
		if !strings.HasPrefix(r, "OK") {
			return fmt.Errorf("qtest: "+format+": %s", append(args, r)...)
		}
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// watch makes the outputs of the device at path, one only, be seen. A path that
// does not exist ends QEMU.
func (p *pins) watch(path string) error { return p.command("irq_intercept_out %s", path) }

// drive sets input n of the device at path from outside.
func (p *pins) drive(path string, n, level int) error {
	return p.command("set_irq_in %s unnamed-gpio-in %d %d", path, n, level)
}

// raised is how often output n of the watched device has become high.
func (p *pins) raised(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rises[n]
}

// seen waits until output n of the watched device has the level.
func (p *pins) seen(n, level int) error {
	late := time.After(10 * time.Second)
	for {
		p.mu.Lock()
		high := p.levels[n]
		p.mu.Unlock()
		if high == (level == 1) {
			return nil
		}
		select {
		case <-p.moved:
		case <-p.ctx.Done():
			return context.Cause(p.ctx)
		case <-late:
			return fmt.Errorf("the pin, output %d, is not seen at %d within 10 s", n, level)
		}
	}
}
