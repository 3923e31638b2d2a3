package link

import "bytes"

// offer is what becomes of the first message of the long stream: its end may be
// known to the host, of an earlier session or program.
type offer struct {
	state offerState
	head  int // bytes before the tail
	hash  [hashSize]byte
	blind int // tails offered since one was known

	recalled [tailsRecalled][hashSize]byte // tails the host was sent
	recall   int
}

type offerState uint8

const (
	offerUnseen  offerState = iota // not looked at
	offerNone                      // goes in full
	offerPlanned                   // the hash is to be sent
	offerSent                      // and was; the stream waits
	offerWanted                    // the host does not know it: the tail goes in full
)

var resultField = []byte(`"result":`)

// considerOffer decides on a message. Tails are told by their place, behind the
// result of an answer, but any cut would do.
func (e *end) considerOffer(msg []byte) {
	o := &e.offer
	o.state = offerNone
	if e.cfg.Host || !e.peer.Offers || len(msg) < minTail {
		return
	}
	at := bytes.Index(msg[:maxHead], resultField)
	if at < 0 {
		return
	}
	o.head = at + len(resultField)
	tail := msg[o.head:]
	if len(tail) < minTail || len(tail) > maxTail {
		return
	}
	o.hash = Hash(tail)
	for i := range o.recalled {
		if o.recalled[i] == o.hash {
			o.state = offerPlanned
			return
		}
	}
	if o.blind < blindOffers {
		o.state = offerPlanned
		return
	}
	o.remember()
}

func (o *offer) remember() {
	o.recalled[o.recall%tailsRecalled] = o.hash
	o.recall++
}

// packOffer sends the hash, and the head in the short stream's coding.
func (e *end) packOffer(s *slot) {
	i, msg := e.long.queue.front()
	s.typ = typeData | chanOffer | flagFirst | flagLast
	s.payload = append(s.payload, e.offer.hash[:]...)
	s.payload = e.encoders.short.Encode(s.payload, msg[:e.offer.head])
	s.offer = true
	e.long.ticket = i.ticket
	e.offer.state = offerSent
}

// resolve takes the host's word on the offer.
func (e *end) resolve(wanted bool) {
	if wanted {
		e.offer.state = offerWanted
		e.offer.blind++
		e.offer.remember()
		return
	}
	e.offer.state, e.offer.blind = offerUnseen, 0
	e.stats.KnownTails++
	e.long.left = e.long.ticket
	e.long.queue.pop()
}
