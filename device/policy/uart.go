package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"boardhand/device"
	"boardhand/tools/modbus"
)

// uart shows the ports that are open, by a [[uart]] or as the target of a [[modbus]].
type uart struct {
	naming
	inner device.UART
	bound []UART
	units [][]*Modbus // by thing, the Modbus devices on it

	mu      sync.Mutex
	opened  map[string]*port // by the name that is shown
	opening int              // ports that are being opened
}

// newUART is nil where the rules open no port.
func newUART(inner device.UART, r *Rules) *uart {
	// Behind the ports that have rules come those that only Modbus devices name.
	var lone []*Modbus
	for i := range r.Modbus {
		m := &r.Modbus[i]
		onRule := slices.ContainsFunc(r.UARTs, func(u UART) bool { return u.Name == m.Target || u.Port == m.Target })
		known := slices.ContainsFunc(lone, func(other *Modbus) bool { return other.Target == m.Target })
		if !onRule && !known && !isAddress(m.Target) {
			lone = append(lone, m)
		}
	}
	n := len(r.UARTs)
	u := &uart{inner: inner, bound: r.UARTs, opened: make(map[string]*port)}
	u.naming = newNaming(r, "uart", "UART", n+len(lone), AccessRead, func(i int) (*Rule, string) {
		if i < n {
			return &r.UARTs[i].Rule, r.UARTs[i].Port
		}
		// The name and the access of a Modbus device are not its port's.
		return &Rule{At: lone[i-n].At, Access: AccessRead}, lone[i-n].Target
	})
	u.units = make([][]*Modbus, len(u.things))
	for i := range r.Modbus {
		for j := range u.things {
			if t := &u.things[j]; r.Modbus[i].Target == t.shown || r.Modbus[i].Target == t.own {
				u.units[j] = append(u.units[j], &r.Modbus[i])
			}
		}
	}
	if !u.any() {
		return nil
	}
	return u
}

// UART implements device.Board: it is nil where no port is open.
func (b *Board) UART() device.UART {
	if b.uart == nil {
		return nil
	}
	return b.uart
}

// rule is the [[uart]] of a thing, or nil.
func (u *uart) rule(t *thing) *UART {
	if t.index < 0 || t.index >= len(u.bound) {
		return nil
	}
	return &u.bound[t.index]
}

// devices are the Modbus devices on a thing's port.
func (u *uart) devices(t *thing) []*Modbus {
	if t.index < 0 {
		return nil
	}
	return u.units[t.index]
}

// at is the thing of the port that the kernel calls name.
func (u *uart) at(name string) (*thing, bool) {
	for i := range u.things {
		t := &u.things[i]
		if t.own == name {
			return t, t.access != AccessNone
		}
		if found, err := u.inner.Find(t.own); err == nil && found == name {
			return t, t.access != AccessNone
		}
	}
	return u.of(name)
}

// resolve is the open port called name, and the kernel's name of it.
func (u *uart) resolve(name string) (*thing, string, error) {
	if t := u.byName[strings.TrimPrefix(name, "/dev/")]; t != nil && t.access != AccessNone {
		own, err := u.inner.Find(t.own)
		if errors.Is(err, device.ErrNotFound) {
			err = &device.Error{Subject: u.rules.where(t.at()) + ": " + u.subject(name), Kind: device.ErrNotFound,
				Hint: fmt.Sprintf("the board has no port %q now: plug it in, or correct the file", t.own)}
		}
		return t, own, err
	}
	own, err := u.inner.Find(name)
	if err != nil && u.rules.Allow == Everything {
		return nil, "", err
	}
	if err == nil {
		switch t, open := u.at(own); {
		case open:
			return t, own, nil
		case t != nil:
			return nil, "", u.rules.shut(t.at(), u.subject(name))
		}
	}
	return nil, "", u.rules.closed(u.subject(name), u.table, u.open())
}

// name is what the model calls a port that the kernel calls own.
func (t *thing) name(own string) string {
	if t.rule != nil && t.rule.Name != "" {
		return t.rule.Name
	}
	return own
}

// Ports implements device.UART.
func (u *uart) Ports(dst []device.UARTPort) ([]device.UARTPort, error) {
	begin := len(dst)
	dst, err := u.inner.Ports(dst)
	keep := dst[:begin]
	for _, p := range dst[begin:] {
		if t, open := u.at(p.Name); open {
			p.Name, p.Description = t.name(p.Name), t.description()
			keep = append(keep, p)
		}
	}
	return keep, err
}

// Find implements device.UART: the name is the user's where he gave one.
func (u *uart) Find(name string) (string, error) {
	u.mu.Lock()
	p := u.opened[name]
	u.mu.Unlock()
	if p != nil {
		return p.shown, nil
	}
	t, own, err := u.resolve(name)
	if err != nil {
		return "", err
	}
	return t.name(own), nil
}

// ModeOf implements device.Moded.
func (u *uart) ModeOf(name string) (device.PortMode, bool) {
	t, _, err := u.resolve(name)
	if err != nil {
		return device.PortMode{}, false
	}
	return u.modeOf(t)
}

func (u *uart) modeOf(t *thing) (device.PortMode, bool) {
	text, base := "", device.DefaultMode
	for _, m := range u.devices(t) {
		if m.Mode != "" {
			text, base = m.Mode, device.ModbusMode
		}
	}
	if rule := u.rule(t); rule != nil && rule.Mode != "" {
		text, base = rule.Mode, device.DefaultMode
	}
	if text == "" {
		return device.PortMode{}, false
	}
	mode, err := device.ParsePortMode(text, base)
	return mode, err == nil
}

// checkMode says why a port may not be set so.
func (u *uart) checkMode(t *thing, shown string, mode device.PortMode) error {
	if only, ok := u.modeOf(t); ok && mode != only {
		return u.rules.refusal(t.at(), u.subject(shown), "it may not be set to "+mode.String(), "its mode is "+only.String()+": leave mode out")
	}
	return nil
}

// Open implements device.UART.
func (u *uart) Open(name string, mode device.PortMode) (device.Port, error) {
	t, own, err := u.resolve(name)
	if err != nil {
		return nil, err
	}
	shown := t.name(own)
	if u.inner.Opened(own) == nil {
		if err := u.checkMode(t, shown, mode); err != nil {
			return nil, err
		}
	}
	if u.inner.Opened(own) == nil {
		if err := u.admit(shown); err != nil {
			return nil, err
		}
		defer u.admitted()
	}
	p, err := u.inner.Open(own, mode)
	if err != nil {
		return nil, named(err, own, shown)
	}
	return u.wrap(t, shown, p), nil
}

// admit says why no more ports may be open; where it does not, admitted follows.
func (u *uart) admit(shown string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	var open []string
	for name, p := range u.opened {
		if u.inner.Opened(p.Port.Name()) == p.Port {
			open = append(open, name)
		} else {
			delete(u.opened, name)
		}
	}
	if most := u.rules.Limits.Handles; most > 0 && len(open)+u.opening >= most {
		slices.Sort(open)
		return u.rules.refusal(u.rules.Limits.At, u.subject(shown), fmt.Sprintf("limits.handles = %d, and so many ports are open: %s", most, listed(open)),
			"close one with uart_control, then come again")
	}
	u.opening++
	return nil
}

func (u *uart) admitted() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.opening--
}

// wrap is the port as the rules show it; the same for the same port.
func (u *uart) wrap(t *thing, shown string, p device.Port) *port {
	u.mu.Lock()
	defer u.mu.Unlock()
	if known := u.opened[shown]; known != nil && known.Port == p {
		return known
	}
	w := &port{Port: p, uart: u, t: t, shown: shown}
	u.opened[shown] = w
	return w
}

// Opened implements device.UART.
func (u *uart) Opened(name string) device.Port {
	u.mu.Lock()
	p := u.opened[name]
	u.mu.Unlock()
	if p != nil && u.inner.Opened(p.Port.Name()) == p.Port {
		return p
	}
	if p != nil {
		u.mu.Lock()
		delete(u.opened, name)
		u.mu.Unlock()
	}
	return nil
}

// port is an open port of which the rules bound what is sent and set.
type port struct {
	device.Port // the reads
	uart        *uart
	t           *thing
	shown       string
}

// Name implements device.Port.
func (p *port) Name() string { return p.shown }

func (p *port) err(err error) error { return named(err, p.Port.Name(), p.shown) }

func (p *port) refuse(reason, hint string) error {
	return p.uart.rules.refusal(p.t.at(), p.uart.subject(p.shown), reason, hint)
}

// SetMode implements device.Port.
func (p *port) SetMode(mode device.PortMode) error {
	if err := p.uart.checkMode(p.t, p.shown, mode); err != nil {
		return err
	}
	return p.err(p.Port.SetMode(mode))
}

// Write implements device.Port.
func (p *port) Write(data []byte, deadline time.Time) (int, error) {
	if err := p.allows(data); err != nil {
		return 0, err
	}
	n, err := p.Port.Write(data, deadline)
	return n, p.err(err)
}

// allows says why data may not be sent.
func (p *port) allows(data []byte) error {
	rule, devices := p.uart.rule(p.t), p.uart.devices(p.t)
	if len(devices) > 0 && modbus.WholeRTU(data) {
		if rule == nil || deviceOf(devices, data[0]) != nil {
			return p.uart.rules.modbusRequest(devices, p.shown, data[0], data[1:len(data)-2])
		}
	}
	switch {
	case rule == nil && len(devices) > 0:
		return p.refuse("only whole Modbus requests may be sent", "use modbus_read and modbus_write")
	case rule != nil && rule.MaxSend > 0 && len(data) > rule.MaxSend:
		return p.refuse(fmt.Sprintf("%d bytes at once", len(data)), fmt.Sprintf("max_send is %d", rule.MaxSend))
	case p.t.access == AccessWrite:
		return nil
	case rule == nil:
		return p.uart.rules.onlyRead(0, p.uart.subject(p.shown))
	case slices.Contains(rule.Commands, strings.TrimRight(string(data), "\r\n")):
		return nil
	case len(rule.Commands) > 0:
		return p.refuse(fmt.Sprintf("%.40q may not be sent", data), "commands has "+listed(rule.Commands))
	}
	return p.uart.rules.onlyRead(p.t.at(), p.uart.subject(p.shown))
}

// control says why the modem lines, break and RS-485 may not be set.
func (p *port) control() error {
	rule := p.uart.rule(p.t)
	switch {
	case p.t.access != AccessWrite:
		return p.uart.rules.onlyRead(p.t.at(), p.uart.subject(p.shown))
	case rule != nil && rule.Control != nil && !*rule.Control:
		return p.refuse("its modem lines, break and RS-485 may not be set", "control = true would allow this: ask the owner of the file")
	}
	return nil
}

// SetDTR implements device.Port.
func (p *port) SetDTR(on bool) error {
	if err := p.control(); err != nil {
		return err
	}
	return p.err(p.Port.SetDTR(on))
}

// SetRTS implements device.Port.
func (p *port) SetRTS(on bool) error {
	if err := p.control(); err != nil {
		return err
	}
	return p.err(p.Port.SetRTS(on))
}

// Break implements device.Port.
func (p *port) Break(d time.Duration) error {
	if err := p.control(); err != nil {
		return err
	}
	return p.err(p.Port.Break(d))
}

// SetRS485 implements device.Port.
func (p *port) SetRS485(on bool) error {
	if err := p.control(); err != nil {
		return err
	}
	return p.err(p.Port.SetRS485(on))
}

// Modem implements device.Port.
func (p *port) Modem() (device.Modem, error) {
	m, err := p.Port.Modem()
	return m, p.err(err)
}

// RS485 implements device.Port.
func (p *port) RS485() (bool, error) {
	on, err := p.Port.RS485()
	return on, p.err(err)
}

// Close implements device.Port.
func (p *port) Close() error { return p.err(p.Port.Close()) }
