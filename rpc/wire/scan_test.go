package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// The texts below are of the kinds that JSONTestSuite
// (https://github.com/nst/JSONTestSuite) sorts into must accept, must reject
// and left to the parser.

var mustAccept = []struct {
	kind  string
	texts []string
}{
	{"any value may stand alone", []string{
		`true`, `false`, `null`, `7`, `-2.5`, `"boardhand"`, `""`, `" "`, `[]`, `{}`,
	}},
	{"array", []string{
		`[[]]`, `[[],[]]`, `[{}]`, `[""]`, `[null]`, `[false]`, `[true]`, `[null,2,"3",{},[]]`,
		`[7,null,null,8]`, `["GPIO17","GPIO27"]`, `[[[1],[2]],[[3]]]`,
	}},
	{"white space", []string{
		" [7]", "[7] ", "[7]\n", "\r\n[7]\r\n", "\t[\t7\t]\t", "[ ]", "{ }", "[[] \n ]", "[7\n]", "[ 7]", `[ "x"]`,
		"{\n\"a\"\n:\n1\n}", `{ "a" : 1 , "b" : 2 }`, "[7 , 8]", " true ", "\n\n\n0\n\n\n", strings.Repeat(" ", 5000) + "1",
	}},
	{"integer", []string{
		`[0]`, `[-0]`, `[5]`, `[-1]`, `[-45]`, `[90]`, `[1234567890]`, `[9007199254740993]`, `-7`, `10`,
	}},
	{"fraction", []string{
		`[0.5]`, `[-0.5]`, `[0.0]`, `[-0.0]`, `[21.375]`, `[3.14159265358979]`, `[10.010]`,
		`[0.` + strings.Repeat("0", 80) + `1]`,
	}},
	{"exponent", []string{
		`[0e0]`, `[0e+1]`, `[0E-1]`, `[5e7]`, `[5E7]`, `[5e+7]`, `[5E+7]`, `[5e-7]`, `[5E-7]`, `[20e1]`,
		`[1.5e3]`, `[12.25E+10]`, `[-12.25E-10]`, `[1e007]`, `[1e-00]`, `[-0e-0]`, `{"lo":-1.0e+30,"hi":1.0e+30}`,
	}},
	{"object", []string{
		`{"a":1}`, `{"a":1,"b":"2"}`, `{"a":[]}`, `{"a":{"b":{"c":null}}}`, `{"a":true,"b":false,"c":null}`,
		`{"":""}`, `{"":1}`, `{"a b":1}`, `{"k\u0000k":1}`, `{"\"":1}`, `{"id":"` + strings.Repeat("y", 300) + `"}`,
		`{"ключ":"значение"}`, `{"\u043a\u043b":"\u0437"}`,
	}},
	{"the same key twice", []string{
		`{"a":1,"a":2}`, `{"a":1,"a":1}`, `{"name":1,"Name":2}`,
	}},
	{"short escapes", []string{
		`["\""]`, `["\\"]`, `["\/"]`, `["\b"]`, `["\f"]`, `["\n"]`, `["\r"]`, `["\t"]`,
		`["\b\f\n\r\t\"\\\/"]`, `["\\n"]`, `["\\\\"]`, `["\\\""]`, `["\\u12"]`, `["0123456\n"]`, `["01234567\n"]`,
	}},
	{"escapes by number", []string{
		`["\u0000"]`, `["\u0007"]`, `["\u000a"]`, `["\u000A"]`, `["\u0022"]`, `["\u005c"]`, `["\u005C"]`, `["\u0061"]`,
		`["\u00b0C"]`, `["\u00A0"]`, `["\u07ff"]`, `["\u20ac"]`, `["\uABCD"]`, `["\uabcd"]`, `["\u200b"]`, `["\u2064"]`,
		`["\u0061\u00e9\u20AC"]`, `["a\u0062c"]`, `["\u00610"]`,
	}},
	{"surrogate pairs", []string{
		`["\ud83d\ude00"]`, `["\uD83D\uDE00"]`, `["\ud800\udc00"]`, `["\udbff\udfff"]`, `["\uD834\udd1e\uD834\uDD1E"]`,
	}},
	{"noncharacters", []string{
		`["\ufffe"]`, `["\uFFFF"]`, `["\ufdd0"]`, `["\ud83f\udffe"]`, `["\udbff\udffe"]`,
		"[\"\uffff\"]", "[\"\ufdd0\"]", "[\"\U0010ffff\"]", "[\"\U0001bfff\"]",
	}},
	{"UTF-8 in a string", []string{
		`["°C"]`, `["µs"]`, `["€"]`, `["Ω≈½"]`, `["日本語"]`, `["😀"]`, `["aé€😀z"]`, "[\"\u0080\"]", "[\"\u07ff\"]", "[\"\u0800\"]",
		"[\"\ud7ff\"]", "[\"\ue000\"]", "[\"\U00010000\"]", "[\"\u2028\"]", "[\"\u2029\"]", "[\"\u2060\"]", "[\"a\ufeffb\"]",
		"[\"1234567é\"]", "[\"12345678é\"]", "[\"éééééééééééééééé\"]",
	}},
	{"bytes that need no escape", []string{
		"[\"\x7f\"]", "[\"a\x7fa\"]", `["/"]`, `["'"]`, `["{}[],:"]`, `["// no /* comment */"]`, `[" "]`, `["~!@#$%^&*()_+-=;<>?|"]`,
	}},
}

var mustReject = []struct {
	kind  string
	texts []string
}{
	{"nothing there", []string{
		"", " ", "\n", "\t\r\n ", "\ufeff", "\xef\xbb", "\xef",
	}},
	{"byte order mark", []string{
		"\ufeff{}", "\ufeff 1", "{}\ufeff", "\xef\xbb{}",
	}},
	{"another encoding than UTF-8", []string{
		"\xff\xfe{\x00}\x00", "\xfe\xff\x00{\x00}", "{\x00}\x00", "\x00{\x00}", "[\x00\"\x00\xe9\x00\"\x00]\x00",
	}},
	{"no value", []string{
		"x", "*", "#", "@", ".", ",", ":", "'", "`", "é", "\xe9", "日", "ident", "aé", "<x>", "\x00", "\x1b[0m", "\\", "]", "}", "-", "+", "undefined",
	}},
	{"literal misspelt", []string{
		`[tru]`, `[fals]`, `[nul]`, `[True]`, `[FALSE]`, `[Null]`, `[NULL]`, `[nil]`, `[truth]`, `[none]`, `[ttrue]`, `[t]`, `[f]`, `[n]`,
		`t`, `tru`, `f`, `fals`, `n`, `nul`, `truee`, `nulll`, `false0`, `[true false]`, `[truefalse]`, `[<null>]`,
	}},
	{"sign", []string{
		`[+1]`, `[++1]`, `[--1]`, `[+-1]`, `[-+1]`, `[-]`, `[- 1]`, `[-x]`, `[-"1"]`, `[1-]`, `[1+2]`, `[1-2]`, `[-1x]`,
	}},
	{"leading zero", []string{
		`[00]`, `[01]`, `[-00]`, `[-01]`, `[007]`, `[012.5]`, `[-012]`, `00`, `01`,
	}},
	{"fraction without digits", []string{
		`[.5]`, `[-.5]`, `[.]`, `[5.]`, `[-5.]`, `[5.,6]`, `[0.]`, `[5.e3]`, `[5.e+3]`, `[5.E-3]`, `[.5e1]`, `[.-5]`, `[0..1]`, `5.`, `-.`,
	}},
	{"number with two points", []string{
		`[1.2.3]`, `[1.5.]`, `[0.1.]`, `[192.168.1.1]`,
	}},
	{"exponent without digits", []string{
		`[1e]`, `[1E]`, `[1e+]`, `[1E-]`, `[0e]`, `[0E]`, `[0e+]`, `[0E+]`, `[1.5e]`, `[1.5E]`, `[1.5e+]`, `[1.5e-]`, `[1ex]`, `[1e"]`,
		`[0e+-1]`, `[1ee2]`, `[1eE2]`, `[1e2e3]`, `[1e1.5]`, `[e5]`, `1e`, `1e+`,
	}},
	{"no number of JSON", []string{
		`[NaN]`, `[-NaN]`, `[Inf]`, `[+Inf]`, `[-Inf]`, `[Infinity]`, `[-Infinity]`, `[0x1]`, `[0x7F]`, `[0b1]`, `[0o7]`, `[1_000]`,
		`[1 000]`, `[1,000.]`, `[1f]`, `[1n]`, `[1.5a-3]`, `[1.5H-3]`, `[12foo]`, `[１]`, `[½]`, `[٣]`, "12\x00", "[1\xe9]", "[1e\xe9]", "[1e5\xe9]", "[0\xe9]", "[-\xe9]", `7@`, `7 8`,
	}},
	{"comma in an array", []string{
		`[,]`, `[,7]`, `[7,]`, `[7,,8]`, `[7,,]`, `["x",]`, `["x",,]`, `[ , ""]`, `[7 8]`, `["x" "y"]`, `[7 true]`, `[7[8]]`, `[[][]]`, `[{}{}]`, `[7;8]`, `[7:8]`, `["x":7]`, `["":7]`,
	}},
	{"array not closed", []string{
		`[`, `[[`, `[7`, `[7,`, `["x"`, `["x",`, `[""`, `["x`, `[x`, `[{}`, `[[]`, `[7}`, `[{]`, "[7,\n8\n,9", "[\"x\",\n5\n,6,", `[ false, nul`, `[ true, fals`, `[ null, tru`, `[{`, `[{"a":[`, strings.Repeat(`[{"a":`, 30), strings.Repeat("[", 100000),
	}},
	{"object not closed", []string{
		`{`, `{{`, `{"`, `{"a`, `{"a"`, `{"a":`, `{"":`, `{"a":1`, `{"a":1,`, `{"a":"x`, `{"a":true,`, `{]`, `{[`, `{"a":1]`, `{"a":[}`, `{"a":{}`, `{'a'`, `{ "a" : "b"`,
	}},
	{"comma in an object", []string{
		`{,}`, `{,"a":1}`, `{"a":1,}`, `{"a":1,,}`, `{"a":1,,"b":2}`, `{"a":1 "b":2}`, `{"a":1,,,,}`, `{"a":1;"b":2}`, `{"a":"x" 7}`, `{"a":1,"b"}`, `{"a":1,2}`,
	}},
	{"colon", []string{
		`{"a"}`, `{"a",1}`, `{"a" 1}`, `{"a" "b"}`, `{"a" b}`, `{"a"::1}`, `{"a":}`, `{:1}`, `{:}`, `{"a":1:2}`, `{"a"=1}`, `{"a":,"b":1}`,
	}},
	{"key that is no string", []string{
		`{a:1}`, `{a: "x"}`, `{'a':1}`, `{1:1}`, `{1e999:1}`, `{null:1}`, `{true:1,true:2}`, `{[]:1}`, `{{}:1}`, `{[: 1}`, `{😀}`, `{é:1}`, "{\"\xb9\":1,}",
	}},
	{"text after the value", []string{
		`[]]`, `{}}`, `[][]`, `{}{}`, `[7]]`, `[7],`, `[""],`, `[7]x`, `""x`, `"" ""`, `1]`, `1}`, `1,`, `1,2`, `{}#`, `{"a":1}#{}`, `{"a":1} "x"`, `null null`, "{}\x00", "{}\v", "{}\n{}",
	}},
	{"comment", []string{
		`{}//`, `{}/`, `{}/**/`, `{"a":1}// x`, `{"a":/*x*/1}`, `/**/{}`, `[7 /* seven */]`, "# x\n{}", `{}/**//`, `{}--`,
	}},
	{"quotes", []string{
		`"`, `"x`, `x"`, `'x'`, `['x']`, `['`, `"x'`, `["x']`, `"""`, `["x""y"]`, `{"a":'x'}`, "`x`", `“x”`, `"\"`, `["\"]`, `["\\\"]`, `["x]`, `["x\`, `["\{["\{`, `"01234567`, `"0123456`,
	}},
	{"unknown escape", []string{
		`["\a"]`, `["\v"]`, `["\0"]`, `["\x41"]`, `["\'"]`, `["\N"]`, `["\T"]`, `["\ "]`, `["\U0041"]`, `["\e"]`, `["\101"]`, `["\😀"]`, `["\é"]`, "[\"\\\xe9\"]", "[\"\\\x00\"]", "[\"\\\t\"]", "[\"\\\n\"]", `["\`,
	}},
	{"escape by number cut short", []string{
		`["\u"]`, `["\u0"]`, `["\u00"]`, `["\u004"]`, `["\u 041"]`, `["\uzzzz"]`, `["\u004g"]`, `["\u00:0"]`, `["\u00@0"]`, "[\"\\u00`0\"]", `["\u-041"]`, `["\u+041"]`, `["\u{41}"]`, "[\"\\u\xe9\"]", "[\"\\u004\xe9\"]",
		`"\u`, `"\u0`, `"\u00`, `"\u004`, `"\u0041`,
	}},
	{"broken escape after a surrogate", []string{
		`["\ud83d\"]`, `["\ud83d\u"]`, `["\ud83d\ud"]`, `["\ud83d\ude0"]`, `["\ud83d\ude0x"]`, `["\ud83d\ud83d\q"]`,
	}},
	{"control byte in a string", []string{
		"[\"\x00\"]", "[\"a\x00b\"]", "[\"\x01\"]", "[\"\x08\"]", "[\"\t\"]", "[\"\n\"]", "[\"a\nb\"]", "[\"\x0b\"]", "[\"\x0c\"]", "[\"\r\"]", "[\"\x1b\"]", "[\"\x1f\"]", "{\"a\tb\":1}", "[\"0123456\n\"]", "[\"01234567\n\"]", "[\"\x0bx\"\\f]",
	}},
	{"white space that JSON has not", []string{
		"[\x0b7]", "[\x0c7]", "[7\x0b]", "[\x0c]", "[\u00a07]", "[\u2060]", "[\u2003]", "[\u3000]", "[\u2028]", "[\u0085]", "[\x1f]", "[\x00]", "[\x007]", "\x0b{}", "[\ufeff7]", "[\x7f]", "[\x08]",
	}},
	{"escape outside a string", []string{
		`[\n]`, `[\u0020"x"]`, `[\u000a""]`, `\u007b}`, `[7\n]`, `{\"a\":1}`,
	}},
	{"no ASCII outside a string", []string{
		`[é]`, "[\xe9]", "[\xff]", "[x\xe9]", `[日]`, `[😀]`, "[7\xff]", "\x80", "[\xc3\xa9 7]",
	}},
}

// leftToParser are texts about which the suite leaves a parser its choice, and
// what Scan chooses.
var leftToParser = []struct {
	choice string
	accept bool
	texts  []string
}{
	{"numbers of any size are numbers; who reads one checks its range", true, []string{
		`[1e9999]`, `[-1e9999]`, `[1.5e+9999]`, `[1e-9999]`, `[123.456e-789]`, `[0.4e` + strings.Repeat("9", 100) + `]`,
		`[100000000000000000000]`, `[-100000000000000000000]`, `[` + strings.Repeat("9", 300) + `]`,
	}},
	{"an escaped surrogate without its twin fits the grammar", true, []string{
		`["\ud83d"]`, `["\ude00"]`, `["\ud83dx"]`, `["\ud83d\n"]`, `["\ud83d\u0041"]`, `["\ud83d\ud83d"]`, `["\ud83d\ud83d\n"]`,
		`["\ude00\ud83d"]`, `["\uDd1ea"]`, `{"\ude00":1}`,
	}},
	{"no UTF-8: a byte that never occurs", false, []string{
		"[\"\xff\"]", "[\"\xfe\"]", "[\"\xc0\"]", "[\"\xc1\xbf\"]", "[\"\xf5\x80\x80\x80\"]", "[\"é\xfa\"]", "{\"\xff\":1}", "[\"0123456\xff\"]", "[\"01234567\xff\"]",
	}},
	{"no UTF-8: another encoding", false, []string{
		"[\"\xe9\"]", "[\"\xb0C\"]", "[\"gr\xfc\xdfe\"]",
	}},
	{"no UTF-8: a sequence without its first byte", false, []string{
		"[\"\x80\"]", "[\"\x81\"]", "[\"\xbf\"]", "[\"é\x80\"]",
	}},
	{"no UTF-8: a sequence cut short", false, []string{
		"[\"\xc3\"]", "[\"\xe2\x82\"]", "[\"\xe0\xff\"]", "[\"\xf0\x9f\x98\"]", "\"\xc3", "\"\xe2", "\"\xe2\x82", "\"\xf0\x9f\x98", "[\"\xe2\x82x\"]", "[\"\xf0\x9f\x98x\"]", "[\"\xe2x\xac\"]",
	}},
	{"no UTF-8: too long a form", false, []string{
		"[\"\xc0\xaf\"]", "[\"\xc1\x81\"]", "[\"\xe0\x80\xaf\"]", "[\"\xe0\x9f\xbf\"]", "[\"\xf0\x80\x80\xaf\"]", "[\"\xf0\x8f\xbf\xbf\"]", "[\"\xf8\x88\x80\x80\x80\"]", "[\"\xfc\x80\x80\x80\x80\x80\"]", "[\"\xfc\x83\xbf\xbf\xbf\xbf\"]",
	}},
	{"no UTF-8: a surrogate", false, []string{
		"[\"\xed\xa0\x80\"]", "[\"\xed\xbf\xbf\"]", "[\"\xed\xa0\xbd\xed\xb8\x80\"]",
	}},
	{"no UTF-8: beyond U+10FFFF", false, []string{
		"[\"\xf4\x90\x80\x80\"]", "[\"\xf4\xbf\xbf\xbf\"]",
	}},
	{"a byte order mark is no white space", false, []string{
		"\ufeff{}", "\ufeff[]",
	}},
	{"UTF-16 is no UTF-8", false, []string{
		"\xff\xfe[\x00\"\x00\xe9\x00\"\x00]\x00", "\x00[\x00\"\x00\xe9\x00\"\x00]", "[\x00\"\x00\xe9\x00\"\x00]\x00",
	}},
	{"nested deeper than the limit", false, []string{
		strings.Repeat("[", 500) + strings.Repeat("]", 500),
	}},
}

func TestScanAcceptsWhatIsJSON(t *testing.T) {
	for _, tt := range mustAccept {
		for _, text := range tt.texts {
			if err := Scan([]byte(text), DefaultLimits); err != nil {
				t.Errorf("%s: %.40q: %v", tt.kind, text, err)
			}
		}
	}
}

func TestScanRejectsWhatIsNot(t *testing.T) {
	for _, tt := range mustReject {
		for _, text := range tt.texts {
			if Scan([]byte(text), DefaultLimits) == nil {
				t.Errorf("%s: %.40q is accepted", tt.kind, text)
			}
		}
	}
}

func TestScanChoosesWhereItMay(t *testing.T) {
	for _, tt := range leftToParser {
		for _, text := range tt.texts {
			if err := Scan([]byte(text), DefaultLimits); (err == nil) != tt.accept {
				t.Errorf("%s: %.40q: %v", tt.choice, text, err)
			}
		}
	}
}

func TestScanRejectsEveryPartOfAMessage(t *testing.T) {
	for n := range len(call) {
		if Scan([]byte(call[:n]), DefaultLimits) == nil {
			t.Errorf("the first %d bytes are accepted", n)
		}
	}
	if err := Scan([]byte(call), DefaultLimits); err != nil {
		t.Error(err)
	}
}

// Every byte, at every place in a word and at the end of one.
func TestScanJudgesEachByteOfAString(t *testing.T) {
	for c := range 256 {
		for before := range 18 {
			for _, after := range []int{0, 1, 7, 8, 9} {
				text := []byte(`"` + strings.Repeat("a", before) + string([]byte{byte(c)}) + strings.Repeat("a", after) + `"`)
				want := json.Valid(text) && utf8.Valid(text)
				if err := Scan(text, DefaultLimits); (err == nil) != want {
					t.Fatalf("%q: %v, want valid = %v", text, err, want)
				}
			}
		}
	}
}

func TestRuneLenIsThatOfUTF8(t *testing.T) {
	edges := []byte{0, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff}
	for c := 0x80; c < 256; c++ {
		for _, c1 := range edges {
			for _, c2 := range edges {
				for _, c3 := range edges {
					seq := []byte{byte(c), c1, c2, c3}
					for n := 1; n <= 4; n++ {
						want := 0
						if r, size := utf8.DecodeRune(seq[:n]); r != utf8.RuneError || size > 1 {
							want = size
						}
						if got := runeLen(seq[:n]); got != want {
							t.Fatalf("% x: %d, want %d", seq[:n], got, want)
						}
					}
				}
			}
		}
	}
}

func TestScanSaysWhereAndWhy(t *testing.T) {
	for _, tt := range []struct {
		text string
		want string
	}{
		{``, "invalid JSON at byte 0: the text ends too early, expected a value"},
		{`  x`, "invalid JSON at byte 2: expected a value"},
		{`{"a":1,}`, "invalid JSON at byte 7: expected a key in quotes"},
		{`{"a" 1}`, "invalid JSON at byte 5: expected ':'"},
		{`{"a":1]`, "invalid JSON at byte 6: expected ',' or '}'"},
		{`[1}`, "invalid JSON at byte 2: expected ',' or ']'"},
		{`[1`, "invalid JSON at byte 2: the text ends too early, unclosed array or object"},
		{`[tru]`, "invalid JSON at byte 1: expected true"},
		{`[01]`, "invalid JSON at byte 2: expected ',' or ']'"},
		{`[1.]`, "invalid JSON at byte 3: expected a digit"},
		{`["abc`, "invalid JSON at byte 5: the text ends too early, unclosed string"},
		{"[\"a\nb\"]", "invalid JSON at byte 3: control byte in a string, escape it"},
		{"[\"a\xff\"]", "invalid JSON at byte 3: invalid UTF-8 in a string"},
		{`["a\x41"]`, `invalid JSON at byte 3: expected an escape: \" \\ \/ \b \f \n \r \t or \u and four hex digits`},
		{`{} {}`, "invalid JSON at byte 3: expected the end after one value"},
	} {
		err := Scan([]byte(tt.text), DefaultLimits)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%q: %v is no SyntaxError", tt.text, err)
		} else if err.Error() != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestScanKeepsItsLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	mixed := strings.Repeat(`[{"a":`, 32) + "1" + strings.Repeat("}]", 32)
	for _, tt := range []struct {
		name string
		text string
		lim  Limits
		want string // of the error
	}{
		{"depth reached", nest(3), Limits{Depth: 3}, ""},
		{"depth exceeded", nest(4), Limits{Depth: 3}, "JSON nested deeper than 3 levels at byte 3; nest less, or raise Limits.Depth, up to 64"},
		{"closed containers do not count", "[" + nest(2) + "," + nest(2) + "]", Limits{Depth: 3}, ""},
		{"empty containers count", `[[{}]]`, Limits{Depth: 2}, "JSON nested deeper than 2 levels at byte 2; nest less, or raise Limits.Depth, up to 64"},
		{"the most depth reached", nest(64), Limits{Depth: 64}, ""},
		{"the most depth reached, mixed", mixed, Limits{Depth: 64}, ""},
		{"the most depth exceeded", nest(65), Limits{Depth: 64}, "JSON nested deeper than 64 levels at byte 64; this is the most there is, nest less"},
		{"the most depth cannot be raised", nest(65), Limits{Depth: 1000}, "JSON nested deeper than 64 levels at byte 64; this is the most there is, nest less"},
		{"zero is the default depth", nest(64), Limits{}, ""},
		{"values reached", `[1,2,{"a":3}]`, Limits{Values: 5}, ""},
		{"values exceeded", `[1,2,{"a":3,"b":4}]`, Limits{Values: 5}, "more than 5 JSON values at byte 16; send fewer at a time, or start the server with a higher --max-values"},
		{"one value", `1`, Limits{Values: 1}, ""},
		{"zero is the default of values", "[" + strings.Repeat("0,", 4094) + "0]", Limits{}, ""},
		{"the default of values exceeded", "[" + strings.Repeat("0,", 4095) + "0]", Limits{}, "more than 4096 JSON values at byte 8191; send fewer at a time, or start the server with a higher --max-values"},
		{"values raised", "[" + strings.Repeat("0,", 99999) + "0]", Limits{Values: 100001}, ""},
		{"bracket bomb", strings.Repeat("[", 1<<20), DefaultLimits, "JSON nested deeper than 64 levels at byte 64; this is the most there is, nest less"},
		{"object bomb", strings.Repeat(`{"":`, 1<<18), DefaultLimits, "JSON nested deeper than 64 levels at byte 256; this is the most there is, nest less"},
	} {
		err := Scan([]byte(tt.text), tt.lim)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "":
			var limit *LimitError
			if !errors.As(err, &limit) {
				t.Errorf("%s: %v is no LimitError", tt.name, err)
			} else if err.Error() != tt.want {
				t.Errorf("%s:\n got %s\nwant %s", tt.name, err, tt.want)
			}
		}
	}
}

func TestScanAllocatesNothing(t *testing.T) {
	text := []byte(call)
	if n := testing.AllocsPerRun(100, func() {
		if Scan(text, DefaultLimits) != nil {
			t.Fail()
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func ExampleScan() {
	fmt.Println(Scan([]byte(`{"jsonrpc":"2.0","id":1}`), DefaultLimits))
	fmt.Println(Scan([]byte(`{"jsonrpc":"2.0","id":01}`), DefaultLimits))
	fmt.Println(Scan([]byte(`[[[1]]]`), Limits{Depth: 2}))
	// Output:
	// <nil>
	// invalid JSON at byte 23: expected ',' or '}'
	// JSON nested deeper than 2 levels at byte 2; nest less, or raise Limits.Depth, up to 64
}

// FuzzScan compares Scan with encoding/json, which allows any bytes in a string
// and knows other limits.
func FuzzScan(f *testing.F) {
	for _, tt := range mustAccept {
		for _, text := range tt.texts {
			f.Add([]byte(text), byte(64), byte(0))
		}
	}
	for _, tt := range mustReject {
		for _, text := range tt.texts {
			f.Add([]byte(text), byte(64), byte(0))
		}
	}
	for _, tt := range leftToParser {
		for _, text := range tt.texts {
			f.Add([]byte(text), byte(64), byte(0))
		}
	}
	f.Add([]byte(call), byte(4), byte(12))
	f.Add([]byte(result), byte(3), byte(11))
	f.Fuzz(func(t *testing.T, text []byte, depth, values byte) {
		lim := Limits{Depth: 1 + int(depth)%MaxDepth, Values: int(values)}
		err := Scan(text, lim)
		tree := Tree{Unescape: unescape}
		if as := tree.Scan(text, lim); !reflect.DeepEqual(as, err) {
			t.Fatalf("%q: %v, as a tree %v", text, err, as)
		}
		if lim.Values == 0 {
			lim.Values = DefaultLimits.Values
		}
		var syntax *SyntaxError
		var limit *LimitError
		switch {
		case errors.As(err, &syntax):
			if syntax.Offset < 0 || syntax.Offset > len(text) {
				t.Fatalf("%q: offset of %v", text, err)
			}
		case errors.As(err, &limit):
			if limit.Offset < 0 || limit.Offset >= len(text) {
				t.Fatalf("%q: offset of %v", text, err)
			}
		case err != nil:
			t.Fatalf("%q: %T", text, err)
		}
		if !json.Valid(text) || !utf8.Valid(text) {
			if err == nil {
				t.Fatalf("%q is accepted", text)
			}
			return
		}
		d, v := measure(t, text)
		within := d <= lim.Depth && v <= lim.Values
		if within && err != nil || !within && limit == nil {
			t.Fatalf("%q: %v, has depth %d and %d values within %+v", text, err, d, v, lim)
		}
		// encoding/json knows no surrogate alone, the tree leaves it as it is written.
		if err == nil && !bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) {
			if got, want := tree.rebuild(tree.Root()), decoded(t, text); !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: the tree holds %#v, want %#v", text, got, want)
			}
		}
	})
}

// measure counts the depth and the values of a valid text.
func measure(t *testing.T, text []byte) (depth, values int) {
	t.Helper()
	type place byte // what comes next in an open container
	const (
		element place = iota
		key
		member
	)
	var open []place
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			return depth, values
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if tok == json.Delim(']') || tok == json.Delim('}') {
			open = open[:len(open)-1]
			continue
		}
		if n := len(open); n > 0 && open[n-1] == key {
			open[n-1] = member
			continue
		} else if n > 0 && open[n-1] == member {
			open[n-1] = key
		}
		values++
		switch tok {
		case json.Delim('['):
			open = append(open, element)
		case json.Delim('{'):
			open = append(open, key)
		}
		depth = max(depth, len(open))
	}
}
