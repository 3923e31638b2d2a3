package link

import (
	"strconv"
	"time"
)

// Stats is the state of a link and what it has counted since New.
type Stats struct {
	Baud     int
	Smoothed time.Duration // round trip of a ping, smoothed over some ten; 0 before the first

	BytesIn, BytesOut               uint64 // on the wire, all of them
	MessagesIn, MessagesOut         uint64
	MessageBytesIn, MessageBytesOut uint64 // of messages as given to Send and by Receive
	StrayBytes                      uint64 // received outside of packets
	BadPackets                      uint64 // received corrupt, too long or of another session
	Echoes                          uint64 // own packets that came back: the line echoes
	Retransmissions                 uint64
	Sessions, Resumed               uint64 // sessions begun, and gone on after silence
	KnownTails                      uint64 // long messages not sent because the host had them
}

// trip counts a round trip of a ping.
func (s *Stats) trip(d time.Duration) {
	d = max(d, time.Microsecond)
	if s.Smoothed == 0 {
		s.Smoothed = d
	}
	s.Smoothed += (d - s.Smoothed) / 8
}

func droppedLine(n uint64) []byte {
	return strconv.AppendUint([]byte("link: lines of the log were dropped, the line was too slow for them: "), n, 10)
}
