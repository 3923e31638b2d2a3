package link

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"time"
)

// The types of packets: the first byte, all but the last bits.
const (
	typeData   = 0x80 // ORed with a channel and the flags below
	typeHello  = 0xC0
	typeAnswer = 0xC1
	typeReset  = 0xC2
	typeBye    = 0xC3
	typeAck    = 0xD0 // ORed with the flags below
	typePiece  = 0xE0 // ORed with flagExtended
)

// The channel of a data packet.
const (
	chanShort   = 0x00
	chanLong    = 0x10
	chanLog     = 0x20
	chanOffer   = 0x30
	channelMask = 0x30
)

// The flags of a data packet, and those of an acknowledgement.
const (
	flagFirst    = 0x08 // of a message
	flagLast     = 0x04
	flagSeveral  = 0x02 // messages, each with its length
	flagExtended = 0x01 // an extension byte and a bitmap follow the header

	ackPong = 0x04 // with the number of the ping
	ackPing = 0x02 // with its number
)

// The byte before the content of a piece.
const (
	pieceLast  = 0x80 // of its packet
	pieceIndex = 0x1F
)

// The extension byte.
const (
	extBitmap = 0x0F // how many bytes of bitmap follow
	extWant   = 0x10 // the tail last offered is not known: send it
)

func isData(typ byte) bool  { return typ&0xC0 == typeData }
func isAck(typ byte) bool   { return typ&0xF8 == typeAck }
func isPiece(typ byte) bool { return typ&^flagExtended == typePiece }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seeds give what the checksums of a session's packets begin with. Each
// direction has its own, so that an echo is no packet.
func seeds(host, board uint32) (fromHost, fromBoard uint32) {
	var b [9]byte
	binary.LittleEndian.PutUint32(b[0:], host)
	binary.LittleEndian.PutUint32(b[4:], board)
	fromHost = crc32.Checksum(b[:], castagnoli)
	b[8] = 1
	return fromHost, crc32.Checksum(b[:], castagnoli)
}

// appendPacket appends the packet whose type and body are p; p must have room
// for the checksum.
func appendPacket(dst, p []byte, seed uint32) []byte {
	p = binary.LittleEndian.AppendUint32(p, crc32.Update(seed, castagnoli, p))
	dst = append(dst, p[0])
	dst = appendCOBS(dst, p[1:])
	return append(dst, 0)
}

// openPacket undoes COBS in p, a packet without its delimiter, in place: its
// type, and its body without the checksum.
func openPacket(p []byte) (packet []byte, sum uint32, ok bool) {
	body, ok := decodeCOBS(p[1:])
	if !ok || len(body) < crcSize || len(body) > maxBody {
		return nil, 0, false
	}
	packet = p[:1+len(body)-crcSize]
	return packet, binary.LittleEndian.Uint32(body[len(body)-crcSize:]), true
}

func sealed(packet []byte, sum, seed uint32) bool {
	return crc32.Update(seed, castagnoli, packet) == sum
}

// parts is a data packet, a piece of one or an acknowledgement taken apart.
type parts struct {
	typ      byte
	seq, ack uint8 // seq: not of an acknowledgement
	bitmap   []byte
	want     bool
	payload  []byte // of a piece: with the byte before its content; of a ping and a pong: its number
}

// parse takes apart a packet of a session; its slices are p's.
func parse(p []byte) (s parts, ok bool) {
	s.typ = p[0]
	p = p[1:]
	switch {
	case isAck(s.typ):
	case !isData(s.typ) && !isPiece(s.typ), len(p) == 0:
		return s, false
	default:
		s.seq = p[0]
		p = p[1:]
	}
	if len(p) == 0 {
		return s, false
	}
	s.ack = p[0]
	p = p[1:]
	if s.typ&flagExtended != 0 {
		if len(p) == 0 || p[0]&^(extBitmap|extWant) != 0 {
			return s, false
		}
		n := int(p[0] & extBitmap)
		s.want = p[0]&extWant != 0
		p = p[1:]
		if n > maxBitmap || n > len(p) {
			return s, false
		}
		s.bitmap, p = p[:n], p[n:]
	}
	s.payload = p
	switch {
	case !isAck(s.typ):
		return s, len(p) <= maxPayload
	case s.typ&(ackPing|ackPong) == 0:
		return s, len(p) == 0
	}
	return s, len(p) == 1 && s.typ&(ackPing|ackPong) != ackPing|ackPong
}

// scanner finds packets in what arrives.
type scanner struct {
	state scanState
	buf   [2 + maxBody + maxBody/254]byte // the packet so far, type first
	n     int
	last  time.Duration // when a byte arrived
}

type scanState uint8

const (
	between  scanState = iota // after a delimiter
	inPacket                  // it began with a type
	inStray                   // plain text, up to the next delimiter
)

// scan looks at what arrived and gives each packet, without its delimiter, to
// packet, and what is outside to stray. It returns how many were too long.
func (s *scanner) scan(p []byte, now time.Duration, packet, stray func([]byte)) (tooLong uint64) {
	if s.state == inPacket && now-s.last > abandon {
		stray(s.buf[:s.n])
		s.state = between
		tooLong++
	}
	s.last = now
	for len(p) > 0 {
		if s.state == between {
			switch {
			case p[0] == 0:
				p = p[1:]
				continue
			case p[0] < 0x80:
				s.state = inStray
			default:
				s.state, s.n = inPacket, 0
			}
		}
		piece := p
		end := bytes.IndexByte(p, 0)
		if end >= 0 {
			piece = p[:end]
		}
		p = p[len(piece):]
		if s.state == inStray {
			stray(piece)
		} else if s.n+len(piece) > len(s.buf) {
			tooLong++
			stray(s.buf[:s.n])
			stray(piece)
			s.state = inStray
		} else {
			s.n += copy(s.buf[s.n:], piece)
		}
		if end >= 0 {
			if s.state == inPacket {
				packet(s.buf[:s.n])
			}
			s.state = between
			p = p[1:]
		}
	}
	return tooLong
}
