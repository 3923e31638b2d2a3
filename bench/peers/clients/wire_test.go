package clients

import (
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// message is what tells requests, notifications and answers apart.
type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

var header = regexp.MustCompile(`Content-Length: \d+\r\n\r\n`)

// messages takes a stream in either framing apart; how long the headers say that
// the messages are was for the clients to judge.
func messages(t *testing.T, stream string) (all []message) {
	t.Helper()
	for d := json.NewDecoder(strings.NewReader(header.ReplaceAllString(stream, "\n"))); ; {
		var m message
		err := d.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, stream)
		}
		all = append(all, m)
	}
}

// checkAnswers checks that each request that a client sent has one answer among
// what it received, and that a cancelled one has none. It returns how many were
// cancelled.
func checkAnswers(t *testing.T, sent, received string) int {
	t.Helper()
	want := map[string]int{} // answers by id
	cancelled := 0
	for _, m := range messages(t, sent) {
		switch {
		case m.Method == "notifications/cancelled":
			var of struct{ RequestID json.RawMessage }
			if err := json.Unmarshal(m.Params, &of); err != nil {
				t.Fatal(err)
			}
			want[string(of.RequestID)] = 0
			cancelled++
		case m.Method != "" && m.ID != nil:
			want[string(m.ID)]++
		}
	}
	got := map[string]int{}
	for _, m := range messages(t, received) {
		if m.Method == "" {
			got[string(m.ID)]++
		}
	}
	for id, n := range want {
		if got[id] != n {
			t.Errorf("request %s has %d answers; want %d", id, got[id], n)
		}
		delete(got, id)
	}
	for id := range got {
		t.Errorf("an answer to %s, which nobody asked", id)
	}
	return cancelled
}
