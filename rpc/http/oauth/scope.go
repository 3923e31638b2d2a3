package oauth

import "strings"

// Scope is a set of what a client may do.
type Scope uint8

// The scopes.
const (
	Read  Scope = 1 << iota // board:read: look at the board
	Write                   // board:write: change it, which includes to look at it
)

// Both is all there is.
const Both = Read | Write

var scopeNames = []struct {
	scope Scope
	name  string
}{{Read, "board:read"}, {Write, "board:write"}}

// Allows says whether s suffices where need is needed: to write includes to read.
func (s Scope) Allows(need Scope) bool {
	if s&Write != 0 {
		s |= Read
	}
	return s&need == need
}

// String is the scopes as OAuth writes them, "board:read board:write".
func (s Scope) String() string {
	var names []string
	for _, n := range scopeNames {
		if s&n.scope != 0 {
			names = append(names, n.name)
		}
	}
	return strings.Join(names, " ")
}

// parseScope reads scopes. Names that mean nothing here are left out: a client may
// ask every server for offline_access.
func parseScope(text string) (s Scope) {
	for word := range strings.FieldsSeq(text) {
		for _, n := range scopeNames {
			if word == n.name {
				s |= n.scope
			}
		}
	}
	return s
}
