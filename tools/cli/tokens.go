//go:build !board

package cli

import (
	"io"
	"strings"
	"time"

	"boardhand/rpc/wire"
)

// Token is a client that may work the board over HTTP, as "boardhand tokens" shows it.
// Nothing of it is secret.
type Token struct {
	ID       string // for "boardhand tokens revoke"
	Client   string // what the client calls itself
	ClientID string
	Returns  string // the host that its answers went to
	Scope    string // "board:read board:write"
	Resource string // the address that it is for
	Created  time.Time
	Used     time.Time // when it last got a token
	Expires  time.Time
}

// Tokens lists the clients that are approved; file is where they are kept.
func Tokens(list []Token, file string, asJSON bool, stdout, stderr io.Writer) int {
	if asJSON {
		return emit(stdout, stderr, appendTokens(nil, list))
	}
	if len(list) == 0 {
		return emit(stdout, stderr, []byte("No client is approved in "+printable(file)+".\n"))
	}
	when := func(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }
	rows := [][]string{{"ID", "CLIENT", "ANSWERS TO", "MAY", "AT", "APPROVED", "LAST TOKEN", "ENDS"}}
	for i := range list {
		t := &list[i]
		may := strings.ReplaceAll(strings.ReplaceAll(t.Scope, "board:", ""), " ", ", ")
		rows = append(rows, []string{printable(t.ID), printable(t.Client), printable(t.Returns), printable(may), printable(t.Resource), when(t.Created), when(t.Used), when(t.Expires)})
	}
	return emit(stdout, stderr, appendColumns(nil, rows))
}

func appendTokens(dst []byte, list []Token) []byte {
	dst = append(dst, '[')
	for i := range list {
		t := &list[i]
		text := func(key, value string) { dst = wire.AppendString(wire.AppendKey(dst, key), value) }
		when := func(key string, at time.Time) { text(key, at.UTC().Format(time.RFC3339)) }
		dst = append(wire.AppendSep(dst), '{')
		text("id", t.ID)
		text("client", t.Client)
		text("client_id", t.ClientID)
		text("returns", t.Returns)
		text("scope", t.Scope)
		text("resource", t.Resource)
		when("created", t.Created)
		when("last_token", t.Used)
		when("expires", t.Expires)
		dst = append(dst, '}')
	}
	return append(dst, "]\n"...)
}

// Ended says which clients were ended.
func Ended(list []Token, stdout, stderr io.Writer) int {
	var out []byte
	for i := range list {
		out = append(out, "Ended "+printable(list[i].ID)+", "+printable(list[i].Client)+".\n"...)
	}
	if len(out) == 0 {
		out = []byte("There was none to end.\n")
	}
	return emit(stdout, stderr, out)
}
