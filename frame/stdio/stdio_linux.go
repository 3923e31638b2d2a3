package stdio

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// Stream reads from one descriptor and writes to another. It is used by one
// goroutine at a time for each direction.
type Stream struct {
	in, out int
	alone   func() bool
}

// Open makes a stream of two descriptors, which stay as they are: O_NONBLOCK is
// neither set nor cleared, for the parent shares them. alone says that no other
// goroutine of the process can want to run before the next byte arrives; nil
// means it never does.
func Open(in, out int, alone func() bool) *Stream {
	if alone == nil || !interruptible() {
		alone = func() bool { return false }
	}
	return &Stream{in, out, alone}
}

// Read reads as read(2) does; the end of input is io.EOF.
func (s *Stream) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	raw := s.alone()
	for {
		var n int
		var err error
		if raw {
			n, err = rawRead(s.in, b)
		} else {
			n, err = syscall.Read(s.in, b)
		}
		switch {
		case err == syscall.EINTR:
			raw = false
		case err == syscall.EAGAIN:
			if err := wait(s.in, unix.POLLIN); err != nil {
				return 0, err
			}
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Write writes all of b.
func (s *Stream) Write(b []byte) (int, error) {
	done := 0
	raw := s.alone()
	for done < len(b) {
		var n int
		var err error
		if raw {
			n, err = rawWrite(s.out, b[done:])
		} else {
			n, err = syscall.Write(s.out, b[done:])
		}
		switch {
		case err == syscall.EINTR:
			raw = false
		case err == syscall.EAGAIN:
			if err := wait(s.out, unix.POLLOUT); err != nil {
				return done, err
			}
		case err != nil:
			return done, err
		default:
			done += n
		}
	}
	return done, nil
}

// wait waits on a descriptor that some parent has made non-blocking.
func wait(fd int, events int16) error {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: events}}, -1)
		if err != unix.EINTR {
			return err
		}
	}
}

// IsTerminal says whether a descriptor is a terminal.
func IsTerminal(fd int) bool {
	_, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	return err == nil
}

// ParentGone gives a channel that is closed when the process that started this
// one has ended: a client that was killed does not always close our input, for
// a child of its may hold the other end. It never closes where that cannot be
// told (Linux before 5.3), or where the parent is init or had gone before.
func ParentGone() <-chan struct{} {
	gone := make(chan struct{})
	parent := unix.Getppid()
	if parent <= 1 {
		return gone
	}
	fd, err := unix.PidfdOpen(parent, 0)
	if err != nil || unix.Getppid() != parent {
		return gone
	}
	go func() {
		if wait(fd, unix.POLLIN) == nil {
			close(gone)
		}
	}()
	return gone
}
