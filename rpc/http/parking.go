package httpfront

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// parking is a listener whose connections cost little while they wait for a next request.
// net/http keeps 15 KiB for each, in buffers and a stack, from its begin to its end. So
// one over which nothing has come for a moment is taken from it, as if its client had
// closed it, and comes back as a new one with the first byte that arrives.
type parking struct {
	net.Listener
	ready chan accepted // for Accept: what is new, and what comes back

	mu     sync.Mutex
	parked map[net.Conn]bool
	closed chan struct{}
}

type accepted struct {
	conn net.Conn
	err  error
}

// linger is how long a connection waits for its next request before it is parked: what
// a client asks one after the other shall not pay for it.
const linger = time.Second

func newParking(l net.Listener) *parking {
	p := &parking{Listener: l, ready: make(chan accepted), parked: map[net.Conn]bool{}, closed: make(chan struct{})}
	go p.accept()
	return p
}

// accept takes what is new until Close.
func (p *parking) accept() {
	for {
		conn, err := p.Listener.Accept()
		if err == nil {
			conn = &lent{Conn: conn, from: p}
		}
		if !p.give(accepted{conn, err}) || errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// give gives a connection to Accept, and closes it where nobody accepts any more.
func (p *parking) give(a accepted) bool {
	select {
	case p.ready <- a:
		return true
	case <-p.closed:
		if a.conn != nil {
			_ = a.conn.Close()
		}
		return false
	}
}

// Accept implements net.Listener.
func (p *parking) Accept() (net.Conn, error) {
	select {
	case a := <-p.ready:
		return a.conn, a.err
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close closes what is parked, too.
func (p *parking) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		return net.ErrClosed
	default:
	}
	close(p.closed)
	for conn := range p.parked {
		_ = conn.Close()
	}
	return p.Listener.Close()
}

// park keeps a connection until a byte comes over it.
func (p *parking) park(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closed:
		_ = conn.Close()
		return
	default:
	}
	p.parked[conn] = true
	go p.wait(conn)
}

func (p *parking) wait(conn net.Conn) {
	first := make([]byte, 1)
	_ = conn.SetReadDeadline(time.Now().Add(keepOpen))
	n, _ := conn.Read(first)
	p.mu.Lock()
	delete(p.parked, conn)
	p.mu.Unlock()
	if n == 0 {
		_ = conn.Close()
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	p.give(accepted{conn: &lent{Conn: conn, from: p, first: first}})
}

// lent is a connection that net/http has.
type lent struct {
	net.Conn
	from  *parking
	first []byte // came while it was parked
	phase atomic.Int32

	mu   sync.Mutex
	over bool // closed, or parked
}

// The phases of a connection. After a request net/http says StateIdle, and then sets the
// time until which it waits for the first bytes of the next one; these may have come
// already, in which case it sets the time for the rest and reads on.
const (
	atWork int32 = iota
	isIdle
	waits // nothing of the next request has come
)

// noteState is for http.Server.ConnState.
func noteState(conn net.Conn, state http.ConnState) {
	if l, ok := conn.(*lent); ok && state == http.StateIdle {
		l.phase.Store(isIdle)
	}
}

// SetReadDeadline implements net.Conn.
func (l *lent) SetReadDeadline(t time.Time) error {
	if !l.phase.CompareAndSwap(isIdle, waits) {
		l.phase.Store(atWork)
	}
	return l.Conn.SetReadDeadline(t)
}

// Read implements net.Conn. While it waits for a request it ends after linger.
func (l *lent) Read(b []byte) (int, error) {
	if len(l.first) > 0 {
		n := copy(b, l.first)
		l.first = l.first[n:]
		return n, nil
	}
	if l.phase.Load() != waits {
		return l.Conn.Read(b)
	}
	_ = l.Conn.SetReadDeadline(time.Now().Add(linger))
	n, err := l.Conn.Read(b)
	switch {
	case n > 0:
		l.phase.Store(atWork)
		_ = l.Conn.SetReadDeadline(time.Now().Add(keepOpen)) // net/http sets its own for the rest
	case errors.Is(err, os.ErrDeadlineExceeded) && l.end():
		l.from.park(l.Conn)
		return 0, io.EOF
	}
	return n, err
}

// end ends the loan; false: it has ended already.
func (l *lent) end() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.over = true
	return true
}

// Close implements net.Conn. It leaves alone what is parked.
func (l *lent) Close() error {
	if !l.end() {
		return net.ErrClosed
	}
	return l.Conn.Close()
}
