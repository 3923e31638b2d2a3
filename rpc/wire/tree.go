package wire

import (
	"bytes"
	"slices"
)

// Tree is a message taken apart: a node for each of its values, in the order of the
// text. It copies nothing: the text must stay as it is while the Tree is asked. A Tree
// is used for one message after another, is asked nothing before its first Scan, and
// is not safe for use by several goroutines at once.
type Tree struct {
	// Unescape appends the text of a JSON string, which comes with its quotes and has
	// passed the scan. It is called for strings and keys that have an escape.
	Unescape func(dst, quoted []byte) []byte

	text      []byte
	nodes     []node // the first is the Value of nothing
	unescaped []byte // what Key and Text had to unescape
}

// Value is one value of a Tree, valid until the next Scan. Zero is none: it has the
// Kind None, no text and no children.
type Value int32

// Kind is what a value is.
type Kind uint8

// The kinds.
const (
	None Kind = iota
	Null
	False
	True
	Number
	String
	Array
	Object
)

type node struct {
	keyLo, keyHi uint32 // of a member, its key in the text, without the quotes
	lo, hi       uint32 // the value in the text
	end          Value  // behind the value and all that it holds; of an open container, the one around it
	kind         Kind
	plain        bool // a string that has no escapes
	plainKey     bool
}

// A Tree does not keep more than this from one message to the next: 24 KiB of
// nodes, and as much of unescaped text.
const (
	keepNodes     = 1 << 10
	keepUnescaped = 24 << 10
)

// Scan judges b as the function Scan does, and takes it apart. After an error the
// Tree is empty. b is shorter than 4 GiB.
func (t *Tree) Scan(b []byte, lim Limits) error {
	if cap(t.nodes) > keepNodes {
		t.nodes = nil
	}
	if cap(t.unescaped) > keepUnescaped {
		t.unescaped = nil
	}
	t.text, t.unescaped = b, t.unescaped[:0]
	t.nodes = append(t.nodes[:0], node{end: 1})
	err := scan(b, lim, t)
	if err != nil {
		t.Clear()
	}
	return err
}

// Clear empties the Tree and lets go of the text.
func (t *Tree) Clear() { t.text, t.nodes = nil, t.nodes[:1] }

// Root is the value that is the whole message.
func (t *Tree) Root() Value {
	if len(t.nodes) < 2 {
		return 0
	}
	return 1
}

// Kind is what v is.
func (t *Tree) Kind(v Value) Kind { return t.nodes[v].kind }

// Children is where the elements or members of v begin and where they end; of what
// has none both are the same:
//
//	for m, end := t.Children(v); m < end; m = t.Next(m) {
func (t *Tree) Children(v Value) (first, end Value) { return v + 1, t.nodes[v].end }

// Next is what follows v and all that v holds.
func (t *Tree) Next(v Value) Value { return t.nodes[v].end }

// Len is how many elements or members v has.
func (t *Tree) Len(v Value) int {
	n := 0
	for m, end := t.Children(v); m < end; m = t.Next(m) {
		n++
	}
	return n
}

// Get is the first member of v with this key, or 0.
func (t *Tree) Get(v Value, key string) Value {
	if t.nodes[v].kind != Object {
		return 0
	}
	for m, end := t.Children(v); m < end; m = t.Next(m) {
		if string(t.Key(m)) == key {
			return m
		}
	}
	return 0
}

// Raw is v as it stands in the message.
func (t *Tree) Raw(v Value) []byte {
	n := &t.nodes[v]
	return t.text[n.lo:n.hi:n.hi]
}

// Key is the key of the member v with its escapes undone. Like Text it is valid until
// the next Scan, and not to be changed.
func (t *Tree) Key(v Value) []byte {
	n := &t.nodes[v]
	if n.plainKey {
		return t.text[n.keyLo:n.keyHi:n.keyHi]
	}
	return t.unescape(n.keyLo-1, n.keyHi+1)
}

// Text is the string v with its escapes undone; nil of what is no string.
func (t *Tree) Text(v Value) []byte {
	n := &t.nodes[v]
	if n.kind != String {
		return nil
	}
	if n.plain {
		return t.text[n.lo+1 : n.hi-1 : n.hi-1]
	}
	return t.unescape(n.lo, n.hi)
}

// unescape undoes the escapes, if any, of the string in quotes from lo to hi.
func (t *Tree) unescape(lo, hi uint32) []byte {
	if s := t.text[lo+1 : hi-1 : hi-1]; bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	// A longer buffer leaves the old one to the slices given before.
	start := len(t.unescaped)
	t.unescaped = t.Unescape(slices.Grow(t.unescaped, int(hi-lo)), t.text[lo:hi:hi])
	return t.unescaped[start:len(t.unescaped):len(t.unescaped)]
}

// What scan calls as it goes over the text. The key that it last read goes to the next
// value, and to no other.

// add adds a value that holds no other.
func (t *Tree) add(key *node, lo, hi int, kind Kind, plain bool) {
	t.nodes = append(t.nodes, node{key.keyLo, key.keyHi, uint32(lo), uint32(hi), Value(len(t.nodes) + 1), kind, plain, key.plainKey})
	*key = node{}
}

// open adds a container in the container outer, and gives its Value.
func (t *Tree) open(key *node, lo int, kind Kind, outer Value) Value {
	t.nodes = append(t.nodes, node{key.keyLo, key.keyHi, uint32(lo), 0, outer, kind, false, key.plainKey})
	*key = node{}
	return Value(len(t.nodes) - 1)
}

// close ends the container v, and gives the one around it.
func (t *Tree) close(v Value, hi int) (outer Value) {
	n := &t.nodes[v]
	outer, n.end, n.hi = n.end, Value(len(t.nodes)), uint32(hi)
	return outer
}
