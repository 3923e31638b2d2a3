package link

import (
	"encoding/binary"
	"time"
)

// receiveWindow is what hello and answer tell: all slots full.
const receiveWindow = window * maxPayload

// receiver is what arrived and is not yet taken.
type receiver struct {
	decoders
	held     [window]heldPacket
	expected uint8 // the sequence number of the next packet in order
	waiting  int   // packets in held
	unsaid   int   // bytes that arrived since the last acknowledgement

	assembly [3]assembly // by channel
	wanted   bool        // the tail of wantedHash
	wantHash [hashSize]byte
	head     []byte // of its message

	in     inbox
	unread int // ends of sessions in inboxes
	line   logLine
}

type heldPacket struct {
	have    bool
	typ     byte
	payload []byte

	pieces uint32 // that are there, a bit each, of a packet that is not
	size   int    // bytes of its type and payload; 0 until its last piece is there
}

// assembly is a message of which fragments are missing.
type assembly struct {
	open  bool
	coded []byte
}

func (e *end) beginReceiving() {
	e.decoders.begin(e.codec())
	for i := range e.held {
		e.held[i].have, e.held[i].pieces, e.held[i].size = false, 0, 0
	}
	e.expected, e.waiting, e.unsaid = 0, 0, 0
	for i := range e.assembly {
		e.assembly[i].open, e.assembly[i].coded = false, small(e.assembly[i].coded)
	}
	e.wanted, e.head = false, small(e.head)
	e.ackAt = never
	e.pongs, e.pinging = false, 0
}

// receive takes bytes from the wire.
func (e *end) receive(p []byte, now time.Duration) {
	e.now = now
	e.tick()
	e.stats.BytesIn += uint64(len(p))
	bad := e.stats.BadPackets
	e.stats.BadPackets += e.scan.scan(p, now, e.onPacket, e.onStray)
	if e.up && e.stats.BadPackets != bad {
		// A packet that was lost may have been the last: say what arrived.
		e.ackAt = min(e.ackAt, now+e.ackDelay/2)
	}
}

func (e *end) strayed(p []byte) {
	e.stats.StrayBytes += uint64(len(p))
	if e.cfg.Stray != nil && len(p) > 0 {
		e.tell(event{kind: evStray}, p)
	}
}

// packet takes a packet, without its delimiter and as it came.
func (e *end) packet(p []byte) {
	p, sum, ok := openPacket(p)
	if !ok {
		e.stats.BadPackets++
		return
	}
	switch typ := p[0]; typ {
	case typeHello, typeAnswer, typeReset:
		switch {
		case !sealed(p, sum, 0):
			e.stats.BadPackets++
		case (typ == typeHello) == e.cfg.Host:
			e.stats.Echoes++
		case !e.record(typ, p[1:]):
			e.stats.BadPackets++
		}
		return
	}
	if p[0] == typeBye {
		e.bye(p, sum)
		return
	}
	s, ok := parse(p)
	switch {
	case !ok:
		e.stats.BadPackets++
	case !e.session:
		e.stats.BadPackets++
		e.resets = !e.cfg.Host
	case !sealed(p, sum, e.seedIn):
		if sealed(p, sum, e.seedOut) {
			e.stats.Echoes++
		} else {
			e.stats.BadPackets++
		}
	default:
		e.heard, e.unheard = e.now, false
		e.resume()
		e.good(&s)
	}
}

// bye takes a goodbye. One of another session, or of none, means nothing.
func (e *end) bye(p []byte, sum uint32) {
	switch {
	case !e.session:
	case len(p) > 1:
		e.stats.BadPackets++
	case !e.cfg.Host && sealed(p, sum, e.seedIn):
		e.end(ErrGoodbye)
	case e.cfg.Host && sealed(p, sum, e.seedOut):
		e.stats.Echoes++
	default:
		e.stats.BadPackets++
	}
}

// record takes a packet that belongs to no session.
func (e *end) record(typ byte, body []byte) (ok bool) {
	switch typ {
	case typeHello:
		return e.hello(body)
	case typeAnswer:
		return e.answered(body)
	}
	return e.reset(body)
}

// good takes a packet of this session.
func (e *end) good(s *parts) {
	var rtt time.Duration
	pong := isAck(s.typ) && s.typ&ackPong != 0
	if pong {
		rtt, pong = e.ponged(s.payload[0])
	}
	if !e.acknowledged(s) {
		e.stats.BadPackets++
		return
	}
	switch {
	case isPiece(s.typ):
		e.piece(s)
		return
	case isAck(s.typ):
		if s.typ&ackPing != 0 {
			e.pongs, e.pongTo = true, s.payload[0]
		}
		if pong {
			e.trip(rtt)
		}
		return
	}
	e.unsaid += len(s.payload) + dataOverhead
	h := &e.held[s.seq%window]
	switch ahead := s.seq - e.expected; {
	case ahead >= window, h.have:
		e.ackAt = e.now // it came again: the acknowledgement was lost
		return
	case ahead > 0 || e.unsaid >= e.inFlight/4:
		e.ackAt = e.now
	default:
		e.ackAt = min(e.ackAt, e.now+e.ackDelay)
	}
	h.typ = s.typ
	h.payload = append(payloadBuffer(h.payload, len(s.payload)), s.payload...)
	e.hold(h)
}

// hold takes a packet that is whole.
func (e *end) hold(h *heldPacket) {
	h.have, h.pieces, h.size = true, 0, 0
	e.waiting++
	e.process()
}

// piece takes a piece of a packet.
func (e *end) piece(s *parts) {
	e.unsaid += len(s.payload) + dataOverhead
	if len(s.payload) < 2 {
		e.violated("a piece of a packet without content")
		return
	}
	index, last := int(s.payload[0]&pieceIndex), s.payload[0]&pieceLast != 0
	content := s.payload[1:]
	end := index*pieceSize + len(content)
	switch {
	case s.payload[0]&^(pieceLast|pieceIndex) != 0, len(content) > pieceSize, !last && len(content) < pieceSize, end > 1+maxPayload:
		e.violated("a piece %#x of a packet with %d bytes", s.payload[0], len(content))
		return
	case index == 0 && (!isData(content[0]) || content[0]&flagExtended != 0):
		e.violated("a piece of a packet of type %#x", content[0])
		return
	}
	h := &e.held[s.seq%window]
	if s.seq-e.expected >= window || h.have {
		e.ackAt = e.now
		return
	}
	switch {
	case h.size > 0 && (end > h.size || last != (end == h.size)),
		h.size == 0 && last && h.pieces>>index != 0:
		e.violated("pieces of a packet that ends twice, at %d and at %d bytes", h.size, end)
		return
	}
	if h.pieces == 0 {
		h.payload = h.payload[:0]
	}
	if n := end - 1; n > len(h.payload) {
		h.payload = append(payloadBuffer(h.payload, n), h.payload...)[:n]
	}
	if index == 0 {
		h.typ = content[0]
		copy(h.payload, content[1:])
	} else {
		copy(h.payload[index*pieceSize-1:], content)
	}
	h.pieces |= 1 << index
	if last {
		h.size = end
	}
	if n := (h.size + pieceSize - 1) / pieceSize; n > 0 && h.pieces == 1<<n-1 {
		e.ackAt = e.now
		e.hold(h)
	}
}

// appendAck appends the acknowledgement to the header of a packet begun, and the
// extension if it has something to say.
func (e *end) appendAck(p []byte) []byte {
	p = append(p, e.expected)
	e.unsaid, e.ackAt = 0, never
	if e.waiting == 0 && !e.wanted {
		return p
	}
	p[0] |= flagExtended
	at := len(p)
	p = append(p, 0)
	if e.waiting > 0 {
		var bitmap uint64
		for i := range uint8(window) {
			if e.held[(e.expected+i)%window].have {
				bitmap |= 1 << i
			}
		}
		for ; bitmap != 0; bitmap >>= 8 {
			p = append(p, byte(bitmap))
			p[at]++
		}
	}
	if e.wanted {
		p[at] |= extWant
	}
	return p
}

// process takes the packets that are in order while there is room for messages.
func (e *end) process() {
	for e.session {
		h := &e.held[e.expected%window]
		if !h.have || len(e.in.buf) >= receiveQueue || len(e.in.ends) >= receiveItems {
			return
		}
		h.have = false
		e.waiting--
		e.expected++
		e.open(h.typ, h.payload)
	}
}

// taken is told that Receive has made room.
func (e *end) taken(now time.Duration) {
	if e.waiting > 0 {
		e.now = now
		before := e.expected
		e.process()
		if e.expected != before {
			e.ackAt = now
		}
	}
}

// open takes the payload of a packet.
func (e *end) open(typ byte, payload []byte) {
	channel := typ & channelMask
	whole := typ&(flagFirst|flagLast) == flagFirst|flagLast
	switch {
	case channel == chanOffer:
		if !whole || typ&flagSeveral != 0 || len(payload) < hashSize {
			e.violated("an offer of type %#x with %d bytes", typ, len(payload))
			return
		}
		e.offered(payload)
	case typ&flagSeveral != 0:
		if !whole || channel != chanShort {
			e.violated("several messages in a packet of type %#x", typ)
			return
		}
		for count := 1; len(payload) > 0 && e.session; count++ {
			n, w := binary.Uvarint(payload)
			if w <= 0 || n > uint64(len(payload)-w) || count > together {
				e.violated("message %d of a packet has %d bytes, of which %d are there", count, n, len(payload))
				return
			}
			e.message(channel, payload[w:w+int(n)])
			payload = payload[w+int(n):]
		}
	default:
		a := &e.assembly[channel>>4]
		if a.open == (typ&flagFirst != 0) {
			e.violated("a packet of type %#x where a message %s", typ, map[bool]string{true: "is not complete", false: "is to begin"}[a.open])
			return
		}
		if whole {
			e.message(channel, payload)
			return
		}
		if limit := e.limit(channel); len(a.coded)+len(payload) > limit+limit/64+16 { // a coding may add some
			e.violated("a message of more than %d bytes", limit)
			return
		}
		a.open = typ&flagLast == 0
		a.coded = append(a.coded, payload...)
		if !a.open {
			e.message(channel, a.coded)
			a.coded = small(a.coded)
		}
	}
}

// limit is the bytes of a message that a channel may bring.
func (e *end) limit(channel byte) int {
	switch channel {
	case chanLog:
		return maxLogLine
	case chanShort:
		return min(e.cfg.Max, shortMessage)
	}
	return e.cfg.Max
}

// message takes a whole message as it was coded.
func (e *end) message(channel byte, coded []byte) {
	if channel == chanLog {
		rest, err := e.line.UnmarshalMsg(coded)
		if err != nil || len(rest) > 0 || len(e.line.Line) > maxLogLine {
			e.violated("a line of the log: %v", err)
			return
		}
		e.logged()
		return
	}
	d, before := e.decoders.short, e.in.buf
	limit := e.limit(channel)
	if channel == chanLong {
		d = e.decoders.long
		if e.wanted {
			e.in.buf = append(e.in.buf, e.head...)
			limit = max(limit-len(e.head), 0)
		}
	}
	from := len(e.in.buf)
	buf, err := d.Decode(e.in.buf, coded, limit)
	if err != nil {
		e.in.buf = before
		e.violated("a message: %w", err)
		return
	}
	e.in.buf = buf
	if channel == chanLong && e.wanted {
		tail := buf[from:]
		if Hash(tail) != e.wantHash {
			e.in.buf = buf[:len(before)]
			e.violated("a tail of %d bytes is not the one offered", len(tail))
			return
		}
		e.wanted, e.head = false, small(e.head)
		if e.cfg.Learn != nil {
			e.tell(event{kind: evLearn, hash: e.wantHash}, tail)
		}
	}
	e.deliver(len(before))
}

// deliver ends a message that begins at from in the inbox.
func (e *end) deliver(from int) {
	e.in.ends = append(e.in.ends, len(e.in.buf))
	e.stats.MessagesIn++
	e.stats.MessageBytesIn += uint64(len(e.in.buf) - from)
}

// offered takes an offer: the message is whole at once, or its tail is wanted.
func (e *end) offered(payload []byte) {
	if !e.cfg.Host || e.wanted || e.assembly[chanLong>>4].open {
		e.violated("an offer out of place")
		return
	}
	copy(e.wantHash[:], payload)
	from := len(e.in.buf)
	buf, err := e.decoders.short.Decode(e.in.buf, payload[hashSize:], min(maxHead, e.cfg.Max))
	if err != nil {
		e.violated("the head of an offer: %w", err)
		return
	}
	if e.cfg.Known != nil {
		if tail, ok := e.cfg.Known(e.wantHash); ok && len(buf)-from+len(tail) <= e.cfg.Max && Hash(tail) == e.wantHash {
			e.in.buf = append(buf, tail...)
			e.stats.KnownTails++
			e.deliver(from)
			return
		}
	}
	e.head = append(e.head[:0], buf[from:]...)
	e.wanted = true
	e.ackAt = e.now
}

// logged tells of a line of the log, and of those before it that are missing.
func (e *end) logged() {
	if e.cfg.Log == nil {
		return
	}
	if n := uint64(e.line.Dropped); n > 0 {
		e.tell(event{kind: evLog}, droppedLine(n))
	}
	e.tell(event{kind: evLog}, e.line.Line)
}
