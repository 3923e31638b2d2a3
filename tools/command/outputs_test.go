//go:build linux

package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"boardhand/bench/client"
)

// rig is a simulated board with outputs, whose lines are traced.
type rig struct {
	t                    *testing.T
	config, state, trace string
}

const rigLines = `
[[line]]
line = "GPIO5"
name = "pump"
access = "write"
safe = "low"
max_on = "1h"

[[line]]
line = "GPIO6"
name = "valve"
access = "write"
safe = "high"

[[line]]
line = "GPIO13"
name = "heater"
access = "write"
safe = "low"
needs = ["fan"]

[[line]]
line = "GPIO19"
name = "fan"
access = "write"
safe = "low"

[[line]]
line = "GPIO26"
name = "button"

[[i2c]]
bus = 1
address = "any"
`

// How long a serial line may be silent, and all clients over HTTP.
const (
	linkGrace = 2 * time.Second
	httpGrace = time.Second
)

// newRig writes the board file of a rig; more is appended to it.
func newRig(t *testing.T, lines, more string) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, state: filepath.Join(dir, "state"), trace: filepath.Join(dir, "trace")}
	r.config = wiredAs(t, fmt.Sprintf("%s\n[outputs]\nstate = %q\nlink_grace = \"%v\"\nhttp_grace = \"%v\"\n[sim]\ntrace = %q\n%s", lines, r.state, linkGrace, httpGrace, r.trace, more))
	return r
}

// serve starts a server that has turned all outputs on.
func (r *rig) serve() *client.Client {
	r.t.Helper()
	c := serve(r.t, "--config", r.config)
	r.turnOn(c)
	return c
}

// turnOn turns all outputs on.
func (r *rig) turnOn(c *client.Client) {
	r.t.Helper()
	for _, line := range []string{"pump", "fan", "heater"} {
		tool(r.t, c, "gpio_write", `{"line":"`+line+`","level":1}`)
	}
	tool(r.t, c, "gpio_write", `{"line":"valve","level":0}`)
	r.stand("GPIO5 high, GPIO6 low, GPIO13 high, GPIO19 high")
}

// changes are the lines of the trace so far: how a line was driven, and when.
func (r *rig) changes() (what []string, when []time.Time) {
	r.t.Helper()
	text, err := os.ReadFile(r.trace)
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		at, change, _ := strings.Cut(strings.TrimSpace(line), " ")
		t, err := time.Parse(time.RFC3339Nano, at)
		if err != nil {
			r.t.Fatal(err)
		}
		what, when = append(what, change), append(when, t)
	}
	return what, when
}

// stand checks how the lines stand that want names.
func (r *rig) stand(want string) {
	r.t.Helper()
	what, _ := r.changes()
	last := map[string]string{}
	for _, change := range what {
		line, _, _ := strings.Cut(change, " ")
		last[line] = change
	}
	for change := range strings.SplitSeq(want, ", ") {
		line, _, _ := strings.Cut(change, " ")
		if last[line] != change {
			r.t.Errorf("%s, not %s; the changes were %q", last[line], change, what)
		}
	}
}

const allSafe = "GPIO5 low, GPIO6 high, GPIO13 low, GPIO19 low"

// safeSoon waits until all outputs are safe, and logs how long after began the last was.
func (r *rig) safeSoon(began time.Time) {
	r.t.Helper()
	for end := time.Now().Add(client.Timeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		what, when := r.changes()
		last := map[string]string{}
		for _, change := range what {
			line, _, _ := strings.Cut(change, " ")
			last[line] = change
		}
		if last["GPIO5"]+", "+last["GPIO6"]+", "+last["GPIO13"]+", "+last["GPIO19"] != allSafe {
			continue
		}
		r.t.Logf("the outputs were safe after %v", when[len(when)-1].Sub(began).Round(10*time.Microsecond))
		fan, heater := -1, -1
		for i, change := range what {
			switch change {
			case "GPIO19 low":
				fan = i
			case "GPIO13 low":
				heater = i
			}
		}
		if fan < heater {
			r.t.Errorf("the fan was off before the heater: %q", what)
		}
		return
	}
	r.stand(allSafe)
}

// left gives the journals that are there.
func (r *rig) left() []string {
	names, _ := filepath.Glob(filepath.Join(r.state, "*"))
	return names
}

func TestOutputsAreSafeWhenTheConnectionEnds(t *testing.T) {
	t.Parallel()
	pulses := func(t *testing.T, c *client.Client) {
		send(t, c, client.ModernRequest(100, "tools/call", client.CallTool("gpio_pulse", `{"line":"pump","high_us":1000000,"count":20}`)))
		inStep(t, c)
	}
	for name, start := range map[string]func(t *testing.T) (*rig, *client.Client){
		"that waits": func(t *testing.T) (*rig, *client.Client) {
			r := newRig(t, rigLines, "")
			return r, r.serve()
		},
		"in a pulse": func(t *testing.T) (*rig, *client.Client) {
			r := newRig(t, rigLines, "")
			c := r.serve()
			tool(t, c, "gpio_write", `{"line":"pump","level":1,"for_ms":60000}`)
			return r, c
		},
		"in a train of pulses": func(t *testing.T) (*rig, *client.Client) {
			r := newRig(t, rigLines, "")
			c := r.serve()
			pulses(t, c)
			return r, c
		},
		"with a jammed bus and a wait": func(t *testing.T) (*rig, *client.Client) {
			r := newRig(t, rigLines, "[[sim.jam]]\nbus = 1\nseconds = 5\n")
			c := r.serve()
			send(t, c, client.ModernRequest(100, "tools/call", client.CallTool("i2c_scan", "")),
				client.ModernRequest(101, "tools/call", client.CallTool("gpio_wait", `{"lines":"button","timeout_ms":5000}`)))
			inStep(t, c)
			return r, c
		},
	} {
		for end, do := range map[string]func(c *client.Client) error{
			"end of input": (*client.Client).CloseInput,
			"SIGTERM":      func(c *client.Client) error { return c.Signal(syscall.SIGTERM) },
			"SIGHUP":       func(c *client.Client) error { return c.Signal(syscall.SIGHUP) },
			"SIGINT":       func(c *client.Client) error { return c.Signal(syscall.SIGINT) },
		} {
			t.Run(name+"/"+end, func(t *testing.T) {
				t.Parallel()
				r, c := start(t)
				if len(r.left()) != 1 {
					t.Errorf("the journals are %q", r.left())
				}
				began := time.Now()
				if err := do(c); err != nil {
					t.Fatal(err)
				}
				r.safeSoon(began)
				if _, err := c.Wait(client.Timeout); err != nil && end != "end of input" {
					t.Error(err)
				} else if err == nil && len(r.left()) > 0 {
					t.Errorf("after the end there is %q", r.left())
				}
			})
		}
	}
}

func TestOutputsAreSafeWhenTheClientIsKilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	c := launch(t, client.Pipes, exec.Command("sh", "-c", `"$0" serve --board sim --config "$1"; exit 0`, exe, r.config))
	tool(t, c, "gpio_write", `{"line":"pump","level":1}`)
	tool(t, c, "gpio_write", `{"line":"valve","level":0}`)
	began := time.Now()
	if err := c.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r.safeSoon(began)
}

// The dispatcher hangs in a write, as its client does not read.
func TestOutputsAreSafeWhenTheClientDoesNotRead(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	c := r.serve()
	go func() {
		for {
			if c.Send(client.ModernRequest(1, "tools/list", "")) != nil {
				return
			}
		}
	}()
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	r.safeSoon(began)
}

// Calls that came with the end of input are served, and turn nothing on any more once
// it is seen.
func TestEndOfInputComesAfterTheCallsBeforeIt(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	c := serve(t, "--config", r.config)
	send(t, c, client.ModernRequest(1, "tools/call", client.CallTool("gpio_write", `{"line":"pump","level":1}`)))
	all := drain(t, c)
	if len(all) != 1 || strings.Contains(string(all[0].Raw), "isError") {
		t.Errorf("%s", all[0].Raw)
	}
	what, _ := r.changes()
	if got := strings.Join(what, ", "); !strings.Contains(got, "GPIO5 low, ") || !strings.Contains(got, "GPIO5 high, ") {
		t.Error(got)
	}
	r.stand(allSafe)
}

func TestMaxOnHoldsInTheServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(rigLines, "1h", "100ms", 1), "")
	c := serve(t, "--config", r.config)
	tool(t, c, "gpio_write", `{"line":"pump","level":1}`)
	time.Sleep(time.Second)
	r.stand("GPIO5 low")
	if want := `line "pump": it may be on at most 100ms, and was turned off`; !strings.Contains(c.Stderr(), want) {
		t.Errorf("%s; want %s", c.Stderr(), want)
	}
	what, when := r.changes()
	for i := range what {
		if what[i] == "GPIO5 high" {
			t.Logf("on for %v", when[i+1].Sub(when[i]))
		}
	}
}

func TestInterlocksHoldInTheServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	c := serve(t, "--config", r.config)
	got, err := call(t, c, "tools/call", client.CallTool("gpio_write", `{"line":"heater","level":1}`)).Tool()
	if err != nil || !got.IsError || !strings.Contains(got.Text(), "board.toml:15: line \"heater\": it needs line \"fan\", which is off") {
		t.Errorf("%v %s", err, got.Text())
	}
}

// A tool that fails inside, on its queue or on the dispatcher, brings the outputs to
// rest; the server goes on.
func TestOutputsAreSafeWhenAToolPanics(t *testing.T) {
	for name, c := range map[string][2]string{
		"on its queue":      {"i2c_read", `{"address":"0x76","register":"0xd0"}`},
		"on the dispatcher": {"gpio_read", `{"lines":"button"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigLines, "")
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), panicking+"="+r.config)
			one := launch(t, client.Pipes, cmd)
			r.turnOn(one)
			began := time.Now()
			got, err := call(t, one, "tools/call", client.CallTool(c[0], c[1])).Tool()
			if err != nil || !got.IsError || !strings.Contains(got.Text(), "failed inside") {
				t.Errorf("%v %s", err, got.Text())
			}
			r.safeSoon(began)
			says(t, one, c[0]+" failed inside: ")
			r.turnOn(one)
			drain(t, one)
			r.stand(allSafe)
		})
	}
}

func TestMinOffHoldsInTheServer(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(rigLines, `max_on = "1h"`, `min_off = "1m"`, 1), "")
	c := serve(t, "--config", r.config)
	got, err := call(t, c, "tools/call", client.CallTool("gpio_write", `{"line":"pump","level":1}`)).Tool()
	if err != nil || !got.IsError || !strings.Contains(got.Text(), `board.toml:2: line "pump": off for `) || !strings.Contains(got.Text(), "of at least 1m0s; try again in ") {
		t.Errorf("%v %s", err, got.Text())
	}
	r.stand("GPIO5 low")
}

func TestOutputsBeginAtTheirInitialLevels(t *testing.T) {
	t.Parallel()
	r := newRig(t, strings.Replace(rigLines, `max_on = "1h"`, `initial = "high"`, 1), "")
	c := serve(t, "--config", r.config)
	inStep(t, c)
	r.stand("GPIO5 high, GPIO6 high, GPIO13 low, GPIO19 low")
	drain(t, c)
	r.stand(allSafe)
}

// After kill -9 the next start brings the outputs to rest, whatever its board file says
// of them.
func TestNextStartAfterAKillBringsOutputsToRest(t *testing.T) {
	for name, next := range map[string]func(r *rig) []string{
		"serve": func(r *rig) []string { return []string{"serve", "--config", r.config} },
		"call":  func(r *rig) []string { return []string{"call", "gpio_list", "--config", r.config} },
		"safe":  func(r *rig) []string { return []string{"safe", "--config", r.config} },
		"serve with a file without lines": func(r *rig) []string {
			other := newRig(r.t, "", "")
			other.state, other.trace = r.state, r.trace
			other.config = wiredAs(r.t, fmt.Sprintf("[outputs]\nstate = %q\n[sim]\ntrace = %q\n", r.state, r.trace))
			return []string{"serve", "--config", other.config}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, rigLines, "")
			c := r.serve()
			if err := c.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Wait(client.Timeout); err != nil {
				t.Fatal(err)
			}
			if len(r.left()) != 1 {
				t.Errorf("the journals are %q", r.left())
			}
			r.stand("GPIO5 high, GPIO6 low, GPIO13 high, GPIO19 high")
			cmd := exec.Command(exe, append(next(r), "--board", "sim")...)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			r.stand(allSafe)
			if want := fmt.Sprintf("process %d (boardhand serve", c.Pid()); !strings.Contains(string(out), want) {
				t.Errorf("it says %s; want %s", out, want)
			}
			if len(r.left()) > 0 {
				t.Errorf("in the end there is %q", r.left())
			}
		})
	}
}

// A journal whose process lives is its own.
func TestOutputsOfALivingProcessAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	one := r.serve()
	two := serve(t, "--config", r.config)
	inStep(t, two)
	drain(t, two)
	if len(r.left()) != 1 {
		t.Errorf("the journals are %q", r.left())
	}
	inStep(t, one)
}

func TestSafeByHandHaltsTheOutputs(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	c := r.serve()
	began := time.Now()
	out, err := exec.Command(exe, "safe", "--board", "sim", "--config", r.config).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	t.Logf("took %v", time.Since(began))
	if want := fmt.Sprintf("process %d (boardhand serve --board sim --config %s) has halted its outputs\n", c.Pid(), r.config); !strings.HasPrefix(string(out), want) {
		t.Errorf("%s; want %s", out, want)
	}
	r.safeSoon(began)
	got, err := call(t, c, "tools/call", client.CallTool("gpio_write", `{"line":"pump","level":1}`)).Tool()
	if err != nil || !got.IsError || !strings.Contains(got.Text(), `line "pump": halted by a person with "boardhand safe"; it stays as it is`) {
		t.Errorf("%v %s", err, got.Text())
	}
	tool(t, c, "gpio_write", `{"line":"pump","level":0}`)
	inStep(t, c)
}

func TestSafeWithoutOutputs(t *testing.T) {
	t.Parallel()
	out, err := exec.Command(exe, "safe", "--board", "sim").CombinedOutput()
	if err != nil || string(out) != "No output has a safe level.\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// A process that hangs and does not answer is named.
func TestSafeSaysWhoDoesNotAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, rigLines, "")
	c := r.serve()
	if err := c.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer c.Signal(syscall.SIGCONT)
	cmd := exec.Command(exe, "safe", "--board", "sim", "--config", r.config)
	out, _ := cmd.CombinedOutput()
	if want := fmt.Sprintf("end it with: kill -9 %d", c.Pid()); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), want) {
		t.Errorf("%d %s; want %s", cmd.ProcessState.ExitCode(), out, want)
	}
}
