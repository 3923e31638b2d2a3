package codec

import (
	_ "embed"
	"errors"
	"fmt"
)

// ID names this coding and its dictionary. Two ends with the same ID understand
// each other.
const ID = 1

// Window is the window that is best for the memory it takes: 46 KiB an end in all.
const Window = 1 << 14

const (
	learnt   = 0xFF // the first byte of a message that coding would make longer
	stored   = 0xFE // and of one by Store
	maxZeros = 8    // zeros an encoder leaves away at a message's end
)

//go:embed dictionary.txt
var dictionary []byte

// Encoder codes the messages of one stream, in their order.
type Encoder struct{ model }

// NewEncoder makes an encoder that remembers the last window bytes, a power of two
// from 8 KiB to 32 KiB, as its decoder must.
func NewEncoder(window int) *Encoder {
	e := &Encoder{}
	e.make(window)
	return e
}

func (m *model) make(window int) {
	if window < 1<<13 || window > 1<<15 || window&(window-1) != 0 {
		panic(fmt.Sprintf("codec: a window of %d bytes; it must be 8192, 16384 or 32768", window))
	}
	m.text = make([]byte, window)
}

// Reset forgets all messages. The decoder must do the same.
func (e *Encoder) Reset() { e.ready = false }

// Encode appends msg in coded form to dst: between 1 and len(msg)+1 bytes. The
// decoder must get exactly these, in one piece and in the order of the calls.
// Neither slice is kept.
func (e *Encoder) Encode(dst, msg []byte) []byte {
	if !e.ready {
		e.prime()
	}
	from := len(dst)
	e.encodeTo(dst)
	e.message(msg)
	if e.work == encode {
		if dst = e.finish(); len(dst)-from <= len(msg)+1 {
			return dst
		}
	} else {
		dst, e.out = e.out, nil
	}
	return append(append(dst[:from], learnt), msg...)
}

// Store appends a byte and msg as it is to dst, with a hundredth of Encode's work:
// for large messages where the line is faster than the coding. What follows may be
// called for by what msg holds all the same. Else it is as Encode.
func (e *Encoder) Store(dst, msg []byte) []byte {
	if !e.ready {
		e.prime()
	}
	e.store(msg)
	return append(append(dst, stored), msg...)
}

// Decoder decodes the messages of one stream.
type Decoder struct{ model }

// NewDecoder makes the decoder for an encoder of the same window.
func NewDecoder(window int) *Decoder {
	d := &Decoder{}
	d.make(window)
	return d
}

// Reset forgets all messages. The encoder must do the same.
func (d *Decoder) Reset() { d.ready = false }

var errCorrupt = errors.New("coded message is corrupt or not the next of its stream; reset both ends")

// Decode appends the message coded to dst, if it has at most max bytes. After an
// error what it appended is no message, and the decoder must be reset, as its
// encoder. Neither slice is kept.
func (d *Decoder) Decode(dst, coded []byte, max int) ([]byte, error) {
	if len(coded) == 0 {
		return dst, errCorrupt
	}
	if !d.ready {
		d.prime()
	}
	if coded[0] >= stored {
		msg := coded[1:]
		if len(msg) > max {
			return dst, tooLong(len(msg), max)
		}
		if coded[0] == stored {
			d.store(msg)
		} else {
			d.work = learn
			d.message(msg)
		}
		return append(dst, msg...), nil
	}
	d.decodeFrom(coded)
	d.begin()
	for from := len(dst); ; {
		if n := d.run(nil); n > 0 {
			if len(dst)-from+n > max {
				return dst, tooLong(len(dst)-from+n, max)
			}
			for i := uint32(n); i > 0; i-- {
				dst = append(dst, d.at(d.pos-i))
			}
			continue
		}
		c := d.byte(0)
		if c == term && d.ends(0) == 1 {
			break
		}
		if d.past > maxZeros {
			return dst, errCorrupt
		}
		if len(dst)-from == max {
			return dst, tooLong(max+1, max)
		}
		dst = append(dst, c)
	}
	if d.past > maxZeros || len(d.in) > 0 {
		return dst, errCorrupt
	}
	return dst, nil
}

func tooLong(size, max int) error {
	return fmt.Errorf("coded message holds %d bytes or more, of %d allowed; reset both ends, or raise the limit", size, max)
}
