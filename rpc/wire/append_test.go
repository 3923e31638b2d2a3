package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

func TestAppendStringEscapesWhatItMust(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
	}{
		{"empty", "", `""`},
		{"plain", "GPIO17", `"GPIO17"`},
		{"quote and backslash", `a"b\c`, `"a\"b\\c"`},
		{"slash", "a/b", `"a/b"`},
		{"short escapes", "\b\t\n\f\r", `"\b\t\n\f\r"`},
		{"other control bytes", "\x00\x01\x0b\x1b\x1f", `"\u0000\u0001\u000b\u001b\u001f"`},
		{"delete", "\x7f", "\"\x7f\""},
		{"nothing for HTML", "<a href='x'>&</a>", `"<a href='x'>&</a>"`},
		{"line separators", "\u2028\u2029", "\"\u2028\u2029\""},
		{"two to four bytes", "°C € 😀", `"°C € 😀"`},
		{"a byte that is no UTF-8", "a\xffb", "\"a\ufffdb\""},
		{"each such byte", "\xe2\x82\xff\xc0", "\"\ufffd\ufffd\ufffd\ufffd\""},
		{"a surrogate in UTF-8", "\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\""},
		{"cut short at the end", "ab\xe2\x82", "\"ab\ufffd\ufffd\""},
		{"U+FFFD itself", "\ufffd", "\"\ufffd\""},
		{"words", strings.Repeat("0123456789", 5), `"` + strings.Repeat("0123456789", 5) + `"`},
		{"quotes in words", `01234567"89abcdef"g"`, `"01234567\"89abcdef\"g\""`},
	} {
		if got := string(AppendString([]byte("x"), tt.in)); got != "x"+tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, "x"+tt.want)
		}
		if got := string(AppendBytes([]byte("x"), []byte(tt.in))); got != "x"+tt.want {
			t.Errorf("%s: of bytes: %s, want %s", tt.name, got, "x"+tt.want)
		}
	}
}

// A tool's answer is escaped into the very buffer that it stands in.
func TestAppendEscapedTakesAPartOfItsTarget(t *testing.T) {
	want := `{"a":"ä\\n","b":[12,34]}{\"a\":\"ä\\\\n\",\"b\":[12,34]}`
	for _, room := range []int{0, 5, 9, 100} {
		dst := make([]byte, 0, 26+room)
		dst = append(dst, `{"a":"ä\\n","b":[12,34]}`...)
		if got := string(AppendEscaped(dst, dst)); got != want {
			t.Errorf("with room for %d: %s, want %s", room, got, want)
		}
	}
}

// A byte of the array beyond the room that dst was given stays as it is.
func TestAppendEscapedKeepsToItsRoom(t *testing.T) {
	for n := range 40 {
		s := []byte(strings.Repeat(`0123456"`, 5)[:n])
		array := []byte(strings.Repeat("#", 100))
		AppendEscaped(array[:3:3+n], s)
		if got, want := string(array[3+n:]), strings.Repeat("#", 97-n); got != want {
			t.Fatalf("%d bytes: wrote beyond the capacity: %q", n, got)
		}
	}
}

func TestAppendDecimalIsExact(t *testing.T) {
	for _, tt := range []struct {
		value int64
		exp   int8
		want  string
	}{
		{21375, -3, "21.375"},
		{5, -3, "0.005"},
		{50, -3, "0.05"},
		{500, -3, "0.5"},
		{5000, -3, "5"},
		{12, 3, "12000"},
		{21000, -3, "21"},
		{21500, -3, "21.5"},
		{-21375, -3, "-21.375"},
		{-5, -3, "-0.005"},
		{-1, 0, "-1"},
		{0, 0, "0"},
		{0, -3, "0"},
		{0, 127, "0"},
		{7, 0, "7"},
		{100, 0, "100"},
		{123, -3, "0.123"},
		{-123, -2, "-1.23"},
		{math.MaxInt64, 0, "9223372036854775807"},
		{math.MinInt64, 0, "-9223372036854775808"},
		{math.MinInt64, -3, "-9223372036854775.808"},
		{math.MinInt64, -19, "-0.9223372036854775808"},
		{math.MinInt64, 2, "-922337203685477580800"},
		{1, 127, "1" + strings.Repeat("0", 127)},
		{1, -128, "0." + strings.Repeat("0", 127) + "1"},
	} {
		if got := string(AppendDecimal([]byte("x"), tt.value, tt.exp)); got != "x"+tt.want {
			t.Errorf("%d e%d: %s, want %s", tt.value, tt.exp, got, "x"+tt.want)
		}
	}
}

func TestAppendFloatIsShortest(t *testing.T) {
	for _, tt := range []struct {
		v    float64
		want string
	}{
		{0, "0"},
		{math.Copysign(0, -1), "-0"},
		{1, "1"},
		{-2.5, "-2.5"},
		{0.1, "0.1"},
		{101.325, "101.325"},
		{1e6, "1000000"},
		{1e20, "100000000000000000000"},
		{1e21, "1e+21"},
		{1e-6, "0.000001"},
		{1e-7, "1e-07"},
		{math.MaxFloat64, "1.7976931348623157e+308"},
		{math.SmallestNonzeroFloat64, "5e-324"},
		{math.NaN(), "null"},
		{math.Inf(1), "null"},
		{math.Inf(-1), "null"},
	} {
		got := string(AppendFloat([]byte("x"), tt.v))
		if got != "x"+tt.want {
			t.Errorf("%g: %s, want %s", tt.v, got, "x"+tt.want)
		}
		if err := Scan([]byte(got[1:]), DefaultLimits); err != nil {
			t.Errorf("%g: %v", tt.v, err)
		}
	}
}

func TestAppendOthers(t *testing.T) {
	for _, tt := range []struct {
		name string
		got  []byte
		want string
	}{
		{"int", AppendInt(nil, math.MinInt64), "-9223372036854775808"},
		{"uint", AppendUint(nil, math.MaxUint64), "18446744073709551615"},
		{"true", AppendBool(nil, true), "true"},
		{"false", AppendBool(nil, false), "false"},
		{"hex of nothing", AppendHex(nil, nil), `""`},
		{"hex of one", AppendHex(nil, []byte{0x0a}), `"0a"`},
		{"hex", AppendHex(nil, []byte{0x0a, 0xff, 0x00}), `"0a ff 00"`},
		{"address 0", AppendAddr(nil, 0), `"0x00"`},
		{"address of one digit", AppendAddr(nil, 0x8), `"0x08"`},
		{"address of two", AppendAddr(nil, 0x76), `"0x76"`},
		{"address of three", AppendAddr(nil, 0x3ff), `"0x3ff"`},
		{"address of four", AppendAddr(nil, 0xffff), `"0xffff"`},
		{"key at the start", AppendKey(nil, "a"), `"a":`},
		{"first key", AppendKey([]byte("{"), "a"), `{"a":`},
		{"next key", AppendKey([]byte(`{"a":1`), "b"), `{"a":1,"b":`},
		{"key after a brace in a string", AppendKey([]byte(`{"a":"{"`), "b"), `{"a":"{","b":`},
		{"key after an empty object", AppendKey([]byte(`{"a":{}`), "b"), `{"a":{},"b":`},
		{"separator at the start", AppendSep(nil), ""},
		{"first element", AppendSep([]byte("[")), "["},
		{"next element", AppendSep([]byte("[1")), "[1,"},
		{"element after an empty array", AppendSep([]byte("[[]")), "[[],"},
		{"element after a bracket in a string", AppendSep([]byte(`["["`)), `["[",`},
	} {
		if string(tt.got) != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, tt.want)
		}
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	res := []byte(result)
	want := AppendEscaped(nil, res)
	exact := make([]byte, 0, len(want))
	if n := testing.AllocsPerRun(100, func() { AppendEscaped(exact, res) }); n != 0 {
		t.Errorf("AppendEscaped with just enough room: %v allocations", n)
	}
	room := make([]byte, 0, 4096)
	if n := testing.AllocsPerRun(100, func() {
		dst := append(room, '{')
		dst = AppendString(AppendKey(dst, "s"), "°C \"\x00\xff")
		dst = AppendBytes(AppendKey(dst, "b"), res)
		dst = AppendInt(AppendKey(dst, "i"), math.MinInt64)
		dst = AppendUint(AppendKey(dst, "u"), math.MaxUint64)
		dst = AppendFloat(AppendKey(dst, "f"), 101.325)
		dst = AppendBool(AppendKey(dst, "t"), true)
		dst = AppendDecimal(AppendKey(dst, "d"), math.MinInt64, -128)
		dst = AppendHex(AppendKey(dst, "h"), res)
		dst = append(AppendKey(dst, "a"), '[')
		dst = append(AppendAddr(AppendSep(dst), 0x76), ']', '}')
		if Scan(dst, DefaultLimits) != nil {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func Example() {
	found := []uint16{0x76, 0x50}
	dst := append([]byte(nil), '{')
	dst = AppendInt(AppendKey(dst, "bus"), 1)
	dst = append(AppendKey(dst, "found"), '[')
	for _, addr := range found {
		dst = AppendAddr(AppendSep(dst), addr)
	}
	dst = append(dst, ']', '}')
	fmt.Println(string(dst))
	// Output: {"bus":1,"found":["0x76","0x50"]}
}

func ExampleAppendEscaped() {
	dst := append([]byte(nil), `{"text":"`...)
	dst = AppendEscaped(dst, []byte(`{"level":1}`))
	dst = append(dst, `"}`...)
	fmt.Println(string(dst))
	// Output: {"text":"{\"level\":1}"}
}

func ExampleAppendDecimal() {
	fmt.Println(string(AppendDecimal(nil, 21375, -3)))
	fmt.Println(string(AppendDecimal(nil, 21000, -3)))
	// Output:
	// 21.375
	// 21
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{
		"", "GPIO17", result, "\"\\/\b\f\n\r\t\x00\x1f\x7f", "°C € 😀\u2028", "\xff\xc0\xaf\xe2\x82", "\xed\xa0\x80", "0123456\"01234567\xe2", "<&>",
	} {
		f.Add([]byte(s), byte(len(s)))
	}
	f.Fuzz(func(t *testing.T, s []byte, room byte) {
		dst := make([]byte, 0, room)
		got := AppendString(dst, string(s))
		if err := Scan(got, DefaultLimits); err != nil {
			t.Fatalf("%q gives %s: %v", s, got, err)
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil {
			t.Fatalf("%q gives %s: %v", s, got, err)
		}
		if want := string([]rune(string(s))); back != want {
			t.Fatalf("%q gives %s, which reads %q", s, got, back)
		}
		if of := AppendBytes(nil, s); string(of) != string(got) {
			t.Fatalf("%q gives %s, as bytes %s", s, got, of)
		}
		if of := AppendEscaped(nil, s); string(of) != string(got[1:len(got)-1]) {
			t.Fatalf("%q gives %s, escaped %s", s, got, of)
		}
	})
}

func FuzzAppendNumber(f *testing.F) {
	f.Add(int64(21375), int8(-3), 101.325)
	f.Add(int64(math.MinInt64), int8(-128), math.Inf(1))
	f.Add(int64(0), int8(127), 1e21)
	f.Fuzz(func(t *testing.T, value int64, exp int8, v float64) {
		got := string(AppendDecimal(nil, value, exp))
		if err := Scan([]byte(got), DefaultLimits); err != nil {
			t.Fatalf("%d e%d gives %s: %v", value, exp, got, err)
		}
		want, _ := new(big.Rat).SetString(strconv.FormatInt(value, 10) + "e" + strconv.Itoa(int(exp)))
		if r, ok := new(big.Rat).SetString(got); !ok || r.Cmp(want) != 0 {
			t.Fatalf("%d e%d gives %s", value, exp, got)
		}
		if strings.Contains(got, ".") && strings.HasSuffix(got, "0") {
			t.Fatalf("%d e%d gives %s, with zeros at its end", value, exp, got)
		}
		got = string(AppendFloat(nil, v))
		if err := Scan([]byte(got), DefaultLimits); err != nil {
			t.Fatalf("%g gives %s: %v", v, got, err)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			if got != "null" {
				t.Fatalf("%g gives %s", v, got)
			}
		} else if back, err := strconv.ParseFloat(got, 64); err != nil || back != v {
			t.Fatalf("%g gives %s", v, got)
		}
	})
}
