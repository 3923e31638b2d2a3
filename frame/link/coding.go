package link

import "boardhand/frame/link/codec"

// codecID is the coding of messages this package speaks besides none.
const codecID = codec.ID

// encoder and decoder are the two directions of a coding, with their memory of
// earlier messages.
type encoder interface {
	Encode(dst, msg []byte) []byte
	Reset()
}

type decoder interface {
	Decode(dst, coded []byte, max int) ([]byte, error)
	Reset()
}

// plain codes nothing.
type plain struct{}

func (plain) Encode(dst, msg []byte) []byte { return append(dst, msg...) }
func (plain) Reset()                        {}

func (plain) Decode(dst, coded []byte, max int) ([]byte, error) {
	if len(coded) > max {
		return dst, &TooLongError{Size: len(coded), Max: max}
	}
	return append(dst, coded...), nil
}

// encoders are those of the short and the long stream; of a session that codes
// nothing both are plain.
type encoders struct {
	short, long encoder
	shortCodec  *codec.Encoder
	longOne     *storing
}

type decoders struct {
	short, long         decoder
	shortCodec, longOne *codec.Decoder
}

func newEncoders(baud int) encoders {
	from := 0
	if baud > 0 && baud <= codingBaud {
		from = min(storeFrom, int(storeTimesBaud/int64(baud)))
	}
	return encoders{shortCodec: codec.NewEncoder(shortHistory), longOne: &storing{codec.NewEncoder(longHistory), from}}
}

// storing is the encoder of the long stream: messages that the smallest board takes
// longer to code than the line to carry, or than the kernel's buffer holds what comes
// meanwhile, go as they are.
type storing struct {
	*codec.Encoder
	from int // bytes of such a message
}

func (s *storing) Encode(dst, msg []byte) []byte {
	if len(msg) >= s.from {
		return s.Store(dst, msg)
	}
	return s.Encoder.Encode(dst, msg)
}

func newDecoders() decoders {
	return decoders{shortCodec: codec.NewDecoder(shortHistory), longOne: codec.NewDecoder(longHistory)}
}

func (c *encoders) begin(id uint8) {
	c.short, c.long = plain{}, plain{}
	if id == codecID {
		c.short, c.long = c.shortCodec, c.longOne
	}
	c.short.Reset()
	c.long.Reset()
}

func (c *decoders) begin(id uint8) {
	c.short, c.long = plain{}, plain{}
	if id == codecID {
		c.short, c.long = c.shortCodec, c.longOne
	}
	c.short.Reset()
	c.long.Reset()
}
