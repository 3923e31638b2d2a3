package device

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Form says how bytes are a number, and what the number means: it is multiplied by
// Scale, then Offset is added, and that is in Unit. The zero Form is of bytes that
// are no number.
type Form struct {
	Type   string  // one of FormTypes; empty: no number
	Little bool    // the low byte comes first; or the low word, where Words is true
	Words  bool    // words of 16 bits, each with its high byte first, as in Modbus
	Scale  Decimal // zero: 1
	Offset Decimal
	Unit   string // "°C", or empty
}

// FormTypes are the types of a number: unsigned, signed and IEEE 754, with the
// count of their bits.
var FormTypes = []string{"u8", "i8", "u16", "i16", "u24", "i24", "u32", "i32", "f32", "u64", "i64", "f64"}

// Size is how many bytes a number has; 0 where there is none.
func (f *Form) Size() int {
	if f.Type == "" {
		return 0
	}
	bits, _ := strconv.Atoi(f.Type[1:])
	return bits / 8
}

// bits is the bits of data, which has Size bytes.
func (f *Form) bits(data []byte) uint64 {
	var v uint64
	for i := range data {
		v = v<<8 | uint64(data[f.at(i, len(data))])
	}
	return v
}

// at is where byte i, the highest being 0, of a number of n bytes stands.
func (f *Form) at(i, n int) int {
	switch {
	case !f.Little:
		return i
	case f.Words:
		return (n - 1 - i) ^ 1
	}
	return n - 1 - i
}

// Decode is the number that data is, in Unit; false where data does not have Size
// bytes, or is no finite number.
func (f *Form) Decode(data []byte) (Decimal, bool) {
	if len(data) != f.Size() || len(data) == 0 {
		return Decimal{}, false
	}
	bits := f.bits(data)
	var d Decimal
	switch f.Type[0] {
	case 'u':
		if bits > math.MaxInt64 {
			d, _ = ParseDecimal(strconv.FormatUint(bits, 10))
		} else {
			d.Value = int64(bits)
		}
	case 'i':
		shift := 64 - 8*len(data)
		d.Value = int64(bits<<shift) >> shift
	case 'f':
		v := math.Float64frombits(bits)
		size := 64
		if len(data) == 4 {
			v, size = float64(math.Float32frombits(uint32(bits))), 32
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return d, false
		}
		ok := false
		if d, ok = ParseDecimal(strconv.FormatFloat(v, 'f', -1, size)); !ok {
			return d, false
		}
	}
	if f.Scale.Value != 0 {
		d = d.Mul(f.Scale)
	}
	return d.Add(f.Offset), true
}

// Encode is the bytes of the number v, which is in Unit. One that the type cannot
// hold is an error that says what it can.
func (f *Form) Encode(v float64) ([]byte, error) {
	size := f.Size()
	scale := 1.0
	if f.Scale.Value != 0 {
		scale = f.Scale.Float()
	}
	raw := (v - f.Offset.Float()) / scale
	var bits uint64
	switch {
	case size == 0:
		return nil, fmt.Errorf("it has no type; give bytes in hex")
	case f.Type == "f32":
		bits = uint64(math.Float32bits(float32(raw)))
	case f.Type == "f64":
		bits = math.Float64bits(raw)
	default:
		raw = math.Round(raw)
		low, high := 0.0, math.Ldexp(1, 8*size)-1
		if f.Type[0] == 'i' {
			low, high = -math.Ldexp(1, 8*size-1), math.Ldexp(1, 8*size-1)-1
		}
		if !(raw >= low && raw <= high) || size == 8 && raw >= math.Ldexp(1, 63) {
			return nil, fmt.Errorf("%v does not fit: as %s it is from %v to %v", v, f.Type, low*scale+f.Offset.Float(), high*scale+f.Offset.Float())
		}
		bits = uint64(int64(raw))
	}
	data := make([]byte, size)
	for i := range data {
		data[f.at(i, size)] = byte(bits >> (8 * (size - 1 - i)))
	}
	return data, nil
}

// CheckType says what of a form's type is wrong, or is nil.
func (f *Form) CheckType() error {
	if f.Type != "" && !slices.Contains(FormTypes, f.Type) {
		return fmt.Errorf("%.20q; %s are allowed", f.Type, strings.Join(FormTypes, ", "))
	}
	return nil
}
