package clients

import (
	"encoding/json"
	"testing"
)

// toolResult is the result of tools/call, of any revision.
type toolResult struct {
	IsError bool
	Content []struct{ Text string }
}

// output is what tools say, as far as it is looked at here.
type output struct {
	Level  int
	Before struct{ Level int }
	Lines  []struct{ Level int }
	Found  []struct{ Address string }
}

// output is read from the text, which every revision has.
func (r toolResult) output(t *testing.T) (o output) {
	t.Helper()
	if r.IsError || len(r.Content) == 0 {
		t.Fatalf("the tool failed: %+v", r)
	}
	if err := json.Unmarshal([]byte(r.Content[0].Text), &o); err != nil {
		t.Fatalf("%q: %v", r.Content[0].Text, err)
	}
	return o
}

// refusal is the text of a result that is an error.
func (r toolResult) refusal() string {
	if !r.IsError || len(r.Content) == 0 {
		return "no error"
	}
	return r.Content[0].Text
}

func (o output) addresses() (all []string) {
	for _, f := range o.Found {
		all = append(all, f.Address)
	}
	return all
}
