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
	short, long         encoder
	shortCodec, longOne *codec.Encoder
}

type decoders struct {
	short, long         decoder
	shortCodec, longOne *codec.Decoder
}

func newEncoders() encoders {
	return encoders{shortCodec: codec.NewEncoder(shortHistory), longOne: codec.NewEncoder(longHistory)}
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
