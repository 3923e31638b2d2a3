//go:build linux

// Command speed measures boardhand at both ends of a serial cable whose relay carries
// bytes at the line's baud: calls a second, what a call takes longer than without a
// cable against the time that its bytes are on the wire, and how much of the line a
// large message gets; and the same calls in plain JSON, without the link.
//
// It prints a table. With -check it leaves plain JSON out, and ends with status 1 when
// a link.time. line of bench/budgets.txt is exceeded, and with 3 when the machine has
// other work.
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/bench"
)

func main() {
	exe := flag.String("exe", "", "the boardhand to measure; empty: built from this module")
	check := flag.Bool("check", false, "hold the figures against their budgets")
	attempts := flag.Int("attempts", 3, "with -check, measure up to `N` times: a budget holds when one of them keeps it, for what else runs on the machine disturbs some, and a slower program all")
	bauds := flag.String("bauds", "9600,115200,921600", "to measure at")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "speed: unexpected argument %q; speed -help lists the flags\n", flag.Arg(0))
		os.Exit(2)
	}
	err := run(*exe, *bauds, *check, *attempts)
	if err != nil {
		fmt.Fprintln(os.Stderr, "speed:", err)
	}
	switch {
	case errors.Is(err, errBusy):
		os.Exit(3)
	case err != nil:
		os.Exit(1)
	}
}

var errBusy = errors.New("the machine has other work, on which no budget of time can be checked")

func run(exe, bauds string, check bool, attempts int) error {
	dir, err := os.MkdirTemp("", "speed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if exe == "" {
		exe = filepath.Join(dir, "boardhand")
		if err := bench.Build(exe, ""); err != nil {
			return err
		}
	}
	if exe, err = filepath.Abs(exe); err != nil {
		return err
	}
	budgets, err := bench.Budgets()
	if err != nil {
		return err
	}
	// The cable's two threads must not wait for the rest of this process.
	runtime.GOMAXPROCS(runtime.NumCPU() + 4)
	var speeds []int
	for word := range strings.SplitSeq(bauds, ",") {
		baud, err := strconv.Atoi(word)
		if err != nil {
			return fmt.Errorf("-bauds %q: %w", bauds, err)
		}
		speeds = append(speeds, baud)
	}
	kept := map[string]bool{}
	quietAttempts := 0
	for attempt := 1; ; attempt++ {
		if check {
			waitForQuiet()
		}
		others := watchOthers()
		found := map[string]float64{}
		var rows []*figures
		for _, baud := range speeds {
			f, err := measure(exe, dir, baud, !check)
			if err != nil {
				return err
			}
			rows = append(rows, f)
			maps.Copy(found, f.budgets())
		}
		print(rows)
		if !check {
			return nil
		}
		share := others()
		fmt.Printf("other programs took %.0f %% of the processors\n", 100*share)
		if share < 1-quietShare {
			quietAttempts++
		}
		var exceeded []string
		for _, b := range budgets {
			if !strings.HasPrefix(b.Name, "link.time.") || kept[b.Name] {
				continue
			}
			value, ok := found[b.Name]
			if !ok {
				return fmt.Errorf("%s has a budget and is not measured", b.Name)
			}
			if s := b.Exceeded(value); s != "" {
				exceeded = append(exceeded, s)
			} else {
				kept[b.Name] = true
			}
		}
		switch {
		case len(exceeded) == 0:
			return nil
		case quietAttempts >= attempts || attempt >= 2*attempts && quietAttempts > 0:
			return errors.New(strings.Join(exceeded, "\n"))
		case attempt >= attempts && quietAttempts == 0:
			return fmt.Errorf("%w: %s", errBusy, strings.Join(exceeded, "; "))
		}
		fmt.Printf("\nAttempt %d: %s. Once more.\n\n", attempt, strings.Join(exceeded, "; "))
	}
}

// print prints a row for each baud.
func print(rows []*figures) {
	fmt.Printf("%-8s %8s %8s %9s %11s %7s %8s %10s %10s\n", "baud", "calls/s", "32 at 1", "a call", "its bytes", "delay", "goodput", "echo", "no cable")
	round := func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }
	for _, f := range rows {
		fmt.Printf("%-8d %8.0f %8.0f %9v %5.1f+%5.1f %7.2f %7.1f%% %10v %10v\n", f.baud, f.link.rate, f.link.pipelined, round(f.link.median),
			f.link.toBoard, f.link.toHost, f.delay(), 100*f.goodput, round(f.floor), round(f.local))
		if f.plainMeasured {
			fmt.Printf("  plain  %8.1f %8.1f %9v %5.1f+%5.1f\n", f.plain.rate, f.plain.pipelined, round(f.plain.median), f.plain.toBoard, f.plain.toHost)
		}
	}
}

// The machine is quiet when its processors have this share left for what is measured.
const quietShare = 0.85

// waitForQuiet waits a while at the most.
func waitForQuiet() {
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		others := watchOthers()
		time.Sleep(time.Second)
		if others() < 1-quietShare {
			return
		}
	}
}

// watchOthers begins to watch what programs take that are not this one and its
// children, which must have ended when the share is asked for.
func watchOthers() (share func() float64) {
	idle, all := processorTime()
	own, begun := ownTime(), time.Now()
	return func() float64 {
		idleNow, allNow := processorTime()
		if allNow <= all {
			return 1 // it cannot be known
		}
		processors := time.Since(begun) * time.Duration(runtime.NumCPU())
		busy := 1 - float64(idleNow-idle)/float64(allNow-all)
		return busy - float64(ownTime()-own)/float64(processors)
	}
}

// ownTime is the processor time of this process and of its children that have ended.
func ownTime() (sum time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err == nil {
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return sum
}

// processorTime is the idle time of all processors and all their time since the
// start, in ticks: the first line of /proc/stat (proc(5)).
func processorTime() (idle, all int64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil || i > 8 { // the name; guest times, which are part of user's
			continue
		}
		all += n
		if i == 4 || i == 5 { // idle, iowait
			idle += n
		}
	}
	return idle, all
}
