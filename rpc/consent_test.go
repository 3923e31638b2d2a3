package rpc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// confirming is a gate that asks for every write.
func confirming() *watch {
	return &watch{decide: func(c *Call) Verdict {
		if c.Name() == "write" || c.Name() == "scan" {
			if c.Confirmed() {
				return Verdict{}
			}
			return Verdict{Ask, `board.toml:12: line "pump": confirm = true`}
		}
		return Verdict{}
	}}
}

const canAsk = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// writeCall is a call of write by a stateless client; more are further members of
// its params.
func writeCall(id, level int, more string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write","arguments":{"line":"pump","level":%d},%s%s}}`, id, level, more, canAsk)
}

func retry(state, response string) string {
	return `"requestState":"` + state + `","inputResponses":{"confirm":` + response + `},`
}

const yes = `{"action":"accept","content":{"confirm":true}}`

// stateOf is the requestState of an answer that must be a question.
func stateOf(t *testing.T, answer string) string {
	t.Helper()
	var m struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct {
				Method string
				Params struct{ Message string }
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		t.Fatal(err)
	}
	q := m.Result.InputRequests["confirm"]
	if m.Result.ResultType != "input_required" || q.Method != "elicitation/create" || m.Result.RequestState == "" {
		t.Fatalf("no question: %s", answer)
	}
	for _, want := range []string{"write", `"line":"pump"`, "board.toml:12"} {
		if !strings.Contains(q.Params.Message, want) {
			t.Errorf("the question lacks %s: %q", want, q.Params.Message)
		}
	}
	return m.Result.RequestState
}

// one says a line and gives the one line that is heard.
func (c *talk) one(t *testing.T, line string) string {
	t.Helper()
	c.say(line)
	got := c.heard()
	if len(got) != 1 {
		t.Fatalf("%s is answered by %q", line, got)
	}
	return got[0]
}

func TestAStatelessClientBringsThePersonsYes(t *testing.T) {
	w := confirming()
	c := guarded(w, newBus(), Limits{})
	state := stateOf(t, c.one(t, writeCall(1, 1, "")))
	if got := c.one(t, writeCall(2, 1, retry(state, yes))); !strings.Contains(got, `"structuredContent":{"level":1}`) {
		t.Errorf("after the yes: %s", got)
	}
	want := []string{
		`write {"line":"pump","level":1} asked: board.toml:12: line "pump": confirm = true`,
		`write {"line":"pump","level":1} answered confirmed: {"level":1}`,
	}
	if strings.Join(w.seen, "\n") != strings.Join(want, "\n") {
		t.Errorf("the gate saw %q", w.seen)
	}
}

// turned is a state with another digit at i.
func turned(s string, i int) string {
	digit := "A"
	if s[i] == 'A' {
		digit = "B"
	}
	return s[:i] + digit + s[i+1:]
}

func TestOnlyThePersonsYesToThisCallCounts(t *testing.T) {
	const refused, question, done = "-32602", "input_required", `"structuredContent"`
	const used, other, altered, foreign = "requestState was used already", "requestState was given out for another call",
		"or it was altered", "requestState is none of this server's"
	tests := []struct {
		name string
		say  func(t *testing.T, c *talk, state string) string
		want string
	}{
		{"used twice", func(t *testing.T, c *talk, s string) string {
			c.one(t, writeCall(2, 1, retry(s, yes)))
			return writeCall(3, 1, retry(s, yes))
		}, used},
		{"used after a no", func(t *testing.T, c *talk, s string) string {
			c.one(t, writeCall(2, 1, retry(s, `{"action":"decline"}`)))
			return writeCall(3, 1, retry(s, yes))
		}, used},
		{"for other arguments", func(t *testing.T, c *talk, s string) string { return writeCall(2, 0, retry(s, yes)) }, other},
		{"for another tool", func(t *testing.T, c *talk, s string) string {
			return strings.Replace(strings.Replace(writeCall(2, 1, retry(s, yes)), `"write"`, `"scan"`, 1), `"line":"pump","level":1`, `"bus":"a"`, 1)
		}, other},
		{"changed by a bit", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, retry(turned(s, 5), yes))
		}, altered},
		{"changed by its last bits", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, retry(turned(s, len(s)-3), yes))
		}, altered},
		{"its time changed", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, retry(turned(s, 15), yes))
		}, altered},
		{"no base64", func(t *testing.T, c *talk, s string) string { return writeCall(2, 1, retry("!"+s[1:], yes)) }, foreign},
		{"a yes among the arguments", func(t *testing.T, c *talk, s string) string {
			return strings.Replace(writeCall(2, 1, ""), `"level":1`, `"level":1,"confirm":true`, 1)
		}, `no parameter`},
		{"a yes beside the arguments", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, `"confirm":true,"confirmed":true,"action":"accept","content":{"confirm":true},`)
		}, question},
		{"cut short", func(t *testing.T, c *talk, s string) string { return writeCall(2, 1, retry(s[1:], yes)) }, foreign},
		{"empty", func(t *testing.T, c *talk, s string) string { return writeCall(2, 1, retry("", yes)) }, foreign},
		{"of another server", func(t *testing.T, c *talk, s string) string {
			other := guarded(confirming(), newBus(), Limits{})
			return writeCall(2, 1, retry(stateOf(t, other.one(t, writeCall(1, 1, ""))), yes))
		}, altered},
		{"older than the last 64", func(t *testing.T, c *talk, s string) string {
			for range maxOpen {
				c.one(t, writeCall(2, 1, ""))
			}
			return writeCall(3, 1, retry(s, yes))
		}, "is older than the last 64 questions"},
		{"the state is no text", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, `"requestState":7,"inputResponses":{"confirm":`+yes+`},`)
		}, refused},
		{"the answers are no object", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, `"requestState":"`+s+`","inputResponses":[],`)
		}, refused},
		{"a yes without a state", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, `"inputResponses":{"confirm":`+yes+`},`)
		}, question},
		{"a state without an answer", func(t *testing.T, c *talk, s string) string { return writeCall(2, 1, `"requestState":"`+s+`",`) }, question},
		{"an answer to something else", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, `"requestState":"`+s+`","inputResponses":{"other":`+yes+`},`)
		}, question},
		{"the same in another order and form", func(t *testing.T, c *talk, s string) string {
			return strings.Replace(writeCall(2, 1, retry(s, yes)), `"line":"pump","level":1`, `"level":1.0,"line":"p\u0075mp"`, 1)
		}, done},
		{"no", func(t *testing.T, c *talk, s string) string { return writeCall(2, 1, retry(s, `{"action":"decline"}`)) }, "said no"},
		{"neither", func(t *testing.T, c *talk, s string) string { return writeCall(2, 1, retry(s, `{"action":"cancel"}`)) }, "gave no answer"},
		{"accepted without the field", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, retry(s, `{"action":"accept"}`))
		}, "did not agree"},
		{"accepted with false", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, retry(s, `{"action":"accept","content":{"confirm":false}}`))
		}, "did not agree"},
		{"accepted with a text", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, retry(s, `{"action":"accept","content":{"confirm":"true"}}`))
		}, "did not agree"},
		{"the field twice", func(t *testing.T, c *talk, s string) string {
			return writeCall(2, 1, retry(s, `{"action":"accept","content":{"confirm":true,"confirm":false}}`))
		}, "did not agree"},
		{"no result", func(t *testing.T, c *talk, s string) string { return writeCall(2, 1, retry(s, `{}`)) }, "has no action"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := guarded(confirming(), newBus(), Limits{})
			state := stateOf(t, c.one(t, writeCall(1, 1, "")))
			got := c.one(t, tt.say(t, c, state))
			if !strings.Contains(got, tt.want) || strings.Contains(got, done) != (tt.want == done) {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func TestAYesExpires(t *testing.T) {
	for wait, want := range map[time.Duration]string{time.Minute: `"structuredContent"`, time.Minute + time.Second: "has expired"} {
		synctest.Test(t, func(t *testing.T) {
			c := guarded(confirming(), newBus(), Limits{Consent: time.Minute})
			state := stateOf(t, c.one(t, writeCall(1, 1, "")))
			time.Sleep(wait)
			if got := c.one(t, writeCall(2, 1, retry(state, yes))); !strings.Contains(got, want) {
				t.Errorf("after %v: %s", wait, got)
			}
		})
	}
}

// A rule may be against a call that was confirmed, when the answer comes.
func TestAConfirmedCallEntersAgain(t *testing.T) {
	w := &watch{decide: func(c *Call) Verdict {
		if c.Confirmed() {
			return Verdict{Refuse, "too late"}
		}
		return Verdict{Ask, `board.toml:12: confirm`}
	}}
	c := guarded(w, newBus(), Limits{})
	state := stateOf(t, c.one(t, writeCall(1, 1, "")))
	if got := c.one(t, writeCall(2, 1, retry(state, yes))); !strings.Contains(got, "too late") || !strings.Contains(got, "isError") {
		t.Error(got)
	}
}

func TestAClientThatCannotAskIsRefused(t *testing.T) {
	open := func(version, capabilities string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`, version, capabilities)
	}
	const legacy = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{"line":"pump","level":1}}}`
	modern := func(capabilities string) string {
		return strings.Replace(writeCall(1, 1, ""), `{"elicitation":{}}`, capabilities, 1)
	}
	tests := []struct {
		name, opening, call string
		want                string
	}{
		{"2024-11-05, whatever it declares", open("2024-11-05", `{"elicitation":{}}`), legacy, "cannot ask"},
		{"2025-03-26, whatever it declares", open("2025-03-26", `{"elicitation":{}}`), legacy, "cannot ask"},
		{"2025-06-18 without the capability", open("2025-06-18", `{}`), legacy, "cannot ask"},
		{"2025-11-25 for URLs only", open("2025-11-25", `{"elicitation":{"url":{}}}`), legacy, "cannot ask"},
		{"2025-11-25 whose capability is no object", open("2025-11-25", `{"elicitation":true}`), legacy, "cannot ask"},
		{"1.0", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientCapabilities":{"elicitation":{}}}}`,
			`{"jsonrpc":"2.0","id":1,"method":"mcp/executeTool","params":{"id":"mcp://boardhand/tools/write:v1","arguments":{"line":"pump","level":1}}}`, "cannot ask"},
		{"2026-07-28 without the capability", "", modern(`{}`), `"code":-32021,"message":"write needs a person's yes`},
		{"2026-07-28 for URLs only", "", modern(`{"elicitation":{"url":{}}}`), `"data":{"requiredCapabilities":{"elicitation":{"form":{}}}}`},
		{"2026-07-28 for both", "", modern(`{"elicitation":{"url":{},"form":{}}}`), `input_required`},
		{"2025-11-25 for both", open("2025-11-25", `{"elicitation":{"url":{},"form":{}}}`), legacy, `"method":"elicitation/create"`},
		{"2025-11-25 by an older form", open("2025-11-25", `{"elicitation":{}}`), legacy, `"method":"elicitation/create"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := confirming()
			c := guarded(w, newBus(), Limits{})
			if tt.opening != "" {
				c.one(t, tt.opening)
			}
			if got := c.one(t, tt.call); !strings.Contains(got, tt.want) || strings.Contains(got, `"level":1}}`) {
				t.Error(got)
			}
			if strings.Contains(tt.want, "yes") || strings.Contains(tt.want, "cannot") {
				if len(w.seen) != 1 || !strings.Contains(w.seen[0], "unconfirmed") {
					t.Errorf("the gate saw %q", w.seen)
				}
			}
			c.Close()
		})
	}
}

// asking is a connection of 2025-11-25 that can ask.
func asking(t *testing.T, w *watch, b *bus, l Limits) *talk {
	c := guarded(w, b, l)
	c.asking = "confirm-"
	c.one(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	return c
}

func legacyWrite(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"write","arguments":{"line":"pump","level":1}}}`, id)
}

func TestAClientIsAskedByARequest(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":"confirm-1","method":"elicitation/create","params":{"message":"Allow this call? write {\"line\":\"pump\",\"level\":1}\nAsked for by board.toml:12: line \"pump\": confirm = true","requestedSchema":{"type":"object","properties":{"confirm":{"type":"boolean","title":"Allow it","description":"true: do it, once"}},"required":["confirm"]}}}`
	answer := func(id, body string) string { return `{"jsonrpc":"2.0","id":` + id + `,` + body + `}` }
	tests := []struct {
		name string
		says []string // after the question
		want string   // part of the answer to the call; empty: none comes
	}{
		{"yes", []string{answer(`"confirm-1"`, `"result":`+yes)}, `"id":7,"result":{"content":[{"type":"text","text":"{\"level\":1}"}],"structuredContent":{"level":1}}`},
		{"no", []string{answer(`"confirm-1"`, `"result":{"action":"decline"}`)}, "said no"},
		{"neither", []string{answer(`"confirm-1"`, `"result":{"action":"cancel"}`)}, "gave no answer"},
		{"accepted with false", []string{answer(`"confirm-1"`, `"result":{"action":"accept","content":{"confirm":false}}`)}, "did not agree"},
		{"an error", []string{answer(`"confirm-1"`, `"error":{"code":-32601,"message":"what?"}`)}, `the client says: \"what?\"`},
		{"both an error and a yes", []string{answer(`"confirm-1"`, `"error":{"code":-1,"message":"x"},"result":`+yes)}, "could not be asked"},
		{"an answer to nothing", []string{answer(`"confirm-2"`, `"result":`+yes), answer(`7`, `"result":`+yes)}, ""},
		{"yes and no", []string{answer(`"confirm-1"`, `"result":`+yes), answer(`"confirm-1"`, `"result":{"action":"decline"}`)}, `"level":1}}`},
		{"no and yes", []string{answer(`"confirm-1"`, `"result":{"action":"decline"}`), answer(`"confirm-1"`, `"result":`+yes)}, "said no"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := asking(t, confirming(), newBus(), Limits{})
			if got := c.one(t, legacyWrite(7)); got != question {
				t.Errorf("the question is\n%s\nwant\n%s", got, question)
			}
			c.say(tt.says...)
			got := c.heard()
			switch {
			case tt.want == "" && len(got) > 0, tt.want != "" && (len(got) != 1 || !strings.Contains(got[0], tt.want)):
				t.Errorf("%q, want %q", got, tt.want)
			}
			if got := c.one(t, `{"jsonrpc":"2.0","id":8,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":8,"result":{}}` {
				t.Error(got)
			}
			c.Close()
		})
	}
}

func TestAQuestionEnds(t *testing.T) {
	const withdrawn = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"confirm-1","reason":"the call that the question was about has ended"}}`
	tests := []struct {
		name string
		act  func(c *talk)
		want []string // parts of what is heard
		seen string
	}{
		{"in time", func(c *talk) { time.Sleep(2 * time.Minute) }, []string{withdrawn, "nobody answered the question about this call within 1m0s"}, "unconfirmed"},
		{"with its call", func(c *talk) {
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		}, []string{withdrawn}, "dropped"},
		{"with the connection", func(c *talk) { c.Close() }, nil, "dropped"},
		{"with the input", func(c *talk) { c.unheard(); _ = c.Flush() }, []string{"input ended before the person answered"}, "unconfirmed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := confirming()
				c := asking(t, w, newBus(), Limits{Consent: time.Minute})
				c.one(t, legacyWrite(7))
				tt.act(c)
				c.Wait()
				synctest.Wait()
				got := c.heard()
				if len(got) != len(tt.want) {
					t.Fatalf("heard %q, want %q", got, tt.want)
				}
				for i := range got {
					if !strings.Contains(got[i], tt.want[i]) {
						t.Errorf("heard %q, want %q", got[i], tt.want[i])
					}
				}
				if len(w.seen) != 1 || !strings.Contains(w.seen[0], tt.seen) {
					t.Errorf("the gate saw %q, want %s", w.seen, tt.seen)
				}
				c.say(`{"jsonrpc":"2.0","id":"confirm-1","result":` + yes + `}`)
				if got := c.heard(); got != nil {
					t.Errorf("a late answer is answered by %q", got)
				}
			})
		})
	}
}

func TestServeEndsWithQuestionsOpen(t *testing.T) {
	cat := testCatalogue(newBus())
	cat.Gate = func() Gate { return confirming() }
	var out strings.Builder
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}}}}` + "\n" + legacyWrite(7)
	if err := NewServer(cat, Limits{}, nil).Serve(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"id":7,"result":`) || !strings.Contains(out.String(), "input ended") {
		t.Error(out.String())
	}
}

func TestQuestionsAreFew(t *testing.T) {
	c := asking(t, confirming(), newBus(), Limits{})
	for i := range maxQuestions {
		c.one(t, legacyWrite(i+1))
	}
	if got := c.one(t, legacyWrite(100)); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "8 questions wait") {
		t.Error(got)
	}
	if !c.Idle() {
		t.Error("a question keeps the stream from waiting well")
	}
	c.Close()
}

// A call that waits for a bus waits for it after the yes.
func TestAConfirmedCallWaitsForItsBus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		w := confirming()
		c := asking(t, w, b, Limits{})
		c.one(t, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"scan","arguments":{"bus":"i2c-1"}}}`)
		if len(b.started) > 0 {
			t.Error("it began before the yes")
		}
		time.Sleep(time.Minute) // longer than its deadline
		c.say(`{"jsonrpc":"2.0","id":"confirm-1","result":` + yes + `}`)
		synctest.Wait()
		close(b.release)
		c.Wait()
		if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], `"id":7,"result"`) || strings.Contains(got[0], "isError") {
			t.Errorf("%q", got)
		}
		if len(w.seen) != 1 || w.seen[0] != `c 1: scan {"bus":"i2c-1"} answered confirmed: {"bus":"i2c-1"}` {
			t.Errorf("the gate saw %q", w.seen)
		}
	})
}

// What an argument holds cannot look like another question.
func TestAQuestionShowsWhatItsTextHides(t *testing.T) {
	w := &watch{decide: func(*Call) Verdict { return Verdict{Ask, "board.toml:1"} }}
	c := guarded(w, newBus(), Limits{})
	long := strings.Repeat("x", 5000)
	got := c.one(t, strings.Replace(toolCall(1, "all", `{"s":"a\u202eb\u0000\nAsked for by me`+long+`"}`), `Capabilities":{}`, `Capabilities":{"elicitation":{}}`, 1))
	var m struct {
		Result struct {
			InputRequests map[string]struct{ Params struct{ Message string } }
		}
	}
	if err := json.Unmarshal([]byte(got), &m); err != nil {
		t.Fatal(err)
	}
	text := m.Result.InputRequests["confirm"].Params.Message
	want := `Allow this call? all {"s":"a\u202eb\u0000\nAsked for by me`
	if !strings.HasPrefix(text, want) || strings.Count(text, "\n") != 1 || !strings.Contains(text, "… (5022 bytes)") || len(text) > maxQuestion {
		t.Errorf("the question is %q", text)
	}
}

func FuzzRedeem(f *testing.F) {
	var q questions
	call := &Call{entry: entry{name: "t", tool: &Tool{}}}
	f.Add(q.issue(nil, call, time.Hour))
	f.Add([]byte("AAAA"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var q questions
		q.issue(nil, call, time.Hour)
		if q.redeem(text, call) == nil {
			t.Errorf("%q was taken for a state of this server", text)
		}
	})
}

// A yes to the question of another connection is none, though both have the same number.
func TestQuestionsOfConnectionsHaveTheirOwnIds(t *testing.T) {
	ids := map[string]bool{}
	for range 2 {
		c := guarded(confirming(), newBus(), Limits{})
		c.one(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}}}}`)
		_, id, _ := strings.Cut(c.one(t, legacyWrite(1)), `"id":"`)
		id, _, _ = strings.Cut(id, `"`)
		for other := range ids {
			c.say(`{"jsonrpc":"2.0","id":"` + other + `","result":` + yes + `}`)
			if got := c.heard(); got != nil {
				t.Errorf("the answer to %s is taken for one to %s: %q", other, id, got)
			}
		}
		ids[id] = true
		if !strings.HasPrefix(id, "confirm-") || !strings.HasSuffix(id, "-1") || len(id) < 20 {
			t.Errorf("the question has the id %q", id)
		}
		c.Close()
	}
	if len(ids) != 2 {
		t.Errorf("two connections ask under %v", ids)
	}
}
