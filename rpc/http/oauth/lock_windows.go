package oauth

import (
	"os"
	"syscall"
)

// giveToOwner does nothing: a file has its folder's permissions.
func giveToOwner(*os.File) {}

const sharingViolation = syscall.Errno(32)

// tryLock takes the lock of a file, which it makes: it opens it for itself alone.
// errLocked when another has it.
func tryLock(path string) (unlock func(), err error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	switch err {
	case nil:
		return func() { _ = syscall.CloseHandle(h) }, nil
	case sharingViolation:
		return nil, errLocked
	}
	return nil, &os.PathError{Op: "lock", Path: path, Err: err}
}
