//go:build unix

package journal

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lock locks a file until it is closed or the process ends; it waits for nobody.
func lock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// halt is the signal by which Halt asks.
const halt = syscall.SIGUSR1

func ask(pid int) error {
	err := syscall.Kill(pid, halt)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// Asked are the signals by which Halt asks this process.
func Asked() []os.Signal { return []os.Signal{halt} }

// started is when a process has started, in the kernel's ticks since it booted, which
// with its number says which process it is: proc_pid_stat(5), starttime. 0: it cannot
// be told, or there is no such process.
func started(pid int) uint64 {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	const starttime, state = 22, 3
	after := strings.LastIndex(string(text), ") ") // the command's name, which may hold blanks
	if after < 0 {
		return 0
	}
	fields := strings.Fields(string(text[after+2:]))
	if len(fields) <= starttime-state {
		return 0
	}
	ticks, _ := strconv.ParseUint(fields[starttime-state], 10, 64)
	return ticks
}
