package tools

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

const (
	maxCANFilters   = 32
	maxCANCount     = 200
	defaultCANCount = 16
	maxCANWait      = 60 * time.Second
	defaultCANWait  = time.Second
	maxCANTroubles  = 8 // different ones in an answer

	// canSendWait is how long a frame may take to get on the bus: thousands of
	// frames of a full one.
	canSendWait = time.Second
	// canMargin is what an answer needs before its call's deadline.
	canMargin = 100 * time.Millisecond
)

// The formats of a frame besides the classic one: a remote frame, whose data only
// say how many bytes it asks for, and FD, with its data at the other bit rate or
// not.
var canFormats = []string{"rtr", "fd", "fd_brs"}

func addCAN(cat *rpc.Catalogue, can device.CAN) {
	t := &canTools{can: can}
	name := rpc.Param{Name: "interface", Type: rpc.String, Max: maxName}
	nameField := rpc.Field{Name: "interface", Type: rpc.String}
	idField := rpc.Field{Name: "id", Type: rpc.String, Description: "3 hex digits, extended 8"}
	next := rpc.Field{Name: "next", Type: rpc.Integer, Description: "offset of what comes after"}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "can_send",
			Title:       "Send CAN",
			Description: "Sent once. Ends when it was on the bus.",
			Hints:       rpc.Hints{Destructive: true},
			Params: []rpc.Param{
				name,
				{Name: "id", Type: rpc.String, Required: true, Max: 16, Description: "hex; 8 digits: extended"},
				{Name: "data", Type: rpc.Bytes, Max: device.MaxCANFDData, Description: "hex"},
				{Name: "format", Type: rpc.String, Choices: canFormats},
			},
			Result: []rpc.Field{nameField, idField,
				{Name: "time", Type: rpc.String, Description: "RFC 3339, UTC: on the bus"}, next},
			Queue:    func(c *rpc.Call) string { return t.queue(c, "") },
			Subjects: t.subject,
			Run:      t.send,
		},
		rpc.Tool{
			Name:        "can_receive",
			Title:       "Receive CAN",
			Description: "Wait for frames. All since the last can_ call are kept.",
			Hints:       rpc.Hints{ReadOnly: true},
			Params: []rpc.Param{
				name,
				{Name: "filter", Type: rpc.String, Max: 512, Description: `ids, as "7e8,123/7f0"`},
				{Name: "count", Type: rpc.Integer, Min: 1, Max: maxCANCount},
				{Name: "timeout_ms", Type: rpc.Integer, Min: 0, Max: int64(maxCANWait / time.Millisecond), Description: "default 1000"},
				{Name: "offset", Type: rpc.Integer},
			},
			Result: []rpc.Field{nameField,
				{Name: "link", Type: rpc.String},
				{Name: "start", Type: rpc.String, Optional: true, Description: "RFC 3339, UTC: of the first frame"},
				{Name: "frames", Type: rpc.Objects, Fields: []rpc.Field{
					idField,
					{Name: "ms", Type: rpc.Number, Description: "after start"},
					{Name: "data", Type: rpc.String, Optional: true, Description: "hex"},
					{Name: "format", Type: rpc.String, Optional: true},
					{Name: "length", Type: rpc.Integer, Optional: true, Description: "bytes that an rtr asks for"},
					{Name: "esi", Type: rpc.Boolean, Optional: true, Description: "its sender is ERROR-PASSIVE"},
				}},
				{Name: "errors", Type: rpc.Strings, Optional: true, Description: "that the controller reported, and how often"},
				{Name: "lost", Type: rpc.Integer, Optional: true, Description: "frames that came too fast or are too old"},
				next},
			Queue:    func(c *rpc.Call) string { return t.queue(c, " receive") },
			Timeout:  maxCANWait + rpc.DefaultTimeout,
			Subjects: t.subject,
			Run:      t.receive,
		})
}

type canTools struct {
	can device.CAN

	mu   sync.Mutex
	next map[string]uint64 // where the last call on each interface ended
}

// link is the link that argument 0 names, or the only one.
func (t *canTools) link(c *rpc.Call) (device.CANLink, error) {
	links, err := t.can.Links(nil)
	if err != nil {
		return device.CANLink{}, err
	}
	if !c.Has(0) && len(links) == 1 {
		return links[0], nil
	}
	name, err := listedName(t.can, c)
	if err != nil {
		return device.CANLink{}, err
	}
	var names []string
	for _, l := range links {
		if c.Has(0) && l.Name == name {
			return l, nil
		}
		names = append(names, l.Name)
	}
	return device.CANLink{}, notChosen(c, "interface", "CAN interface", fmt.Sprintf("CAN interface %.64q", c.Str(0)), names)
}

// queue is the interface's own, with another for those who wait for frames, so
// that a question can be sent meanwhile; only of an interface that exists.
func (t *canTools) queue(c *rpc.Call, suffix string) string {
	l, err := t.link(c)
	if err != nil {
		return "" // the handler says so
	}
	return l.Name + suffix
}

// ended notes where a call has ended. The interfaces are the board's, and few.
func (t *canTools) ended(name string, next uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.next == nil || len(t.next) >= maxKnown {
		t.next = make(map[string]uint64)
	}
	t.next[name] = next
}

func (t *canTools) send(c *rpc.Call) error {
	l, err := t.link(c)
	if err != nil {
		return err
	}
	f, err := frameOf(c)
	if err != nil {
		return err
	}
	when, next, err := t.can.Send(l.Name, &f, within(c, canSendWait))
	if err != nil {
		return err
	}
	t.ended(l.Name, next)
	dst := wire.AppendString(append(c.Out, `{"interface":`...), l.Name)
	dst = wire.AppendString(wire.AppendKey(dst, "id"), f.String())
	dst = appendMicros(wire.AppendKey(dst, "time"), when)
	dst = wire.AppendUint(wire.AppendKey(dst, "next"), next)
	c.Out = append(dst, '}')
	return nil
}

// frameOf is the frame that the arguments of can_send describe.
func frameOf(c *rpc.Call) (device.CANFrame, error) {
	var f device.CANFrame
	var err error
	f.ID, f.Extended, err = parseCANID(c.Str(1))
	if err != nil {
		return f, fmt.Errorf(`parameter "id" is %.64q: %w`, c.Str(1), err)
	}
	data := c.Bytes(2)
	f.Len = uint8(len(data))
	switch c.Str(3) {
	case "rtr":
		f.Remote = true
	case "fd_brs":
		f.BRS = true
		fallthrough
	case "fd":
		f.FD = true
	}
	if !f.Remote {
		copy(f.Data[:], data)
	}
	return f, f.Check()
}

// within is the moment so long from now, or a little before the call's deadline.
func within(c *rpc.Call, wait time.Duration) time.Time {
	at := time.Now().Add(wait)
	if last := c.Deadline().Add(-canMargin); !c.Deadline().IsZero() && at.After(last) {
		return last
	}
	return at
}

func (t *canTools) receive(c *rpc.Call) error {
	l, err := t.link(c)
	if err != nil {
		return err
	}
	filters, err := parseCANFilter(c.Str(1))
	if err != nil {
		return err
	}
	from := uint64(device.CANFromNow)
	t.mu.Lock()
	if next, ok := t.next[l.Name]; ok {
		from = next
	}
	t.mu.Unlock()
	if c.Has(4) {
		if c.Int(4) < 0 {
			return fmt.Errorf(`parameter "offset" is %d; it is the next of an earlier answer, or 0 for the oldest that is kept`, c.Int(4))
		}
		from = uint64(c.Int(4))
	}
	var troubles canTroubles
	cost := 0
	frames, taken, err := t.can.Receive(l.Name, device.CANWanted{
		From:     from,
		Count:    int(c.IntOr(2, defaultCANCount)),
		Deadline: within(c, time.Duration(c.IntOr(3, int64(defaultCANWait/time.Millisecond)))*time.Millisecond),
		Stop:     c.Cancelled,
		Match: func(f *device.CANFrame) device.CANVerdict {
			if f.Error {
				troubles.add(f.Trouble())
				return device.CANSkip
			}
			if !filters.match(f) {
				return device.CANSkip
			}
			// Each frame goes out twice, as in page.add: 80 bytes with its quotes
			// escaped, and three for each of its data.
			n := 2*(80+3*int(f.Len)) + 16
			if cost += n; cost > pageCost {
				return device.CANEnd
			}
			return device.CANTake
		},
	}, nil)
	if err != nil {
		return err
	}
	t.ended(l.Name, taken.Next)
	if now, err := t.link(c); err == nil {
		l = now
	}
	dst := wire.AppendString(append(c.Out, `{"interface":`...), l.Name)
	dst = wire.AppendString(wire.AppendKey(dst, "link"), l.String())
	if len(frames) > 0 {
		dst = appendMicros(wire.AppendKey(dst, "start"), frames[0].Time)
	}
	dst = append(wire.AppendKey(dst, "frames"), '[')
	for i := range frames {
		dst = appendCANFrame(wire.AppendSep(dst), &frames[i], frames[0].Time)
	}
	dst = append(dst, ']')
	dst = troubles.append(dst)
	if taken.Lost > 0 {
		dst = wire.AppendUint(wire.AppendKey(dst, "lost"), taken.Lost)
	}
	dst = wire.AppendUint(wire.AppendKey(dst, "next"), taken.Next)
	c.Out = append(dst, '}')
	return nil
}

func appendCANFrame(dst []byte, f *device.CANReceived, start time.Time) []byte {
	dst = wire.AppendString(append(dst, `{"id":`...), f.String())
	dst = wire.AppendDecimal(wire.AppendKey(dst, "ms"), f.Time.Sub(start).Microseconds(), -3)
	format := ""
	switch {
	case f.Remote:
		format = "rtr"
	case f.BRS:
		format = "fd_brs"
	case f.FD:
		format = "fd"
	}
	if f.Remote {
		dst = wire.AppendInt(wire.AppendKey(dst, "length"), int64(f.Len))
	} else {
		dst = wire.AppendHex(wire.AppendKey(dst, "data"), f.Data[:f.Len])
	}
	if format != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "format"), format)
	}
	if f.ESI {
		dst = append(wire.AppendKey(dst, "esi"), "true"...)
	}
	return append(dst, '}')
}

func appendMicros(dst []byte, t time.Time) []byte {
	dst = t.UTC().AppendFormat(append(dst, '"'), "2006-01-02T15:04:05.000000Z07:00")
	return append(dst, '"')
}

// canTroubles counts what error frames say: a controller in trouble sends the
// same thousands of times.
type canTroubles struct {
	words  []string
	counts []int
	more   int
}

func (t *canTroubles) add(words string) {
	for i := range t.words {
		if t.words[i] == words {
			t.counts[i]++
			return
		}
	}
	if len(t.words) >= maxCANTroubles {
		t.more++
		return
	}
	t.words, t.counts = append(t.words, words), append(t.counts, 1)
}

func (t *canTroubles) append(dst []byte) []byte {
	if len(t.words) == 0 {
		return dst
	}
	dst = append(wire.AppendKey(dst, "errors"), '[')
	for i, words := range t.words {
		if t.counts[i] > 1 {
			words += " (" + strconv.Itoa(t.counts[i]) + " times)"
		}
		dst = wire.AppendString(wire.AppendSep(dst), words)
	}
	if t.more > 0 {
		dst = wire.AppendString(wire.AppendSep(dst), "and "+strconv.Itoa(t.more)+" others")
	}
	return append(dst, ']')
}

// canFilter is one identifier and the bits of it that count.
type canFilter struct {
	id, mask uint32
	extended bool
}

// canFilters match what any of them does, and without any everything.
type canFilters []canFilter

func (all canFilters) match(f *device.CANFrame) bool {
	for _, x := range all {
		if f.Extended == x.extended && f.ID&x.mask == x.id&x.mask {
			return true
		}
	}
	return len(all) == 0
}

// parseCANFilter reads identifiers between commas or blanks, each with an
// optional mask behind a slash.
func parseCANFilter(text string) (canFilters, error) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
	if len(words) > maxCANFilters {
		return nil, fmt.Errorf(`parameter "filter" has %d identifiers; %d are allowed`, len(words), maxCANFilters)
	}
	var all canFilters
	for _, word := range words {
		id, mask, masked := strings.Cut(word, "/")
		x := canFilter{mask: device.MaxExtendedCANID}
		var err error
		x.id, x.extended, err = parseCANID(id)
		if err == nil && masked {
			x.mask, err = parseCANMask(mask)
		}
		if err != nil {
			return nil, fmt.Errorf(`parameter "filter" holds %.64q: %w`, word, err)
		}
		all = append(all, x)
	}
	return all, nil
}

var (
	errCANID   = errors.New(`give hex digits: 3 at most for a standard identifier (to 7ff), 8 or a trailing x for an extended one (to 1fffffff), as "7e8" or "18ff1234"`)
	errCANMask = errors.New(`give the mask as hex digits, as "7f0": its bits are those that must be equal`)
)

// parseCANID reads an identifier: of up to three hex digits a standard one, of
// eight, or with an x behind it, an extended one. A 0x before it is passed over.
func parseCANID(text string) (id uint32, extended bool, err error) {
	digits := strings.TrimPrefix(strings.ToLower(text), "0x")
	digits, extended = strings.CutSuffix(digits, "x")
	extended = extended || len(digits) == 8
	v, err := strconv.ParseUint(digits, 16, 32)
	limit := uint64(device.MaxCANID)
	if extended {
		limit = device.MaxExtendedCANID
	}
	if err != nil || len(digits) > 8 || !extended && len(digits) > 3 || v > limit {
		return 0, false, errCANID
	}
	return uint32(v), extended, nil
}

func parseCANMask(text string) (uint32, error) {
	v, err := strconv.ParseUint(strings.TrimPrefix(strings.ToLower(text), "0x"), 16, 32)
	if err != nil || v > device.MaxExtendedCANID {
		return 0, errCANMask
	}
	return uint32(v), nil
}
