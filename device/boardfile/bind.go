package boardfile

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"boardhand/device"
)

// A binder puts what the decoder gave, maps and slices of any, into the types of
// the rules. It does what the decoder's own binding does not: keys are exact, a
// key that means nothing is an error, and every error stands on its line.
type binder struct {
	name   string // of the file
	places places
}

// unmarshaler is a type that reads itself from one value.
type unmarshaler interface{ UnmarshalTOML(v any) error }

var (
	durationType = reflect.TypeFor[time.Duration]()
	decimalType  = reflect.TypeFor[device.Decimal]()
)

// fail is an error about what stands at path.
func (b *binder) fail(path, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	for at := path; at != ""; at = parent(at) {
		if line := b.places[at]; line > 0 {
			return fmt.Errorf("%s:%d: %.128s %s", b.name, line, shown(path), text)
		}
	}
	return fmt.Errorf("%s: %.128s %s", b.name, shown(path), text)
}

// parent is the path of what holds path, or "".
func parent(path string) string {
	at := strings.LastIndexAny(path, ".[")
	return path[:max(at, 0)]
}

// shown is a path as a person writes it: without the numbers of tables.
func shown(path string) string {
	var out []byte
	for {
		before, rest, found := strings.Cut(path, "[")
		out = append(out, before...)
		if !found {
			return string(out)
		}
		_, path, _ = strings.Cut(rest, "]")
	}
}

// bind puts v, which stands at path, into dst.
func (b *binder) bind(path string, v any, dst reflect.Value) error {
	if u, ok := dst.Addr().Interface().(unmarshaler); ok {
		if err := u.UnmarshalTOML(v); err != nil {
			return b.fail(path, "is %v", err)
		}
		return nil
	}
	allowed := ""
	switch dst.Type() {
	case durationType:
		text, ok := v.(string)
		d, err := time.ParseDuration(text)
		if !ok || err != nil || d < 0 {
			return b.fail(path, `is %.64s; a time as "500ms", "30s", "10m" or "2h" is allowed`, quoted(v))
		}
		dst.SetInt(int64(d))
		return nil
	case decimalType:
		d, ok := decimal(v)
		if !ok {
			return b.fail(path, "is %.64s; a number is allowed", quoted(v))
		}
		dst.Set(reflect.ValueOf(d))
		return nil
	}
	switch dst.Kind() {
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		return b.bind(path, v, dst.Elem())
	case reflect.String:
		if text, ok := v.(string); ok {
			dst.SetString(text)
			return nil
		}
		allowed = "string"
	case reflect.Bool:
		if on, ok := v.(bool); ok {
			dst.SetBool(on)
			return nil
		}
		allowed = "boolean"
	case reflect.Int, reflect.Int64:
		n, ok := v.(int64)
		switch {
		case ok && dst.OverflowInt(n):
			return b.fail(path, "is %d, which is too large", n)
		case ok:
			dst.SetInt(n)
			return nil
		}
		allowed = "integer"
	case reflect.Float64:
		switch n := v.(type) {
		case float64:
			dst.SetFloat(n)
			return nil
		case int64:
			dst.SetFloat(float64(n))
			return nil
		}
		allowed = "float"
	case reflect.Struct:
		if table, ok := v.(map[string]any); ok {
			return b.bindTable(path, table, dst)
		}
		allowed = "table"
	case reflect.Map:
		table, ok := v.(map[string]any)
		if !ok {
			allowed = "table"
			break
		}
		return b.bindMap(path, table, dst)
	case reflect.Slice:
		allowed = "array"
		tables := dst.Type().Elem().Kind() == reflect.Struct
		if tables {
			allowed = "array of tables"
		}
		switch all := v.(type) {
		case []map[string]any:
			if tables {
				return bindSlice(b, path, all, dst)
			}
		case []any:
			return bindSlice(b, path, all, dst)
		}
	}
	return b.fail(path, "is of type %s; %s is allowed", typeOf(v), allowed)
}

func bindSlice[T any](b *binder, path string, all []T, dst reflect.Value) error {
	if len(all) > maxEntries {
		return b.fail(path, "has %d entries; %d are allowed", len(all), maxEntries)
	}
	dst.Set(reflect.MakeSlice(dst.Type(), len(all), len(all)))
	for i := range all {
		if err := b.bind(element(path, i), all[i], dst.Index(i)); err != nil {
			return err
		}
	}
	return nil
}

// maxEntries bounds every array of a board file.
const maxEntries = 4096

func (b *binder) bindMap(path string, table map[string]any, dst reflect.Value) error {
	dst.Set(reflect.MakeMap(dst.Type()))
	for _, key := range b.inOrder(path, table) {
		value := reflect.New(dst.Type().Elem()).Elem()
		if err := b.bind(join(path, key), table[key], value); err != nil {
			return err
		}
		dst.SetMapIndex(reflect.ValueOf(key), value)
	}
	return nil
}

// bindTable puts a table into a struct by its tags; a field At becomes the line
// of the table.
func (b *binder) bindTable(path string, table map[string]any, dst reflect.Value) error {
	for _, key := range b.inOrder(path, table) {
		field := fieldOf(dst, key)
		if !field.IsValid() {
			where := "the file"
			if path != "" {
				where = shown(path)
			}
			return b.fail(join(path, key), "is no key; %s has %s", where, strings.Join(keys(dst.Type()), ", "))
		}
		if err := b.bind(join(path, key), table[key], field); err != nil {
			return err
		}
	}
	if at := dst.FieldByName("At"); at.IsValid() {
		at.SetInt(int64(b.places[path]))
	}
	return nil
}

// inOrder is the keys of a table in the order of the file, so that the first thing
// wrong is told.
func (b *binder) inOrder(path string, table map[string]any) []string {
	all := slices.Collect(maps.Keys(table))
	slices.SortFunc(all, func(x, y string) int {
		if d := b.places[join(path, x)] - b.places[join(path, y)]; d != 0 {
			return d
		}
		return strings.Compare(x, y)
	})
	return all
}

// fieldOf is the field of a struct whose tag is key, or none.
func fieldOf(v reflect.Value, key string) reflect.Value {
	t := v.Type()
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			if f := fieldOf(v.Field(i), key); f.IsValid() {
				return f
			}
			continue
		}
		if tag := field.Tag.Get("toml"); tag == key && tag != "-" {
			return v.Field(i)
		}
	}
	return reflect.Value{}
}

// keys are the tags of a struct, in order.
func keys(t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("toml")
		switch {
		case field.Anonymous:
			all = append(all, keys(field.Type)...)
		case tag != "-":
			all = append(all, tag)
		}
	}
	return all
}

// typeOf is the name of a value's type in TOML.
func typeOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case int64:
		return "integer"
	case float64:
		return "float"
	case bool:
		return "boolean"
	case time.Time:
		return "datetime"
	case []map[string]any:
		return "array of tables"
	case []any:
		return "array"
	}
	return "table"
}

// quoted is a value for an error: a short one as it is written, else its type.
func quoted(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v[:min(len(v), 40)])
	case int64, float64, bool:
		return fmt.Sprint(v)
	}
	return "of type " + typeOf(v)
}

func decimal(v any) (device.Decimal, bool) {
	switch v := v.(type) {
	case int64:
		return device.Decimal{Value: v}, true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return device.Decimal{}, false
		}
		return device.ParseDecimal(strconv.FormatFloat(v, 'f', -1, 64))
	}
	return device.Decimal{}, false
}
