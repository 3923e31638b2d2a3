package tools

import (
	"errors"
	"strings"
	"sync"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// maxLinesRead is how many lines one gpio_read may name.
const maxLinesRead = 64

// maxName is the longest name of a line or a sensor, in bytes; the kernel's own
// names have 32 at most.
const maxName = 128

// maxPulse is the longest for_ms: a day.
const maxPulse = 24 * time.Hour

func addGPIO(cat *rpc.Catalogue, g device.GPIO, guard *Guard) {
	t := &gpioTools{gpio: g, names: lineNames{gpio: g}, guard: guard}
	reads := rpc.Hints{ReadOnly: true, Idempotent: true}
	cat.Tools = append(cat.Tools,
		rpc.Tool{
			Name:        "gpio_list",
			Title:       "List lines",
			Description: "Digital lines. One with an owner is in use, and refused.",
			Hints:       reads,
			Params: []rpc.Param{
				{Name: "match", Type: rpc.String, Description: "part of a name"},
				offsetParam,
			},
			Result: append([]rpc.Field{
				{Name: "lines", Type: rpc.Objects, Fields: lineFields},
			}, pageFields...),
			Run: t.list,
		},
		rpc.Tool{
			Name:        "gpio_read",
			Title:       "Read lines",
			Description: "1 high, 0 low; reversed where active_low.",
			Hints:       reads,
			Params: []rpc.Param{
				{Name: "lines", Type: rpc.Strings, Required: true, Max: maxName, MaxItems: maxLinesRead},
			},
			Result: []rpc.Field{
				{Name: "lines", Type: rpc.Objects, Fields: []rpc.Field{
					{Name: "line", Type: rpc.String},
					{Name: "level", Type: rpc.Integer},
				}},
			},
			Queue:    t.readQueue,
			Subjects: t.lineSubjects,
			Run:      t.read,
		},
		rpc.Tool{
			Name:        "gpio_write",
			Title:       "Write a line",
			Description: "Make a line an output until this server ends; then it is as it was. Know what is connected first.",
			Hints:       rpc.Hints{Destructive: true},
			Params: []rpc.Param{
				{Name: "line", Type: rpc.String, Required: true, Max: maxName},
				{Name: "level", Type: rpc.Integer, Required: true, Min: 0, Max: 1},
				{Name: "for_ms", Type: rpc.Integer, Description: "then back; another extends, a write without ends it"},
			},
			Result: []rpc.Field{
				{Name: "line", Type: rpc.String},
				{Name: "level", Type: rpc.Integer},
				{Name: "before", Type: rpc.Object, Fields: []rpc.Field{
					{Name: "direction", Type: rpc.String},
					{Name: "level", Type: rpc.Integer},
				}},
				{Name: "for_ms", Type: rpc.Integer, Optional: true},
			},
			Queue:    t.lineQueue,
			Subjects: t.writeSubject,
			Run:      t.write,
		},
		t.configureTool(), t.waitTool(), t.pulseTool())
	cat.Templates = append(cat.Templates, rpc.Template{
		Prefix:      "gpio://",
		Param:       rpc.Param{Name: "line", Type: rpc.String, Required: true, Complete: t.complete},
		Name:        "gpio",
		Title:       "A line",
		Description: "How a line stands, with its level unless something else owns it.",
		MIMEType:    mimeJSON,
		Queue:       t.lineQueue,
		Read:        t.state,
	})
}

// lineFields are of one line in a list. What is as usual is left out.
var lineFields = []rpc.Field{
	{Name: "line", Type: rpc.String},
	{Name: "direction", Type: rpc.String, Description: "in or out"},
	{Name: "owner", Type: rpc.String, Optional: true},
	{Name: "held", Type: rpc.Boolean, Optional: true, Description: "by this server"},
	{Name: "active_low", Type: rpc.Boolean, Optional: true},
	{Name: "bias", Type: rpc.String, Optional: true, Description: "off, up or down"},
	{Name: "drive", Type: rpc.String, Optional: true, Description: "open_drain or open_source"},
	{Name: "debounce_us", Type: rpc.Integer, Optional: true},
	{Name: "chip", Type: rpc.String, Optional: true},
	descriptionField,
}

type gpioTools struct {
	gpio  device.GPIO
	names lineNames
	guard *Guard

	mu     sync.Mutex // levels
	levels [maxLinesRead]device.Level
}

func (t *gpioTools) list(c *rpc.Call) error {
	offset, err := bounded(c, 1, "offset", 0, maxOffset, 0)
	if err != nil {
		return err
	}
	lines, err := t.gpio.Lines(nil)
	if err != nil {
		return err
	}
	match := strings.ToLower(c.Str(0))
	several := countChips(lines) > 1
	p := page{offset: int(offset)}
	var item []byte
	c.Out = append(c.Out, `{"lines":[`...)
	for i := range lines {
		l := &lines[i]
		if match != "" && !strings.Contains(strings.ToLower(l.Name), match) && !strings.Contains(strings.ToLower(l.Description), match) {
			continue
		}
		item = append(appendLine(item[:0], l, several), '}')
		c.Out = p.add(c.Out, item)
	}
	c.Out = p.end(c.Out)
	return nil
}

// appendLine appends the object that describes a line, left open.
func appendLine(dst []byte, l *device.Line, chip bool) []byte {
	dst = wire.AppendString(append(dst, `{"line":`...), l.Name)
	dst = appendDirection(wire.AppendKey(dst, "direction"), l.Direction)
	if l.Owner != "" {
		dst = wire.AppendString(wire.AppendKey(dst, "owner"), l.Owner)
	}
	if l.Held {
		dst = append(dst, `,"held":true`...)
	}
	dst = appendElectrical(dst, l.ActiveLow, l.Bias, l.Drive, l.Debounce)
	if chip {
		dst = wire.AppendString(wire.AppendKey(dst, "chip"), l.Chip)
	}
	return appendDescription(dst, l.Description)
}

func appendDirection(dst []byte, d device.Direction) []byte {
	if d == device.Out {
		return append(dst, `"out"`...)
	}
	return append(dst, `"in"`...)
}

func (t *gpioTools) read(c *rpc.Call) error {
	names := c.Strs(0)
	levels := t.levels[:]
	// Whoever comes while another call is using the scratch, as one that waits for an expander does, has its own.
	if t.mu.TryLock() {
		defer t.mu.Unlock()
	} else {
		levels = make([]device.Level, maxLinesRead)
	}
	levels = levels[:len(names)]
	if err := t.gpio.Read(names, levels); err != nil {
		return err
	}
	dst := append(c.Out, `{"lines":[`...)
	for i, name := range names {
		dst = wire.AppendString(append(wire.AppendSep(dst), `{"line":`...), name)
		dst = append(wire.AppendInt(append(dst, `,"level":`...), int64(levels[i])), '}')
	}
	c.Out = append(dst, `]}`...)
	return nil
}

func (t *gpioTools) write(c *rpc.Call) error {
	line, err := t.names.find(c.Str(0))
	if err != nil {
		return err
	}
	ms, err := bounded(c, 2, "for_ms", 1, maxPulse.Milliseconds(), 0)
	if err != nil {
		return err
	}
	level := device.Level(c.Int(1))
	before, err := t.guard.write(line, level, time.Duration(ms)*time.Millisecond)
	if err != nil {
		return err
	}
	dst := wire.AppendString(append(c.Out, `{"line":`...), c.Str(0))
	dst = wire.AppendInt(append(dst, `,"level":`...), int64(level))
	dst = appendDirection(append(dst, `,"before":{"direction":`...), before.Direction)
	dst = append(wire.AppendInt(append(dst, `,"level":`...), int64(before.Level)), '}')
	if c.Has(2) {
		dst = wire.AppendInt(append(dst, `,"for_ms":`...), c.Int(2))
	}
	c.Out = append(dst, '}')
	return nil
}

// state is the resource of one line.
func (t *gpioTools) state(c *rpc.Call) error {
	name := c.Str(0)
	line, err := t.gpio.Find(name)
	if errors.Is(err, device.ErrNotFound) {
		return absent{err}
	}
	if err != nil {
		return err
	}
	dst := appendLine(c.Out, &line, true)
	if line.Owner == "" {
		level := make([]device.Level, 1)
		if err := t.gpio.Read([]string{name}, level); err != nil {
			return err
		}
		dst = wire.AppendInt(wire.AppendKey(dst, "level"), int64(level[0]))
	}
	c.Out = append(dst, '}')
	return nil
}

// readQueue is the queue of the first line, of those to read, that has one.
func (t *gpioTools) readQueue(c *rpc.Call) string {
	return t.names.queue(c.Strs(0))
}

// lineQueue is the queue of the line that argument 0 names.
func (t *gpioTools) lineQueue(c *rpc.Call) string {
	line, err := t.names.find(c.Str(0))
	if err != nil {
		return "" // the handler says so
	}
	return line.queue
}

func (t *gpioTools) complete(dst []string, prefix string) []string {
	return appendMatching(dst, prefix, lineNamesOf(t.gpio))
}

func lineNamesOf(g device.GPIO) []string {
	lines, err := g.Lines(nil)
	if err != nil {
		return nil // a completion has no way to say so
	}
	names := make([]string, len(lines))
	for i := range lines {
		names[i] = lines[i].Name
	}
	return names
}

// knownLine is what does not change about a line.
type knownLine struct {
	name  string // the line's own, where it has been called otherwise
	queue string // of its chip, where reaching it needs a bus; else empty
}

// lineNames remembers the lines that were asked for, so that asking again
// allocates nothing and asks no kernel.
type lineNames struct {
	gpio  device.GPIO
	mu    sync.Mutex
	known map[string]knownLine
}

// maxKnown bounds what is remembered of lines, and of sensors; a board with more
// just asks again.
const maxKnown = 1024

func (n *lineNames) find(name string) (knownLine, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.get(name)
}

// queue is the first queue that one of these lines has, or "".
func (n *lineNames) queue(names []string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range names {
		if k, err := n.get(name); err == nil && k.queue != "" {
			return k.queue
		}
	}
	return ""
}

// get is find; the caller has the lock.
func (n *lineNames) get(name string) (knownLine, error) {
	if k, ok := n.known[name]; ok {
		return k, nil
	}
	line, err := n.gpio.Find(name)
	if err != nil {
		return knownLine{}, err
	}
	k := knownLine{name: line.Name}
	if line.Slow {
		k.queue = "gpio:" + line.Chip
	}
	if n.known == nil {
		n.known = make(map[string]knownLine)
	}
	if len(n.known) >= maxKnown {
		clear(n.known)
	}
	n.known[name] = k
	return k, nil
}
