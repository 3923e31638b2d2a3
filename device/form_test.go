package device

import (
	"bytes"
	"testing"
)

func TestFormsReadAndWriteNumbers(t *testing.T) {
	for _, c := range []struct {
		form  Form
		data  []byte
		value string
	}{
		{Form{Type: "u8"}, []byte{0xff}, "255"},
		{Form{Type: "i8"}, []byte{0xff}, "-1"},
		{Form{Type: "u16"}, []byte{0x12, 0x34}, "4660"},
		{Form{Type: "u16", Little: true}, []byte{0x34, 0x12}, "4660"},
		{Form{Type: "i16", Scale: Decimal{1, -1}}, []byte{0xff, 0x9c}, "-10"},
		{Form{Type: "i16", Scale: Decimal{5, -1}, Offset: Decimal{-40, 0}}, []byte{0, 101}, "10.5"},
		{Form{Type: "i24"}, []byte{0xff, 0xff, 0xfe}, "-2"},
		{Form{Type: "u24", Little: true}, []byte{1, 2, 3}, "197121"},
		{Form{Type: "u32", Little: true, Words: true}, []byte{0x00, 0x02, 0x00, 0x01}, "65538"},
		{Form{Type: "f32"}, []byte{0x41, 0xac, 0, 0}, "21.5"},
		{Form{Type: "f32", Little: true, Words: true}, []byte{0, 0, 0x41, 0xac}, "21.5"},
		{Form{Type: "i64"}, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "-1"},
		{Form{Type: "f64"}, []byte{0xbf, 0xf8, 0, 0, 0, 0, 0, 0}, "-1.5"},
	} {
		got, ok := c.form.Decode(c.data)
		want, _ := ParseDecimal(c.value)
		if !ok || got.Float() != want.Float() {
			t.Errorf("%+v of % x is %v, want %s", c.form, c.data, got.Float(), c.value)
		}
		if back, err := c.form.Encode(want.Float()); err != nil || !bytes.Equal(back, c.data) {
			t.Errorf("%+v of %s is % x (%v), want % x", c.form, c.value, back, err, c.data)
		}
	}
}

func TestFormsRefuseWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		form  Form
		value float64
	}{
		{Form{Type: "u8"}, 256}, {Form{Type: "u8"}, -1}, {Form{Type: "i8"}, -129}, {Form{Type: "i16", Scale: Decimal{1, -1}}, 3276.8},
		{Form{Type: "u64"}, 1e19}, {Form{}, 1},
	} {
		if data, err := c.form.Encode(c.value); err == nil {
			t.Errorf("%+v of %v is % x", c.form, c.value, data)
		}
	}
	for _, c := range []struct {
		form Form
		data []byte
	}{
		{Form{Type: "u16"}, []byte{1}}, {Form{}, nil}, {Form{Type: "f32"}, []byte{0x7f, 0xc0, 0, 0}}, {Form{Type: "f64"}, []byte{0x7f, 0xf0, 0, 0, 0, 0, 0, 0}},
	} {
		if d, ok := c.form.Decode(c.data); ok {
			t.Errorf("%+v of % x is %v", c.form, c.data, d)
		}
	}
}
