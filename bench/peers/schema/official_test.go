package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var schemasDir = flag.String("schemas", "../../../../shared/schemas", "folder of the official schemas of MCP, mcp-2026-07-28.json and its like")

// obj is a JSON object.
type obj = map[string]any

// official is the official JSON Schema of one revision of MCP.
type official struct {
	version  string
	compiler *jsonschema.Compiler
	defs     string   // pointer to the definitions, with the document's URL
	names    []string // of the definitions
}

// loadOfficial reads a revision's schema. It skips the test where there is none.
func loadOfficial(t testing.TB, version string) *official {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(*schemasDir, "mcp-"+version+".json"))
	if err != nil {
		t.Skipf("the official schemas are not here (%v); -schemas names their folder", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("the schema of %s is no JSON: %v", version, err)
	}
	url := "https://modelcontextprotocol.io/schema/" + version + ".json"
	o := &official{version: version, compiler: newCompiler()}
	for _, key := range []string{"definitions", "$defs"} {
		if defs, ok := doc.(obj)[key].(obj); ok {
			o.defs = url + "#/" + key + "/"
			for name := range defs {
				o.names = append(o.names, name)
			}
		}
	}
	if err := o.compiler.AddResource(url, doc); err != nil {
		t.Fatal(err)
	}
	return o
}

// newCompiler takes a schema without $schema as 2020-12, as MCP has it since
// 2025-11-25, and checks formats such as uri too.
func newCompiler() *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	// The validator's own refuse a variable, and an escape, in the place of a host.
	c.RegisterFormat(&jsonschema.Format{Name: "uri", Validate: func(v any) error { return checkURI(v, uri) }})
	c.RegisterFormat(&jsonschema.Format{Name: "uri-template", Validate: func(v any) error { return checkURI(v, uriTemplate) }})
	return c
}

// The characters of a URI (RFC 3986, section 2) behind its scheme, and of a
// template of one (RFC 6570, section 2.2).
const uriScheme, uriCharacter, uriExpression = `^[A-Za-z][A-Za-z0-9+.-]*:`, `[A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2}`, `\{[+#./;?&]?[A-Za-z0-9_.,*:%]+\}`

var (
	uri         = regexp.MustCompile(uriScheme + `(` + uriCharacter + `)*$`)
	uriTemplate = regexp.MustCompile(uriScheme + `(` + uriCharacter + `|` + uriExpression + `)*$`)
)

func checkURI(v any, form *regexp.Regexp) error {
	if s, ok := v.(string); ok && !form.MatchString(s) {
		return errors.New("a character or its place is not allowed")
	}
	return nil
}

func (o *official) has(def string) bool { return slices.Contains(o.names, def) }

// first is the first of the names that the revision defines: names changed.
func (o *official) first(t testing.TB, names ...string) string {
	t.Helper()
	for _, name := range names {
		if o.has(name) {
			return name
		}
	}
	t.Fatalf("MCP %s defines none of %v", o.version, names)
	return ""
}

func (o *official) def(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	s, err := o.compiler.Compile(o.defs + name)
	if err != nil {
		t.Fatalf("definition %s of MCP %s: %v", name, o.version, err)
	}
	return s
}

// check says what of v is not as definition def has it: what the schema refuses,
// and members that it does not name, though it would let them pass.
func (o *official) check(t testing.TB, def string, v any) {
	t.Helper()
	s := o.def(t, def)
	if err := s.Validate(v); err != nil {
		t.Errorf("%s is no %s of MCP %s: %v", show(v), def, o.version, err)
		return
	}
	for _, path := range strangers(def, v, s) {
		t.Errorf("%s: MCP %s names no such member, in %s", path, o.version, show(v))
	}
}

// free are the members whose content is not the protocol's: what they hold has
// no names in the schema of a revision, or those of another specification.
var free = map[string]bool{
	"_meta": true, "data": true, "arguments": true, "structuredContent": true, "inputSchema": true, "outputSchema": true,
}

// strangers are the paths of all members of v that no schema in all names. A
// schema that names members counts as if it allowed no others, whatever it says;
// one that names none takes any.
func strangers(path string, v any, all ...*jsonschema.Schema) (found []string) {
	var shapes []*jsonschema.Schema
	for _, s := range all {
		shapes = appendShapes(shapes, s, v)
	}
	switch v := v.(type) {
	case []any:
		var items []*jsonschema.Schema
		for _, s := range shapes {
			if s.Items2020 != nil {
				items = append(items, s.Items2020)
			} else if item, ok := s.Items.(*jsonschema.Schema); ok {
				items = append(items, item)
			}
		}
		for i, item := range v {
			found = append(found, strangers(fmt.Sprintf("%s[%d]", path, i), item, items...)...)
		}
	case obj:
		any := len(shapes) == 0
		var rest []*jsonschema.Schema
		for _, s := range shapes {
			if len(s.Properties) > 0 {
				continue
			}
			any = true
			if more, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
				rest = append(rest, more)
			}
		}
		for key, member := range v {
			var named []*jsonschema.Schema
			for _, s := range shapes {
				if p := s.Properties[key]; p != nil {
					named = append(named, p)
				}
			}
			at := path + "." + key
			switch {
			case len(named) > 0 && key == "_meta":
				for key, member := range member.(obj) {
					for _, s := range named {
						for _, shape := range appendShapes(nil, s, obj{}) {
							if p := shape.Properties[key]; p != nil {
								found = append(found, strangers(at+"."+key, member, p)...)
							}
						}
					}
				}
			case len(named) > 0 && free[key]:
			case len(named) > 0:
				found = append(found, strangers(at, member, named...)...)
			case any:
				found = append(found, strangers(at, member, rest...)...)
			default:
				found = append(found, at)
			}
		}
	}
	slices.Sort(found)
	return found
}

// appendShapes appends s and all that it stands for where it describes v: what
// it refers to, and of several alternatives those that v fits.
func appendShapes(dst []*jsonschema.Schema, s *jsonschema.Schema, v any) []*jsonschema.Schema {
	plain := s.Ref == nil && len(s.AllOf)+len(s.AnyOf)+len(s.OneOf) == 0
	if plain || len(s.Properties) > 0 {
		dst = append(dst, s)
	}
	if s.Ref != nil {
		dst = appendShapes(dst, s.Ref, v)
	}
	for _, sub := range s.AllOf {
		dst = appendShapes(dst, sub, v)
	}
	for _, sub := range append(slices.Clone(s.AnyOf), s.OneOf...) {
		if sub.Validate(v) == nil {
			dst = appendShapes(dst, sub, v)
		}
	}
	return dst
}

// requests are the definitions of what a client of this revision may ask, by method.
func (o *official) requests(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	all := map[string]*jsonschema.Schema{}
	for _, s := range o.def(t, "ClientRequest").AnyOf {
		for _, shape := range appendShapes(nil, s, obj{}) {
			if m := shape.Properties["method"]; m != nil && m.Const != nil {
				all[(*m.Const).(string)] = s
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("the schema of MCP %s names no requests", o.version)
	}
	return all
}

// decode reads one JSON value. Numbers stay as they are written; a key that
// stands twice in an object is an error.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if err := distinct(d); err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(text))
}

// distinct reads one value and says which key stands twice in it.
func distinct(d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[any]bool{}
	for d.More() {
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return err
			}
			if seen[key] {
				return fmt.Errorf("key %q stands twice", key)
			}
			seen[key] = true
		}
		if err := distinct(d); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// compile makes a validator of a schema that the server sent. It must be one of
// JSON Schema 2020-12.
func compile(t testing.TB, name string, s any) *jsonschema.Schema {
	t.Helper()
	c := newCompiler()
	url := "mem://" + name
	if err := c.AddResource(url, s); err != nil {
		t.Fatalf("%s is no schema: %v", name, err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		t.Fatalf("%s is no schema of 2020-12: %v\n%s", name, err, show(s))
	}
	return compiled
}

// literal compiles a schema that stands in the test.
func literal(t testing.TB, name, text string) *jsonschema.Schema {
	t.Helper()
	v, err := decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, name, v)
}

// show is a JSON value for a message, cut short.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > 2000 {
		b = append(b[:2000], "…"...)
	}
	return string(b)
}

// in gives the way of a value that was decoded through objects and arrays: keys
// separated by points, whole numbers for elements; nil where it leads nowhere.
func in(v any, path string) any {
	for _, key := range strings.Split(path, ".") {
		switch at := v.(type) {
		case obj:
			v = at[key]
		case []any:
			var i int
			if n, err := fmt.Sscan(key, &i); n != 1 || err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// names says whether s names a member.
func names(s *jsonschema.Schema, member string) bool {
	for _, shape := range appendShapes(nil, s, obj{}) {
		if shape.Properties[member] != nil {
			return true
		}
	}
	return false
}
