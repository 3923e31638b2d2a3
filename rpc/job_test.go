package rpc

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/frame"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

func scanCall(id int, bus string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"scan","arguments":{"bus":%q},%s}}`, id, bus, modernMeta)
}

func request1(id int, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s}}`, id, method, modernMeta)
}

// talk is a connection in a test: what was sent, and the answers so far.
type talk struct {
	*Conn
	out bytes.Buffer
}

func newTalk(b *bus, l Limits) *talk {
	t := &talk{}
	t.Conn = NewServer(testCatalogue(b), l, nil).NewConn(&t.out)
	return t
}

func (t *talk) say(lines ...string) {
	for _, l := range lines {
		t.Handle([]byte(l), frame.Newline)
	}
	_ = t.Flush()
}

// heard gives the lines that have come, and forgets them.
func (t *talk) heard() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSuffix(t.out.String(), "\n")
	t.out.Reset()
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func TestAJammedBusJamsNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		c := newTalk(b, Limits{})
		start := time.Now()
		c.say(scanCall(1, "i2c-1"), scanCall(2, "i2c-1"), scanCall(3, "spi0"),
			request1(4, "tools/list"), request1(5, "server/discover"),
			`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"read","arguments":{"lines":["a"]},`+modernMeta+`}}`)
		got := c.heard()
		if len(got) != 3 {
			t.Fatalf("with the bus jammed, %d of 3 requests were answered: %q", len(got), got)
		}
		synctest.Wait()
		if n := len(b.started); n != 2 {
			t.Errorf("%d transfers began on two buses; calls on one bus must not overlap", n)
		}
		c.Wait()
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("the last jammed call was answered after %v, want its deadline of 2 s", d)
		}
		got = c.heard()
		if len(got) != 3 {
			t.Fatalf("%d jammed calls were answered, want 3: %q", len(got), got)
		}
		for _, line := range got {
			if !strings.Contains(line, `"isError":true`) || !strings.Contains(line, "gave no answer within 2s") {
				t.Errorf("a jammed call was answered with %s", line)
			}
		}
		if !strings.Contains(strings.Join(got, "\n"), "i2c-1 gave") {
			t.Errorf("no answer names the bus: %q", got)
		}
		// The bus comes back: the transfer that hung ends without a second answer,
		// the one that had waited is not begun any more, and new calls run.
		close(b.release)
		synctest.Wait()
		if b.ran != 2 {
			t.Errorf("%d transfers ran, want the two that had begun", b.ran)
		}
		c.say(scanCall(7, "i2c-1"))
		c.Wait()
		if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], `"id":7,"result"`) {
			t.Errorf("after the jam: %q", got)
		}
	})
}

func TestACancelledCallSendsNothingMore(t *testing.T) {
	for _, id := range []string{`7`, `"seven"`, `"s\u0065ven"`} {
		synctest.Test(t, func(t *testing.T) {
			b := newBus()
			b.slow = 100 * time.Millisecond
			c := newTalk(b, Limits{})
			c.say(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"scan","arguments":{"bus":"i2c-1"},"_meta":{"progressToken":1,` + modernMeta[len(`"_meta":{`):] + `}}`)
			time.Sleep(b.slow)
			synctest.Wait()
			if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], "progress") {
				t.Fatalf("before: %q", got)
			}
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"enough"}}`)
			c.Wait()
			close(b.release)
			time.Sleep(time.Minute)
			if got := c.heard(); got != nil {
				t.Errorf("after the cancellation came %q", got)
			}
			c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`)
			if got := c.heard(); got != nil {
				t.Errorf("a second cancellation was answered: %q", got)
			}
		})
	}
}

func TestAnIDInUseIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		c := newTalk(b, Limits{})
		c.say(scanCall(1, "i2c-1"), request1(1, "tools/list"))
		if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], "-32600") || !strings.Contains(got[0], "in use") {
			t.Errorf("%q", got)
		}
		close(b.release)
		c.Wait()
	})
}

func TestCallsThatWaitAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		c := newTalk(b, Limits{Jobs: 2})
		c.say(scanCall(1, "a"), scanCall(2, "b"), scanCall(3, "c"))
		if got := c.heard(); len(got) != 1 || !strings.Contains(got[0], `"id":3`) || !strings.Contains(got[0], "too many calls are waiting") {
			t.Errorf("%q", got)
		}
		close(b.release)
		c.Wait()
	})
}

func TestABatchWithASlowMemberLeavesWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		c := newTalk(b, Limits{})
		c.say(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		c.heard()
		slow := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"scan","arguments":{"bus":"i2c-%d"}}}`
		c.say("[" + fmt.Sprintf(slow, 1, 1) + "," + fmt.Sprintf(slow, 2, 2) + `,{"jsonrpc":"2.0","id":3,"method":"ping"}]`)
		if got := c.heard(); got != nil {
			t.Fatalf("part of a batch left early: %q", got)
		}
		c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		close(b.release)
		c.Wait()
		synctest.Wait()
		got := c.heard()
		if len(got) != 1 || got[0][0] != '[' || strings.Contains(got[0], `"id":2,`) || !strings.Contains(got[0], `"id":1,`) || !strings.Contains(got[0], `"id":3,`) {
			t.Errorf("%q", got)
		}
	})
}

func TestEndOfInputWaitsForTheAnswers(t *testing.T) {
	for range 20 {
		b := newBus()
		go func() { <-b.started; time.Sleep(5 * time.Millisecond); close(b.release) }()
		var out bytes.Buffer
		in := scanCall(1, "i2c-1") + "\n" + request1(2, "tools/list") + "\n" + request1(3, "prompts/list") // without its newline
		if err := NewServer(testCatalogue(b), Limits{}, nil).Serve(strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), "\n"); n != 3 {
			t.Fatalf("%d of 3 requests were answered: %s", n, out.String())
		}
	}
}

func TestPipelinedAnswersLeaveInOneWrite(t *testing.T) {
	b := newBus()
	w := &writes{}
	in := strings.Repeat(request1(1, "prompts/list")+"\n", 20)
	if err := NewServer(testCatalogue(b), Limits{}, nil).Serve(strings.NewReader(in), w); err != nil {
		t.Fatal(err)
	}
	if w.n > 3 { // the reader's buffer holds 4 KiB
		t.Errorf("20 pipelined answers left in %d writes", w.n)
	}
}

type writes struct{ n, bytes int }

func (w *writes) Write(b []byte) (int, error) { w.n++; w.bytes += len(b); return len(b), nil }

func TestAReaderThatHasGoneEndsTheServer(t *testing.T) {
	in, feed := io.Pipe()
	done := make(chan error)
	go func() { done <- NewServer(testCatalogue(newBus()), Limits{}, nil).Serve(in, broken{}) }()
	fmt.Fprintln(feed, request1(1, "tools/list"))
	if err := <-done; err != io.ErrClosedPipe {
		t.Errorf("Serve returned %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestAnswersUseTheFramingOfTheirQuestion(t *testing.T) {
	b := newBus()
	close(b.release)
	var out bytes.Buffer
	msg := request1(1, "prompts/list")
	slow := scanCall(2, "i2c-1")
	in := msg + "\n" + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(msg), msg) + fmt.Sprintf("content-length: %d\n\n%s", len(slow), slow)
	if err := NewServer(testCatalogue(b), Limits{}, nil).Serve(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	r := frame.NewReader(&out, 1<<20)
	for i, want := range []frame.Mode{frame.Newline, frame.Header, frame.Header} {
		if _, mode, err := r.Next(); err != nil || mode != want {
			t.Errorf("answer %d came in %v, want %v (%v)", i, mode, want, err)
		}
	}
}

func TestListsHavePages(t *testing.T) {
	c := newTalk(newBus(), Limits{Page: 700})
	names, cursor := 0, ""
	for page := 1; ; page++ {
		c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{` + cursor + modernMeta + `}}`)
		got := c.heard()[0]
		names += strings.Count(got, `"inputSchema"`)
		i := strings.Index(got, `"nextCursor":"`)
		if i < 0 {
			if page < 3 {
				t.Errorf("%d pages", page)
			}
			break
		}
		next := got[i+len(`"nextCursor":"`):]
		cursor = `"cursor":"` + next[:strings.Index(next, `"`)] + `",`
	}
	if want := len(c.srv.cat.Tools); names != want {
		t.Errorf("the pages list %d tools, want %d", names, want)
	}
}

// The answer to a fast call comes alone: in one read with a report, some clients
// take the report for one of a call that is over.
func TestProgressIsNotToldOfAFastCall(t *testing.T) {
	for slow, want := range map[time.Duration]int{99 * time.Millisecond: 1, 100 * time.Millisecond: 2} {
		synctest.Test(t, func(t *testing.T) {
			b := newBus()
			b.slow = slow
			close(b.release)
			c := newTalk(b, Limits{})
			c.say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"scan","arguments":{"bus":"i2c-1"},"_meta":{"progressToken":1,` + modernMeta[len(`"_meta":{`):] + `}}`)
			c.Wait()
			if got := c.heard(); len(got) != want {
				t.Errorf("after %v: %q", slow, got)
			}
		})
	}
}

// Not only a handler: whatever is in the catalogue may fail inside.
func TestADispatcherThatFailsInsideAnswersAndServesOn(t *testing.T) {
	cat := testCatalogue(newBus())
	cat.Tools = append(cat.Tools, Tool{Name: "broken", Queue: func(*Call) string { panic("no such queue") },
		Run: func(*Call) error { return nil }})
	var told []string
	out := &bytes.Buffer{}
	c := NewServer(cat, Limits{}, func(entry string, value any, _ []byte) { told = append(told, fmt.Sprint(entry, ": ", value)) }).NewConn(out)
	const broken = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"broken"}}`
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`,
		fmt.Sprintf(broken, 2),
		"[" + fmt.Sprintf(broken, 3) + `,{"jsonrpc":"2.0","id":4,"method":"ping"}]`,
	} {
		out.Reset()
		c.Handle([]byte(line), frame.Newline)
		_ = c.Flush()
	}
	const want = `[{"jsonrpc":"2.0","id":3,"error":{"code":-32603,`
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, `,{"jsonrpc":"2.0","id":4,"result":{}}]`+"\n") {
		t.Errorf("got %s", got)
	}
	if len(told) != 2 || told[0] != "the dispatcher: no such queue" {
		t.Errorf("told %q", told)
	}
}

// flood is a client that calls once and then asks without a pause until it has the
// answer to its call.
type flood struct {
	*strings.Reader // what comes first
	done            atomic.Bool
}

func (f *flood) Read(b []byte) (int, error) {
	switch n, _ := f.Reader.Read(b); {
	case n > 0:
		return n, nil
	case f.done.Load():
		return 0, io.EOF
	}
	ping := `{"jsonrpc":"2.0","id":2,"method":"server/discover"}` + "\n"
	return copy(b, strings.Repeat(ping, len(b)/len(ping)+1)), nil
}

func (f *flood) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(`"id":1,"result"`)) {
		f.done.Store(true)
	}
	return len(b), nil
}

func TestAFloodOfRequestsLeavesAJobItsTurn(t *testing.T) {
	b := newBus()
	close(b.release)
	f := &flood{Reader: strings.NewReader(scanCall(1, "i2c-1") + "\n")}
	if err := NewServer(testCatalogue(b), Limits{}, nil).Serve(f, f); err != nil {
		t.Fatal(err)
	}
}
