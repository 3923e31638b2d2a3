package policy

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The limits of a user's tool.
const (
	maxParams   = 32
	maxSteps    = 64
	maxArgument = 4096             // bytes of a text in a step
	maxToolTime = 10 * time.Minute // of all steps together, and of one wait
)

// ownTool checks the parameters and steps of a user's tool.
func (c *checking) ownTool(path string, t *OwnTool) {
	switch {
	case len(t.Params) > maxParams:
		c.fail(path+".param", "has %d entries; %d are allowed", len(t.Params), maxParams)
	case len(t.Steps) > maxSteps:
		c.fail(path+".step", "has %d entries; %d are allowed", len(t.Steps), maxSteps)
	case t.Timeout > maxToolTime:
		c.fail(path+".timeout", "is %v; %v is the most", t.Timeout, maxToolTime)
	}
	names := make([]string, len(t.Params))
	for i := range t.Params {
		p := &t.Params[i]
		c.param(fmt.Sprintf("%s.param[%d]", path, i), p, names[:i])
		names[i] = p.Name
	}
	given := make(map[string]bool)
	for i := range t.Steps {
		c.step(fmt.Sprintf("%s.step[%d]", path, i), t, &t.Steps[i], names, given)
	}
}

// paramTypes are the types of a parameter; empty is the first.
var paramTypes = []string{"string", "integer", "number", "boolean"}

func (c *checking) param(path string, p *ToolParam, before []string) {
	number := p.Type == "integer" || p.Type == "number"
	switch {
	case p.Name == "" || len(p.Name) > maxName || strings.Trim(p.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "":
		c.fail(path+".name", "is %.64q; a to z, 0 to 9 and _, at most %d, are allowed", p.Name, maxName)
	case slices.Contains(before, p.Name):
		c.fail(path+".name", "is %q for the second time in this tool", p.Name)
	case p.Type != "" && !slices.Contains(paramTypes, p.Type):
		c.fail(path+".type", "is %.20q; %s are allowed", p.Type, strings.Join(paramTypes, ", "))
	case !number && p.Min != nil:
		c.fail(path+".min", `is of a number; give type = "integer" or "number"`)
	case !number && p.Max != nil:
		c.fail(path+".max", `is of a number; give type = "integer" or "number"`)
	case !finite(p.Min):
		c.fail(path+".min", "is %v; a finite number is allowed", *p.Min)
	case !finite(p.Max):
		c.fail(path+".max", "is %v; a finite number is allowed", *p.Max)
	case p.Min != nil && p.Max != nil && *p.Min > *p.Max:
		c.fail(path+".min", "is %v, above max, which is %v", *p.Min, *p.Max)
	case p.Choices != nil && p.Type != "" && p.Type != "string":
		c.fail(path+".choices", "are of a string, and this is of type %s", p.Type)
	case p.Default != "" && p.Required:
		c.fail(path+".default", "is given, and required is true; leave one out")
	case p.Default != "" && !p.fits():
		c.fail(path+".default", "is %.64q, which the parameter itself does not allow", p.Default)
	}
	c.failIf(path+".description", checkText(p.Description, maxDescription))
}

func finite(v *float64) bool { return v == nil || !math.IsNaN(*v) && !math.IsInf(*v, 0) }

// fits says whether the default is what the parameter allows.
func (p *ToolParam) fits() bool {
	switch p.Type {
	case "integer", "number":
		v, err := strconv.ParseFloat(p.Default, 64)
		whole := v == float64(int64(v))
		return err == nil && (p.Type == "number" || whole) && (p.Min == nil || v >= *p.Min) && (p.Max == nil || v <= *p.Max)
	case "boolean":
		return p.Default == "true" || p.Default == "false"
	}
	return len(p.Choices) == 0 || slices.Contains(p.Choices, p.Default)
}

// kind is which kind of step it is, and how many it claims to be.
func (s *Step) kind() (kind string, n int) {
	for _, k := range []struct {
		name  string
		given bool
	}{{"set", s.Set != ""}, {"read", s.Read != ""}, {"i2c", s.I2C != ""}, {"uart", s.UART != ""},
		{"modbus", s.Modbus != ""}, {"wait", s.Wait != ""}, {"program", len(s.Program) > 0}} {
		if k.given {
			kind = k.name
			n++
		}
	}
	return kind, n
}

// stepKeys are the keys that a kind of step has besides the one that names it.
var stepKeys = map[string][]string{
	"set": {"level", "for"}, "read": {"as"}, "i2c": {"register", "write", "length", "as"},
	"uart": {"send", "until", "timeout", "as"}, "modbus": {"write", "as"}, "wait": {},
	"program": {"timeout", "max_output", "as"},
}

// shells are programs that run the text after -c as commands.
var shells = []string{"sh", "ash", "bash", "dash", "ksh", "mksh", "zsh", "fish", "csh", "tcsh", "busybox", "su", "script"}

// commandLine says whether a program is such a one, and a parameter is in such a text.
func commandLine(program []string) bool {
	shell := false
	for i, word := range program {
		shell = shell || slices.Contains(shells, word[strings.LastIndex(word, "/")+1:])
		if shell && i > 0 && strings.HasPrefix(program[i-1], "-") && !strings.HasPrefix(program[i-1], "--") && strings.Contains(program[i-1], "c") && strings.Contains(word, "{") {
			return true
		}
	}
	return false
}

// step checks one step. given are the names that results before it have.
func (c *checking) step(path string, t *OwnTool, s *Step, params []string, given map[string]bool) {
	kind, n := s.kind()
	if n != 1 {
		c.fail(path, "is of %d kinds; exactly one of set, read, i2c, uart, modbus, wait and program says which it is", n)
		return
	}
	for key, has := range map[string]bool{"level": s.Level != "", "for": s.For != "", "register": s.Register != "", "write": s.Write != "",
		"length": s.Length != 0, "send": s.Send != "", "until": s.Until != "", "max_output": s.MaxOut != 0, "timeout": s.Timeout != 0, "as": s.As != ""} {
		if has && !slices.Contains(stepKeys[kind], key) {
			c.fail(path+"."+key, "is not of a step with %s; it has %s", kind, strings.Join(append([]string{kind}, stepKeys[kind]...), ", "))
		}
	}
	c.texts(path, s, params)
	writes := kind == "set" || s.Write != "" || s.Send != "" || kind == "program"
	switch {
	case t.ReadOnly && writes:
		c.fail(path, "can change something, and the tool says read_only = true; one of them is wrong")
	case kind == "set" && s.Level == "":
		c.fail(path, `has no level; "low", "high" or a parameter as "{level}" is allowed`)
	case kind == "set" && !strings.Contains(s.Level, "{") && !slices.Contains([]string{"low", "high", "0", "1"}, s.Level):
		c.fail(path+".level", `is %.20q; "low", "high" or a parameter as "{level}" is allowed`, s.Level)
	case kind == "i2c" && s.Write == "" && s.Register == "" && s.Length == 0:
		c.fail(path, "does nothing; give register, write or length")
	case s.Length < 0 || s.Length > 256:
		c.fail(path+".length", "is %d; 1 to 256 are allowed", s.Length)
	case kind == "program" && !strings.HasPrefix(s.Program[0], "/"):
		c.fail(path+".program", "begins with %.64q; the program's whole path, as \"/usr/bin/raspistill\", is allowed, and nothing goes through a shell", s.Program[0])
	case kind == "program" && strings.ContainsAny(s.Program[0], "{}"):
		c.fail(path+".program", "has a parameter for the program itself; only its arguments may have some")
	case kind == "program" && commandLine(s.Program):
		c.fail(path+".program", "gives a shell a command that has a parameter, which would run as part of it; name the program itself, or a script with the parameter as an argument")
	case s.MaxOut < 0:
		c.fail(path+".max_output", "is %d; 1 or more bytes are allowed", s.MaxOut)
	case s.Timeout > maxToolTime:
		c.fail(path+".timeout", "is %v; %v is the most", s.Timeout, maxToolTime)
	case s.As != "":
		c.failIf(path+".as", checkName(s.As))
		if given[s.As] {
			c.fail(path+".as", "is %q for the second time in this tool", s.As)
		}
		given[s.As] = true
	}
	for key, text := range map[string]string{"for": s.For, "wait": s.Wait} {
		if text == "" || strings.Contains(text, "{") {
			continue
		}
		if d, err := time.ParseDuration(text); err != nil || d <= 0 || d > maxToolTime {
			c.fail(path+"."+key, `is %.40q; a time as "500ms" or "5s", up to %v, or a parameter of milliseconds as "{ms}" is allowed`, text, maxToolTime)
		}
	}
	c.thing(path, kind, s)
}

// thing checks that the file has what a step names.
func (c *checking) thing(path, kind string, s *Step) {
	r := c.rules
	switch kind {
	case "set":
		if l := r.Line(s.Set); l == nil {
			c.unknown(path+".set", s.Set, "line", r.lineNames())
		} else if l.Access != AccessWrite {
			c.fail(path+".set", `is %q, which may only be read; give that line access = "write"`, s.Set)
		}
	case "i2c":
		if !slices.ContainsFunc(r.I2C, func(x Chip) bool { return x.Name == s.I2C }) {
			c.unknown(path+".i2c", s.I2C, "chip", namesOf(r.I2C, func(x Chip) string { return x.Name }))
		}
	case "uart":
		if !slices.ContainsFunc(r.UARTs, func(x UART) bool { return x.Name == s.UART || x.Port == s.UART }) {
			c.unknown(path+".uart", s.UART, "serial port", namesOf(r.UARTs, func(x UART) string { return x.Name }))
		}
	case "modbus":
		var points []string
		for i := range r.Modbus {
			points = append(points, r.Modbus[i].pointNames()...)
		}
		if !slices.Contains(points, s.Modbus) {
			c.unknown(path+".modbus", s.Modbus, "point", points)
		}
	case "read":
		if r.Line(s.Read) == nil && !slices.ContainsFunc(r.Sensors, func(x Sensor) bool { return x.Name == s.Read || x.Sensor == s.Read }) {
			c.unknown(path+".read", s.Read, "line or sensor", append(r.lineNames(), namesOf(r.Sensors, func(x Sensor) string { return x.Name })...))
		}
	}
}

// unknown notes a name that nothing in the file has. Where all that the file does
// not name is open, the board may have it.
func (c *checking) unknown(path, name, noun string, names []string) {
	if c.rules.Allow == Everything && (noun == "line" || noun == "line or sensor" || noun == "serial port") {
		return
	}
	have := "none"
	if len(names) > 0 {
		have = listed(names)
	}
	c.fail(path, "is %.64q, which is no %s of this file; it has %s", name, noun, have)
}

func namesOf[T any](all []T, name func(T) string) []string {
	var names []string
	for _, x := range all {
		if n := name(x); n != "" {
			names = append(names, n)
		}
	}
	return names
}

// texts checks the texts of a step, whose {param} must be parameters.
func (c *checking) texts(path string, s *Step, params []string) {
	all := map[string]string{"level": s.Level, "for": s.For, "wait": s.Wait, "write": s.Write, "send": s.Send, "until": s.Until, "register": s.Register}
	for i, argument := range s.Program {
		all[fmt.Sprintf("program[%d]", i)] = argument
	}
	for _, key := range keysOf(all) {
		text := all[key]
		if len(text) > maxArgument || strings.ContainsRune(text, 0) {
			c.fail(path+"."+key, "has %d bytes; at most %d, and no NUL, are allowed", len(text), maxArgument)
		}
		for _, part := range strings.Split(text, "{")[1:] {
			name, _, closed := strings.Cut(part, "}")
			isName := name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
			if closed && isName && !slices.Contains(params, name) {
				have := "none"
				if len(params) > 0 {
					have = strings.Join(params, ", ")
				}
				c.fail(path+"."+key, "has {%.32s}, which is no parameter of this tool; it has %s", name, have)
			}
		}
	}
}

func keysOf[T any](m map[string]T) []string {
	all := make([]string, 0, len(m))
	for key := range m {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}
