package link

import "time"

// What Config's zeros mean.
const (
	DefaultMax   = 4 << 20 // bytes of a message
	DefaultGrace = 30 * time.Second
)

// What the protocol sets. To change one makes a new version of it.
const (
	minVersion = 1
	maxVersion = 1

	window     = 64  // packets that may be unacknowledged: a quarter of the sequence numbers
	maxPayload = 512 // bytes of a packet
	maxBitmap  = window / 8
	maxBody    = 2 + 1 + maxBitmap + maxPayload + crcSize // seq, ack, extension, bitmap: before COBS
	crcSize    = 4
	hashSize   = 8

	pieceSize  = 32                         // bytes of a packet's type and payload in a piece of it
	piecesMost = (maxPayload + 1 + 31) / 32 // of a packet

	dataOverhead = 9 // bytes of a data packet: type, COBS, seq, ack, checksum, delimiter

	shortMessage = 1 << 10 // bytes of a message on the short stream at most
	together     = 32      // messages in a packet

	shortHistory = 8 << 10  // bytes of earlier messages that the codec of the short stream knows
	longHistory  = 16 << 10 // and that of the long

	minTail, maxTail = 1 << 10, 64 << 10 // bytes of a message's end that is offered by its hash
	maxHead          = 256               // bytes before it
	maxLogLine       = 1 << 10           // bytes
	maxName          = 64                // bytes of a program's and a board's name
	resetEvery       = 500 * time.Millisecond

	pingAfter = time.Second     // of silence the host asks
	downAfter = 4 * time.Second // of silence an end is taken for gone
)

// What this program chose.
const (
	helloFirst  = 250 * time.Millisecond // between hellos at first
	helloLast   = time.Second            // and later
	hellosAlone = 4                      // after them each is said twice, and so is an answer that did not arrive: noise leaves few of their length whole

	aheadOfLine = 15 * time.Millisecond // that is written before the line can have carried it
	lineWindow  = 300                   // ms of the line that may be unacknowledged
	fragment    = 25                    // ms of the line that a packet's payload takes
	leadAfter   = 100 * time.Millisecond
	abandon     = 300 * time.Millisecond // of silence inside of a packet: it was none
	ackDelay    = 25 * time.Millisecond  // for a message that may carry the acknowledgement
	maxRTO      = 4 * time.Second
	patience    = 1                      // timeouts before they become longer
	askEvery    = 200 * time.Millisecond // after them, how late the line is, until that is known

	timeoutPackets = 4 // sent again at a timeout that follows another

	wholeTimes = 2  // losses of a packet after which it is sent again in pieces,
	wholeSize  = 48 // if its payload is longer than this

	maxPings = 16 // whose times are kept

	byes    = 3                      // said in turn: some may be lost
	byeWait = 200 * time.Millisecond // that Close waits for them, beside what they take on the line

	minFragment   = 32  // bytes a packet's payload is never made shorter than
	smallFragment = 64  // and not while no packet is lost
	firstFragment = 96  // that it has before the line is known
	bulkFragment  = 256 // that it grows to: of noise that comes suddenly enough such pass

	shortsInTurn  = 4        // packets of short messages before one of a long, if it waits
	blindOffers   = 8        // tails offered in turn that the host did not know
	tailsRecalled = 16       // hashes of tails that the host has been sent
	strayChunk    = 256      // bytes of plain text written at once
	sendQueue     = 64 << 10 // bytes of messages that wait to be sent, or a longer one alone
	perMessage    = 32       // bytes more that each of them counts
	receiveQueue  = 32 << 10 // bytes of messages that wait for Receive, or a longer one alone
	receiveItems  = 1 << 10  // messages that wait for Receive
	logQueue      = 4 << 10  // bytes of log lines that wait
	keepBuffer    = 8 << 10  // the largest buffer that is kept when it is empty
	keepEvents    = 64       // and the longest list of events

	codingBaud     = 1_500_000           // of faster lines a long message is carried sooner than an ARMv6 board codes it
	storeFrom      = 256 << 10           // bytes of a message that is not coded: it would take such a board 1 s
	storeTimesBaud = (64 << 10) * 115200 // these bytes times the baud: 0.2 s at 115200, in which 2.3 KB come
)
