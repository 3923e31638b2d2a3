//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"boardhand/bench/cable"
)

// phase is a part of the soak with faults of its own. Mean times are of a phase of
// 30 s, and follow its length.
type phase struct {
	name   string
	faults cable.Faults
	board  time.Duration // mean time between two kills of the board's process
	laptop time.Duration // and of the laptop's
	find   bool          // the laptop is told no baud, and begins at a wrong one
}

// Those that kill nothing come first, so that the memory of one process is seen over
// all of them.
var phases = []phase{
	{name: "clean"},
	{name: "bits", faults: cable.Faults{Bits: 1e-4}},
	{name: "more bits", faults: cable.Faults{Bits: 1e-3}},
	{name: "bytes", faults: cable.Faults{Drop: 0.01, Insert: 0.01, Repeat: 0.01}},
	{name: "noise", faults: cable.Faults{Noise: 200 * time.Millisecond}},
	{name: "text", faults: cable.Faults{Text: 100 * time.Millisecond}},
	{name: "stall", faults: cable.Faults{Stall: 10 * time.Second}},
	{name: "cut", faults: cable.Faults{Cut: 5 * time.Second}},
	{name: "unplug", faults: cable.Faults{Unplug: 4 * time.Second}},
	{name: "clean again"},
	{name: "board", board: 4 * time.Second},
	{name: "laptop", laptop: 4 * time.Second},
	{name: "wrong baud", laptop: 10 * time.Second, find: true},
	{name: "all", board: 10 * time.Second, laptop: 10 * time.Second, faults: cable.Faults{
		Bits: 1e-4, Drop: 0.001, Insert: 0.001, Repeat: 0.001, Noise: time.Second, Text: time.Second,
		Stall: 15 * time.Second, Cut: 15 * time.Second, Garble: 15 * time.Second, Unplug: 10 * time.Second,
	}},
}

func phaseNames() (names []string) {
	for _, p := range phases {
		names = append(names, p.name)
	}
	return names
}

func choose(only string) (chosen []phase, err error) {
	if only == "" {
		return phases, nil
	}
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(phases, func(p phase) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-only %q: the phases are %s", name, strings.Join(phaseNames(), ", "))
		}
		chosen = append(chosen, phases[i])
	}
	return chosen, nil
}

// restart is what a process that was killed needs at least until calls pass again,
// and then some: to kill it more often would be to try nothing else.
const restart = 3 * time.Second

// lasting is the phase with the mean times of one that lasts d. What itself takes
// seconds does not come more often for that.
func (p phase) lasting(d time.Duration) phase {
	scale := func(mean time.Duration) time.Duration {
		return time.Duration(float64(mean) * float64(d) / float64(30*time.Second))
	}
	for _, mean := range []*time.Duration{&p.faults.Noise, &p.faults.Text, &p.faults.Unplug} {
		*mean = scale(*mean)
	}
	for _, mean := range []*time.Duration{&p.board, &p.laptop} {
		if *mean > 0 {
			*mean = max(scale(*mean), restart)
		}
	}
	return p
}
