//go:build linux

package linux

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// asNobody takes root's rights over files from the rest of the test.
func asNobody(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	runtime.LockOSThread() // the rights are the thread's
	if err := unix.Setfsuid(65534); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		unix.Setfsuid(0)
		runtime.UnlockOSThread()
	})
}

// Rules of udev give a fresh attribute to a group a little later than the kernel
// makes it.
func TestFreshAttributeIsWaitedFor(t *testing.T) {
	r := tree(t, map[string]string{"sys/late": "", "sys/never": ""})
	late, never := filepath.Join(r.sys, "late"), filepath.Join(r.sys, "never")
	root := filepath.Dir(r.sys)
	must(t, os.Chmod(filepath.Dir(root), 0o755))
	must(t, os.Chmod(root, 0o755))
	must(t, os.Chmod(late, 0))
	must(t, os.Chmod(never, 0o444))
	opened := make(chan error, 1)
	go func() {
		time.Sleep(50 * time.Millisecond)
		opened <- os.Chmod(late, 0o666)
	}()
	defer func() { must(t, <-opened) }()
	asNobody(t)
	if fd, err := unix.Open(never, unix.O_WRONLY, 0); err == nil {
		unix.Close(fd)
		t.Skip("this user may open everything")
	}
	must(t, put(r, "pwmchip0/0", late, "5", true, nil))
	if got, err := readText(8, late); err != nil || got != "5" {
		t.Errorf("%q %v", got, err)
	}
	expect(t, put(r, "pwmchip0/0", never, "5", false, nil), device.ErrPermission, never, "EACCES", "only root")
	expect(t, put(r, "pwmchip0/0", never, "5", true, nil), device.ErrPermission, never, "EACCES", "only root")
}

func TestWriteThatIsRefusedNamesWhatWasWritten(t *testing.T) {
	r := tree(t, nil)
	err := put(r, "pwmchip0/0", "/dev/full", "5", false, nil)
	expect(t, err, unix.ENOSPC, "pwmchip0/0 full = 5", "ENOSPC")
}
