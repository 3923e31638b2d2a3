package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"boardhand/frame/link"
	"boardhand/rpc"
	"boardhand/rpc/line"
	"boardhand/rpc/proxy"
)

// uart is one end of a line without faults: bytes arrive in small pieces, each when
// its last byte has passed. With baud 0 they arrive at once.
type uart struct {
	baud   int
	in     *way
	out    *way
	closed chan struct{}
	once   sync.Once
}

// way is one direction.
type way struct {
	pieces  chan piece
	free    time.Time    // when the last byte has passed
	carried atomic.Int64 // bytes
	rest    []byte
}

type piece struct {
	at time.Time
	b  []byte
}

const pieceSize = 16

func newLine(baud int) (host, board *uart) {
	toBoard, toHost := &way{pieces: make(chan piece, 4096)}, &way{pieces: make(chan piece, 4096)}
	return &uart{baud: baud, in: toHost, out: toBoard, closed: make(chan struct{})}, &uart{baud: baud, in: toBoard, out: toHost, closed: make(chan struct{})}
}

func (u *uart) Read(p []byte) (int, error) {
	for len(u.in.rest) == 0 {
		select {
		case next := <-u.in.pieces:
			time.Sleep(time.Until(next.at))
			u.in.rest = next.b
		case <-u.closed:
			return 0, io.ErrClosedPipe
		}
	}
	n := copy(p, u.in.rest)
	u.in.rest = u.in.rest[n:]
	return n, nil
}

func (u *uart) Write(p []byte) (int, error) {
	w := u.out
	if now := time.Now(); w.free.Before(now) {
		w.free = now
	}
	w.carried.Add(int64(len(p)))
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pieceSize)
		if u.baud > 0 {
			w.free = w.free.Add(time.Duration(n) * 10 * time.Second / time.Duration(u.baud))
		}
		select {
		case w.pieces <- piece{w.free, bytes.Clone(rest[:n])}:
		case <-u.closed:
			return 0, io.ErrClosedPipe
		}
		rest = rest[n:]
	}
	return len(p), nil
}

func (u *uart) Close() error {
	u.once.Do(func() { close(u.closed) })
	return nil
}

// ports gives a uart as the only serial port.
type ports struct{ *uart }

func (p ports) List() ([]string, error) { return []string{"line"}, nil }

func (p ports) Open(string, int) (link.Port, error) { return p.uart, nil }

func (p ports) Reopen(context.Context, link.Port, int) (link.Port, error) {
	return nil, errors.New("the line is gone")
}

// cable is boardhand at both ends of a line, from the client of
// connect to the tools of serve --serial.
type cable struct {
	t       *testing.T
	host    *uart
	in      *io.PipeWriter
	answers *bufio.Reader
	end     func()
}

const lineBaud = 115200 // where the speed does not matter

// connect joins the two programs; the host knows lists. It is to be called in a
// synctest bubble: time is that of the line alone.
func connect(t *testing.T, baud int, lists *proxy.Lists) *cable {
	host, far := newLine(baud)
	srv := board(t)
	l := line.New(line.Config{
		Open:  func() (link.Port, error) { return far, nil },
		Serve: func() (*rpc.Server, func(), error) { return srv, func() {}, nil },
		Baud:  baud, Epoch: 2, Program: "boardhand " + Version, Name: "simulated board",
	})
	ctx, cancel := context.WithCancel(context.Background())
	d := &proxy.Dialer{Ports: ports{host}, Path: "line", Baud: baud, Program: "boardhand " + Version, Lists: lists}
	p := proxy.New(proxy.Config{Why: d.Why})
	d.Up = func(l *link.Conn, peer link.Peer) { p.Up(l, peer) }
	d.Down, d.Ended, d.Lost = p.Down, p.Ended, p.Lost
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	go func() { _ = l.Run() }()
	go d.Run(ctx)
	go func() { _ = p.Serve(fromClient, toClient) }()
	c := &cable{t: t, host: host, in: in, answers: bufio.NewReaderSize(out, 64<<10)}
	c.end = func() {
		in.Close()
		synctest.Wait()
		cancel()
		l.Close()
		far.Close()
		c.settle() // a Read may wait for the line
	}
	return c
}

func (c *cable) ask(msg string) string {
	c.t.Helper()
	if _, err := io.WriteString(c.in, msg+"\n"); err != nil {
		c.t.Fatal(err)
	}
	return c.answer()
}

func (c *cable) answer() string {
	c.t.Helper()
	answer, err := c.answers.ReadString('\n')
	if err != nil || !strings.Contains(answer, `"result":`) || strings.Contains(answer, `"isError":true`) {
		c.t.Fatalf("a call is answered by %.300q %v", answer, err)
	}
	return answer
}

// calls makes n calls that write and read lines, one at a time.
func (c *cable) calls(from, n int) {
	c.t.Helper()
	for i := from; i < from+n; i++ {
		c.ask(question(i))
	}
}

// question is a call with the id i and arguments that are hard to foresee.
func question(i int) string {
	k := uint32(i) * 2654435761 >> 12
	args := fmt.Sprintf(`{"line":"GPIO%d","level":%d}`, 17+5*(k%3), k>>8&1)
	return strings.Replace(call("2026-07-28", "gpio_write", args), `"id":1,`, fmt.Sprintf(`"id":%d,`, i), 1)
}

// pipelined makes n calls of which so many are under way at a time.
func (c *cable) pipelined(from, n, ahead int) {
	c.t.Helper()
	free := make(chan struct{}, ahead)
	go func() {
		for i := from; i < from+n; i++ {
			free <- struct{}{}
			if _, err := io.WriteString(c.in, question(i)+"\n"); err != nil {
				return
			}
		}
	}()
	for range n {
		c.answer()
		<-free
	}
}

// carried is the bytes on the line from a moment at which nothing moves to another.
func (c *cable) carried(do func()) (toBoard, toHost int) {
	c.settle()
	b, h := c.host.out.carried.Load(), c.host.in.carried.Load()
	do()
	c.settle()
	return int(c.host.out.carried.Load() - b), int(c.host.in.carried.Load() - h)
}

// settle lets what is on its way arrive, acknowledgements too.
func (c *cable) settle() {
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
}

// bytesPerCall is the bytes of a call on the line, or of its answer, with all that a
// packet has, in steady state.
func bytesPerCall(answer bool) func(t *testing.T) float64 {
	return func(t *testing.T) (each float64) {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, lineBaud, nil)
			defer c.end()
			c.calls(1, 100)
			const n = 500
			toBoard, toHost := c.carried(func() { c.calls(101, n) })
			each = float64(toBoard) / n
			if answer {
				each = float64(toHost) / n
			}
		})
		return math.Round(each*10) / 10
	}
}

// delayRatio is how long the slowest of many calls takes from the client's end of
// connect to the answer there, as a multiple of the time that its bytes are on the line.
// What processors add is not in it.
func delayRatio(baud int) func(t *testing.T) float64 {
	return func(t *testing.T) (worst float64) {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, baud, nil)
			defer c.end()
			c.calls(1, 100)
			for i := range 200 {
				c.settle()
				time.Sleep(time.Duration(i%7) * time.Millisecond)
				synctest.Wait()
				before, begun := c.host.out.carried.Load()+c.host.in.carried.Load(), time.Now()
				c.calls(101+i, 1)
				took := time.Since(begun)
				synctest.Wait()
				bytes := c.host.out.carried.Load() + c.host.in.carried.Load() - before
				wire := time.Duration(bytes) * 10 * time.Second / time.Duration(baud)
				worst = max(worst, float64(took)/float64(wire))
			}
		})
		return math.Round(worst*1000) / 1000
	}
}

// callRate is calls a second of the line, with so many under way at a time.
func callRate(baud, ahead int) func(t *testing.T) float64 {
	return func(t *testing.T) (rate float64) {
		synctest.Test(t, func(t *testing.T) {
			c := connect(t, baud, nil)
			defer c.end()
			c.calls(1, 100)
			c.settle()
			const n = 400
			begun := time.Now()
			c.pipelined(101, n, ahead)
			rate = n / time.Since(begun).Seconds()
		})
		return math.Floor(rate)
	}
}

// goodput is the part of the line that a message without any pattern gets, 16 seconds
// long: from Send to Receive, with all that packets and the fragments' growth cost.
func goodput(baud int) func(t *testing.T) float64 {
	return func(t *testing.T) (part float64) {
		synctest.Test(t, func(t *testing.T) {
			near, far := newLine(baud)
			host := link.New(link.Config{Host: true, Epoch: 1, Baud: baud})
			board := link.New(link.Config{Epoch: 2, Baud: baud})
			go func() { _ = host.Run(near) }()
			go func() { _ = board.Run(far) }()
			send := func(msg []byte) time.Duration {
				begun := time.Now()
				if _, err := board.Send(msg, 0); err != nil {
					t.Fatal(err)
				}
				if got, err := host.Receive(); err != nil || !bytes.Equal(got, msg) {
					t.Fatalf("a message of %d bytes came as %d, %v", len(msg), len(got), err)
				}
				return time.Since(begun)
			}
			send([]byte("a session begins"))
			large := noise(16 * baud / 10)
			part = float64(len(large)*10) / float64(baud) / send(large).Seconds()
			_ = host.Close()
			_ = board.Close()
			time.Sleep(time.Second) // a Read that waits for the line
		})
		return math.Floor(part*1000) / 1000
	}
}

// noise is n bytes without any pattern.
func noise(n int) []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(rng.Uint32())
	}
	return p
}

// bytesOfList is what tools/list costs on the line: both ways for a host that has
// never met the board, and from the board to one that has, in an earlier run.
func bytesOfList(known bool) func(t *testing.T) float64 {
	return func(t *testing.T) (cost float64) {
		dir := t.TempDir()
		run := func() {
			synctest.Test(t, func(t *testing.T) {
				lists := proxy.OpenLists(dir)
				defer lists.Close()
				c := connect(t, lineBaud, lists)
				defer c.end()
				c.calls(1, 20)
				toBoard, toHost := c.carried(func() {
					list := c.ask(steady("2026-07-28", "tools_list"))
					t.Logf("%d bytes of tools/list", len(list))
				})
				t.Logf("%d bytes to the board, %d to the host", toBoard, toHost)
				if cost = float64(toBoard + toHost); known {
					cost = float64(toHost)
				}
			})
		}
		run()
		if known {
			run()
		}
		return cost
	}
}

// allocsPerMessage counts what both ends of the link allocate for a call and its
// answer, and the board's server in between.
func allocsPerMessage(t *testing.T) float64 {
	srv := board(t)
	host, far := newLine(0)
	l := line.New(line.Config{
		Open:  func() (link.Port, error) { return memory{far}, nil },
		Serve: func() (*rpc.Server, func(), error) { return srv, func() {}, nil },
		Epoch: 2, Program: "boardhand",
	})
	defer l.Close()
	go func() { _ = l.Run() }()
	h := link.New(link.Config{Host: true, Epoch: 1, Program: "boardhand"})
	defer h.Close()
	go func() { _ = h.Run(memory{host}) }()
	msg := []byte(call("2026-07-28", "gpio_write", `{"line":"GPIO17","level":1}`))
	round := func() {
		if _, err := h.Send(msg, 0); err != nil {
			t.Fatal(err)
		}
		if answer, err := h.Receive(); err != nil || !bytes.Contains(answer, []byte(`"result":`)) {
			t.Fatalf("%.300q %v", answer, err)
		}
	}
	for range 2000 {
		round()
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	least := math.Inf(1)
	for range 3 {
		least = min(least, testing.AllocsPerRun(500, round))
	}
	return least
}

// memory is a uart that allocates nothing itself: see Write.
type memory struct{ *uart }

var pool = make(chan []byte, 4096)

func (m memory) Write(p []byte) (int, error) {
	var b []byte
	select {
	case b = <-pool:
	default:
		b = make([]byte, 0, 4096)
	}
	select {
	case m.out.pieces <- piece{b: append(b[:0], p...)}:
		return len(p), nil
	case <-m.closed:
		return 0, io.ErrClosedPipe
	}
}

func (m memory) Read(p []byte) (int, error) {
	select {
	case next := <-m.in.pieces:
		n := copy(p, next.b)
		pool <- next.b
		if n < len(next.b) {
			return n, io.ErrShortBuffer
		}
		return n, nil
	case <-m.closed:
		return 0, io.ErrClosedPipe
	}
}

// linkBuffers is what the board's end of a link keeps after large and many messages,
// in KiB.
func linkBuffers(t *testing.T) float64 {
	host, far := newLine(0)
	h := link.New(link.Config{Host: true, Epoch: 1, Program: "boardhand"})
	b := link.New(link.Config{Epoch: 2, Program: "boardhand"})
	done := make(chan struct{}, 2)
	for _, run := range []func(){func() { _ = h.Run(host) }, func() { _ = b.Run(far) }} {
		go func() { run(); done <- struct{}{} }()
	}
	noise := noise(1 << 20)
	echo := func(n int, msg []byte) {
		for range n {
			if _, err := h.Send(msg, 0); err != nil {
				t.Fatal(err)
			}
		}
		for range n {
			got, err := b.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.Send(got, 0); err != nil {
				t.Fatal(err)
			}
		}
		for range n {
			if _, err := h.Receive(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 3 {
		echo(1, noise)
		echo(20, noise[:1000])
		echo(64, noise[:100])
	}
	_ = h.Close()
	_ = b.Close()
	<-done
	<-done
	h = nil
	with := heap()
	runtime.KeepAlive(b)
	b = nil
	without := heap()
	return math.Round(float64(with-without) / 1024)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
