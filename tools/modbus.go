package tools

import (
	"errors"
	"fmt"
	"net/netip"
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

func addModbus(cat *rpc.Catalogue, u device.UART, tcp device.TCP) {
	t := &modbusTools{uart: u, tcp: tcp}
	target := rpc.Param{Name: "target", Type: rpc.String, Required: true, Min: 1, Max: maxPortName + maxMode,
		Description: "IP or ttyUSB0 19200 8E1"}
	unit := rpc.Param{Name: "unit", Type: rpc.Integer}
	address := rpc.Param{Name: "address", Type: rpc.Integer, Required: true}
	typ := rpc.Param{Name: "type", Type: rpc.String, Max: 16}
	timeout := rpc.Param{Name: "timeout_ms", Type: rpc.Integer}
	about := []rpc.Field{
		{Name: "unit", Type: rpc.Integer},
		{Name: "kind", Type: rpc.String},
		{Name: "address", Type: rpc.Integer},
		{Name: "type", Type: rpc.String, Optional: true},
		{Name: "order", Type: rpc.String, Optional: true, Description: "of the words of a value"},
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
				rpc.Field{Name: "hex", Type: rpc.String, Optional: true, Description: "of text that is not printable"}),
			Queue:   t.queue,
			Timeout: (maxModbusWait + 5000) * time.Millisecond,
			Run:     t.read,
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
			Queue:   t.queue,
			Timeout: (maxModbusWait + 5000) * time.Millisecond,
			Run:     t.write,
		})
}

type modbusTools struct {
	uart device.UART // nil where the board has none
	tcp  device.TCP  // nil where the board has none

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
	g := parseTarget(c.Str(0))
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

// place is the unit and the address, arguments 1 and 3.
func place(c *rpc.Call) (unit byte, address uint16, err error) {
	u, a := c.IntOr(1, 1), c.Int(3)
	switch {
	case u < 0 || u > 255:
		return 0, 0, fmt.Errorf(`parameter "unit" is %d; 0 to 255 are allowed, and 1 to 247 on a serial line`, u)
	case a < 0 || a > 65535:
		return 0, 0, fmt.Errorf(`parameter "address" is %d; 0 to 65535 are allowed: without the 4xxxx of a manual, which counts from 1`, a)
	}
	return byte(u), uint16(a), nil
}

func (t *modbusTools) read(c *rpc.Call) error {
	v, err := valueOf(c)
	if err != nil {
		return err
	}
	_, address, err := place(c)
	if err != nil {
		return err
	}
	count, err := bounded(c, 4, `parameter "count"`, 1, modbus.MaxReadBits, 1)
	if err != nil {
		return err
	}
	words := int(count)
	if !v.kind.Bits() {
		words *= v.typ.Registers()
	}
	request, err := modbus.Read(v.kind, address, words)
	if err != nil {
		return err
	}
	data, err := t.ask(c, request)
	if err != nil {
		return err
	}
	dst := appendModbus(c, v)
	switch {
	case v.kind.Bits():
		dst = append(wire.AppendKey(dst, "bits"), '"')
		dst = append(modbus.Bits(dst, data, words), '"')
	case v.typ == modbus.Text && utf8.Valid(data) && isText(trimText(data), false):
		dst = append(wire.AppendKey(dst, "values"), '[')
		dst = append(wire.AppendBytes(dst, trimText(data)), ']')
	case v.typ == modbus.Text:
		dst = wire.AppendHex(wire.AppendKey(dst, "hex"), data)
	default:
		dst = append(wire.AppendKey(dst, "values"), '[')
		size := 2 * v.typ.Registers()
		for i := 0; i < len(data); i += size {
			dst = append(wire.AppendSep(dst), '"')
			dst = append(modbus.AppendValue(dst, data[i:i+size], v.typ, v.little), '"')
		}
		dst = append(dst, ']')
	}
	c.Out = append(dst, '}')
	return nil
}

// trimText is text without the zeros and blanks that fill its last registers.
func trimText(b []byte) []byte { return []byte(strings.TrimRight(string(b), "\x00 ")) }

// appendModbus begins a result with what was asked.
func appendModbus(c *rpc.Call, v value) []byte {
	dst := wire.AppendInt(append(c.Out, `{"unit":`...), c.IntOr(1, 1))
	dst = wire.AppendString(wire.AppendKey(dst, "kind"), modbusKinds[v.kind])
	dst = wire.AppendInt(wire.AppendKey(dst, "address"), c.Int(3))
	if !v.kind.Bits() {
		dst = wire.AppendString(wire.AppendKey(dst, "type"), v.typ.String())
	}
	if v.typ.Registers() > 1 {
		order := "big"
		if v.little {
			order = "little"
		}
		dst = wire.AppendString(wire.AppendKey(dst, "order"), order)
	}
	return dst
}

func (t *modbusTools) write(c *rpc.Call) error {
	v, err := valueOf(c)
	if err != nil {
		return err
	}
	_, address, err := place(c)
	if err != nil {
		return err
	}
	var request modbus.Request
	written := 0
	if v.kind == modbus.Coils {
		bits, err := modbus.ParseBits(c.Str(4))
		if err != nil {
			return err
		}
		if request, err = modbus.WriteBits(address, bits); err != nil {
			return err
		}
		written = len(bits)
	} else {
		registers, err := modbus.ParseValues(c.Str(4), v.typ, v.little)
		if err != nil {
			return err
		}
		if request, err = modbus.WriteRegisters(address, registers); err != nil {
			return err
		}
		written = len(registers)
	}
	_, err = t.ask(c, request)
	silent := err == errBroadcast
	if err != nil && !silent {
		var refused *modbus.Refusal
		if !errors.As(err, &refused) && !errors.Is(err, errNotSent) {
			err = fmt.Errorf("%w. Whether the write acted is unknown: read before you write again", err)
		}
		return err
	}
	dst := wire.AppendInt(wire.AppendKey(appendModbus(c, v), "written"), int64(written))
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
func (t *modbusTools) ask(c *rpc.Call, request modbus.Request) ([]byte, error) {
	unit, _, _ := place(c)
	ms, err := bounded(c, 6, `parameter "timeout_ms"`, 1, maxModbusWait, defaultWait.Milliseconds())
	if err != nil {
		return nil, notSent{err}
	}
	timeout := time.Duration(ms) * time.Millisecond
	g := parseTarget(c.Str(0))
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
		n, first := r.ReadAt(buf[:], start)
		got := buf[:n]
		_, now := r.Bounds()
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
