package modbus

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func must(t testing.TB, r Request, err error) Request {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The examples of APP 6.1 to 6.12.
func TestExamplesOfTheSpecification(t *testing.T) {
	read := func(k Kind, address uint16, count int) func() (Request, error) {
		return func() (Request, error) { return Read(k, address, count) }
	}
	for _, c := range []struct {
		request      func() (Request, error)
		pdu          string
		answer, data string
	}{
		{read(Coils, 19, 19), "01 0013 0013", "01 03 cd6b05", "cd6b05"},
		{read(DiscreteInputs, 196, 22), "02 00c4 0016", "02 03 acdb35", "acdb35"},
		{read(Holding, 107, 3), "03 006b 0003", "03 06 022b00000064", "022b00000064"},
		{read(Input, 8, 1), "04 0008 0001", "04 02 000a", "000a"},
		{func() (Request, error) { return WriteBits(172, []bool{true}) }, "05 00ac ff00", "05 00ac ff00", ""},
		{func() (Request, error) { return WriteRegisters(1, []uint16{3}) }, "06 0001 0003", "06 0001 0003", ""},
		{func() (Request, error) {
			bits, err := ParseBits("1011 0011 10")
			if err != nil {
				return Request{}, err
			}
			return WriteBits(19, bits)
		}, "0f 0013 000a 02 cd01", "0f 0013 000a", ""},
		{func() (Request, error) { return WriteRegisters(1, []uint16{10, 258}) }, "10 0001 0002 04 000a0102", "10 0001 0002", ""},
	} {
		r, err := c.request()
		if err != nil || !bytes.Equal(r.PDU, unhex(t, c.pdu)) {
			t.Errorf("request % x, want %s, %v", r.PDU, c.pdu, err)
			continue
		}
		if data, err := r.Decode(unhex(t, c.answer)); err != nil || !bytes.Equal(data, unhex(t, c.data)) {
			t.Errorf("%s gives % x, %v", c.answer, data, err)
		}
	}
}

func TestCRC(t *testing.T) {
	// The check value of CRC-16/MODBUS, and the example of SER 6.2.2.
	if got := CRC([]byte("123456789")); got != 0x4b37 {
		t.Errorf("%#x", got)
	}
	if got := CRC([]byte{2, 7}); got != 0x1241 {
		t.Errorf("%#x", got)
	}
}

func TestFrames(t *testing.T) {
	r, err := Read(Holding, 107, 3)
	must(t, r, err)
	if got := r.AppendRTU([]byte{9}, 17); !bytes.Equal(got, unhex(t, "09 11 03 006b 0003 7687")) {
		t.Errorf("RTU % x", got)
	}
	if got := r.AppendTCP([]byte{9}, 0x1501, 0xff); !bytes.Equal(got, unhex(t, "09 1501 0000 0006 ff 03 006b 0003")) {
		t.Errorf("TCP % x", got)
	}
	h, err := DecodeHeader(unhex(t, "1501 0000 0009 ff"))
	if want := (Header{0x1501, 0xff, 8}); h != want || err != nil {
		t.Errorf("%+v %v", h, err)
	}
	for _, bad := range []string{"1501 0001 0009 ff", "1501 0000 0001 ff", "1501 0000 00ff ff", "4854 5450 2f31 2e"} {
		if h, err := DecodeHeader(unhex(t, bad)); err == nil || err == ErrShort {
			t.Errorf("%s is taken for %+v, %v", bad, h, err)
		}
	}
	if _, err := DecodeHeader(make([]byte, 6)); err != ErrShort {
		t.Error(err)
	}
}

// rtu is a frame with its CRC.
func rtu(t testing.TB, s string) []byte {
	b := unhex(t, s)
	crc := CRC(b)
	return append(b, byte(crc), byte(crc>>8))
}

func TestWhatIsNoAnswerIsSaid(t *testing.T) {
	read, err := Read(Holding, 107, 3)
	must(t, read, err)
	write, err := WriteRegisters(1, []uint16{3})
	must(t, write, err)
	good := rtu(t, "11 03 06 022b00000064")
	for name, c := range map[string]struct {
		r     Request
		frame []byte
		want  error
	}{
		"right":                   {read, good, nil},
		"nothing":                 {read, nil, ErrShort},
		"one byte":                {read, good[:1], ErrShort},
		"two bytes":               {read, good[:2], ErrShort},
		"all but one byte":        {read, good[:len(good)-1], ErrShort},
		"a byte too many":         {read, append(bytes.Clone(good), 0), ErrLength},
		"another unit":            {read, rtu(t, "12 03 06 022b00000064"), ErrUnit},
		"another function":        {read, rtu(t, "11 04 06 022b00000064"), ErrFunction},
		"another count":           {read, rtu(t, "11 03 04 022b0000"), ErrLength},
		"the answer to another":   {read, rtu(t, "11 06 0001 0003"), ErrFunction},
		"another's refusal":       {read, rtu(t, "11 84 02"), ErrFunction},
		"a wrong CRC":             {read, append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1), ErrCRC},
		"a wrong byte":            {read, append(append(bytes.Clone(good[:5]), good[5]^0x10), good[6:]...), ErrCRC},
		"a refusal, wrong CRC":    {read, []byte{0x11, 0x83, 2, 0, 0}, ErrCRC},
		"our own request, echoed": {read, read.AppendRTU(nil, 0x11), ErrLength},
		"written":                 {write, rtu(t, "11 06 0001 0003"), nil},
		"another value":           {write, rtu(t, "11 06 0001 0004"), ErrEcho},
		"another address":         {write, rtu(t, "11 06 0002 0003"), ErrEcho},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.r.DecodeRTU(c.frame, 0x11); err != c.want {
				t.Errorf("% x: %v, want %v", c.frame, err, c.want)
			}
		})
	}
}

func TestRefusalsAreInWords(t *testing.T) {
	read, err := Read(Holding, 107, 3)
	must(t, read, err)
	for code, want := range map[byte]string{
		1:  "the device refused function 3: it does not have this function (exception 1)",
		2:  "it has not all of these addresses",
		3:  "the value or the count is not allowed (exception 3)",
		11: "does not answer (exception 11)",
		7:  "unknown exception (exception 7)",
		99: "unknown exception (exception 99)",
	} {
		_, err := read.DecodeRTU(rtu(t, fmt.Sprintf("11 83 %02x", code)), 0x11)
		var refused *Refusal
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestLimitsOfTheStandard(t *testing.T) {
	for want, f := range map[string]func() (Request, error){
		"":  func() (Request, error) { return Read(Holding, 65411, 125) },
		" ": func() (Request, error) { return WriteBits(0, make([]bool, 1968)) },
		"126 registers to read at once; 1 to 125 are allowed":                      func() (Request, error) { return Read(Input, 0, 126) },
		"2001 bits to read at once; 1 to 2000 are allowed":                         func() (Request, error) { return Read(Coils, 0, 2001) },
		"124 registers to write at once; 1 to 123 are allowed":                     func() (Request, error) { return WriteRegisters(0, make([]uint16, 124)) },
		"1969 bits to write at once; 1 to 1968 are allowed":                        func() (Request, error) { return WriteBits(0, make([]bool, 1969)) },
		"there are no bits to write; 1 to 1968 are allowed":                        func() (Request, error) { return WriteBits(0, nil) },
		"there are no registers to read; 1 to 125 are allowed":                     func() (Request, error) { return Read(Holding, 0, 0) },
		"2 registers from address 65535 on reach beyond 65535, the last address":   func() (Request, error) { return Read(Holding, 65535, 2) },
		"125 registers from address 65412 on reach beyond 65535, the last address": func() (Request, error) { return Read(Holding, 65412, 125) },
	} {
		r, err := f()
		switch {
		case strings.TrimSpace(want) == "":
			if err != nil || len(r.PDU) > MaxPDU {
				t.Errorf("%d bytes, %v", len(r.PDU), err)
			}
		case err == nil || err.Error() != want:
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestValues(t *testing.T) {
	for _, c := range []struct {
		typ    Type
		little bool
		text   string
		data   string
	}{
		{U16, false, "65535", "ffff"}, {I16, false, "-1", "ffff"}, {I16, false, "-32768", "8000"},
		{U32, false, "305419896", "12345678"}, {U32, true, "305419896", "56781234"},
		{I32, false, "-2", "fffffffe"}, {I32, true, "-2", "fffeffff"},
		{F32, false, "21.5", "41ac0000"}, {F32, true, "21.5", "000041ac"}, {F32, false, "0.1", "3dcccccd"},
		{F32, false, "NaN", "7fc00000"}, {F32, false, "-Inf", "ff800000"}, {F32, false, "1e-45", "00000001"},
		{U64, false, "18446744073709551615", "ffffffffffffffff"}, {U64, true, "1", "0001000000000000"},
		{I64, false, "-9223372036854775808", "8000000000000000"},
		{F64, false, "0.1", "3fb999999999999a"}, {F64, true, "0.1", "999a999999993fb9"},
	} {
		if got := string(AppendValue(nil, unhex(t, c.data), c.typ, c.little)); got != c.text {
			t.Errorf("%s %s is %s, want %s", c.typ, c.data, got, c.text)
		}
		registers, err := ParseValues(c.text, c.typ, c.little)
		got := ""
		for _, r := range registers {
			got += fmt.Sprintf("%04x", r)
		}
		// A NaN has many forms.
		if c.text != "NaN" && (got != c.data || err != nil) {
			t.Errorf("%s %s is %s, want %s, %v", c.typ, c.text, got, c.data, err)
		}
	}
	for text, want := range map[string][]uint16{"0x10, 010 7": {16, 10, 7}, " 1,2\n3": {1, 2, 3}, "": nil} {
		if got, err := ParseValues(text, U16, false); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	if got, _ := ParseValues("a, b", Text, false); fmt.Sprintf("%x", got) != "[612c 2062]" {
		t.Errorf("%x", got)
	}
	for want, c := range map[string]struct {
		typ  Type
		text string
	}{
		`"65536" is no u16; 0 to 65535 are allowed`:                                {U16, "65536"},
		`"-1" is no u16; 0 to 65535 are allowed`:                                   {U16, "-1"},
		`"32768" is no i16; -32768 to 32767 are allowed`:                           {I16, "32768"},
		`"4294967296" is no u32; 0 to 4294967295 are allowed`:                      {U32, "4294967296"},
		`"1.5" is no i64; -9223372036854775808 to 9223372036854775807 are allowed`: {I64, "1.5"},
		`"x" is no u64; 0 to 18446744073709551615 are allowed`:                     {U64, "x"},
		`"1e39" is no f32; a number such as 21.5 with 32 bits is allowed`:          {F32, "1e39"},
		`"1,5x" is no f64; a number such as 21.5 with 64 bits is allowed`:          {F64, "1,5x"},
	} {
		if c.typ == F64 {
			want = `"5x" is no f64; a number such as 21.5 with 64 bits is allowed`
		}
		if _, err := ParseValues(c.text, c.typ, false); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if len(Types) != int(Text)+1 {
		t.Error("a type has no name")
	}
}

func TestBits(t *testing.T) {
	if got := string(Bits(nil, []byte{0xcd, 0x6b, 0x05}, 19)); got != "1011001111010110101" {
		t.Error(got)
	}
	bits, err := ParseBits("on,OFF true false 10")
	if fmt.Sprint(bits) != "[true false true false true false]" || err != nil {
		t.Error(bits, err)
	}
	if _, err := ParseBits("1,2"); err == nil || err.Error() != `"2" is no bit; 0 and 1 are allowed, such as 1 or 1,0,1` {
		t.Error(err)
	}
}

// FuzzDecode: no bytes panic; what is taken for an answer is whole, from the
// unit, and to the function; its data has the length that was asked for.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"110306022b0000006475b6", "1183020000", "11", "", "110300", "1106000100039a9b", "001501000000061103006b0003"} {
		b, _ := hex.DecodeString(s)
		f.Add(b, byte(3), uint16(107), uint16(3))
		f.Add(rtu(f, s+"00"), byte(0), uint16(0), uint16(1))
	}
	f.Add(rtu(f, "11 03 06 022b00000064"), byte(2), uint16(107), uint16(3))
	f.Add(rtu(f, "11 06 0001 0003"), byte(5), uint16(1), uint16(3))
	f.Fuzz(func(t *testing.T, frame []byte, what byte, address, n uint16) {
		var r Request
		var err error
		switch what % 6 {
		case 4:
			r, err = WriteBits(address, make([]bool, n%2048))
		case 5:
			r, err = WriteRegisters(address, make([]uint16, n%256))
		default:
			r, err = Read(Kind(what%6), address, int(n))
		}
		if err != nil {
			return
		}
		if len(r.PDU) > MaxPDU {
			t.Fatalf("a request of %d bytes", len(r.PDU))
		}
		data, err := r.DecodeRTU(frame, 0x11)
		var refused *Refusal
		if err == nil || errors.As(err, &refused) {
			if !WholeRTU(frame) || frame[0] != 0x11 || frame[1]&^exception != r.PDU[0] || len(frame) > MaxRTU {
				t.Errorf("% x is taken for an answer", frame)
			}
		}
		if err == nil && r.Reads() && len(data) != int(frame[2]) {
			t.Errorf("%d bytes of data in % x", len(data), frame)
		}
		// What is right so far can still become right.
		if err == ErrShort && len(frame) >= MaxRTU {
			t.Errorf("more must come after % x", frame)
		}
		r.Decode(frame)
		if h, err := DecodeHeader(frame); err == nil && (h.Length < 1 || h.Length > MaxPDU) {
			t.Errorf("header %+v", h)
		}
	})
}

// FuzzParseValues: no text panics, and what is taken gives the same value back.
func FuzzParseValues(f *testing.F) {
	for _, s := range []string{"1,2.5", "0x10", "-1", "NaN", "1e400", "on off", "é", "0x", "-0", "1_0"} {
		for t := range Types {
			f.Add(s, byte(t), t%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, text string, typ byte, little bool) {
		ParseBits(text)
		kind := Type(typ) % (Text + 1)
		registers, err := ParseValues(text, kind, little)
		if err != nil || kind == Text || len(registers) < kind.Registers() {
			return
		}
		var data []byte
		for _, r := range registers[:kind.Registers()] {
			data = append(data, byte(r>>8), byte(r))
		}
		shown := string(AppendValue(nil, data, kind, little))
		again, err := ParseValues(shown, kind, little)
		if err != nil || len(again) != kind.Registers() || shown != "NaN" && fmt.Sprint(again) != fmt.Sprint(registers[:kind.Registers()]) {
			t.Errorf("%q is %s is %v, was %v, %v", text, shown, again, registers, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	r, _ := Read(Holding, 0, 125)
	frame := append([]byte{1, 3, 250}, make([]byte, 250)...)
	crc := CRC(frame)
	frame = append(frame, byte(crc), byte(crc>>8))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.DecodeRTU(frame, 1); err != nil {
			b.Fatal(err)
		}
	}
}
