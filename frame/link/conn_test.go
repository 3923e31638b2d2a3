package link

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// wire is an end of a line that holds what is on its way, as a kernel does.
type wire struct {
	mu     *sync.Mutex
	ready  *sync.Cond
	in     *[]byte
	out    *[]byte
	closed bool
}

func newWire() (a, b *wire) {
	var mu sync.Mutex
	ready := sync.NewCond(&mu)
	var ab, ba []byte
	return &wire{mu: &mu, ready: ready, in: &ba, out: &ab}, &wire{mu: &mu, ready: ready, in: &ab, out: &ba}
}

func (w *wire) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(*w.in) == 0 && !w.closed {
		w.ready.Wait()
	}
	if w.closed {
		return 0, net.ErrClosed
	}
	n := copy(p, *w.in)
	*w.in = (*w.in)[:copy(*w.in, (*w.in)[n:])]
	return n, nil
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return 0, net.ErrClosed
	}
	*w.out = append(*w.out, p...)
	w.ready.Broadcast()
	return len(p), nil
}

func (w *wire) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.ready.Broadcast()
	return nil
}

// diary writes down what a Conn tells.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) take() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

func (d *diary) keep(cfg Config) Config {
	cfg.Up = func(p Peer) { d.note("up %s %s %t", p.Program, p.Name, p.New) }
	cfg.Down = func() { d.note("down") }
	cfg.Ended = func(why error) { d.note("ended: %v", why) }
	cfg.Lost = func(ticket uint64, o Outcome) { d.note("lost %d: %v", ticket, o) }
	cfg.Log = func(line []byte) { d.note("log %s", line) }
	cfg.Stray = func(p []byte) { d.note("stray %s", p) }
	return cfg
}

func (d *diary) expect(t *testing.T, want ...string) {
	t.Helper()
	if got := d.take(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestConnectionLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var toHost, toBoard diary
		host := New(toHost.keep(Config{Host: true, Baud: 115200, Epoch: 1, Program: "host 1"}))
		board := New(toBoard.keep(Config{Baud: 115200, Epoch: 2, Program: "board 1", Name: "pump"}))
		a, b := newWire()
		ended := make(chan error, 4)
		go func() { ended <- board.Run(b) }()
		if _, err := host.Send([]byte("before"), 0); err != nil {
			t.Fatal(err)
		}
		go func() { ended <- host.Run(a) }()
		msg, err := board.Receive()
		if string(msg) != "before" || err != nil {
			t.Fatalf("received %q, %v", msg, err)
		}
		toBoard.expect(t, "up host 1  true")
		board.Log([]byte("a line"))
		board.Send([]byte("answer"), 0)
		if msg, err := host.Receive(); string(msg) != "answer" || err != nil {
			t.Fatalf("received %q, %v", msg, err)
		}
		time.Sleep(10 * time.Second)
		toHost.expect(t, "up board 1 pump true", "log a line")
		if s := host.Stats(); s.Smoothed <= 0 || s.MessagesIn != 1 || s.Retransmissions != 0 {
			t.Errorf("stats %+v", s)
		}

		// The cable goes and comes again.
		a.Close()
		b.Close()
		<-ended
		<-ended
		toHost.expect(t, "down")
		toBoard.expect(t, "down")
		if _, err := host.Send([]byte("meanwhile"), 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		a, b = newWire()
		go func() { ended <- board.Run(b) }()
		go func() { ended <- host.Run(a) }()
		if msg, err := board.Receive(); string(msg) != "meanwhile" || err != nil {
			t.Fatalf("received %q, %v", msg, err)
		}
		time.Sleep(time.Second)
		toHost.expect(t, "up board 1 pump false")
		toBoard.expect(t, "up host 1  false")

		// The board's program is killed and started again.
		board.Close()
		<-ended
		if _, err := board.Receive(); err != io.EOF {
			t.Errorf("Receive after Close: %v", err)
		}
		if _, err := board.Send(nil, 0); err != ErrClosed {
			t.Errorf("Send after Close: %v", err)
		}
		toBoard.take()
		if _, err := host.Send([]byte("lost"), 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		board = New(toBoard.keep(Config{Baud: 115200, Epoch: 77, Program: "board 2"}))
		b.mu.Lock()
		b.closed = false
		b.mu.Unlock()
		go func() { ended <- board.Run(b) }()
		if _, err := host.Receive(); err != ErrEnded {
			t.Fatalf("Receive at the end of a session: %v", err)
		}
		toHost.expect(t, "down", "lost 3: unknown", "ended: "+ErrRestarted.Error(), "up board 2  true")
		// Until the end was taken nothing of the old session's goes into the new one.
		if _, err := host.Send([]byte("early"), 0); err != ErrEnded {
			t.Errorf("Send before the next Receive: %v", err)
		}
		last := make(chan error)
		go func() {
			_, err := host.Receive()
			last <- err
		}()
		synctest.Wait()
		if _, err := host.Send([]byte("again"), 0); err != nil {
			t.Fatal(err)
		}
		if msg, err := board.Receive(); string(msg) != "again" || err != nil {
			t.Fatalf("received %q, %v", msg, err)
		}

		// The host leaves for good: the board ends the session at once.
		toBoard.take()
		begun := time.Now()
		host.Close()
		<-ended
		if err := <-last; err != io.EOF {
			t.Errorf("Receive at Close: %v", err)
		}
		if _, err := board.Receive(); err != ErrEnded || time.Since(begun) > 100*time.Millisecond {
			t.Errorf("Receive %v after the goodbye: %v", time.Since(begun), err)
		}
		toBoard.expect(t, "down", "ended: "+ErrGoodbye.Error())
		board.Close()
		<-ended
	})
}

func TestGraceEndsWithoutAPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told diary
		host := New(Config{Host: true, Epoch: 1})
		board := New(told.keep(Config{Epoch: 2, Grace: 5 * time.Second}))
		a, b := newWire()
		go host.Run(a)
		ended := make(chan error)
		go func() { ended <- board.Run(b) }()
		time.Sleep(time.Second)
		board.Send([]byte("x"), 0)
		time.Sleep(time.Second)
		b.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run: %v", err)
		}
		ticket, _ := board.Send([]byte("y"), 0)
		if _, err := board.Receive(); err != ErrEnded {
			t.Errorf("Receive: %v", err)
		}
		told.expect(t, "up   true", "down", fmt.Sprintf("lost %d: not sent", ticket), "ended: "+ErrSilence.Error())
		host.Close()
	})
}

func TestSendWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Host: true, Epoch: 1, Max: 100 << 10})
		var tooLong *TooLongError
		if _, err := c.Send(make([]byte, 100<<10+1), 0); !errors.As(err, &tooLong) {
			t.Errorf("a message that is too long: %v", err)
		}
		if _, err := c.Send(make([]byte, 100<<10), NoWait); err != nil {
			t.Errorf("a message longer than the queue, alone: %v", err)
		}
		if _, err := c.Send([]byte("x"), NoWait); err != ErrFull {
			t.Errorf("with a full queue: %v", err)
		}
		waited := make(chan error)
		go func() { _, err := c.Send([]byte("x"), 0); waited <- err }()
		synctest.Wait()
		c.Close()
		if err := <-waited; err != ErrClosed {
			t.Errorf("a Send that waits while the link is closed: %v", err)
		}
	})
}

func TestPlainTextPassesBetweenPackets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told diary
		board := New(told.keep(Config{Epoch: 2, Baud: 115200}))
		if err := board.WriteStray([]byte("x")); err == nil {
			t.Error("WriteStray without a port gave no error")
		}
		a, b := newWire()
		go board.Run(b)
		a.Write([]byte("{\"id\":1,\"text\":\"21 °C\"}\n"))
		synctest.Wait()
		told.expect(t, "stray {\"id\":1,\"text\":\"21 °C\"}\n")
		text := bytes.Repeat([]byte("0123456789"), 100)
		begun := time.Now()
		if err := board.WriteStray(text); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < 40*time.Millisecond {
			t.Errorf("1000 bytes were written in %v, faster than the line", took)
		}
		synctest.Wait()
		if !bytes.Equal(*a.in, text) {
			t.Errorf("%d bytes arrived, want %d and no others", len(*a.in), len(text))
		}
		board.Close()
	})
}

// A message each way, with all that is done for it, allocates nothing.
func TestNothingIsAllocated(t *testing.T) {
	for _, baud := range []int{115200, 0} {
		w := newWorld(t, baud, Config{}, Config{})
		w.calls(100, 1)
		var buf []byte
		var front inbox
		now := w.now
		exchange := func(from, to *end, msg []byte) {
			from.send(msg, 0)
			for to.in.empty() {
				now += 10 * time.Millisecond
				if buf = from.transmit(buf[:0], now); len(buf) > 0 {
					to.receive(buf, now)
				}
				if buf = to.transmit(buf[:0], now); len(buf) > 0 {
					from.receive(buf, now)
				}
				from.deadline()
			}
			front.reset()
			front, to.in = to.in, front
			to.taken(now)
			if got, _ := front.take(); !bytes.Equal(got, msg) {
				t.Fatalf("got %q", got)
			}
		}
		question, reply := call(1), answerTo(1)
		long := append(bytes.Clone(reply), noise(rand.New(rand.NewPCG(1, 2)), 3000)...)
		round := func() {
			exchange(w.host, w.board, question)
			exchange(w.board, w.host, reply)
			exchange(w.board, w.host, long)
			w.board.logLine(reply)
		}
		for range 300 {
			round()
		}
		if n := testing.AllocsPerRun(200, round); n > 0 {
			t.Errorf("%d baud: %v allocations", baud, n)
		}
	}
}

func TestMemoryOfAnEndIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := newWorld(t, 0, Config{}, Config{})
	w.host.send(noise(rand.New(rand.NewPCG(1, 2)), 1<<20), 0)
	w.board.send(noise(rand.New(rand.NewPCG(1, 3)), 1<<20), 0)
	n := 0
	w.run(time.Hour, func() bool { n += len(take(w.host, w.now)) + len(take(w.board, w.now)); return n == 2 })
	w.calls(300, 16)
	host, board := w.host, w.board
	w = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / 2
	t.Logf("%d KiB an end", each>>10)
	if each > 256<<10 {
		t.Errorf("an end keeps %d KiB, want at most 256", each>>10)
	}
	runtime.KeepAlive(host)
	runtime.KeepAlive(board)
}

// A call and its answer, and all that both ends do for them. bench/arm counts it.
func BenchmarkCallAndAnswer(b *testing.B) {
	w := newWorld(b, 0, Config{}, Config{})
	w.calls(100, 1)
	var questions, replies [256][]byte
	for i := range questions {
		questions[i], replies[i] = call(101+i), answerTo(101+i)
	}
	var buf []byte
	var front inbox
	now := w.now
	exchange := func(from, to *end, msg []byte) {
		from.send(msg, 0)
		for to.in.empty() {
			now += time.Millisecond
			buf = from.transmit(buf[:0], now)
			to.receive(buf, now)
		}
		front.reset()
		front, to.in = to.in, front
		to.taken(now)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		exchange(w.host, w.board, questions[i%len(questions)])
		exchange(w.board, w.host, replies[i%len(replies)])
	}
}
