package gate_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/device/boardfile"
	"boardhand/device/policy"
	"boardhand/device/sim"
	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/rpc"
	"boardhand/rpc/line"
	"boardhand/rpc/proxy"
	"boardhand/tools"
	"boardhand/tools/gate"
)

// fronts are the ways in which a client is joined to a server.
var fronts = []string{"newline", "Content-Length", "serial link", "plain JSON on a serial port"}

// dialects are all there are.
var dialects = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1.0"}

// host is a client at one of the fronts, in a bubble of package synctest.
type host struct {
	t    *testing.T
	mode frame.Mode
	w    *frame.Writer
	r    *frame.Reader
	id   int

	absent  string // a tool that this board lacks
	dialect string
	asks    bool // it has declared the capability elicitation

	serve  func() *rpc.Server // a board that has started
	ports  chan link.Port     // of a serial link, the host's ends
	epoch  uint32
	board  *line.Line
	port   net.Conn    // of the board
	deaf   atomic.Bool // nothing of the board arrives
	ending []func()
	wait   sync.WaitGroup
}

// join joins a client to a server by a front.
func join(t *testing.T, front string, serve func() *rpc.Server) *host {
	h := &host{t: t, serve: serve}
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	h.w, h.r = frame.NewWriter(in), frame.NewReader(out, 0)
	if front == "Content-Length" {
		h.mode = frame.Header
	}
	h.ending = append(h.ending, func() { _ = in.Close() })
	switch front {
	case "newline", "Content-Length":
		srv := serve()
		h.wait.Go(func() {
			if err := srv.Serve(fromClient, toClient); err != nil {
				t.Error(err)
			}
		})
	case "serial link":
		h.ports = make(chan link.Port, 1)
		p := proxy.New(proxy.Config{})
		var conn *link.Conn
		conn = link.New(link.Config{Host: true, Epoch: 1, Program: "test 1",
			Up: func(peer link.Peer) { p.Up(conn, peer) }, Down: p.Down, Ended: p.Ended, Lost: p.Lost})
		h.wait.Go(func() {
			for port := range h.ports {
				_ = conn.Run(port)
			}
		})
		h.wait.Go(func() {
			if err := p.Serve(fromClient, toClient); err != nil {
				t.Error(err)
			}
		})
		h.restart()
		h.ending = append(h.ending, func() { synctest.Wait(); close(h.ports); _ = conn.Close(); h.board.Close(); _ = h.port.Close() })
	default:
		there := h.start()
		h.wait.Go(func() { _, _ = io.Copy(there, fromClient) })
		h.wait.Go(func() { _, _ = io.Copy(toClient, there) })
		h.ending = append(h.ending, func() { synctest.Wait(); h.board.Close(); _ = h.port.Close() })
	}
	return h
}

func (h *host) close() {
	for _, f := range h.ending {
		f()
	}
	h.wait.Wait()
}

// start starts a board, and gives the other end of its port.
func (h *host) start() net.Conn {
	here, there := net.Pipe()
	h.port = here
	h.epoch++
	opened := false
	h.board = line.New(line.Config{
		Open: func() (link.Port, error) {
			if opened {
				return nil, net.ErrClosed
			}
			opened = true
			return here, nil
		},
		Serve: func() (*rpc.Server, func(), error) { return h.serve(), func() {}, nil },
		Epoch: h.epoch, Program: "test 1", Name: "a board",
	})
	board := h.board
	h.wait.Go(func() { _ = board.Run() })
	return there
}

// restart has the board's end start again, and joins the line anew.
func (h *host) restart() {
	if h.board != nil {
		h.board.Close()
		_ = h.port.Close()
	}
	h.ports <- &ear{Conn: h.start(), deaf: &h.deaf}
	time.Sleep(2 * time.Second)
}

// ear is a port that may hear nothing.
type ear struct {
	net.Conn
	deaf *atomic.Bool
}

func (e *ear) Read(p []byte) (int, error) {
	for {
		n, err := e.Conn.Read(p)
		if err != nil || !e.deaf.Load() {
			return n, err
		}
	}
}

// open opens the session of a dialect, at a client that can ask or not.
func (h *host) open(dialect string, asks bool) {
	h.t.Helper()
	h.dialect, h.asks = dialect, asks
	capabilities := `{}`
	if asks {
		capabilities = `{"elicitation":{}}`
	}
	switch dialect {
	case "2026-07-28":
	case "1.0":
		h.ask("initialize", `"clientCapabilities":`+capabilities)
	default:
		h.ask("initialize", `"protocolVersion":"`+dialect+`","capabilities":`+capabilities+`,"clientInfo":{"name":"test","version":"1"}`)
		h.say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
}

func (h *host) say(msg string) {
	h.t.Helper()
	h.w.End(append(h.w.Begin(), msg...), h.mode)
	if err := h.w.Flush(); err != nil {
		h.t.Fatal(err)
	}
}

// hear gives the next message, which must be framed as the client's own are.
func (h *host) hear() string {
	h.t.Helper()
	msg, mode, err := h.r.Next()
	if err != nil {
		h.t.Fatal(err)
	}
	if mode != h.mode {
		h.t.Errorf("%s came in another framing", msg)
	}
	return string(bytes.TrimSpace(msg))
}

// send sends a request; params are members of its params.
func (h *host) send(method, params string) {
	h.t.Helper()
	if h.dialect == "2026-07-28" {
		if params != "" {
			params += ","
		}
		capabilities := `{}`
		if h.asks {
			capabilities = `{"elicitation":{}}`
		}
		params += `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
	}
	h.id++
	h.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, h.id, method, params))
}

// ask is send, and the next message.
func (h *host) ask(method, params string) string {
	h.t.Helper()
	h.send(method, params)
	return h.hear()
}

// sendCall sends a call of a tool; more are further members of params.
func (h *host) sendCall(tool, args, more string) {
	h.t.Helper()
	if h.dialect == "1.0" {
		h.send("mcp/executeTool", `"id":"mcp://boardhand/tools/`+tool+`:v1","arguments":`+args+more)
		return
	}
	h.send("tools/call", `"name":"`+tool+`","arguments":`+args+more)
}

// call is sendCall, and the next message.
func (h *host) call(tool, args string) string {
	h.t.Helper()
	h.sendCall(tool, args, "")
	return h.hear()
}

// failed says whether an answer is an error, of the protocol or of a tool.
func failed(answer string) bool {
	return strings.Contains(answer, `"error":{`) || strings.Contains(answer, `"isError":true`)
}

// boards makes servers on simulated boards under a file, whose changes of lines are
// all written to changes.
func boards(t *testing.T, file string, limits rpc.Limits, changes *counter) func() *rpc.Server {
	f, err := boardfile.Parse("board.toml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	return func() *rpc.Server {
		wiring := f.Sim
		if changes != nil {
			wiring.Tracer = changes
		}
		b, err := policy.Wrap(sim.Open(wiring), f.Rules, nil)
		if err != nil {
			t.Fatal(err)
		}
		cat, guard := tools.Catalogue(b, "1", func(err error) { t.Error(err) })
		t.Cleanup(func() { guard.Close(); _ = b.Close() })
		if err := gate.Install(&cat, b, f.Rules, tools.Names, nil); err != nil {
			t.Fatal(err)
		}
		return rpc.NewServer(cat, limits, func(entry string, value any, stack []byte) { t.Errorf("%s: %v\n%s", entry, value, stack) })
	}
}

// counter counts how often a line was driven high.
type counter struct {
	mu   sync.Mutex
	text strings.Builder
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.text.Write(p)
}

func (c *counter) highs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Count(c.text.String(), "GPIO17 high")
}

const confirmed = "[[line]]\nline = \"GPIO17\"\nname = \"pump\"\naccess = \"write\"\nconfirm = true\n"

const rule = `board.toml:1: line "pump": confirm = true`

// questionOf is the id of a question that the server has sent, or of a stateless one
// the requestState.
func questionOf(t *testing.T, answer string) string {
	t.Helper()
	type params struct{ Message string }
	var m struct {
		ID     any
		Method string
		Params params
		Result struct {
			ResultType, RequestState string
			InputRequests            map[string]struct {
				Method string
				Params params
			}
		}
	}
	if err := json.Unmarshal([]byte(answer), &m); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	id, method, text := fmt.Sprint(m.ID), m.Method, m.Params.Message
	if m.Result.ResultType == "input_required" {
		q := m.Result.InputRequests["confirm"]
		id, method, text = m.Result.RequestState, q.Method, q.Params.Message
	}
	if id == "" || method != "elicitation/create" || !strings.Contains(text, rule) || !strings.Contains(text, `gpio_write {"line":"pump","level":1}`) {
		t.Fatalf("no question about this call: %s", answer)
	}
	return id
}

// Each revision asks in its own way, or refuses; and nothing but the person's yes
// runs the call, over every front.
func TestAPersonIsAskedInEveryRevisionOverEveryFront(t *testing.T) {
	const write = `{"line":"pump","level":1}`
	const yes = `{"action":"accept","content":{"confirm":true}}`
	answers := []struct {
		name, result string // of the answer; empty: none comes
		want         string
	}{
		{"accept", yes, `"level":1`},
		{"accept, confirm false", `{"action":"accept","content":{"confirm":false}}`, "did not agree"},
		{"decline", `{"action":"decline"}`, "said no"},
		{"cancel", `{"action":"cancel"}`, "gave no answer"},
		{"none", "", "within 1m0s"},
	}
	for _, front := range fronts {
		for _, d := range dialects {
			for _, declared := range []bool{true, false} {
				asks := declared && d >= "2025-06-18"
				for _, a := range answers {
					if !asks && a.name != "accept" {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/declared %v/%s", front, d, declared, a.name), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							changes := &counter{}
							h := join(t, front, boards(t, confirmed, rpc.Limits{Consent: time.Minute}, changes))
							defer h.close()
							h.open(d, declared)
							got, want := h.call("gpio_write", write), a.want
							switch {
							case !asks:
								want = "cannot ask"
							case d == "2026-07-28":
								state := questionOf(t, got)
								result := a.result
								if result == "" {
									time.Sleep(time.Minute + time.Second)
									result, want = yes, "has expired"
								}
								h.sendCall("gpio_write", write, `,"requestState":"`+state+`","inputResponses":{"confirm":`+result+`}`)
								got = h.hear()
							default:
								id := questionOf(t, got)
								if a.result == "" {
									time.Sleep(time.Minute + time.Second)
									if got := h.hear(); !strings.Contains(got, `"notifications/cancelled","params":{"requestId":"`+id) {
										t.Errorf("the question is not withdrawn: %s", got)
									}
								} else {
									h.say(`{"jsonrpc":"2.0","id":"` + id + `","result":` + a.result + `}`)
								}
								got = h.hear()
							}
							done := asks && a.name == "accept"
							if !strings.Contains(got, want) || failed(got) == done {
								t.Errorf("it is answered by %s, want %s", got, want)
							}
							if !asks && !strings.Contains(got, strings.ReplaceAll(rule, `"`, `\"`)) {
								t.Errorf("the refusal does not name the rule: %s", got)
							}
							// Whatever is given with the call, it is no yes.
							if !asks {
								for _, args := range []string{`{"line":"pump","level":1,"confirm":true}`, `{"line":"pump","level":1,"confirmed":true}`} {
									if got := h.call("gpio_write", args); !failed(got) {
										t.Errorf("%s is answered by %s", args, got)
									}
								}
								h.sendCall("gpio_write", write, `,"confirm":true,"requestState":"x","inputResponses":{"confirm":`+yes+`}`)
								if got := h.hear(); !failed(got) {
									t.Errorf("a yes of its own is answered by %s", got)
								}
							}
							if n := changes.highs(); n > 1 || (n == 1) != done {
								t.Errorf("the line was driven %d times", n)
							}
						})
					})
				}
			}
		}
	}
}

// The board restarts while a person thinks: the question ends with it, and a yes that
// comes then, even as an answer of the same number, runs nothing.
func TestAYesToAQuestionOfALostSessionRunsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := &counter{}
		h := join(t, "serial link", boards(t, confirmed, rpc.Limits{}, changes))
		defer h.close()
		h.open("2025-11-25", true)
		old := questionOf(t, h.call("gpio_write", `{"line":"pump","level":1}`))
		h.restart()
		for _, want := range []string{`"requestId":"` + old, `"outcome":"unknown"`} {
			if got := h.hear(); !strings.Contains(got, want) {
				t.Errorf("heard %s, want %s", got, want)
			}
		}
		id := questionOf(t, h.call("gpio_write", `{"line":"pump","level":1}`))
		if id == old {
			t.Errorf("two questions have the id %s", id)
		}
		h.say(`{"jsonrpc":"2.0","id":"` + old + `","result":{"action":"accept","content":{"confirm":true}}}`)
		time.Sleep(time.Second)
		if n := changes.highs(); n != 0 {
			t.Errorf("the line was driven %d times by the yes to another question", n)
		}
		h.say(`{"jsonrpc":"2.0","id":"` + id + `","result":{"action":"accept","content":{"confirm":true}}}`)
		if got := h.hear(); failed(got) || changes.highs() != 1 {
			t.Errorf("%s; the line was driven %d times", got, changes.highs())
		}
	})
}

// The answer to a confirmed call is lost with the link: the call is not made again,
// not by the link and not by a client that repeats it with the same yes.
func TestAConfirmedCallRunsOnceThoughItsAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changes := &counter{}
		h := join(t, "serial link", boards(t, confirmed, rpc.Limits{}, changes))
		defer h.close()
		h.open("2026-07-28", true)
		state := questionOf(t, h.call("gpio_write", `{"line":"pump","level":1}`))
		more := `,"requestState":"` + state + `","inputResponses":{"confirm":{"action":"accept","content":{"confirm":true}}}`
		h.deaf.Store(true)
		h.sendCall("gpio_write", `{"line":"pump","level":1}`, more)
		time.Sleep(time.Second)
		if n := changes.highs(); n != 1 {
			t.Fatalf("the line was driven %d times", n)
		}
		h.deaf.Store(false)
		h.restart()
		if got := h.hear(); !strings.Contains(got, `"outcome":"unknown"`) {
			t.Errorf("the first is answered by %s", got)
		}
		h.sendCall("gpio_write", `{"line":"pump","level":1}`, more)
		if got := h.hear(); !strings.Contains(got, "none that this server gave out since it began this session") {
			t.Errorf("the second is answered by %s", got)
		}
		if n := changes.highs(); n != 1 {
			t.Errorf("the line was driven %d times", n)
		}
	})
}
