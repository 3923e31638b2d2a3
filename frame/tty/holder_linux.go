package tty

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Bounds of what is looked through.
const (
	maxProcesses = 8192
	maxFiles     = 1024 // of one process
)

// Process is another process, as far as this user may see it.
type Process struct {
	PID      int
	Name     string // of its program, at most 15 bytes; empty where it is not fit to print
	terminal uint64 // device number of its controlling terminal; 0: none
	dir      string
}

// Processes gives every process but this one, by number, 8,192 at most. A machine
// without /proc has none.
func (t Tree) Processes() iter.Seq[Process] {
	return func(yield func(Process) bool) {
		entries, _ := os.ReadDir(t.Proc)
		var pids []int
		for _, e := range entries {
			if pid, err := strconv.Atoi(e.Name()); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
		slices.Sort(pids)
		for _, pid := range pids[:min(len(pids), maxProcesses)] {
			if !yield(t.process(pid)) {
				return
			}
		}
	}
}

// process reads what proc_pid_stat(5) says.
func (t Tree) process(pid int) Process {
	p := Process{PID: pid, dir: filepath.Join(t.Proc, strconv.Itoa(pid))}
	stat, _ := text(512, p.dir, "stat")
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p
	}
	p.Name = printable(stat[open+1 : end])
	if fields := strings.Fields(stat[end+1:]); len(fields) > 4 {
		n, _ := strconv.ParseInt(fields[4], 10, 64)
		p.terminal = uint64(uint32(n))
	}
	return p
}

// Files gives what the process has open, as /proc shows it: "/dev/ttyS0". It gives
// nothing of another user's process.
func (p Process) Files() iter.Seq[string] {
	return func(yield func(string) bool) {
		dir := filepath.Join(p.dir, "fd")
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), maxFiles)] {
			if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && !yield(target) {
				return
			}
		}
	}
}

// Arguments gives the words that started the process, of the first KiB.
func (p Process) Arguments() []string {
	line, _ := text(1024, p.dir, "cmdline")
	return strings.Split(line, "\x00")
}

// Holder is who has a port: the kernel, this process, or another one.
type Holder struct {
	Console  bool // the kernel writes its messages to the port
	Self     bool // this process has it as standard input or output, or for the link
	PID      int  // of the process that has it, too; 0: none that this user may see
	Name     string
	Terminal bool // it is that process's controlling terminal: a login prompt or a shell
}

// String is the holder for a person: "agetty (pid 412), whose terminal it is".
func (h Holder) String() string {
	switch {
	case h.Console:
		return "the kernel's console"
	case h.Self:
		return "this server's own client"
	}
	who := "pid " + strconv.Itoa(h.PID)
	if h.Name != "" {
		who = h.Name + " (" + who + ")"
	}
	if h.Terminal {
		who += ", whose terminal it is"
	}
	return who
}

// Holders gives who else has the ports called names, by name; a free port is not
// in it. Another user's process shows only what its terminal is.
func (t Tree) Holders(names []string) map[string]Holder {
	holders := make(map[string]Holder)
	terminals := make(map[uint64]string) // by device number, as /proc/PID/stat has it
	nodes := make(map[string]string)     // by path
	consoles := t.Consoles()
	for _, name := range names {
		nodes[filepath.Join(t.Dev, name)] = name
		n, ok := t.number(name)
		if ok {
			terminals[n] = name
		}
		_, console := consoles[name]
		if self := ok && mine(n); console || self {
			holders[name] = Holder{Console: console, Self: self}
		}
	}
	has := func(name string, p Process, terminal bool) {
		if h := holders[name]; h.PID == 0 {
			h.PID, h.Name, h.Terminal = p.PID, p.Name, terminal
			holders[name] = h
		}
	}
	for p := range t.Processes() {
		if name, ok := terminals[p.terminal]; ok && p.terminal != 0 {
			has(name, p, true)
		}
		for file := range p.Files() {
			if name, ok := nodes[file]; ok {
				has(name, p, false)
			}
		}
	}
	return holders
}

// number is the device number of a port as /proc/PID/stat has it.
func (t Tree) number(name string) (uint64, bool) {
	dev, _ := text(32, t.Sys, "class/tty", name, "dev")
	before, after, _ := strings.Cut(dev, ":")
	major, err := strconv.ParseUint(before, 10, 32)
	if err != nil {
		return 0, false
	}
	minor, err := strconv.ParseUint(after, 10, 32)
	return terminalNumber(uint32(major), uint32(minor)), err == nil
}

// terminalNumber is new_encode_dev of include/linux/kdev_t.h.
func terminalNumber(major, minor uint32) uint64 {
	return uint64(minor&0xff | major<<8 | minor&^0xff<<12)
}

func deviceNumber(st *unix.Stat_t) uint64 {
	return terminalNumber(unix.Major(uint64(st.Rdev)), unix.Minor(uint64(st.Rdev)))
}

// held is the device numbers of the Ports that are open.
var held sync.Map

// mine says that the device is this process's standard input or output, or open
// as a Port.
func mine(device uint64) bool {
	for fd := range 3 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && deviceNumber(&st) == device {
			return true
		}
	}
	_, ok := held.Load(device)
	return ok
}

// Consoles gives the terminals to which the kernel writes its messages, each with
// the argument of the kernel's command line that says so: "console=ttyS0,115200",
// or "" where none does, as when a device tree does.
func (t Tree) Consoles() map[string]string {
	line, _ := text(8192, t.Proc, "cmdline")
	said := make(map[string]string)
	for _, argument := range strings.Fields(line) {
		if console, ok := strings.CutPrefix(argument, "console="); ok {
			name, _, _ := strings.Cut(console, ",")
			said[name] = printable(argument)
		}
	}
	active, err := text(1024, t.Sys, "class/tty/console/active")
	if err != nil {
		return said
	}
	consoles := make(map[string]string)
	for _, name := range strings.Fields(active) {
		consoles[name] = said[name]
	}
	return consoles
}

// FreeOfConsole is what to do so that the kernel leaves a port alone. argument is
// what Consoles has of it.
func (t Tree) FreeOfConsole(argument string) []string {
	where := "the boot loader's kernel command line"
	for _, path := range []string{"/boot/firmware/cmdline.txt", "/boot/cmdline.txt"} {
		if t.has(path) {
			where = path
			break
		}
	}
	step := "take " + argument + " out of " + where
	if argument == "" {
		step = "add console=tty1 to " + where
	}
	return []string{step, "sudo reboot"}
}

// FreeOfLogin is what to do so that no login prompt runs on the port called name.
func (t Tree) FreeOfLogin(name string) string {
	if t.has("/run/systemd/system") {
		return "sudo systemctl disable --now serial-getty@" + name
	}
	return "take the getty on " + name + " out of /etc/inittab"
}

// has says that a file of the system, which lies beside /proc, is there.
func (t Tree) has(path string) bool {
	_, err := os.Stat(filepath.Join(t.Proc, "..", path))
	return err == nil
}

// Group is the name of a group in /etc/group, which lies beside /proc, or its
// number. (os/user would link the C library.)
func (t Tree) Group(gid uint32) string {
	number := strconv.FormatUint(uint64(gid), 10)
	groups, _ := text(1<<16, t.Proc, "../etc/group")
	for line := range strings.Lines(groups) {
		fields := strings.SplitN(line, ":", 4)
		if len(fields) == 4 && fields[2] == number {
			return fields[0]
		}
	}
	return number
}

// locker is the process that has locked a file by flock(2), as /proc/locks shows
// it to all users; 0: none that it shows.
func (t Tree) locker(st *unix.Stat_t) int {
	dev := uint64(st.Dev)
	file := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), st.Ino)
	locks, _ := text(1<<16, t.Proc, "locks")
	for line := range strings.Lines(locks) { // 1: FLOCK  ADVISORY  WRITE 1234 00:06:123 0 EOF
		fields := strings.Fields(line)
		if len(fields) > 5 && fields[1] == "FLOCK" && fields[5] == file {
			pid, _ := strconv.Atoi(fields[4])
			return pid
		}
	}
	return 0
}
