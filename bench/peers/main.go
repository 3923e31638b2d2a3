// Command peers measures whole MCP servers as a client sees them: boardhand, a
// C program that answers a canned line (the floor), a minimal go-sdk server and
// a minimal mcp-go server. All are asked the same tools/call, as newline JSON
// of MCP 2025-06-18, in one run and in turn, so that a machine that grows
// slower does so for all of them. It prints Markdown tables; with -check it
// exits 1 when a budget is exceeded. It runs on Linux only.
//
// What is measured, over pipes and over a UNIX socket pair (node clients pass
// sockets):
//
//   - Latency and CPU: one call at a time, client and server on one core. The
//     server starts there, so a Go server sees one CPU, as on a one-core board.
//     The client makes raw system calls on a locked thread. CPU is the server's
//     run time, all threads, by /proc/PID/task/*/schedstat.
//   - Pipelined: 64 calls in flight, on all cores; the client parses every
//     answer. The upper quartile of short bursts.
//   - A 1 MiB argument: one call that names a line of 2^20 letters, which every
//     server but the C program refuses by a tool error; one core.
//   - Start: from before the fork to the answer to initialize; all cores.
//   - Memory: VmHWM of a server that has answered nothing but those calls.
//   - Idle wake-ups: context switches of all threads, 3 s long.
//
// Any other figure is the median of the rounds, a ratio the median of the
// rounds' ratios.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// effort is how much is measured.
type effort struct {
	rounds    int
	warmup    int           // calls before the first round
	calls     int           // calls per round, one at a time
	bursts    int           // of pipelined calls
	pipelined time.Duration // per burst
	large     int           // 1 MiB arguments
	starts    int           // processes started
	memory    int           // calls before the memory is read
	idle      time.Duration
}

var (
	full  = effort{rounds: 15, warmup: 2000, calls: 2000, bursts: 25, pipelined: 60 * time.Millisecond, large: 20, starts: 20, memory: 100_000, idle: 3 * time.Second}
	quick = effort{rounds: 7, warmup: 2000, calls: 2000, bursts: 9, pipelined: 40 * time.Millisecond, large: 20, starts: 10, memory: 20_000, idle: 3 * time.Second}
)

func main() {
	boardhand := flag.String("boardhand", "../../boardhand", "the boardhand `binary`; empty leaves it out")
	isQuick := flag.Bool("quick", false, "measure less, in some 35 s; memory after 20,000 calls")
	jsonFile := flag.String("json", "", "write all figures to `FILE`")
	checkFile := flag.String("check", "", "exit 1 when a budget in `FILE` is exceeded")
	attempts := flag.Int("attempts", 1, "with -check, measure up to `N` times: a budget holds when one of them keeps it, for what else runs on the machine disturbs some, and a slower program all; an attempt counts only on a machine that is quiet before and after, and without one the exit status is 3")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "peers: unexpected argument %q; peers -help lists the flags\n", flag.Arg(0))
		os.Exit(2)
	}
	e := full
	if *isQuick {
		e = quick
	}
	exceeded, err := run(*boardhand, e, *jsonFile, *checkFile, *attempts)
	if errors.Is(err, errBusy) {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(3)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
	for _, line := range exceeded {
		fmt.Fprintln(os.Stderr, "peers:", line)
	}
	if len(exceeded) > 0 {
		os.Exit(1)
	}
}

// run measures all servers, prints the tables and returns one sentence for each
// budget that every attempt exceeded.
func run(boardhand string, e effort, jsonFile, checkFile string, attempts int) (exceeded []string, err error) {
	var budgets []budget
	if checkFile != "" {
		text, err := os.ReadFile(checkFile)
		if err != nil {
			return nil, err
		}
		if budgets, err = parseBudgets(string(text)); err != nil {
			return nil, fmt.Errorf("%s: %w", checkFile, err)
		}
	}
	dir, err := os.MkdirTemp("", "peers")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := build(dir); err != nil {
		return nil, err
	}

	// The client must not move, collect or be short of a P while it measures.
	runtime.GOMAXPROCS(max(2, runtime.NumCPU()))
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	quietAttempts := 0
	for attempt := 1; ; attempt++ {
		quiet := attempts == 1 || waitForQuiet()
		servers, err := list(dir, boardhand)
		if err != nil {
			return nil, err
		}
		if err := measureAll(servers, e); err != nil {
			return nil, err
		}
		fmt.Print(report(servers, e))
		figures := figuresOf(servers)
		if jsonFile != "" {
			text, err := json.MarshalIndent(map[string]any{"servers": medians(servers), "figures": figures}, "", "  ")
			if err != nil {
				return nil, err
			}
			if err := os.WriteFile(jsonFile, append(text, '\n'), 0o644); err != nil {
				return nil, err
			}
		}
		can, cannot := judged(budgets, figures)
		if len(cannot) > 0 {
			fmt.Printf("\nNot judged, for a call of the C program takes less than %d us here: %s\n", slowSwitch, strings.Join(cannot, ", "))
		}
		budgets, exceeded = check(can, figures)
		if quiet && (attempts == 1 || isQuiet()) {
			quietAttempts++
		}
		switch {
		case len(exceeded) == 0 || quietAttempts >= attempts:
			return exceeded, nil
		case attempt >= attempts && quietAttempts == 0:
			return nil, fmt.Errorf("%w: %s", errBusy, strings.Join(exceeded, "; "))
		case attempt >= 2*attempts:
			return exceeded, nil
		}
		fmt.Printf("\nAttempt %d: %s. Once more.\n\n", attempt, strings.Join(exceeded, "; "))
	}
}

// list gives all servers in the tables' order; the peers are in dir.
func list(dir, boardhand string) ([]*server, error) {
	var servers []*server
	if boardhand != "" {
		path, err := filepath.Abs(boardhand)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("no boardhand binary: %w; build it first, or name it with -boardhand", err)
		}
		servers = append(servers, newServer("boardhand", path, "serve", "--board", "sim"))
	}
	floor := newServer("C", filepath.Join(dir, "floor"))
	floor.canned = true
	empty := newServer("empty", filepath.Join(dir, "empty"))
	empty.canned, empty.startOnly = true, true
	return append(servers, floor, newServer("gosdk", filepath.Join(dir, "gosdk")), newServer("mcpgo", filepath.Join(dir, "mcpgo")), empty), nil
}

// build makes the peers in dir.
func build(dir string) error {
	commands := []*exec.Cmd{exec.Command("cc", "-O2", "-o", filepath.Join(dir, "floor"), "floor/floor.c")}
	for _, name := range []string{"gosdk", "mcpgo", "empty"} {
		c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, name), "./"+name)
		c.Env = append(os.Environ(), "CGO_ENABLED=0")
		commands = append(commands, c)
	}
	for _, c := range commands {
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%v: %w (run peers in its own folder)\n%s", c.Args, err, out)
		}
	}
	return nil
}
