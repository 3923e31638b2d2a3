package tools

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
	"boardhand/tools/modbus"
)

const (
	maxModbusWait = 30000 // ms
	modbusPort    = 502
	// frameGap ends a frame of RTU when it comes through an adapter or a kernel that
	// hands bytes on in lumps; the 3.5 characters of the standard are for chips.
	frameGap = 20 * time.Millisecond
)

// modbusKinds are the names of the kinds, in the order of modbus.Kind.
var modbusKinds = []string{"coil", "discrete", "holding", "input"}

func addModbus(cat *rpc.Catalogue, u device.UART, tcp device.TCP, names *device.Names) {
	t := &modbusTools{uart: u, tcp: tcp, names: names}
	target := rpc.Param{Name: "target", Type: rpc.String, Required: true, Min: 1, Max: maxPortName + maxMode,
		Description: "IP or ttyUSB0 19200 8E1"}
	unit := rpc.Param{Name: "unit", Type: rpc.Integer}
	// A point has an address of its own.
	address := rpc.Param{Name: "address", Type: rpc.Integer, Required: len(names.Points) == 0}
	typ := rpc.Param{Name: "type", Type: rpc.String, Max: 16}
	timeout := rpc.Param{Name: "timeout_ms", Type: rpc.Integer}
	about := []rpc.Field{
		{Name: "unit", Type: rpc.Integer},
		{Name: "kind", Type: rpc.String},
		{Name: "address", Type: rpc.Integer},
		{Name: "type", Type: rpc.String, Optional: true},
		{Name: "order", Type: rpc.String, Optional: true, Description: "of the words of a value"},
		{Name: "measure", Type: rpc.String, Optional: true, Description: "the unit that a point's values are in"},
	}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "modbus_read",
			Title:       "Read Modbus",
			Description: "Addresses from 0.",
			Hints:       rpc.Hints{ReadOnly: true},
			Params: []rpc.Param{
				target, unit,
				{Name: "kind", Type: rpc.String, Choices: modbusKinds},
				address,
				{Name: "count", Type: rpc.Integer},
				{Name: "type", Type: rpc.String, Max: 16, Description: "u16 i16 u32 i32 f32 u64 i64 f64 text; or f32 little"},
				timeout,
			},
			Result: append(about[:len(about):len(about)],
				rpc.Field{Name: "values", Type: rpc.Strings, Optional: true},
				rpc.Field{Name: "bits", Type: rpc.String, Optional: true, Description: "0 and 1, the first at address"},
				rpc.Field{Name: "hex", Type: rpc.String, Optional: true, Description: "of text that is not printable"},
				saidField),
			Queue:    t.queue,
			Timeout:  (maxModbusWait + 5000) * time.Millisecond,
			Subjects: t.subject,
			Run:      t.read,
		},
		rpc.Tool{
			Name:        "modbus_write",
			Title:       "Write Modbus",
			Description: "Write once, as modbus_read reads. Values: 1,2.5",
			Hints:       rpc.Hints{Destructive: true},
			Params: []rpc.Param{
				{Name: "target", Type: rpc.String, Required: true, Min: 1, Max: maxPortName + maxMode},
				unit,
				{Name: "kind", Type: rpc.String, Choices: []string{"holding", "coil"}},
				address,
				{Name: "values", Type: rpc.String, Required: true, Max: 8192},
				typ, timeout,
			},
			Result: append(about[:len(about):len(about)],
				rpc.Field{Name: "written", Type: rpc.Integer, Description: "registers or coils"},
				rpc.Field{Name: "confirmed", Type: rpc.Boolean, Description: "false: sent to all units, and none answers"}),
			Queue:    t.queue,
			Timeout:  (maxModbusWait + 5000) * time.Millisecond,
			Subjects: t.subject,
			Run:      t.write,
		})
	if len(names.Points) > 0 {
		cat.Tools = append(cat.Tools, t.listTool())
	}
}

// listTool shows the points that the board file names; more than what a client is
// told at first.
func (t *modbusTools) listTool() rpc.Tool {
	return rpc.Tool{
		Name:        "modbus_list",
		Title:       "List Modbus points",
		Description: "Points, each a target of modbus_read.",
		Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
		Params:      []rpc.Param{{Name: "match", Type: rpc.String}, offsetParam},
		Result: append([]rpc.Field{
			{Name: "points", Type: rpc.Objects, Fields: []rpc.Field{
				{Name: "point", Type: rpc.String},
				{Name: "measure", Type: rpc.String, Optional: true},
				{Name: "writable", Type: rpc.Boolean, Optional: true},
				descriptionField,
			}},
		}, pageFields...),
		Run: t.list,
	}
}

func (t *modbusTools) list(c *rpc.Call) error {
	offset, err := bounded(c, 1, "offset", 0, maxOffset, 0)
	if err != nil {
		return err
	}
	match := strings.ToLower(c.Str(0))
	p := page{offset: int(offset)}
	var item []byte
	c.Out = append(c.Out, `{"points":[`...)
	for i := range t.names.Points {
		x := &t.names.Points[i]
		if !strings.Contains(strings.ToLower(x.Name), match) && !strings.Contains(strings.ToLower(x.Description), match) {
			continue
		}
		item = wire.AppendString(append(item[:0], `{"point":`...), x.Name)
		if x.Form.Unit != "" {
			item = wire.AppendString(wire.AppendKey(item, "measure"), x.Form.Unit)
		}
		if x.Writable {
			item = append(item, `,"writable":true`...)
		}
		c.Out = p.add(c.Out, append(appendDescription(item, x.Description), '}'))
	}
	c.Out = p.end(c.Out)
	return nil
}

type modbusTools struct {
	uart  device.UART // nil where the board has none
	tcp   device.TCP  // nil where the board has none
	names *device.Names

	mu          sync.Mutex
	transaction uint16
	// owed is, by port, until when the answer to a request that was given up may still
	// come. RTU does not number its frames: a late one looks like the next.
	owed map[string]time.Time
}

// target is where a request goes: an address, or a port of the board and, where
// it was named, its mode.
type target struct {
	to         netip.AddrPort
	port, mode string
}

// parseTarget reads "192.168.1.10", "192.168.1.10:502", "[fe80::1%eth0]:502",
// "ttyUSB0" or "ttyUSB0 9600 8N1".
func parseTarget(text string) target {
	if to, err := netip.ParseAddrPort(text); err == nil {
		return target{to: to}
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return target{to: netip.AddrPortFrom(addr, modbusPort)}
	}
	port, mode, _ := strings.Cut(text, " ")
	return target{port: port, mode: mode}
}

func (t *modbusTools) queue(c *rpc.Call) string {
	g, _ := t.target(c.Str(0))
	if g.to.IsValid() {
		return g.to.String()
	}
	if t.uart == nil {
		return ""
	}
	name, err := t.uart.Find(g.port)
	if err != nil {
		return "" // the handler says so
	}
	return name
}

// target is what a text means, which may be the name of a device or a point, and the
// unit where that says one; -1 where it does not.
func (t *modbusTools) target(text string) (target, int) {
	name, mode, _ := strings.Cut(text, " ")
	to, unit := "", 0
	if d := t.names.Device(name); d != nil {
		to, unit = d.Target, int(d.Unit)
	} else if p := t.names.Point(name); p != nil {
		to, unit = p.Target, int(p.Unit)
	} else {
		return parseTarget(text), -1
	}
	g := parseTarget(to)
	if !g.to.IsValid() && mode != "" {
		g.mode = mode
	}
	return g, unit
}

// asked is what a call asks for.
type asked struct {
	target
	unit    byte
	address uint16
	count   int64 // of values
	value
	point *device.Point // or nil
}

// asked is what the arguments say.
func (t *modbusTools) asked(c *rpc.Call) (a asked, err error) {
	var unit int
	a.target, unit = t.target(c.Str(0))
	reads := c.Tool().Params[4].Type == rpc.Integer
	if p := t.names.Point(c.Str(0)); p != nil {
		for i, param := range c.Tool().Params {
			if i >= 1 && i <= 5 && c.Has(i) && (i != 4 || reads) {
				return a, fmt.Errorf(`parameter "%s" is given, but %q is a point, which has its own; leave it out`, param.Name, p.Name)
			}
		}
		a.point, a.unit, a.address, a.count = p, p.Unit, p.Address, int64(p.Count)
		a.kind = modbus.Kind(slices.Index(modbusKinds, p.Kind))
		if !a.kind.Bits() {
			a.typ, _ = modbus.ParseType(p.Type)
			a.little = p.Little
		}
		return a, nil
	}
	if !c.Has(3) {
		return a, errors.New(`parameter "address" is missing; 0 to 65535 are allowed, and only a point has its own`)
	}
	if a.value, err = valueOf(c); err != nil {
		return a, err
	}
	if unit < 0 || c.Has(1) {
		unit = int(c.IntOr(1, 1))
	}
	switch address := c.Int(3); {
	case c.Has(1) && (c.Int(1) < 0 || c.Int(1) > 255):
		return a, fmt.Errorf(`parameter "unit" is %d; 0 to 255 are allowed, and 1 to 247 on a serial line`, c.Int(1))
	case address < 0 || address > 65535:
		return a, fmt.Errorf(`parameter "address" is %d; 0 to 65535 are allowed: without the 4xxxx of a manual, which counts from 1`, address)
	}
	a.unit, a.address, a.count = byte(unit), uint16(c.Int(3)), 1
	if reads {
		a.count, err = bounded(c, 4, `parameter "count"`, 1, modbus.MaxReadBits, 1)
	}
	return a, err
}

// value is how registers are read or written.
type value struct {
	kind   modbus.Kind
	typ    modbus.Type
	little bool // the low word first
}

// valueOf gives what argument 2, the kind, and 5, the type, say.
func valueOf(c *rpc.Call) (value, error) {
	v := value{kind: modbus.Holding}
	for i, name := range modbusKinds {
		if c.Str(2) == name {
			v.kind = modbus.Kind(i)
		}
	}
	if !c.Has(5) {
		return v, nil
	}
	if v.kind.Bits() {
		return v, fmt.Errorf("type is %q, but a %s is one bit; leave type out", c.Str(5), modbusKinds[v.kind])
	}
	name, order, _ := strings.Cut(c.Str(5), " ")
	typ, ok := modbus.ParseType(name)
	if !ok || order != "" && order != "big" && order != "little" {
		return v, fmt.Errorf(`parameter "type" is %q; allowed: %s, and little behind it where the low word comes first`, c.Str(5), strings.Join(modbus.Types, ", "))
	}
	v.typ, v.little = typ, order == "little"
	return v, nil
}

func (t *modbusTools) read(c *rpc.Call) error {
	v, err := t.asked(c)
	if err != nil {
		return err
	}
	words := int(v.count)
	if !v.kind.Bits() {
		words *= v.typ.Registers()
	}
	request, err := modbus.Read(v.kind, v.address, words)
	if err != nil {
		return err
	}
	data, err := t.ask(c, &v, request)
	if err != nil {
		return err
	}
	dst := appendModbus(c, &v)
	switch {
	case v.kind.Bits():
		dst = append(wire.AppendKey(dst, "bits"), '"')
		dst = append(modbus.Bits(dst, data, words), '"')
	case v.typ == modbus.Text && utf8.Valid(data) && isText(trimText(data), false):
		dst = append(wire.AppendKey(dst, "values"), '[')
		dst = append(wire.AppendBytes(dst, trimText(data)), ']')
		dst = appendSaid(dst, len(data))
	case v.typ == modbus.Text:
		dst = wire.AppendHex(wire.AppendKey(dst, "hex"), data)
	default:
		dst = append(wire.AppendKey(dst, "values"), '[')
		size := 2 * v.typ.Registers()
		for i := 0; i < len(data); i += size {
			dst = append(wire.AppendSep(dst), '"')
			dst = append(v.appendValue(dst, data[i:i+size]), '"')
		}
		dst = append(dst, ']')
	}
	c.Out = append(dst, '}')
	return nil
}

// trimText is text without the zeros and blanks that fill its last registers.
func trimText(b []byte) []byte { return []byte(strings.TrimRight(string(b), "\x00 ")) }

// appendValue appends the value in data; a point's is converted.
func (a *asked) appendValue(dst, data []byte) []byte {
	if a.converted() {
		if d, ok := a.point.Form.Decode(data); ok {
			return wire.AppendDecimal(dst, d.Value, d.Exp)
		}
	}
	return modbus.AppendValue(dst, data, a.typ, a.little)
}

// converted says that values are not those of the registers.
func (a *asked) converted() bool {
	return a.point != nil && (a.point.Form.Scale.Value != 0 || a.point.Form.Offset.Value != 0)
}

// appendModbus begins a result with what was asked.
func appendModbus(c *rpc.Call, a *asked) []byte {
	dst := wire.AppendInt(append(c.Out, `{"unit":`...), int64(a.unit))
	dst = wire.AppendString(wire.AppendKey(dst, "kind"), modbusKinds[a.kind])
	dst = wire.AppendInt(wire.AppendKey(dst, "address"), int64(a.address))
	if !a.kind.Bits() {
		dst = wire.AppendString(wire.AppendKey(dst, "type"), a.typ.String())
	}
	if a.typ.Registers() > 1 {
		order := "big"
		if a.little {
			order = "little"
		}
		dst = wire.AppendString(wire.AppendKey(dst, "order"), order)
	}
	if a.point != nil && a.point.Form.Unit != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "measure"), a.point.Form.Unit)
	}
	return dst
}

// registers are what the text of values says; of a point they are converted.
func (a *asked) registers(text string) ([]uint16, error) {
	if !a.converted() {
		return modbus.ParseValues(text, a.typ, a.little)
	}
	var all []uint16
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("values has %.40q, which is no number; give one in %s", word, a.point.Form.Unit)
		}
		data, err := a.point.Form.Encode(v)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(data); i += 2 {
			all = append(all, uint16(data[i])<<8|uint16(data[i+1]))
		}
	}
	return all, nil
}

func (t *modbusTools) write(c *rpc.Call) error {
	a, err := t.asked(c)
	if err != nil {
		return err
	}
	var request modbus.Request
	written := 0
	switch a.kind {
	case modbus.Coils:
		bits, err := modbus.ParseBits(c.Str(4))
		if err != nil {
			return err
		}
		if request, err = modbus.WriteBits(a.address, bits); err != nil {
			return err
		}
		written = len(bits)
	case modbus.Holding:
		registers, err := a.registers(c.Str(4))
		if err != nil {
			return err
		}
		if request, err = modbus.WriteRegisters(a.address, registers); err != nil {
			return err
		}
		written = len(registers)
	default:
		return fmt.Errorf("%q is %s, which no request writes; read it", c.Str(0), modbusKinds[a.kind])
	}
	if a.point != nil && written != a.point.Registers() && (a.typ != modbus.Text || written > a.point.Registers()) {
		return fmt.Errorf("values make %d registers or coils, and %s has %d; give as many values as it has", written, a.point.Name, a.point.Registers())
	}
	_, err = t.ask(c, &a, request)
	silent := err == errBroadcast
	if err != nil && !silent {
		var refused *modbus.Refusal
		if !errors.As(err, &refused) && !errors.Is(err, errNotSent) && !errors.Is(err, device.ErrPermission) {
			err = fmt.Errorf("%w. Whether the write acted is unknown: read before you write again", err)
		}
		return err
	}
	dst := wire.AppendInt(wire.AppendKey(appendModbus(c, &a), "written"), int64(written))
	dst = wire.AppendBool(wire.AppendKey(dst, "confirmed"), !silent)
	c.Out = append(dst, '}')
	return nil
}

var (
	errBroadcast = errors.New("all units hear it, and none answers")
	errNotSent   = errors.New("nothing was sent")
)

// notSent marks an error from before the request went out.
type notSent struct{ error }

func (n notSent) Is(target error) bool { return target == errNotSent }
func (n notSent) Unwrap() error        { return n.error }

// ask sends a request once and gives the data of its answer.
func (t *modbusTools) ask(c *rpc.Call, a *asked, request modbus.Request) ([]byte, error) {
	g, unit := a.target, a.unit
	ms, err := bounded(c, 6, `parameter "timeout_ms"`, 1, maxModbusWait, defaultWait.Milliseconds())
	if err != nil {
		return nil, notSent{err}
	}
	timeout := time.Duration(ms) * time.Millisecond
	switch {
	case g.to.IsValid() && t.tcp == nil:
		return nil, notSent{errors.New("this board has no network; name a serial port")}
	case g.to.IsValid():
		return t.askTCP(c, g.to, unit, request, timeout)
	case t.uart == nil:
		return nil, notSent{fmt.Errorf(`target is %.64q, no address, and this board has no serial port; give one such as "192.168.1.10:502"`, c.Str(0))}
	case unit > 247:
		return nil, notSent{fmt.Errorf("unit is %d; on a serial line 1 to 247 are allowed, and 0 for a write to all", unit)}
	case unit == 0 && request.Reads():
		return nil, notSent{errors.New("unit is 0, all units, and none would answer; 1 to 247 are allowed")}
	}
	p, err := openPort(t.uart, g.port, g.mode, device.ModbusMode)
	if err != nil {
		return nil, notSent{err}
	}
	return t.askRTU(c, p, unit, request, timeout)
}

// askRTU sends a request over a serial line when it is silent and no earlier
// answer is owed.
func (t *modbusTools) askRTU(c *rpc.Call, p device.Port, unit byte, request modbus.Request, timeout time.Duration) ([]byte, error) {
	mode, r := p.Mode(), p.Received()
	silence := silenceOf(mode)
	if err := t.settle(c, p, silence, timeout); err != nil {
		return nil, notSent{err}
	}
	var buf [modbus.MaxRTU]byte
	frame := request.AppendRTU(buf[:0], unit)
	faults := p.Faults()
	_, start := r.Bounds()
	deadline := within(c, timeout+mode.Time(len(frame)))
	if _, err := p.Write(frame, deadline); err != nil {
		return nil, err
	}
	if unit == 0 {
		time.Sleep(mode.Time(len(frame)) + silence) // until it has left
		return nil, errBroadcast
	}
	// The answer is the first whole frame that fits. What does not is a late one or
	// noise: it is passed over, and why is told if nothing better comes.
	var wrong error
	for {
		_, now := r.Bounds() // asked before the bytes are read: what comes in between is looked at once more
		n, first := r.ReadAt(buf[:], start)
		got := buf[:n]
		var err error
		if first > start || now-start > modbus.MaxRTU {
			err = modbus.ErrLength
		} else {
			var data []byte
			data, err = request.DecodeRTU(got, unit)
			var refused *modbus.Refusal
			if errors.As(err, &refused) {
				return nil, fmt.Errorf("unit %d on %s: %w", unit, p.Name(), err)
			}
			if err == nil {
				return append([]byte(nil), data...), nil
			}
		}
		until := deadline
		ends := r.Last().Add(max(silence, frameGap))
		if now > start {
			until = earlier(until, ends)
		}
		more, werr := r.Wait(now, earlier(until, time.Now().Add(cancelEvery)))
		switch {
		case werr != nil:
			return nil, werr
		case more || time.Now().Before(until) && !c.Cancelled():
			continue
		case now > start && time.Now().Before(deadline) && !c.Cancelled():
			if err == modbus.ErrShort {
				err = modbus.ErrLength
			}
			wrong = fmt.Errorf("%d bytes came that are no answer: %w", now-start, err)
			start = now
			continue
		}
		if now > start {
			if err == modbus.ErrShort {
				err = errors.New("it is cut short")
			}
			wrong = fmt.Errorf("%d bytes came that are no answer: %w", now-start, err)
		}
		t.owe(p.Name(), time.Now().Add(timeout))
		text := fmt.Sprintf("unit %d on %s gave no answer within %v at %s", unit, p.Name(), timeout, mode)
		if s := p.Faults().Sub(faults).String(); s != "" {
			text += ", with " + s
		}
		if wrong != nil {
			return nil, fmt.Errorf("%s; %w", text, wrong)
		}
		return nil, &device.Error{Subject: text, Kind: device.ErrTimeout, Reason: "timed out", Hint: "check the unit id, the mode, A and B of the wire, and the power"}
	}
}

// silenceOf is the silence between frames: 3.5 characters of 11 bits, and 1.75 ms
// above 19200 baud (SER 2.5.1.1).
func silenceOf(m device.PortMode) time.Duration {
	if m.Baud > 19200 {
		return 1750 * time.Microsecond
	}
	return m.Time(7) / 2
}

// owe remembers that an answer may still come on a port until when.
func (t *modbusTools) owe(port string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.owed == nil {
		t.owed = make(map[string]time.Time)
	}
	t.owed[port] = until
}

// settle waits until the line is silent and no answer is owed any more: it has
// come, or will not come. What it reads is dropped.
func (t *modbusTools) settle(c *rpc.Call, p device.Port, silence, timeout time.Duration) error {
	t.mu.Lock()
	owed := t.owed[p.Name()]
	delete(t.owed, p.Name())
	t.mu.Unlock()
	r := p.Received()
	start := time.Now()
	_, from := r.Bounds()
	var buf [modbus.MaxRTU]byte
	for {
		now := time.Now()
		_, end := r.Bounds()
		quiet := r.Last().Add(silence)
		if n, _ := r.ReadAt(buf[:], from); now.Before(owed) && modbus.WholeRTU(buf[:n]) {
			owed = now // it has come
		}
		until := quiet
		if until.Before(owed) {
			until = owed
		}
		if !now.Before(until) {
			return nil
		}
		if c.Cancelled() || now.Sub(start) > 2*timeout+time.Second {
			t.owe(p.Name(), owed)
			return &device.Error{Subject: p.Name(), Kind: device.ErrBusy, Reason: "the line is never silent, so nothing was sent",
				Hint: "another master or a device that talks by itself is on it; uart_read shows what comes"}
		}
		if _, err := r.Wait(end, earlier(until, now.Add(cancelEvery))); err != nil {
			return err
		}
		if !r.Last().Add(max(silence, frameGap)).After(time.Now()) {
			_, from = r.Bounds() // a frame has ended
		}
	}
}

// askTCP sends a request over a connection of its own: what comes on it answers
// nothing older.
func (t *modbusTools) askTCP(c *rpc.Call, to netip.AddrPort, unit byte, request modbus.Request, timeout time.Duration) ([]byte, error) {
	deadline := within(c, timeout)
	conn, err := t.tcp.Dial(to, deadline)
	if err != nil {
		return nil, notSent{err}
	}
	defer conn.Close()
	t.mu.Lock()
	t.transaction++
	transaction := t.transaction
	t.mu.Unlock()
	if err := conn.Write(request.AppendTCP(nil, transaction, unit), deadline); err != nil {
		return nil, err
	}
	var buf [modbus.HeaderSize + modbus.MaxPDU]byte
	var wrong error
	for {
		h, pdu, err := readMessage(c, conn, buf[:], deadline)
		if err != nil {
			if wrong != nil {
				err = fmt.Errorf("%w; what came before is no answer: %w", err, wrong)
			}
			return nil, err
		}
		switch {
		case h.Transaction != transaction:
			wrong = fmt.Errorf("it has transaction %d, not %d", h.Transaction, transaction)
			continue
		case h.Unit != unit:
			wrong = modbus.ErrUnit
			continue
		}
		data, err := request.Decode(pdu)
		var refused *modbus.Refusal
		switch {
		case errors.As(err, &refused):
			return nil, fmt.Errorf("unit %d at %s: %w", unit, to, err)
		case err != nil:
			return nil, fmt.Errorf("%s: %d bytes came that are no answer: %w", to, len(pdu), err)
		}
		return append([]byte(nil), data...), nil
	}
}

// readMessage reads one message of Modbus TCP into buf.
func readMessage(c *rpc.Call, conn device.Conn, buf []byte, deadline time.Time) (h modbus.Header, pdu []byte, err error) {
	have, want := 0, modbus.HeaderSize
	for have < want {
		n, err := conn.Read(buf[have:want], earlier(deadline, time.Now().Add(cancelEvery)))
		have += n
		if errors.Is(err, device.ErrTimeout) && time.Now().Before(deadline) && !c.Cancelled() {
			continue
		}
		if err != nil {
			return h, nil, err
		}
		if have == modbus.HeaderSize && want == have {
			if h, err = modbus.DecodeHeader(buf); err != nil {
				return h, nil, err
			}
			want += h.Length
		}
	}
	return h, buf[modbus.HeaderSize:want], nil
}
