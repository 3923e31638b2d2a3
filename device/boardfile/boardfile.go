// Package boardfile reads a board file: the one TOML file (v1.0) that says what a
// board is and what may be done with it. [policy.Rules] has its tables and keys;
// the [sim] table is the wiring of the simulated board, [sim.Wiring].
//
// A key that means nothing is an error, never ignored: a safe level with a
// spelling mistake would be none.
package boardfile

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/BurntSushi/toml"

	"boardhand/device/policy"
	"boardhand/device/sim"
)

// MaxSize is the longest board file, in bytes.
const MaxSize = 1 << 20

// File is what a board file says.
type File struct {
	// Rules is nil for a file that has nothing but a [sim] table: that describes a
	// board, and opens and closes nothing.
	Rules *policy.Rules
	Sim   sim.Wiring
	Given bool // there is a file
}

// contents is the whole file as its tags name it.
type contents struct {
	policy.Rules
	Sim sim.Wiring `toml:"sim"`
}

// Parse reads the text of the board file called name, which its errors and the
// refusals of its rules use. It keeps no text. An error is one sentence that begins
// with the name and, where there is one, the line, and says what is allowed:
//
//	board.toml:5: sim.wire.form is no key; sim.wire has from, to
func Parse(name string, text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%s: %d bytes; a board file has at most %d", name, len(text), MaxSize)
	}
	if line, what := checkDepth(text); what != "" {
		return nil, fmt.Errorf("%s:%d: %s", name, line, what)
	}
	var table map[string]any
	_, err := toml.Decode(string(text), &table)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("%s:%d: %.256s", name, syntax.Position.Line, printable(syntax.Message))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := binder{name, placesOf(text)}
	var c contents
	if err := b.bindTable("", table, reflect.ValueOf(&c).Elem()); err != nil {
		return nil, err
	}
	if err := c.Sim.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f := &File{Sim: c.Sim, Given: true}
	if _, only := table["sim"]; only && len(table) == 1 {
		return f, nil
	}
	c.Rules.File = filepath.Base(name) // a client need not know where it is
	var fault *policy.Fault
	if err := c.Rules.Check(); errors.As(err, &fault) {
		return nil, b.fail(fault.Path, "%s", fault.Text)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.Rules = &c.Rules
	return f, nil
}
