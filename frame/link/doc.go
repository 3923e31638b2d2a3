// Package link is a reliable link for messages over a serial line. The line may
// lose, change, repeat and insert bytes, stand still or be cut, and carry text of
// others; the link delivers each message once, whole and in order, or says that it
// cannot know. One end is the host, the other the board; the two differ only in who
// begins a session and in who may offer.
//
// What follows is the format, version 1, complete for another implementation.
// Numbers are little-endian where they are not MessagePack, and bits are counted
// from the lowest.
//
// # Packets
//
// A packet is a type byte from 0x80 to 0xFF, a body in COBS, and a delimiter 0x00:
//
//	type   COBS( header, payload, checksum )   00
//
// COBS writes bytes as runs. A run is a code byte n from 1 to 255 and n-1 bytes that
// are not zero; it stands for these bytes and, if n < 255 and it is not the last, for
// a zero after them. A body that ends with 254 bytes without a zero, or with a whole
// number of such runs, has no empty run behind it.
//
// The checksum is CRC-32C (Castagnoli: polynomial 0x1EDC6F41, reflected, begun with
// and inverted by 0xFFFFFFFF), 4 bytes. Of a hello, an answer and a reset it covers
// type and body as they are before COBS. Of all others it covers 9 bytes more, before
// the type: the host's epoch (4), the board's (4), and 0 in packets of the host, 1 in
// those of the board. So a packet of a session that is dead, and one that comes back
// as an echo, fail it.
//
// After a delimiter, and where a port has been opened, a byte from 0x80 begins a
// packet, 0x00 is nothing, and any other begins plain text, which goes up to the
// next 0x00. A packet in which nothing arrives for 300 ms was none, nor was one of more
// than 531 bytes on the line, or of a body of more than 527. Who begins to send after a
// pause or after plain text, and who sends a packet again, sends a 0x00 before it, so
// that what the line made up does not take the packet with it.
//
// # Types
//
//	80 to BF  data: bits 4-5 the channel, 0 short, 1 long, 2 log, 3 offer
//	          bit 3 first of its message, bit 2 last, bit 1 several, bit 0 extended
//	C0        hello       C1  answer       C2  reset       C3  goodbye
//	D0 to D7  acknowledgement: bit 2 pong, bit 1 ping, bit 0 extended
//	E0 to E1  piece of a data packet: bit 0 extended
//
// Other types are reserved, and dropped. The header of data and of pieces is a sequence
// number and an acknowledgement, a byte each; that of an acknowledgement is the latter
// alone. A ping and a pong have one byte of payload, the number of the ping, counted by
// who asks from any on, modulo 256; other acknowledgements have none, and none is ping
// and pong. A goodbye has neither header nor payload. If bit 0 of the type is set an extension byte follows: in bits
// 0-3 the number of bytes of a bitmap that follow it, at most 8; bit 4 says that the
// tail last offered is wanted; the others are zero. A payload has at most 512 bytes.
//
// # Sequence, acknowledgement, window
//
// Data packets of all channels are numbered together from 0, modulo 256, in each
// direction and session. An acknowledgement is the number of the next packet that is
// missing: all before it were taken. Bit i of the bitmap, counted from bit 0 of its
// first byte, says that packet acknowledgement+i is there too, bit 0 that it is there
// but has no room yet. The bitmap is sent while there is such a packet. At most 64
// packets may be unacknowledged, and no more bytes of them, 9 and the payload each,
// than the other end's window tells; one packet may always be.
//
// The line keeps order. So what was sent before a packet that has arrived, and is not
// there, is lost, and is sent again at once with the same number. What nothing tells
// of is sent again after a time. A packet that came already is acknowledged at once.
// Packets are taken strictly by number, so that order over all channels is the order
// in which packets were first sent. A pong tells of what was sent before its ping, and
// of no ping before that one there is a pong to come.
//
// # Pieces
//
// A data packet has the same content whenever it is sent. Where noise leaves no packet of
// its length whole it may be sent again in pieces, each with the packet's sequence
// number. After the header a piece has a byte: in bits 0-4 its index, from 0, bits 5-6
// zero, bit 7 set in the last. Then follow bytes 32*index to 32*index+31 of the packet's
// type, with bit 0 zero, and payload; in the last fewer if there are no more. So there
// are at most 17. They may come in any order and again; when all are there the packet has
// arrived, and nothing tells of them before. A piece of a packet that came already is
// acknowledged at once. What is forbidden is a piece that is empty, longer than 32 bytes
// or, not being the last, shorter; one of more than 513 bytes; of anything but data; and
// two that disagree on where the packet ends.
//
// # Messages
//
// A message is opaque bytes. Those of at most 1,024 go on the short stream, others on
// the long one; between two fragments of a long message packets of short ones may
// pass. A message is coded, the coded bytes are cut, and each piece is the payload of
// a packet; the first has bit 3, the last bit 2, a single one both. Within a channel
// messages do not mix. With bit 1 the payload is several whole short messages, at most
// 32, each its coded length as an unsigned LEB128 and its coded bytes.
//
// Each stream and direction has its own coding, begun anew with each session:
// codec 0 leaves a message as it is, codec 1 is package codec's with a window of
// 8,192 bytes for the short stream and 16,384 for the long one.
//
// A message may thus overtake a longer one that was sent before, and so may a request:
// who sends a long file and, without waiting for the answer, a short request, may see
// the second done first. JSON-RPC promises no order among requests that are under way
// together, and a call that stops something should not wait a minute behind a file; who
// needs an order waits for the answer. Flag [Ordered] forbids it for a message: by it
// notifications overtake nothing. It needs nothing on the wire, a short message goes on
// the long stream or a long one waits until those before it have left.
//
// # Offers
//
// Instead of the next long message the board may send an offer, a single packet with
// bits 3 and 2: 8 bytes, the first of the SHA-256 of the message's tail, and the head,
// at most 256 bytes, coded as the next message of the short stream, which then must
// not be inside of a message. The tail has 1 to 64 KiB. The packet by which the host
// acknowledges the offer decides: without bit 4 of an extension the message is delivered,
// head and tail; with it the tail follows as a message of the long stream. Until
// then no other long message is begun.
// The bit stays in what the host sends until the tail is there.
//
// # Records
//
// Records are MessagePack arrays. Integers have any width, in order of fields:
//
//	hello   'b' 'h' least version, greatest version,
//	        [codec, host's epoch, greatest message, window, baud, offers (bool), program (str)]
//	answer  'b' 'h' version chosen, least version, greatest version,
//	        [codec, host's epoch of the hello, board's epoch, greatest message, window,
//	         program (str), name (str)]
//	reset   [board's epoch]
//	log     [lines dropped before it, line (bin)]
//
// In every version hello and answer begin with these five or six bytes, type included,
// and have seed-free checksums. The version chosen is 0 if there is none in common;
// the host then gives up. Codec is the hello's in the answer if the board has it, else
// 0. An epoch is random and not 0. Greatest message and window are bytes. A program
// and a name have at most 64. A log line is at most 1,024 bytes and is the payload of
// channel 2, not coded, in fragments if it must; only the board sends any.
//
// # Sessions
//
// A session is a pair of epochs. The host says hello until it is answered: after 250
// ms, then more rarely, up to 1 s, and twice the time that it takes on the line. A
// board that has a session with the hello's epoch answers and goes on with it; else it
// ends that one and begins another. So does the host with the answer. To go on, both
// ends keep all numbers and streams, and send again all that is not acknowledged:
// nothing is lost or comes twice. An end that begins a session counts from 0 with
// empty codings.
//
// A board without a session answers packets of one by reset, at most twice a second;
// the host, if the epoch is not its session's board's, says hello. An end that ends a
// session otherwise than by the other's new epoch takes a new epoch itself (the board
// always), so that a pair never comes again. What was not acknowledged then is
// reported: not sent, if its last fragment never was; else unknown. A restarted program has
// a new epoch, and that is all that tells.
//
// A host that ends says goodbye, three times in turn, each after a 0x00, as some may be
// lost; nothing answers it. The board ends the session of its checksum at once, and
// passes over any other. The host has a new epoch when it says hello again.
//
// An end that gets what this text forbids in a packet with a good checksum ends the
// session.
//
// # Timers
//
// The host pings after 1 s without a good packet, and when a session begins or goes
// on; who gets a ping answers by a pong in an acknowledgement. After 4 s without a
// good packet, and the time of 8 packets of 256 bytes, an end is down: the host says
// hello, the board waits. After 30 s more (Config.Grace) the session is dead.
//
// These an implementation may choose for itself. This one says hello twice in turn from
// the fifth time on, and answers twice a hello that comes again. It acknowledges after 25 ms (32
// bytes of a slow line) unless data carries it, at once if something is missing; sends
// again after the smoothed round trip and four times its variance (RFC 6298), at least
// a packet's time and 50 ms; at the second timeout only four packets, and each time
// twice as late, up to 4 s: a line that stood still may hold seconds of bytes, which
// sending as fast again would keep in it. That ends when a packet is acknowledged that
// was sent but once, or a ping is answered, of which it sends one with each timeout and,
// from the second on, every 200 ms; the ping's round trip is then the smoothed one, as
// what is sent twice does not say how late the line is. A packet that others have shown
// to be lost twice, and that has more than 48 bytes, it sends in pieces, and a ping when
// no more is to be sent again. Fragments are
// 25 ms of the line (64 to 256 bytes) while short messages wait, grow to 256, and
// halve to no less than 32 while packets get lost. It writes no more than 15 ms ahead
// of the line, and has no more than 300 ms of it unacknowledged.
//
// # Example
//
// Host 0x01020304 and board 0x0A0B0C0D begin at 115200 baud, with codec 0. The hello
// of "h 1", and the answer of "b 1" on the board pump, each after a 0x00:
//
//	00 c0 06 62 68 01 01 97 07 ce 01 02 03 04 ce 02
//	40 01 03 cd 80 02 ce 03 01 c2 0a c2 a3 68 20 31
//	a4 b9 2e 65 00
//
//	00 c1 07 62 68 01 01 01 97 0c ce 01 02 03 04 ce
//	0a 0b 0c 0d ce 02 40 01 03 cd 80 0e a3 62 20 31
//	a4 70 75 6d 70 c1 6f f5 8c 00
//
// In the first the type is c0; code 06 brings 62 68 01 01 97 and a zero, the codec;
// code 07 the epoch, ce 01 02 03 04 and ce of the greatest message, whose 00 40 00 00
// is the end of this run, 40 in the next, and an empty one. A ping, of number 0, and its
// pong:
//
//	00 d2 01 01 03 df c0 02 66 00
//
//	d4 01 01 05 70 9c f4 6a 00
//
// The message "on" in packet 0 (8c: short, first and last; 01 and 01 are sequence and
// acknowledgement 0), and "ok" as the board's packet 0, which acknowledges it (01):
//
//	8c 01 01 07 6f 6e 2d 92 ac a9 00
//
//	8c 01 08 01 6f 6b 56 7f 2c d6 00
//
// The message "01234567890123456789012345678901234567890123456789" in packet 1, which was
// lost twice, in its two pieces (00 and 81 before their content, which begins with 8c, the
// packet's type); and the host's goodbye, to be said three times:
//
//	00 e0 03 01 01 25 8c 30 31 32 33 34 35 36 37 38
//	39 30 31 32 33 34 35 36 37 38 39 30 31 32 33 34
//	35 36 37 38 39 30 8d 49 c1 1b 00
//
//	00 e0 1b 01 01 81 31 32 33 34 35 36 37 38 39 30
//	31 32 33 34 35 36 37 38 39 cf c0 9c 8b 00
//
//	00 c3 03 34 fd 02 08 00
package link
