//go:build linux

package linux

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// meaning is what an error number means to the one who asked.
type meaning struct {
	errno unix.Errno
	kind  error // nil: the number itself
	words string
	hint  string
}

// enotsupp is the kernel's own ENOTSUPP, which some GPIO and pin drivers let out.
const enotsupp = unix.Errno(524)

// meanings holds for every family, unless the family says otherwise.
var meanings = []meaning{
	{unix.ENODEV, device.ErrUnplugged, "the device is gone", "check that it is plugged in"},
	{unix.EACCES, device.ErrPermission, "not permitted", ""},
	{unix.EPERM, device.ErrPermission, "not permitted", ""},
	{unix.EBUSY, device.ErrBusy, "in use", ""},
	{unix.ETIMEDOUT, device.ErrTimeout, "timed out", ""},
	{unix.ENXIO, device.ErrNoAck, "no acknowledge", ""},
	{unix.EREMOTEIO, device.ErrNoAck, "no acknowledge", ""},
	{unix.EOPNOTSUPP, device.ErrNotSupport, "not supported by the kernel's driver", ""},
	{unix.ENOSYS, device.ErrNotSupport, "not supported by this kernel", ""},
	{unix.ENOTTY, device.ErrNotSupport, "not supported by this kernel", ""},
	{enotsupp, device.ErrNotSupport, "not supported by the kernel's driver", ""},
	{unix.EIO, nil, "input/output error", ""},
	{unix.EAGAIN, nil, "not ready", "try again"},
	{unix.EINVAL, nil, "refused by the kernel's driver", ""},
	{unix.EMFILE, nil, "too many open files", "raise the limit with ulimit -n"},
	{unix.ENFILE, nil, "the system has too many open files", ""},
	{unix.ENOMEM, nil, "the kernel is out of memory", ""},
	{unix.EINTR, nil, "interrupted, outcome unknown", ""},
}

// explain is the error err, which the kernel gave for subject, in words. The
// family's own meanings come before the general ones. An err that is no error
// number is taken as it is.
func explain(subject string, err error, family []meaning) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return &device.Error{Subject: subject, Kind: err}
	}
	for _, table := range [][]meaning{family, meanings} {
		for _, m := range table {
			if m.errno != errno {
				continue
			}
			e := &device.Error{Subject: subject, Kind: m.kind, Reason: m.words + " (" + errnoName(errno) + ")", Hint: m.hint}
			if e.Kind == nil {
				e.Kind = errno
			}
			return e
		}
	}
	return &device.Error{Subject: subject, Kind: errno, Reason: errno.Error() + " (" + errnoName(errno) + ")"}
}

// errClosed is the error of everything after Board.Close.
func errClosed(subject string) error {
	return &device.Error{Subject: subject, Kind: device.ErrUnplugged, Reason: "the board is closed", Hint: "open it again"}
}

func errnoName(errno unix.Errno) string {
	if errno == enotsupp {
		return "ENOTSUPP"
	}
	if name := unix.ErrnoName(errno); name != "" {
		return name
	}
	return "errno " + strconv.Itoa(int(errno))
}

// openError explains why the node at path cannot be opened and, where it is a
// right that lacks, how to get it.
func openError(r roots, path string, err error, family []meaning) error {
	if !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return explain(path, err, family)
	}
	e := &device.Error{Subject: path, Kind: device.ErrPermission, Reason: "no right to open it (" + errnoName(unix.EACCES) + ")"}
	if errors.Is(err, unix.EPERM) {
		e.Reason = "no right to open it (" + errnoName(unix.EPERM) + ")"
	}
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return e
	}
	group := r.tree().Group(st.Gid)
	switch {
	case errors.Is(err, unix.EPERM): // the file's mode denies with EACCES
		e.Hint = "a container or a security policy forbids it: pass the device in, as with docker run --device " + path
	case st.Gid == 0 || st.Mode&0o060 != 0o060:
		e.Hint = "only root may use it: run as root, or give it a group with a udev rule"
	default:
		e.Hint = fmt.Sprintf("join the group %s: sudo usermod -aG %s $USER, then log in again", group, group)
	}
	return e
}

// listed is the first most names for a message, and how many more there are.
func listed(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}

// kernelRelease is the version of the running kernel, "6.1.0-50-arm64".
func kernelRelease(r roots) string {
	release, _ := readText(128, r.proc, "sys/kernel/osrelease")
	return strings.TrimSpace(release)
}
