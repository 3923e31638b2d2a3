//go:build linux

// These tests have a cable between two processes of the program: one at the board's
// end, one at the host's.
package command_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"boardhand/bench/cable"
	"boardhand/bench/client"
	"boardhand/frame"

	"golang.org/x/sys/unix"
)

// plug makes a cable, whose ends have the speed that the programs set.
func plug(t *testing.T) (c *cable.Cable, host, board string) { return plugAt(t, 0) }

// plugAt makes a cable of one speed.
func plugAt(t *testing.T, baud int) (c *cable.Cable, host, board string) {
	t.Helper()
	if _, err := os.Stat("/dev/ptmx"); err != nil {
		t.Skip("this system gives no pseudo-terminal: ", err)
	}
	dir := t.TempDir()
	host, board = filepath.Join(dir, "host"), filepath.Join(dir, "board")
	c, err := cable.Open(cable.Config{A: host, B: board, Baud: baud, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, host, board
}

// boardAt starts a simulated board at its end of a cable.
func boardAt(t *testing.T, port string, flags ...string) *client.Client {
	t.Helper()
	return launch(t, client.Pipes, exec.Command(exe, append([]string{"serve", "--board", "sim", "--serial", port}, flags...)...))
}

// connectTo starts the host's end, with a cache of its own.
func connectTo(t *testing.T, port string, flags ...string) *client.Client {
	t.Helper()
	return launch(t, client.Pipes, host(t, append([]string{"connect", port}, flags...)...))
}

func host(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.Command(exe, args...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	return cmd
}

func kill(t *testing.T, c *client.Client) {
	t.Helper()
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(client.Timeout); err != nil {
		t.Fatal(err)
	}
}

// says waits until a program's standard error has a text.
func says(t *testing.T, c *client.Client, text string) {
	t.Helper()
	for end := time.Now().Add(client.Timeout); !strings.Contains(c.Stderr(), text); {
		if time.Now().After(end) {
			t.Fatalf("standard error lacks %q: %s", text, c.Stderr())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestACableIsAsIfThereWasNone(t *testing.T) {
	for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			_, h, b := plug(t)
			board := boardAt(t, b)
			c := connectTo(t, h)
			c.Mode = mode
			inStep(t, c)
			local := serve(t)
			for _, method := range []string{"tools/list", "resources/list", "prompts/list", "server/discover"} {
				if got, want := call(t, c, method, ""), call(t, local, method, ""); string(got.Result) != string(want.Result) {
					t.Errorf("%s gave %s\nwithout a cable %s", method, got.Result, want.Result)
				}
			}
			if got := tool(t, c, "i2c_read", `{"address":"0x76","register":"0xd0"}`); !strings.Contains(got, `"data":"60"`) {
				t.Errorf("the BME280's chip id is %s", got)
			}
			if _, err := c.Initialize("2025-11-25"); err != nil {
				t.Fatal(err)
			}
			if m, _, err := c.Ask("no/such", ""); err != nil || m.Error == nil || m.Error.Code != -32601 {
				t.Errorf("an unknown method gave %v, %v", m, err)
			}
			says(t, c, "board: this is a simulated board") // the board's log
			if rest := drain(t, c); len(rest) > 0 {
				t.Errorf("after the end of input came %s", rest[0].Raw)
			}
			if err := board.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			exits(t, board)
		})
	}
}

func TestRequestsPipedInAtOnceAreAllAnsweredOverACable(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b)
	c := connectTo(t, h)
	var all []string
	for i := range 400 {
		all = append(all, client.ModernRequest(i, "tools/call", client.CallTool("gpio_read", `{"lines":"GPIO17"}`)))
	}
	go func() { _ = c.Send(all...) }()
	got := map[string]bool{}
	for range all {
		m := recv(t, c)
		if m.Error != nil || got[string(m.ID)] {
			t.Fatalf("got %s", m.Raw)
		}
		got[string(m.ID)] = true
	}
}

func TestACancelledCallOverACableIsSilent(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b)
	c := connectTo(t, h)
	inStep(t, c)
	send(t, c, client.ModernRequest(101, "tools/call", client.CallTool("gpio_wait", `{"lines":"GPIO22","timeout_ms":300}`)))
	inStep(t, c)
	send(t, c, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":101}}`)
	time.Sleep(500 * time.Millisecond)
	inStep(t, c)
}

// A board that is started again in the middle of a call: what may have acted is not
// done again, and the client's session goes on.
func TestARestartOfTheBoardIsToldAndSurvived(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	board := boardAt(t, b)
	c := connectTo(t, h)
	if _, err := c.Initialize("2025-06-18"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		send(t, c, client.Request(101, "tools/call", client.CallTool("gpio_wait", `{"lines":"GPIO22","timeout_ms":50000}`)))
		if m, _, err := c.Ask("ping", ""); err != nil || m.Error != nil {
			t.Fatal(err)
		}
		kill(t, board)
		board = boardAt(t, b)
		m := recv(t, c)
		if string(m.ID) != "101" || m.Error == nil || !strings.Contains(m.Error.Message, "the board restarted while this call ran") ||
			!strings.Contains(string(m.Raw), `"outcome":"unknown"`) {
			t.Fatalf("the call gave %s", m.Raw)
		}
		m, _, err := c.Ask("tools/call", client.CallTool("gpio_read", `{"lines":"GPIO17"}`))
		if err != nil || m.Error != nil {
			t.Fatalf("after the restart: %v, %v; stderr: %s", m, err, c.Stderr())
		}
	}
}

func TestARestartOfTheHostFindsTheBoard(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b)
	for range 3 {
		c := connectTo(t, h)
		inStep(t, c)
		send(t, c, client.ModernRequest(101, "tools/call", client.CallTool("gpio_wait", `{"lines":"GPIO22","timeout_ms":50000}`)))
		inStep(t, c)
		kill(t, c)
	}
	c := connectTo(t, h)
	for range 5 {
		inStep(t, c) // and nothing comes of the calls of the others
	}
}

func TestAnUnpluggedCableIsWaitedFor(t *testing.T) {
	t.Parallel()
	cable, h, b := plug(t)
	boardAt(t, b)
	c := connectTo(t, h)
	inStep(t, c)
	send(t, c, client.ModernRequest(101, "tools/call", client.CallTool("gpio_wait", `{"lines":"GPIO22","timeout_ms":1000}`)))
	inStep(t, c)
	unplug(t, cable)
	if m := recv(t, c); string(m.ID) != "101" || m.Error != nil {
		t.Errorf("the call gave %s", m.Raw)
	}
	inStep(t, c)
}

func unplug(t *testing.T, c *cable.Cable) {
	t.Helper()
	c.Unplug(cable.A)
	time.Sleep(300 * time.Millisecond)
	if err := c.Plug(cable.A); err != nil {
		t.Fatal(err)
	}
}

func TestWithoutABoardAnErrorSaysWhatWasSeen(t *testing.T) {
	t.Parallel()
	kernel := []byte("[    1.234567] usb 1-1: new high-speed USB device number 2 using dwc_otg\r\n")
	var all sync.WaitGroup // at once, for each waits as long as a request does
	var then func()        // the board comes
	for _, test := range []struct {
		name  string
		seen  func(c *cable.Cable)
		words []string
	}{
		{"silence", func(*cable.Cable) {}, []string{"silent", "serve --serial", "115200"}},
		{"a login", func(c *cable.Cable) { c.Inject(cable.B, []byte("\r\nDebian 13 pi ttyAMA0\r\n\r\npi login: ")) }, []string{"login prompt", "setup systemd"}},
		{"a kernel", func(c *cable.Cable) { c.Inject(cable.B, kernel) }, []string{"text", "dwc_otg"}},
		{"noise", func(c *cable.Cable) { c.Noise(cable.B, 200) }, []string{"noise", "--baud"}},
		{"an older one", func(c *cable.Cable) {
			c.Inject(cable.B, []byte(`{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}`+"\n"))
		}, []string{"without the link", "same release"}},
	} {
		line, h, b := plugAt(t, 115200)
		c := connectTo(t, h, "--baud", "115200")
		all.Go(func() {
			go func() {
				for range 10 { // the port may not be open yet
					time.Sleep(100 * time.Millisecond)
					test.seen(line)
				}
			}()
			m, _, err := c.Ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
			if err != nil || m.Error == nil {
				t.Errorf("%s: initialize gave %v, %v", test.name, m, err)
				return
			}
			for _, word := range test.words {
				if !strings.Contains(m.Error.Message, word) {
					t.Errorf("%s: the error lacks %q: %s", test.name, word, m.Error.Message)
				}
			}
		})
		if test.name == "a login" {
			then = func() {
				boardAt(t, b)
				says(t, c, "connected to Simulated")
				inStep(t, c)
			}
		}
	}
	all.Wait()
	then()
}

func TestTheBaudOfTheBoardIsFound(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b, "--baud", "460800")
	inStep(t, connectTo(t, h))
}

func TestAPortIsForOneHost(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b)
	c := connectTo(t, h)
	inStep(t, c)
	for _, args := range [][]string{{"link", h}, {"call", "--serial", h, "board_info"}} {
		out, err := host(t, append(args, "--baud", "115200")...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), fmt.Sprint(c.Pid())) || !strings.Contains(string(out), "boardhand") {
			t.Errorf("%q gave %v: %s", args, err, out)
		}
	}
	inStep(t, c)
}

func TestCommandsOverACable(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b)
	for _, test := range []struct {
		args           string
		status         int
		stdout, stderr string
	}{
		{"call board_info", 0, "Simulated Raspberry Pi", ""},
		{"call board_info --json", 0, `"simulated":true`, ""},
		{"call i2c_read address=0x76 register=0xd0", 0, "60", ""},
		{"call gpio_read lines=GPIO17,GPIO27", 0, "GPIO27", ""},
		{"call gpio_read lines=GPIO99", 1, "", `"GPIO99"`},
		{"call gpio_read nosuch=1", 2, "", "nosuch"},
		{"call nosuch", 2, "", `"nosuch"`},
		{"tools", 0, "gpio_write", ""},
		{"tools gpio_write", 0, "for_ms", ""},
		{"tools --json", 0, `"inputSchema"`, ""},
	} {
		cmd := host(t, append(strings.Fields(test.args), "--serial", h)...)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != test.status || !strings.Contains(stdout.String(), test.stdout) || !strings.Contains(stderr.String(), test.stderr) {
			t.Errorf("%s: status %d, %q, %q", test.args, got, stdout.String(), stderr.String())
		}
	}
	for flag, want := range map[string]string{"": "115200 baud", "--json": `"baud":115200`} {
		out, err := host(t, strings.Fields("link "+h+" "+flag)...).Output()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("link %s: %v: %s", flag, err, out)
		}
	}
}

// script is a plain program at the host's end.
func script(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		var mode *unix.Termios
		if mode, err = unix.IoctlGetTermios(int(fd), unix.TCGETS2); err == nil {
			mode.Ispeed, mode.Ospeed = 115200, 115200
			mode.Cflag = mode.Cflag&^unix.CBAUD | unix.BOTHER
			err = unix.IoctlSetTermios(int(fd), unix.TCSETS2, mode)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return f
}

// Who speaks plain JSON in either framing is served on the same port, before and
// after a host with the link.
func TestAScriptSpeaksPlainlyOnTheSamePort(t *testing.T) {
	t.Parallel()
	_, h, b := plug(t)
	boardAt(t, b)
	plain := func() {
		t.Helper()
		f := script(t, h)
		defer f.Close()
		r := frame.NewReader(f, 0)
		w := frame.NewWriter(f)
		next := func(timeout time.Duration) string {
			t.Helper()
			if err := f.SetReadDeadline(time.Now().Add(timeout)); err != nil {
				t.Fatal(err)
			}
			msg, _, err := r.Next()
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded) && timeout < client.Timeout:
				r = frame.NewReader(f, 0)
				return ""
			case err != nil:
				t.Fatal(err)
			}
			return string(msg)
		}
		ask := func(i int, mode frame.Mode, timeout time.Duration) string {
			t.Helper()
			w.End(append(w.Begin(), client.ModernRequest(i, "tools/call", client.CallTool("gpio_read", `{"lines":"GPIO17"}`))...), mode)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			return next(timeout)
		}
		for i := 0; ; i++ { // the board may be just starting
			if i == 100 {
				t.Fatal("no answer")
			}
			_, _ = io.WriteString(f, "AT\r\n\x00noise\xff\n")
			if ask(i, frame.Newline, 200*time.Millisecond) != "" {
				break
			}
		}
		for got := ask(999, frame.Newline, client.Timeout); !strings.Contains(got, `"id":999`); {
			got = next(client.Timeout) // an answer of those before, which came late
		}
		for i, mode := range []frame.Mode{frame.Newline, frame.Header, frame.Newline} {
			want := fmt.Sprintf(`"id":%d,"result"`, 1000+i)
			got := ask(1000+i, mode, client.Timeout)
			for i == 0 && !strings.Contains(got, want) { // what was asked before and is answered late
				got = next(client.Timeout)
			}
			if !strings.Contains(got, want) {
				t.Errorf("got %s", got)
			}
		}
		_, _ = io.WriteString(f, "{broken\n")
		if got := next(client.Timeout); !strings.Contains(got, "-32700") {
			t.Errorf("got %s", got)
		}
	}
	plain()
	t.Run("by the README's lines of Python", func(t *testing.T) { python(t, h) })
	c := connectTo(t, h)
	inStep(t, c)
	drain(t, c)
	inStep(t, connectTo(t, h))
}

// python runs the lines of the README at the host's end of a cable, where a board
// is that answers.
func python(t *testing.T, port string) {
	text, err := os.ReadFile("testdata/port.py")
	if err != nil {
		t.Fatal(err)
	}
	if readme, err := os.ReadFile("../../README.md"); err != nil || !strings.Contains(string(readme), string(text)) {
		t.Errorf("the README does not have the lines of testdata/port.py, %v", err)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), client.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "python3", "-c", strings.Replace(string(text), "/dev/ttyUSB0", port, 1))
	cmd.Env = append(os.Environ(), "PYTHONPATH=testdata/pyserial", "PYTHONDONTWRITEBYTECODE=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "GPIO17") {
		t.Errorf("%v: %s", err, out)
	}
}
