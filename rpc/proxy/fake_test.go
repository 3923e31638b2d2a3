package proxy

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"boardhand/frame/link"
)

// fake is a link whose other end is the test. Its sessions begin and end when the
// test says so, with the calls in the order that package link promises.
type fake struct {
	p       *Proxy
	mu      sync.Mutex
	changed sync.Cond
	sent    []sent // not taken by the test
	ticket  uint64
	room    int // messages that may wait in sent; Send waits above it

	queue  []any // what Receive gives: messages and errors
	ended  int   // ends that Receive has not given, and the one it gave last
	gave   bool  // Receive has just given ErrEnded
	closed bool
}

type sent struct {
	text   string
	ticket uint64
	flags  link.Flags
}

func newFake(p *Proxy) *fake {
	f := &fake{p: p, room: 1 << 20}
	f.changed.L = &f.mu
	return f
}

func (f *fake) Send(msg []byte, flags link.Flags) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.sent) >= f.room && f.ended == 0 && !f.closed {
		f.changed.Wait()
	}
	switch {
	case f.closed:
		return 0, link.ErrClosed
	case f.ended > 0:
		return 0, link.ErrEnded
	}
	f.ticket++
	f.sent = append(f.sent, sent{string(msg), f.ticket, flags})
	f.changed.Broadcast()
	return f.ticket, nil
}

func (f *fake) Receive() ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.gave {
		f.gave = false
		f.ended--
	}
	for len(f.queue) == 0 && !f.closed {
		f.changed.Wait()
	}
	if len(f.queue) == 0 {
		return nil, io.EOF
	}
	next := f.queue[0]
	f.queue = f.queue[1:]
	f.changed.Broadcast()
	if msg, ok := next.(string); ok {
		return []byte(msg), nil
	}
	f.gave = true
	return nil, next.(error)
}

func (f *fake) Buffered() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue) > 0
}

// begin begins a session.
func (f *fake) begin() {
	f.beginAtOnce()
	synctest.Wait()
}

func (f *fake) beginAtOnce() { f.p.Up(f, link.Peer{New: true, Epoch: 1}) }

// end ends the session. Of what was sent and not taken it says that it was not
// delivered; of the rest it says nothing, for it was.
func (f *fake) end(why error) {
	f.mu.Lock()
	f.ended++
	lost := f.sent
	f.sent = nil
	f.changed.Broadcast()
	f.mu.Unlock()
	for _, s := range lost {
		f.p.Lost(s.ticket, link.NotSent)
	}
	f.p.Ended(why)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, link.ErrEnded)
	f.changed.Broadcast()
}

// give has the board send messages.
func (f *fake) give(msgs ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range msgs {
		f.queue = append(f.queue, m)
	}
	f.changed.Broadcast()
}

func (f *fake) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.changed.Broadcast()
}

// take takes the next message that was sent; "" where there is none yet.
func (f *fake) take() (text string, flags link.Flags) {
	synctest.Wait()
	return f.takeOne()
}

func (f *fake) takeOne() (text string, flags link.Flags) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.sent) == 0 {
		return "", 0
	}
	s := f.sent[0]
	f.sent = f.sent[1:]
	f.changed.Broadcast()
	return s.text, s.flags
}

// bench is a proxy with a client and a link that are the test, in a bubble of
// package synctest.
type bench struct {
	t      *testing.T
	p      *Proxy
	link   *fake
	in     *io.PipeWriter
	mu     sync.Mutex
	out    strings.Builder // what the client has got
	served chan error
	log    []string
}

// bubble runs f with a proxy that serves.
func bubble(t *testing.T, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, served: make(chan error, 1)}
		b.p = New(Config{
			Why: func() string { return "the cable is out" },
			Log: func(line string) { b.mu.Lock(); b.log = append(b.log, line); b.mu.Unlock() },
		})
		b.link = newFake(b.p)
		r, w := io.Pipe()
		b.in = w
		go func() { b.served <- b.p.Serve(r, b) }()
		f(b)
		_ = w.Close()
		b.link.close()
		if err := <-b.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// Write is the client's end.
func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *bench) say(lines ...string) {
	if _, err := io.WriteString(b.in, strings.Join(lines, "\n")+"\n"); err != nil {
		b.t.Error(err)
	}
	synctest.Wait()
}

// crosses checks what is sent to the board next, in order, and that it is all.
func (b *bench) crosses(want ...string) {
	b.t.Helper()
	for _, w := range append(want, "") {
		if got, _ := b.link.take(); got != w {
			b.t.Errorf("over the link went %q, want %q", got, w)
		}
	}
}

// hears checks what the client gets next, and that it is all.
func (b *bench) hears(want ...string) {
	b.t.Helper()
	synctest.Wait()
	b.mu.Lock()
	got := b.out.String()
	b.out.Reset()
	b.mu.Unlock()
	all := ""
	for _, w := range want {
		all += w + "\n"
	}
	if got != all {
		b.t.Errorf("the client got\n%swant\n%s", got, all)
	}
}

func header(text string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(text), text) }

func asks(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}`
}

func answers(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

func fails(id, message, outcome string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":"` + message + `","data":{"outcome":"` + outcome + `"}}}`
}

const (
	unknownRestart = "the board restarted while this call ran: whether it was done is not known; read the state before you repeat it"
	unknownLost    = "the link to the board was lost while this call ran: whether it was done is not known; read the state before you repeat it"
	away           = "the cable is out; nothing was done"
)
