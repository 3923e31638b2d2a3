package codec

// A work is what the coder does with each bit it is given.
type work uint8

const (
	learn   work = iota // nothing: only the models learn
	encode              // write it
	recover             // read it
)

// coder is a binary range coder over 32 bits. Encoding, the message so far is the
// interval [low, low+size) behind the bytes in out; decoding, code is the coded
// number less the interval's low end.
type coder struct {
	work work
	low  uint32
	size uint32
	code uint32
	out  []byte // encoding: what is written, from start
	from int
	in   []byte // decoding: what is still to be read
	past int    // decoding: zeros supplied behind the end
}

// whole leaves out the numbers that begin with the bytes stored and learnt.
const whole = stored << 24

func (c *coder) encodeTo(dst []byte) {
	c.work, c.low, c.size = encode, 0, whole
	c.out, c.from = dst, len(dst)
}

func (c *coder) decodeFrom(in []byte) {
	c.work, c.code, c.size = recover, 0, whole
	c.in, c.past = in, 0
	for range 4 {
		c.code = c.code<<8 | c.read()
	}
}

// bit codes a bit that is 1 with probability p/4096, p from 1 to 4095. Decoding,
// the bit given is ignored.
func (c *coder) bit(p uint32, bit uint32) uint32 {
	if c.work == learn {
		return bit
	}
	part := c.size >> 12 * p
	if c.work == recover {
		bit = 0
		if c.code < part {
			bit = 1
		}
	}
	if bit == 1 {
		c.size = part
	} else {
		c.size -= part
		c.code -= part
		if c.low += part; c.low < part && c.work == encode {
			c.carry()
		}
	}
	for c.size < 1<<24 {
		c.size <<= 8
		if c.work == encode {
			c.out = append(c.out, byte(c.low>>24))
			c.low <<= 8
		} else {
			c.code = c.code<<8 | c.read()
		}
	}
	return bit
}

// carry adds one to the number that out ends with. The number is below one, so
// the carry does not leave this message's bytes.
func (c *coder) carry() {
	for i := len(c.out) - 1; ; i-- {
		if c.out[i]++; c.out[i] != 0 {
			return
		}
	}
}

func (c *coder) read() uint32 {
	if len(c.in) == 0 {
		c.past++
		return 0
	}
	b := c.in[0]
	c.in = c.in[1:]
	return uint32(b)
}

// finish writes the number of the interval that has the most zeros at its end, less
// these zeros: the decoder supplies them.
func (c *coder) finish() []byte {
	for zeros := 32; ; zeros-- {
		below := uint64(1)<<zeros - 1
		n := (uint64(c.low) + below) &^ below
		if n-uint64(c.low) < uint64(c.size) {
			if n>>32 != 0 {
				c.carry()
			}
			c.out = append(c.out, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
			break
		}
	}
	end := len(c.out)
	for end > c.from+1 && c.out[end-1] == 0 && len(c.out)-end < maxZeros {
		end--
	}
	out := c.out[:end]
	c.out = nil
	return out
}
