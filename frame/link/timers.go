package link

import (
	"math"
	"time"
)

const never = time.Duration(math.MaxInt64)

// clock is the line's speed, what follows from it, and when things are due.
type clock struct {
	perByte  time.Duration // on the line; 0 if it has no speed
	lineFree time.Duration // when what was written will have left
	lead     bool          // the next packet needs a delimiter before it

	base     int // bytes of a payload on a clean line while short messages wait
	inFlight int // bytes that may be unacknowledged

	srtt, rttvar time.Duration // 0 until measured
	rtoAt        time.Duration
	backoff      int // timeouts since a packet that was sent once was acknowledged, or a ping

	ackDelay time.Duration
	ackAt    time.Duration

	silence   time.Duration // after which the other end is gone
	heard     time.Duration // a good packet
	pings     bool          // a ping is due
	pongs     bool          // so is the answer to one
	pingAt    time.Duration // when the last ping was sent
	pingNext  uint8         // the number of the next
	pinging   uint8         // how many of the last may still be answered
	pingsSent [maxPings]ping
	pongTo    uint8 // the number of the ping that is to be answered
}

// ping is a ping that was sent.
type ping struct {
	at    time.Duration // when the line had carried it
	order uint32        // of the last packet before it
}

func (c *clock) set(baud int) {
	perSecond := baud / 10
	c.ackDelay = ackDelay
	if baud <= 0 {
		perSecond = 1 << 20
		c.ackDelay = ackDelay / 2
	} else {
		c.perByte = 10 * time.Second / time.Duration(baud)
	}
	bytes := perSecond * fragment / 1000
	c.base = min(max(bytes, smallFragment), bulkFragment)
	c.inFlight = min(max(perSecond*lineWindow/1000, 2*(bulkFragment+dataOverhead)), receiveWindow)
	c.ackDelay = max(c.ackDelay, 32*c.perByte)
	c.silence = downAfter + 8*packetTime(c, bulkFragment)
	c.rtoAt, c.ackAt = never, never
	c.lineFree = -time.Hour
}

// wrote counts n bytes onto the line.
func (c *clock) wrote(n int, now time.Duration) {
	c.lineFree = max(c.lineFree, now) + time.Duration(n)*c.perByte
}

// packetTime is what the line needs for a packet.
func packetTime(c *clock, payload int) time.Duration {
	return time.Duration(payload+dataOverhead) * c.perByte
}

// rto is how long after a packet of at most size bytes of payload its
// acknowledgement may come.
func (c *clock) rto(size int) time.Duration {
	least := packetTime(c, size) + aheadOfLine + c.ackDelay + 10*time.Millisecond
	d := 2*least + 100*time.Millisecond
	if c.srtt > 0 {
		d = max(c.srtt+4*c.rttvar, least)
	}
	// One timeout may be noise. More of them are a line that carries nothing.
	return min(d<<max(c.backoff-patience, 0), max(maxRTO, least))
}

// sample takes the time from a packet to its acknowledgement, as RFC 6298 does.
func (c *clock) sample(rtt time.Duration) {
	rtt = max(rtt, time.Microsecond)
	if c.srtt == 0 {
		c.srtt, c.rttvar = rtt, rtt/2
		return
	}
	c.rttvar += ((rtt - c.srtt).Abs() - c.rttvar) / 4
	c.srtt += (rtt - c.srtt) / 8
}

// pinged notes that a ping will have left at a time.
func (e *end) pinged(at time.Duration) {
	e.pingsSent[e.pingNext%maxPings] = ping{at, e.order}
	e.pingNext++
	e.pinging = min(e.pinging+1, maxPings)
	e.pingAt = at
}

// ponged takes the pong to a ping, before the acknowledgement that came with it: what
// was sent before that ping and is not there is lost. It gives the time that both took;
// ok is false if the ping is none of the last few.
func (e *end) ponged(number uint8) (rtt time.Duration, ok bool) {
	after := e.pingNext - 1 - number // pings
	if after >= e.pinging {
		return 0, false
	}
	e.pinging = after // for those before it no pong can come: the line keeps order
	p := &e.pingsSent[number%maxPings]
	if int32(p.order-e.newest) > 0 {
		e.newest = p.order
	}
	return e.now - p.at, true
}

// trip takes the time to a pong, after the acknowledgement that came with it. After
// timeouts it says how late the line is, which what was sent twice does not.
func (e *end) trip(rtt time.Duration) {
	e.stats.trip(rtt)
	if e.backoff > 0 && e.missing() {
		e.srtt = 0 // what it was did not hold
		e.sample(rtt)
		e.backoff = 0
		e.rtoAt = max(e.now, e.lineFree) + e.rto(e.size)
	}
}

// tick does what is due but sends nothing.
func (e *end) tick() {
	switch {
	case e.up && e.now-e.heard >= e.silence:
		e.down()
	case e.session && !e.up && e.now-e.downSince >= e.cfg.Grace:
		e.end(ErrSilence)
	}
	if !e.up {
		return
	}
	if e.cfg.Host && !e.pings && e.now-e.heard >= pingAfter && e.now-e.pingAt >= pingAfter {
		e.pings = true
	}
	if e.now >= e.rtoAt {
		e.timeout()
	}
	if !e.pings && e.now >= e.askAt() {
		e.pings = true
	}
}

// askAt is when to ask again how late the line is, between timeouts that have become
// rare.
func (e *end) askAt() time.Duration {
	if e.backoff <= patience || !e.missing() {
		return never
	}
	return e.pingAt + askEvery
}

// deadline is when transmit is to be called next if nothing arrives before.
func (e *end) deadline() time.Duration {
	at := never
	switch {
	case e.up:
		at = min(e.heard+e.silence, e.rtoAt)
		if !e.pings {
			at = min(at, e.askAt())
		}
		if e.cfg.Host && !e.pings {
			at = min(at, max(e.heard, e.pingAt)+pingAfter)
		}
	case e.session:
		at = e.downSince + e.cfg.Grace
	}
	line := max(e.now, e.lineFree-aheadOfLine)
	if e.due() != dueNothing {
		return min(at, line)
	}
	if !e.up && e.cfg.Host && e.fatal == nil {
		at = min(at, max(line, e.helloAt))
	}
	if e.up {
		at = min(at, max(line, e.ackAt))
	}
	if e.resets {
		at = min(at, max(line, e.resetAt))
	}
	return at
}
