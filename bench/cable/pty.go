//go:build linux

package cable

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pty is one end of the cable: our side of a pseudo-terminal (pty(7)).
type pty struct {
	fd    int    // non-blocking
	slave string // "/dev/pts/7"
	open  bool   // a program had it open when we last looked; the reading wire's
}

// openPTY makes a pseudo-terminal in raw mode, so that nothing is echoed into the
// cable before a program has set its port.
func openPTY() (*pty, error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("open /dev/ptmx", err)
	}
	p := &pty{fd: fd}
	if err := p.ready(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *pty) ready() error {
	n, err := unix.IoctlGetUint32(p.fd, unix.TIOCGPTN)
	if err != nil {
		return os.NewSyscallError("TIOCGPTN", err)
	}
	p.slave = fmt.Sprintf("/dev/pts/%d", n)
	if err := unix.IoctlSetPointerInt(p.fd, unix.TIOCSPTLCK, 0); err != nil {
		return os.NewSyscallError("TIOCSPTLCK", err)
	}
	return p.reset()
}

// reset makes the port as a UART is that nobody has open: raw, empty, and for whoever
// comes. A program that was killed leaves it otherwise, for the kernel forgets a
// terminal's state only when both sides are closed. It fails where the program has
// kept the port for itself alone and we are not root.
func (p *pty) reset() error {
	slave, err := unix.Open(p.slave, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", p.slave, err)
	}
	// Once it was opened and closed, poll tells whether anyone has it open.
	defer unix.Close(slave)
	if err := unix.IoctlSetInt(slave, unix.TIOCNXCL, 0); err != nil {
		return os.NewSyscallError("TIOCNXCL", err)
	}
	if err := unix.IoctlSetInt(slave, unix.TCFLSH, unix.TCIFLUSH); err != nil {
		return os.NewSyscallError("TCFLSH", err)
	}
	t, err := unix.IoctlGetTermios(slave, unix.TCGETS)
	if err != nil {
		return os.NewSyscallError("TCGETS", err)
	}
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cflag = t.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8 | unix.CREAD | unix.CLOCAL
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return os.NewSyscallError("TCSETS", unix.IoctlSetTermios(slave, unix.TCSETS, t))
}

func (p *pty) close() { _ = unix.Close(p.fd) }

// baud is what the program at this end has set, in bits per second.
func (p *pty) baud() int {
	t, err := unix.IoctlGetTermios(p.fd, unix.TCGETS2) // of a master, it gives the slave's
	if err != nil {
		return 0
	}
	return int(t.Ospeed)
}

// heard says whether a program has the port open.
func (p *pty) heard() bool {
	fds := []unix.PollFd{{Fd: int32(p.fd)}}
	for {
		_, err := unix.Ppoll(fds, &unix.Timespec{}, nil)
		if err != unix.EINTR {
			return err == nil && fds[0].Revents&unix.POLLHUP == 0
		}
	}
}

// read waits so long at most for bytes from the program that has the port open.
func (p *pty) read(b []byte, wait time.Duration) (got []byte, open bool) {
	if p == nil {
		return nil, false
	}
	fds := []unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}
	timeout := unix.NsecToTimespec(int64(wait))
	if _, err := unix.Ppoll(fds, &timeout, nil); err != nil { // interrupted, by the runtime
		return nil, p.open
	}
	if fds[0].Revents&unix.POLLIN != 0 {
		if n, err := unix.Read(p.fd, b); err == nil {
			return b[:n], true
		}
	}
	return nil, fds[0].Revents&unix.POLLHUP == 0
}
