package codec

// history is the text of the messages so far and of the dictionary, and the thread:
// the place in it whose continuation the next bytes are thought to repeat.
type history struct {
	text  []byte // ring
	pos   uint32 // where the next byte comes
	start uint32 // where its message began

	thread uint32
	right  uint32 // bytes it was right for, or that it has in common
	wrong  uint32 // times in a row it was wrong, or was none
	broken uint32 // where it was wrong first
	missed bool   // it is known to be wrong about the next byte

	last  uint32 // the last byte
	five  uint32 // hashes: of the last five bytes without backslashes,
	shape uint32 // of the last eight, all digits being the same,
	many  uint32 // and of the last eleven

	places [1 << placesBits]uint16 // where five last was, modulo 1<<16
	longer [1 << placesBits]uint16 // where many was
}

func (h *history) forget() {
	clear(h.text)
	clear(h.places[:])
	clear(h.longer[:])
	h.pos, h.start = 1, 1
	h.last, h.five, h.shape, h.many = 0, 0, 0, 0
}

// begin begins a message. Its thread is the last message.
func (h *history) begin() {
	h.thread, h.right, h.wrong, h.broken, h.missed = h.start, behind, 0, 0, false
	h.start = h.pos
}

// store takes a message that is not coded: its last bytes, if the ring holds no more.
func (h *history) store(msg []byte) {
	h.start = h.pos
	h.add(msg[max(len(msg)-len(h.text), 0):])
	h.add(end)
}

var end = []byte{term}

func (h *history) at(place uint32) byte { return h.text[place&uint32(len(h.text)-1)] }

// holds tells that the ring has what is around a place.
func (h *history) holds(place uint32) bool {
	return place != 0 && h.pos-place-1 < uint32(len(h.text))-behind-ahead
}

// place gives the place that a table's slot stands for, or 0.
func (h *history) place(slot uint16) uint32 {
	if slot == 0 {
		return 0
	}
	p := h.pos - uint32(uint16(h.pos)-slot)
	if !h.holds(p) {
		return 0
	}
	return p
}

// common counts the bytes before a place that are as the last ones, up to behind.
func (h *history) common(place uint32) uint32 {
	n := uint32(0)
	for n < behind && h.at(place-1-n) == h.at(h.pos-1-n) {
		n++
	}
	return n
}

// alike tells that the two bytes before a place are the last two, or as good as.
func (h *history) alike(place uint32) bool {
	if h.at(place-1) != h.at(h.pos-1) {
		return false
	}
	a, b := h.at(place-2), h.at(h.pos-2)
	return a == b || a == '\\' || b == '\\'
}

// seek looks the last bytes up in both tables, and enters them; it gives the place
// where the last five were, and may move the thread.
func (h *history) seek() uint32 {
	slot := &h.places[hashed(h.five, placesBits)]
	place := h.place(*slot)
	*slot = uint16(h.pos)
	if place != 0 && !h.alike(place) {
		place = 0
	}
	if !h.holds(h.thread) {
		h.thread, h.right = 0, 0
	}
	if h.thread == 0 && place != 0 {
		if n := h.common(place); n >= enough {
			h.thread, h.right = place, n
		}
	}
	slot = &h.longer[hashed(h.many, placesBits)]
	if h.right < settled {
		if p := h.place(*slot); p != 0 {
			if n := h.common(p); n >= better {
				h.thread, h.right = p, n
			}
		}
	}
	*slot = uint16(h.pos)
	return place
}

// repeat takes the next n bytes of the thread into the text, as right.
func (h *history) repeat(n uint32) {
	for n > 0 {
		// In pieces that the ring has without a break.
		from := h.thread & uint32(len(h.text)-1)
		k := min(n, uint32(len(h.text))-from)
		h.add(h.text[from : from+k])
		h.thread += k
		h.right += k
		h.wrong, h.broken = 0, 0
		n -= k
	}
}

// add takes bytes into the text, with their places. They may be the text's own, if
// they are not among the next len(p) of the ring.
func (h *history) add(p []byte) {
	text, mask := h.text, uint32(len(h.text)-1)
	pos, five, shape, many := h.pos, h.five, h.shape, h.many
	for _, c := range p {
		h.places[hashed(five, placesBits)] = uint16(pos)
		h.longer[hashed(many, placesBits)] = uint16(pos)
		text[pos&mask] = c
		pos++
		many = many*byMany + uint32(c) + 1
		if c != '\\' {
			five = five*byFive + uint32(c) + 1
		}
		shape = shaped(shape, c)
	}
	if len(p) > 0 {
		h.last = uint32(h.at(pos - 1))
	}
	h.pos, h.five, h.shape, h.many = pos, five, shape, many
}

// follow takes c into the text, and the thread along; foretold is what it had for c.
func (h *history) follow(c byte, foretold uint32) {
	switch {
	case h.thread == 0:
		h.wrong = min(h.wrong+1, 15)
	case uint32(c) == foretold:
		h.thread++
		h.right++
		h.wrong, h.broken = 0, 0
	default:
		if h.wrong++; h.broken == 0 || h.right > 0 {
			h.broken = h.thread
		}
		h.thread++
		h.right = 0
		if h.wrong > lost {
			h.thread, h.broken = 0, 0
		}
	}
	if h.broken != 0 && h.right == 0 && !isWord(c) {
		// Another word of another length: go on behind it.
		for p := h.broken; p != h.broken+ahead; p++ {
			if h.at(p) == c {
				h.thread, h.right, h.wrong = p+1, 1, 0
				break
			}
		}
	}
	h.take(c)
}

// take takes c into the text.
func (h *history) take(c byte) {
	h.text[h.pos&uint32(len(h.text)-1)] = c
	h.pos++
	h.last = uint32(c)
	h.many = h.many*byMany + h.last + 1
	if c != '\\' {
		h.five = h.five*byFive + h.last + 1
	}
	h.shape = shaped(h.shape, c)
}

// shaped is the shape with a byte more.
func shaped(shape uint32, c byte) uint32 {
	if isDigit(c) {
		c = '0'
	}
	return shape*byShape + uint32(c) + 1
}

func isDigit(c byte) bool { return c-'0' <= 9 }

func isWord(c byte) bool { return isDigit(c) || c|0x20-'a' < 26 }
