package policy

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"boardhand/device"
	"boardhand/tools/modbus"
)

// What goes out to a Modbus device is read as it leaves, whoever wrote it: a whole
// request is judged by the registers and coils that it touches, and what is no
// request is not sent. Function codes are those of the MODBUS Application Protocol
// V1.1b3, 6.

// request is what a request touches.
type request struct {
	kind  byte // the function code that reads the table: 1 coils, 2 discrete, 3 holding, 4 input
	first uint16
	count int
	write bool
	data  []byte // of holding registers, what is written
}

// parseRequest reads a PDU that reads or writes bits or registers; false for another.
func parseRequest(pdu []byte) (request, bool) {
	if len(pdu) < 5 {
		return request{}, false
	}
	q := request{kind: pdu[0], first: binary.BigEndian.Uint16(pdu[1:]), count: int(binary.BigEndian.Uint16(pdu[3:]))}
	switch pdu[0] {
	case 1, 2, 3, 4:
		return q, len(pdu) == 5 && q.count > 0
	case 5, 6:
		q.kind, q.count, q.write, q.data = pdu[0]-4, 1, true, pdu[3:5]
		if pdu[0] == 6 {
			q.kind = 3
		}
		return q, len(pdu) == 5
	case 15, 16:
		q.kind, q.write = 1, true
		size := (q.count + 7) / 8
		if pdu[0] == 16 {
			q.kind, size = 3, 2*q.count
		}
		if len(pdu) != 6+size || int(pdu[5]) != size || q.count == 0 {
			return request{}, false
		}
		q.data = pdu[6:]
		return q, true
	}
	return request{}, false
}

// device is the rule of a unit among those of one target, or nil.
func deviceOf(all []*Modbus, unit byte) *Modbus {
	for _, m := range all {
		if m.unit() == int(unit) {
			return m
		}
	}
	return nil
}

func (m *Modbus) subject() string {
	if m.Name != "" {
		return fmt.Sprintf("Modbus %q", m.Name)
	}
	return fmt.Sprintf("Modbus unit %d at %.64s", m.unit(), m.Target)
}

// judge says why the rule of a device refuses a request.
func (r *Rules) judge(m *Modbus, pdu []byte) error {
	q, ok := parseRequest(pdu)
	if !ok {
		return r.refusal(m.At, m.subject(), fmt.Sprintf("a request with function %d is none that the rules know", first(pdu)), "functions 1 to 6, 15 and 16 are allowed")
	}
	want := AccessRead
	if q.write {
		want = AccessWrite
	}
	rest := r.access(m.Access, AccessRead)
	for i := 0; i < q.count; i++ {
		number := int(q.first) + i
		p := m.at(q.kind, number)
		access, line, subject := rest, m.At, fmt.Sprintf("%s %s %d", m.subject(), kindNames[q.kind], number)
		if p != nil {
			access, line, subject = r.access(p.Access, AccessRead), p.At, fmt.Sprintf("point %q", p.Name)
		}
		switch {
		case access == AccessNone && p == nil:
			return r.refusal(line, subject, "no [[modbus.point]] opens it", "it opens "+listed(m.pointNames()))
		case access == AccessNone:
			return r.shut(line, subject)
		case access < want:
			return r.onlyRead(line, subject)
		case q.write && p != nil && q.kind == 3 && (p.Min != nil || p.Max != nil):
			if err := r.written(p, number, q.data, 2*i, subject); err != nil {
				return err
			}
		}
	}
	return nil
}

var kindNames = [...]string{1: "coil", 2: "discrete", 3: "holding", 4: "input"}

func first(pdu []byte) byte {
	if len(pdu) == 0 {
		return 0
	}
	return pdu[0]
}

// at is the point that a register or coil belongs to, or nil.
func (m *Modbus) at(kind byte, number int) *Point {
	for i := range m.Points {
		p := &m.Points[i]
		if pointKinds[p.Kind] == kind && number >= *p.Address && number < *p.Address+p.numbers() {
			return p
		}
	}
	return nil
}

func (m *Modbus) pointNames() []string {
	names := make([]string, len(m.Points))
	for i := range m.Points {
		names[i] = m.Points[i].Name
	}
	return names
}

// written says why what is written to register number, which stands at data[from],
// is out of the bounds of its point.
func (r *Rules) written(p *Point, number int, data []byte, from int, subject string) error {
	f := p.form(true)
	size := f.Size()
	within := 2 * (number - *p.Address) % size // which byte of its value the register is
	switch {
	case within > 0 && from >= within:
		return nil // its value was looked at
	case within > 0 || from+size > len(data):
		return r.refusal(p.At, subject, "its value has bounds, and this writes a part of it", fmt.Sprintf("write its %d registers at once", size/2))
	}
	return r.inBounds(&p.Value, f, data[from:from+size], p.At, subject)
}

// modbusPort is the TCP port of Modbus (IANA).
const modbusPort = 502

// addressOf is the address that a target is; false for a serial port.
func addressOf(target string) (netip.AddrPort, bool) {
	if to, err := netip.ParseAddrPort(target); err == nil {
		return unmapped(to), true
	}
	addr, err := netip.ParseAddr(target)
	return unmapped(netip.AddrPortFrom(addr, modbusPort)), err == nil
}

// unmapped is an address in the one form that rules are compared by: ::ffff:192.0.2.1
// is 192.0.2.1.
func unmapped(to netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
}

// tcp opens the addresses of the Modbus devices.
type tcp struct {
	inner device.TCP
	rules *Rules
	hosts map[netip.AddrPort][]*Modbus
}

// newTCP is nil where the rules open no address.
func newTCP(inner device.TCP, r *Rules) *tcp {
	t := &tcp{inner, r, make(map[netip.AddrPort][]*Modbus)}
	for i := range r.Modbus {
		if to, ok := addressOf(r.Modbus[i].Target); ok {
			t.hosts[to] = append(t.hosts[to], &r.Modbus[i])
		}
	}
	if len(t.hosts) == 0 && r.Allow != Everything {
		return nil
	}
	return t
}

// TCP implements device.Board: it is nil where no address is open.
func (b *Board) TCP() device.TCP {
	if b.tcp == nil {
		return nil
	}
	return b.tcp
}

// Dial implements device.TCP.
func (t *tcp) Dial(to netip.AddrPort, deadline time.Time) (device.Conn, error) {
	to = unmapped(to)
	devices := t.hosts[to]
	if devices == nil && t.rules.Allow != Everything {
		var names []string
		for to := range t.hosts {
			names = append(names, to.String())
		}
		return nil, t.rules.closed(to.String(), "modbus", names)
	}
	conn, err := t.inner.Dial(to, deadline)
	if err != nil || devices == nil && !t.rules.ReadOnly {
		return conn, err
	}
	return &modbusConn{conn, t.rules, to, devices}, nil
}

// modbusConn lets out what the rules of its devices allow.
type modbusConn struct {
	device.Conn
	rules   *Rules
	to      netip.AddrPort
	devices []*Modbus
}

// Write implements device.Conn: p is one whole request.
func (c *modbusConn) Write(p []byte, deadline time.Time) error {
	h, err := modbus.DecodeHeader(p)
	if err != nil || len(p) != modbus.HeaderSize+h.Length {
		return c.rules.refusal(0, c.to.String(), "only whole Modbus requests may be sent", "send one at a time")
	}
	if err := c.rules.modbusRequest(c.devices, c.to.String(), h.Unit, p[modbus.HeaderSize:]); err != nil {
		return err
	}
	return c.Conn.Write(p, deadline)
}

// modbusRequest says why a request to a unit at target is refused. devices are the
// rules about that target.
func (r *Rules) modbusRequest(devices []*Modbus, target string, unit byte, pdu []byte) error {
	if m := deviceOf(devices, unit); m != nil {
		return r.judge(m, pdu)
	}
	subject := fmt.Sprintf("Modbus unit %d at %s", unit, target)
	switch q, ok := parseRequest(pdu); {
	case r.Allow == Everything && !r.ReadOnly || r.Allow == Everything && ok && !q.write:
		return nil
	case r.Allow == Everything:
		return r.onlyRead(0, subject)
	}
	var names []string
	for _, m := range devices {
		names = append(names, m.subject())
	}
	return r.closed(subject, "modbus", names)
}
