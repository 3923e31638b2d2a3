package link

import (
	"encoding/binary"
	"time"
)

// sender is what is to be sent and what is not acknowledged.
type sender struct {
	encoders
	slots       [window]slot
	first, next uint8 // sequence numbers: the oldest packet not acknowledged, the next new one
	unacked     int   // bytes from first to next
	lostCount   int   // packets to send again

	order  uint32 // of transmissions, counted
	newest uint32 // order that the other end has
	shrunk uint32 // order from which a loss makes size smaller
	size   int    // of a payload, at most

	short, long, log outStream
	logDropped       uint32
	inTurn           int // packets of short messages since one of a long
	offer            offer
	flights          flights
	tickets          uint64

	stray []byte // plain bytes to write, the caller's
}

// slot is a packet that was sent.
type slot struct {
	typ      byte
	payload  []byte
	sentAt   time.Duration // when the line had carried it
	earliest uint32        // order of its first transmission
	latest   uint32
	sacked   bool  // it arrived, out of turn
	lost     bool  // it did not
	losses   uint8 // that others showed, up to wholeTimes
	piece    uint8 // the next to be sent, of a packet that is sent in pieces
	messages int   // that end in it
	offer    bool
}

// inPieces says that the packet, should it be sent again, is sent in pieces.
func (s *slot) inPieces() bool { return s.losses >= wholeTimes && len(s.payload) > wholeSize }

// outStream is messages that leave one after the other.
type outStream struct {
	channel byte
	queue   fifo
	busy    bool   // a message is coded and has not left whole
	ticket  uint64 // its
	coded   []byte
	sent    int
	left    uint64 // the ticket of the last that has left
}

func (s *outStream) waits() bool { return s.busy || !s.queue.empty() }

// flights are the messages that left whole, in that order, until acknowledged.
type flights struct {
	tickets []uint64
	head    int
}

func (f *flights) push(ticket uint64) {
	if f.head > 0 && len(f.tickets) == cap(f.tickets) {
		f.tickets = f.tickets[:copy(f.tickets, f.tickets[f.head:])]
		f.head = 0
	}
	f.tickets = append(f.tickets, ticket)
}

func (e *end) beginSending() {
	e.encoders.begin(e.codec())
	for i := range e.slots {
		e.slots[i].offer, e.slots[i].lost, e.slots[i].sacked = false, false, false
	}
	e.first, e.next, e.unacked, e.lostCount = 0, 0, 0, 0
	e.newest, e.shrunk = e.order, e.order
	e.size = min(e.base, firstFragment)
	e.rtoAt, e.backoff = never, 0
	e.short.channel, e.long.channel, e.log.channel = chanShort, chanLong, chanLog
	e.offer = offer{}
	e.dropTooLong(&e.short.queue)
	e.dropTooLong(&e.long.queue)
}

// dropTooLong gives back what waited for a session with an end that takes less.
func (e *end) dropTooLong(q *fifo) {
	var kept fifo
	for !q.empty() {
		i, msg := q.front()
		if len(msg) > e.maxMessage() {
			e.lost(i.ticket, NotSent)
		} else {
			kept.push(msg, *i)
		}
		q.pop()
	}
	*q = kept
}

func (e *end) maxMessage() int {
	if e.session {
		return int(min(int64(e.cfg.Max), int64(e.peer.Max)))
	}
	return e.cfg.Max
}

// accountForAll empties the sender of a session that is dead.
func (e *end) accountForAll() {
	for _, ticket := range e.flights.tickets[e.flights.head:] {
		e.lost(ticket, Unknown)
	}
	e.flights.tickets, e.flights.head = e.flights.tickets[:0], 0
	for _, s := range []*outStream{&e.short, &e.long} {
		if s.busy {
			e.lost(s.ticket, NotSent)
		}
		s.busy, s.coded, s.sent = false, small(s.coded), 0
		for !s.queue.empty() {
			i, _ := s.queue.front()
			outcome := NotSent
			if s == &e.long && e.offer.state == offerSent {
				outcome, e.offer.state = Unknown, offerNone
			}
			e.lost(i.ticket, outcome)
			s.queue.pop()
		}
	}
	if e.log.busy {
		e.log.busy = false
		e.logDropped++
	}
}

// room says that msg may be queued now.
func (e *end) room(size int) bool {
	waits := e.short.queue.waits() + e.long.queue.waits()
	return waits == 0 || waits+size+perMessage <= sendQueue
}

// send queues a message; there is room.
func (e *end) send(msg []byte, f Flags) (ticket uint64) {
	e.tickets++
	i := item{ticket: e.tickets}
	s := &e.short
	if len(msg) > shortMessage || f&Ordered != 0 && e.long.waits() {
		s = &e.long
		if f&Ordered != 0 && e.short.waits() {
			i.after = e.short.newest()
		}
	} else if e.long.waits() {
		e.size = min(e.size, e.base)
	}
	s.queue.push(msg, i)
	e.stats.MessagesOut++
	e.stats.MessageBytesOut += uint64(len(msg))
	return i.ticket
}

// newest is the ticket of the last message that waits.
func (s *outStream) newest() uint64 {
	if s.queue.empty() {
		return s.ticket
	}
	return s.queue.items[len(s.queue.items)-1].ticket
}

// logLine queues a line of the log.
func (e *end) logLine(line []byte) {
	line = line[:min(len(line), maxLogLine)]
	if e.log.queue.waits()+len(line)+perMessage > logQueue {
		e.logDropped++
		return
	}
	e.log.queue.push(line, item{})
}

// due is what is to be sent next.
type due uint8

const (
	dueNothing due = iota
	dueStray
	dueHello
	dueAnswer
	dueReset
	duePong
	dueAgain
	duePing
	dueNew
	dueAck
)

// due looks at what is to be sent, whether or not the line is free.
func (e *end) due() due {
	switch {
	case len(e.stray) > 0:
		return dueStray
	case e.cfg.Host && !e.up && e.fatal == nil && e.now >= e.helloAt:
		return dueHello
	case e.answers:
		return dueAnswer
	case e.resets && e.now >= e.resetAt:
		return dueReset
	case !e.up:
		return dueNothing
	case e.pongs:
		return duePong
	case e.lostCount > 0:
		return dueAgain
	case e.pings:
		return duePing
	case e.mayGo() && e.source() != nil:
		return dueNew
	case e.now >= e.ackAt:
		return dueAck
	}
	return dueNothing
}

// mayGo says that another packet may be under way.
func (e *end) mayGo() bool {
	if e.first == e.next {
		return true
	}
	limit := min(e.inFlight, int(min(e.peer.Window, receiveWindow)))
	return e.next-e.first < window && e.unacked+e.size+dataOverhead <= limit
}

// transmit appends the next bytes to write, a packet at most. It appends nothing
// when there is nothing or the line is not free: see deadline.
func (e *end) transmit(dst []byte, now time.Duration) []byte {
	e.now = now
	e.tick()
	if e.lineFree-now > aheadOfLine {
		return dst
	}
	start := len(dst)
	what := e.due()
	switch what {
	case dueNothing:
		return dst
	case dueStray:
		n := min(len(e.stray), strayChunk)
		dst = append(dst, e.stray[:n]...)
		e.stray = e.stray[n:]
		e.lead = true
		e.wrote(n, now)
		e.stats.BytesOut += uint64(n)
		return dst
	case dueHello, dueAnswer, dueReset, dueAgain, duePing:
		e.lead = true
	}
	if e.lead || now-e.lineFree > leadAfter {
		dst = append(dst, 0)
		e.lead = false
	}
	p := e.body[:1]
	switch what {
	case dueHello:
		p[0] = typeHello
		dst = appendPacket(dst, e.appendHello(p), 0)
		if e.hellos >= hellosAlone {
			p[0] = typeHello
			dst = appendPacket(append(dst, 0), e.appendHello(p), 0)
		}
		wire := time.Duration(len(dst)-start) * e.perByte
		e.helloAt = now + min(helloFirst+time.Duration(e.hellos)*helloFirst/4, helloLast) + 2*wire
		e.hellos = min(e.hellos+1, 100)
	case dueAnswer:
		p[0] = typeAnswer
		dst = appendPacket(dst, e.appendAnswer(p), 0)
		if e.unheard { // the host has not got the last
			p[0] = typeAnswer
			dst = appendPacket(append(dst, 0), e.appendAnswer(p), 0)
		}
		e.answers, e.unheard = false, true
	case dueReset:
		p[0] = typeReset
		r := reset{Epoch: e.epoch}
		dst = appendPacket(dst, must(r.MarshalMsg(p)), 0)
		e.resets, e.resetAt = false, now+resetEvery
	case duePong, duePing, dueAck:
		p[0] = typeAck
		switch what {
		case duePong:
			p[0] |= ackPong
			p = append(e.appendAck(p), e.pongTo)
			e.pongs = false
		case duePing:
			p[0] |= ackPing
			p = append(e.appendAck(p), e.pingNext)
			e.pings = false
		default:
			p = e.appendAck(p)
		}
		dst = appendPacket(dst, p, e.seedOut)
		if what == duePing {
			e.pinged(max(now, e.lineFree) + time.Duration(len(dst)-start)*e.perByte)
		}
	case dueAgain:
		dst = e.again(dst)
	case dueNew:
		dst = e.fresh(dst)
	}
	e.wrote(len(dst)-start, now)
	e.stats.BytesOut += uint64(len(dst) - start)
	return dst
}

// goodbye appends what tells a board that the host ends its session: to write and then
// close the port. It appends nothing without a session.
func (e *end) goodbye(dst []byte) []byte {
	if !e.saysBye() {
		return dst
	}
	for range byes {
		dst = appendPacket(append(dst, 0), append(e.body[:0], typeBye), e.seedOut)
	}
	return dst
}

func (e *end) saysBye() bool { return e.cfg.Host && e.session }

// again sends the oldest packet that was lost, or a piece of it.
func (e *end) again(dst []byte) []byte {
	for seq := e.first; seq != e.next; seq++ {
		s := &e.slots[seq%window]
		switch {
		case !s.lost:
		case s.inPieces():
			return e.appendPiece(dst, s, seq)
		default:
			s.lost = false
			e.lostCount--
			e.stats.Retransmissions++
			return e.appendSlot(dst, s, seq)
		}
	}
	e.lostCount = 0
	return dst
}

// appendPiece appends the next piece of a packet. The packet is lost until the last of
// them is on its way.
func (e *end) appendPiece(dst []byte, s *slot, seq uint8) []byte {
	start := len(dst)
	from, to, last := int(s.piece)*pieceSize, int(s.piece+1)*pieceSize, byte(0)
	if s.piece == 0 {
		e.stats.Retransmissions++
	}
	if to > len(s.payload) {
		to, last = 1+len(s.payload), pieceLast
	}
	p := append(e.body[:0], typePiece, seq)
	p = append(e.appendAck(p), s.piece|last)
	if from == 0 {
		p, from = append(p, s.typ), 1
	}
	dst = appendPacket(dst, append(p, s.payload[from-1:to-1]...), e.seedOut)
	s.piece++
	if last != 0 {
		s.lost, s.piece = false, 0
		e.lostCount--
		e.pings = e.pings || e.lostCount == 0 // the answer says at once what is lost again
	}
	e.sent(s, len(dst)-start)
	e.rtoAt = s.sentAt + e.rto(e.size) // no timeout counts before all of it has left
	return dst
}

// sent notes that a packet, or a piece of it, is on its way, in n bytes.
func (e *end) sent(s *slot, n int) {
	e.order++
	s.latest = e.order
	s.sentAt = max(e.now, e.lineFree) + time.Duration(n)*e.perByte
}

// fresh sends a packet of what waits.
func (e *end) fresh(dst []byte) []byte {
	seq := e.next
	s := &e.slots[seq%window]
	s.payload, s.messages = s.payload[:0], 0
	s.sacked, s.lost, s.offer, s.losses, s.piece = false, false, false, 0, 0
	source := e.source()
	if source == &e.short {
		e.inTurn++
	} else {
		e.inTurn = 0
	}
	if source == &e.long && e.offer.state == offerPlanned {
		e.packOffer(s)
	} else {
		e.pack(source, s)
	}
	e.next++
	e.unacked += len(s.payload) + dataOverhead
	s.earliest = e.order + 1
	return e.appendSlot(dst, s, seq)
}

func (e *end) appendSlot(dst []byte, s *slot, seq uint8) []byte {
	start := len(dst)
	p := append(e.body[:0], s.typ, seq)
	p = append(e.appendAck(p), s.payload...)
	dst = appendPacket(dst, p, e.seedOut)
	e.sent(s, len(dst)-start)
	if e.rtoAt == never {
		e.rtoAt = s.sentAt + e.rto(e.size)
	}
	return dst
}

// source is the stream whose turn it is, nil if none has anything that may go.
func (e *end) source() *outStream {
	short, long := e.short.waits(), e.longReady()
	switch {
	case short && (!long || e.inTurn < shortsInTurn):
		return &e.short
	case long:
		return &e.long
	case e.log.waits():
		return &e.log
	}
	return nil
}

func (e *end) longReady() bool {
	if e.long.busy {
		return true
	}
	if e.long.queue.empty() || e.offer.state == offerSent {
		return false
	}
	i, msg := e.long.queue.front()
	if i.after > e.short.left && e.short.waits() {
		return false
	}
	if e.offer.state == offerUnseen {
		e.considerOffer(msg)
	}
	return e.offer.state != offerPlanned || !e.short.busy
}

// load codes the next message of a stream.
func (e *end) load(s *outStream) {
	i, msg := s.queue.front()
	s.busy, s.ticket, s.sent = true, i.ticket, 0
	switch s {
	case &e.short:
		s.coded = e.encoders.short.Encode(s.coded[:0], msg)
	case &e.long:
		if e.offer.state == offerWanted {
			msg = msg[e.offer.head:]
		}
		s.coded = e.encoders.long.Encode(s.coded[:0], msg)
		e.offer.state = offerUnseen
	case &e.log:
		l := logLine{Dropped: e.logDropped, Line: msg}
		s.coded = must(l.MarshalMsg(s.coded[:0]))
		e.logDropped = 0
	}
	s.queue.pop()
}

// pack fills a packet with a fragment, or with one or several whole messages.
func (e *end) pack(from *outStream, s *slot) {
	if !from.busy {
		e.load(from)
	}
	rest := from.coded[from.sent:]
	s.typ = typeData | from.channel
	if from.sent > 0 || len(rest) > e.size {
		if from.sent == 0 {
			s.typ |= flagFirst
		}
		n := min(len(rest), e.size)
		s.payload = append(s.payload, rest[:n]...)
		from.sent += n
		if n == len(rest) {
			s.typ |= flagLast
			e.leave(from, s)
		}
		return
	}
	s.typ |= flagFirst | flagLast
	if from != &e.short || from.queue.empty() {
		s.payload = append(s.payload, rest...)
		e.leave(from, s)
		return
	}
	s.typ |= flagSeveral
	for {
		s.payload = binary.AppendUvarint(s.payload, uint64(len(from.coded)))
		s.payload = append(s.payload, from.coded...)
		e.leave(from, s)
		if from.queue.empty() || s.messages == together {
			return
		}
		if e.offer.state == offerPlanned && e.inTurn >= shortsInTurn {
			return // the offer waits for a moment at which this stream has no message begun
		}
		e.load(from)
		if len(s.payload)+2+len(from.coded) > e.size {
			return
		}
	}
}

// leave notes that a stream's message ends in a packet.
func (e *end) leave(from *outStream, s *slot) {
	from.busy, from.left = false, from.ticket
	from.coded = small(from.coded)
	if from != &e.log {
		e.flights.push(from.ticket)
		s.messages++
	}
}

// acknowledged takes what a packet says of the packets this end sent.
func (e *end) acknowledged(p *parts) (ok bool) {
	n := p.ack - e.first
	if n > e.next-e.first {
		return false
	}
	var rtt time.Duration
	progress := n > 0
	for ; e.first != p.ack; e.first++ {
		s := &e.slots[e.first%window]
		e.arrived(s, &rtt)
		if s.lost {
			s.lost = false
			e.lostCount--
		}
		e.unacked -= len(s.payload) + dataOverhead
		e.flights.head += s.messages
		if s.offer {
			e.resolve(p.want)
		}
	}
	for i, b := range p.bitmap {
		for bit := range uint8(8) {
			seq := p.ack + uint8(i)*8 + bit
			if b>>bit&1 == 0 || seq-e.first >= e.next-e.first {
				continue
			}
			if s := &e.slots[seq%window]; !s.sacked {
				e.arrived(s, &rtt)
				s.sacked, progress = true, true
				if s.lost {
					s.lost = false
					e.lostCount--
				}
			}
		}
	}
	if rtt > 0 {
		e.sample(rtt)
		e.backoff = 0 // not by a packet that was sent twice: which of the two arrived, it does not say
	}
	if progress {
		e.rtoAt = never
		if e.first != e.next {
			e.rtoAt = max(e.now, e.lineFree) + e.rto(e.size)
		}
	}
	for seq := e.first; seq != e.next; seq++ {
		if s := &e.slots[seq%window]; !s.sacked && !s.lost && int32(s.latest-e.newest) < 0 {
			s.losses = min(s.losses+1, wholeTimes)
			e.lose(s)
		}
	}
	return true
}

// arrived learns from a packet that is acknowledged for the first time.
func (e *end) arrived(s *slot, rtt *time.Duration) {
	if s.sacked {
		return
	}
	order := s.latest
	took := e.now - s.sentAt
	if s.latest == s.earliest {
		*rtt = max(took, time.Microsecond)
		if len(s.payload)+8 > e.size {
			e.size = min(e.size+e.size/8+1, bulkFragment)
		}
	} else if took < e.srtt/2 || s.inPieces() {
		order = s.earliest // what arrived may be an earlier one of the two, or of the pieces
	}
	if int32(order-e.newest) > 0 {
		e.newest = order
	}
}

// lose notes that a packet is to be sent again. While packets get lost shorter
// ones do better; once for what was under way together.
func (e *end) lose(s *slot) {
	s.lost = true
	s.piece = 0
	e.lostCount++
	if int32(s.latest-e.shrunk) > 0 {
		e.shrunk = e.order
		e.size = max(e.size/2, minFragment)
	}
}

// loseAll notes that all that is under way is, by a cut or a new port.
func (e *end) loseAll() {
	for seq := e.first; seq != e.next; seq++ {
		s := &e.slots[seq%window]
		s.piece = 0
		if !s.sacked && !s.lost {
			s.lost = true
			e.lostCount++
		}
	}
	e.backoff, e.rtoAt = 0, never
}

// timeout sends again what is not acknowledged; if it did so before, and since then no
// packet that was sent once was acknowledged and no ping answered, only the oldest, and
// later each time: what was sent may still be under way, behind a line that stood still
// for seconds, and as much again would keep it there. And it asks how late the line is,
// or, if all arrived and wait there for room, whether there is some.
func (e *end) timeout() {
	e.rtoAt = never
	if e.first == e.next {
		return
	}
	limit := window
	if e.backoff > 0 {
		limit = timeoutPackets
	}
	e.backoff = min(e.backoff+1, 10)
	e.rtoAt = max(e.now, e.lineFree) + e.rto(e.size)
	again := e.lostCount
	for seq := e.first; seq != e.next && again < limit; seq++ {
		if s := &e.slots[seq%window]; !s.sacked && !s.lost {
			e.lose(s)
			again++
		}
	}
	e.pings = true
}

// missing says that the other end has not got all that was sent.
func (e *end) missing() bool {
	for seq := e.first; seq != e.next; seq++ {
		if !e.slots[seq%window].sacked {
			return true
		}
	}
	return false
}
