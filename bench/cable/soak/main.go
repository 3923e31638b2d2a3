//go:build linux

// Command soak drives calls over a bad cable and proves that none is lost without an
// error, that none runs twice, that every answer is right, and that both ends keep
// their memory. At both ends is boardhand as it is: serve --serial and connect. What
// the calls act on is a Modbus device on the board's network that this program plays:
// it counts them, and outlives the board's process.
//
//	go run ./bench/cable/soak                           # 100,000 calls
//	go run ./bench/cable/soak -calls 3000 -phase 1s     # half a minute
//	go run ./bench/cable/soak -only unplug -seed 7      # one phase again
//
// Each phase has faults of its own, and chance of its own that follows the seed: the
// same bytes are damaged and the same seconds disturbed, by the clock. It prints a
// line for each phase, and ends with status 1 when anything was not as it must be.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"boardhand/bench"
)

func main() {
	var o options
	flag.IntVar(&o.calls, "calls", 100_000, "in all phases together, at least")
	flag.DurationVar(&o.phase, "phase", 30*time.Second, "how long a phase lasts, at least")
	flag.IntVar(&o.baud, "baud", 921_600, "of the line, in bits per second")
	flag.IntVar(&o.window, "window", 32, "calls that wait for their answers at one time, at most")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano())%1_000_000, "of all chance")
	flag.StringVar(&o.only, "only", "", "these phases alone, separated by commas: "+strings.Join(phaseNames(), ", "))
	flag.StringVar(&o.exe, "exe", "", "the boardhand to try; empty: built from this module")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "soak: unexpected argument %q; soak -help lists the flags\n", flag.Arg(0))
		os.Exit(2)
	}
	exit(o.run())
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// options are what the command line says.
type options struct {
	calls, baud, window int
	phase               time.Duration
	seed                uint64
	only, exe           string
}

func (o *options) run() error {
	chosen, err := choose(o.only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.exe == "" {
		o.exe = filepath.Join(dir, "boardhand")
		if err := bench.Build(o.exe, ""); err != nil {
			return err
		}
	}
	// The cable's two threads must not wait for the rest of this process.
	runtime.GOMAXPROCS(runtime.NumCPU() + 4)
	fmt.Printf("seed %d, %d baud, %d calls at one time at most\n", o.seed, o.baud, o.window)
	s, err := newSoak(o, dir)
	if err != nil {
		return err
	}
	defer s.close()
	for _, p := range chosen {
		if err := s.run(p, (o.calls+len(phases)-1)/len(phases)); err != nil {
			s.fail("%s: %v", p.name, err)
			break
		}
	}
	s.judge()
	if len(s.failures) == 0 {
		return nil
	}
	s.tellWhatWasSaid()
	return fmt.Errorf("%s\nagain: soak -seed %d -calls %d -phase %v -baud %d -window %d -only %q",
		strings.Join(s.failures, "\n"), o.seed, o.calls, o.phase, o.baud, o.window, o.only)
}
