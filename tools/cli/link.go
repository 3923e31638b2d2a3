package cli

import (
	"io"
	"strconv"
	"time"

	"boardhand/frame/link"
	"boardhand/rpc/wire"
)

// LinkState is what was found of a serial line and the link over it.
type LinkState struct {
	Path  string // of the port
	Peer  link.Peer
	Stats link.Stats
	Calls []time.Duration // how long each of some calls of nothing took, at least one
}

// Link shows the state of a serial line.
func Link(s *LinkState, asJSON bool, stdout, stderr io.Writer) int {
	least, most, sum := s.Calls[0], s.Calls[0], time.Duration(0)
	for _, d := range s.Calls {
		least, most, sum = min(least, d), max(most, d), sum+d
	}
	mean := sum / time.Duration(len(s.Calls))
	if asJSON {
		return emit(stdout, stderr, append(appendLinkJSON(nil, s, least, mean, most), '\n'))
	}
	st := &s.Stats
	count := func(n uint64, of string) string { return strconv.FormatUint(n, 10) + " " + of }
	line := st.BytesIn + st.BytesOut
	rows := [][]string{
		{"board", printable(s.Peer.Name)},
		{"program", printable(s.Peer.Program)},
		{"port", s.Path + ", " + strconv.Itoa(st.Baud) + " baud"},
		{"round trip", milliseconds(st.Smoothed) + " on the line"},
		{"a call", milliseconds(least) + " at best, " + milliseconds(mean) + " on average, " + milliseconds(most) + " at worst, of " + strconv.Itoa(len(s.Calls))},
		{"messages", count(st.MessagesOut, "sent, ") + count(st.MessagesIn, "received")},
		{"bytes", count(line, "on the line for ") + count(st.MessageBytesIn+st.MessageBytesOut, "of messages") + saved(line, st.MessageBytesIn+st.MessageBytesOut)},
		{"lists", count(st.KnownTails, "were known, and not sent")},
		{"errors", count(st.BadPackets, "bad packets, ") + count(st.Retransmissions, "sent again, ") + count(st.StrayBytes, "stray bytes")},
		{"sessions", count(st.Sessions, "begun, ") + count(st.Resumed, "gone on after a silence")},
	}
	if st.Echoes > 0 {
		rows = append(rows, []string{"echoes", count(st.Echoes, "packets came back: the line echoes")})
	}
	return emit(stdout, stderr, appendColumns(nil, rows))
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds()*1000, 'f', 1, 64) + " ms"
}

// saved says how many of the messages' bytes did not go over the line; nothing
// where there were none.
func saved(line, messages uint64) string {
	if messages == 0 || line >= messages {
		return ""
	}
	return ": " + strconv.FormatUint(100-100*line/messages, 10) + " % saved"
}

func appendLinkJSON(dst []byte, s *LinkState, least, mean, most time.Duration) []byte {
	st := &s.Stats
	dst = append(dst, '{')
	text := func(key, value string) { dst = wire.AppendString(wire.AppendKey(dst, key), value) }
	number := func(key string, n uint64) { dst = wire.AppendUint(wire.AppendKey(dst, key), n) }
	ms := func(key string, d time.Duration) {
		dst = wire.AppendFloat(wire.AppendKey(dst, key), float64(d.Microseconds())/1000)
	}
	text("board", s.Peer.Name)
	text("program", s.Peer.Program)
	text("port", s.Path)
	number("baud", uint64(st.Baud))
	ms("round_trip_ms", st.Smoothed)
	number("calls", uint64(len(s.Calls)))
	ms("call_least_ms", least)
	ms("call_mean_ms", mean)
	ms("call_most_ms", most)
	number("messages_sent", st.MessagesOut)
	number("messages_received", st.MessagesIn)
	number("line_bytes_sent", st.BytesOut)
	number("line_bytes_received", st.BytesIn)
	number("message_bytes_sent", st.MessageBytesOut)
	number("message_bytes_received", st.MessageBytesIn)
	number("lists_known", st.KnownTails)
	number("bad_packets", st.BadPackets)
	number("retransmissions", st.Retransmissions)
	number("stray_bytes", st.StrayBytes)
	number("echoes", st.Echoes)
	number("sessions", st.Sessions)
	number("resumed", st.Resumed)
	return append(dst, '}')
}
