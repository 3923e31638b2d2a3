package tty

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.bug.st/serial"
	"golang.org/x/sys/unix"
)

// Port is an open serial port. One goroutine may read and one may write at a
// time, beside any that call Close. Where the hardware has gone it is to be closed
// too: only then is its name free for the device that is plugged in again.
type Port struct {
	path   string
	info   Info
	file   *os.File
	device uint64 // number
	pty    bool   // which takes any speed and has none
	baud   atomic.Int64
	stall  time.Duration // how long the hardware may take no byte

	mu    sync.Mutex // the line's settings
	line  serial.Port
	saved *unix.Termios // as they were before
	quick *serialStruct // as it was before; nil: untouched
}

// Open opens the port at path, such as "/dev/ttyUSB0", at baud bits per second,
// for this process alone. It raises DTR and RTS, which resets many boards. The
// error is an *Error: a port is busy, and by whom, missing, and what there is
// instead, not permitted, and how to get the right, or cannot go at baud.
func Open(path string, baud int) (*Port, error) {
	if err := checkBaud(path, baud); err != nil {
		return nil, err
	}
	if !strings.Contains(path, "/") {
		path = filepath.Join(system.Dev, path)
	}
	node, err := filepath.EvalSymlinks(path)
	var st unix.Stat_t
	if err == nil {
		err = unix.Stat(node, &st)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noPort(path)
	case err != nil:
		return nil, system.explain(path, err)
	case st.Mode&unix.S_IFMT != unix.S_IFCHR:
		return nil, notTTY(path)
	}
	p := &Port{path: path, info: Info{Path: path}, device: deviceNumber(&st), stall: stalled}
	major := unix.Major(uint64(st.Rdev))
	p.pty = major >= 136 && major <= 143 // UNIX98_PTY_SLAVE_MAJOR
	name := filepath.Base(node)
	if filepath.Dir(path) == system.Dev {
		name = filepath.Base(path)
	}
	if system.IsPort(name) {
		if info := system.Info(name); info.USB {
			p.info = info
		}
		if h, ok := system.Holders([]string{name})[name]; ok {
			return nil, system.busy(path, name, h)
		}
	}
	// O_NONBLOCK also keeps the kernel from waiting for a carrier.
	fd, err := unix.Open(node, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, system.explain(path, err)
	}
	p.file = os.NewFile(uintptr(fd), path)
	if err := p.take(fd, node, baud); err != nil {
		p.file.Close()
		return nil, err
	}
	held.Store(p.device, nil)
	return p, nil
}

// take makes the node, open as fd, ours, and sets the line.
func (p *Port) take(fd int, node string, baud int) error {
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return system.locked(p.path, fd, err)
	}
	saved, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return system.explain(p.path, err)
	}
	// A program that keeps the port for itself alone lets root in. We do not yet.
	if alone, err := unix.IoctlGetInt(fd, unix.TIOCGEXCL); err == nil && alone != 0 {
		return system.explain(p.path, unix.EBUSY)
	}
	if p.line, err = serial.Open(node, mode(baud)); err != nil {
		if _, gone := unix.IoctlGetTermios(fd, unix.TCGETS2); gone != nil {
			err = gone // the library hides why
		}
		unix.IoctlSetTermios(fd, unix.TCSETS2, saved)
		return fromLibrary(p.path, baud, err)
	}
	p.saved = saved
	if err = p.check(fd, baud); err != nil {
		p.restore(fd)
		p.line.Close()
		return err
	}
	if p.info.USB {
		p.quick = hurry(fd)
	}
	return nil
}

// check takes note of the speed that the driver made of baud: many silently take
// another one. A UART takes in 3 % at most.
func (p *Port) check(fd int, baud int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return system.explain(p.path, err)
	}
	off := int(t.Ospeed) - baud
	if !p.pty && (off*100 > baud*3 || off*100 < -baud*3) {
		e := badBaud(p.path, baud)
		e.Reason += ": the driver makes it " + strconv.Itoa(int(t.Ospeed))
		return e
	}
	p.baud.Store(int64(baud))
	return nil
}

// restore puts the settings back.
func (p *Port) restore(fd int) {
	if p.quick != nil {
		setSerial(fd, p.quick)
	}
	unix.IoctlSetTermios(fd, unix.TCSETS2, p.saved)
}

// Name is the path that the port was opened by.
func (p *Port) Name() string { return p.path }

// Info is the port and its device, for Reopen.
func (p *Port) Info() Info { return p.info }

// Baud is the line's speed in bits per second.
func (p *Port) Baud() int { return int(p.baud.Load()) }

// SetBaud sets the line's speed in bits per second; where the driver cannot do it,
// the speed may be another one until the next call. What was written before and
// has not left yet goes out at either speed.
func (p *Port) SetBaud(baud int) error {
	if err := checkBaud(p.path, baud); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var inner error
	err := p.control(func(fd int) {
		if inner = p.line.SetMode(mode(baud)); inner != nil {
			inner = fromLibrary(p.path, baud, inner)
			return
		}
		inner = p.check(fd, baud)
	})
	if err != nil {
		return err
	}
	return inner
}

// control runs f on the descriptor, which stays open meanwhile. f must not wait.
func (p *Port) control(f func(fd int)) error {
	raw, err := p.file.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { f(int(fd)) })
	}
	if err != nil {
		return closed(p.path)
	}
	return nil
}

// Read waits for at least one byte. The end of the hardware, or of what is behind
// it, is ErrUnplugged; Close wakes it with os.ErrClosed.
func (p *Port) Read(b []byte) (int, error) {
	n, err := p.file.Read(b)
	if err != nil {
		return n, p.failed(err)
	}
	return n, nil
}

// Write writes all of b, or gives an error when the hardware takes no more for
// 10 s over the time that the bytes need; then what has not left is dropped.
func (p *Port) Write(b []byte) (int, error) {
	if err := p.file.SetWriteDeadline(time.Now().Add(p.stall + patience(len(b), p.Baud()))); err != nil {
		return 0, closed(p.path)
	}
	n, err := p.file.Write(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.control(drop)
		return n, stuck(p.path, n, len(b))
	}
	return n, p.failed(err)
}

// failed is the error of a Read or Write. A read of nothing is a hang-up: a raw
// port has no end of file.
func (p *Port) failed(err error) error {
	switch {
	case errors.Is(err, os.ErrClosed):
		return closed(p.path)
	case err == io.EOF:
		err = unix.EIO
	}
	return system.explain(p.path, err)
}

// Close waits a moment until what was written has left, puts the line's settings
// back, and wakes Read and Write. Only the first call does something.
func (p *Port) Close() error {
	p.drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.control(p.restore) != nil {
		return nil
	}
	held.Delete(p.device)
	p.line.Close()
	p.file.Close()
	return nil
}

// drain waits until what was written has left, at most leaveWait, and drops the
// rest: the kernel's own wait at close can take half a minute.
func (p *Port) drain() {
	left := false
	for end := time.Now().Add(leaveWait); !left && time.Now().Before(end); {
		gone := p.control(func(fd int) {
			n, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
			left = n == 0 || err != nil
		})
		if gone != nil {
			return
		}
		if !left {
			time.Sleep(2 * time.Millisecond)
		}
	}
	if !left {
		p.control(drop)
	} else if !p.pty {
		// The hardware's own buffer, which nobody counts, has 16 bytes or more.
		time.Sleep(min(16*10*time.Second/time.Duration(p.Baud()), leaveWait/10))
	}
}

// drop throws away what was written and has not left.
func drop(fd int) { unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) }

// busy is the error of a port that somebody has.
func (t Tree) busy(path, name string, h Holder) *Error {
	e := &Error{path, ErrBusy, "in use by " + h.String(), "end that program first"}
	var steps []string
	if h.Terminal {
		steps = append(steps, t.FreeOfLogin(name))
	}
	if h.Console {
		steps = append(steps, t.FreeOfConsole(t.Consoles()[name])...)
		if h.PID != 0 {
			e.Reason += " and " + Holder{PID: h.PID, Name: h.Name, Terminal: h.Terminal}.String()
		}
	}
	switch {
	case h.Self:
		e.Reason, e.Hint = "this program has it open already, or was started on it", "take another port"
	case steps != nil:
		e.Hint = "free it with: " + strings.Join(steps, "; ")
	case h.Name == "boardhand":
		e.Hint = "end that boardhand first: a client has started it, or the service boardhand, which ends with: sudo systemctl stop boardhand"
	case h.Name == "ModemManager":
		e.Hint = "it lets go of a new port after some seconds; to keep it away: sudo systemctl disable --now ModemManager"
	}
	return e
}

// locked is the error err of flock(2) on fd.
func (t Tree) locked(path string, fd int, err error) error {
	if err != unix.EWOULDBLOCK {
		return t.explain(path, err)
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		switch pid := t.locker(&st); {
		case pid == os.Getpid():
			return t.busy(path, "", Holder{Self: true})
		case pid > 0:
			return t.busy(path, "", Holder{PID: pid, Name: t.process(pid).Name})
		}
	}
	return t.explain(path, unix.EBUSY)
}

func notTTY(path string) *Error {
	return &Error{path, ErrUnsupported, "this is no serial port", `name one, such as /dev/ttyUSB0`}
}

// explain is the kernel's error err, for the port at path, in words.
func (t Tree) explain(path string, err error) *Error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return &Error{path, err, err.Error(), ""}
	}
	why := unix.ErrnoName(errno)
	switch errno {
	case unix.ENOENT:
		return noPort(path)
	case unix.EBUSY:
		return &Error{path, ErrBusy, "another program holds it for itself alone (" + why + ")", "find it with: sudo fuser -v " + path}
	case unix.EIO, unix.ENXIO, unix.ENODEV, unix.EPIPE:
		return &Error{path, ErrUnplugged, "the device is gone, or there is none behind the port (" + why + ")", "check that it is plugged in"}
	case unix.ENOTTY, unix.ENOTDIR:
		return notTTY(path)
	case unix.EACCES, unix.EPERM:
		return t.forbidden(path, errno)
	}
	return &Error{path, errno, errno.Error() + " (" + why + ")", ""}
}

// forbidden is the error of a node that this user may not open.
func (t Tree) forbidden(path string, errno unix.Errno) *Error {
	e := &Error{path, fs.ErrPermission, "no right to open it (" + unix.ErrnoName(errno) + ")", ""}
	var st unix.Stat_t
	switch err := unix.Stat(path, &st); {
	case errno == unix.EPERM: // the file's mode denies with EACCES
		e.Hint = "a container or a security policy forbids it: pass the device in, as with docker run --device " + path
	case err != nil || st.Gid == 0 || st.Mode&0o060 != 0o060:
		e.Hint = "only root may use it: run as root, or give it a group with a udev rule"
	default:
		group := t.Group(st.Gid)
		e.Hint = "join its group: sudo usermod -aG " + group + " $USER, then log in again"
	}
	return e
}

// fromLibrary is an error of the line's settings in words.
func fromLibrary(path string, baud int, err error) error {
	var own *serial.PortError
	if errors.As(err, &own) {
		switch own.Code() {
		case serial.PortBusy:
			err = unix.EBUSY
		case serial.PermissionDenied:
			err = unix.EACCES
		case serial.PortClosed:
			err = unix.ENODEV
		case serial.InvalidSpeed, serial.InvalidSerialPort:
			return badBaud(path, baud)
		}
	}
	return system.explain(path, err)
}
