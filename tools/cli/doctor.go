package cli

import (
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"boardhand/device"
	"boardhand/rpc/wire"
)

// Doctor prints a diagnosis, as JSON where asJSON is set, else for a person, with
// colours where stdout is a terminal. It returns ExitFailed where something is
// not usable.
func Doctor(d *device.Diagnosis, asJSON, terminal bool, stdout, stderr io.Writer) int {
	var out []byte
	if asJSON {
		out = append(appendDiagnosisJSON(nil, d), '\n')
	} else {
		out = appendDiagnosis(nil, d, terminal)
	}
	if status := emit(stdout, stderr, out); status != ExitOK || d.Well() {
		return status
	}
	return ExitFailed
}

// The widths of the diagnosis's lines.
const (
	terminalWidth = 80
	markWidth     = 6
	familyWidth   = 10
)

// marks are what a finding's line begins with, and its colour (ECMA-48, SGR).
var marks = map[device.Condition]struct{ mark, colour string }{
	device.FoundUsable:   {"ok", "32"},
	device.FoundOwned:    {"used", "33"},
	device.FoundAbsent:   {"-", "2"},
	device.FoundUnusable: {"NO", "1;31"},
}

// appendDiagnosis shows a diagnosis to a person:
//
//	ok    GPIO      gpiochip0: pinctrl-bcm2835
//	NO    I2C       i2c-1: no right to open /dev/i2c-1
//	                > sudo usermod -aG i2c $USER
func appendDiagnosis(dst []byte, d *device.Diagnosis, colours bool) []byte {
	head := printable(d.Info.Model) + ", " + printable(d.Info.Kernel) + ", " + d.Info.Arch
	if d.Machine != "" && d.Machine != d.Info.Arch {
		head += " on " + printable(d.Machine)
	}
	dst = appendWrapped(dst, head, terminalWidth)
	if d.User != "" {
		who := "As the user " + printable(d.User)
		if len(d.Groups) > 0 {
			who += ", in the groups " + printable(strings.Join(d.Groups, " "))
		}
		dst = appendWrapped(dst, who+".", terminalWidth)
	}
	dst = append(dst, '\n')
	unusable := 0
	for i := range d.Findings {
		f := &d.Findings[i]
		if f.Condition == device.FoundUnusable {
			unusable++
		}
		m := marks[f.Condition]
		if colours {
			dst = append(append(append(dst, "\x1b["...), m.colour...), 'm')
		}
		dst = append(dst, m.mark...)
		if colours {
			dst = append(dst, "\x1b[0m"...)
		}
		dst = appendBlanks(dst, markWidth-len(m.mark))
		family := printable(f.Family)
		dst = append(dst, family...)
		dst = appendBlanks(dst, max(1, familyWidth-utf8.RuneCountInString(family)))
		dst = appendIndented(dst, findingText(f))
		for _, line := range f.Mend {
			dst = appendBlanks(dst, markWidth+familyWidth)
			dst = append(append(append(dst, "> "...), printable(line)...), '\n') // never broken: it is to be copied
		}
	}
	switch unusable {
	case 0:
		return append(dst, "\nAll that is there can be used.\n"...)
	case 1:
		return append(dst, "\n1 is not usable; a line that begins with > says what to do.\n"...)
	}
	return append(strconv.AppendInt(append(dst, '\n'), int64(unusable), 10), " are not usable; the lines that begin with > say what to do.\n"...)
}

// findingText is a finding in one sentence.
func findingText(f *device.Finding) string {
	s := printable(f.Name)
	if f.Detail != "" {
		if s != "" {
			s += ": "
		}
		s += printable(f.Detail)
	}
	if f.Owner != "" {
		if s != "" {
			s += "; "
		}
		s += "in use by " + printable(f.Owner)
	}
	return s
}

// appendIndented appends text, which begins at the column where the finding's
// text stands, and goes on there in the lines below.
func appendIndented(dst []byte, text string) []byte {
	const indent = markWidth + familyWidth
	lines := strings.Split(strings.TrimSuffix(string(appendWrapped(nil, text, terminalWidth-indent)), "\n"), "\n")
	for i, line := range lines {
		if i > 0 {
			dst = appendBlanks(dst, indent)
		}
		dst = append(append(dst, line...), '\n')
	}
	return dst
}

func appendDiagnosisJSON(dst []byte, d *device.Diagnosis) []byte {
	dst = wire.AppendString(append(dst, `{"model":`...), d.Info.Model)
	dst = wire.AppendBool(wire.AppendKey(dst, "simulated"), d.Info.Simulated)
	dst = wire.AppendString(wire.AppendKey(dst, "kernel"), d.Info.Kernel)
	dst = wire.AppendString(wire.AppendKey(dst, "arch"), d.Info.Arch)
	dst = appendText(dst, "machine", d.Machine)
	dst = appendText(dst, "user", d.User)
	dst = appendTexts(dst, "groups", d.Groups)
	dst = wire.AppendBool(wire.AppendKey(dst, "well"), d.Well())
	dst = append(wire.AppendKey(dst, "findings"), '[')
	for i := range d.Findings {
		f := &d.Findings[i]
		dst = wire.AppendString(append(wire.AppendSep(dst), `{"family":`...), f.Family)
		dst = appendText(dst, "name", f.Name)
		dst = wire.AppendString(wire.AppendKey(dst, "condition"), f.Condition.String())
		dst = appendText(dst, "detail", f.Detail)
		dst = appendText(dst, "owner", f.Owner)
		dst = append(appendTexts(dst, "mend", f.Mend), '}')
	}
	return append(dst, `]}`...)
}

// appendText appends a member, unless it is empty.
func appendText(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	return wire.AppendString(wire.AppendKey(dst, key), text)
}

func appendTexts(dst []byte, key string, texts []string) []byte {
	if len(texts) == 0 {
		return dst
	}
	dst = append(wire.AppendKey(dst, key), '[')
	for _, text := range texts {
		dst = wire.AppendString(wire.AppendSep(dst), text)
	}
	return append(dst, ']')
}
