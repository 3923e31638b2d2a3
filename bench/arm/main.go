//go:build linux

// Command arm counts the instructions that boardhand takes on the smallest board:
// the stripped binary for ARMv6 runs under qemu-arm with a plugin that counts,
// serves the simulated board over pipes, and answers calls of gpio_read one at a
// time, on one processor. From the counts of runs with N and 2N calls come the
// instructions of one call; a run with one call is the start.
//
// Unlike a time a count hardly depends on what else the machine does: the figure
// of a call repeats to one percent. That of the start repeats to ten while others
// keep the machine busy, for a Go program has threads that wait by looking. It is
// no time either: how long an instruction takes on the board is not said, nor
// what the kernel does in a system call.
//
// It needs qemu-arm of qemu-user (the static one loads no plugins) and gcc; where
// one is absent it says so and ends with status 0, or, with -require, 1.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"boardhand/bench"
)

// calls is N.
const calls = 4000

// How often each run is repeated, and the short one of the start. What disturbs a
// count adds to it, so the least counts.
const (
	rounds      = 3
	startRounds = 15
)

func main() {
	exe := flag.String("boardhand", "", "the ARMv6 `binary`; empty builds it, from the root of the sources")
	check := flag.Bool("check", false, "end with status 1 when a budget of bench/budgets.txt is exceeded")
	require := flag.Bool("require", false, "end with status 1 when qemu-arm or gcc is absent")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "arm: unexpected argument %q; arm -help lists the flags\n", flag.Arg(0))
		os.Exit(2)
	}
	if missing := absent(); missing != "" {
		fmt.Fprintln(os.Stderr, "arm: skipped, as "+missing)
		if *require {
			os.Exit(1)
		}
		return
	}
	exceeded, err := run(*exe, *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "arm:", err)
		os.Exit(1)
	}
	for _, line := range exceeded {
		fmt.Fprintln(os.Stderr, "arm:", line)
	}
	if len(exceeded) > 0 {
		os.Exit(1)
	}
}

// absent says which tool is not installed, and how to install it; "" where all are.
func absent() string {
	for tool, pkg := range map[string]string{emulator: "qemu-user", compiler: "gcc libc6-dev"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed: sudo apt-get install " + pkg
		}
	}
	return ""
}

// run measures, prints, and gives the budgets that are exceeded.
func run(exe string, check bool) (exceeded []string, err error) {
	dir, err := os.MkdirTemp("", "boardhand-arm")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := keepToOneProcessor(); err != nil {
		return nil, err
	}
	figures, err := measure(dir, exe)
	if err != nil {
		return nil, err
	}
	for _, f := range figures {
		fmt.Printf("%-40s %12.6g   from runs that differ by %.2f %%\n", f.name, f.value, f.spread)
	}
	if !check {
		return nil, nil
	}
	budgets, err := bench.Budgets()
	if err != nil {
		return nil, err
	}
	return compare(budgets, figures), nil
}

// counted says whether a budget is of a count.
func counted(name string) bool {
	return strings.HasPrefix(name, "arm.") || strings.HasPrefix(name, "gate.call_ratio") || name == "gate.start_instructions"
}

// compare gives a sentence for each budget of a count that is exceeded, or that nothing
// measures, and for each figure without a budget.
func compare(budgets []bench.Budget, figures []figure) []string {
	var wrong []string
	values := make(map[string]float64)
	for _, f := range figures {
		values[f.name] = f.value
	}
	for _, b := range budgets {
		if !counted(b.Name) {
			continue
		}
		value, ok := values[b.Name]
		if !ok {
			wrong = append(wrong, b.Name+" has a budget and is not measured; take the line out of bench/budgets.txt")
		} else if s := b.Exceeded(value); s != "" {
			wrong = append(wrong, s)
		}
		delete(values, b.Name)
	}
	for _, f := range figures {
		if _, left := values[f.name]; left {
			wrong = append(wrong, f.name+" is measured and has no line in bench/budgets.txt")
		}
	}
	return wrong
}
