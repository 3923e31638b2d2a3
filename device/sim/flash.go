package sim

import "time"

// flash is a NOR flash of 2 MiB like the W25Q16JV (Winbond, revision H): it
// programs ones to zeros within a page of 256 bytes, erases to ones, does either
// only once writing is enabled, and is busy with it for its typical time.
type flash struct {
	sectors map[int][]byte // what was ever written, by number; others are erased
	enabled bool           // the write enable latch
	busy    time.Time      // until then
}

const (
	flashSize   = 2 << 20
	flashSector = 4 << 10
	flashPage   = 256

	flashProgram = 400 * time.Microsecond
	flashErase4K = 45 * time.Millisecond
	flashErase64 = 150 * time.Millisecond
	flashAll     = 5 * time.Second
)

func newFlash() *flash { return &flash{sectors: make(map[int][]byte)} }

// flashID is the maker, the kind and the size as a power of 2.
var flashID = []byte{0xef, 0x40, 0x15}

func (f *flash) exchange(now time.Time, out, in []byte) {
	busy := now.Before(f.busy)
	if !busy && !f.busy.IsZero() {
		f.busy, f.enabled = time.Time{}, false
	}
	command, args, reply := out[0], out[1:], in[1:]
	if command == 0x05 { // status, again and again
		for i := range reply {
			reply[i] = f.status(busy)
		}
		return
	}
	if busy {
		return
	}
	switch command {
	case 0x9f:
		for i := range reply {
			reply[i] = flashID[i%len(flashID)]
		}
	case 0x06, 0x04:
		f.enabled = command == 0x06
	case 0x03, 0x0b:
		skip := 3
		if command == 0x0b {
			skip = 4
		}
		for i := skip; i < len(reply); i++ {
			reply[i] = f.at(flashAddress(args) + i - skip)
		}
	case 0x02, 0x20, 0xd8, 0xc7, 0x60:
		f.change(now, command, args)
	}
}

func (f *flash) status(busy bool) byte {
	s := byte(0)
	if busy {
		s |= 0x01
	}
	if f.enabled {
		s |= 0x02
	}
	return s
}

// change programs or erases, if that is enabled and the command is whole.
func (f *flash) change(now time.Time, command byte, args []byte) {
	whole := len(args) == 3 || command == 0x02 && len(args) > 3
	if everything := command == 0xc7 || command == 0x60; everything {
		whole = len(args) == 0
	}
	if !f.enabled || !whole {
		return
	}
	took := flashAll
	switch command {
	case 0x02:
		f.program(flashAddress(args), args[3:])
		took = flashProgram
	case 0x20:
		delete(f.sectors, flashAddress(args)/flashSector)
		took = flashErase4K
	case 0xd8:
		const perBlock = 64 << 10 / flashSector
		first := flashAddress(args) / flashSector / perBlock * perBlock
		for i := range perBlock {
			delete(f.sectors, first+i)
		}
		took = flashErase64
	default:
		clear(f.sectors)
	}
	f.busy = now.Add(took)
}

// program writes data, which goes round within its page.
func (f *flash) program(addr int, data []byte) {
	number := addr / flashSector
	s := f.sectors[number]
	if s == nil {
		s = make([]byte, flashSector)
		for i := range s {
			s[i] = 0xff
		}
		f.sectors[number] = s
	}
	page := s[addr%flashSector/flashPage*flashPage:][:flashPage]
	for i, b := range data {
		page[(addr+i)%flashPage] &= b
	}
}

func (f *flash) at(addr int) byte {
	addr %= flashSize
	if s := f.sectors[addr/flashSector]; s != nil {
		return s[addr%flashSector]
	}
	return 0xff
}

// flashAddress is the three bytes behind a command; those that lack are zero.
func flashAddress(args []byte) int {
	addr := 0
	for i := range 3 {
		addr <<= 8
		if i < len(args) {
			addr |= int(args[i])
		}
	}
	return addr % flashSize
}
