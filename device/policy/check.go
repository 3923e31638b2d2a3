package policy

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"boardhand/device"
)

// Fault is what is wrong with a rule: at Path, as "line[2].max_on", Text.
type Fault struct{ Path, Text string }

func (f *Fault) Error() string { return f.Path + " " + f.Text }

// The limits of what a person may write.
const (
	maxName        = 32  // bytes of a name
	maxDescription = 200 // bytes
	maxUnit        = 16  // bytes
	maxCommands    = 64
	maxCommand     = 256 // bytes
	maxPath        = 4096
	maxBus         = 1023
	maxTime        = 30 * 24 * 60 * 60 // seconds
	minGrace       = 2 * time.Second
)

// MinHTTPGrace is the least time without a request after which a client over HTTP may be
// taken for gone.
const MinHTTPGrace = time.Second

// Check says what of the rules cannot be, whatever the board, as a *Fault: the
// first of each kind of thing.
func (r *Rules) Check() error {
	c := checking{rules: r, names: make(map[string]string)}
	for _, check := range []func(){c.board, c.lines, c.chips, c.spi, c.sensors, c.uarts, c.can, c.modbus, c.pwm, c.leds, c.tools, c.rest} {
		if check(); c.fault != nil {
			return c.fault
		}
	}
	return nil
}

// checking is a look at rules that ends with the first fault.
type checking struct {
	rules *Rules
	names map[string]string // what each name is of, as "line[0]"
	fault *Fault
}

// fail notes what is wrong where nothing was yet.
func (c *checking) fail(path, format string, args ...any) {
	if c.fault == nil {
		c.fault = &Fault{path, fmt.Sprintf(format, args...)}
	}
}

// failIf is fail for what a function of another package says.
func (c *checking) failIf(path string, err error) {
	if err != nil {
		c.fail(path, "is %v", err)
	}
}

func at(table string, i int) string { return fmt.Sprintf("%s[%d]", table, i) }

func (c *checking) board() {
	if c.rules.Name != "" {
		c.failIf("name", checkName(c.rules.Name))
	}
	c.failIf("description", checkText(c.rules.Description, maxDescription))
}

// checkName says why a name is none. A name goes into commands, addresses and
// sentences, so it has no blanks and nothing that looks like anything else.
func checkName(name string) error {
	const allowed = "a letter, then letters, digits, _, . and -, at most 32 bytes, are allowed"
	first := true
	for _, r := range name {
		if r == utf8.RuneError || !unicode.IsLetter(r) && (first || !unicode.IsDigit(r) && !strings.ContainsRune("_.-", r)) {
			return fmt.Errorf("%.64q; %s", name, allowed)
		}
		first = false
	}
	if name == "" || len(name) > maxName {
		return fmt.Errorf("%.64q; %s", name, allowed)
	}
	return nil
}

// checkText says why a text is none for a person and a model.
func checkText(text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%d bytes long; %d are allowed", len(text), limit)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%.64q; one line of printable text is allowed", text)
		}
	}
	return nil
}

// rule checks what rules share. A thing needs no name of the user's.
func (c *checking) rule(path string, r *Rule) {
	if r.Name != "" {
		c.failIf(path+".name", checkName(r.Name))
		c.unique(path+".name", r.Name)
	}
	c.failIf(path+".description", checkText(r.Description, maxDescription))
	if r.Confirm && r.Access != AccessWrite && !strings.HasPrefix(path, "i2c[") && !strings.HasPrefix(path, "modbus[") {
		c.fail(path+".confirm", `is of what acts; give access = "write" too`)
	}
}

// unique notes a name that the whole file may have once.
func (c *checking) unique(path, name string) {
	if other := c.names[name]; other != "" {
		c.fail(path, "is %q, as is that of %s; give each thing a name of its own", name, c.placeOf(other))
	}
	c.names[name] = path
}

// placeOf is a path as a person finds it: "the line GPIO17" is more than he needs.
func (c *checking) placeOf(path string) string {
	table, index, _ := strings.Cut(path, "[")
	number, _, _ := strings.Cut(index, "]")
	n := 0
	fmt.Sscan(number, &n)
	return fmt.Sprintf("[[%s]] number %d", table, n+1)
}

// given checks that a key that every entry of a table needs is there, and once.
func (c *checking) given(path, key, value string, seen map[string]bool) {
	switch {
	case value == "":
		c.fail(path, "has no %s; it says which one is meant", key)
	case len(value) > 128 || checkText(value, 128) != nil:
		c.fail(path+"."+key, "is %.40q; at most 128 bytes of printable text are allowed", value)
	case seen[value]:
		c.fail(path+"."+key, "is %q for the second time; give each one entry", value)
	}
	seen[value] = true
}

// only says that keys belong to access = "write".
func (c *checking) only(path string, access Access, keys map[string]bool) {
	if access == AccessWrite {
		return
	}
	for _, key := range keysOf(keys) {
		if keys[key] {
			c.fail(path+"."+key, `is of an output; give access = "write" too`)
		}
	}
}

// span checks that the least is not above the most, both where given and in
// bounds.
func (c *checking) span(path, low, high string, least, most *float64, lowest, highest float64) {
	for key, v := range map[string]*float64{low: least, high: most} {
		if v != nil && !(*v >= lowest && *v <= highest) {
			c.fail(path+"."+key, "is %v; %v to %v are allowed", *v, lowest, highest)
		}
	}
	if least != nil && most != nil && *least > *most {
		c.fail(path+"."+low, "is %v, above %s, which is %v", *least, high, *most)
	}
}

func (c *checking) lines() {
	seen := make(map[string]bool)
	for i := range c.rules.Lines {
		l, path := &c.rules.Lines[i], at("line", i)
		c.given(path, "line", l.Line, seen)
		c.rule(path, &l.Rule)
		c.only(path, l.Access, map[string]bool{"safe": l.Safe != LevelUnset, "initial": l.Initial != LevelUnset, "max_on": l.MaxOn != 0,
			"min_off": l.MinOff != 0, "on": l.On != LevelUnset, "needs": l.Needs != nil, "excludes": l.Excludes != nil})
		switch {
		case l.MaxOn.Seconds() > maxTime:
			c.fail(path+".max_on", "is %v; 30 days are the most", l.MaxOn)
		case l.MinOff.Seconds() > maxTime:
			c.fail(path+".min_off", "is %v; 30 days are the most", l.MinOff)
		case l.On == LevelInput:
			c.fail(path+".on", `is "input"; "low" or "high" is allowed`)
		case l.Initial == LevelUnset || l.Initial != l.on():
		case l.MaxOn != 0 || l.Needs != nil || l.Excludes != nil:
			c.fail(path+".initial", "is %q, which is on; a line with max_on, needs or excludes begins off", l.Initial)
		}
		if l.Safe != LevelUnset && l.Safe == l.on() {
			if l.MaxOn != 0 {
				c.fail(path+".safe", "is %q, which is on, and max_on would end it; one of them is wrong", l.Safe)
			}
			if l.On != LevelUnset && (l.Needs != nil || l.MinOff != 0) {
				c.fail(path+".safe", "is %q, which is on; a line with needs or min_off is safe when it is off", l.Safe)
			}
		}
	}
	for i := range c.rules.Lines {
		c.interlocks(at("line", i), &c.rules.Lines[i])
	}
}

// on is the level at which a line is on.
func (l *Line) on() Level {
	switch {
	case l.On != LevelUnset:
		return l.On
	case l.Safe == LevelHigh:
		return LevelLow
	}
	return LevelHigh
}

// interlocks checks that the names of needs and excludes are lines that can be
// written, and that none needs itself, by whatever way.
func (c *checking) interlocks(path string, l *Line) {
	for key, names := range map[string][]string{"needs": l.Needs, "excludes": l.Excludes} {
		for _, name := range names {
			other := c.rules.Line(name)
			switch {
			case other == nil:
				c.fail(path+"."+key, "has %.64q, which is no line of this file; it has %s", name, listed(c.rules.lineNames()))
			case other == l:
				c.fail(path+"."+key, "has the line itself, %q", name)
			case other.Access != AccessWrite && key == "needs":
				c.fail(path+".needs", `has %q, which nobody may switch on; give that one access = "write"`, name)
			case slices.Contains(l.Needs, name) && slices.Contains(l.Excludes, name):
				c.fail(path+".excludes", "has %q, which needs has too", name)
			}
		}
	}
	if c.fault == nil && c.needsItself(l, l, make(map[*Line]bool)) {
		c.fail(path+".needs", "leads back to %q: none of them could be first", l.shown())
	}
}

// needsItself says whether what l needs leads to start. Each line is looked at once.
func (c *checking) needsItself(start, l *Line, seen map[*Line]bool) bool {
	for _, name := range l.Needs {
		other := c.rules.Line(name)
		if other == start {
			return true
		}
		if other == nil || seen[other] {
			continue
		}
		seen[other] = true
		if c.needsItself(start, other, seen) {
			return true
		}
	}
	return false
}

// Line is the rule of the line that the user, or else the board, calls name; or nil.
func (r *Rules) Line(name string) *Line {
	for i := range r.Lines {
		if r.Lines[i].shown() == name {
			return &r.Lines[i]
		}
	}
	for i := range r.Lines {
		if r.Lines[i].Line == name {
			return &r.Lines[i]
		}
	}
	return nil
}

func (r *Rules) lineNames() []string {
	names := make([]string, len(r.Lines))
	for i := range r.Lines {
		names[i] = r.Lines[i].shown()
	}
	return names
}

func (c *checking) chips() {
	for i := range c.rules.I2C {
		chip, path := &c.rules.I2C[i], at("i2c", i)
		c.rule(path, &chip.Rule)
		last := uint16(0x7f)
		if chip.TenBit {
			last = 0x3ff
		}
		switch {
		case chip.Bus < 0 || chip.Bus > maxBus:
			c.fail(path+".bus", "is %d; 0 to %d are allowed", chip.Bus, maxBus)
		case !chip.Addresses.Set:
			c.fail(path, `has no address; give one as 0x76, two as "0x20-0x27", or "any"`)
		case !chip.Addresses.Any() && chip.Addresses.Last > last:
			c.fail(path+".address", "is %v; up to %#02x is allowed", chip.Addresses, last)
		case chip.registerWidth() < 0 || chip.registerWidth() > 2:
			c.fail(path+".register_width", "is %d; 0 to 2 bytes are allowed", *chip.RegisterWidth)
		case chip.registerWidth() == 0 && len(chip.Registers) > 0:
			c.fail(path+".register_width", "is 0, yet the chip has registers; leave one of them out")
		case chip.RegisterBytes < 0 || chip.RegisterBytes > 8:
			c.fail(path+".register_bytes", "is %d; 1 to 8 are allowed", chip.RegisterBytes)
		case chip.Name != "" && chip.Addresses.First != chip.Addresses.Last:
			c.fail(path+".name", "is %q, but the entry has several addresses; name a single one", chip.Name)
		}
		for j := range c.rules.I2C[:i] {
			if other := &c.rules.I2C[j]; other.Bus == chip.Bus && other.TenBit == chip.TenBit && other.Addresses == chip.Addresses {
				c.fail(path+".address", "is %v of bus %d for the second time; give each one entry", chip.Addresses, chip.Bus)
			}
		}
		c.registers(path, chip)
	}
}

func (c *checking) registers(path string, chip *Chip) {
	names := make(map[string]bool)
	for j := range chip.Registers {
		r, path := &chip.Registers[j], fmt.Sprintf("%s.register[%d]", path, j)
		if r.Name != "" {
			c.failIf(path+".name", checkName(r.Name))
			if names[r.Name] {
				c.fail(path+".name", "is %q for the second time in this chip", r.Name)
			}
			names[r.Name] = true
		}
		c.failIf(path+".description", checkText(r.Description, maxDescription))
		switch {
		case !r.Numbers.Set:
			c.fail(path, `has no register; give one as 0xf7, or two as "0xf7-0xfe"`)
		case chip.registerWidth() < 2 && r.Numbers.Last > 0xff:
			c.fail(path+".register", "is %v; up to 0xff is allowed, or give the chip register_width = 2", r.Numbers)
		}
		c.value(path, &r.Value, false)
		size := max(r.Value.form(false).Size(), 1)
		if n := (size + chip.registerBytes() - 1) / chip.registerBytes(); r.Type != "" && r.Numbers.First != r.Numbers.Last && int(r.Numbers.Last-r.Numbers.First)+1 != n {
			c.fail(path+".register", "is %v, but a %s takes %d; give the first alone", r.Numbers, r.Type, n)
		}
	}
}

func (c *Chip) registerBytes() int { return max(c.RegisterBytes, 1) }

func (c *Chip) registerWidth() int {
	if c.RegisterWidth == nil {
		return 1
	}
	return *c.RegisterWidth
}

// form is the value as package device has it.
func (v *Value) form(words bool) *device.Form {
	f := &device.Form{Type: v.Type, Little: v.Order == "little", Words: words, Unit: v.Unit}
	if words && f.Type == "" {
		f.Type = "u16"
	}
	if f.Type == "text" {
		f.Type = ""
	}
	if v.Scale != nil {
		f.Scale = *v.Scale
	}
	if v.Offset != nil {
		f.Offset = *v.Offset
	}
	return f
}

// value checks what says how bytes are a number.
func (c *checking) value(path string, v *Value, words bool) {
	if words && v.Type == "text" {
		if v.Min != nil || v.Max != nil || v.Scale != nil || v.Offset != nil {
			c.fail(path+".type", "is text, which is no number: it has no min, max, scale or offset")
		}
		return
	}
	c.failIf(path+".type", v.form(words).CheckType())
	if words && (v.Type == "u8" || v.Type == "i8" || v.Type == "u24" || v.Type == "i24") {
		c.fail(path+".type", "is %q; of registers u16, i16, u32, i32, f32, u64, i64, f64 and text are allowed", v.Type)
	}
	if v.Order != "" && v.Order != "big" && v.Order != "little" {
		c.fail(path+".order", `is %.20q; "big" or "little" is allowed`, v.Order)
	}
	if v.Type == "" && !words {
		for key, given := range map[string]bool{"min": v.Min != nil, "max": v.Max != nil, "scale": v.Scale != nil, "offset": v.Offset != nil, "unit": v.Unit != ""} {
			if given {
				c.fail(path+"."+key, `is of a number; give its type too, such as type = "u8"`)
			}
		}
	}
	c.conversion(path, v.Scale, v.Unit)
	c.span(path, "min", "max", v.Min, v.Max, math.Inf(-1), math.Inf(1))
}

func (c *checking) conversion(path string, scale *device.Decimal, unit string) {
	if scale != nil && scale.Value == 0 {
		c.fail(path+".scale", "is 0, which makes everything 0; any other number is allowed")
	}
	c.failIf(path+".unit", checkText(unit, maxUnit))
}

func (c *checking) spi() {
	seen := make(map[string]bool)
	for i := range c.rules.SPI {
		s, path := &c.rules.SPI[i], at("spi", i)
		c.given(path, "device", s.Device, seen)
		c.rule(path, &s.Rule)
		c.commands(path, s.Commands)
		for _, command := range s.Commands {
			if _, err := parseHex(command); err != nil || command == "" {
				c.fail(path+".commands", `has %.40q; pairs of hex digits as "9f" are allowed`, command)
			}
		}
		if s.MaxHz < 0 || s.MaxHz > math.MaxUint32 {
			c.fail(path+".max_hz", "is %d; 1 to %d are allowed", s.MaxHz, uint32(math.MaxUint32))
		}
		if s.Mode != nil && (*s.Mode < 0 || *s.Mode > 3) {
			c.fail(path+".mode", "is %d; 0 to 3 are allowed", *s.Mode)
		}
		if s.Access <= AccessRead && s.Access != AccessNone && len(s.Commands) == 0 {
			c.fail(path, `has no commands: a transfer always writes, so "read" needs those that only read, as commands = ["9f", "03"]`)
		}
	}
}

func (c *checking) commands(path string, commands []string) {
	if len(commands) > maxCommands {
		c.fail(path+".commands", "has %d; %d are allowed", len(commands), maxCommands)
	}
	for _, command := range commands {
		if len(command) > maxCommand {
			c.fail(path+".commands", "has one of %d bytes; %d are allowed", len(command), maxCommand)
		}
	}
}

func (c *checking) sensors() {
	seen := make(map[string]bool)
	for i := range c.rules.Sensors {
		s, path := &c.rules.Sensors[i], at("sensor", i)
		c.given(path, "sensor", s.Sensor, seen)
		c.rule(path, &s.Rule)
		if s.Access == AccessWrite {
			c.fail(path+".access", `is "write", but a sensor is read; "read" or "none" is allowed`)
		}
		c.conversion(path, s.Scale, s.Unit)
		c.span(path, "min", "max", s.Min, s.Max, math.Inf(-1), math.Inf(1))
		if s.Unit == "" && (s.Scale != nil || s.Offset != nil) {
			c.fail(path, "has scale or offset, but no unit; say what the result is in")
		}
	}
}

func (c *checking) uarts() {
	seen := make(map[string]bool)
	for i := range c.rules.UARTs {
		u, path := &c.rules.UARTs[i], at("uart", i)
		c.given(path, "port", u.Port, seen)
		c.rule(path, &u.Rule)
		c.mode(path+".mode", u.Mode)
		c.commands(path, u.Commands)
		switch {
		case u.MaxSend < 0:
			c.fail(path+".max_send", "is %d; 1 or more are allowed", u.MaxSend)
		case u.Control != nil && *u.Control && u.Access != AccessWrite:
			c.fail(path+".control", `is true; give access = "write" too`)
		case u.Access == AccessWrite && u.Commands != nil:
			c.fail(path+".commands", `is what "read" may send; "write" sends everything, so leave one out`)
		}
	}
}

func (c *checking) mode(path, mode string) {
	if mode == "" {
		return
	}
	if _, err := device.ParsePortMode(mode, device.DefaultMode); err != nil {
		var e *device.Error
		errors.As(err, &e)
		c.fail(path, "is %.40q: %s; %s", mode, e.Reason, e.Hint)
	}
}

func (c *checking) can() {
	seen := make(map[string]bool)
	for i := range c.rules.CAN {
		n, path := &c.rules.CAN[i], at("can", i)
		c.given(path, "interface", n.Interface, seen)
		c.rule(path, &n.Rule)
		for key, ids := range map[string][]string{"send": n.Send, "receive": n.Receive} {
			if len(ids) > maxCommands {
				c.fail(path+"."+key, "has %d; %d are allowed", len(ids), maxCommands)
			}
			for _, id := range ids {
				if _, err := parseCANFilter(id); err != nil {
					c.fail(path+"."+key, "has %.40q; %v", id, err)
				}
			}
		}
		if n.Send != nil && n.Access != AccessWrite {
			c.fail(path+".send", `is what may be sent; give access = "write" too`)
		}
	}
}

func (c *checking) modbus() {
	for i := range c.rules.Modbus {
		m, path := &c.rules.Modbus[i], at("modbus", i)
		c.rule(path, &m.Rule)
		switch {
		case m.Target == "":
			c.fail(path, `has no target; give a serial port or an address, as "ttyUSB1" or "192.0.2.10"`)
		case len(m.Target) > 128:
			c.fail(path+".target", "is %d bytes long; 128 are allowed", len(m.Target))
		case m.Mode != "" && isAddress(m.Target):
			c.fail(path+".mode", "is of a serial line, and %s is an address; leave it out", m.Target)
		case m.UnitID != nil && (*m.UnitID < 0 || *m.UnitID > 255):
			c.fail(path+".unit_id", "is %d; 0 to 255 are allowed", *m.UnitID)
		}
		c.mode(path+".mode", m.Mode)
		for _, u := range c.rules.UARTs {
			if on := u.Port == m.Target || u.Name == m.Target; on && u.Access == AccessWrite {
				c.fail(path+".target", `is %q, whose [[uart]] has access = "write": raw bytes could do what these rules forbid; give that one "read"`, m.Target)
			} else if on && u.Mode != "" && m.Mode != "" {
				c.fail(path+".mode", "is %q, and that of the [[uart]] is %q; give it there alone", m.Mode, u.Mode)
			}
		}
		for j := range c.rules.Modbus[:i] {
			if other := &c.rules.Modbus[j]; other.Target == m.Target && other.unit() == m.unit() {
				c.fail(path, "is unit %d at %s for the second time; give each one entry", m.unit(), m.Target)
			}
		}
		for j := range m.Points {
			c.point(fmt.Sprintf("%s.point[%d]", path, j), &m.Points[j])
		}
	}
}

func isAddress(target string) bool {
	_, err := netip.ParseAddrPort(target)
	_, err2 := netip.ParseAddr(target)
	return err == nil || err2 == nil
}

func (m *Modbus) unit() int {
	if m.UnitID == nil {
		return 1
	}
	return *m.UnitID
}

// pointKinds are the tables of a Modbus device, and the function code that reads each.
var pointKinds = map[string]byte{"coil": 1, "discrete": 2, "holding": 3, "": 3, "input": 4}

func (c *checking) point(path string, p *Point) {
	if p.Name == "" {
		c.fail(path, "has no name; a point is what a name is for")
	}
	c.rule(path, &p.Rule)
	code, known := pointKinds[p.Kind]
	bits := code == 1 || code == 2
	switch {
	case !known:
		c.fail(path+".kind", `is %.20q; "holding", "input", "coil" or "discrete" is allowed`, p.Kind)
	case p.Address == nil:
		c.fail(path, "has no address; it counts from 0, without the 4xxxx of a manual, which counts from 1")
	case *p.Address < 0 || *p.Address > 0xffff:
		c.fail(path+".address", "is %d; 0 to 65535 are allowed: without the 4xxxx of a manual, which counts from 1", *p.Address)
	case p.Count < 0 || p.Count > 125:
		c.fail(path+".count", "is %d; 1 to 125 are allowed", p.Count)
	case p.Access == AccessWrite && (code == 2 || code == 4):
		c.fail(path+".access", `is "write", but no request writes a %s; "read" is allowed`, p.Kind)
	case bits && (p.Type != "" || p.Unit != "" || p.Scale != nil || p.Offset != nil || p.Min != nil || p.Max != nil || p.Order != ""):
		c.fail(path+".kind", "is %s, which is one bit; leave type, order, scale, offset, unit, min and max out", p.Kind)
	case *p.Address+p.numbers() > 0x10000:
		c.fail(path+".address", "is %d, and the point ends above 65535", *p.Address)
	}
	if !bits {
		c.value(path, &p.Value, true)
	}
}

// numbers is how many registers or coils a point has.
func (p *Point) numbers() int {
	each := 1
	if code := pointKinds[p.Kind]; code >= 3 {
		each = max(p.form(true).Size()/2, 1)
	}
	return max(p.Count, 1) * each
}

func (c *checking) pwm() {
	seen := make(map[string]bool)
	for i := range c.rules.PWM {
		p, path := &c.rules.PWM[i], at("pwm", i)
		c.given(path, "channel", p.Channel, seen)
		c.rule(path, &p.Rule)
		c.only(path, p.Access, map[string]bool{"min_hz": p.MinHz != nil, "max_hz": p.MaxHz != nil, "min_duty": p.MinDuty != nil, "max_duty": p.MaxDuty != nil, "safe": p.Safe != nil})
		c.span(path, "min_hz", "max_hz", p.MinHz, p.MaxHz, 0, 1e9)
		c.span(path, "min_duty", "max_duty", p.MinDuty, p.MaxDuty, 0, 100)
	}
}

func (c *checking) leds() {
	seen := make(map[string]bool)
	for i := range c.rules.LEDs {
		l, path := &c.rules.LEDs[i], at("led", i)
		c.given(path, "led", l.LED, seen)
		c.rule(path, &l.Rule)
		c.only(path, l.Access, map[string]bool{"max_brightness": l.MaxBrightness != nil, "safe": l.Safe != nil})
		if b := l.MaxBrightness; b != nil && *b < 0 {
			c.fail(path+".max_brightness", "is %d; 0 or more are allowed", *b)
		}
		if b := l.Safe; b != nil && (*b < 0 || l.MaxBrightness != nil && *b > *l.MaxBrightness) {
			c.fail(path+".safe", "is %d; 0 to max_brightness are allowed", *b)
		}
	}
}

func (c *checking) rest() {
	r := c.rules
	if r.System.Access == AccessWrite {
		c.fail("system.access", `is "write", but the machine's state is read; "read" or "none" is allowed`)
	}
	for key, v := range map[string]int{"jobs": r.Limits.Jobs, "result_bytes": r.Limits.ResultBytes, "handles": r.Limits.Handles} {
		if v < 0 {
			c.fail("limits."+key, "is %d; 1 or more are allowed", v)
		}
	}
	for key, v := range map[string]int{"max_bytes": r.Audit.MaxSize, "keep": r.Audit.Keep} {
		if v < 0 {
			c.fail("audit."+key, "is %d; 1 or more are allowed", v)
		}
	}
	for path, v := range map[string]string{"audit.file": r.Audit.File, "outputs.state": r.Outputs.State, "watchdog.device": r.Watchdog.Device} {
		if v != "" && (v[0] != '/' || len(v) > maxPath || strings.ContainsRune(v, 0)) {
			c.fail(path, "is %.64q; a path that begins with / is allowed", v)
		}
	}
	for key, patterns := range map[string][]string{"allow": r.Tools.Allow, "deny": r.Tools.Deny, "confirm": r.Tools.Confirm, "secret": r.Tools.Secret} {
		for _, p := range patterns {
			c.pattern("tools."+key, p)
		}
	}
	for p := range r.Tools.Rate {
		c.pattern("tools.rate", p)
	}
	if g := r.Outputs.LinkGrace; g != 0 && g < minGrace {
		c.fail("outputs.link_grace", "is %v; %v and more are allowed, for a host that has nothing to say is heard every second", g, minGrace)
	}
	if g := r.Outputs.HTTPGrace; g != 0 && g < MinHTTPGrace {
		c.fail("outputs.http_grace", "is %v; %v and more are allowed, for a client has nothing to say while its model thinks", g, MinHTTPGrace)
	}
	if r.Watchdog.Device == "" && r.Watchdog.Timeout != 0 {
		c.fail("watchdog", `has a timeout and no device; give one as device = "/dev/watchdog"`)
	}
}

// pattern checks the name of a tool, or its begin and a star.
func (c *checking) pattern(path, p string) {
	name := strings.TrimSuffix(p, "*")
	if p == "" || len(p) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		c.fail(path, `has %.64q; a tool's name, or its begin and a star as "gpio_*", is allowed`, p)
	}
}

// tools checks the user's own tools.
func (c *checking) tools() {
	seen := make(map[string]bool)
	for i := range c.rules.Own {
		t, path := &c.rules.Own[i], at("tool", i)
		switch {
		case t.Name == "" || len(t.Name) > maxName || strings.Trim(t.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
			c.fail(path+".name", "is %.64q; a to z, 0 to 9 and _, at most %d, are allowed", t.Name, maxName)
		case seen[t.Name]:
			c.fail(path+".name", "is %q for the second time; give each tool a name of its own", t.Name)
		case len(t.Steps) == 0:
			c.fail(path, "has no steps; give it one [[tool.step]] at least")
		case t.Description == "":
			c.fail(path, "has no description; it is all that the model knows of it")
		}
		seen[t.Name] = true
		c.failIf(path+".title", checkText(t.Title, maxDescription))
		c.failIf(path+".description", checkText(t.Description, 4*maxDescription))
		c.ownTool(path, t)
	}
}
