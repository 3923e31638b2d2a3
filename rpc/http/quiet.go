package httpfront

import (
	"sync/atomic"
	"time"
)

// quiet tells when requests were served and none was for quietAfter.
type quiet struct {
	tell  func()
	begun atomic.Uint64 // requests
	armed atomic.Bool
	seen  uint64 // of begun, by the timer
	timer *time.Timer
}

// quietAfter is long enough for connections without a request to be parked.
const quietAfter = 2 * linger

func newQuiet(tell func()) *quiet {
	q := &quiet{tell: tell}
	q.timer = time.AfterFunc(time.Hour, q.expire)
	q.timer.Stop()
	return q
}

// request notes that one begins. The timer is not set anew by each.
func (q *quiet) request() {
	q.begun.Add(1)
	if q.armed.CompareAndSwap(false, true) {
		q.timer.Reset(quietAfter)
	}
}

func (q *quiet) expire() {
	if begun := q.begun.Load(); begun != q.seen {
		q.seen = begun
		q.timer.Reset(quietAfter)
		return
	}
	q.armed.Store(false)
	if q.begun.Load() != q.seen && q.armed.CompareAndSwap(false, true) { // one has come meanwhile
		q.timer.Reset(quietAfter)
		return
	}
	q.tell()
}
