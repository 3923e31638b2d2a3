//go:build linux

// These tests start the program as a client does and speak with it over its
// standard input and output.
package command_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/bench/client"
	"boardhand/frame"
	"boardhand/tools/command"
)

// exe is the program under test.
var exe string

func TestMain(m *testing.M) {
	if config := os.Getenv(panicking); config != "" {
		os.Exit(command.ServePanicking(config))
	}
	os.Exit(buildAndRun(m))
}

// panicking names the board file of a server that this very process shall be.
const panicking = "BOARDHAND_TEST_PANICKING"

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "boardhand")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	exe = filepath.Join(dir, "boardhand")
	build := exec.Command("go", "build", "-o", exe, "boardhand")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	// These tests wait, for processes and for time to pass, and hardly work. A flag of
	// the command line is parsed later.
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// serve starts a server on the simulated board, over pipes.
func serve(t *testing.T, flags ...string) *client.Client {
	t.Helper()
	return launch(t, client.Pipes, exec.Command(exe, append([]string{"serve", "--board", "sim"}, flags...)...))
}

func launch(t *testing.T, over client.Transport, cmd *exec.Cmd) *client.Client {
	t.Helper()
	c, err := client.Launch(over, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// wiredAs writes a board file with what is wrong with the simulated board.
func wiredAs(t *testing.T, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "board.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func send(t *testing.T, c *client.Client, messages ...string) {
	t.Helper()
	if err := c.Send(messages...); err != nil {
		t.Fatalf("sending: %v; stderr: %s", err, c.Stderr())
	}
}

// recv gives the next message.
func recv(t *testing.T, c *client.Client) *client.Message {
	t.Helper()
	raw, err := c.Recv(client.Timeout)
	if err != nil {
		t.Fatalf("no message: %v; stderr: %s", err, c.Stderr())
	}
	m, err := client.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// call gives the answer to a request of MCP 2026-07-28, which must be the next
// message but for notifications.
func call(t *testing.T, c *client.Client, method, params string) *client.Message {
	t.Helper()
	m, _, err := c.Call(method, params)
	if err != nil {
		t.Fatalf("%v; stderr: %s", err, c.Stderr())
	}
	return m
}

// tool gives the structured result of a tool, which must not fail.
func tool(t *testing.T, c *client.Client, name, arguments string) string {
	t.Helper()
	r, err := call(t, c, "tools/call", client.CallTool(name, arguments)).Tool()
	if err != nil || r.IsError {
		t.Fatalf("%s %s: %v %s", name, arguments, err, r.Text())
	}
	return string(r.StructuredContent)
}

// inStep checks that the very next message answers a request sent now.
func inStep(t *testing.T, c *client.Client) {
	t.Helper()
	m, before, err := c.Call("server/discover", "")
	switch {
	case err != nil:
		t.Fatalf("%v; stderr: %s", err, c.Stderr())
	case m.Error != nil:
		t.Fatalf("server/discover: %v", m.Error)
	case len(before) > 0:
		t.Fatalf("%d messages before the answer, the first %s", len(before), before[0].Raw)
	}
}

// drain ends the input and gives everything that still comes. The server must
// then exit with status 0.
func drain(t *testing.T, c *client.Client) []*client.Message {
	t.Helper()
	if err := c.CloseInput(); err != nil {
		t.Fatal(err)
	}
	var all []*client.Message
	for {
		raw, err := c.Recv(client.Timeout)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("after the end of input: %v", err)
		}
		m, err := client.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	exits(t, c)
	return all
}

// exits checks that the server ends by itself within a second, with status 0.
func exits(t *testing.T, c *client.Client) {
	t.Helper()
	status, err := c.Wait(time.Second)
	if err != nil || status != 0 {
		t.Fatalf("exit status %d, %v; want 0 within a second; stderr: %s", status, err, c.Stderr())
	}
}

// ids are the ids of messages, in order; a message without one gives "".
func ids(messages []*client.Message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, string(m.ID))
	}
	return all
}

// wantFlatMemory checks that the server never had more memory than a message of
// 4 MiB, the limit, costs: its buffer, those it grew from, and the program.
func wantFlatMemory(t *testing.T, c *client.Client) {
	t.Helper()
	const limit = 20 << 20
	peak, err := c.PeakMemory()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("peak memory %.1f MiB", float64(peak)/(1<<20))
	if peak > limit {
		t.Errorf("peak memory %d bytes; want at most %d", peak, limit)
	}
}

func TestTransportsAndFramings(t *testing.T) {
	for _, over := range []client.Transport{client.Pipes, client.Sockets, client.NonBlock} {
		for _, mode := range []frame.Mode{frame.Newline, frame.Header} {
			t.Run(over.String()+"/"+mode.String(), func(t *testing.T) {
				t.Parallel()
				c := launch(t, over, exec.Command(exe, "--board", "sim"))
				c.Mode = mode
				inStep(t, c)
				if got := tool(t, c, "i2c_read", `{"address":"0x76","register":"0xd0"}`); !strings.Contains(got, `"data":"60"`) {
					t.Errorf("the BME280's chip id is %s", got)
				}
				if _, err := c.Initialize("2025-11-25"); err != nil {
					t.Fatal(err)
				}
				// A pause, so that the server waits as it does when it is left alone.
				time.Sleep(50 * time.Millisecond)
				m, _, err := c.Ask("tools/call", client.CallTool("sensor_read", `{"sensor":"cpu-thermal"}`))
				if err != nil {
					t.Fatal(err)
				}
				if r, err := m.Tool(); err != nil || r.IsError {
					t.Errorf("sensor_read: %v %s", err, r.Text())
				}
				if rest := drain(t, c); len(rest) > 0 {
					t.Errorf("after the end of input came %s", rest[0].Raw)
				}
			})
		}
	}
}

func TestBothFramingsOnOneConnection(t *testing.T) {
	t.Parallel()
	c := serve(t)
	for i := range 6 {
		c.Mode = frame.Mode(i % 2)
		inStep(t, c)
	}
}

func TestTerminalIsGreetedAndServed(t *testing.T) {
	t.Parallel()
	terminal, name := openTerminal(t)
	cmd := exec.Command(exe, "--board", "sim")
	stdin, err := os.OpenFile(name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = stdin
	c := launch(t, client.Pipes, cmd)
	stdin.Close()
	if _, err := io.WriteString(terminal, client.ModernRequest(1, "server/discover", "")+"\n"); err != nil {
		t.Fatal(err)
	}
	if m := recv(t, c); string(m.ID) != "1" || m.Error != nil {
		t.Fatalf("server/discover gave %s", m.Raw)
	}
	const endOfInput = "\x04" // Ctrl-D
	if _, err := io.WriteString(terminal, endOfInput); err != nil {
		t.Fatal(err)
	}
	if raw, err := c.Recv(client.Timeout); err != io.EOF {
		t.Fatalf("after Ctrl-D: %s, %v", raw, err)
	}
	exits(t, c)
	for _, want := range []string{"boardhand", "simulated", "boardhand setup", "tools/list"} {
		if !strings.Contains(c.Stderr(), want) {
			t.Errorf("the greeting lacks %q:\n%s", want, c.Stderr())
		}
	}
}

// openTerminal makes a pseudo-terminal (man 4 pts): our end, and the name of the
// other.
func openTerminal(t *testing.T) (ours *os.File, name string) {
	t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { ours.Close() })
	if err := unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	return ours, fmt.Sprintf("/dev/pts/%d", n)
}

// The commands and what they give back.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.toml")
	broken := wiredAs(t, "[sim]\nsede = 1\n")
	tests := []struct {
		args   string
		status int
		stdout string // part of it; of a failure there is nothing
		stderr string // part of it
	}{
		{args: "version", stdout: "MCP 2026-07-28, 2025-11-25"},
		{args: "--version", stdout: "boardhand "},
		{args: "help", stdout: "Commands:"},
		{args: "-h", stdout: "Commands:"},
		{args: "help call", stdout: "Exit status:"},
		{args: "call -h", stdout: "Exit status:"},
		{args: "help nosuch", status: 2, stderr: `"nosuch"`},
		{args: "nosuch", status: 2, stderr: `"nosuch"`},

		{args: "doctor --board sim", stdout: "All that is there can be used"},
		{args: "doctor --board sim --json", stdout: `"well":true`},
		{args: "doctor -h", stdout: "Exit status:"},
		{args: "doctor now", status: 2, stderr: `"now"`},
		{args: "doctor --board moon", status: 2, stderr: "auto, linux or sim"},
		{args: "doctor --config x.toml", status: 2, stderr: "config"},

		{args: "call board_info --board sim", stdout: "Simulated Raspberry Pi"},
		{args: "call board_info --board sim --json", stdout: `"simulated":true`},
		{args: "call gpio_read lines=GPIO17,GPIO27 --board sim", stdout: "GPIO27"},
		{args: "call gpio_write line=GPIO17 level=1 for_ms=20 --board sim", stdout: "20"},
		{args: "call gpio_write line=GPIO17 level=1 --board sim", stdout: "GPIO17", stderr: "goes back"},
		{args: "call i2c_scan --board sim", stdout: "0x76"},
		{args: "call i2c_read address=0x76 register=0xd0 --board sim", stdout: "60"},
		{args: "call sensor_read sensor=cpu-thermal --board sim", stdout: "°C"},
		{args: "call gpio_read lines=GPIO99 --board sim", status: 1, stderr: `"GPIO99"`},
		{args: "call gpio_write line=GPIO8 level=1 --board sim", status: 1, stderr: "spi0 CS0"},
		{args: "call i2c_read address=0x68 --board sim", status: 1, stderr: "rtc-ds1307"},
		{args: "call i2c_read address=0x11 --board sim", status: 1, stderr: "no acknowledge"},
		{args: "call", status: 2, stderr: "boardhand tools"},
		{args: "call nosuch --board sim", status: 2, stderr: `"nosuch"`},
		{args: "call gpio_read --nosuch", status: 2, stderr: "nosuch"},
		{args: "call gpio_read nosuch=1 --board sim", status: 2, stderr: "nosuch"},
		{args: "call gpio_read --board moon", status: 2, stderr: `"moon"`},

		{args: "tools --board sim", stdout: "gpio_write"},
		{args: "tools --board sim --json", stdout: `"inputSchema"`},
		{args: "tools gpio_write --board sim", stdout: "for_ms"},
		{args: "tools nosuch --board sim", status: 2, stderr: `"nosuch"`},

		{args: "setup", stdout: "claude-code"},
		{args: "setup claude-code", stdout: exe, stderr: "claude mcp add boardhand"},
		{args: "setup claude-desktop", stdout: exe},
		{args: "setup vscode", stdout: `"servers"`},
		{args: "setup cursor", stdout: exe},
		{args: "setup gemini-cli --board sim", stdout: `"sim"`},
		{args: "setup nosuch", status: 2, stderr: "claude-code"},

		{args: "serve --nosuch", status: 2, stderr: "nosuch"},
		{args: "--nosuch", status: 2, stderr: "nosuch"},
		{args: "serve nosuch", status: 2, stderr: `"nosuch"`},
		{args: "serve --board moon", status: 2, stderr: `"moon"`},
		{args: "serve --max-message 5", status: 2, stderr: "1024"},
		{args: "serve --config " + missing, status: 2, stderr: missing},
		{args: "call board_info --config " + broken, status: 2, stderr: "sede"},
		{args: "serve --board sim"},
	}
	for _, test := range tests {
		t.Run(strings.ReplaceAll(test.args, " ", "_"), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(exe, strings.Fields(test.args)...)
			var stdout, stderr strings.Builder
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Run(); cmd.ProcessState == nil {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != test.status {
				t.Errorf("exit status %d, want %d", got, test.status)
			}
			if !strings.Contains(stdout.String(), test.stdout) || test.stdout == "" && stdout.Len() > 0 {
				t.Errorf("standard output %q, want %q in it", stdout.String(), test.stdout)
			}
			if !strings.Contains(stderr.String(), test.stderr) {
				t.Errorf("standard error %q, want %q in it", stderr.String(), test.stderr)
			}
			if strings.HasPrefix(test.args, "setup ") && test.status == 0 || strings.Contains(test.args, "--json") {
				if !json.Valid([]byte(stdout.String())) {
					t.Errorf("standard output is no JSON: %q", stdout.String())
				}
			}
			if strings.Contains(stderr.String(), "goroutine ") {
				t.Errorf("it failed inside: %s", stderr.String())
			}
		})
	}
}

// What a client is told to start does start.
func TestSetupStartsTheServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"claude-code", "claude-desktop", "vscode", "cursor", "gemini-cli"} {
		out, err := exec.Command(exe, "setup", name, "--board", "sim").Output()
		if err != nil {
			t.Fatal(err)
		}
		var file map[string]map[string]struct {
			Command string
			Args    []string
		}
		if err := json.Unmarshal(out, &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, servers := range file {
			entry := servers["boardhand"]
			if !filepath.IsAbs(entry.Command) || !slices.Contains(entry.Args, "sim") {
				t.Fatalf("%s: %s", name, out)
			}
			inStep(t, launch(t, client.Pipes, exec.Command(entry.Command, entry.Args...)))
		}
	}
}

func TestDemoRuns(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "run", "boardhand/bench/demo", "-exe", exe).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"→ server/discover", "← isError: line \"GPIO8\"", `"data":"60"`, exe} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the demonstration does not show %q:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "\x1b") {
		t.Error("colours, though it is no terminal")
	}
}
