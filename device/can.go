package device

import (
	"fmt"
	"strconv"
	"time"
)

// The largest identifiers, and the most bytes of data, of ISO 11898-1.
const (
	MaxCANID         = 0x7ff      // of a standard frame, 11 bits
	MaxExtendedCANID = 0x1fffffff // of an extended one, 29 bits
	MaxCANData       = 8          // of a classic frame
	MaxCANFDData     = 64         // of an FD frame
)

// CANFrame is one frame of a CAN bus, or, where Error is set, what the controller
// reports instead of one.
type CANFrame struct {
	ID       uint32
	Extended bool // ID has 29 bits, else 11
	Remote   bool // asks for a frame of Len bytes; has no data
	FD       bool // a CAN FD frame
	BRS      bool // its data is sent at the data bit rate
	ESI      bool // its sender is ERROR-PASSIVE
	Error    bool // an error frame: see Trouble
	Len      uint8
	Data     [MaxCANFDData]byte // the first Len bytes; the rest is zero
}

// String is the frame's identifier as people write it: three hex digits of a
// standard frame, eight of an extended one.
func (f *CANFrame) String() string {
	if f.Extended {
		return fmt.Sprintf("%08x", f.ID)
	}
	return fmt.Sprintf("%03x", f.ID)
}

// Check is nil for a frame that can be sent on some bus, else ErrNotSupport with
// what is allowed.
func (f *CANFrame) Check() error {
	e := &Error{Subject: "CAN frame " + f.String(), Kind: ErrNotSupport}
	switch {
	case f.Error:
		e.Reason, e.Hint = "an error frame cannot be sent", "send data"
	case f.Extended && f.ID > MaxExtendedCANID:
		e.Reason, e.Hint = "the identifier has more than 29 bits", "extended ones go to 1fffffff"
	case !f.Extended && f.ID > MaxCANID:
		e.Reason, e.Hint = "the identifier has more than 11 bits", "standard ones go to 7ff; write an extended one with eight digits"
	case f.Remote && f.FD:
		e.Reason, e.Hint = "FD has no remote frames", "send a classic one"
	case f.BRS && !f.FD:
		e.Reason, e.Hint = "a classic frame has one bit rate", "send an FD frame"
	case !f.FD && f.Len > MaxCANData:
		e.Reason, e.Hint = strconv.Itoa(int(f.Len))+" bytes", "a classic frame has at most 8, an FD frame 64"
	case f.FD && canFDLen(f.Len) != f.Len:
		e.Reason = "no FD frame has " + strconv.Itoa(int(f.Len)) + " bytes"
		e.Hint = "0 to 8, 12, 16, 20, 24, 32, 48 and 64 are allowed"
	default:
		return nil
	}
	return e
}

// Clean is the frame as it is received: without the data that is not sent.
func (f *CANFrame) Clean() CANFrame {
	c := *f
	if c.Remote {
		c.Data = [MaxCANFDData]byte{}
	} else if int(c.Len) < len(c.Data) {
		clear(c.Data[c.Len:])
	}
	return c
}

// canFDLen is the shortest length of an FD frame that holds n bytes (ISO 11898-1,
// table of the DLC); 0 where there is none.
func canFDLen(n uint8) uint8 {
	for _, l := range [...]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64} {
		if n <= l {
			return l
		}
	}
	return 0
}

// CANState is how far a controller's error counters have taken it from the bus
// (ISO 11898-1, fault confinement; enum can_state of linux/can/netlink.h).
type CANState uint8

// The states, by the kernel's numbers and one for links without a controller.
const (
	CANErrorActive CANState = iota
	CANErrorWarning
	CANErrorPassive
	CANBusOff
	CANStopped
	CANSleeping
	CANStateUnknown
)

// String is the state as data sheets write it.
func (s CANState) String() string {
	if s > CANStateUnknown {
		s = CANStateUnknown
	}
	return [...]string{"ERROR-ACTIVE", "ERROR-WARNING", "ERROR-PASSIVE", "BUS-OFF", "stopped", "sleeping", "state unknown"}[s]
}

// CANLink is one CAN interface and how its link is.
type CANLink struct {
	Name        string // "can0"
	Description string // what the board file says of it, or empty
	Kind        string // the kernel's word: "can", "vcan", "slcan"; may be empty
	Up          bool
	FD          bool // takes FD frames
	ListenOnly  bool // never sends, not even an acknowledge
	State       CANState
	Bitrate     uint32        // bit/s; 0: not known, as of a virtual link
	SamplePoint uint32        // tenths of a percent of the bit time; 0: not known
	DataBitrate uint32        // bit/s of FD data; 0: none
	Restart     time.Duration // after BUS-OFF by itself; 0: never
	Counted     bool          // TxErrors and RxErrors are known
	TxErrors    uint16        // the controller's transmit error counter
	RxErrors    uint16        // and receive error counter
}

// String is the link in words, with the command that mends it where it is down:
//
//	up, ERROR-ACTIVE, 500000 bit/s, sample point 87.5 %, errors sent 0, received 0
func (l *CANLink) String() string {
	if !l.Up {
		return "down; " + l.mend()
	}
	s := "up"
	if l.Kind == "vcan" {
		s += ", virtual"
	}
	if l.State != CANStateUnknown {
		s += ", " + l.State.String()
	}
	if l.ListenOnly {
		s += ", listen-only"
	}
	if l.Bitrate != 0 {
		s += fmt.Sprintf(", %d bit/s", l.Bitrate)
	}
	if l.SamplePoint != 0 {
		s += fmt.Sprintf(", sample point %d.%d %%", l.SamplePoint/10, l.SamplePoint%10)
	}
	if l.DataBitrate != 0 {
		s += fmt.Sprintf(", FD data %d bit/s", l.DataBitrate)
	}
	if l.Counted {
		s += fmt.Sprintf(", errors sent %d, received %d", l.TxErrors, l.RxErrors)
	}
	if l.State == CANBusOff {
		s += "; " + l.mend()
	}
	return s
}

// mend is the command that brings a link back.
func (l *CANLink) mend() string {
	switch {
	case l.Up && l.State == CANBusOff && l.Restart != 0:
		return "check wiring, termination and bit rate; it restarts by itself after " + l.Restart.String()
	case l.Up && l.State == CANBusOff:
		return "check wiring, termination and bit rate, then: sudo ip link set " + l.Name + " type can restart"
	case l.Kind == "can" || l.Kind == "":
		return "bring it up with: sudo ip link set " + l.Name + " up type can bitrate 500000"
	}
	return "bring it up with: sudo ip link set " + l.Name + " up"
}

// Quiet is nil for a link that frames come from, else ErrDown: the link is down,
// or BUS-OFF and stays so.
func (l *CANLink) Quiet() error {
	switch {
	case !l.Up:
		return &Error{Subject: l.Name, Kind: ErrDown, Reason: "the link is down", Hint: l.mend()}
	case l.State == CANBusOff:
		return &Error{Subject: l.Name, Kind: ErrDown, Reason: "BUS-OFF: too many errors have taken it off the bus", Hint: l.mend()}
	}
	return nil
}

// Takes is nil for a link that can send the frame now, else ErrDown as of Quiet,
// or ErrNotSupport.
func (l *CANLink) Takes(f *CANFrame) error {
	if err := f.Check(); err != nil {
		return err
	}
	if err := l.Quiet(); err != nil {
		return err
	}
	e := &Error{Subject: l.Name, Kind: ErrNotSupport}
	switch {
	case l.ListenOnly:
		e.Reason = "the link is listen-only"
		e.Hint = "sudo ip link set " + l.Name + " down, then: sudo ip link set " + l.Name + " up type can listen-only off"
	case f.FD && !l.FD:
		e.Reason = "the link takes no FD frames"
		e.Hint = "send a classic frame of at most 8 bytes, or, where the controller has FD: sudo ip link set " + l.Name +
			" down, then: sudo ip link set " + l.Name + " up type can bitrate 500000 dbitrate 2000000 fd on"
	default:
		return nil
	}
	return e
}

// CAN is a board's CAN interfaces. The first Send or Receive on an interface
// begins to record what it receives, in a ring of CANRingFrames frames that goes
// on until the board is closed. The frames that Send sent are not in it; those
// of other programs on this board are.
type CAN interface {
	// Links appends every interface, by name.
	Links(dst []CANLink) ([]CANLink, error)
	// Send sends one frame and waits until it was on the bus, which is at when:
	// another node has acknowledged it, or the link is virtual. It is ErrTimeout
	// when that is not so at deadline; then the controller may still send it. It
	// is never sent again. next is the offset in the ring of what comes after it.
	// A frame that the link does not take is as of CANLink.Takes; an interface
	// that the board lacks is ErrNotFound. It does not keep f.
	Send(name string, f *CANFrame, deadline time.Time) (when time.Time, next uint64, err error)
	// Receive appends frames from the ring as w says, and waits for them. A link
	// from which no frame comes is ErrDown where the ring has none either.
	Receive(name string, w CANWanted, dst []CANReceived) ([]CANReceived, CANTaken, error)
}
