package link

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestOneGoodbyeOfThreeIsEnough(t *testing.T) {
	for lost := range byes {
		w := newWorld(t, 115200, Config{}, Config{})
		w.run(100*time.Millisecond, nil)
		p := w.host.goodbye(nil)
		one := len(p) / byes
		copy(p[:lost*one], bytes.Repeat([]byte{0x55}, lost*one))
		w.board.receive(p, w.now)
		if w.board.session || w.board.due() != dueNothing {
			t.Errorf("%d goodbyes lost: session %t, due %d", lost, w.board.session, w.board.due())
		}
	}
}

func TestAGoodbyeMeansItsOwnSessionAlone(t *testing.T) {
	w := newWorld(t, 115200, Config{}, Config{})
	if p := w.host.goodbye(nil); len(p) > 0 {
		t.Errorf("a goodbye without a session: % x", p)
	}
	w.run(100*time.Millisecond, nil)
	old := w.host.goodbye(nil)
	if p := w.board.goodbye(nil); len(p) > 0 {
		t.Errorf("a board says goodbye: % x", p)
	}
	w.host.receive(old, w.now) // an echo
	if !w.host.session || w.host.stats.Echoes != byes {
		t.Errorf("an echo of it: %+v", w.host.stats)
	}
	w.board.receive(old, w.now)
	bad := w.board.stats.BadPackets
	w.board.receive(old, w.now) // of none
	if w.board.stats.BadPackets != bad || w.board.resets {
		t.Error("a goodbye without a session is not passed over")
	}
	w.host = newEnd(Config{Host: true, Baud: 115200, Epoch: 1001})
	w.host.opened(w.now)
	w.run(time.Second, nil)
	w.board.receive(old, w.now) // of another
	if !w.board.up || !w.host.up || w.board.stats.Sessions != 2 {
		t.Errorf("an old goodbye ends the session: %+v", w.board.stats)
	}
}

// Close says goodbye in whatever state the link is, and the next host is met as ever.
func TestCloseSaysGoodbye(t *testing.T) {
	for name, before := range map[string]func(a *wire){
		"up": func(*wire) {},
		"the board is silent": func(a *wire) { // and hears, or not
			a.mu.Lock()
			*a.in = nil
			a.mu.Unlock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told diary
				host := New(Config{Host: true, Baud: 115200, Epoch: 1})
				board := New(told.keep(Config{Baud: 115200, Epoch: 2}))
				a, b := newWire()
				ran := make(chan error, 3)
				go func() { ran <- board.Run(b) }()
				go func() { ran <- host.Run(a) }()
				time.Sleep(time.Second)
				before(a)
				begun := time.Now()
				host.Close()
				if err := <-ran; err != ErrClosed {
					t.Errorf("Run: %v", err)
				}
				if _, err := board.Receive(); err != ErrEnded {
					t.Fatal(err)
				}
				if took := time.Since(begun); took > 50*time.Millisecond {
					t.Errorf("the board's session ended after %v", took)
				}
				told.expect(t, "up   true", "down", "ended: "+ErrGoodbye.Error())
				a.mu.Lock()
				a.closed = false
				a.mu.Unlock()
				next := New(Config{Host: true, Baud: 115200, Epoch: 3})
				go func() { ran <- next.Run(a) }()
				go next.Send([]byte("x"), 0)
				if msg, err := board.Receive(); string(msg) != "x" || err != nil {
					t.Fatalf("received %q, %v", msg, err)
				}
				if b := board.Stats().BadPackets; b != 0 {
					t.Errorf("%d bad packets", b)
				}
				told.expect(t, "up   true")
				next.Close()
				board.Close()
				<-ran
				<-ran
			})
		})
	}
}

// stuck is a port that takes no byte from some moment on.
type stuck struct {
	*wire
	from time.Time
	end  chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	if time.Now().After(s.from) {
		<-s.end
		return 0, ErrClosed
	}
	return s.wire.Write(p)
}

func (s *stuck) Close() error {
	select {
	case <-s.end:
	default:
		close(s.end)
	}
	return s.wire.Close()
}

func TestCloseDoesNotHangOnAStuckPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := New(Config{Host: true, Baud: 115200, Epoch: 1})
		board := New(Config{Baud: 115200, Epoch: 2})
		a, b := newWire()
		ran := make(chan error, 2)
		go func() { ran <- board.Run(b) }()
		go func() { ran <- host.Run(&stuck{a, time.Now().Add(time.Second), make(chan struct{})}) }()
		time.Sleep(2 * time.Second)
		host.Send([]byte("x"), 0)
		synctest.Wait()
		begun := time.Now()
		host.Close()
		<-ran
		if took := time.Since(begun); took < byeWait || took > byeWait+50*time.Millisecond {
			t.Errorf("Close took %v", took)
		}
		board.Close()
		<-ran
	})
}
