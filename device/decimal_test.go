package device

import (
	"math"
	"math/big"
	"testing"
)

func TestParseDecimal(t *testing.T) {
	for text, want := range map[string]Decimal{
		"0": {}, "-12": {-12, 0}, "0.598550415": {598550415, -9}, "+3.": {3, 0}, ".5": {5, -1}, "-0.000001": {-1, -6},
		"9223372036854775807":    {922337203685477581, 1},
		"123456789012345678.9":   {123456789012345679, 0},
		"0.12345678901234567895": {123456789012345679, -18},
		"18446744073709551615":   {184467440737095516, 2},
	} {
		if got, ok := ParseDecimal(text); !ok || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "-", ".", "1e3", "0x10", "1 2", "--1", "1.2.3", "nan", "1000000000000000000000000000000000000000000000000000000000000000000000000000000000"} {
		if got, ok := ParseDecimal(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestDecimalArithmeticIsExact(t *testing.T) {
	for _, c := range []struct{ a, b, sum, product string }{
		{"21375", "0.001", "21375.001", "21.375"},
		{"-2048", "0.598550415", "-2047.401449585", "-1225.83124992"},
		{"0", "0.125", "0.125", "0"},
		{"32767", "-0.000152588", "32766.999847412", "-4.999850996"},
		{"2147483647", "0.000000001", "2147483647.000000001", "2.147483647"},
		{"0.3", "-0.3", "0", "-0.09"},
	} {
		a, _ := ParseDecimal(c.a)
		b, _ := ParseDecimal(c.b)
		for name, got := range map[string][2]Decimal{c.sum: {a.Add(b), b.Add(a)}, c.product: {a.Mul(b), b.Mul(a)}} {
			want, _ := ParseDecimal(name)
			for _, g := range got {
				if ratOf(g).Cmp(ratOf(want)) != 0 {
					t.Errorf("%s and %s give %v, want %s", c.a, c.b, g, name)
				}
			}
		}
	}
}

func TestDecimalOf(t *testing.T) {
	if d, ok := DecimalOf(-9.80665, -4); !ok || d != (Decimal{-98067, -4}) {
		t.Error(d, ok)
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), 1e300} {
		if d, ok := DecimalOf(f, 0); ok {
			t.Error(f, d)
		}
	}
	if f := (Decimal{21375, -3}).Float(); f != 21.375 {
		t.Error(f)
	}
}

func ratOf(d Decimal) *big.Rat {
	r := new(big.Rat).SetInt64(d.Value)
	ten := big.NewRat(10, 1)
	for range d.Exp {
		r.Mul(r, ten)
	}
	for range -d.Exp {
		r.Quo(r, ten)
	}
	return r
}

// Sums and products agree with exact arithmetic to 17 digits, and are exact where
// they fit.
func FuzzDecimal(f *testing.F) {
	f.Add(int64(21375), int8(-3), int64(1), int8(0))
	f.Add(int64(math.MaxInt64), int8(0), int64(math.MaxInt64), int8(1))
	f.Add(int64(math.MinInt64), int8(-9), int64(-1), int8(-9))
	f.Add(int64(-5e18), int8(0), int64(-5e18), int8(0))
	f.Fuzz(func(t *testing.T, a int64, ae int8, b int64, be int8) {
		x, y := Decimal{a, ae % 20}, Decimal{b, be % 20}
		for _, c := range []struct {
			got  Decimal
			want *big.Rat
		}{
			{x.Add(y), new(big.Rat).Add(ratOf(x), ratOf(y))},
			{x.Mul(y), new(big.Rat).Mul(ratOf(x), ratOf(y))},
		} {
			off := new(big.Rat).Sub(ratOf(c.got), c.want)
			// Half a unit of the last place that is kept, which stands for 17 digits or more.
			limit := new(big.Rat).Mul(new(big.Rat).Abs(c.want), big.NewRat(1, 1e16))
			parts := new(big.Rat).Add(new(big.Rat).Abs(ratOf(x)), new(big.Rat).Abs(ratOf(y)))
			if parts.Mul(parts, big.NewRat(1, 1e16)).Cmp(limit) > 0 && c.want.Cmp(new(big.Rat).Mul(ratOf(x), ratOf(y))) != 0 {
				limit = parts // a sum of what almost cancels
			}
			if off.Abs(off).Cmp(limit) > 0 {
				t.Errorf("%v and %v: %v, want %v", x, y, c.got, c.want.FloatString(20))
			}
		}
	})
}
