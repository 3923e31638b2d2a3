package device

import (
	"math"
	"math/bits"
)

// Decimal is an exact decimal number, Value * 10^Exp: 21375 and -3 are 21.375.
type Decimal struct {
	Value int64
	Exp   int8
}

// maxExp bounds the exponents that arithmetic gives, on either side of zero.
const maxExp = 60

// ParseDecimal reads a number as the kernel writes it, "-12", "0.598550415" or
// "+3.". Digits that 18 do not hold are rounded off. It is false for anything else.
func ParseDecimal(s string) (Decimal, bool) {
	negative := false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		negative, s = s[0] == '-', s[1:]
	}
	var d Decimal
	point, digits, round := false, 0, -1
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && !point:
			point = true
			continue
		case c < '0' || c > '9':
			return Decimal{}, false
		}
		digits++
		switch {
		case d.Value < 1e17:
			d.Value = d.Value*10 + int64(c-'0')
			if point {
				d.Exp--
			}
		default: // no room: this digit is cut off
			if round < 0 {
				round = int(c - '0')
			}
			if !point {
				d.Exp++
			}
		}
		if d.Exp < -maxExp || d.Exp > maxExp {
			return Decimal{}, false
		}
	}
	if digits == 0 {
		return Decimal{}, false
	}
	if round >= 5 {
		d.Value++
	}
	if negative {
		d.Value = -d.Value
	}
	return d, true
}

// Add is d + e, exact where 63 bits hold it, else rounded to what they hold.
func (d Decimal) Add(e Decimal) Decimal {
	switch {
	case d.Value == 0:
		return e
	case e.Value == 0:
		return d
	}
	if d.Exp < e.Exp {
		d, e = e, d
	}
	// d has the larger exponent: it is brought to e's, as far as there is room.
	for d.Exp > e.Exp && abs(d.Value) < 1e17 {
		d.Value *= 10
		d.Exp--
	}
	e = e.at(d.Exp)
	sum := d.Value + e.Value
	if (d.Value < 0) == (e.Value < 0) && (sum < 0) != (d.Value < 0) {
		d, e = d.at(d.Exp+1), e.at(d.Exp+1)
		return Decimal{d.Value + e.Value, d.Exp}
	}
	return Decimal{sum, d.Exp}
}

// Mul is d * e, exact where 63 bits hold it, else rounded to what they hold.
func (d Decimal) Mul(e Decimal) Decimal {
	high, low := bits.Mul64(abs(d.Value), abs(e.Value))
	exp := int(d.Exp) + int(e.Exp)
	var rest uint64
	for high > 0 || low > math.MaxInt64-1 {
		var carry uint64
		high, carry = bits.Div64(0, high, 10)
		low, rest = bits.Div64(carry, low, 10)
		exp++
	}
	if rest >= 5 {
		low++
	}
	v := int64(low)
	if (d.Value < 0) != (e.Value < 0) {
		v = -v
	}
	switch {
	case v == 0:
		return Decimal{}
	case exp < -maxExp:
		return Decimal{v, 0}.shifted(exp)
	}
	return Decimal{v, int8(min(exp, maxExp))}
}

// shifted is d with the exponent exp, of which what lies below 10^-maxExp is lost.
func (d Decimal) shifted(exp int) Decimal {
	for ; exp < -maxExp && d.Value != 0; exp++ {
		d.Value /= 10
	}
	if d.Value == 0 {
		return Decimal{}
	}
	d.Exp = int8(exp)
	return d
}

// at is d with the exponent exp, which is not below d's own, rounded to the
// nearest, halves away from zero.
func (d Decimal) at(exp int8) Decimal {
	for d.Exp < exp && d.Value != 0 {
		rest := d.Value % 10
		d.Value /= 10
		d.Exp++
		if d.Exp == exp {
			switch {
			case rest >= 5:
				d.Value++
			case rest <= -5:
				d.Value--
			}
		}
	}
	d.Exp = exp
	return d
}

// Float is the float64 nearest to d.
func (d Decimal) Float() float64 {
	if d.Exp < 0 {
		return float64(d.Value) / math.Pow10(-int(d.Exp))
	}
	return float64(d.Value) * math.Pow10(int(d.Exp))
}

// DecimalOf is f rounded to a whole number of 10^exp; false where f is none that
// 63 bits hold.
func DecimalOf(f float64, exp int8) (Decimal, bool) {
	v := math.Round(f * math.Pow10(-int(exp)))
	if !(math.Abs(v) < 1<<63) {
		return Decimal{}, false
	}
	return Decimal{int64(v), exp}, true
}

func abs(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}
