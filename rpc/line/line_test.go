package line

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"boardhand/frame"
	"boardhand/frame/link"
	"boardhand/rpc"
)

// board is a Line whose port is one end of a pipe; the other is the test's.
type board struct {
	t     *testing.T
	ports chan link.Port

	mu          sync.Mutex
	began, over int // connections
	lost        int
	silent      []bool

	busy chan struct{} // what the tool "work" waits for
	said []string
}

func start(t *testing.T) *board { return startWith(t, 0) }

func startWith(t *testing.T, grace time.Duration) *board {
	t.Helper()
	b := &board{t: t, ports: make(chan link.Port, 1), busy: make(chan struct{})}
	closed := make(chan struct{})
	l := New(Config{
		Open: func() (link.Port, error) {
			select {
			case p := <-b.ports:
				return p, nil
			case <-closed:
				return nil, net.ErrClosed
			}
		},
		Serve: func() (*rpc.Server, func(), error) {
			b.count(1, 0)
			cat := rpc.Catalogue{Name: "test", Version: "1", Tools: []rpc.Tool{{Name: "work", Run: func(c *rpc.Call) error {
				<-b.busy
				c.Out = append(c.Out, "{}"...)
				return nil
			}}}}
			return rpc.NewServer(cat, rpc.Limits{Message: 4 << 10}, func(string, any, []byte) {}), func() { b.count(0, 1) }, nil
		},
		Lost: func() {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.lost++
		},
		Silent: func(silent bool) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.silent = append(b.silent, silent)
		},
		Grace: grace, Epoch: 7, Program: "test 1", Name: "a board", Max: 4 << 10,
		Log: func(line string) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.said = append(b.said, line)
		},
	})
	done := make(chan error, 1)
	go func() { done <- l.Run() }()
	t.Cleanup(func() {
		l.Close()
		close(closed)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if began, over := b.counts(); began != over {
			t.Errorf("%d connections began and %d ended", began, over)
		}
	})
	return b
}

func (b *board) count(began, over int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.began += began
	b.over += over
}

func (b *board) counts() (began, over int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.began, b.over
}

// plug gives the board a port, and returns its other end.
func (b *board) plug() net.Conn {
	here, there := net.Pipe()
	b.ports <- there
	b.t.Cleanup(func() { here.Close() })
	return here
}

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func pong(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }

func framed(text string) string {
	var out bytes.Buffer
	w := frame.NewWriter(&out)
	w.End(append(w.Begin(), text...), frame.Header)
	_ = w.Flush()
	return out.String()
}

func TestPlainConversations(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 8<<10)
	for name, test := range map[string]struct {
		sent string
		want []string // parts of the answers, in order
	}{
		"newline JSON":         {ping("1") + "\n" + ping("2") + "\n", []string{pong("1") + "\n", pong("2") + "\n"}},
		"Content-Length":       {framed(ping("1")), []string{"Content-Length: ", pong("1")}},
		"both in turn":         {framed(ping("1")) + ping("2") + "\n" + framed(ping("3")), []string{pong("1"), pong("2") + "\n", pong("3")}},
		"noise before":         {"\x01\xff\x7f\x02\n" + ping("1") + "\n", []string{pong("1")}},
		"a terminal before":    {"AT\r\n\r\nroot\r\n" + ping("1") + "\r\n", []string{pong("1")}},
		"a number before":      {"7\n[\n" + ping("1") + "\n", []string{pong("1")}},
		"a too long line":      {big + "\n" + ping("1") + "\n", []string{pong("1")}},
		"a too long line then": {ping("1") + "\n{" + big + "\n" + ping("2") + "\n", []string{pong("1"), `"code":-32700`, pong("2")}},
		"broken JSON then":     {ping("1") + "\n{broken\n" + ping("2") + "\n", []string{pong("1"), `"code":-32700`, pong("2")}},
		"a zero byte before":   {"\x00" + ping("1") + "\n", []string{pong("1")}},
		"text like a packet":   {"\x00\x85\x01\x02garbage\x00" + "\n" + ping("1") + "\n", []string{pong("1")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := start(t).plug()
			go func() { _, _ = port.Write([]byte(test.sent)) }()
			hear(t, port, test.want)
		})
	}
}

// hear reads until all parts have come in order.
func hear(t *testing.T, port net.Conn, want []string) {
	t.Helper()
	_ = port.SetReadDeadline(time.Now().Add(10 * time.Second))
	var all []byte
	buf := make([]byte, 4<<10)
	for rest := all; len(want) > 0; {
		if at := bytes.Index(rest, []byte(want[0])); at >= 0 {
			rest, want = rest[at+len(want[0]):], want[1:]
			continue
		}
		n, err := port.Read(buf)
		if err != nil {
			t.Fatalf("got %q, then %v; %q is missing", all, err, want[0])
		}
		all, rest = append(all, buf[:n]...), append(rest, buf[:n]...)
	}
}

// host is the other end with the link.
func host(t *testing.T, port net.Conn, epoch uint32) *link.Conn {
	c := link.New(link.Config{Host: true, Epoch: epoch, Program: "host"})
	go func() { _ = c.Run(port) }()
	t.Cleanup(func() { c.Close() })
	return c
}

func asks(t *testing.T, c *link.Conn, id string) {
	t.Helper()
	if _, err := c.Send([]byte(ping(id)), 0); err != nil {
		t.Fatal(err)
	}
	msg, err := c.Receive()
	if err != nil || string(msg) != pong(id) {
		t.Fatalf("got %s, %v", msg, err)
	}
}

func TestALinkTakesOverFromAPlainConversation(t *testing.T) {
	t.Parallel()
	b := start(t)
	port := b.plug()
	go func() { _, _ = port.Write([]byte(ping("1") + "\n")) }()
	hear(t, port, []string{pong("1")})
	asks(t, host(t, port, 1), "2")
	if began, over := b.counts(); began != 2 || over != 1 {
		t.Errorf("%d connections began and %d ended, want 2 and 1", began, over)
	}
}

func TestAHostThatRestartsHasAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i := range 3 {
		port := b.plug()
		c := host(t, port, uint32(i+1))
		asks(t, c, "1")
		asks(t, c, "2")
		if began, over := b.counts(); began != i+1 || over != i {
			t.Errorf("host %d: %d connections began and %d ended", i+1, began, over)
		}
		c.Close()
	}
}

// wait waits until the board's state is as it is wanted.
func (b *board) wait(what string, as func() bool) {
	b.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		ok := as()
		b.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("not %s: %d began, %d over, %d lost, silent %v", what, b.began, b.over, b.lost, b.silent)
		}
	}
}

const work = `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"work","arguments":{},"_meta":{` +
	`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

// The end of a session is waiting behind a call that the dispatcher is at work on: it is
// told at once, and the next session is served when the call has ended.
func TestASessionThatEndsWhileTheDispatcherWorks(t *testing.T) {
	t.Parallel()
	b := start(t)
	one := host(t, b.plug(), 1)
	if _, err := one.Send([]byte(work), 0); err != nil {
		t.Fatal(err)
	}
	b.wait("served", func() bool { return b.began == 1 })
	one.Close()
	two := host(t, b.plug(), 2)
	if _, err := two.Send([]byte(ping("2")), 0); err != nil {
		t.Fatal(err)
	}
	b.wait("lost", func() bool { return b.lost > 1 }) // the first is of nobody
	close(b.busy)
	if msg, err := two.Receive(); err != nil || string(msg) != pong("2") {
		t.Errorf("got %s, %v", msg, err)
	}
}

func TestALinkEndsAPlainConversationAtWork(t *testing.T) {
	t.Parallel()
	b := start(t)
	port := b.plug()
	go func() { _, _ = port.Write([]byte(work + "\n")) }()
	b.wait("served", func() bool { return b.began == 1 })
	c := host(t, port, 1)
	if _, err := c.Send([]byte(ping("2")), 0); err != nil {
		t.Fatal(err)
	}
	b.wait("lost", func() bool { return b.lost > 0 })
	close(b.busy)
	if msg, err := c.Receive(); err != nil || string(msg) != pong("2") {
		t.Errorf("got %s, %v", msg, err)
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	const grace = 200 * time.Millisecond
	said := func(b *board) func() bool {
		return func() bool { return len(b.silent) > 0 && b.silent[0] }
	}
	t.Run("of a plain conversation", func(t *testing.T) {
		t.Parallel()
		b := startWith(t, grace)
		port := b.plug()
		go func() { _, _ = port.Write([]byte("noise\n")) }()
		time.Sleep(2 * grace)
		b.wait("told of nobody", func() bool { return len(b.silent) == 0 })
		go func() { _, _ = port.Write([]byte(ping("1") + "\n")) }()
		hear(t, port, []string{pong("1")})
		b.wait("silent", said(b))
		go func() { _, _ = port.Write([]byte(ping("2") + "\n")) }()
		hear(t, port, []string{pong("2")})
		b.wait("heard", func() bool { return len(b.silent) > 1 && !b.silent[1] && b.began == 1 && b.over == 0 && b.lost == 0 })
	})
	t.Run("of the link, which ends", func(t *testing.T) {
		t.Parallel()
		b := startWith(t, grace)
		port := b.plug()
		asks(t, host(t, port, 1), "1")
		port.Close()
		b.wait("silent", said(b))
		// The link's begin was told to whoever spoke plainly, which was nobody.
		b.wait("lost and heard", func() bool { return b.lost == 2 && b.over == 1 && len(b.silent) == 2 && !b.silent[1] })
	})
	t.Run("is over with a host that speaks", func(t *testing.T) {
		t.Parallel()
		b := startWith(t, 3*time.Second)
		c := host(t, b.plug(), 1)
		asks(t, c, "1")
		time.Sleep(4 * time.Second)
		b.wait("never silent", func() bool { return b.silent == nil && b.over == 0 })
	})
}

// A host that ends says goodbye: its connection ends at once, a script is heard, and so
// is another host.
func TestAHostThatLeavesEndsItsConnection(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i := range 2 {
		port := b.plug()
		c := link.New(link.Config{Host: true, Epoch: uint32(i + 1), Program: "host"})
		ran := make(chan error, 1)
		here, there := net.Pipe() // so that the port outlives the host
		go func() { _, _ = io.Copy(port, here) }()
		go func() { _, _ = io.Copy(here, port) }()
		go func() { ran <- c.Run(there) }()
		asks(t, c, "1")
		c.Close()
		<-ran
		for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, over := b.counts(); over == 2*i+1 {
				break
			}
		}
		if began, over := b.counts(); began != 2*i+1 || over != 2*i+1 {
			t.Fatalf("%d connections began and %d ended, want %d", began, over, 2*i+1)
		}
		here.Close()
		port.Close()
		port = b.plug()
		go func() { _, _ = port.Write([]byte("\n" + ping("2") + "\n")) }()
		hear(t, port, []string{pong("2")})
		port.Close()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := strings.Count(strings.Join(b.said, "\n"), "the host has said goodbye"); n != 2 {
		t.Errorf("said %q", b.said)
	}
}

func TestAPortThatFailsKeepsTheSession(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := link.New(link.Config{Host: true, Epoch: 1, Program: "host"})
	defer c.Close()
	for i := range 2 {
		port := b.plug()
		go func() { _ = c.Run(port) }()
		asks(t, c, "1")
		if began, _ := b.counts(); began != 1 {
			t.Errorf("%d connections began, want 1", began)
		}
		if i == 0 {
			port.Close()
			for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				if c.Stats().Sessions == 1 {
					break
				}
			}
			time.Sleep(50 * time.Millisecond) // Run returns
		}
	}
}
