package client

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PeakMemory is the most memory that the child has had resident so far, in
// bytes: VmHWM (Linux, man 5 proc).
func (c *Client) PeakMemory() (int64, error) {
	path := fmt.Sprintf("/proc/%d/status", c.Pid())
	kib, err := statusField(path, "VmHWM")
	return kib << 10, err
}

// Switches is how often a processor was taken from or given back by one of the
// child's threads so far: a process that does not wake has none (Linux, man 5
// proc).
func (c *Client) Switches() (int64, error) {
	paths, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", c.Pid()))
	if err != nil || len(paths) == 0 {
		return 0, fmt.Errorf("process %d has no status in /proc", c.Pid())
	}
	var sum int64
	for _, path := range paths {
		for _, key := range []string{"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"} {
			n, err := statusField(path, key)
			if err != nil {
				return 0, err
			}
			sum += n
		}
	}
	return sum, nil
}

func statusField(path, key string) (int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			return strconv.ParseInt(number, 10, 64)
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, key)
}
