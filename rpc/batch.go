package rpc

import (
	"strconv"

	"boardhand/frame"
	"boardhand/rpc/wire"
)

// batch collects the answers to an array of requests (JSON-RPC 2.0, section 6;
// of MCP only 2025-03-26 has it). They leave together when the last is there.
type batch struct {
	open int // requests without their answer
	mode frame.Mode
	out  []byte // "[" and the answers so far
}

func (c *Conn) handleBatch(v wire.Value, mode frame.Mode) {
	items := c.tree.Len(v)
	r := &request{mode: mode}
	switch {
	case c.session == nil || !c.session.batches:
		c.fail(r, badRequest("a message must be one JSON object; only MCP 2025-03-26 has batches, after initialize"))
		return
	case items == 0:
		c.fail(r, badRequest("the batch is empty"))
		return
	case items > c.srv.limits.Batch:
		c.fail(r, badRequest("the batch has "+strconv.Itoa(items)+" requests, where "+strconv.Itoa(c.srv.limits.Batch)+" are allowed"))
		return
	}
	b := &batch{open: items + 1, mode: mode, out: []byte{'['}}
	for item, end := c.tree.Children(v); item < end; item = c.tree.Next(item) {
		r := request{mode: mode, batch: b}
		c.one(&r, item)
	}
	c.batchDone(b)
}

// batchDone counts one request of a batch as done.
func (c *Conn) batchDone(b *batch) {
	b.open--
	if b.open > 0 || len(b.out) == 1 {
		return
	}
	c.w.End(append(append(c.w.Begin(), b.out...), ']'), b.mode)
}
