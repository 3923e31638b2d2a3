package tools

import (
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// pageCost is how many bytes of an answer one page of a list may take. Clients
// cut answers near 10 KB, and ours stay below 8 KB with the envelope.
const pageCost = 7200

// page cuts a list into pages: the items from offset on that fit, how many there
// are in all, and where the next page begins.
type page struct {
	offset int
	total  int
	next   int // 0: all fitted
	cost   int
}

// The members that a list has besides its items, and the parameter that pages.
var (
	pageFields = []rpc.Field{
		{Name: "total", Type: rpc.Integer},
		{Name: "next", Type: rpc.Integer, Optional: true, Description: "offset of more"},
	}
	offsetParam = rpc.Param{Name: "offset", Type: rpc.Integer}
)

// maxOffset bounds the offset of a page.
const maxOffset = 1000000

// add appends one item, a JSON value, if it belongs to the page.
func (p *page) add(dst, item []byte) []byte {
	i := p.total
	p.total++
	if i < p.offset || p.next > 0 {
		return dst
	}
	cost := answerCost(item)
	if p.cost > 0 && p.cost+cost > pageCost {
		p.next = i
		return dst
	}
	p.cost += cost
	return append(wire.AppendSep(dst), item...)
}

// end appends what follows the items, the end of the object included.
func (p *page) end(dst []byte) []byte {
	dst = wire.AppendInt(append(dst, `],"total":`...), int64(p.total))
	if p.next > 0 {
		dst = wire.AppendInt(append(dst, `,"next":`...), int64(p.next))
	}
	return append(dst, '}')
}
