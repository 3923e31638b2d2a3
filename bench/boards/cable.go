//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// laptopName is what boardhand for this machine is called in the directory of builds.
const laptopName = "boardhand-laptop"

// laptop is boardhand connect at this side of a cable.
type laptop struct {
	exe    string
	cmd    *exec.Cmd
	port   string    // at this side
	cache  string    // directory
	booted time.Time // the guest
	served time.Time // boardhand in it could open the port

	mu  sync.Mutex
	log bytes.Buffer // its standard error
}

// Write implements io.Writer for what boardhand says.
func (l *laptop) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.Write(p)
}

func (l *laptop) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.log.String()
}

// overCable goes through the checks of a machine at the end of a cable. They begin
// when the kernel does, and each goes on from where the one before has left the board.
func overCable(m *machine, e *emulator, work string, began time.Time, r *report) error {
	b, err := connect(m, e)
	if err != nil {
		return err
	}
	if err := b.monitor.ask("set-action", map[string]any{"reboot": "reset"}, nil); err != nil { // or it would end QEMU
		return err
	}
	if err := b.startLaptop(work); err != nil {
		return err
	}
	defer b.laptop.end()
	last := []check{peak(r), givenBack, cableEnds, {cableServes.name + ", started again", cableServes.do}, cableCounts}
	if _, err := exec.LookPath("python3"); err == nil {
		last = slices.Insert(last, len(last)-1, cablePython)
	} else {
		r.skip("cable  "+cablePython.name, "python3 is not installed")
	}
	for _, c := range slices.Concat(m.checks, last) {
		err := c.do(b)
		if r.boot == 0 && !b.laptop.booted.IsZero() {
			r.boot = b.laptop.booted.Sub(began)
		}
		if c.name == "initialize" {
			r.first = time.Since(b.laptop.served)
		}
		r.add(err, "cable", c.name)
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
		if err != nil { // what follows would only fail for the same reason
			fmt.Print("        boardhand connect said:\n", b.laptop.said())
			return nil
		}
	}
	return nil
}

// terminal is the path of the pseudo-terminal that a character device of QEMU is.
func (m *monitor) terminal(id string) (string, error) {
	var list []struct{ Label, Filename string }
	if err := m.ask("query-chardev", nil, &list); err != nil {
		return "", err
	}
	for _, c := range list {
		if path, ok := strings.CutPrefix(c.Filename, "pty:"); ok && c.Label == id {
			return path, nil
		}
	}
	return "", fmt.Errorf("QEMU has no terminal for %s: %+v", id, list)
}

// startLaptop starts boardhand connect, and speaks MCP with it from then on.
func (b *board) startLaptop(work string) error {
	port, err := b.monitor.terminal("cable")
	if err != nil {
		return err
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	theirs, ours := os.NewFile(uintptr(pair[0]), "client"), os.NewFile(uintptr(pair[1]), "server")
	defer theirs.Close()
	defer ours.Close()
	conn, err := net.FileConn(ours) // a copy
	if err != nil {
		return err
	}
	l := &laptop{exe: filepath.Join(work, laptopName), port: port, cache: work}
	l.cmd = l.command("connect", port, "--baud", "115200")
	l.cmd.Stdin, l.cmd.Stdout, l.cmd.Stderr = theirs, theirs, l
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := l.cmd.Start(); err != nil {
		conn.Close()
		return err
	}
	b.laptop, b.mcp = l, b.guest.newSession(conn)
	return nil
}

// command is boardhand at this side.
func (l *laptop) command(arguments ...string) *exec.Cmd {
	c := exec.Command(l.exe, arguments...)
	c.Env = append(os.Environ(), "HOME="+l.cache, "XDG_CACHE_HOME="+l.cache)
	return c
}

func (l *laptop) end() {
	_ = l.cmd.Process.Kill()
	_ = l.cmd.Wait()
}

// noBoard sends a ping until its error says what is wanted; a silent line may come to
// speak.
func (b *board) noBoard(want string) error {
	for {
		id, err := b.mcp.request("ping", map[string]any{})
		if err != nil {
			return err
		}
		a, err := b.mcp.next()
		switch {
		case err != nil:
			return err
		case a.ID != id || a.Error == nil:
			return fmt.Errorf("a ping with no board there is answered by %s, id %d", a.Result, a.ID)
		case strings.Contains(a.Error.Message, want):
			return nil
		case !strings.Contains(a.Error.Message, "is silent"):
			return fmt.Errorf("the error is %q, want %q", a.Error.Message, want)
		}
	}
}

var cableSeesBoot = check{"a request while the kernel boots is answered by what is seen", func(b *board) error {
	return b.noBoard("there is text")
}}

var cableSeesLogin = check{"a login prompt is told for what it is", func(b *board) error {
	if err := b.guest.booted(); err != nil {
		return err
	}
	b.laptop.booted = time.Now()
	// What the kernel says from here on is said by the checks.
	if _, err := b.guest.do(nil, "write", "/proc/sys/kernel/printk", "3"); err != nil {
		return err
	}
	if err := b.login(); err != nil {
		return err
	}
	return b.noBoard("a login prompt is there")
}}

// login writes to the port as a getty does.
func (b *board) login() error {
	_, err := b.guest.do(nil, "write", b.machine.port, "Debian GNU/Linux 12 board ttyS0 board login: ")
	return err
}

// kernelLine makes the kernel say something on its consoles.
func (b *board) kernelLine(n int) error {
	_, err := b.guest.do(nil, "write", "/dev/kmsg", "<2>boards: the kernel's line "+strconv.Itoa(n))
	return err
}

// console makes the port a console of the kernel or none (uart_port's attribute
// console, Documentation/ABI/testing/sysfs-tty).
func (b *board) console(is string) error {
	_, err := b.guest.do(nil, "write", "/sys/class/tty/"+filepath.Base(b.machine.port)+"/console", is)
	return err
}

// serveAtCable starts boardhand at the port, which refuses it as long as the kernel's
// console is there, and takes it then.
func (b *board) serveAtCable() error {
	refused := false
	see := func(line string) {
		refused = refused || strings.Contains(line, b.machine.port+": in use by the kernel's console")
	}
	if _, err := b.guest.do(see, "serve", "-", "/boardhand", "serve", "--board", "linux", "--serial", b.machine.port, "--baud", "115200"); err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); !refused; time.Sleep(100 * time.Millisecond) {
		if _, err := b.guest.do(see, "read", "/proc/uptime"); err != nil {
			return err
		}
		if time.Now().After(end) {
			return errors.New("it does not refuse the port")
		}
	}
	b.laptop.served = time.Now()
	if err := b.console("N"); err != nil {
		return err
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		locks, err := b.guest.read("/proc/locks")
		if err != nil {
			return err
		}
		if strings.Contains(locks, "FLOCK") { // of who has a serial port, and of nobody else there
			return nil
		}
		if time.Now().After(end) {
			return errors.New("it does not take the port")
		}
	}
}

var cableServes = check{"boardhand refuses the kernel's console, and takes the port when it is none", (*board).serveAtCable}

// cableCarriesText checks that calls are right while the kernel and a login write to
// the same port.
func cableCarriesText(line string) check {
	const calls, texts = 200, 30
	return check{fmt.Sprintf("%d calls are right between lines of the kernel and of a login", calls), func(b *board) error {
		if err := b.console("Y"); err != nil {
			return err
		}
		active, err := b.guest.read("/sys/class/tty/console/active")
		if err != nil {
			return err
		}
		if !slices.Contains(strings.Fields(active), filepath.Base(b.machine.port)) {
			return fmt.Errorf("the kernel's consoles are %s", active)
		}
		written := make(chan error, 1)
		go func() {
			for n := range texts {
				if err := b.kernelLine(n); err != nil {
					written <- err
					return
				}
				if err := b.login(); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		err = func() error {
			for n := range calls {
				if n%2 == 0 {
					if err := b.mcp.tool("gpio_write", arguments{"line": line, "level": n / 2 % 2}, new(any)); err != nil {
						return fmt.Errorf("call %d: %w", n, err)
					}
					continue
				}
				got, err := b.readLines(line)
				if err != nil {
					return fmt.Errorf("call %d: %w", n, err)
				}
				if got[0].Level != n/2%2 {
					return fmt.Errorf("call %d reads %d", n, got[0].Level)
				}
			}
			return b.mcp.tool("gpio_write", arguments{"line": line, "level": 1}, new(any))
		}()
		if werr := <-written; err == nil {
			err = werr
		}
		return err
	}}
}

// again is a check that is made a second time, after the reboot.
func again(c check) check { return check{c.name + ", after the reboot", c.do} }

// cableOutlivesReboot starts the guest anew while a train of pulses runs on a line: the
// call is answered by an error that says that nobody knows, and nothing of it is done
// again; what is asked meanwhile is answered by what became of it, and the client goes
// on without a new initialize. The lines are outputs n of the device with that name.
func cableOutlivesReboot(pulsed, written, parent string, pulsedN, writtenN int) check {
	return check{"through a reboot: the call that ran is of unknown outcome and not done again, the next ones work", func(b *board) error {
		pulse, err := b.mcp.request("tools/call", map[string]any{"name": "gpio_pulse",
			"arguments": arguments{"line": pulsed, "high_us": 50000, "count": 500}})
		if err != nil {
			return err
		}
		if err := b.mcp.call("ping", map[string]any{}, new(any)); err != nil { // which is answered first
			return err
		}
		for end := time.Now().Add(20 * time.Second); b.pins.raised(pulsedN) < 3; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("%s has had %d pulses in 20 s", pulsed, b.pins.raised(pulsedN))
			}
		}
		if _, err := io.WriteString(b.guest.in, "reboot\n"); err != nil {
			return err
		}
		b.written = nil
		time.Sleep(time.Second)
		done := b.pins.raised(pulsedN)
		asked, err := b.mcp.request("tools/list", map[string]any{}) // while there is no board
		if err != nil {
			return err
		}
		wrote, err := b.mcp.request("tools/call", map[string]any{"name": "gpio_write", "arguments": arguments{"line": written, "level": 1}})
		if err != nil {
			return err
		}
		if err := b.guest.booted(); err != nil {
			return err
		}
		if _, err := b.guest.do(nil, "write", "/proc/sys/kernel/printk", "3"); err != nil {
			return err
		}
		if err := b.serveAtCable(); err != nil {
			return err
		}
		use := "" // of the line that was written
		for range 3 {
			a, err := b.mcp.next()
			switch {
			case err != nil:
				return err
			// What was written before the silence was noticed went to a board that may have had it.
			case (a.ID == pulse || a.ID == wrote) && a.Error != nil && a.Error.Data.Outcome == "unknown":
			case (a.ID == asked || a.ID == wrote) && a.Error != nil && a.Error.Data.Outcome == "not done": // too early for the board
			case a.ID == asked && a.Error == nil:
			case a.ID == wrote && a.Error == nil:
				use = "boardhand out hi"
			case a.Error != nil:
				return fmt.Errorf("request %d is answered by the error %q, outcome %q", a.ID, a.Error.Message, a.Error.Data.Outcome)
			default:
				return fmt.Errorf("request %d is answered by %.300s", a.ID, a.Result)
			}
		}
		if err := b.mcp.call("ping", map[string]any{}, new(any)); err != nil {
			return err
		}
		time.Sleep(time.Second) // in which it would have had pulses
		if n := b.pins.raised(pulsedN); n != done {
			return fmt.Errorf("%s had %d pulses when the board was gone, and has %d", pulsed, done, n)
		}
		if got, err := b.lineUse(parent, writtenN); err != nil || got != use {
			return fmt.Errorf("the kernel has %q for %s, want %q, error %w", got, written, use, err)
		}
		return nil
	}}
}

// cableEnds checks that boardhand connect ends with its client.
var cableEnds = check{"connect ends when its client does", func(b *board) error {
	b.mcp.port.Close()
	ended := make(chan error, 1)
	go func() { ended <- b.laptop.cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(20 * time.Second):
		return errors.New("it does not within 20 s")
	}
}}

// cablePython checks that a script speaks with the board without boardhand at this
// side: the one that the README shows.
var cablePython = check{"the README's lines of Python call a tool", func(b *board) error {
	dir, err := output(exec.Command("go", "list", "-f", "{{.Dir}}", "boardhand/tools/command"))
	if err != nil {
		return err
	}
	data := filepath.Join(strings.TrimSpace(dir), "testdata")
	text, err := os.ReadFile(filepath.Join(data, "port.py"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(b.guest.ctx, 20*time.Second)
	defer cancel()
	time.Sleep(500 * time.Millisecond) // it speaks once: until then the port may still echo
	script := strings.NewReplacer("/dev/ttyUSB0", b.laptop.port, "GPIO17", "GPIO7").Replace(string(text))
	python := exec.CommandContext(ctx, "python3", "-c", script)
	python.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(data, "pyserial"), "PYTHONDONTWRITEBYTECODE=1")
	got, err := python.CombinedOutput()
	if err != nil || !strings.Contains(string(got), "'line': 'GPIO7', 'level':") {
		return fmt.Errorf("it prints %q, error %w", got, err)
	}
	return nil
}}

// cableCounts checks, after the script and without a new start, that boardhand link counts what the kernel and a login write to
// the port while it looks at it.
var cableCounts = check{"link counts the bytes of the kernel and of a login", func(b *board) error {
	if err := b.console("Y"); err != nil {
		return err
	}
	link := b.laptop.command("link", b.laptop.port, "--baud", "115200", "--json")
	var said bytes.Buffer
	link.Stderr = &said
	type result struct {
		text []byte
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		text, err := link.Output()
		ended <- result{text, err}
	}()
	for n := 0; ; n++ {
		if err := b.kernelLine(n); err != nil {
			return err
		}
		if err := b.login(); err != nil {
			return err
		}
		select {
		case r := <-ended:
			var got struct {
				Calls    int
				Sessions int
				Stray    int `json:"stray_bytes"`
			}
			if r.err != nil {
				return fmt.Errorf("%w: %s", r.err, said.String())
			}
			if err := json.Unmarshal(r.text, &got); err != nil {
				return fmt.Errorf("%w in %q", err, r.text)
			}
			// Each time over 90 bytes were written; some before it looked.
			if got.Calls == 0 || got.Sessions != 1 || got.Stray < n/2*90 || n < 6 {
				return fmt.Errorf("of %d times that text was written it counts: %s", n, r.text)
			}
			return nil
		default:
		}
	}
}}
