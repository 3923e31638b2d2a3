package rpc

import (
	"errors"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"
)

// job is a call that waits: for its turn on a bus, and for the bus. Its life is
// submit, run on the worker of its queue, and exactly one of: the answer, an
// error at its deadline, silence after a cancellation or the end of the
// connection.
type job struct {
	call  *Call
	queue string
	timer *time.Timer
	gone  atomic.Bool   // nobody waits any more; set under the connection's mutex
	begun atomic.Bool   // its handler was called
	part  chan error    // of a part of another call: where its end is told, once; else nil
	ended chan struct{} // closed with gone, where Call.Gone has made it
	asked string        // the id of the question to a person that it waits for, or empty

	reported time.Time // when progress was last told; at first, when the call came
	done     float64
}

// queue is the worker of one bus: one goroutine while it has jobs, so that calls
// on a bus never overlap.
type queue struct {
	jobs []*job // waiting, first in first out
}

// submit hands a checked call to the worker of its queue. The caller holds the
// connection's turn.
func (c *Conn) submit(call *Call, queueName string, timeout time.Duration) {
	if len(c.jobs) >= c.srv.limits.Jobs {
		c.deny(call, Refused, c.srv.limits.tooManyJobs())
		return
	}
	if timeout <= 0 {
		timeout = c.srv.limits.Timeout
	}
	j := &job{call: call, queue: queueName, reported: time.Now()}
	call.job = j
	call.deadline = j.reported.Add(timeout)
	c.jobs = append(c.jobs, j)
	c.running.Add(1)
	c.waiting.Add(1)
	j.timer = time.AfterFunc(timeout, func() { c.expire(j, timeout) })
	c.srv.enqueue(j)
}

func (l *Limits) tooManyJobs() error {
	return errors.New(l.from() + "too many calls are waiting on this connection, the most that may is " + strconv.Itoa(l.Jobs) +
		"; wait for one to end, then call again")
}

func (l *Limits) from() string {
	if l.From == "" {
		return ""
	}
	return l.From + ": "
}

// enqueue appends a job to its queue and starts the worker where none runs.
func (s *Server) enqueue(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if q := s.queues[j.queue]; q != nil {
		q.jobs = append(q.jobs, j)
		return
	}
	q := &queue{jobs: []*job{j}}
	s.queues[j.queue] = q
	go s.work(j.queue, q)
}

// work runs the jobs of one queue until it is empty. Jobs that nobody waits for
// any more are not begun.
func (s *Server) work(name string, q *queue) {
	for {
		s.mu.Lock()
		if len(q.jobs) == 0 {
			delete(s.queues, name)
			s.mu.Unlock()
			return
		}
		j := q.jobs[0]
		copy(q.jobs, q.jobs[1:])
		q.jobs[len(q.jobs)-1] = nil
		q.jobs = q.jobs[:len(q.jobs)-1]
		s.mu.Unlock()
		if j.gone.Load() {
			continue
		}
		j.begun.Store(true)
		err := s.run(j.call)
		if j.part != nil {
			j.part <- err
			continue
		}
		j.call.conn.finish(j, err)
	}
}

// run calls an entry's handler and survives its panic.
func (s *Server) run(call *Call) (err error) {
	defer func() {
		if v := recover(); v != nil {
			s.panics(call.entry.name, v, debug.Stack())
			err = errPanic
		}
	}()
	call.Out = call.Out[:0]
	err = call.entry.run(call)
	if err == nil && len(call.Out) > s.limits.Result {
		err = s.limits.tooLong(len(call.Out))
	}
	return err
}

func (l *Limits) tooLong(n int) error {
	return errors.New(l.from() + "the result has " + strconv.Itoa(n) + " bytes, where " + strconv.Itoa(l.Result) +
		" are allowed; what was asked is done, so ask for less of its result")
}

var errPanic = errors.New("the handler failed inside (see the server's log); the board's state is unknown, read it before you act")

// finish answers a job whose handler has returned, unless nobody waits for it.
func (c *Conn) finish(j *job, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drop(j) {
		return
	}
	c.leave(j.call, Answered, err)
	j.call.entry.answer(j.call, err)
	c.flush()
}

// expire answers a job whose deadline has passed. Its handler may still hang in
// the kernel, and keeps its call's buffers; only the answer does not wait.
func (c *Conn) expire(j *job, timeout time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.drop(j) {
		return
	}
	call := j.call // its handler may be writing to its Out: what answers must not look there
	late := Call{conn: c, dialect: call.dialect, mode: call.mode, batch: call.batch, id: call.id, entry: call.entry}
	err := &timeoutError{j.queue, timeout}
	c.leave(call, Expired, err)
	call.entry.answer(&late, err)
	c.flush()
}

// timeoutError says that a queue gave no answer in time.
type timeoutError struct {
	queue string
	after time.Duration
}

func (e *timeoutError) Error() string {
	return e.queue + " gave no answer within " + e.after.String() +
		": it is jammed, or busy with earlier calls; whether this call acted is unknown. Check the wiring and pull-ups, then read before you write again"
}

var errCancelled = errors.New("cancelled")

// cancel ends the job with this id without an answer.
func (c *Conn) cancel(id []byte) {
	for _, j := range c.jobs {
		if string(j.call.id) == string(id) {
			c.drop(j)
			if j.asked != "" {
				c.withdraw(j)
			}
			c.leave(j.call, Dropped, errCancelled)
			if b := j.call.batch; b != nil {
				c.batchDone(b)
			}
			return
		}
	}
}

// drop takes a job off the connection's list; false means it was off already.
func (c *Conn) drop(j *job) bool {
	if j.gone.Swap(true) {
		return false
	}
	if j.ended != nil {
		close(j.ended)
	}
	j.timer.Stop()
	for i, other := range c.jobs {
		if other == j {
			c.jobs = append(c.jobs[:i], c.jobs[i+1:]...)
			if j.asked == "" {
				c.running.Add(-1)
			}
			break
		}
	}
	c.waiting.Done()
	return true
}

// mayReport says whether progress to done may be told now: it must have grown,
// and a tenth of a second must have passed since the last report, or since the
// call came: a client would have the answer to a fast one in the same read, and
// some then take the report for one of a call that is over.
func (j *job) mayReport(done float64) bool {
	now := time.Now()
	if done <= j.done || now.Sub(j.reported) < 100*time.Millisecond {
		return false
	}
	j.reported, j.done = now, done
	return true
}
