// Package modbus encodes requests of a Modbus client and decodes the answers. It
// does no input or output.
//
// A PDU is a function code and its data, at most 253 bytes; the two transports
// wrap it:
//
//	RTU: unit | PDU | CRC, low byte first
//	TCP: transaction | 0 0 | length | unit | PDU
//
// Sources: MODBUS Application Protocol Specification V1.1b3 (APP), MODBUS over
// Serial Line V1.02 (SER), MODBUS Messaging on TCP/IP Implementation Guide V1.0b
// (TCP), all of modbus.org.
package modbus

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

// Kind is one of the four tables of a device (APP 4.3).
type Kind uint8

// The tables.
const (
	Coils          Kind = iota // bits that can be written
	DiscreteInputs             // bits
	Holding                    // registers that can be written
	Input                      // registers
)

// Bits says that the table holds bits, not registers of 16.
func (k Kind) Bits() bool { return k == Coils || k == DiscreteInputs }

// Limits of one request (APP 6).
const (
	MaxReadBits       = 2000
	MaxReadRegisters  = 125
	MaxWriteBits      = 1968
	MaxWriteRegisters = 123
)

// Function codes (APP 5.1).
const (
	readCoils          = 1
	readDiscreteInputs = 2
	readHolding        = 3
	readInput          = 4
	writeCoil          = 5
	writeRegister      = 6
	writeCoils         = 15
	writeRegisters     = 16

	exception = 0x80 // added to the function code of a refused request
)

// Sizes in bytes.
const (
	MaxPDU     = 253
	MaxRTU     = 1 + MaxPDU + 2
	HeaderSize = 7 // of TCP, the unit included
)

// Request is one request: its PDU, and what its answer must be. It refers to
// nothing of its caller's.
type Request struct {
	PDU []byte

	count int // of bits or registers
}

// Read asks for count bits or registers from address on, which counts from 0.
func Read(kind Kind, address uint16, count int) (Request, error) {
	most, what := MaxReadRegisters, "registers"
	if kind.Bits() {
		most, what = MaxReadBits, "bits"
	}
	if err := fits(what, "read", address, count, most); err != nil {
		return Request{}, err
	}
	function := [...]byte{Coils: readCoils, DiscreteInputs: readDiscreteInputs, Holding: readHolding, Input: readInput}[kind]
	return Request{head(function, address, uint16(count)), count}, nil
}

// WriteBits sets coils from address on: one with function 5, several with 15.
func WriteBits(address uint16, bits []bool) (Request, error) {
	if err := fits("bits", "write", address, len(bits), MaxWriteBits); err != nil {
		return Request{}, err
	}
	if len(bits) == 1 {
		var value uint16
		if bits[0] {
			value = 0xff00
		}
		return Request{head(writeCoil, address, value), 1}, nil
	}
	pdu := append(head(writeCoils, address, uint16(len(bits))), byte((len(bits)+7)/8))
	data := make([]byte, (len(bits)+7)/8)
	for i, on := range bits {
		if on {
			data[i/8] |= 1 << (i % 8)
		}
	}
	return Request{append(pdu, data...), len(bits)}, nil
}

// WriteRegisters sets holding registers from address on: one with function 6,
// several with 16.
func WriteRegisters(address uint16, registers []uint16) (Request, error) {
	if err := fits("registers", "write", address, len(registers), MaxWriteRegisters); err != nil {
		return Request{}, err
	}
	if len(registers) == 1 {
		return Request{head(writeRegister, address, registers[0]), 1}, nil
	}
	pdu := append(head(writeRegisters, address, uint16(len(registers))), byte(2*len(registers)))
	for _, r := range registers {
		pdu = binary.BigEndian.AppendUint16(pdu, r)
	}
	return Request{pdu, len(registers)}, nil
}

// Reads says that the request changes nothing.
func (r Request) Reads() bool { return r.PDU[0] <= readInput }

func head(function byte, address, value uint16) []byte {
	pdu := make([]byte, 0, 16)
	pdu = append(pdu, function)
	pdu = binary.BigEndian.AppendUint16(pdu, address)
	return binary.BigEndian.AppendUint16(pdu, value)
}

func fits(what, act string, address uint16, count, most int) error {
	switch {
	case count < 1:
		return fmt.Errorf("there are no %s to %s; 1 to %d are allowed", what, act, most)
	case count > most:
		return fmt.Errorf("%d %s to %s at once; 1 to %d are allowed", count, what, act, most)
	case int(address)+count > 1<<16:
		return fmt.Errorf("%d %s from address %d on reach beyond 65535, the last address", count, what, address)
	}
	return nil
}

// Refusal is the exception with which a device answers a request that it has not
// carried out (APP 7).
type Refusal struct {
	Function byte
	Code     byte
}

func (r *Refusal) Error() string {
	text := "unknown exception"
	if int(r.Code) < len(exceptions) && exceptions[r.Code] != "" {
		text = exceptions[r.Code]
	}
	return "the device refused function " + strconv.Itoa(int(r.Function)) + ": " + text + " (exception " + strconv.Itoa(int(r.Code)) + ")"
}

var exceptions = [...]string{
	1:  "it does not have this function",
	2:  "it has not all of these addresses; some count from 1 where the wire counts from 0, and the four kinds are tables apart",
	3:  "the value or the count is not allowed",
	4:  "it failed while it tried; whether it acted is unknown",
	5:  "it has accepted and needs a long time; read the result later",
	6:  "it is busy with an earlier request; call again later",
	8:  "its memory has a parity fault",
	10: "the gateway has no path to the unit",
	11: "the unit behind the gateway does not answer",
}

// The ways in which bytes are no answer to a request.
var (
	ErrShort    = errors.New("more bytes must come")
	ErrCRC      = errors.New("the CRC is wrong: noise, a wrong mode of the line, or two devices with one unit id")
	ErrUnit     = errors.New("it is from another unit")
	ErrFunction = errors.New("it is to another function")
	ErrEcho     = errors.New("it repeats another address, value or count than was sent")
	ErrLength   = errors.New("its length does not fit the request")
)

// Decode checks the PDU of an answer to r and gives its data: the bytes of bits
// or registers that were read, nil of a write. The data refers to pdu. A refusal
// is a *Refusal.
func (r Request) Decode(pdu []byte) ([]byte, error) {
	n, err := r.expect(pdu)
	switch {
	case err != nil:
		return nil, err
	case len(pdu) != n:
		return nil, ErrLength
	case pdu[0]&exception != 0:
		return nil, &Refusal{r.PDU[0], pdu[1]}
	}
	switch r.PDU[0] {
	case writeCoil, writeRegister, writeCoils, writeRegisters:
		if string(pdu) != string(r.PDU[:5]) {
			return nil, ErrEcho
		}
		return nil, nil
	}
	return pdu[2:], nil
}

// expect is how long the answer's PDU must be, as far as its first bytes tell.
func (r Request) expect(pdu []byte) (int, error) {
	if len(pdu) == 0 {
		return 0, ErrShort
	}
	function := r.PDU[0]
	switch pdu[0] {
	case function | exception:
		return 2, nil
	case function:
	default:
		return 0, ErrFunction
	}
	var data int
	switch function {
	case readCoils, readDiscreteInputs:
		data = (r.count + 7) / 8
	case readHolding, readInput:
		data = 2 * r.count
	default:
		return 5, nil
	}
	if len(pdu) > 1 && int(pdu[1]) != data {
		return 0, ErrLength
	}
	return 2 + data, nil
}

// AppendRTU appends the frame of a request to a unit; unit 0 is all of them, and
// none answers (SER 2.2).
func (r Request) AppendRTU(dst []byte, unit byte) []byte {
	start := len(dst)
	dst = append(append(dst, unit), r.PDU...)
	return binary.LittleEndian.AppendUint16(dst, CRC(dst[start:]))
}

// DecodeRTU checks the frame of an answer to r, all the bytes that came, and
// gives what Decode does. ErrShort: so far it is right.
func (r Request) DecodeRTU(frame []byte, unit byte) ([]byte, error) {
	if len(frame) < 2 {
		return nil, ErrShort
	}
	if frame[0] != unit {
		return nil, ErrUnit
	}
	n, err := r.expect(frame[1:])
	if err != nil {
		return nil, err
	}
	n += 3
	switch {
	case len(frame) < n:
		return nil, ErrShort
	case len(frame) > n:
		return nil, ErrLength
	case !WholeRTU(frame):
		return nil, ErrCRC
	}
	return r.Decode(frame[1 : n-2])
}

// WholeRTU says that frame is one whole frame, whoever it is from: its CRC is right.
func WholeRTU(frame []byte) bool {
	n := len(frame) - 2
	return n >= 2 && CRC(frame[:n]) == binary.LittleEndian.Uint16(frame[n:])
}

// CRC is the CRC-16 of RTU: polynomial 0xa001, reflected, from 0xffff (SER 6.2).
func CRC(p []byte) uint16 {
	crc := uint16(0xffff)
	for _, b := range p {
		crc ^= uint16(b)
		for range 8 {
			carry := crc & 1
			crc = crc>>1 ^ 0xa001*carry
		}
	}
	return crc
}

// AppendTCP appends the message of a request (TCP 3.1.3).
func (r Request) AppendTCP(dst []byte, transaction uint16, unit byte) []byte {
	dst = binary.BigEndian.AppendUint16(dst, transaction)
	dst = append(dst, 0, 0)
	dst = binary.BigEndian.AppendUint16(dst, uint16(1+len(r.PDU)))
	return append(append(dst, unit), r.PDU...)
}

// Header is the head of a message of TCP.
type Header struct {
	Transaction uint16
	Unit        byte
	Length      int // of the PDU that follows
}

// DecodeHeader reads the first HeaderSize bytes of a message. An error means
// that the other end does not speak Modbus, and that nothing after it makes sense.
func DecodeHeader(b []byte) (Header, error) {
	if len(b) < HeaderSize {
		return Header{}, ErrShort
	}
	protocol, length := binary.BigEndian.Uint16(b[2:]), int(binary.BigEndian.Uint16(b[4:]))
	if protocol != 0 || length < 2 || length > 1+MaxPDU {
		return Header{}, fmt.Errorf("what answers does not speak Modbus: protocol %d, length %d", protocol, length)
	}
	return Header{binary.BigEndian.Uint16(b), b[6], length - 1}, nil
}
