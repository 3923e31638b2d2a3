//go:build linux

package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"boardhand/device/linux/internal/uapi"
)

// tree makes the kernel's file systems in a folder. An entry of files is a file
// with its content, or, with "-> " in front, a symbolic link and its target; a
// path that ends in "/" is a folder.
func tree(t *testing.T, files map[string]string) roots {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"dev", "sys", "proc", "etc"} {
		must(t, os.Mkdir(filepath.Join(root, dir), 0o755))
	}
	for path, content := range files {
		full := filepath.Join(root, path)
		must(t, os.MkdirAll(filepath.Dir(full), 0o755))
		target, isLink := strings.CutPrefix(content, "-> ")
		switch {
		case strings.HasSuffix(path, "/"):
			must(t, os.MkdirAll(full, 0o755))
		case isLink:
			must(t, os.Symlink(target, full))
		default:
			must(t, os.WriteFile(full, []byte(content), 0o644))
		}
	}
	return roots{filepath.Join(root, "dev"), filepath.Join(root, "sys"), filepath.Join(root, "proc")}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noDevice is the name of the error that a request to a device gives on a plain
// file: ENOTTY of the kernel, and ENOSYS under qemu-user, which knows no devices.
func noDevice(t *testing.T) string {
	t.Helper()
	f, err := os.Open(os.Args[0])
	must(t, err)
	defer f.Close()
	err = uapi.GetChipInfo(int(f.Fd()), &uapi.ChipInfo{})
	if err != unix.ENOTTY && err != unix.ENOSYS {
		t.Fatal(err)
	}
	return unix.ErrnoName(err.(unix.Errno))
}
