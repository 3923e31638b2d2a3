package sim

import (
	"encoding/binary"
	"math"
	"sync"
	"time"
)

// plant is what a Modbus server of the simulated board shows: the climate, four
// relays and some memory. On the serial line it is unit 1 at 19200 8E1; over TCP
// it is every unit.
//
//	coil 0-3          relays
//	coil 4-15         memory
//	discrete 0-3      the relays' contacts
//	discrete 4        frost: below 5 °C
//	discrete 5-15     0
//	input 0           temperature, i16, in 0.1 °C
//	input 1           humidity, u16, in 0.1 %
//	input 2-3         temperature, f32, in °C
//	input 4-5         pressure, u32, in Pa
//	input 6-7         pressure, u32, in Pa, low word first
//	input 8-11        seconds of operation, u64
//	input 12-15       0
//	holding 0         set point, i16, in 0.1 °C; -400 to 1000
//	holding 1-23      memory
//	holding 24-31     "TH-1 MODBUS", text, not to be written
type plant struct {
	env    func(time.Time) surroundings
	booted time.Time

	mu      sync.Mutex
	coils   [16]bool
	holding [32]uint16
}

const (
	relays    = 4
	firstText = 24
	plantUnit = 1
	inputs    = 16
)

// Exceptions (MODBUS Application Protocol V1.1b3, 7).
const (
	illegalFunction = 1
	illegalAddress  = 2
	illegalData     = 3
)

func newPlant(env func(time.Time) surroundings, booted time.Time) *plant {
	p := &plant{env: env, booted: booted}
	p.holding[0] = 215
	text := "TH-1 MODBUS\x00\x00\x00\x00\x00"
	for i := range 8 {
		p.holding[firstText+i] = uint16(text[2*i])<<8 | uint16(text[2*i+1])
	}
	return p
}

func (p *plant) inputs(now time.Time) [inputs]uint16 {
	air := p.env(now)
	celsius := math.Float32bits(float32(air.celsius))
	pascal := uint32(air.pascal)
	seconds := uint64(now.Sub(p.booted) / time.Second)
	return [inputs]uint16{
		uint16(int16(math.Round(air.celsius * 10))), uint16(math.Round(air.percent * 10)),
		uint16(celsius >> 16), uint16(celsius),
		uint16(pascal >> 16), uint16(pascal), uint16(pascal), uint16(pascal >> 16),
		uint16(seconds >> 48), uint16(seconds >> 32), uint16(seconds >> 16), uint16(seconds),
	}
}

func (p *plant) discrete(now time.Time) []bool {
	bits := make([]bool, 16)
	copy(bits, p.coils[:relays])
	bits[relays] = p.env(now).celsius < 5
	return bits
}

// answer gives the PDU of the answer to the PDU of a request.
func (p *plant) answer(now time.Time, pdu []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	function := pdu[0]
	refuse := func(code byte) []byte { return []byte{function | 0x80, code} }
	if function < 1 || function > 6 && function != 15 && function != 16 {
		return refuse(illegalFunction)
	}
	if len(pdu) < 5 {
		return refuse(illegalData)
	}
	address, value := int(binary.BigEndian.Uint16(pdu[1:])), binary.BigEndian.Uint16(pdu[3:])
	count := int(value)
	switch function {
	case 1, 2:
		bits := p.coils[:]
		if function == 2 {
			bits = p.discrete(now)
		}
		switch {
		case len(pdu) != 5 || count < 1 || count > 2000:
			return refuse(illegalData)
		case address+count > len(bits):
			return refuse(illegalAddress)
		}
		data := make([]byte, (count+7)/8)
		for i, on := range bits[address : address+count] {
			if on {
				data[i/8] |= 1 << (i % 8)
			}
		}
		return append([]byte{function, byte(len(data))}, data...)
	case 3, 4:
		registers := p.holding[:]
		if function == 4 {
			in := p.inputs(now)
			registers = in[:]
		}
		switch {
		case len(pdu) != 5 || count < 1 || count > 125:
			return refuse(illegalData)
		case address+count > len(registers):
			return refuse(illegalAddress)
		}
		out := []byte{function, byte(2 * count)}
		for _, r := range registers[address : address+count] {
			out = binary.BigEndian.AppendUint16(out, r)
		}
		return out
	case 5:
		switch {
		case len(pdu) != 5 || value != 0 && value != 0xff00:
			return refuse(illegalData)
		case address >= len(p.coils):
			return refuse(illegalAddress)
		}
		p.coils[address] = value != 0
	case 6:
		if code := p.store(address, pdu[3:]); code != 0 {
			return refuse(code)
		}
	case 15:
		switch {
		case count < 1 || count > 1968 || len(pdu) != 6+(count+7)/8 || int(pdu[5]) != (count+7)/8:
			return refuse(illegalData)
		case address+count > len(p.coils):
			return refuse(illegalAddress)
		}
		for i := range count {
			p.coils[address+i] = pdu[6+i/8]>>(i%8)&1 != 0
		}
	case 16:
		if count < 1 || count > 123 || len(pdu) != 6+2*count || int(pdu[5]) != 2*count {
			return refuse(illegalData)
		}
		if code := p.store(address, pdu[6:]); code != 0 {
			return refuse(code)
		}
	}
	return pdu[:5]
}

// store writes registers, all or none, and gives an exception or 0.
func (p *plant) store(address int, data []byte) byte {
	n := len(data) / 2
	if address+n > firstText {
		return illegalAddress
	}
	if setPoint := int16(binary.BigEndian.Uint16(data)); address == 0 && (setPoint < -400 || setPoint > 1000) {
		return illegalData
	}
	for i := range n {
		p.holding[address+i] = binary.BigEndian.Uint16(data[2*i:])
	}
	return 0
}

// plantLine is the plant on a serial line. It takes what comes in one piece as a
// frame, as the silence around it would tell.
type plantLine struct{ plant *plant }

func (l plantLine) start(time.Time) []byte { return nil }

func (l plantLine) hear(now time.Time, frame []byte) []byte {
	n := len(frame) - 2
	if n < 2 || frame[0] != plantUnit && frame[0] != 0 || binary.LittleEndian.Uint16(frame[n:]) != crc16(frame[:n]) {
		return nil
	}
	pdu := l.plant.answer(now, frame[1:n])
	if frame[0] == 0 {
		return nil
	}
	answer := append([]byte{plantUnit}, pdu...)
	return binary.LittleEndian.AppendUint16(answer, crc16(answer))
}

// message answers one message of Modbus TCP, or closes the connection (nil).
func (p *plant) message(now time.Time, m []byte) []byte {
	if len(m) < 8 || binary.BigEndian.Uint16(m[2:]) != 0 || int(binary.BigEndian.Uint16(m[4:])) != len(m)-6 {
		return nil
	}
	pdu := p.answer(now, m[7:])
	out := append([]byte(nil), m[:4]...)
	out = binary.BigEndian.AppendUint16(out, uint16(1+len(pdu)))
	return append(append(out, m[6]), pdu...)
}

// crc16 is the CRC of MODBUS over Serial Line V1.02, 6.2.2, bit by bit.
func crc16(p []byte) uint16 {
	crc := uint16(0xffff)
	for _, b := range p {
		crc ^= uint16(b)
		for range 8 {
			low := crc&1 != 0
			crc >>= 1
			if low {
				crc ^= 0xa001
			}
		}
	}
	return crc
}
