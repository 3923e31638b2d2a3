package policy

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"boardhand/device"
)

// Board is a board as its rules show it.
type Board struct {
	inner device.Board
	rules *Rules
	gpio  *gpio
	families

	outputs *outputs               // nil where no line is one
	halted  atomic.Pointer[string] // why nothing leaves its safe level any more
	halting sync.Mutex             // of who changes it
	paused  bool                   // it is so until Resume only
}

// Wrap gives board b as the rules show it; r has passed Check. It takes b over:
// closing the one closes the other. It asks the board for nothing that it can ask
// later, for a start must be quick. report is told what outputs did by themselves,
// as when max_on has passed; it may be called from any goroutine, and nil drops it.
func Wrap(b device.Board, r *Rules, report func(error)) (*Board, error) {
	w := &Board{inner: b, rules: r, families: r.open(b)}
	if g := b.GPIO(); g != nil && r.opensLines() {
		w.gpio = newGPIO(g, r)
		w.addOutputs(g, report)
	}
	if w.pwm != nil {
		w.pwm.halted = &w.halted
	}
	if w.leds != nil {
		w.leds.halted = &w.halted
	}
	return w, nil
}

// Info implements device.Board.
func (b *Board) Info() device.Info { return b.inner.Info() }

// GPIO implements device.Board: it is nil where no line is open.
func (b *Board) GPIO() device.GPIO {
	if b.gpio == nil {
		return nil
	}
	return b.gpio
}

// Close implements device.Board. Outputs go to their safe levels first.
func (b *Board) Close() error {
	return errors.Join(b.Halt("the server is ending"), b.inner.Close())
}

// access is what a rule allows in the end. missing is what it allows where it does
// not say.
func (r *Rules) access(rule Access, missing Access) Access {
	if rule == AccessDefault {
		rule = missing
	}
	if r.ReadOnly && rule == AccessWrite {
		rule = AccessRead
	}
	return rule
}

// unnamed is what may be done with what the file does not name.
func (r *Rules) unnamed() Access {
	if r.Allow == Everything {
		return r.access(AccessWrite, AccessWrite)
	}
	return AccessNone
}

// where is the place of the rule that begins on a line, "board.toml:12".
func (r *Rules) where(at int) string {
	if at == 0 {
		return r.File
	}
	return fmt.Sprintf("%s:%d", r.File, at)
}

// refusal is the error of what the rule on line at does not allow.
func (r *Rules) refusal(at int, subject, reason, hint string) error {
	return &device.Error{Subject: r.where(at) + ": " + subject, Kind: device.ErrPermission, Reason: reason, Hint: hint}
}

// onlyRead is the refusal of a write.
func (r *Rules) onlyRead(at int, subject string) error {
	if r.ReadOnly {
		return r.refusal(0, subject, "read_only is true, so nothing may be changed", "read it, or ask the owner of the file")
	}
	return r.refusal(at, subject, "it may only be read", `access = "write" would allow this: ask the owner of the file`)
}

// closed is the refusal of a thing that no rule opens; names are those that are open.
func (r *Rules) closed(subject, table string, names []string) error {
	hint := "it opens " + listed(names)
	if len(names) == 0 {
		hint = "it opens none"
	}
	return r.refusal(0, subject, "no [["+table+"]] opens it", hint)
}

// shut is the refusal of a thing that a rule closes.
func (r *Rules) shut(at int, subject string) error {
	return r.refusal(at, subject, `access = "none" closes it`, "ask the owner of the file")
}

// maxListed is how many names an error shows.
const maxListed = 20

func listed(names []string) string {
	if len(names) <= maxListed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
}

// named is a board's error about the thing that it calls own, under the user's name.
func named(err error, own, shown string) error {
	e, ok := err.(*device.Error)
	if !ok || own == shown || !strings.Contains(e.Subject, own) {
		return err
	}
	c := *e
	c.Subject = strings.Replace(e.Subject, own, shown, 1) + " (" + own + ")"
	return &c
}
