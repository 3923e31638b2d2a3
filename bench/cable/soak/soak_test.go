//go:build linux

package main

import (
	"strings"
	"testing"
)

// What the soak judges at its end it fails for.
func TestWhatIsNotAsItMustBeFails(t *testing.T) {
	memory := func(calls, board, laptop, boardAgain, laptopAgain int) []report {
		return []report{{name: "clean", calls: calls, boardMemory: board, laptopMemory: laptop},
			{name: "clean again", calls: calls, boardMemory: boardAgain, laptopMemory: laptopAgain}}
	}
	for _, test := range []struct {
		name    string
		calls   []call
		runs    map[int]int
		reports []report
		want    string // of the failure; empty: none
	}{
		{"all right", []call{{outcome: right}, {outcome: notDone}, {outcome: unknown}, {outcome: gone}, {kind: list, outcome: right}}, map[int]int{0: 1, 2: 1}, nil, ""},
		{"a call that ran twice", []call{{outcome: unknown}}, map[int]int{0: 2}, nil, "call 0 ran 2 times"},
		{"an answer to what did not run", []call{{outcome: right}}, nil, nil, "never ran"},
		{"a call that was not to have run", []call{{outcome: notDone}}, map[int]int{0: 1}, nil, "was not done"},
		{"a call without an answer", []call{{}}, nil, nil, "neither answered nor failed"},
		{"a call that nobody made", nil, map[int]int{7: 1}, nil, "nobody made"},
		{"flat memory", nil, nil, memory(warm, 7000, 6500, 7000+mostGrowth, 6400), ""},
		{"a board that grows", nil, nil, memory(warm, 7000, 6500, 7001+mostGrowth, 6500), "has grown"},
		{"a laptop that grows", nil, nil, memory(warm, 7000, 6500, 7000, 6501+mostGrowth), "has grown"},
		{"too few calls to tell", nil, nil, memory(warm-1, 4000, 4000, 8000, 8000), ""},
		{"much memory from the start", nil, nil, memory(warm, mostMemory+1, 6500, mostMemory+1, 6500), "the board's process had"},
	} {
		c, err := newCounter(1)
		if err != nil {
			t.Skip("this machine lacks the addresses of 127.0.0.0/8: ", err)
		}
		for n, times := range test.runs {
			c.runs[n] = times
		}
		s := &soak{o: &options{}, counter: c, calls: test.calls, reports: test.reports}
		s.judge()
		c.close()
		got := strings.Join(s.failures, "; ")
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: failures %q, want %q", test.name, got, test.want)
		}
	}
}
