package httpfront

import (
	"fmt"
	"sync"
	"time"
)

// presence knows whether a client is there that could change something. HTTP has no
// connection whose end would tell: a client is there while a request of its own runs,
// a stream's included, and Config.Grace after the last one; until it ends its session
// by DELETE, where that was the last and nobody came without one.
type presence struct {
	grace time.Duration
	tell  func(gone string) // Config.Unheard

	mu    sync.Mutex // held while it is told, so that what is told last is so
	here  int        // requests that run
	last  time.Time  // when one ended
	loose time.Time  // when the last one without a session began
	timer *time.Timer
	armed bool
	gone  bool
	over  bool // the front has ended: nothing is told any more
}

// enter notes a request that begins. It has returned before the request does anything.
func (p *presence) enter() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here++
	if p.gone && !p.over {
		p.gone = false
		p.tell("")
	}
}

// outside notes that a request belongs to no session.
func (p *presence) outside() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loose = time.Now()
}

// leave notes a request that ends.
func (p *presence) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.here--
	p.last = time.Now()
	switch {
	case p.here > 0 || p.armed || p.gone || p.over:
	case p.timer == nil:
		p.armed = true
		p.timer = time.AfterFunc(p.grace, p.expire)
	default:
		p.armed = true
		p.timer.Reset(p.grace)
	}
}

// expire runs when the timer fires, which is not set anew by each request.
func (p *presence) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	if p.here > 0 || p.gone || p.over {
		return
	}
	if left := p.grace - time.Since(p.last); left > 0 {
		p.armed = true
		p.timer.Reset(left)
		return
	}
	p.gone = true
	p.tell(fmt.Sprintf("no client was heard over HTTP for %v", p.grace))
}

// ended is told by the request that has ended the last session.
func (p *presence) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone || p.over || p.here > 1 || time.Since(p.loose) < p.grace {
		return
	}
	p.gone = true
	p.tell("the last client over HTTP has ended its session")
}

// close is for the end of the front.
func (p *presence) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
