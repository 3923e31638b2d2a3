package device

import "strconv"

// The classes of an error frame, the bits of its identifier (linux/can/error.h).
// Only those that a simulation raises have a name outside.
const (
	canErrTxTimeout = 0x001
	canErrLostArb   = 0x002
	canErrCtrl      = 0x004
	canErrProtocol  = 0x008
	canErrWire      = 0x010
	CANErrNoAck     = 0x020 // nobody acknowledged
	canErrBusOff    = 0x040
	canErrBus       = 0x080
	canErrRestarted = 0x100
	canErrCounters  = 0x200
)

// bitWords are the words for the bits of a byte, in order.
type bitWords []struct {
	bit   byte
	words string
}

func (b bitWords) of(v byte) string {
	s := ""
	for _, w := range b {
		if v&w.bit == 0 {
			continue
		}
		if s != "" {
			s += ", "
		}
		s += w.words
	}
	return s
}

// Byte 1: of the controller.
var canCtrlWords = bitWords{
	{0x01, "the controller's receive buffer overflowed"},
	{0x02, "the controller's transmit buffer overflowed"},
	{0x04, "ERROR-WARNING: many errors while receiving"},
	{0x08, "ERROR-WARNING: many errors while sending"},
	{0x10, "ERROR-PASSIVE: too many errors while receiving"},
	{0x20, "ERROR-PASSIVE: too many errors while sending"},
	{0x40, "back to ERROR-ACTIVE"},
}

// Byte 2: of the protocol.
var canProtocolWords = bitWords{
	{0x01, "a bit was read back wrong"},
	{0x02, "a frame broke the format: is the bit rate right?"},
	{0x04, "bit stuffing was broken: is the bit rate right?"},
	{0x08, "a dominant bit could not be sent"},
	{0x10, "a recessive bit could not be sent: is the bus shorted or not terminated?"},
	{0x20, "overload"},
	{0x40, "an active error flag"},
	{0x80, "while sending"},
}

// canPlaces are the places in a frame of byte 3 that say something to a person.
var canPlaces = map[byte]string{
	0x03: "start of frame", 0x08: "CRC", 0x0a: "data", 0x0b: "length", 0x12: "intermission", 0x18: "CRC delimiter",
	0x19: "acknowledge slot", 0x1a: "end of frame", 0x1b: "acknowledge delimiter",
}

// canWires are the faults of the wires in byte 4: CANH in the low half, CANL in
// the high one.
var canWires = [...]string{4: "no wire", 5: "shorted to the battery", 6: "shorted to the supply", 7: "shorted to ground", 8: "shorted to the other"}

// Trouble is what an error frame reports, in words; "" for any other frame. It
// never fails: what the kernel does not name is given by its number.
func (f *CANFrame) Trouble() string {
	if !f.Error {
		return ""
	}
	s := ""
	add := func(words string) {
		if s != "" {
			s += "; "
		}
		s += words
	}
	named := uint32(0)
	class := func(bit uint32) bool {
		named |= bit
		return f.ID&bit != 0
	}
	if class(canErrBusOff) {
		add("BUS-OFF: too many errors have taken the controller off the bus")
	}
	if class(CANErrNoAck) {
		add("no acknowledge: no other node answers")
	}
	if class(canErrTxTimeout) {
		add("the driver gave up sending")
	}
	if class(canErrLostArb) {
		words := "lost the arbitration to another node"
		if f.Data[0] != 0 {
			words += " at bit " + strconv.Itoa(int(f.Data[0]))
		}
		add(words)
	}
	if class(canErrCtrl) {
		words := canCtrlWords.of(f.Data[1])
		if words == "" {
			words = "a controller problem"
		}
		add(words)
	}
	if class(canErrProtocol) {
		words := canProtocolWords.of(f.Data[2])
		if words == "" {
			words = "a protocol error"
		}
		if place := canPlaces[f.Data[3]]; place != "" {
			words += " (in the " + place + ")"
		}
		add(words)
	}
	if class(canErrWire) {
		words := "a transceiver fault"
		for i, wire := range [...]string{"CANH", "CANL"} {
			if fault := f.Data[4] >> (4 * i) & 0xf; int(fault) < len(canWires) && canWires[fault] != "" {
				words += ", " + wire + " " + canWires[fault]
			}
		}
		add(words)
	}
	if class(canErrBus) && s == "" {
		add("an error on the bus")
	}
	if class(canErrRestarted) {
		add("the controller was restarted")
	}
	if class(canErrCounters) && s == "" { // they come along with anything else
		add("error counters: sent " + strconv.Itoa(int(f.Data[6])) + ", received " + strconv.Itoa(int(f.Data[7])))
	}
	if rest := f.ID &^ named; rest != 0 || s == "" {
		add("error class 0x" + strconv.FormatUint(uint64(rest), 16))
	}
	return s
}
