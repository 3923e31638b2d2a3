package device

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// UARTPort describes one serial port.
type UARTPort struct {
	Name   string // the kernel's, unique on the board: "ttyUSB0"
	ByID   string // the name in /dev/serial/by-id, which survives unplugging; or empty
	USB    *USBIdentity
	Driver string // "ftdi_sio", or empty
	// Owner is who else has the port ("the kernel's console", "agetty (pid 412), a
	// login"), as far as this user may see it; empty when free or open here. An owned
	// port cannot be opened.
	Owner string
	Open  bool // by this process
	// Description is what the board file says of it, or empty.
	Description string
}

// USBIdentity is what a USB device says of itself, as it says it.
type USBIdentity struct {
	Vendor, Product uint16
	Serial          string // or empty
	Text            string // the maker's and the product's names, or empty
}

// String is "0403:6001", or "0403:6001:A50285BI" where there is a serial number:
// a name that UART.Find takes.
func (u USBIdentity) String() string {
	s := fmt.Sprintf("%04x:%04x", u.Vendor, u.Product)
	if u.Serial != "" {
		s += ":" + u.Serial
	}
	return s
}

// Names says whether name, "0403:6001" or with a serial number behind it, names
// the device; hex digits in any case.
func (u USBIdentity) Names(name string) bool {
	id, serial, hasSerial := name, "", false
	if len(name) > 9 && name[9] == ':' {
		id, serial, hasSerial = name[:9], name[10:], true
	}
	return strings.EqualFold(id, fmt.Sprintf("%04x:%04x", u.Vendor, u.Product)) && (!hasSerial || serial == u.Serial)
}

// UART is a board's serial ports. Calls that act on one port must not overlap:
// the caller runs them on the port's own queue. Received may be read at any time.
type UART interface {
	// Ports appends every port, by name. It opens none. It can take a while: it
	// looks through all processes for the owners.
	Ports(dst []UARTPort) ([]UARTPort, error)
	// Find gives the kernel's name of the port that name means: the kernel's name,
	// with or without /dev/ in front; a link to it such as
	// /dev/serial/by-id/usb-FTDI_..., or the last part of one in by-id; or a USB
	// identity, see USBIdentity. None is ErrNotFound, and so are several.
	// It allocates nothing for the kernel's name of an open port.
	Find(name string) (string, error)
	// Open gives the port called name, as Find has it. A port that is not open is
	// opened in mode, for this process alone, and stays open until its Close, the
	// Board's, or the end of the hardware. Opening raises DTR and RTS, which resets
	// many boards. An owned port is ErrBusy.
	Open(name string, mode PortMode) (Port, error)
	// Opened gives the port that is open under the kernel's name, or nil.
	Opened(name string) Port
}

// Port is an open serial port, raw: bytes come and go as they are. When its
// hardware goes, everything fails with ErrUnplugged, and the port is closed: it
// can be opened again when it is back.
type Port interface {
	// Name is the kernel's.
	Name() string
	// Mode is how the line is set.
	Mode() PortMode
	// SetMode sets the line. What the hardware cannot do is ErrNotSupport.
	SetMode(PortMode) error
	// Received is what the port has received since it was opened.
	Received() *Receiver
	// Write hands p to the port and gives how many bytes it took until the
	// deadline; fewer than all is ErrTimeout, and then those that have not left yet
	// are dropped. It does not wait until all have left. It does not keep p.
	Write(p []byte, deadline time.Time) (int, error)
	// Modem is how the modem lines stand; ErrNotSupport where there are none.
	Modem() (Modem, error)
	// SetDTR and SetRTS drive a modem line; true is asserted.
	SetDTR(on bool) error
	SetRTS(on bool) error
	// Break holds the line in the break state for d.
	Break(d time.Duration) error
	// RS485 says whether RTS drives an RS-485 transceiver's direction by itself;
	// ErrNotSupport where the driver has no such thing.
	RS485() (bool, error)
	SetRS485(on bool) error
	// Faults counts what the hardware has found wrong since the port was opened;
	// zero where the driver does not count.
	Faults() LineFaults
	// Close puts the line's settings back to what they were before Open and frees
	// the port. It waits for what was written to leave, for a moment. Received can
	// still be read.
	Close() error
}

// Modem is the modem lines; true is asserted.
type Modem struct {
	DTR, RTS            bool // ours
	CTS, DSR, DCD, Ring bool // the other end's
}

// LineFaults counts what was wrong with received characters.
type LineFaults struct {
	Framing, Parity, Break uint32 // characters; framing faults mean a wrong baud rate more often than noise
	Overrun                uint32 // characters that the hardware or the kernel lost
}

// Sub is what came to l since before.
func (l LineFaults) Sub(before LineFaults) LineFaults {
	return LineFaults{l.Framing - before.Framing, l.Parity - before.Parity, l.Break - before.Break, l.Overrun - before.Overrun}
}

// String tells the counts that are not zero in words, "12 framing faults"; empty
// where all are zero.
func (l LineFaults) String() string {
	var all []string
	for _, c := range []struct {
		n    uint32
		what string
	}{{l.Framing, " framing faults"}, {l.Parity, " parity faults"}, {l.Break, " breaks"}, {l.Overrun, " characters overrun"}} {
		if c.n > 0 {
			all = append(all, strconv.FormatUint(uint64(c.n), 10)+c.what)
		}
	}
	return strings.Join(all, ", ")
}

// Flow is how the ends of a line stop each other.
type Flow uint8

// The kinds of flow control.
const (
	FlowNone Flow = iota
	FlowRTSCTS
	FlowXonXoff
)

// PortMode is how a line is set.
type PortMode struct {
	Baud     int   // bits per second
	DataBits uint8 // 5 to 8
	Parity   byte  // 'N'one, 'O'dd, 'E'ven, 'M'ark, 'S'pace
	StopBits uint8 // 1 or 2
	Flow     Flow
}

// The baud rates that a PortMode may have. Hardware has its own limits.
const (
	MinBaud = 50
	MaxBaud = 12_000_000
)

// The modes that a port is opened in where nobody says otherwise: what most
// devices speak, and the default of the MODBUS over Serial Line guide (V1.02, 2.2
// and 2.5.1).
var (
	DefaultMode = PortMode{115200, 8, 'N', 1, FlowNone}
	ModbusMode  = PortMode{19200, 8, 'E', 1, FlowNone}
)

// String is the mode as ParsePortMode takes it: "9600 8N1", "115200 8N1 rtscts".
func (m PortMode) String() string {
	s := fmt.Sprintf("%d %d%c%d", m.Baud, m.DataBits, m.Parity, m.StopBits)
	switch m.Flow {
	case FlowRTSCTS:
		s += " rtscts"
	case FlowXonXoff:
		s += " xonxoff"
	}
	return s
}

// Time is how long n characters take on the line.
func (m PortMode) Time(n int) time.Duration {
	bits := int(m.DataBits) + int(m.StopBits) + 1
	if m.Parity != 'N' {
		bits++
	}
	return time.Duration(n*bits) * time.Second / time.Duration(m.Baud)
}

// ParsePortMode reads a mode such as "9600 8E1" or "9600,7E2,rtscts": the baud
// rate; data bits, parity and stop bits; and none, rtscts or xonxoff for flow
// control. What text leaves out is as in base.
func ParsePortMode(text string, base PortMode) (PortMode, error) {
	m := base
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		baud, err := strconv.Atoi(word)
		frame := strings.ToUpper(word)
		switch {
		case err == nil && baud >= MinBaud && baud <= MaxBaud:
			m.Baud = baud
		case len(frame) == 3 && frame[0] >= '5' && frame[0] <= '8' && strings.IndexByte("NOEMS", frame[1]) >= 0 && (frame[2] == '1' || frame[2] == '2'):
			m.DataBits, m.Parity, m.StopBits = frame[0]-'0', frame[1], frame[2]-'0'
		case frame == "NONE":
			m.Flow = FlowNone
		case frame == "RTSCTS":
			m.Flow = FlowRTSCTS
		case frame == "XONXOFF":
			m.Flow = FlowXonXoff
		default:
			return m, &Error{Subject: fmt.Sprintf("mode %.64q", text), Kind: ErrNotSupport, Reason: fmt.Sprintf("%.32q is no part of a mode", word),
				Hint: fmt.Sprintf(`give it as "9600 8N1": baud %d to %d, 5 to 8 data bits, parity N, O, E, M or S, 1 or 2 stop bits, then rtscts, xonxoff or none`, MinBaud, MaxBaud)}
		}
	}
	return m, nil
}

// Moded is a UART of which somebody has said how its ports are set.
type Moded interface {
	UART
	// ModeOf is the one mode of the port called name, as Find has it, or false.
	ModeOf(name string) (PortMode, bool)
}
