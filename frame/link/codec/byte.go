package codec

// A byte alone is coded by up to four guesses, each with a bit that tells whether it
// is wrong, and spelt if all are.

// The sets of general and guessing: how the thread stands.
const (
	secondSet = 44 // behind 11 ranks of right, 4 ways that the guesses agree: 8 counts of wrong, for the table alone and after the thread
	countSet  = 60 // 2 kinds of digit, thread and table
	sets      = 64
)

const none = 256 // no byte

// byte codes a byte, c when it is known.
func (m *model) byte(c byte) byte {
	place := m.seek()
	// What the thread has, one more if that is a digit that counts, and the same
	// for the place.
	guesses := [4]uint32{none, none, none, none}
	var kinds, agree uint32
	if m.thread != 0 {
		guesses[0] = uint32(m.at(m.thread))
		kind := m.digit(m.thread)
		guesses[1] = counted(guesses[0], kind)
		kinds = kind * 4
	}
	if place != 0 {
		guesses[2] = uint32(m.at(place))
		if guesses[2] == '\\' && guesses[0] != '\\' {
			guesses[2] = uint32(m.at(place + 1))
		}
		kind := m.digit(place)
		guesses[3] = counted(guesses[2], kind)
		kinds += kind
		switch guesses[2] {
		case guesses[0]:
			agree = 2
		case guesses[1]:
			agree = 3
		default:
			agree = 1
		}
	}
	tried := uint32(0)
	if m.missed {
		m.missed = false
		m.mark(m.shape * 64)
		tried++
	} else if guesses[0] != none {
		if m.isWrong(m.shape*64, agree*4, guesses[0], m.rank()*4+agree, c) == 0 {
			m.follow(byte(guesses[0]), guesses[0])
			return byte(guesses[0])
		}
		tried++
	}
	for i := uint32(1); i < 4; i++ {
		g := guesses[i]
		if g == none || g == guesses[0] || i > 1 && g == guesses[1] || i > 2 && g == guesses[2] {
			continue
		}
		var set uint32
		switch i {
		case 1:
			set = countSet - 1 + kinds>>2
		case 2:
			set = secondSet + min(tried, 1)*8 + min(m.wrong, 7)
		case 3:
			set = countSet + 1 + kinds&3
		}
		way := i*16 + agree*4 + min(tried, 2)
		if m.isWrong(m.shape*64+way+kinds*byKinds, way, g, set, c) == 0 {
			m.follow(byte(g), guesses[0])
			return byte(g)
		}
		tried++
	}
	c = m.letter(c, guesses[0], kinds>>2)
	m.follow(c, guesses[0])
	return c
}

// digit tells what a digit at a place is in its number: the last 1, one before
// nines only 2, any other 3; and 0 if there is no digit.
func (m *model) digit(place uint32) uint32 {
	if !isDigit(m.at(place)) {
		return 0
	}
	for i := uint32(1); ; i++ {
		switch c := m.at(place + i); {
		case !isDigit(c):
			return min(i, 2)
		case c != '9' || i > 8:
			return 3
		}
	}
}

// counted gives the digit after g, if one of this kind counts.
func counted(g, kind uint32) uint32 {
	switch {
	case kind != 1 && kind != 2:
		return none
	case g == '9':
		return '0'
	}
	return g + 1
}

func (m *model) rank() uint32 {
	switch {
	case m.right < 8:
		return m.right
	case m.right < 16:
		return 8
	case m.right < 32:
		return 9
	}
	return 10
}

// isWrong codes whether a guess g at the byte c is wrong: 1 if it is.
func (m *model) isWrong(key, way, g, set uint32, c byte) uint32 {
	bit := uint32(0)
	if uint32(c) != g {
		bit = 1
	}
	fresh := noGuess
	spot := &fresh
	general := &m.general[set*2]
	i, known := m.spot(key)
	if known {
		spot, general = &m.spots[i], &m.general[set*2+1]
	}
	bit = m.mixed(spot, general, &m.pairs[hashed(way<<16|g<<8|m.last, pairsBits)], &m.guessing[set], bit)
	if !known && bit == 1 {
		m.mark(key)
	}
	return bit
}

// spot finds the spot of a key.
func (m *model) spot(key uint32) (i uint32, known bool) {
	h := key * byPlace
	i, tag := h>>(32-spotsBits), byte(h>>8)|1
	if m.tags[i] == tag {
		return i, true
	}
	return i ^ 1, m.tags[i^1] == tag
}

// mark makes a spot where a guess was wrong, in place of one that taught less, or
// makes a known one new.
func (m *model) mark(key uint32) {
	h := key * byPlace
	i, tag := h>>(32-spotsBits), byte(h>>8)|1
	if m.tags[i^1] == tag || m.tags[i] != tag && m.spots[i]&15 > m.spots[i^1]&15 {
		i ^= 1
	}
	m.tags[i], m.spots[i] = tag, noGuess
	m.spots[i].learn(1)
	if m.spots[i^1]&15 > 0 {
		m.spots[i^1]--
	}
}

// letter codes a byte that no guess met, its highest bit first.
func (m *model) letter(c byte, foretold, kind uint32) byte {
	before := (m.last + 0x1000) * 0x3D4D51CB
	instead := (foretold + 1 + kind<<9) * byKinds
	set := min(m.wrong, 3)
	if foretold == none {
		set += 4
	}
	node := uint32(1)
	for i := 7; i >= 0; i-- {
		n := node * byPlace
		bit := m.mixed(
			&m.letters[hashed(n, lettersBits)],
			&m.letters[hashed(before+n, lettersBits)],
			&m.letters[hashed(instead+n, lettersBits)],
			&m.spelling[set], uint32(c)>>i&1)
		node = node<<1 | bit
	}
	return byte(node)
}
