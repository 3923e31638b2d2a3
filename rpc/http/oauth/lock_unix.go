//go:build unix

package oauth

import (
	"os"
	"path/filepath"
	"syscall"
)

// giveToOwner gives a file that root has made to whom its folder belongs: root revokes a
// token, and the service goes on reading the file.
func giveToOwner(f *os.File) {
	if os.Geteuid() != 0 {
		return
	}
	var dir syscall.Stat_t
	if syscall.Stat(filepath.Dir(f.Name()), &dir) == nil {
		_ = f.Chown(int(dir.Uid), int(dir.Gid))
	}
}

// tryLock takes the lock of a file, which it makes; errLocked when another has it.
func tryLock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	giveToOwner(f)
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil:
		return func() { _ = f.Close() }, nil
	case syscall.EWOULDBLOCK, syscall.EINTR:
		_ = f.Close()
		return nil, errLocked
	default:
		_ = f.Close()
		return nil, &os.PathError{Op: "flock", Path: path, Err: err}
	}
}
