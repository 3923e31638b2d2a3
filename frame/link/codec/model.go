package codec

import "bytes"

// The numbers that both ends must share: to change one makes a new ID.
const (
	placesBits  = 12 // of the tables of places
	spotsBits   = 10
	pairsBits   = 10
	lettersBits = 12
	passesBits  = 8

	behind = 32 // bytes compared before a place
	ahead  = 24 // bytes looked at from a place

	enough  = 4  // bytes in common for a new thread where there was none
	better  = 12 // and for one in place of a thread that is not settled
	settled = 8  // bytes that a thread was right for, so that it is kept, and runs are coded
	lost    = 4  // a thread that is wrong more often in a row ends

	shortest = 2    // bytes of a run
	longest  = 255  // and at most
	doubtful = 1024 // a run ends before a spot where the thread is wrong with a probability above this

	term = '\n' // what stands behind each message in the text

	byPlace = 0x9E3779B1 // factors of the hashes
	byKinds = 0x01234567
	byFive  = 0x85A62380 // 25 bits of it are left of a byte's place: five bytes count
	byShape = 0xF0B4C470 // eight
	byMany  = 0x785A6238 // eleven
)

// model is what both ends know: the text so far, and what came of each way to
// foretell it. It learns from the text alone, so both ends have the same.
// Places in the text are counted from 1, modulo 1<<32; 0 is no place.
type model struct {
	coder
	history
	ready bool

	tags    [1 << spotsBits]byte
	spots   [1 << spotsBits]guess   // by shape, where a guess was wrong once
	pairs   [1 << pairsBits]guess   // by the byte guessed and the one before
	general [2 * sets]guess         // by how the thread stands
	letters [1 << lettersBits]guess // bits of bytes that nothing foretold
	passes  [1 << passesBits]guess  // by shape, whether a run fails
	lengths [2 * 9]guess            // the same, by the run's length
	stops   [6]guess                // where it fails
	ending  guess

	guessing [sets]mixer
	spelling [8]mixer
	passing  mixer
}

// prime forgets everything but the dictionary.
func (m *model) prime() {
	m.forget()
	clear(m.tags[:])
	for _, table := range [][]guess{m.spots[:], m.pairs[:], m.general[:], m.letters[:], m.passes[:], m.lengths[:], m.stops[:]} {
		fill(table, noGuess)
	}
	m.ending = noGuess
	fill(m.guessing[:], mixer{26000, 26000, 26000})
	fill(m.spelling[:], mixer{24000, 24000, 24000})
	m.passing = mixer{26000, 26000, 26000}
	m.ready = true
	m.work = learn
	for rest := dictionary; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte{term})
		m.message(line)
		rest = after
	}
}

func fill[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// message codes a message that is known. It stops writing when what it wrote is
// longer than msg.
func (m *model) message(msg []byte) {
	m.begin()
	for rest := msg; ; {
		if n := m.run(rest); n > 0 {
			rest = rest[n:]
			continue
		}
		if len(rest) == 0 {
			break
		}
		c := rest[0]
		m.byte(c)
		if c == term {
			m.ends(0)
		}
		rest = rest[1:]
		if m.work == encode && len(m.out)-m.from > len(msg) {
			m.work = learn
		}
	}
	m.byte(term)
	m.ends(1)
}

// ends codes whether the term just coded is the message's end.
func (m *model) ends(bit uint32) uint32 { return m.plainly(&m.ending, bit) }

// hashed gives the slot for x in a table of 1<<bits.
func hashed(x uint32, bits int) uint32 { return x * byPlace >> (32 - bits) }
