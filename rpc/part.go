package rpc

import (
	"errors"
	"time"

	"boardhand/rpc/wire"

	"github.com/valyala/fastjson"
)

// Part makes the call of another tool that a call makes as a part of its own, with
// arguments, a JSON object, which are checked against the tool's table. It does not
// pass the gate: the call that it is a part of has, and names what its parts touch.
func (c *Call) Part(t *Tool, arguments []byte) (*Call, error) {
	k := &Conn{srv: c.conn.srv, parser: new(fastjson.Parser), names: make(map[string]string)}
	k.tree.Unescape = k.unescape
	if err := k.tree.Scan(arguments, wire.Limits{Depth: k.srv.limits.Depth, Values: k.srv.limits.Values}); err != nil {
		return nil, err
	}
	p := &Call{conn: c.conn, dialect: c.dialect, mode: c.mode, level: LogOff, deadline: c.deadline, job: c.job,
		entry: entry{name: t.Name, tool: t, run: t.Run, queue: t.Queue, timeout: t.Timeout}}
	return p, k.check(p, t.Params, k.tree.Root())
}

// partLook is how often a call that waits for a part of it looks for its own end.
const partLook = 20 * time.Millisecond

// Do runs a part of this call, which is one with a queue, on the part's own queue, and
// waits for it: until it has ended, its time is over or this call's is. What the part
// has written is then in its Out.
func (c *Call) Do(part *Call) error {
	s := c.conn.srv
	queue := ""
	if part.entry.queue != nil {
		queue = part.entry.queue(part)
	}
	if queue == "" {
		return s.run(part)
	}
	timeout := part.entry.timeout
	if timeout <= 0 {
		timeout = s.limits.Timeout
	}
	began := time.Now()
	if end := began.Add(timeout); part.deadline.IsZero() || end.Before(part.deadline) {
		part.deadline = end
	}
	j := &job{call: part, queue: queue, reported: began, part: make(chan error, 1)}
	part.job = j
	s.enqueue(j)
	look := time.NewTicker(partLook)
	defer look.Stop()
	for {
		select {
		case err := <-j.part:
			return err
		case now := <-look.C:
			if c.Cancelled() {
				j.gone.Store(true)
				return ErrCancelled
			}
			if now.After(part.deadline) {
				j.gone.Store(true)
				return &timeoutError{queue, now.Sub(began).Round(time.Millisecond)}
			}
		}
	}
}

// ErrCancelled is what ends a call that nobody waits for any more.
var ErrCancelled = errors.New("cancelled")
