package rpc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/frame"
)

// watch is a gate that decides as it is told and notes what it saw.
type watch struct {
	decide func(c *Call) Verdict
	seen   []string
}

func (w *watch) Enter(c *Call) Verdict {
	if w.decide == nil {
		return Verdict{}
	}
	return w.decide(c)
}

func (w *watch) Leave(c *Call, end Ending, err error) {
	s := c.Name() + " " + string(c.AppendArguments(nil, 10)) + " " + endings[end]
	if c.Client() != "" {
		s = c.Client() + ": " + s
	}
	if c.Confirmed() {
		s += " confirmed"
	}
	if !c.Begun() {
		s += " unbegun"
	}
	if err != nil {
		s += ": " + err.Error()
	} else if end == Answered {
		s += ": " + string(c.Out)
	}
	w.seen = append(w.seen, s)
}

var endings = [...]string{Answered: "answered", Refused: "refused", Asked: "asked", Unconfirmed: "unconfirmed", Expired: "expired", Dropped: "dropped"}

// guarded is a connection whose gate is w.
func guarded(w *watch, b *bus, l Limits, more ...Tool) *talk {
	cat := testCatalogue(b)
	cat.Tools = append(cat.Tools, more...)
	cat.Gate = func() Gate { return w }
	t := &talk{}
	t.Conn = NewServer(cat, l, nil).NewConn(&t.out)
	return t
}

func toolCall(id int, name, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,%s}}`, id, name, args, modernMeta)
}

func TestEveryCallOfEveryDialectPassesTheGate(t *testing.T) {
	for _, d := range allDialects {
		t.Run(d, func(t *testing.T) {
			opening, messages := steady(d)
			w := &watch{}
			c := guarded(w, newBus(), Limits{})
			if opening != "" {
				c.say(opening)
			}
			c.say(messages["read"], messages["write"], messages["tools/list"])
			c.heard()
			client := ""
			if opening != "" && d != "1.0" {
				client = "c 1: "
			}
			want := []string{
				client + `read {"lines":["GPIO17","GPIO27"]} answered: {"levels":[{"line":"GPIO17","level":0},{"line":"GPIO27","level":0}]}`,
				client + `write {"line":"GPIO17","level":1} answered: {"level":1}`,
			}
			if got := strings.Join(w.seen, "\n"); got != strings.Join(want, "\n") {
				t.Errorf("the gate saw\n%s\nwant\n%s", got, strings.Join(want, "\n"))
			}
			w.decide = func(c *Call) Verdict { return Verdict{Refuse, `board.toml:3: not today`} }
			w.seen = nil
			c.say(messages["write"])
			if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], "board.toml:3: not today") || strings.Contains(got[0], `"level":1}`) {
				t.Errorf("refused: %q", got)
			}
			if len(w.seen) != 1 || !strings.HasSuffix(w.seen[0], "refused: board.toml:3: not today") {
				t.Errorf("refused: the gate saw %q", w.seen)
			}
		})
	}
}

func TestResourcesAndPromptsPassTheGate(t *testing.T) {
	w := &watch{}
	c := guarded(w, newBus(), Limits{})
	ask := func(id int, method, params string) {
		c.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`, id, method, params, modernMeta))
	}
	ask(1, "resources/read", `"uri":"test://info"`)
	ask(2, "resources/read", `"uri":"line://no%20line"`)
	ask(3, "prompts/get", `"name":"wire"`)
	c.heard()
	want := "test://info {} answered: a \"quoted\"\nline|line://no%20line {} answered: line \"no line\": not found|wire {} answered: Check "
	if got := strings.Join(w.seen, "|"); got != want {
		t.Errorf("the gate saw %q, want %q", got, want)
	}
	w.decide = func(*Call) Verdict { return Verdict{Refuse, "too often"} }
	ask(4, "resources/read", `"uri":"test://info"`)
	ask(5, "prompts/get", `"name":"wire"`)
	if got := c.heard(); len(got) != 2 || !strings.Contains(got[0], `"error":{"code":-32603,"message":"too often"`) || !strings.Contains(got[1], `"message":"too often"`) {
		t.Errorf("refused: %q", got)
	}
}

func TestAClosedToolIsNotListedAndRefused(t *testing.T) {
	ran := false
	shut := Tool{Name: "shut", Title: "Shut", Closed: `board.toml:7: tool "shut" is closed`,
		Run: func(c *Call) error { ran = true; c.Out = append(c.Out, "{}"...); return nil }}
	for _, gate := range []bool{true, false} {
		cat := testCatalogue(newBus())
		cat.Tools = append(cat.Tools, shut)
		w := &watch{}
		if gate {
			cat.Gate = func() Gate { return w }
		}
		c := &talk{}
		c.Conn = NewServer(cat, Limits{}, nil).NewConn(&c.out)
		for _, d := range allDialects {
			opening, messages := steady(d)
			if opening != "" {
				c.say(opening)
			}
			c.say(messages["tools/list"])
			if got := strings.Join(c.heard(), "\n"); strings.Contains(got, `shut`) || !strings.Contains(got, `write`) {
				t.Errorf("%s lists %s", d, got)
			}
			c.say(strings.NewReplacer(`"name":"write","arguments":{"line":"GPIO17","level":1}`, `"name":"shut","arguments":{}`,
				`tools/write:v1","arguments":{"line":"GPIO17","level":1}`, `tools/shut:v1","arguments":{}`).Replace(messages["write"]))
			if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], `board.toml:7: tool \"shut\" is closed`) {
				t.Errorf("%s: a call gives %q", d, got)
			}
		}
		if ran {
			t.Error("a closed tool ran")
		}
		if gate && len(w.seen) != len(allDialects) {
			t.Errorf("the gate saw %q", w.seen)
		}
	}
}

// Whatever becomes of a call that waits, the gate is told once.
func TestTheGateIsToldOnceHowACallEnded(t *testing.T) {
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`
	tests := []struct {
		name string
		act  func(c *talk, b *bus)
		want []string
	}{
		{"done", func(c *talk, b *bus) {
			close(b.release)
			c.say(scanCall(1, "a"))
		}, []string{`scan {"bus":"a"} answered: {"bus":"a"}`}},
		{"expired, running and waiting for its turn", func(c *talk, b *bus) {
			c.say(scanCall(1, "a"), scanCall(2, "a"))
			time.Sleep(3 * time.Second)
			close(b.release)
		}, []string{`scan {"bus":"a"} expired: a gave`, `scan {"bus":"a"} expired unbegun: a gave`}},
		{"cancelled, running and waiting for its turn", func(c *talk, b *bus) {
			c.say(scanCall(1, "a"), scanCall(2, "a"))
			synctest.Wait()
			c.say(fmt.Sprintf(cancel, 1), fmt.Sprintf(cancel, 2), fmt.Sprintf(cancel, 2))
			close(b.release)
		}, []string{`scan {"bus":"a"} dropped: cancelled`, `scan {"bus":"a"} dropped unbegun: cancelled`}},
		{"the connection goes", func(c *talk, b *bus) {
			c.say(scanCall(1, "a"))
			synctest.Wait()
			c.Close()
			close(b.release)
		}, []string{`scan {"bus":"a"} dropped: cancelled`}},
		{"too many", func(c *talk, b *bus) {
			c.say(scanCall(1, "a"), scanCall(2, "b"), scanCall(3, "c"))
			close(b.release)
		}, []string{`scan {"bus":"c"} refused`, `scan {"bus":"a"} answered`, `scan {"bus":"b"} answered`}},
		{"fails inside", func(c *talk, b *bus) { c.say(toolCall(1, "panic", "{}")) }, []string{`panic {} answered: the handler failed inside`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, b := &watch{}, newBus()
				c := guarded(w, b, Limits{Jobs: 2})
				tt.act(c, b)
				c.Wait()
				synctest.Wait()
				if len(w.seen) != len(tt.want) {
					t.Fatalf("the gate saw %q, want %q", w.seen, tt.want)
				}
				for _, want := range tt.want {
					found := false
					for _, got := range w.seen {
						found = found || strings.HasPrefix(got, want)
					}
					if !found {
						t.Errorf("the gate saw %q, want %q", w.seen, want)
					}
				}
			})
		})
	}
}

func TestAResultThatIsTooLongIsRefused(t *testing.T) {
	c := newTalk(newBus(), Limits{Result: 60, From: "board.toml:9"})
	c.say(toolCall(1, "read", `{"lines":["a"]}`), toolCall(2, "read", `{"lines":["a","b","c"]}`))
	got := c.heard()
	if len(got) != 2 || strings.Contains(got[0], "isError") || !strings.Contains(got[1], `"isError":true`) || !strings.Contains(got[1], "board.toml:9: the result has") {
		t.Errorf("%q", got)
	}
}

func TestArgumentsAreShownShortAndSecretsNot(t *testing.T) {
	params := []Param{
		{Name: "pin", Type: String, Secret: true}, {Name: "s", Type: String}, {Name: "l", Type: Strings}, {Name: "i", Type: Integer},
		{Name: "h", Type: Hex}, {Name: "n", Type: Number}, {Name: "b", Type: Boolean}, {Name: "d", Type: Bytes}, {Name: "e", Type: String},
	}
	var shown, subjects string
	secret := false
	tool := Tool{Name: "t", Params: params,
		Subjects: func(c *Call, dst []Subject) []Subject {
			return append(dst, Thing("gpio", c.Str(1)), Subject{"i2c", "i2c-1", 0x76, "", 0xf4, 0xf5, -1})
		},
		Run: func(c *Call) error {
			shown, secret = string(c.AppendArguments(nil, 8)), c.Secret()
			for _, s := range c.Subjects() {
				subjects += string(s.AppendText(nil)) + ";"
			}
			c.Out = append(c.Out, "{}"...)
			return nil
		}}
	c := guarded(&watch{}, newBus(), Limits{}, tool)
	c.say(toolCall(1, "t", `{"i":-3,"pin":"1234","s":"eight by\u00e4","l":["a","123456789"],"h":"0x1f","n":1.5,"b":false,"d":"00112233445566778899"}`))
	want := `{"pin":"***","s":"eight by… (10 bytes)","l":["a","12345678… (9 bytes)"],"i":-3,"h":"0x1f","n":1.5,"b":false,"d":"00 11 22 33 44 55 66 77… (10 bytes)"}`
	if shown != want {
		t.Errorf("shown %s\nwant  %s", shown, want)
	}
	if !secret {
		t.Error("a secret argument was given and Secret says no")
	}
	if want := "gpio eight byä;i2c i2c-1 0x76 0xf4-0xf5;"; subjects != want {
		t.Errorf("subjects %q, want %q", subjects, want)
	}
	c.say(toolCall(2, "t", `{"s":""}`))
	if secret || shown != `{"s":""}` {
		t.Errorf("secret %v, shown %s", secret, shown)
	}
}

// A gate that fails inside lets nothing pass.
func TestAGateThatFailsInsideLetsNothingPass(t *testing.T) {
	ran := false
	w := &watch{decide: func(*Call) Verdict { panic("broken") }}
	c := guarded(w, newBus(), Limits{}, Tool{Name: "t", Run: func(c *Call) error { ran = true; return errors.New("ran") }})
	c.say(toolCall(1, "t", "{}"))
	if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], "-32603") || ran {
		t.Errorf("%q, ran %v", got, ran)
	}
}

func TestASteadyServerWithAGateAllocatesNothing(t *testing.T) {
	for _, d := range allDialects {
		opening, messages := steady(d)
		for _, name := range []string{"read", "write"} {
			t.Run(d+"/"+name, func(t *testing.T) {
				cat := testCatalogue(newBus())
				for i := range cat.Tools {
					if cat.Tools[i].Name == "write" {
						cat.Tools[i].Subjects = func(c *Call, dst []Subject) []Subject { return append(dst, Thing("gpio", c.Str(0))) }
					}
				}
				g := &quiet{}
				cat.Gate = func() Gate { return g }
				c := NewServer(cat, Limits{}, nil).NewConn(io.Discard)
				if opening != "" {
					c.Handle([]byte(opening), frame.Newline)
				}
				r := frame.NewReader(&loop{msg: framed(messages[name], frame.Newline)}, DefaultMessage)
				step(c, r)
				if n := testing.AllocsPerRun(100, func() { step(c, r) }); n != 0 {
					t.Errorf("%v allocations per request", n)
				}
				if g.subjects == 0 && name == "write" || len(g.line) == 0 {
					t.Error("the gate was not asked")
				}
			})
		}
	}
}

// quiet is a gate that looks at all there is.
type quiet struct {
	line     []byte
	subjects int
}

func (g *quiet) Enter(c *Call) Verdict {
	c.Entered = time.Now()
	g.subjects += len(c.Subjects())
	return Verdict{}
}

func (g *quiet) Leave(c *Call, end Ending, err error) {
	g.line = append(append(g.line[:0], c.Client()...), c.Name()...)
	g.line = c.AppendArguments(g.line, 100)
}

func TestWhatIsClosedIsInNoListAndIsRefused(t *testing.T) {
	const why = `board.toml: closed, for no [[line]] is open`
	cat := testCatalogue(newBus())
	cat.Tools = append(cat.Tools, Tool{Name: "shut", Closed: why})
	cat.Templates = append(cat.Templates, Template{Prefix: "shut://", Closed: why})
	cat.Prompts = append(cat.Prompts, Prompt{Name: "shut", Closed: why})
	w := &watch{}
	cat.Gate = func() Gate { return w }
	c := &talk{}
	c.Conn = NewServer(cat, Limits{}, nil).NewConn(&c.out)
	for _, d := range allDialects {
		opening, _ := steady(d)
		if opening != "" {
			c.one(t, opening)
		}
		meta := ""
		if d == "2026-07-28" {
			meta = modernMeta
		}
		ask := func(method, params string) string {
			t.Helper()
			all := []string{}
			for _, p := range []string{params, meta} {
				if p != "" {
					all = append(all, p)
				}
			}
			return c.one(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, strings.Join(all, ",")))
		}
		lists := []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"}
		calls := [][2]string{
			{"tools/call", `"name":"shut","arguments":{"line":"GPIO17","level":1}`}, {"tools/call", `"name":"shut"`},
			{"resources/read", `"uri":"shut://GPIO17"`}, {"prompts/get", `"name":"shut","arguments":{"line":"GPIO17"}`},
			{"completion/complete", `"ref":{"type":"ref/prompt","name":"shut"},"argument":{"name":"line","value":""}`},
			{"completion/complete", `"ref":{"type":"ref/resource","uri":"shut://{line}"},"argument":{"name":"line","value":""}`},
		}
		if d == "1.0" {
			lists = []string{"mcp/listTools", "mcp/listResources", "mcp/listPrompts"}
			calls = [][2]string{{"mcp/executeTool", `"id":"mcp://boardhand/tools/shut:v1","arguments":{"line":"GPIO17"}`}}
		}
		for _, l := range lists {
			if got := ask(l, ""); strings.Contains(got, "shut") || strings.Contains(got, `"error"`) {
				t.Errorf("%s: %s gives %s", d, l, got)
			}
		}
		w.seen = nil
		for _, call := range calls {
			got := ask(call[0], call[1])
			if !strings.Contains(got, why) || !strings.Contains(got, `"error"`) && !strings.Contains(got, `"isError":true`) {
				t.Errorf("%s: %s %s gives %s", d, call[0], call[1], got)
			}
		}
		if want := min(4, len(calls)); len(w.seen) != want { // completion is no call
			t.Errorf("%s: the gate saw %q, want %d calls", d, w.seen, want)
		}
	}
}

// The lists of 1.0 hold the content of what they list.
func TestTheListsOfVersion1PassTheGate(t *testing.T) {
	w := &watch{decide: func(*Call) Verdict { return Verdict{Refuse, "board.toml:1: too often"} }}
	c := guarded(w, newBus(), Limits{})
	opening, _ := steady("1.0")
	c.one(t, opening)
	for _, list := range []string{"mcp/listResources", "mcp/listPrompts"} {
		w.seen = nil
		got := c.one(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q}`, list))
		if !strings.Contains(got, "board.toml:1: too often") || len(w.seen) != 1 || !strings.Contains(w.seen[0], "refused") {
			t.Errorf("%s: %s; the gate saw %q", list, got, w.seen)
		}
	}
}
