package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// What /proc says of a process (man 5 proc). All figures are of all threads,
// those that have ended excepted: Go ends none.

// runNs returns the time a process has run, in nanoseconds: the first field of
// each task's schedstat (Documentation/scheduler/sched-stats.rst).
func runNs(pid int) (int64, error) {
	var sum int64
	err := eachTask(pid, "schedstat", func(text string) error {
		first, _, _ := strings.Cut(text, " ")
		n, err := strconv.ParseInt(first, 10, 64)
		sum += n
		return err
	})
	return sum, err
}

// switches returns the context switches of a process, voluntary or not.
func switches(pid int) (int64, error) {
	var sum int64
	err := eachTask(pid, "status", func(text string) error {
		for _, key := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			n, err := statusField(text, key)
			if err != nil {
				return err
			}
			sum += n
		}
		return nil
	})
	return sum, err
}

// peakKiB returns the most memory a process has had resident, in KiB.
func peakKiB(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	return statusField(string(text), "VmHWM")
}

func eachTask(pid int, file string, use func(text string) error) error {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/%s", pid, file))
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return fmt.Errorf("process %d has ended, or the kernel has no %s", pid, file)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := use(string(text)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// statusField returns the number after "key:" in the text of a status file.
func statusField(text, key string) (int64, error) {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return strconv.ParseInt(number, 10, 64)
		}
	}
	return 0, fmt.Errorf("no field %q", key)
}
