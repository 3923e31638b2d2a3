package tty

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// pty is a pseudo-terminal: its node, and the other end.
func pty(t testing.TB) (node string, other *os.File) {
	t.Helper()
	other, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	t.Cleanup(func() { other.Close() })
	n := 0
	raw, err := other.SyscallConn()
	must(t, err)
	must(t, raw.Control(func(fd uintptr) {
		must(t, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		must(t, err)
	}))
	node = fmt.Sprintf("/dev/pts/%d", n)
	if settings(t, node) == nil {
		t.Skip("no TCGETS2, which qemu-user lacks: boots on emulated boards test this")
	}
	return node, other
}

// settings is the line's settings, or nil.
func settings(t testing.TB, node string) *unix.Termios {
	t.Helper()
	fd, err := unix.Open(node, unix.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer unix.Close(fd)
	s, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err == unix.ENOSYS {
		return nil
	}
	must(t, err)
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// machine makes a fake machine of files, by path; "-> x" is a symbolic link to x,
// and a path that ends in a slash a folder. It is the system until the test ends.
func machine(t *testing.T, files map[string]string) Tree {
	t.Helper()
	root := t.TempDir()
	tree := Tree{filepath.Join(root, "dev"), filepath.Join(root, "sys"), filepath.Join(root, "proc")}
	for _, dir := range []string{tree.Dev, tree.Sys, tree.Proc} {
		must(t, os.Mkdir(dir, 0o755))
	}
	for path, content := range files {
		put(t, root+"/"+path, content)
	}
	before := system
	system = tree
	t.Cleanup(func() { system = before })
	return tree
}

func put(t *testing.T, path, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	target, isLink := strings.CutPrefix(content, "-> ")
	switch {
	case strings.HasSuffix(path, "/"):
		must(t, os.MkdirAll(path, 0o755))
	case isLink:
		os.Remove(path)
		must(t, os.Symlink(target, path))
	default:
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// adapter is the files of a USB adapter in socket, "1-1", as name.
func adapter(name, socket, serial, node string) map[string]string {
	usb := "sys/devices/usb1/" + socket + "/"
	files := map[string]string{
		"sys/class/tty/" + name + "/device":                   "-> ../../../devices/usb1/" + socket + "/" + socket + ":1.0/" + name,
		usb + socket + ":1.0/bInterfaceNumber":                "00\n",
		usb + socket + ":1.0/" + name + "/driver":             "-> ../../../../../bus/usb-serial/drivers/ftdi_sio",
		usb + socket + ":1.0/" + name + "/port_number":        "0\n",
		usb + "idVendor":                                      "0403\n",
		usb + "idProduct":                                     "6001\n",
		usb + "manufacturer":                                  "FTDI\n",
		usb + "product":                                       "FT232R USB UART\n",
		"dev/" + name:                                         "-> " + node,
		"dev/serial/by-id/usb-FTDI_" + serial + "-if00-port0": "-> ../../" + name,
	}
	if serial != "" {
		files[usb+"serial"] = serial + "\n"
	}
	return files
}
