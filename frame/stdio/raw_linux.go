//go:build linux && (386 || amd64 || arm || arm64 || riscv64)

package stdio

import (
	"sync"
	"syscall"
	"unsafe"
)

// rawRead is read(2) behind the scheduler's back.
func rawRead(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// rawWrite is write(2) behind the scheduler's back.
func rawWrite(fd int, b []byte) (int, error) {
	n, _, e := syscall.RawSyscall(syscall.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	if e != 0 {
		return 0, e
	}
	return int(n), nil
}

// The kernel's struct sigaction as rt_sigaction(2) has it on these processors:
// handler, flags, restorer (but on riscv64), and a mask of 64 bits. Only the
// flags are touched; the rest is written back as it was read.
const (
	saFlags    = 1 // word of the flags
	saRestart  = 0x10000000
	maskLength = 8
)

var interruptible = sync.OnceValue(func() bool {
	var act [8]uintptr
	_, _, e := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGURG), 0,
		uintptr(unsafe.Pointer(&act)), maskLength, 0, 0)
	if e != 0 || act[0] <= 1 { // default or ignored: the runtime does not preempt by signals
		return false
	}
	act[saFlags] &^= saRestart
	_, _, e = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(syscall.SIGURG),
		uintptr(unsafe.Pointer(&act)), 0, maskLength, 0, 0)
	return e == 0
})
