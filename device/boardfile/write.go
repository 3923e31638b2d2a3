package boardfile

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"boardhand/device"
)

// scanWait bounds the scan of one bus.
const scanWait = 10 * time.Second

// Append appends a board file that names all that board b has, each as a comment:
// it opens nothing until a person takes the # away. It scans the I2C buses, which
// takes a while.
func Append(dst []byte, b device.Board) []byte {
	w := writer{dst}
	info := b.Info()
	w.text("The board file of this board: %s.", info.Model)
	w.text("What stands here is open to an AI client, and nothing else. Take the # away from")
	w.text("what you want to open, give it a name and say what it is. Then: boardhand check FILE")
	w.text("")
	w.text("access is \"read\" unless it says \"write\". confirm = true asks you before each call")
	w.text("that acts on the thing. Of an output, safe is the level that it goes to whenever the")
	w.text("client is gone, and max_on the longest that it may be on.")
	w.blank()
	w.pair("name", "myboard")
	w.pair("description", "What it is for, in a sentence")
	w.raw("allow = \"listed\"  # or \"everything\": what the file does not name is open too")
	w.raw("read_only = false  # true: nothing may be changed, whatever stands below")
	w.blank()
	w.raw("[tools]")
	w.raw("deny = [\"i2c_transfer\"]  # tools that nobody may call; \"gpio_*\" is all of a kind")
	w.raw("confirm = [\"modbus_write\"]  # tools before which you are asked")
	w.blank()
	w.raw("[limits]")
	w.raw("calls = \"50/s\"")
	w.blank()
	w.raw("[audit]")
	w.raw("file = \"/var/log/boardhand/audit.jsonl\"")
	w.blank()
	w.raw("[system]")
	w.raw("access = \"read\"  # load, memory, storage and networks of the machine")
	w.lines(b)
	w.i2c(b)
	w.sensors(b)
	w.uarts(b)
	w.rest(b)
	return w.out
}

type writer struct{ out []byte }

// raw appends a line of TOML, as a comment.
func (w *writer) raw(line string) { w.out = append(append(append(w.out, "# "...), line...), '\n') }

// text appends a line for a person. It has two #, so that taking one away from all
// leaves a comment.
func (w *writer) text(format string, args ...any) {
	line := printable(fmt.Sprintf(format, args...))
	w.out = append(append(append(w.out, "## "...), line...), '\n')
}

func (w *writer) blank() { w.out = append(w.out, '\n') }

func (w *writer) table(name string) {
	w.blank()
	w.raw("[[" + name + "]]")
}

func (w *writer) pair(key, value string) { w.raw(key + " = " + quote(value)) }

// quote is a text as a basic string of TOML.
func quote(text string) string {
	var s strings.Builder
	s.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			s.WriteByte('\\')
			s.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&s, `\u%04x`, r)
		default:
			s.WriteRune(r)
		}
	}
	s.WriteByte('"')
	return s.String()
}

// printable is a text that a comment may have.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// failed notes why a family could not be looked at.
func (w *writer) failed(family string, err error) {
	if err != nil {
		w.text("%s: %v", family, err)
	}
}

func (w *writer) lines(b device.Board) {
	g := b.GPIO()
	if g == nil {
		return
	}
	w.blank()
	w.text("Digital lines. Keys besides these: initial, on, min_off = \"10s\", needs = [\"fan\"],")
	w.text("excludes = [\"valve\"], confirm, rate = \"10/min\".")
	lines, err := g.Lines(nil)
	w.failed("lines", err)
	for i := range lines {
		l := &lines[i]
		if l.Owner != "" {
			w.blank()
			w.text("%s is in use: %s", l.Name, l.Owner)
			continue
		}
		w.table("line")
		w.pair("line", l.Name)
		w.pair("name", identifier(l.Name))
		w.pair("description", "")
		if l.Direction == device.Out {
			w.raw(`access = "write"  # it is an output now`)
			w.pair("safe", "low")
		} else {
			w.pair("access", "read")
		}
	}
}

// identifier makes a name of the board's into one that a user may give.
func identifier(name string) string {
	s := strings.Map(func(r rune) rune {
		if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_.-", r)) {
			return unicode.ToLower(r)
		}
		return '_'
	}, name)
	if s == "" || !unicode.IsLetter(rune(s[0])) {
		s = "x" + s
	}
	return s[:min(len(s), 32)]
}

func (w *writer) i2c(b device.Board) {
	c := b.I2C()
	if c == nil {
		return
	}
	w.blank()
	w.text("I2C. Behind a chip its registers can stand, each with a name, type and unit:")
	w.text("  [[i2c.register]]")
	w.text("  register = 0xd0")
	w.text("  name = \"id\"")
	w.text("  type = \"u8\"")
	w.text("access = \"none\" on the chip leaves open what its registers open.")
	buses, err := c.Buses(nil)
	w.failed("I2C", err)
	for _, bus := range buses {
		w.blank()
		w.text("i2c-%d, %s", bus.Number, bus.Name)
		end := time.Now().Add(scanWait)
		found, err := c.Scan(bus.Number, 0x08, 0x77, nil, device.Scanning{Stop: func() bool { return time.Now().After(end) }})
		w.failed("the scan", err)
		for _, o := range found {
			if o.Driver != "" {
				w.text("0x%02x is in use: the kernel driver %s", o.Addr, o.Driver)
				continue
			}
			w.table("i2c")
			w.raw(fmt.Sprintf("bus = %d", bus.Number))
			w.raw(fmt.Sprintf("address = 0x%02x", o.Addr))
			w.pair("name", fmt.Sprintf("chip_%d_%02x", bus.Number, o.Addr))
			w.pair("description", "")
			w.pair("access", "read")
		}
	}
}

func (w *writer) sensors(b device.Board) {
	s := b.Sensors()
	if s == nil {
		return
	}
	w.blank()
	w.text("Sensors. scale, offset and unit convert a value: litres out of volts. min and max")
	w.text("bound what is to be expected.")
	all, err := s.List(nil)
	w.failed("sensors", err)
	for i := range all {
		w.table("sensor")
		w.pair("sensor", all[i].Name)
		w.pair("name", identifier(all[i].Name))
		w.raw(fmt.Sprintf("description = %s  # %s in %s", quote(all[i].Label), all[i].Quantity, all[i].Quantity.Unit()))
	}
}

func (w *writer) uarts(b device.Board) {
	if u := b.UART(); u != nil {
		w.blank()
		w.text("Serial ports. \"read\" sends nothing but commands = [\"MEAS?\"]; \"write\" sends all.")
		all, err := u.Ports(nil)
		w.failed("serial ports", err)
		for i := range all {
			p := &all[i]
			if p.Owner != "" {
				w.blank()
				w.text("%s is in use: %s", p.Name, p.Owner)
				continue
			}
			w.table("uart")
			port := p.Name
			if p.ByID != "" {
				port = p.ByID
			}
			w.pair("port", port)
			w.pair("name", identifier(p.Name))
			text := ""
			if p.USB != nil {
				text = printable(p.USB.Text)
			}
			w.pair("description", text)
			w.raw(`mode = "115200 8N1"`)
			w.pair("access", "read")
		}
	}
	if b.UART() == nil && b.TCP() == nil {
		return
	}
	w.blank()
	w.text("Modbus: a device on a serial port or the network, and its values.")
	w.table("modbus")
	w.pair("target", "192.0.2.1")
	w.raw("unit_id = 1")
	w.pair("name", "plc")
	w.pair("access", "none")
	w.blank()
	w.raw("[[modbus.point]]")
	w.pair("name", "setpoint")
	w.pair("kind", "holding")
	w.raw("address = 0")
	w.pair("type", "i16")
	w.raw("scale = 0.1")
	w.pair("unit", "°C")
	w.raw("min = 5")
	w.raw("max = 30")
	w.pair("access", "write")
}

func (w *writer) rest(b device.Board) {
	if s := b.SPI(); s != nil {
		w.blank()
		w.text("SPI. \"read\" needs the commands that only read; \"write\" sends all.")
		all, err := s.Devices(nil)
		w.failed("SPI", err)
		for _, d := range all {
			if d.Owner != "" {
				w.blank()
				w.text("%s is in use: the kernel driver %s", d.Name, d.Owner)
				continue
			}
			w.table("spi")
			w.pair("device", d.Name)
			w.pair("name", identifier(d.Name))
			w.pair("access", "write")
		}
	}
	if c := b.CAN(); c != nil {
		w.blank()
		w.text("CAN. send has the identifiers that may be sent: [\"7df\", \"7e0/7f8\"].")
		all, err := c.Links(nil)
		w.failed("CAN", err)
		for i := range all {
			w.table("can")
			w.pair("interface", all[i].Name)
			w.pair("name", identifier(all[i].Name)+"_bus")
			w.pair("access", "read")
		}
	}
	if p := b.PWM(); p != nil {
		w.blank()
		w.text("PWM. min_hz, max_hz, min_duty and max_duty (%%) bound it.")
		all, err := p.Channels(nil)
		w.failed("PWM", err)
		for _, ch := range all {
			w.table("pwm")
			w.pair("channel", ch.Name)
			w.pair("name", identifier(ch.Name))
			w.pair("access", "write")
			w.pair("safe", "off")
		}
	}
	if l := b.LEDs(); l != nil {
		w.blank()
		w.text("LEDs.")
		names, err := l.Names(nil)
		w.failed("LEDs", err)
		for _, name := range names {
			w.table("led")
			w.pair("led", name)
			w.pair("name", "led_"+identifier(name))
			w.pair("access", "write")
		}
	}
}
