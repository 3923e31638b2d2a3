package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/valyala/fastjson"
)

// unescape is what package rpc gives to a Tree.
func unescape(dst, quoted []byte) []byte {
	v, err := parser.ParseBytes(quoted)
	if err != nil {
		panic(err)
	}
	return append(dst, v.GetStringBytes()...)
}

var parser fastjson.Parser

func treeOf(t *testing.T, text string) *Tree {
	t.Helper()
	tree := &Tree{Unescape: unescape}
	if err := tree.Scan([]byte(text), DefaultLimits); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return tree
}

func ExampleTree() {
	t := Tree{Unescape: unescape}
	if err := t.Scan([]byte(`{"name":"gpio_read","lines":["GPIO17","GPIO\u00327"]}`), DefaultLimits); err != nil {
		fmt.Println(err)
		return
	}
	lines := t.Get(t.Root(), "lines")
	fmt.Println(t.Len(lines))
	for v, end := t.Children(lines); v < end; v = t.Next(v) {
		fmt.Printf("%s %s\n", t.Raw(v), t.Text(v))
	}
	// Output:
	// 2
	// "GPIO17" GPIO17
	// "GPIO\u00327" GPIO27
}

// rebuild gives v as encoding/json does with its UseNumber.
func (t *Tree) rebuild(v Value) any {
	switch t.Kind(v) {
	case False, True:
		return t.Kind(v) == True
	case Number:
		return json.Number(t.Raw(v))
	case String:
		return string(t.Text(v))
	case Array:
		list := []any{}
		for m, end := t.Children(v); m < end; m = t.Next(m) {
			list = append(list, t.rebuild(m))
		}
		return list
	case Object:
		members := map[string]any{}
		for m, end := t.Children(v); m < end; m = t.Next(m) {
			members[string(t.Key(m))] = t.rebuild(m)
		}
		return members
	}
	return nil
}

// decoded is what encoding/json makes of a text.
func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func TestTreeHoldsWhatTheTextSays(t *testing.T) {
	tree := Tree{Unescape: unescape} // one for all: nothing may be left of the text before
	for _, tt := range mustAccept {
		for _, text := range tt.texts {
			if err := tree.Scan([]byte(text), DefaultLimits); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if got, want := tree.rebuild(tree.Root()), decoded(t, []byte(text)); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %s gives %#v, want %#v", tt.kind, text, got, want)
			}
		}
	}
}

func TestTreeOfARequest(t *testing.T) {
	tree := treeOf(t, ` {"id" : "a\u0062" , "params":{"n\u0061me":[1, {"x":null}],"y":{}}, "":"", "id":2} `)
	root := tree.Root()
	id, params := tree.Get(root, "id"), tree.Get(root, "params")
	list := tree.Get(params, "name")
	for _, tt := range []struct{ what, got, want string }{
		{"raw string", string(tree.Raw(id)), `"a\u0062"`},
		{"text", string(tree.Text(id)), "ab"},
		{"raw string after its text", string(tree.Raw(id)), `"a\u0062"`},
		{"raw object", string(tree.Raw(params)), `{"n\u0061me":[1, {"x":null}],"y":{}}`},
		{"key with an escape", string(tree.Key(list)), "name"},
		{"raw array", string(tree.Raw(list)), `[1, {"x":null}]`},
		{"text of no string", string(tree.Text(list)), ""},
		{"empty key", string(tree.Raw(tree.Get(root, ""))), `""`},
		{"raw of none", string(tree.Raw(0)), ""},
		{"text of none", string(tree.Text(0)), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, tt.got, tt.want)
		}
	}
	for _, tt := range []struct {
		what      string
		got, want int
	}{
		{"members", tree.Len(root), 4},
		{"elements", tree.Len(list), 2},
		{"members of an empty object", tree.Len(tree.Get(params, "y")), 0},
		{"children of a string", tree.Len(id), 0},
		{"children of none", tree.Len(0), 0},
		{"a key that is not there", int(tree.Get(root, "Id")), 0},
		{"a member of an array", int(tree.Get(list, "x")), 0},
		{"a member of none", int(tree.Get(0, "x")), 0},
		{"kind of none", int(tree.Kind(0)), int(None)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %d, want %d", tt.what, tt.got, tt.want)
		}
	}
	if empty := tree.Text(tree.Get(root, "")); empty == nil {
		t.Error("an empty string has the text of none")
	}
}

func TestTreeUndoesEscapes(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`\"\\\/\b\f\n\r\t`, "\"\\/\b\f\n\r\t"},
		{`\u0000\u00e9\u20AC`, "\x00é€"},
		{`\\u0041`, `\u0041`},
		{`\ud83d\ude00!`, "😀!"},
		{`\ud83d`, `\ud83d`},
		{`\ud83dx`, `\ud83dx`},
		{`\udc00\n`, `\udc00` + "\n"},
		{`\ud83d\u0041`, "\uFFFD"},
		{`ä\tb`, "ä\tb"},
		{`ä`, "ä"},
	} {
		tree := treeOf(t, `{"`+tt.text+`":"`+tt.text+`"}`)
		m, _ := tree.Children(tree.Root())
		if key, text := string(tree.Key(m)), string(tree.Text(m)); key != tt.want || text != tt.want {
			t.Errorf("%s: key %q and text %q, want %q", tt.text, key, text, tt.want)
		}
	}
}

// What was unescaped stays while more is.
func TestTreeTextsStay(t *testing.T) {
	tree := treeOf(t, `["\n1","\n`+strings.Repeat("2", 5000)+`","\n3"]`)
	first := tree.Text(2)
	for v, end := tree.Children(tree.Root()); v < end; v = tree.Next(v) {
		tree.Text(v)
	}
	if string(first) != "\n1" {
		t.Errorf("the first text is %q now", first)
	}
}

func TestTreeIsEmptyAfterAnError(t *testing.T) {
	tree := treeOf(t, `{"a":1}`)
	for _, text := range []string{`{"a":1`, `[1,[2,`, ``} {
		if tree.Scan([]byte(text), DefaultLimits) == nil || tree.Root() != 0 || tree.Kind(tree.Root()) != None {
			t.Errorf("%q leaves a root", text)
		}
	}
}

func TestTreeKeepsLittle(t *testing.T) {
	tree := treeOf(t, "["+strings.Repeat("1,", 3000)+`"`+strings.Repeat(`\n`, 1<<16)+`"]`)
	for v, end := tree.Children(tree.Root()); v < end; v = tree.Next(v) {
		tree.Text(v)
	}
	if err := tree.Scan([]byte(call), DefaultLimits); err != nil {
		t.Fatal(err)
	}
	if cap(tree.nodes) > keepNodes || cap(tree.unescaped) > keepUnescaped {
		t.Errorf("keeps %d nodes and %d bytes", cap(tree.nodes), cap(tree.unescaped))
	}
}

func TestTreeAllocatesNothing(t *testing.T) {
	text := []byte(strings.Replace(call, "GPIO17", `GPIO\u00317`, 1))
	tree := Tree{Unescape: unescape}
	if n := testing.AllocsPerRun(100, func() {
		if tree.Scan(text, DefaultLimits) != nil {
			t.Fatal("refused")
		}
		for v, end := tree.Root(), Value(len(tree.nodes)); v < end; v++ {
			tree.Key(v)
			tree.Text(v)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
