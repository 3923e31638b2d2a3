package gate

import (
	"time"

	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// What of a call is written down, in bytes.
const (
	shownOfText = 256 // of each argument that is a text or bytes
	maxArgs     = 4096
	maxResult   = 512
	maxError    = 400
	maxOn       = 16 // things
)

const hidden = `"***"`

// Leave implements rpc.Gate: it writes the call down.
//
//	{"time":"2026-08-01T12:00:00.123Z","conn":1,"client":"claude-code 2.1","tool":"gpio_write",
//	"args":{"line":"pump","level":1},"on":["gpio pump"],"decision":"allowed","outcome":"done",
//	"result":{"line":"pump","level":1},"ms":0.021}
//
// The decision is allowed, confirmed, refused, asked (a stateless client has the
// question) or unconfirmed; the outcome is done, failed, unknown (nobody waited
// for its end any more) or not run.
func (g *connection) Leave(c *rpc.Call, end rpc.Ending, err error) {
	if t := g.toolOf(c); !t.recorded {
		return
	}
	took := time.Since(c.Entered)
	dst := append(g.line[:0], `{"time":"`...)
	dst = c.Entered.UTC().AppendFormat(dst, time.RFC3339Nano)
	dst = wire.AppendInt(append(dst, `","conn":`...), int64(g.number))
	if client := c.Client(); client != "" {
		dst = wire.AppendString(append(dst, `,"client":`...), client)
	}
	dst = wire.AppendString(append(dst, `,"tool":`...), c.Name())
	dst = append(dst, `,"args":`...)
	if args := len(dst); c.Hidden {
		dst = append(dst, hidden...)
	} else if dst = c.AppendArguments(dst, shownOfText); len(dst)-args > maxArgs {
		dst = append(wire.AppendInt(append(dst[:args], `"`...), int64(len(dst)-args)), ` bytes"`...)
	}
	if things := c.Subjects(); len(things) > 0 {
		dst = append(dst, `,"on":[`...)
		for i := range things {
			if i == maxOn {
				dst = append(wire.AppendInt(append(dst, `,"and `...), int64(len(things)-i)), ` more"`...)
				break
			}
			name := len(dst)
			dst = things[i].AppendText(dst)
			g.name = append(g.name[:0], dst[name:]...)
			dst = wire.AppendBytes(wire.AppendSep(dst[:name]), g.name)
		}
		dst = append(dst, ']')
	}
	dst = append(append(dst, `,"decision":"`...), decision(c, end)...)
	dst = append(append(dst, `","outcome":"`...), outcome(c, end, err)...)
	dst = append(dst, '"')
	switch {
	case c.Hidden:
	case err != nil:
		text := err.Error()
		dst = wire.AppendString(append(dst, `,"error":`...), text[:min(len(text), maxError)])
	case end == rpc.Answered && len(c.Out) <= maxResult:
		dst = append(append(dst, `,"result":`...), c.Out...)
	case end == rpc.Answered:
		dst = wire.AppendInt(append(dst, `,"result_bytes":`...), int64(len(c.Out)))
	}
	dst = wire.AppendDecimal(append(dst, `,"ms":`...), took.Microseconds(), -3)
	g.line = append(dst, '}')
	g.log.Write(g.line)
}

func decision(c *rpc.Call, end rpc.Ending) string {
	switch {
	case end == rpc.Refused:
		return "refused"
	case end == rpc.Asked:
		return "asked"
	case end == rpc.Unconfirmed:
		return "unconfirmed"
	case c.Confirmed():
		return "confirmed"
	}
	return "allowed"
}

func outcome(c *rpc.Call, end rpc.Ending, err error) string {
	switch {
	case end == rpc.Answered && err == nil:
		return "done"
	case end == rpc.Answered:
		return "failed"
	case (end == rpc.Expired || end == rpc.Dropped) && c.Begun():
		return "unknown"
	}
	return "not run"
}
