//go:build unix

package client

import (
	"errors"
	"os"
	"syscall"
)

// socketPair makes two UNIX sockets that are joined.
func socketPair() (child, ours *os.File, err error) {
	// The lock keeps a child that another goroutine starts from having them too.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
	}
	// Only our end is non-blocking, for its deadlines.
	if err := syscall.SetNonblock(fds[1], true); err != nil {
		return nil, nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fds[0]), "socket"), os.NewFile(uintptr(fds[1]), "socket"), nil
}

func setNonblock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = syscall.SetNonblock(int(fd), true) })
	return errors.Join(err, failed)
}
