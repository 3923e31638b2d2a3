package program

import (
	"os"
	"syscall"
)

// attributes give the program a group of its own, and end it when boardhand ends in
// whatever way: prctl(2), PR_SET_PDEATHSIG.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// end ends the program with its group.
func end(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}
