//go:build linux

package linux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.bug.st/serial"
	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

// port is an open serial port. The library sets the line; its Write has no
// deadline and its Read cannot tell a timeout from the end, so bytes go through
// our own file on the same node, which the runtime's poller waits for.
type port struct {
	uart     *uart
	name     string
	pty      bool // which takes any mode and has none
	file     *os.File
	received device.Receiver
	readEnds chan struct{} // closed when receive has returned; nil before Open starts it

	mu     sync.Mutex // what follows, and the line's settings
	line   serial.Port
	mode   device.PortMode
	saved  *unix.Termios // as it was before
	rs485  *uapi.RS485   // as it was before we changed it
	faults device.LineFaults
	gone   error // why it is closed, or nil
}

// leaveWait bounds how long Close waits for written bytes to leave.
const leaveWait = 300 * time.Millisecond

// portMeanings is where a port's errors differ from the general ones.
var portMeanings = []meaning{
	{unix.EBUSY, device.ErrBusy, "another program holds it for itself alone", ""},
	{unix.EAGAIN, device.ErrBusy, "another program has locked it", ""}, // of flock
	{unix.EIO, device.ErrUnplugged, "the device is gone, or there is none behind the port", "check that it is plugged in; uart_list shows the ports"},
	{unix.ENXIO, device.ErrUnplugged, "there is no device behind the port", "uart_list shows the ports"},
	{unix.ENODEV, device.ErrUnplugged, "the device is gone", "check that it is plugged in; uart_list shows the ports"},
	{unix.ENOENT, device.ErrUnplugged, "the kernel has the port but there is no node", "check /dev, or in a container pass the device in"},
	{unix.ENOTTY, device.ErrNotSupport, "the port's driver cannot do this", ""},
	{unix.EINVAL, device.ErrNotSupport, "the port's driver refuses this setting", ""},
}

// openPort opens the port called name in mode and locks it. The caller starts receive.
func openPort(u *uart, name string, mode device.PortMode) (*port, error) {
	path := u.node(name)
	// O_NONBLOCK also keeps the kernel from waiting for a carrier.
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, u.held(name, openError(u.roots, path, err, portMeanings))
	}
	p := &port{uart: u, name: name, file: os.NewFile(uintptr(fd), path), readEnds: make(chan struct{})}
	fail := func(err error) (*port, error) {
		p.restore()
		p.file.Close()
		return nil, u.held(name, err)
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return fail(explain(name, err, portMeanings))
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		major := unix.Major(uint64(st.Rdev))
		p.pty = major >= 136 && major <= 143 // UNIX98_PTY_SLAVE_MAJOR
	}
	saved, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	if err != nil {
		return fail(explain(name, err, portMeanings))
	}
	p.saved = saved
	// Another program that keeps the port for itself alone lets root in. Ours is not set yet.
	if alone, err := unix.IoctlGetInt(fd, unix.TIOCGEXCL); err == nil && alone != 0 {
		p.saved = nil // not ours to change
		return fail(explain(name, unix.EBUSY, portMeanings))
	}
	if p.line, err = serial.Open(path, libraryMode(mode)); err != nil {
		if _, gone := unix.IoctlGetTermios(fd, unix.TCGETS2); gone != nil {
			err = gone // the library hides why
		}
		return fail(p.explain(err))
	}
	if err := p.set(mode, false); err != nil {
		p.line.Close()
		return fail(err)
	}
	p.faults = p.counted()
	return p, nil
}

// held adds to the error of a port that another program has which one it is, or how
// to find it.
func (u *uart) held(name string, err error) error {
	if e, ok := err.(*device.Error); ok && e.Kind == device.ErrBusy && e.Hint == "" {
		if who := locker(u.roots, u.node(name)); who != "" {
			e.Reason, e.Hint = "in use by "+who, "end that one, or use another port"
			return e
		}
		e.Hint = "find the program with: sudo fuser -v /dev/" + name
	}
	return err
}

// explain is an error of the line's settings in words.
func (p *port) explain(err error) error {
	var own *serial.PortError
	if errors.As(err, &own) {
		switch own.Code() {
		case serial.PortBusy:
			err = unix.EBUSY
		case serial.PermissionDenied:
			err = unix.EACCES
		case serial.PortClosed:
			err = unix.ENODEV
		case serial.InvalidSerialPort:
			err = unix.EINVAL
		}
	}
	return explain(p.name, err, portMeanings)
}

func libraryMode(m device.PortMode) *serial.Mode {
	parities := map[byte]serial.Parity{'N': serial.NoParity, 'O': serial.OddParity, 'E': serial.EvenParity, 'M': serial.MarkParity, 'S': serial.SpaceParity}
	l := &serial.Mode{BaudRate: m.Baud, DataBits: int(m.DataBits), Parity: parities[m.Parity], StopBits: serial.OneStopBit}
	if m.StopBits == 2 {
		l.StopBits = serial.TwoStopBits
	}
	return l
}

// receive fills Received until the port is closed or its hardware goes. A read of
// nothing is a hang-up: a raw port has no end of file.
func (p *port) receive() {
	defer close(p.readEnds)
	buf := make([]byte, 4096)
	for {
		n, err := p.file.Read(buf)
		if n > 0 {
			p.received.Put(buf[:n])
		}
		if err != nil {
			if err == io.EOF {
				err = unix.EIO
			}
			p.end(p.explain(err))
			return
		}
	}
}

// end closes the port, for the reason why; only the first call does. A closed
// node frees the port's number, so that a device which is plugged in again has
// its old name.
func (p *port) end(why error) (first bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone != nil {
		return false, nil
	}
	p.gone = why
	p.received.Fail(why)
	p.uart.forget(p)
	p.restore()
	p.line.Close()
	return true, p.file.Close()
}

// restore puts the settings back.
func (p *port) restore() {
	p.control(func(fd int) error {
		if p.rs485 != nil {
			uapi.SetRS485(fd, p.rs485)
		}
		if p.saved != nil {
			unix.IoctlSetTermios(fd, unix.TCSETS2, p.saved)
		}
		return nil
	})
}

// control runs f on the descriptor, which stays open meanwhile. f must not wait.
func (p *port) control(f func(fd int) error) error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return unix.ENODEV
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return unix.ENODEV // closed
	}
	return inner
}

// locked runs f on the descriptor of the open port, alone with the line's settings.
func (p *port) locked(f func(fd int) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone != nil {
		return p.gone
	}
	if err := p.control(f); err != nil {
		var own *device.Error
		if errors.As(err, &own) {
			return err
		}
		return p.explain(err)
	}
	return nil
}

// Name implements device.Port.
func (p *port) Name() string { return p.name }

// Received implements device.Port.
func (p *port) Received() *device.Receiver { return &p.received }

// Mode implements device.Port.
func (p *port) Mode() device.PortMode {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode
}

// SetMode implements device.Port.
func (p *port) SetMode(mode device.PortMode) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone != nil {
		return p.gone
	}
	before := p.mode
	err := p.set(mode, true)
	if err != nil {
		_ = p.set(before, true)
	}
	return err
}

// set sets the line, but for what the library has set at its opening, and checks
// what the driver made of it: many silently take something else.
func (p *port) set(mode device.PortMode, frame bool) error {
	if frame {
		if err := p.line.SetMode(libraryMode(mode)); err != nil {
			return p.explain(err)
		}
	}
	err := p.control(func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
		if err != nil {
			return err
		}
		t.Cflag &^= unix.CRTSCTS
		t.Iflag &^= unix.IXON | unix.IXOFF
		switch mode.Flow {
		case device.FlowRTSCTS:
			t.Cflag |= unix.CRTSCTS
		case device.FlowXonXoff:
			t.Iflag |= unix.IXON | unix.IXOFF
		}
		if err := unix.IoctlSetTermios(fd, unix.TCSETS2, t); err != nil {
			return err
		}
		if t, err = unix.IoctlGetTermios(fd, unix.TCGETS2); err != nil {
			return err
		}
		made := modeOf(t)
		off := made.Baud - mode.Baud
		exact := made
		exact.Baud = mode.Baud
		if !p.pty && (exact != mode || off*100 > mode.Baud*3 || off*100 < -mode.Baud*3) {
			return &device.Error{Subject: p.name, Kind: device.ErrNotSupport, Reason: fmt.Sprintf("mode %s not supported: the driver makes it %s", mode, made),
				Hint: "choose a mode that the hardware has"}
		}
		return nil
	})
	if err != nil {
		var own *device.Error
		if errors.As(err, &own) {
			return err
		}
		return p.explain(err)
	}
	p.mode = mode
	return nil
}

// modeOf is the mode in the kernel's settings.
func modeOf(t *unix.Termios) device.PortMode {
	m := device.PortMode{Baud: int(t.Ospeed), Parity: 'N', StopBits: 1}
	switch t.Cflag & unix.CSIZE {
	case unix.CS5:
		m.DataBits = 5
	case unix.CS6:
		m.DataBits = 6
	case unix.CS7:
		m.DataBits = 7
	default:
		m.DataBits = 8
	}
	if t.Cflag&unix.PARENB != 0 {
		m.Parity = "EOSM"[t.Cflag&unix.PARODD/unix.PARODD|t.Cflag&unix.CMSPAR/unix.CMSPAR<<1]
	}
	if t.Cflag&unix.CSTOPB != 0 {
		m.StopBits = 2
	}
	switch {
	case t.Cflag&unix.CRTSCTS != 0:
		m.Flow = device.FlowRTSCTS
	case t.Iflag&unix.IXON != 0:
		m.Flow = device.FlowXonXoff
	}
	return m
}

// Write implements device.Port.
func (p *port) Write(b []byte, deadline time.Time) (int, error) {
	if err := p.file.SetWriteDeadline(deadline); err != nil {
		return 0, p.reason(err)
	}
	n, err := p.file.Write(b)
	switch {
	case err == nil:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) })
		return n, &device.Error{Subject: p.name, Kind: device.ErrTimeout, Reason: fmt.Sprintf("took %d of %d bytes in time, and some of them may not have left", n, len(b)),
			Hint: "flow control holds it (CTS low or XOFF), or the time is too short for the baud rate; check with uart_control"}
	}
	return n, p.reason(err)
}

// reason is why the port failed: what ended it, where that is known.
func (p *port) reason(err error) error {
	p.mu.Lock()
	gone := p.gone
	p.mu.Unlock()
	if gone != nil {
		return gone
	}
	if errors.Is(err, os.ErrClosed) {
		return errClosed(p.name)
	}
	return p.explain(err)
}

// Modem implements device.Port.
func (p *port) Modem() (device.Modem, error) {
	var m device.Modem
	err := p.locked(func(fd int) error {
		bits, err := unix.IoctlGetInt(fd, unix.TIOCMGET)
		has := func(bit int) bool { return bits&bit != 0 }
		m = device.Modem{DTR: has(unix.TIOCM_DTR), RTS: has(unix.TIOCM_RTS), CTS: has(unix.TIOCM_CTS), DSR: has(unix.TIOCM_DSR), DCD: has(unix.TIOCM_CD), Ring: has(unix.TIOCM_RI)}
		return err
	})
	return m, err
}

// SetDTR implements device.Port.
func (p *port) SetDTR(on bool) error { return p.locked(func(int) error { return p.line.SetDTR(on) }) }

// SetRTS implements device.Port.
func (p *port) SetRTS(on bool) error { return p.locked(func(int) error { return p.line.SetRTS(on) }) }

// Break implements device.Port.
func (p *port) Break(d time.Duration) error {
	if err := p.locked(func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCSBRK, 0) }); err != nil {
		return err
	}
	time.Sleep(d)
	return p.locked(func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCCBRK, 0) })
}

// RS485 implements device.Port.
func (p *port) RS485() (bool, error) {
	var v uapi.RS485
	err := p.locked(func(fd int) error { return uapi.GetRS485(fd, &v) })
	return v.Flags&uapi.RS485Enabled != 0, err
}

// SetRS485 implements device.Port. RTS is high while sending, as most
// transceivers want it, unless the device tree says otherwise.
func (p *port) SetRS485(on bool) error {
	return p.locked(func(fd int) error {
		var v uapi.RS485
		if err := uapi.GetRS485(fd, &v); err != nil {
			return err
		}
		before := v
		v.Flags &^= uapi.RS485Enabled
		if on {
			v.Flags |= uapi.RS485Enabled
			if v.Flags&uapi.RS485RTSAfterSend == 0 { // the reverse
				v.Flags |= uapi.RS485RTSOnSend
			}
		}
		if err := uapi.SetRS485(fd, &v); err != nil {
			return err
		}
		if p.rs485 == nil {
			p.rs485 = &before
		}
		return nil
	})
}

// Faults implements device.Port.
func (p *port) Faults() device.LineFaults { return p.counted().Sub(p.faults) }

// counted is the driver's counts since it was loaded.
func (p *port) counted() device.LineFaults {
	var c uapi.Counters
	if p.control(func(fd int) error { return uapi.GetCounters(fd, &c) }) != nil {
		return p.faults
	}
	return device.LineFaults{Framing: uint32(c.Framing), Parity: uint32(c.Parity), Break: uint32(c.Break), Overrun: uint32(c.Overrun) + uint32(c.BufferOverrun)}
}

// Close implements device.Port.
func (p *port) Close() error {
	p.drain()
	first, err := p.end(&device.Error{Subject: p.name, Kind: device.ErrUnplugged, Reason: "closed", Hint: "open it again"})
	if first {
		<-p.readEnds
	}
	if err != nil {
		return p.explain(err)
	}
	return nil
}

// drain waits until what was written has left, at most leaveWait, and drops the
// rest: the kernel's own wait at close can take half a minute.
func (p *port) drain() {
	for end := time.Now().Add(leaveWait); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		queued := 0
		err := p.control(func(fd int) (err error) {
			queued, err = unix.IoctlGetInt(fd, unix.TIOCOUTQ)
			return err
		})
		if err != nil {
			return
		}
		if queued == 0 {
			// The hardware's own buffer, which nobody counts, has 16 bytes or more.
			time.Sleep(min(p.Mode().Time(16), leaveWait/10))
			return
		}
	}
	p.control(func(fd int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) })
}
