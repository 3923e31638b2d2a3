//go:build linux

// Command relay is a serial cable for a person to try: two paths that programs open
// as serial ports, and what a bad line does to the bytes between them.
//
//	go run ./bench/cable/relay -a /tmp/laptop -b /tmp/board -baud 115200 -faults bits=0.0001,text=2s
//
// It says every second what has passed, until it is interrupted.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"boardhand/bench/cable"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "relay:", err)
		os.Exit(1)
	}
}

func run() error {
	var cfg cable.Config
	flag.StringVar(&cfg.A, "a", "/tmp/laptop", "the laptop's end, a symbolic link that is made")
	flag.StringVar(&cfg.B, "b", "/tmp/board", "the board's end")
	flag.IntVar(&cfg.Baud, "baud", 0, "of the line, in bits per second; 0: as the ends set it, garbled where they differ")
	flag.Uint64Var(&cfg.Seed, "seed", 1, "of all chance")
	faults := flag.String("faults", "", "such as bits=0.001,drop=0.01,insert=0.01,repeat=0.01,noise=2s,text=1s,stall=30s,cut=30s,garble=60s,unplug=10s: chances per bit and byte, and mean times between")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; relay -help lists the flags", flag.Arg(0))
	}
	var err error
	if cfg.Faults, err = cable.ParseFaults(*faults); err != nil {
		return err
	}
	c, err := cable.Open(cfg)
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Printf("%s <-> %s\n", cfg.A, cfg.B)
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt, syscall.SIGTERM)
	var before [2]cable.Counts
	for {
		select {
		case <-stop:
			return nil
		case <-time.After(time.Second):
		}
		for e, name := range []string{"->", "<-"} {
			if n := c.Counts(cable.End(e)); n != before[e] {
				fmt.Printf("%s %+v\n", name, n)
				before[e] = n
			}
		}
	}
}
