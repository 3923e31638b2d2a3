package codec

import "math/bits"

// A run is the bytes that a settled thread foretells up to the message's end or to
// the next spot where it is doubtful. That all are right costs one bit, which is
// well foretold, and little work: that is what makes long messages with few changes
// cheap.

// run codes a run at the beginning of rest, the message's bytes to come, and gives
// how many bytes of it were right; 0 if there is no run, or its first byte is wrong.
// Decoding, rest is not looked at: the bytes are the last of the text.
func (m *model) run(rest []byte) int {
	if m.missed || m.right < settled || !m.holds(m.thread) {
		return 0
	}
	size := m.quiet()
	if size < shortest {
		return 0
	}
	n := uint32(0)
	if m.work != recover {
		for n < size && n < uint32(len(rest)) && rest[n] == m.at(m.thread+n) {
			n++
		}
	}
	if n = m.passed(size, n); n < size {
		m.missed = true
	}
	m.repeat(n)
	return int(n)
}

// quiet counts the bytes that the thread foretells without a doubt.
func (m *model) quiet() uint32 {
	text, mask := m.text, uint32(len(m.text)-1)
	shape := m.shape
	most := min(m.pos-m.thread, longest)
	for n := range most {
		c := text[(m.thread+n)&mask]
		if c == term {
			return n
		}
		if i, known := m.spot(shape * 64); known && m.spots[i]>>4 > doubtful {
			return n
		}
		shape = shaped(shape, c)
	}
	return most
}

// passed codes how many bytes of a run are right.
func (m *model) passed(size, n uint32) uint32 {
	fails := uint32(0)
	if n < size {
		fails = 1
	}
	length := uint32(bits.Len32(size))
	old := uint32(0)
	if m.right >= behind {
		old = 9
	}
	if m.mixed(&m.passes[hashed(m.shape, passesBits)], &m.lengths[length+old],
		&m.pairs[hashed(1<<20+m.last<<4+length, pairsBits)], &m.passing, fails) == 0 {
		return size
	}
	before := byte(m.last)
	for i := uint32(0); i < size-1; i++ {
		c := m.at(m.thread + i)
		here := uint32(0)
		if i == n {
			here = 1
		}
		if m.plainly(&m.stops[class(c, before)], here) == 1 {
			return i
		}
		before = c
	}
	return size - 1
}

// class tells what a byte is, and whether it begins something.
func class(c, before byte) uint32 {
	k := uint32(0)
	switch {
	case isDigit(c):
		k = 1
	case isWord(c):
		k = 2
	}
	if isWord(before) {
		k += 3
	}
	return k
}
