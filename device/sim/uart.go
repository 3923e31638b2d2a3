package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// UARTFault is a fault of what is connected to a serial port.
type UARTFault struct {
	Port   string  `toml:"port"`
	Silent bool    `toml:"silent"`  // nothing answers
	LateMs float64 `toml:"late_ms"` // answers come that much later: 0 to 60000
	Noise  float64 `toml:"noise"`   // how many of the bytes received have one wrong bit: 0 to 1
}

// check says what of a fault this board cannot have.
func (f UARTFault) check(seen map[string]bool) error {
	switch {
	case !slices.ContainsFunc(serialPorts, func(p serialPort) bool { return p.Name == f.Port && p.Owner == "" }):
		return fmt.Errorf("sim.uart: port %.64q; ttyUSB0 and ttyUSB1 are allowed", f.Port)
	case seen[f.Port]:
		return fmt.Errorf("sim.uart: port %q twice; once is allowed", f.Port)
	case !(f.LateMs >= 0 && f.LateMs <= maxLateMs):
		return fmt.Errorf("sim.uart: late_ms %v; 0 to %d are allowed", f.LateMs, maxLateMs)
	case !(f.Noise >= 0 && f.Noise <= 1):
		return fmt.Errorf("sim.uart: noise %v; 0 to 1 are allowed", f.Noise)
	}
	seen[f.Port] = true
	return nil
}

const maxLateMs = 60000

// serialPort is a port and the mode of what is connected to it.
type serialPort struct {
	device.UARTPort
	mode device.PortMode
}

// The ports, in order.
var serialPorts = []serialPort{
	{UARTPort: device.UARTPort{Name: "ttyAMA0", Driver: "uart-pl011", Owner: "the kernel's console"}},
	{device.UARTPort{Name: "ttyUSB0", Driver: "ftdi_sio", ByID: "usb-FTDI_FT232R_USB_UART_SIM00042-if00-port0",
		USB: &device.USBIdentity{Vendor: 0x0403, Product: 0x6001, Serial: "SIM00042", Text: "FTDI FT232R USB UART"}}, device.DefaultMode},
	{device.UARTPort{Name: "ttyUSB1", Driver: "ch341", ByID: "usb-1a86_USB_Serial-if00-port0",
		USB: &device.USBIdentity{Vendor: 0x1a86, Product: 0x7523, Text: "1a86 USB Serial"}}, device.ModbusMode},
}

// talker is what is connected to a port. It keeps no slice.
type talker interface {
	start(now time.Time) (says []byte) // DTR has risen
	hear(now time.Time, p []byte) (says []byte)
}

// socket is a port's hardware, and which board has it open.
type socket struct {
	serialPort
	talker talker
	fault  UARTFault
	now    func() time.Time

	mu      sync.Mutex
	noise   *rand.Rand
	pulled  bool
	holder  *uart
	open    *port
	pending []*time.Timer // of late answers; those that ran go with the next
}

func newSockets(w Wiring, p *plant, now func() time.Time) []*socket {
	var all []*socket
	for i, s := range serialPorts {
		k := &socket{serialPort: s, now: now, noise: rand.New(rand.NewPCG(uint64(w.Seed), uint64(i)))}
		for _, f := range w.UARTs {
			if f.Port == s.Name {
				k.fault = f
			}
		}
		all = append(all, k)
	}
	all[1].talker = &instrument{env: climate(w.Seed)}
	all[2].talker = plantLine{p}
	return all
}

// uart is one board's hold on the ports.
type uart struct {
	sockets []*socket
	closed  atomic.Bool
}

// Ports appends those that are plugged in.
func (u *uart) Ports(dst []device.UARTPort) ([]device.UARTPort, error) {
	if u.closed.Load() {
		return dst, errClosed()
	}
	for _, s := range u.sockets {
		s.mu.Lock()
		p := s.UARTPort
		p.Open = s.holder == u
		if s.holder != nil && s.holder != u {
			p.Owner = "another process"
		}
		if !s.pulled {
			dst = append(dst, p)
		}
		s.mu.Unlock()
	}
	return dst, nil
}

func (u *uart) find(name string) (*socket, error) {
	if u.closed.Load() {
		return nil, errClosed()
	}
	for _, s := range u.sockets {
		if s.plugged() && s.answersTo(name) {
			return s, nil
		}
	}
	var have []string
	for _, s := range u.sockets {
		if s.plugged() {
			have = append(have, s.Name)
		}
	}
	return nil, &device.Error{Subject: fmt.Sprintf("port %.64q", name), Kind: device.ErrNotFound, Hint: "this board has " + strings.Join(have, ", ")}
}

func (s *socket) plugged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.pulled
}

func (s *socket) answersTo(name string) bool {
	if strings.TrimPrefix(name, "/dev/") == s.Name {
		return true
	}
	return s.USB != nil && (strings.TrimPrefix(name, "/dev/serial/by-id/") == s.ByID || s.USB.Names(name))
}

// Find implements device.UART.
func (u *uart) Find(name string) (string, error) {
	s, err := u.find(name)
	if err != nil {
		return "", err
	}
	return s.Name, nil
}

// Opened implements device.UART.
func (u *uart) Opened(name string) device.Port {
	for _, s := range u.sockets {
		s.mu.Lock()
		p, mine := s.open, s.Name == name && s.holder == u
		s.mu.Unlock()
		if mine {
			return p
		}
	}
	return nil
}

// Open implements device.UART.
func (u *uart) Open(name string, mode device.PortMode) (device.Port, error) {
	s, err := u.find(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.holder == u:
		return s.open, nil
	case s.Owner != "" || s.holder != nil:
		owner := s.Owner
		if owner == "" {
			owner = "another process"
		}
		return nil, &device.Error{Subject: s.Name, Kind: device.ErrBusy, Reason: "in use by " + owner + " (EBUSY)", Hint: "uart_list shows which ports are free"}
	}
	p := &port{socket: s, mode: mode, dtr: true, rts: true}
	s.holder, s.open = u, p
	s.say(s.talker.start(s.now()))
	return p, nil
}

func (u *uart) close() {
	u.closed.Store(true)
	for _, s := range u.sockets {
		s.mu.Lock()
		if s.holder == u {
			s.drop("closed", "open it again")
		}
		s.mu.Unlock()
	}
}

// drop ends the open port. The caller holds mu.
func (s *socket) drop(reason, hint string) {
	p := s.open
	p.gone = &device.Error{Subject: s.Name, Kind: device.ErrUnplugged, Reason: reason, Hint: hint}
	p.received.Fail(p.gone)
	s.holder, s.open = nil, nil
	for _, t := range s.pending {
		t.Stop()
	}
	s.pending = nil
}

// say brings what the other end says to the open port. The caller holds mu.
func (s *socket) say(b []byte) {
	p := s.open
	if len(b) == 0 || p == nil || s.fault.Silent {
		return
	}
	heard := slices.Clone(b)
	for i := range heard {
		switch {
		case !sameLine(p.mode, s.mode):
			heard[i] = ^heard[i] // what a wrong mode makes of it
			p.faults.Framing++
		case s.noise.Float64() < s.fault.Noise:
			heard[i] ^= 1 << s.noise.IntN(8)
		}
	}
	if s.fault.LateMs == 0 {
		p.received.Put(heard)
		return
	}
	s.pending = slices.DeleteFunc(s.pending, func(t *time.Timer) bool { return len(s.pending) > 64 && t.Stop() })
	s.pending = append(s.pending, time.AfterFunc(time.Duration(s.fault.LateMs*float64(time.Millisecond)), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open == p {
			p.received.Put(heard)
		}
	}))
}

// sameLine says that two modes understand each other.
func sameLine(a, b device.PortMode) bool {
	a.Flow, b.Flow = 0, 0
	near := a.Baud*100 >= b.Baud*97 && a.Baud*100 <= b.Baud*103
	a.Baud = b.Baud
	return near && a == b
}

// Pull unplugs a port, as a hand would, and Plug brings it back. They do nothing
// for one that is not there.
func (b *Board) Pull(port string) { b.setPulled(port, true) }

// Plug is the reverse of Pull.
func (b *Board) Plug(port string) { b.setPulled(port, false) }

func (b *Board) setPulled(name string, pulled bool) {
	for _, s := range b.hw.sockets {
		if s.Name != name {
			continue
		}
		s.mu.Lock()
		s.pulled = pulled
		if pulled && s.open != nil {
			s.drop("the device is gone (EIO)", "check that it is plugged in; uart_list shows the ports")
		}
		s.mu.Unlock()
	}
}

// port is an open port.
type port struct {
	socket   *socket
	received device.Receiver

	// what follows is under the socket's mu
	mode     device.PortMode
	dtr, rts bool
	faults   device.LineFaults
	gone     error
}

// locked runs f alone with the socket, where the port is still open.
func (p *port) locked(f func()) error {
	p.socket.mu.Lock()
	defer p.socket.mu.Unlock()
	if p.gone == nil {
		f()
	}
	return p.gone
}

// Name implements device.Port.
func (p *port) Name() string { return p.socket.Name }

// Received implements device.Port.
func (p *port) Received() *device.Receiver { return &p.received }

// Mode implements device.Port.
func (p *port) Mode() device.PortMode {
	p.socket.mu.Lock()
	defer p.socket.mu.Unlock()
	return p.mode
}

// SetMode implements device.Port.
func (p *port) SetMode(m device.PortMode) error { return p.locked(func() { p.mode = m }) }

// Write implements device.Port. The other end hears it at once.
func (p *port) Write(b []byte, deadline time.Time) (int, error) {
	err := p.locked(func() {
		s := p.socket
		if sameLine(p.mode, s.mode) {
			s.say(s.talker.hear(s.now(), slices.Clone(b)))
		}
	})
	if err != nil {
		return 0, err
	}
	return len(b), nil
}

// Modem implements device.Port: the other end is always ready.
func (p *port) Modem() (m device.Modem, err error) {
	err = p.locked(func() { m = device.Modem{DTR: p.dtr, RTS: p.rts, CTS: true, DSR: true, DCD: true} })
	return m, err
}

// SetDTR implements device.Port.
func (p *port) SetDTR(on bool) error {
	return p.locked(func() {
		if on && !p.dtr {
			p.socket.say(p.socket.talker.start(p.socket.now()))
		}
		p.dtr = on
	})
}

// SetRTS implements device.Port.
func (p *port) SetRTS(on bool) error { return p.locked(func() { p.rts = on }) }

// Break implements device.Port. What is connected takes no notice.
func (p *port) Break(d time.Duration) error {
	if err := p.locked(func() {}); err != nil {
		return err
	}
	time.Sleep(d)
	return nil
}

// RS485 implements device.Port: a USB adapter switches by itself.
func (p *port) RS485() (bool, error) {
	return false, &device.Error{Subject: p.Name(), Kind: device.ErrNotSupport, Reason: "the port's driver cannot do this (ENOTTY)",
		Hint: "an RS-485 adapter for USB switches by itself"}
}

// SetRS485 implements device.Port.
func (p *port) SetRS485(bool) error {
	_, err := p.RS485()
	return err
}

// Faults implements device.Port.
func (p *port) Faults() (f device.LineFaults) {
	p.socket.mu.Lock()
	defer p.socket.mu.Unlock()
	return p.faults
}

// Close implements device.Port.
func (p *port) Close() error {
	_ = p.locked(func() { p.socket.drop("closed", "open it again") })
	return nil
}
