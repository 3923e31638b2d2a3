package modbus

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Type is how registers are read as a value.
type Type uint8

// The types. Text has two characters in a register, the first in the high byte.
const (
	U16 Type = iota
	I16
	U32
	I32
	F32
	U64
	I64
	F64
	Text
)

// Types are the names of the types, in order.
var Types = []string{"u16", "i16", "u32", "i32", "f32", "u64", "i64", "f64", "text"}

// ParseType gives the type of a name.
func ParseType(name string) (Type, bool) {
	for i, n := range Types {
		if n == name {
			return Type(i), true
		}
	}
	return 0, false
}

func (t Type) String() string { return Types[t] }

// Registers is how many registers a value has; of Text one of as many as you like.
func (t Type) Registers() int {
	switch t {
	case U32, I32, F32:
		return 2
	case U64, I64, F64:
		return 4
	}
	return 1
}

// AppendValue appends the value in data, 2*t.Registers() bytes, in decimal: a
// float in the fewest digits that give it back, also "NaN" and "+Inf". little
// says that the word of the low bits comes first; the bytes of a word are always
// high first. Not for Text.
func AppendValue(dst, data []byte, t Type, little bool) []byte {
	var bits uint64
	n := t.Registers()
	for i := range n {
		at := i
		if little {
			at = n - 1 - i
		}
		bits = bits<<16 | uint64(binary.BigEndian.Uint16(data[2*at:]))
	}
	switch t {
	case I16:
		return strconv.AppendInt(dst, int64(int16(bits)), 10)
	case I32:
		return strconv.AppendInt(dst, int64(int32(bits)), 10)
	case I64:
		return strconv.AppendInt(dst, int64(bits), 10)
	case F32:
		return strconv.AppendFloat(dst, float64(math.Float32frombits(uint32(bits))), 'g', -1, 32)
	case F64:
		return strconv.AppendFloat(dst, math.Float64frombits(bits), 'g', -1, 64)
	}
	return strconv.AppendUint(dst, bits, 10)
}

// Encode appends the registers of a value as text has it: a decimal number, or
// 0x and hex digits of a whole one. Text is padded with a zero byte to a whole
// register. A number outside the type's range is an error; a fraction is rounded
// to the nearest float.
func Encode(dst []uint16, text string, t Type, little bool) ([]uint16, error) {
	if t == Text {
		for i := 0; i < len(text); i += 2 {
			word := uint16(text[i]) << 8
			if i+1 < len(text) {
				word |= uint16(text[i+1])
			}
			dst = append(dst, word)
		}
		return dst, nil
	}
	n := t.Registers()
	var bits uint64
	var err error
	switch t {
	case U16, U32, U64:
		digits, base := baseOf(text)
		bits, err = strconv.ParseUint(digits, base, 16*n)
	case I16, I32, I64:
		var v int64
		digits, base := baseOf(text)
		v, err = strconv.ParseInt(digits, base, 16*n)
		bits = uint64(v)
	default:
		var v float64
		v, err = strconv.ParseFloat(text, 16*n)
		bits = math.Float64bits(v)
		if t == F32 {
			bits = uint64(math.Float32bits(float32(v)))
		}
	}
	if err != nil {
		return dst, fmt.Errorf("%.64q is no %s; %s", text, t, t.allowed())
	}
	for i := range n {
		shift := 16 * (n - 1 - i)
		if little {
			shift = 16 * i
		}
		dst = append(dst, uint16(bits>>shift))
	}
	return dst, nil
}

// baseOf is the digits of a whole number, and their base. A leading zero means
// nothing: 010 is ten.
func baseOf(text string) (digits string, base int) {
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		return text[2:], 16
	}
	return text, 10
}

// allowed says what a number of the type is.
func (t Type) allowed() string {
	bits := 16 * t.Registers()
	switch t {
	case U16, U32, U64:
		return fmt.Sprintf("0 to %d are allowed", uint64(math.MaxUint64)>>(64-bits))
	case I16, I32, I64:
		most := int64(math.MaxInt64) >> (64 - bits)
		return fmt.Sprintf("%d to %d are allowed", -most-1, most)
	}
	return fmt.Sprintf("a number such as 21.5 with %d bits is allowed", bits)
}

// Bits reads count bits as they lie in data, the first in the lowest bit of the
// first byte, as digits 0 and 1.
func Bits(dst, data []byte, count int) []byte {
	for i := range count {
		dst = append(dst, '0'+data[i/8]>>(i%8)&1)
	}
	return dst
}

// ParseBits reads bits as a person writes them: 0 and 1, or false and true, off
// and on, with blanks or commas between words; digits may stand together.
func ParseBits(text string) ([]bool, error) {
	var bits []bool
	for _, word := range fields(text) {
		switch strings.ToLower(word) {
		case "on", "true":
			bits = append(bits, true)
			continue
		case "off", "false":
			bits = append(bits, false)
			continue
		}
		for i := range len(word) {
			if word[i] != '0' && word[i] != '1' {
				return nil, fmt.Errorf("%.64q is no bit; 0 and 1 are allowed, such as 1 or 1,0,1", word)
			}
			bits = append(bits, word[i] == '1')
		}
	}
	return bits, nil
}

// ParseValues reads values of a type, of Text the text itself, into registers.
func ParseValues(text string, t Type, little bool) ([]uint16, error) {
	if t == Text {
		return Encode(nil, text, t, little)
	}
	var registers []uint16
	for _, word := range fields(text) {
		var err error
		if registers, err = Encode(registers, word, t, little); err != nil {
			return nil, err
		}
		if len(registers) > MaxWriteRegisters {
			break // counted and refused by who sends them
		}
	}
	return registers, nil
}

func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' })
}
