package line

import (
	"bytes"
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
}

func start(t *testing.T) *board {
	t.Helper()
	b := &board{t: t, ports: make(chan link.Port, 1)}
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
			cat := rpc.Catalogue{Name: "test", Version: "1"}
			return rpc.NewServer(cat, rpc.Limits{Message: 4 << 10}, func(string, any, []byte) {}), func() { b.count(0, 1) }, nil
		},
		Epoch: 7, Program: "test 1", Name: "a board", Max: 4 << 10,
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
