package policy

import (
	"fmt"
	"slices"
)

// thing is something of the board that is open, or that a rule closes.
type thing struct {
	rule   *Rule // nil: no rule names it, and all is allowed
	index  int   // of its rule in its family
	own    string
	shown  string // the user's name of it, or the board's where he gave none
	access Access
}

// naming finds the things of one family by the user's names and the board's. It
// never changes.
type naming struct {
	rules  *Rules
	table  string // of the file: "uart"
	noun   string // for errors: "UART"
	things []thing
	byName map[string]*thing // the user's names
	byOwn  map[string]*thing
}

// newNaming takes the rules of a family, of which get gives each with the board's
// name of the thing. Without a word a rule allows missing.
func newNaming(r *Rules, table, noun string, n int, missing Access, get func(i int) (*Rule, string)) naming {
	f := naming{r, table, noun, make([]thing, n), make(map[string]*thing, n), make(map[string]*thing, n)}
	for i := range n {
		rule, own := get(i)
		t := &f.things[i]
		*t = thing{rule, i, own, own, r.access(rule.Access, missing)}
		if rule.Name != "" {
			t.shown = rule.Name
		}
		f.byName[t.shown] = t
		f.byOwn[own] = t
	}
	return f
}

// any says whether something of the family is or may be open.
func (f *naming) any() bool {
	return f.rules.Allow == Everything || slices.ContainsFunc(f.things, func(t thing) bool { return t.access != AccessNone })
}

// subject is how errors call a thing.
func (f *naming) subject(name string) string { return fmt.Sprintf("%s %.64q", f.noun, name) }

// of is the thing that the board calls own, and whether it is open. It allocates
// nothing for one that a rule names.
func (f *naming) of(own string) (*thing, bool) {
	if t := f.byOwn[own]; t != nil {
		return t, t.access != AccessNone
	}
	if access := f.rules.unnamed(); access != AccessNone {
		return &thing{index: -1, own: own, shown: own, access: access}, true
	}
	return nil, false
}

// find is the open thing that the user, or else the board, calls name.
func (f *naming) find(name string) (*thing, error) {
	t := f.byName[name]
	open := t != nil && t.access != AccessNone
	if t == nil {
		t, open = f.of(name)
	}
	switch {
	case open:
		return t, nil
	case t != nil:
		return nil, f.rules.shut(t.rule.At, f.subject(name))
	}
	return nil, f.rules.closed(f.subject(name), f.table, f.open())
}

// writable is find for what is to be changed.
func (f *naming) writable(name string) (*thing, error) {
	t, err := f.find(name)
	if err == nil && t.access != AccessWrite {
		return nil, f.rules.onlyRead(t.at(), f.subject(t.shown))
	}
	return t, err
}

// at is the line of the file on which the thing's rule begins; 0 where it has none.
func (t *thing) at() int {
	if t.rule == nil {
		return 0
	}
	return t.rule.At
}

// open is the names of what the rules open.
func (f *naming) open() []string {
	var names []string
	for i := range f.things {
		if f.things[i].access != AccessNone {
			names = append(names, f.things[i].shown)
		}
	}
	return names
}

// description is what the model is told of a thing.
func (t *thing) description() string {
	if t.rule == nil {
		return ""
	}
	return t.rule.Description
}

// shownOf is the name under which an open thing is shown.
func (f *naming) shownOf(name string) (string, error) {
	t, err := f.find(name)
	if err != nil {
		return "", err
	}
	return t.shown, nil
}
