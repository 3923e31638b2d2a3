package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
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

var errBusy = errors.New("the machine has other work, on which no budget of time can be checked")

// The machine is quiet when its processors idle for this share of a second.
const quietShare = 0.85

// waitForQuiet waits a minute at the most.
func waitForQuiet() bool {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		if isQuiet() {
			return true
		}
	}
	return false
}

// isQuiet looks for a second. Time that a hypervisor gives to others is not idle.
func isQuiet() bool {
	idle, all := processorTime()
	time.Sleep(time.Second)
	idleNow, allNow := processorTime()
	return allNow > all && float64(idleNow-idle) >= quietShare*float64(allNow-all)
}

// processorTime is the idle time of all processors and all their time since the
// start, in ticks: the first line of /proc/stat.
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
