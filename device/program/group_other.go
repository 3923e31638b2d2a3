//go:build !linux

package program

import (
	"os"
	"syscall"
)

func attributes() *syscall.SysProcAttr { return nil }

func end(p *os.Process) { _ = p.Kill() }
