//go:build linux

package linux

import (
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

// can is the CAN interfaces, over SocketCAN (Documentation/networking/can.rst).
type can struct {
	roots  roots
	ask    func(index int) ([]byte, error) // askLink, or a test's
	socket canSocket

	mu     sync.Mutex
	ports  map[string]*canPort // of the interfaces that are recorded
	closed bool
}

// canSocket is what a test without AF_CAN replaces.
type canSocket struct {
	// dial gives a socket of the interface, not blocking, that receives only what
	// filter lets through, own frames too, or everything else but own frames.
	dial func(index int, filter []unix.CanFilter) (int, error)
	// confirmed and local are the flags of a frame that this very socket, or any
	// on this machine, sent.
	confirmed, local int
}

// canPort records what one interface receives.
type canPort struct {
	index int
	file  *os.File
	ring  device.CANRing

	mu   sync.Mutex
	dead bool              // nothing is recorded any more
	sent []device.CANFrame // by Send, not yet seen by the recording
}

// maxCANSent bounds the frames of Send that the recording has not yet seen; a
// controller that nobody answers never shows them.
const maxCANSent = 16

func newCAN(r roots) *can {
	return &can{roots: r, ask: askLink, ports: make(map[string]*canPort),
		socket: canSocket{dial: dialCAN, confirmed: unix.MSG_CONFIRM, local: unix.MSG_DONTROUTE}}
}

var canMeanings = []meaning{
	{unix.ENODEV, device.ErrUnplugged, "the interface is gone", "check that the adapter is plugged in"},
	{unix.ENXIO, device.ErrUnplugged, "the interface is gone", "check that the adapter is plugged in"},
	{unix.ENETDOWN, device.ErrDown, "the link went down", "can_receive shows its state"},
	{unix.ENOBUFS, nil, "the transmit queue is full and the frame was not queued: no other node acknowledges the frames before it, or they come too fast",
		"check wiring, termination and bit rate; a longer queue: sudo ip link set IFACE txqueuelen 1000"},
	{unix.EAFNOSUPPORT, device.ErrNotSupport, "the kernel has no CAN sockets", "load the module with: sudo modprobe can-raw"},
	{unix.EPROTONOSUPPORT, device.ErrNotSupport, "the kernel has no raw CAN sockets", "load the module with: sudo modprobe can-raw"},
	{unix.EMSGSIZE, device.ErrNotSupport, "the link takes no such frame", "send a classic frame of at most 8 bytes"},
	{unix.EINVAL, device.ErrNotSupport, "the link takes no such frame", "send a classic frame of at most 8 bytes"},
	{unix.EAGAIN, device.ErrTimeout, "the kernel does not answer", "try again"},
}

// explainCAN is explain with the interface's name in the commands of a hint.
func explainCAN(name string, err error) error {
	err = explain(name, err, canMeanings)
	var e *device.Error
	if errors.As(err, &e) {
		e.Hint = strings.ReplaceAll(e.Hint, "IFACE", name)
	}
	return err
}

// dialCAN makes a raw CAN socket. Options that an older kernel lacks are left out.
func dialCAN(index int, filter []unix.CanFilter) (int, error) {
	fd, err := unix.Socket(unix.AF_CAN, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.CAN_RAW)
	if err != nil {
		return -1, err
	}
	set := func(level, option, value int) {
		_ = unix.SetsockoptInt(fd, level, option, value)
	}
	set(unix.SOL_CAN_RAW, unix.CAN_RAW_FD_FRAMES, 1)
	set(unix.SOL_CAN_RAW, unix.CAN_RAW_ERR_FILTER, unix.CAN_ERR_MASK)
	set(unix.SOL_SOCKET, unix.SO_TIMESTAMPNS_NEW, 1)
	set(unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	if filter != nil {
		set(unix.SOL_CAN_RAW, unix.CAN_RAW_RECV_OWN_MSGS, 1)
		err = unix.SetsockoptCanRawFilter(fd, unix.SOL_CAN_RAW, unix.CAN_RAW_FILTER, filter)
	} else {
		set(unix.SOL_SOCKET, unix.SO_RCVBUF, 1<<20) // as much of it as the system allows
	}
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrCAN{Ifindex: index})
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// usable says that at least one interface can be worked with.
func (c *can) usable() bool {
	for _, x := range c.interfaces() {
		if fd, err := c.socket.dial(x.index, nil); err == nil {
			unix.Close(fd)
			return true
		}
	}
	return false
}

// Links implements device.CAN. Of a link that the kernel does not tell about only
// the name is given.
func (c *can) Links(dst []device.CANLink) ([]device.CANLink, error) {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return dst, errClosed("can")
	}
	for _, x := range c.interfaces() {
		l, err := c.link(x)
		if err != nil {
			l.State = device.CANStateUnknown
		}
		dst = append(dst, l)
	}
	return dst, nil
}

// port gives the recording of an interface, and begins it where there is none.
func (c *can) port(x canInterface) (*canPort, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed(x.name)
	}
	if p := c.ports[x.name]; p != nil {
		if p.index == x.index && p.alive() {
			return p, nil
		}
		p.file.Close()
	}
	fd, err := c.socket.dial(x.index, nil)
	if err != nil {
		return nil, explainCAN(x.name, err)
	}
	p := &canPort{index: x.index, file: os.NewFile(uintptr(fd), x.name)}
	c.ports[x.name] = p
	go p.record(x.name, c.socket.local)
	return p, nil
}

func (p *canPort) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.dead
}

// record puts what the interface receives into the ring, until the port's file is
// closed or the interface is gone.
func (p *canPort) record(name string, local int) {
	var lost uint32
	err := receiveCAN(p.file, func(m *canMessage) bool {
		if m.counted && m.lost != lost {
			p.ring.Lose(uint64(m.lost - lost)) // the kernel's count goes around
			lost = m.lost
		}
		if local == 0 || m.flags&local == 0 || !p.isSent(&m.frame) {
			p.ring.Put(&m.frame, m.when)
		}
		return true
	})
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	if errno := unix.Errno(0); errors.As(err, &errno) {
		err = explainCAN(name, err)
	} else { // of the file, which was closed
		err = errClosed(name)
	}
	p.ring.Close(err)
	p.file.Close()
}

// sending notes a frame that Send is about to send, so that it is not recorded.
func (p *canPort) sending(f *device.CANFrame) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sent) >= maxCANSent {
		p.sent = append(p.sent[:0], p.sent[1:]...)
	}
	p.sent = append(p.sent, *f)
}

// isSent says whether f is a frame of Send, each once.
func (p *canPort) isSent(f *device.CANFrame) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.sent {
		if p.sent[i] == *f {
			p.sent = append(p.sent[:i], p.sent[i+1:]...)
			return true
		}
	}
	return false
}

// canMessage is one frame from a socket, with what the kernel says of it.
type canMessage struct {
	frame   device.CANFrame
	when    time.Time
	flags   int
	lost    uint32
	counted bool // lost is known
}

// receiveCAN calls each for every frame, until it returns false, which is no
// error, or the file gives an error, of its deadline too. A link that goes down
// is no end: it may come back up. What each gets is valid until it returns.
func receiveCAN(file *os.File, each func(*canMessage) bool) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var (
		data     [canFDFrameLen]byte
		control  [128]byte
		n, c     int
		m        canMessage
		received error
	)
	receive := func(fd uintptr) bool {
		for {
			n, c, m.flags, received = uapi.Recvmsg(int(fd), data[:], control[:])
			if received != unix.EINTR {
				return received != unix.EAGAIN
			}
		}
	}
	for {
		if err := conn.Read(receive); err != nil {
			return err
		}
		switch {
		case received == unix.ENETDOWN:
			continue
		case received != nil:
			return received
		case n == 0: // never of a CAN socket
			return unix.ENODEV
		}
		m.when, m.lost, m.counted = parseCANControl(control[:c])
		if m.when.IsZero() {
			m.when = time.Now()
		}
		if parseCANFrame(data[:n], &m.frame) && !each(&m) {
			return nil
		}
	}
}

// Send implements device.CAN. Each frame has a socket of its own: what comes back
// to it is this frame, and never the late echo of one before.
func (c *can) Send(name string, f *device.CANFrame, deadline time.Time) (when time.Time, next uint64, err error) {
	x, link, err := c.find(name)
	if err != nil {
		return when, 0, err
	}
	if err := link.Takes(f); err != nil {
		return when, 0, err
	}
	p, err := c.port(x)
	if err != nil {
		return when, 0, err
	}
	clean := f.Clean()
	f = &clean
	fd, err := c.socket.dial(x.index, []unix.CanFilter{{Id: canID(f), Mask: unix.CAN_EFF_FLAG | unix.CAN_RTR_FLAG | unix.CAN_EFF_MASK}})
	if err != nil {
		return when, 0, explainCAN(name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	if err := file.SetReadDeadline(deadline); err != nil {
		return when, 0, explainCAN(name, err)
	}
	next = p.ring.Next()
	p.sending(f)
	if err := writeCAN(file, appendCANFrame(nil, f)); err != nil { // never written again
		p.isSent(f)
		return when, next, explainCAN(name, err)
	}
	trouble := ""
	err = receiveCAN(file, func(m *canMessage) bool {
		if m.frame.Error {
			trouble = m.frame.Trouble()
			return true
		}
		if m.flags&c.socket.confirmed != c.socket.confirmed || m.frame != *f {
			return true
		}
		when = m.when
		return false
	})
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return when, next, c.notSent(name, trouble)
	case err != nil:
		return when, next, explainCAN(name, err)
	}
	return when, next, nil
}

// writeCAN writes once.
func writeCAN(file *os.File, b []byte) error {
	conn, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var written error
	err = conn.Control(func(fd uintptr) { _, written = unix.Write(int(fd), b) })
	if err != nil {
		return err
	}
	var errno syscall.Errno
	if errors.As(written, &errno) && errno == unix.EAGAIN {
		return unix.ENOBUFS
	}
	return written
}

// notSent says why a frame was not seen on the bus in time.
func (c *can) notSent(name, trouble string) error {
	e := &device.Error{Subject: name, Kind: device.ErrTimeout, Reason: "the frame was not seen on the bus in time",
		Hint: "outcome unknown: the controller goes on trying until another node acknowledges it; check wiring, termination, bit rate and that another node is on the bus"}
	if trouble != "" {
		e.Reason += " (" + trouble + ")"
	}
	_, link, err := c.find(name)
	switch {
	case err == nil && link.Quiet() != nil:
		return link.Quiet()
	case err == nil:
		e.Reason += "; the link is " + link.String()
	}
	return e
}

// Receive implements device.CAN.
func (c *can) Receive(name string, w device.CANWanted, dst []device.CANReceived) ([]device.CANReceived, device.CANTaken, error) {
	x, link, err := c.find(name)
	if err != nil {
		return dst, device.CANTaken{Next: w.From}, err
	}
	p, err := c.port(x)
	if err != nil {
		return dst, device.CANTaken{Next: w.From}, err
	}
	quiet := link.Quiet()
	if quiet != nil && !(link.Up && link.Restart != 0) {
		w.Deadline = time.Time{} // nothing to wait for
	}
	begin := len(dst)
	dst, taken, err := p.ring.Take(w, dst)
	if err == nil && len(dst) == begin {
		err = quiet
	}
	return dst, taken, err
}

// close ends all recordings.
func (c *can) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, p := range c.ports {
		p.file.Close()
	}
}
