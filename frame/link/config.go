package link

import "time"

// Config is what an end of a link is told. Only Host, Baud and Epoch have no
// useful zero.
type Config struct {
	Host bool // the end that says HELLO; the other is the board

	// Baud is the speed of the line in bit/s, 10 bits a byte: sizes and timers
	// follow it, and no more is written than a few milliseconds ahead of the
	// line. 0 is a line that has no speed of its own, as a USB gadget port or a
	// socket: nothing is paced.
	Baud int

	// Epoch tells this start of the program from every other: random, not 0.
	Epoch uint32

	Program string        // name and version, told to the other end: "boardhand 0.2.0"
	Name    string        // board: its name for people
	Max     int           // bytes of a message, in and out; 0 means DefaultMax
	Grace   time.Duration // how long a session outlives silence; 0 means DefaultGrace

	// What happens is told by calling these, any of which may be nil. They are
	// called one at a time and in the order of events, mostly by Run's
	// goroutines, and before Receive returns a message that came after. They may
	// call the Conn (Send with NoWait), but must not wait for anything.

	Up   func(p Peer) // a session begins, or goes on after a Down
	Down func()       // the other end is silent or the port failed; the session may go on

	// Ended says that the session is dead, and why. Lost was called before for
	// all its messages, and Receive gives what came in it, then ErrEnded.
	Ended func(why error)

	// Lost says of a message that it is not known to be delivered, and never will
	// be: its session is dead.
	Lost func(ticket uint64, o Outcome)

	Log   func(line []byte) // host: a line of the board's log, valid during the call
	Stray func(p []byte)    // bytes outside of packets, valid during the call

	// Known gives the bytes that Learn was given with hash, in this program or
	// an earlier one. Host only. It is called with the Conn locked and must not
	// call it; the link does not keep the slice. What hash is: see Hash.
	Known func(hash [8]byte) ([]byte, bool)

	// Learn is given the end of a long message the board may send again. Host
	// only. tail is valid during the call.
	Learn func(hash [8]byte, tail []byte)
}

// Peer is the other end of a session.
type Peer struct {
	Program string // its name and version
	Name    string // of a board, for people
	Epoch   uint32
	New     bool // false: an earlier session goes on, nothing was lost
}

// Flags of a message to send.
type Flags uint8

const (
	// Ordered keeps a message behind all that were sent before it. Without it a
	// short message may overtake a long one.
	Ordered Flags = 1 << iota
	// NoWait gives ErrFull where Send would wait for room.
	NoWait
)

// Outcome is what is known of a message whose session died before its delivery
// was confirmed.
type Outcome uint8

const (
	NotSent Outcome = iota // certainly not delivered: it may be sent again
	Unknown                // it may have been delivered
)

func (o Outcome) String() string {
	if o == NotSent {
		return "not sent"
	}
	return "unknown"
}
