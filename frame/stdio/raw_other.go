//go:build linux && !(386 || amd64 || arm || arm64 || riscv64)

package stdio

import "syscall"

// On these processors struct sigaction is laid out otherwise, and the ordinary
// calls are used.

func rawRead(fd int, b []byte) (int, error)  { return syscall.Read(fd, b) }
func rawWrite(fd int, b []byte) (int, error) { return syscall.Write(fd, b) }
func interruptible() bool                    { return false }
