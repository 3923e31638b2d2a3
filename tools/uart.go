package tools

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

const (
	maxPortName = 256   // bytes of a port's name, a by-id path included
	maxMode     = 64    // bytes of a mode
	maxSend     = 4096  // bytes of one exchange
	maxUntil    = 8     // patterns
	maxBreak    = 5000  // ms
	maxExchange = 60000 // ms

	defaultWait = time.Second
	// defaultGap ends an answer of which nobody said how it ends: longer than the 16 ms
	// for which USB adapters collect bytes.
	defaultGap = 50 * time.Millisecond
	// cancelEvery is how often a wait asks whether it is still wanted.
	cancelEvery = 50 * time.Millisecond
)

func addUART(cat *rpc.Catalogue, u device.UART) {
	t := &uartTools{u}
	port := rpc.Param{Name: "port", Type: rpc.String, Required: true, Min: 1, Max: maxPortName}
	hex := rpc.Param{Name: "hex", Type: rpc.Boolean}
	portField := rpc.Field{Name: "port", Type: rpc.String}
	received := []rpc.Field{
		portField,
		{Name: "offset", Type: rpc.Integer, Description: "of the first byte of data, since the port was opened"},
		{Name: "next", Type: rpc.Integer, Description: "since of what follows data"},
		{Name: "data", Type: rpc.String},
		saidField,
		{Name: "hex", Type: rpc.Boolean, Optional: true, Description: "data is hex: it is no printable text, or hex was asked"},
		{Name: "more", Type: rpc.Integer, Optional: true, Description: "bytes from next on"},
		{Name: "lost", Type: rpc.Integer, Optional: true, Description: "bytes before offset that nobody read in time"},
		{Name: "faults", Type: rpc.String, Optional: true, Description: "what the hardware found wrong"},
	}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "uart_list",
			Title:       "List UARTs",
			Description: "Serial ports.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Result: []rpc.Field{
				{Name: "ports", Type: rpc.Objects, Fields: []rpc.Field{
					portField,
					{Name: "by_id", Type: rpc.String, Optional: true},
					{Name: "usb", Type: rpc.String, Optional: true, Description: "vendor:product:serial"},
					{Name: "product", Type: rpc.String, Optional: true},
					{Name: "driver", Type: rpc.String, Optional: true},
					{Name: "owner", Type: rpc.String, Optional: true},
					descriptionField,
					{Name: "open", Type: rpc.String, Optional: true, Description: "its mode, where this server has it open"},
				}},
				{Name: "total", Type: rpc.Integer},
				{Name: "next", Type: rpc.Integer, Optional: true},
			},
			Queue: func(*rpc.Call) string { return "uart_list" },
			Run:   t.list,
		},
		rpc.Tool{
			Name: "uart_exchange", Title: "UART exchange",
			Description: "Write data, read until a text (or a|b), length, gap or timeout. " +
				"First use opens the port, which pulses DTR and resets many boards; it stays open.",
			Hints: rpc.Hints{Destructive: true},
			Params: []rpc.Param{
				port,
				{Name: "data", Type: rpc.String, Max: 3 * maxSend},
				hex,
				{Name: "until", Type: rpc.String, Min: 1, Max: 1024},
				{Name: "length", Type: rpc.Integer},
				{Name: "gap_ms", Type: rpc.Integer},
				{Name: "timeout_ms", Type: rpc.Integer},
				{Name: "mode", Type: rpc.String, Min: 1, Max: maxMode, Description: "first 115200 8N1"},
			},
			Result: append(received[:len(received):len(received)],
				rpc.Field{Name: "ended", Type: rpc.String, Description: "until, length, gap or timeout"},
				rpc.Field{Name: "hint", Type: rpc.String, Optional: true}),
			Queue:    t.queue,
			Timeout:  (maxExchange + 5000) * time.Millisecond,
			Subjects: t.subject,
			Run:      t.exchange,
		},
		rpc.Tool{
			Name:        "uart_read",
			Title:       "Read a UART",
			Description: "What an open port received; 64 KiB are kept.",
			Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
			Params: []rpc.Param{
				port,
				{Name: "since", Type: rpc.Integer, Description: "offset, or -n: the last n"},
				hex,
			},
			Result:   received,
			Subjects: t.subject,
			Run:      t.read,
		},
		rpc.Tool{
			Name:        "uart_control",
			Title:       "Control a UART",
			Description: "Open, set, show or close. Settings last until closed or this server ends.",
			Hints:       rpc.Hints{Destructive: true},
			Params: []rpc.Param{
				port,
				{Name: "mode", Type: rpc.String, Min: 1, Max: maxMode},
				{Name: "dtr", Type: rpc.Boolean},
				{Name: "rts", Type: rpc.Boolean},
				{Name: "break_ms", Type: rpc.Integer},
				{Name: "rs485", Type: rpc.Boolean},
				{Name: "close", Type: rpc.Boolean},
			},
			Result: []rpc.Field{
				portField,
				{Name: "open", Type: rpc.Boolean},
				{Name: "mode", Type: rpc.String, Optional: true},
				{Name: "asserted", Type: rpc.Strings, Optional: true, Description: "modem lines; absent: the port has none"},
				{Name: "rs485", Type: rpc.Boolean, Optional: true},
				{Name: "received", Type: rpc.Integer, Optional: true, Description: "bytes since it was opened"},
				{Name: "faults", Type: rpc.String, Optional: true},
			},
			Queue:    t.queue,
			Subjects: t.subject,
			Run:      t.control,
		})
}

type uartTools struct{ uart device.UART }

// queue is the port's own: only of a port that exists, so that nobody makes queues up.
func (t *uartTools) queue(c *rpc.Call) string {
	name, err := t.uart.Find(c.Str(0))
	if err != nil {
		return "" // the handler says so
	}
	return name
}

func (t *uartTools) list(c *rpc.Call) error {
	ports, err := t.uart.Ports(nil)
	if err != nil {
		return err
	}
	var p page
	var item []byte
	c.Out = append(c.Out, `{"ports":[`...)
	for i := range ports {
		item = append(t.appendPort(item[:0], &ports[i]), '}')
		c.Out = p.add(c.Out, item)
	}
	c.Out = p.end(c.Out)
	return nil
}

// appendPort appends the object that describes a port, left open.
func (t *uartTools) appendPort(dst []byte, p *device.UARTPort) []byte {
	dst = wire.AppendString(append(dst, `{"port":`...), p.Name)
	optional := func(key, value string) {
		if value != "" {
			dst = wire.AppendString(wire.AppendKey(dst, key), value)
		}
	}
	optional("by_id", p.ByID)
	if p.USB != nil {
		optional("usb", p.USB.String())
		optional("product", p.USB.Text)
	}
	optional("driver", p.Driver)
	optional("owner", p.Owner)
	dst = appendDescription(dst, p.Description)
	if open := t.uart.Opened(p.Name); open != nil {
		optional("open", open.Mode().String())
	}
	return dst
}

// openPort gives the port that argument 0 names, in the mode that the text names;
// a port that is not open is opened in first but for that.
func openPort(u device.UART, name, mode string, first device.PortMode) (device.Port, error) {
	base := first
	open, err := u.Find(name)
	if err != nil {
		return nil, err
	}
	if moded, ok := u.(device.Moded); ok {
		if only, ok := moded.ModeOf(name); ok {
			base = only
		}
	}
	if p := u.Opened(open); p != nil {
		base = p.Mode()
	}
	want, err := device.ParsePortMode(mode, base)
	if err != nil {
		return nil, err
	}
	p, err := u.Open(name, want)
	if err != nil {
		return nil, err
	}
	if p.Mode() != want {
		return p, p.SetMode(want)
	}
	return p, nil
}

// earlier is the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (t *uartTools) exchange(c *rpc.Call) error {
	hex := c.Bool(2)
	data, err := bytesOf("data", c.Str(1), hex)
	if err != nil {
		return err
	}
	if len(data) > maxSend {
		return fmt.Errorf("data has %d bytes; %d are allowed in one exchange", len(data), maxSend)
	}
	patterns, err := patternsOf(c, hex)
	if err != nil {
		return err
	}
	length, err := bounded(c, 4, `parameter "length"`, 1, device.ReceiverSize, 0)
	if err != nil {
		return err
	}
	gap, err := bounded(c, 5, `parameter "gap_ms"`, 1, maxExchange, 0)
	if err != nil {
		return err
	}
	timeout, err := bounded(c, 6, `parameter "timeout_ms"`, 1, maxExchange, defaultWait.Milliseconds())
	if err != nil {
		return err
	}
	p, err := openPort(t.uart, c.Str(0), c.Str(7), device.DefaultMode)
	if err != nil {
		return err
	}
	until := answerEnd{patterns: patterns, length: uint64(length), gap: time.Duration(gap) * time.Millisecond}
	if len(patterns) == 0 && until.length == 0 && until.gap == 0 {
		until.gap = max(defaultGap, p.Mode().Time(4))
	}
	faults := p.Faults()
	_, start := p.Received().Bounds()
	deadline := within(c, time.Duration(timeout)*time.Millisecond+p.Mode().Time(len(data)))
	if len(data) > 0 {
		if _, err := p.Write(data, deadline); err != nil {
			return err
		}
	}
	end, ended, err := until.wait(c, p.Received(), start, deadline)
	if err != nil {
		return err
	}
	dst := appendReceived(c.Out, p, start, end, formOf(c), p.Faults().Sub(faults))
	dst = wire.AppendString(wire.AppendKey(dst, "ended"), ended)
	if end == start {
		dst = wire.AppendString(wire.AppendKey(dst, "hint"), "nothing came: check the mode (now "+p.Mode().String()+
			"), that TX goes to RX, and the line end that the device wants")
	}
	c.Out = append(dst, '}')
	return nil
}

// patternsOf is the patterns of the argument until: the parts between bars.
func patternsOf(c *rpc.Call, hex bool) ([]string, error) {
	if !c.Has(3) {
		return nil, nil
	}
	parts := strings.Split(c.Str(3), "|")
	if len(parts) > maxUntil {
		return nil, fmt.Errorf("until has %d texts between bars; %d are allowed", len(parts), maxUntil)
	}
	for i, part := range parts {
		pattern, err := bytesOf("until", part, hex)
		if err != nil {
			return nil, err
		}
		if len(pattern) == 0 {
			return nil, fmt.Errorf(`until is %.60q, with nothing beside a bar; give what ends the answer, such as "OK|ERROR" (a bar itself is 7c with hex)`, c.Str(3))
		}
		parts[i] = string(pattern)
	}
	return parts, nil
}

// bytesOf is the bytes that an argument means.
func bytesOf(param, text string, hex bool) ([]byte, error) {
	if !hex {
		return []byte(text), nil
	}
	digits := strings.Map(func(r rune) rune {
		if r == ' ' || r == ':' || r == '\n' {
			return -1
		}
		return r
	}, strings.TrimPrefix(text, "0x"))
	b := make([]byte, 0, len(digits)/2)
	for i := 0; i+1 < len(digits); i += 2 {
		v, err := strconv.ParseUint(digits[i:i+2], 16, 8)
		if err != nil {
			break
		}
		b = append(b, byte(v))
	}
	if 2*len(b) != len(digits) {
		return nil, fmt.Errorf(`%s is %.60q, but hex is true; give pairs of hex digits such as "0a ff", or leave hex out`, param, text)
	}
	return b, nil
}

// answerEnd is what ends an answer.
type answerEnd struct {
	patterns []string
	length   uint64        // 0: no length
	gap      time.Duration // 0: no gap
}

// wait waits for the end of an answer that begins at start, and gives the offset
// behind it and which of its ends it was.
func (e *answerEnd) wait(c *rpc.Call, r *device.Receiver, start uint64, deadline time.Time) (end uint64, ended string, err error) {
	longest := 0
	for _, p := range e.patterns {
		longest = max(longest, len(p))
	}
	searched := start // no pattern begins before it
	for {
		_, now := r.Bounds()
		if at, found := r.Find(e.patterns, searched); found {
			// A length that was reached before counts first.
			if e.length == 0 || at-start <= e.length {
				return at, "until", nil
			}
		}
		if e.length > 0 && now-start >= e.length {
			return start + e.length, "length", nil
		}
		if longest > 0 && now >= start+uint64(longest) {
			searched = max(searched, now-uint64(longest)+1)
		}
		until := deadline
		if e.gap > 0 && now > start {
			until = earlier(until, r.Last().Add(e.gap))
		}
		for {
			if c.Cancelled() {
				return now, "timeout", nil // nobody hears it
			}
			more, err := r.Wait(now, earlier(until, time.Now().Add(cancelEvery)))
			if err != nil {
				if now > start {
					err = fmt.Errorf("%w (%d bytes of an answer had come)", err, now-start)
				}
				return 0, "", err
			}
			if more {
				break
			}
			if time.Now().Before(until) {
				continue
			}
			if until.Before(deadline) {
				return now, "gap", nil
			}
			return now, "timeout", nil
		}
	}
}

// read answers at once, also while an exchange on the port waits.
func (t *uartTools) read(c *rpc.Call) error {
	name, err := t.uart.Find(c.Str(0))
	if err != nil {
		return err
	}
	p := t.uart.Opened(name)
	if p == nil {
		return fmt.Errorf("%s is not open, so nothing was received; uart_control opens it, and uart_exchange", name)
	}
	oldest, end := p.Received().Bounds()
	since := oldest
	if c.Has(1) {
		switch n := c.Int(1); {
		case n >= 0 && uint64(n) > end:
			return fmt.Errorf("since is %d, but %s has received %d bytes since it was opened; leave since out to read from the oldest byte kept", n, p.Name(), end)
		case n >= 0:
			since = uint64(n)
		default:
			since = max(oldest, end-min(end, uint64(-n)))
		}
	}
	c.Out = append(appendReceived(c.Out, p, since, end, formOf(c), p.Faults()), '}')
	return nil
}

// form is how received bytes are told.
type form uint8

const (
	readable form = iota // as text where a person can read it
	asText               // as text where it is UTF-8 at all
	asHex
)

// formOf is what argument 2, hex, asks for.
func formOf(c *rpc.Call) form {
	switch {
	case !c.Has(2):
		return readable
	case c.Bool(2):
		return asHex
	}
	return asText
}

// appendReceived appends what p received from offset from to end, as much as one
// answer takes, as the object of a result, left open.
func appendReceived(dst []byte, p device.Port, from, end uint64, as form, faults device.LineFaults) []byte {
	buf := make([]byte, min(end-from, pageCost/2))
	n, first := p.Received().ReadAt(buf, from)
	first = min(first, end)
	data := buf[:min(uint64(n), end-first)]
	text := as != asHex && isText(data, as == asText)
	if text {
		data = data[:textPage(data)]
		// A character whose rest is still to come is left for the next call.
		if cut := cutRune(data); cut < len(data) && cut > 0 {
			data = data[:cut]
		}
	} else {
		data = data[:min(len(data), pageCost/6)] // "0a " twice
	}
	next := first + uint64(len(data))
	dst = wire.AppendString(append(dst, `{"port":`...), p.Name())
	dst = wire.AppendUint(wire.AppendKey(dst, "offset"), first)
	dst = wire.AppendUint(wire.AppendKey(dst, "next"), next)
	if text {
		dst = appendSaid(wire.AppendBytes(wire.AppendKey(dst, "data"), data), len(data))
	} else {
		dst = append(wire.AppendHex(wire.AppendKey(dst, "data"), data), `,"hex":true`...)
	}
	if _, now := p.Received().Bounds(); now > next {
		dst = wire.AppendUint(wire.AppendKey(dst, "more"), now-next)
	}
	if first > from {
		dst = wire.AppendUint(wire.AppendKey(dst, "lost"), first-from)
	}
	if s := faults.String(); s != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "faults"), s)
	}
	return dst
}

// isText says that b is UTF-8, but for a last character that is cut short, and
// printable: its control characters are those with which terminals work. asked:
// any control character will do.
func isText(b []byte, asked bool) bool {
	cut := cutRune(b)
	if cut == 0 && len(b) > 0 || !utf8.Valid(b[:cut]) {
		return false
	}
	for _, c := range b {
		if !asked && (c < 0x20 && (c < '\a' || c > '\r') && c != 0x1b || c == 0x7f) {
			return false
		}
	}
	return true
}

// cutRune is the length of b without a last character that is cut short.
func cutRune(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		at := len(b) - n
		if utf8.RuneStart(b[at]) {
			if !utf8.FullRune(b[at:]) {
				return at
			}
			break
		}
	}
	return len(b)
}

// textPage is how many bytes of text one answer takes. It holds the text twice,
// the second time with its escapes escaped.
func textPage(b []byte) int {
	cost := 0
	for i, c := range b {
		switch {
		case c == '"' || c == '\\':
			cost += 6
		case c == '\n' || c == '\r' || c == '\t' || c == '\b' || c == '\f':
			cost += 5
		case c < 0x20 || c == 0x7f:
			cost += 13
		default:
			cost += 2
		}
		if cost > pageCost {
			return i
		}
	}
	return len(b)
}

func (t *uartTools) control(c *rpc.Call) error {
	name, err := t.uart.Find(c.Str(0))
	if err != nil {
		return err
	}
	pause, err := bounded(c, 4, `parameter "break_ms"`, 1, maxBreak, 0)
	if err != nil {
		return err
	}
	p := t.uart.Opened(name)
	sets := false
	for i := 1; i < 6; i++ {
		sets = sets || c.Has(i)
	}
	if p == nil && c.Bool(6) && !sets {
		c.Out = append(wire.AppendString(append(c.Out, `{"port":`...), name), `,"open":false}`...)
		return nil
	}
	if p, err = openPort(t.uart, name, c.Str(1), device.DefaultMode); err != nil {
		return err
	}
	for _, step := range []struct {
		arg int
		do  func() error
	}{
		{5, func() error { return p.SetRS485(c.Bool(5)) }},
		{2, func() error { return p.SetDTR(c.Bool(2)) }},
		{3, func() error { return p.SetRTS(c.Bool(3)) }},
		{4, func() error { return p.Break(time.Duration(pause) * time.Millisecond) }},
	} {
		if c.Has(step.arg) {
			if err := step.do(); err != nil {
				return err
			}
		}
	}
	dst := wire.AppendString(append(c.Out, `{"port":`...), name)
	if c.Bool(6) {
		if err := p.Close(); err != nil {
			return err
		}
		c.Out = append(dst, `,"open":false}`...)
		return nil
	}
	dst = append(dst, `,"open":true`...)
	dst = wire.AppendString(wire.AppendKey(dst, "mode"), p.Mode().String())
	if m, err := p.Modem(); err == nil {
		dst = append(wire.AppendKey(dst, "asserted"), '[')
		for _, line := range []struct {
			on   bool
			name string
		}{{m.DTR, "DTR"}, {m.RTS, "RTS"}, {m.CTS, "CTS"}, {m.DSR, "DSR"}, {m.DCD, "DCD"}, {m.Ring, "RI"}} {
			if line.on {
				dst = wire.AppendString(wire.AppendSep(dst), line.name)
			}
		}
		dst = append(dst, ']')
	}
	if on, err := p.RS485(); err == nil {
		dst = wire.AppendBool(wire.AppendKey(dst, "rs485"), on)
	}
	_, received := p.Received().Bounds()
	dst = wire.AppendUint(wire.AppendKey(dst, "received"), received)
	if s := p.Faults().String(); s != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "faults"), s)
	}
	c.Out = append(dst, '}')
	return nil
}
