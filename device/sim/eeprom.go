package sim

import "time"

// eeprom is a 24C32: 4096 bytes behind a 16-bit pointer, written in pages of 32
// (Microchip 24LC32A data sheet DS21713: 5.0 addressing, 6.0 write operation,
// 7.0 acknowledge polling, 8.0 read operation). It comes erased.
type eeprom struct {
	data    [eepromSize]byte
	pointer uint16
	busy    time.Time // end of the write cycle
}

const (
	eepromSize  = 4096
	eepromPage  = 32
	eepromCycle = 5 * time.Millisecond // the longest that the data sheet allows
)

func newEEPROM() *eeprom {
	e := &eeprom{}
	for i := range e.data {
		e.data[i] = 0xff
	}
	return e
}

func (e *eeprom) transact(now time.Time, write, read []byte) bool {
	if now.Before(e.busy) {
		return false
	}
	switch {
	case len(write) == 1:
		e.pointer = uint16(write[0])<<8%eepromSize | e.pointer&0xff
	case len(write) >= 2:
		e.pointer = (uint16(write[0])<<8 | uint16(write[1])) % eepromSize
	}
	// Only a stop starts the write cycle: a repeated start drops the data.
	if len(write) > 2 && len(read) == 0 {
		e.program(write[2:])
		e.busy = now.Add(eepromCycle)
	}
	for i := range read {
		read[i] = e.data[e.pointer]
		e.pointer = (e.pointer + 1) % eepromSize
	}
	return true
}

// program writes within the pointer's page, where it wraps.
func (e *eeprom) program(data []byte) {
	page := e.pointer &^ (eepromPage - 1)
	for _, v := range data {
		e.data[e.pointer] = v
		e.pointer = page | (e.pointer+1)%eepromPage
	}
}
