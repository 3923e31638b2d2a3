//go:build linux

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// consumer is the name under which the kernel shows our lines to others: it says
// which process has them, to every user, and is gone with the process.
var consumer = consumerOf(os.Getpid())

func consumerOf(pid int) string { return consumerPrefix + strconv.Itoa(pid) }

const consumerPrefix = "boardhand "

// consumerPID is the process that gave this name, or 0.
func consumerPID(name string) int {
	digits, ok := strings.CutPrefix(name, consumerPrefix)
	pid, err := strconv.Atoi(digits)
	if !ok || err != nil || pid < 1 {
		return 0
	}
	return pid
}

// process describes a process for a person: `process 1234 (boardhand serve)`.
func process(r roots, pid int) string {
	const most = 120
	b, _ := readBytes(most, r.proc, strconv.Itoa(pid), "cmdline")
	command := strings.Map(func(c rune) rune {
		if !strconv.IsPrint(c) { // the end of an argument is a NUL: proc_pid_cmdline(5)
			return ' '
		}
		return c
	}, strings.ToValidUTF8(strings.TrimRight(string(b), "\x00"), "?"))
	if command == "" {
		return fmt.Sprintf("process %d", pid)
	}
	return fmt.Sprintf("process %d (%s)", pid, command)
}

// locker is who has locked the file at path by flock(2), or "" where that is not to be
// seen: proc_locks(5).
//
//	1: FLOCK  ADVISORY  WRITE 1234 00:16:4321 0 EOF
func locker(r roots, path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return ""
	}
	inode := fmt.Sprintf("%02x:%02x:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev)), st.Ino)
	text, _ := readText(1<<18, r.proc, "locks")
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 6 || f[1] != "FLOCK" || f[5] != inode {
			continue
		}
		if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
			return process(r, pid)
		}
	}
	return ""
}

// lockFolder locks the folder of something of sysfs that has no owner in the kernel,
// so that two processes do not both set it. The lock goes with the process.
func lockFolder(r roots, subject, path string, family []meaning) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, explain(subject, err, family)
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	defer f.Close()
	if err != unix.EAGAIN {
		return nil, explain(subject+" "+filepath.Base(path)+": locking it", err, family)
	}
	e := &device.Error{Subject: subject, Kind: device.ErrBusy, Reason: "in use by another boardhand", Hint: "end that one, or use another"}
	if who := locker(r, path); who != "" {
		e.Reason = "in use by " + who
	}
	return nil, e
}
