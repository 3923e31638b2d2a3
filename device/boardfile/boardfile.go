// Package boardfile reads a board file: the one TOML file (v1.0) that describes
// a board. So far it holds the wiring of the simulated board, the [sim] table.
//
// A key that means nothing is an error, never ignored: a safe level with a
// spelling mistake would be none.
package boardfile

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"boardhand/device/sim"
)

// MaxSize is the longest board file, in bytes.
const MaxSize = 1 << 20

// File is what a board file says.
type File struct {
	Sim sim.Wiring `toml:"sim"` // see there for its keys
}

// Parse reads the text of the board file called name, which only its errors
// use. It keeps neither. An error is one sentence that begins with the name and,
// where there is one, the line, and says what is allowed:
//
//	board.toml:5: sim.wire.form is no key; sim.wire has from, to
func Parse(name string, text []byte) (*File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("%s: %d bytes; a board file has at most %d", name, len(text), MaxSize)
	}
	if line, what := checkDepth(text); what != "" {
		return nil, fmt.Errorf("%s:%d: %s", name, line, what)
	}
	f := &File{}
	md, err := toml.Decode(string(text), f)
	var syntax toml.ParseError
	if errors.As(err, &syntax) {
		return nil, fmt.Errorf("%s:%d: %.256s", name, syntax.Position.Line, syntax.Message)
	}
	if err != nil {
		return nil, wrongType(name, err)
	}
	// Decode takes keys of another case and ignores unknown ones: keys are exact here.
	for _, key := range md.Keys() {
		for n := range key {
			if allowed := keys(reflect.TypeFor[File](), key[:n]); !slices.Contains(allowed, key[n]) {
				return nil, unknownKey(name, text, key[:n+1], allowed)
			}
		}
	}
	if err := f.Sim.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// wrongType turns the decoder's error about a value into one for a person. The
// decoder has no type for it, only a text:
//
//	toml: line 2 (last key "sim.seed"): incompatible types: TOML value has type string; destination has type integer
//	toml: line 1 (last key "sim"): type mismatch for sim.Wiring: expected table but found integer
func wrongType(name string, err error) error {
	text := strings.TrimPrefix(err.Error(), "toml: ")
	var line int
	var key string
	if n, _ := fmt.Sscanf(text, "line %d (last key %q):", &line, &key); n != 2 {
		return fmt.Errorf("%s: %s", name, text)
	}
	_, text, _ = strings.Cut(text, "): ")
	if _, types, ok := strings.Cut(text, "has type "); ok {
		got, want, _ := strings.Cut(types, "; destination has type ")
		text = fmt.Sprintf("of type %s; %s is allowed", got, want)
	} else if _, types, ok := strings.Cut(text, "expected "); ok {
		want, got, _ := strings.Cut(types, " but found ")
		text = fmt.Sprintf("of type %s; %s is allowed", got, want)
	}
	return fmt.Errorf("%s:%d: %s is %s", name, line, key, tomlTypes.Replace(text))
}

// tomlTypes turns the names of Go's types into those of TOML; the only arrays in
// a board file are of tables.
var tomlTypes = strings.NewReplacer(
	"[]map[string]any", "array of tables", "map[string]any", "table", "[]any", "array", "slice", "array of tables",
	"int64", "integer", "float64", "float", "bool", "boolean")

func unknownKey(name string, text []byte, key toml.Key, allowed []string) error {
	where := name
	if line := lineOf(text, key); line > 0 {
		where = fmt.Sprintf("%s:%d", name, line)
	}
	table := "the file"
	if len(key) > 1 {
		table = key[:len(key)-1].String()
	}
	return fmt.Errorf("%s: %.128s is no key; %s has %s", where, key, table, strings.Join(allowed, ", "))
}

// keys are the keys of the table at path, as the tags of t name them; none where
// there is no such table.
func keys(t reflect.Type, path []string) []string {
	for t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var all []string
	for i := range t.NumField() {
		field := t.Field(i)
		key := field.Tag.Get("toml")
		if key == "-" {
			continue
		}
		if len(path) > 0 && path[0] == key {
			return keys(field.Type, path[1:])
		}
		all = append(all, key)
	}
	if len(path) > 0 {
		return nil
	}
	return all
}
