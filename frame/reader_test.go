package frame

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

// chunks is a source that gives at most one chunk a read, and counts reads.
type chunks struct {
	parts []string
	err   error // after the last part; nil: io.EOF
	reads int
}

func (c *chunks) Read(p []byte) (int, error) {
	c.reads++
	if len(c.parts) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		return 0, io.EOF
	}
	n := copy(p, c.parts[0])
	if c.parts[0] = c.parts[0][n:]; c.parts[0] == "" {
		c.parts = c.parts[1:]
	}
	return n, nil
}

// header frames a body.
func header(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// events reads all of r: "newline BYTES", "header BYTES", "newline error",
// "header error", and last the source's error. The reasons come apart.
func events(r *Reader) (got, reasons []string) {
	for {
		msg, mode, err := r.Next()
		var broken *Error
		switch {
		case errors.As(err, &broken):
			got = append(got, mode.String()+" error")
			reasons = append(reasons, broken.Reason)
		case err != nil:
			return append(got, err.Error()), reasons
		default:
			got = append(got, mode.String()+" "+string(msg))
		}
	}
}

func TestReader(t *testing.T) {
	const max = 64
	long := "{" + strings.Repeat("x", 200) + "}"
	tests := []struct {
		name, in string
		want     []string // without the last, EOF
		reason   string   // part of the first reason
	}{
		{"nothing", "", nil, ""},
		{"white space only", " \r\n\t\n\n", nil, ""},
		{"a line", "{}\n", []string{"newline {}"}, ""},
		{"a line with crlf", "{}\r\n", []string{"newline {}"}, ""},
		{"only one carriage return is stripped", "{}\r\r\n", []string{"newline {}\r"}, ""},
		{"lines with blank ones between", "\n{}\n\r\n  []\n", []string{"newline {}", "newline []"}, ""},
		{"a last line without newline", "{}\n[1]", []string{"newline {}", "newline [1]"}, ""},
		{"a last line with half a crlf", "[1]\r", []string{"newline [1]"}, ""},
		{"noise is a line", "login: \n\x00\xff\n{}\n", []string{"newline login: ", "newline \x00\xff", "newline {}"}, ""},
		{"a byte order mark stays", "\xef\xbb\xbf{}\n{}\n", []string{"newline \xef\xbb\xbf{}", "newline {}"}, ""},
		{"a line as long as the limit", strings.Repeat("x", max) + "\n", []string{"newline " + strings.Repeat("x", max)}, ""},
		{"a line as long as the limit with crlf", strings.Repeat("x", max) + "\r\n{}", []string{"newline " + strings.Repeat("x", max), "newline {}"}, ""},
		{"a line one byte too long", strings.Repeat("x", max+1) + "\n{}\n", []string{"newline error", "newline {}"}, "line longer than 64 bytes"},
		{"a last line too long", strings.Repeat("x", max+1), []string{"newline error"}, "line longer than 64 bytes"},
		{"noise after a line too long is not silent", long + "\nnoise\n", []string{"newline error", "newline noise"}, ""},
		{"a header message after a line too long", long + "\n" + header("{}"), []string{"newline error", "header {}"}, ""},
		{"a header message right behind a line too long", long + header("{}"), []string{"newline error", "header {}"}, ""},

		{"a header message", header("{}"), []string{"header {}"}, ""},
		{"any case", "content-LENGTH:2\r\n\r\n{}", []string{"header {}"}, ""},
		{"bare newlines", "Content-Length: 2\n\n{}", []string{"header {}"}, ""},
		{"blanks around the value", "Content-Length: \t 2 \t\r\n\r\n{}", []string{"header {}"}, ""},
		{"leading zeros", "Content-Length: 0002\r\n\r\n{}", []string{"header {}"}, ""},
		{"type first", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", []string{"header {}"}, ""},
		{"type last", "Content-Length: 2\r\ncontent-type: application/json; Charset=\"UTF8\"\r\n\r\n{}", []string{"header {}"}, ""},
		{"unknown fields", "X-Length: 7\r\nContent-Length: 2\r\nX: y: z\r\n\r\n{}", []string{"header {}"}, ""},
		{"an unknown field that ends like a length", "X-Content-Length: 7\r\nContent-Length: 2\r\n\r\n{}", []string{"header {}"}, ""},
		{"agreeing lengths", "Content-Length: 2\r\nContent-Length: 02\r\n\r\n{}", []string{"header {}"}, ""},
		{"line ends in a body", header("{\n}\r\n") + header("\n"), []string{"header {\n}\r\n", "header \n"}, ""},
		{"a body that looks like a header", header("Content-Length: 1\r\n\r\nx") + header("{}"), []string{"header Content-Length: 1\r\n\r\nx", "header {}"}, ""},
		{"a body as long as the limit", header(strings.Repeat("x", max)), []string{"header " + strings.Repeat("x", max)}, ""},
		{"newlines after a body", header("{}") + "\r\n\n" + header("[]"), []string{"header {}", "header []"}, ""},
		{"both framings", "{}\n" + header("[]") + "{}\n" + header("[]") + header("{}") + "[]\n",
			[]string{"newline {}", "header []", "newline {}", "header []", "header {}", "newline []"}, ""},
		{"a line that lacks its newline", "{}" + header("[]") + "{}\n", []string{"newline {}", "header []", "newline {}"}, ""},
		{"a byte order mark before a header", "\xef\xbb\xbf" + header("{}"), []string{"newline \xef\xbb\xbf", "header {}"}, ""},
		{"a length too small", "Content-Length: 9\r\n\r\n{\"a\":\"\u00e9\u00e9\"}" + header("{}") + header("[]"),
			[]string{"header {\"a\":\"\u00e9\xc3", "newline \xa9\"}", "header {}", "header []"}, ""},
		{"a length too large", "Content-Length: 5\r\n\r\n{}" + header("{}") + header("[]"),
			[]string{"header {}Con", "header error", "header []"}, "without Content-Length"},

		{"zero", "Content-Length: 0\r\n\r\n" + header("{}"), []string{"header error", "header {}"}, "Content-Length is 0"},
		{"zero then a line", "Content-Length: 0\r\n\r\n{}\nnoise\n", []string{"header error", "newline {}", "newline noise"}, ""},
		{"no length", "Content-Type: application/json\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, "without Content-Length"},
		{"negative", "Content-Length: -2\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `Content-Length "-2" is not a number`},
		{"plus", "Content-Length: +2\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `"+2" is not a number`},
		{"hex", "Content-Length: 0x2\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `"0x2" is not a number`},
		{"empty", "Content-Length:\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `"" is not a number`},
		{"two numbers", "Content-Length: 2, 2\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `"2, 2" is not a number`},
		{"not ASCII", "Content-Length: \u0662\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `"\u0662" is not a number`},
		{"blank before the colon", "Content-Length: 2\r\nContent-Length : 2\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, "is not \"name: value\""},
		{"lengths that differ", "Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, "given as 2 and as 4"},
		{"a good length after a bad one", "Content-Length: x\r\nContent-Length: 2\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `"x"`},
		{"another charset", "Content-Length: 3\r\nContent-Type: text/plain; charset=utf-16\r\n\r\n{ }" + header("[]"), []string{"header error", "header []"}, `charset "utf-16"`},
		{"a folded field", "Content-Length: 2\r\n more\r\n\r\n{}" + header("[]"), []string{"header error", "header []"}, `header line " more"`},
		{"a block that stops for a line", "Content-Type: x\n{\"a\":1}\n{}\n", []string{"header error", "newline {\"a\":1}", "newline {}"}, "is not \"name: value\""},
		{"a log line that looks like a field", "kernel: up\r\n{\"a\":1}\r\n", []string{"header error", "newline {\"a\":1}"}, ""},
		{"too many lines", strings.Repeat("A: b\r\n", 17) + "\r\n{}" + header("[]"), []string{"header error", "header []"}, "more than 16 lines"},
		{"sixteen lines", strings.Repeat("A: b\r\n", 15) + header("[]"), []string{"header []"}, ""},
		{"a block too long", "Content-Type: " + strings.Repeat("x", 5000) + "\r\n\r\n{}" + header("[]"), []string{"newline error", "newline {}", "header []"}, "line longer"},

		{"too large, the next at once", "Content-Length: 4000000000\r\n\r\n" + header("{}"), []string{"header error", "header {}"}, "Content-Length 4000000000 exceeds 64 bytes"},
		{"too large, a line at once", "Content-Length: 4000000000\r\n\r\n{}\nnoise\n", []string{"header error", "newline {}", "newline noise"}, ""},
		{"too large for any integer", "Content-Length: " + strings.Repeat("9", 100) + "\r\n\r\n" + header("{}"), []string{"header error", "header {}"}, "exceeds 64 bytes"},
		{"too large, its body, the next behind", header(long) + header("{}"), []string{"header error", "header {}"}, "Content-Length 202 exceeds 64 bytes"},
		{"too large, its body, a newline, the next", header(long) + "\r\n" + header("{}"), []string{"header error", "header {}"}, ""},
		{"too large, its body, a newline, a line", header(long) + "\n{}\n", []string{"header error", "newline {}"}, ""},
		{"too large, its body in lines", header("{\n\"a\": 1,\n \""+long+"\"\n}") + header("{}"), []string{"header error", "header {}"}, ""},
		{"too large, its body holds a header in a string", header(`{"Content-Length: 3\r\n\r\n{}":"`+long+`"}`) + header("{}"), []string{"header error", "header {}"}, ""},
		{"too large, noise, a line", "Content-Length: 100\r\n\r\n{noise\n[ 1.5] kernel\nlogin: \n[1]\nx\n", []string{"header error", "newline [1]", "newline x"}, ""},
		{"too large, more fields", "Content-Length: 100\r\nContent-Type: a/b\r\n\r\n" + header("{}"), []string{"header error", "header {}"}, ""},
		{"too large twice", header(long) + header(long) + header("{}"), []string{"header error", "header error", "header {}"}, ""},
		{"too large, only its body", header(`{"a":"` + strings.Repeat("x", 99) + `"}`), []string{"header error"}, ""},
		{"garbled length, only its body", "Content-Length: x\r\n\r\n{}", []string{"header error"}, ""},

		{"a header cut off", "{}\nContent-Length: 4\r\n", []string{"newline {}", "header error"}, "ended after 19 bytes of a header block"},
		{"a body cut off", "Content-Length: 4\r\n\r\n{}", []string{"header error"}, "ended after 2 of the 4 bytes"},
		{"a body missing", "Content-Length: 4\r\n\r\n", []string{"header error"}, "ended after 0 of the 4 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := append(tt.want, "EOF")
			sources := map[string]io.Reader{
				"whole":            strings.NewReader(tt.in),
				"byte by byte":     iotest.OneByteReader(strings.NewReader(tt.in)),
				"halves":           iotest.HalfReader(strings.NewReader(tt.in)),
				"EOF with the end": iotest.DataErrReader(strings.NewReader(tt.in)),
			}
			for name, src := range sources {
				got, reasons := events(NewReader(src, max))
				if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
					t.Errorf("%s:\n got %q\nwant %q\n%q", name, got, want, reasons)
				}
				if tt.reason != "" && (len(reasons) == 0 || !strings.Contains(reasons[0], tt.reason)) {
					t.Errorf("%s: reasons %q, want %q in the first", name, reasons, tt.reason)
				}
			}
		})
	}
}

func TestReaderBlockLongerThanLimit(t *testing.T) {
	in := "Content-Type: " + strings.Repeat("x", 5000) + "\r\n\r\n" + header("[]")
	got, reasons := events(NewReader(strings.NewReader("Content-Length: 2\r\n"+in), 0))
	if want := []string{"header error", "header []", "EOF"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(reasons[0], "header block longer than 4096 bytes") {
		t.Errorf("reason %q", reasons[0])
	}
}

func TestReaderSourceErrors(t *testing.T) {
	gone := errors.New("gone")
	for _, in := range []string{"{}\n[1]", "{}\nContent-Length: 5\r\n", "{}\nContent-Length: 5\r\n\r\n[]"} {
		r := NewReader(&chunks{parts: []string{in}, err: gone}, 0)
		if got, _ := events(r); fmt.Sprint(got) != "[newline {} gone]" {
			t.Errorf("%q: got %q", in, got)
		}
		for range 3 {
			if _, _, err := r.Next(); err != gone {
				t.Errorf("%q: the error is not final: %v", in, err)
			}
		}
	}
	r := NewReader(readFunc(func([]byte) (int, error) { return 0, nil }), 0)
	if _, _, err := r.Next(); err != io.ErrNoProgress {
		t.Errorf("a source that gives nothing: %v", err)
	}
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

func TestReaderReadsOnlyWhenNothingIsBuffered(t *testing.T) {
	src := &chunks{parts: []string{"{}\n[]\n" + header("12"), "{\"a\"", ":1}\n", "Content-Length: x\r\n\r\n", "[1]\n"}}
	r := NewReader(src, 0)
	steps := []struct {
		msg   string
		reads int  // after Next
		more  bool // Buffered after Next
	}{
		{"{}", 1, true}, {"[]", 1, true}, {"12", 1, false}, {"{\"a\":1}", 3, false}, {"", 4, false}, {"[1]", 5, false},
	}
	for i, want := range steps {
		msg, _, err := r.Next()
		if string(msg) != want.msg || src.reads != want.reads {
			t.Fatalf("step %d: %q, %v after %d reads; want %q after %d", i, msg, err, src.reads, want.msg, want.reads)
		}
		if r.Buffered() != want.more || src.reads != want.reads {
			t.Errorf("step %d: Buffered %v, reads %d; want %v, %d", i, r.Buffered(), src.reads, want.more, want.reads)
		}
		if string(msg) != want.msg {
			t.Errorf("step %d: Buffered changed the message to %q", i, msg)
		}
	}
	if _, _, err := r.Next(); err != io.EOF || !r.Buffered() {
		t.Errorf("at the end: %v, Buffered %v", err, r.Buffered())
	}
}

func TestReaderBufferedSeesErrors(t *testing.T) {
	r := NewReader(&chunks{parts: []string{"{}\nContent-Length: 0\r\n\r\n"}}, 0)
	if _, _, err := r.Next(); err != nil || !r.Buffered() {
		t.Errorf("%v, Buffered %v", err, r.Buffered())
	}
}

// random gives messages in both framings and the events they make.
func random(rnd *rand.Rand, n int) (stream string, want []string) {
	for range n {
		body := make([]byte, 2+rnd.Intn(1<<rnd.Intn(14)))
		for i := range body {
			body[i] = "{}[]\",:\\ \tContent-Length: 12\xff"[rnd.Intn(29)]
		}
		body[0], body[len(body)-1] = '{', '}'
		if rnd.Intn(2) == 0 {
			stream += string(body) + []string{"\n", "\r\n", "\n\n"}[rnd.Intn(3)]
			want = append(want, "newline "+string(body))
			continue
		}
		for i := 1; i < len(body)-1; i += 1 + rnd.Intn(20) {
			body[i] = '\n'
		}
		fields := []string{"Content-Length: " + fmt.Sprint(len(body)), "Content-Type: application/json", "X-Any: thing"}
		rnd.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		stream += strings.Join(fields, "\r\n") + "\r\n\r\n" + string(body)
		want = append(want, "header "+string(body))
	}
	return stream, append(want, "EOF")
}

// cut cuts a stream at random.
func cut(rnd *rand.Rand, stream string) (parts []string) {
	most := 1 + rnd.Intn(1<<rnd.Intn(15))
	for len(stream) > 0 {
		n := min(len(stream), 1+rnd.Intn(most))
		parts = append(parts, stream[:n])
		stream = stream[n:]
	}
	return parts
}

func TestReaderAnySplitGivesTheSameMessages(t *testing.T) {
	for seed := range int64(150) {
		rnd := rand.New(rand.NewSource(seed))
		stream, want := random(rnd, 1+rnd.Intn(30))
		got, reasons := events(NewReader(&chunks{parts: cut(rnd, stream)}, 1<<14))
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("seed %d:\n got %.300q\nwant %.300q\n%q", seed, got, want, reasons)
		}
	}
}

// Each broken message costs one error; the good ones around it all come.
func TestReaderGetsInStepAgain(t *testing.T) {
	const max = 1 << 13
	body := `{"a":"` + strings.Repeat("x", 2*max) + `"}`
	broken := []string{
		strings.Repeat("x", 3*max) + "\n",
		strings.Repeat("\x00\xff", 3*max) + "\r\n",
		header(body),
		header(body) + "\r\n",
		"Content-Length: 4000000000\r\n\r\n",
		"Content-Length: 4000000000\r\n\r\n" + strings.Repeat("noise\n", max),
		"Content-Length: twelve\r\n\r\n{}",
		"Content-Length: 0\r\n\r\n",
		"Content-Type: a/b\r\n\r\n{}",
		"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{   }",
		"Content-Type: a/b; charset=latin1\r\nContent-Length: 5\r\n\r\n{   }",
		strings.Repeat("A: b\r\n", 30) + "\r\n{}",
	}
	for seed := range int64(30) {
		rnd := rand.New(rand.NewSource(seed))
		var stream string
		var want []string
		for range 10 {
			i := rnd.Intn(len(broken))
			mode := Header
			if i < 2 {
				mode = Newline
			}
			good := fmt.Sprintf("{\"id\":%d}", rnd.Intn(100))
			stream += broken[i]
			want = append(want, mode.String()+" error")
			if rnd.Intn(2) == 0 && (i < 2 || strings.HasSuffix(broken[i], "\n")) {
				stream += good + "\n"
				want = append(want, "newline "+good)
				continue
			}
			stream += header(good)
			want = append(want, "header "+good)
		}
		want = append(want, "EOF")
		got, reasons := events(NewReader(&chunks{parts: cut(rnd, stream)}, max))
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("seed %d:\n got %.1000q\nwant %.1000q\n%q", seed, got, want, reasons)
		}
	}
}

// endless gives n bytes of c, then rest.
type endless struct {
	n    int64
	c    byte
	page []byte
	rest *strings.Reader
}

func newEndless(n int64, c byte, rest string) *endless {
	return &endless{n, c, bytes.Repeat([]byte{c}, 64<<10), strings.NewReader(rest)}
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return e.rest.Read(p)
	}
	if int64(len(p)) > e.n {
		p = p[:e.n]
	}
	n := copy(p, e.page)
	e.n -= int64(n)
	return n, nil
}

func TestReaderGigabyteCostsOneErrorAndNoMemory(t *testing.T) {
	const large, blank = 1 << 30, 64 << 20 // blanks are looked at one by one
	tests := []struct {
		name, before string
		size         int64
		c            byte
		want         string
	}{
		{"without a newline", "", large, 'x', "[newline error newline {} header [] EOF]"},
		{"of an object without a newline", "{", large, ' ', "[newline error newline {} header [] EOF]"},
		{"of body too large", "Content-Length: 1073741824\r\n\r\n{", large, 'x', "[header error newline {} header [] EOF]"},
		{"of noise after a length that lies", "Content-Length: 4000000000\r\n\r\n", large, 'x', "[header error newline {} header [] EOF]"},
		{"of empty lines", "", blank, '\n', "[newline {} header [] EOF]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			src := io.MultiReader(strings.NewReader(tt.before), newEndless(tt.size, tt.c, "\n{}\n"+header("[]")))
			r := NewReader(src, 1<<20)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, _ := events(r)
			runtime.ReadMemStats(&after)
			if fmt.Sprint(got) != tt.want {
				t.Errorf("got %q, want %s", got, tt.want)
			}
			// Doubling up to the limit allocates less than twice the limit, once.
			if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
				t.Errorf("allocated %d bytes", n)
			}
			if len(r.buf) > keepBuf {
				t.Errorf("keeps %d bytes", len(r.buf))
			}
		})
	}
}

// A reader that looked at a byte twice would not end.
func TestReaderDripOfLongMessageIsLinear(t *testing.T) {
	msg := "{" + strings.Repeat("x", 4<<20-2) + "}"
	for _, in := range []string{msg + "\n", header(msg)} {
		r := NewReader(iotest.OneByteReader(strings.NewReader(in)), 0)
		got, mode, err := r.Next()
		if err != nil || string(got) != msg {
			t.Errorf("%v: %d bytes, %v", mode, len(got), err)
		}
	}
}

func TestReaderDropsBufferOfLongMessage(t *testing.T) {
	long := "{" + strings.Repeat("x", 1<<20) + "}"
	for _, in := range []string{long + "\n", header(long)} {
		r := NewReader(&chunks{parts: []string{"{}\n", in, "{}\n", in, "{}\n[]"}}, 0)
		for i, size := range []int{2, len(long), 2, len(long), 2} {
			msg, _, err := r.Next()
			if err != nil || len(msg) != size {
				t.Fatalf("message %d: %d bytes, %v; want %d", i, len(msg), err, size)
			}
			if size == 2 && len(r.buf) > keepBuf && i < 4 {
				t.Errorf("message %d: buffer of %d bytes stays", i, len(r.buf))
			}
			if len(r.buf) > r.max+maxBlock+2 {
				t.Errorf("message %d: buffer of %d bytes", i, len(r.buf))
			}
		}
	}
}

// loop gives the same bytes for ever, whole at each read where there is room.
type loop struct {
	data []byte
	at   int
}

func (l *loop) Read(p []byte) (int, error) {
	n := copy(p, l.data[l.at:])
	l.at = (l.at + n) % len(l.data)
	return n, nil
}

const call = `{"jsonrpc":"2.0","id":1234,"method":"tools/call","params":{"name":"gpio_read","arguments":{"line":"GPIO17"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`

var steady = []struct{ name, in string }{
	{"newline", call + "\n"},
	{"header", header(call)},
	{"header and type", "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n" + header(call)},
}

func TestReaderAllocatesNothingWhenWarm(t *testing.T) {
	for _, tt := range steady {
		r := NewReader(&loop{data: []byte(strings.Repeat(tt.in, 3))}, 0)
		n := testing.AllocsPerRun(1000, func() {
			if msg, _, err := r.Next(); err != nil || len(msg) != len(call) {
				t.Fatal(len(msg), err)
			}
			r.Buffered()
		})
		if n != 0 {
			t.Errorf("%s: %v allocations a message", tt.name, n)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte("{}\n[]\r\n\n"+header("{}")), byte(3), byte(40))
	f.Add([]byte("Content-Length: 4000000000\r\n\r\n{}"+header("[]")), byte(1), byte(9))
	f.Add([]byte("Content-Length : 2\r\n\r\n{}\nContent-Length: 2\r\nContent-Length: 3\n\n{}"), byte(7), byte(0))
	f.Add([]byte("X: y\r\nContent-Type: a/b;charset=utf-16\r\nContent-Length: 2\r\n\r\n{}[1]"), byte(20), byte(200))
	f.Add([]byte("\xef\xbb\xbf{}\nerror: no\nlogin: \r\n\x00\n"+strings.Repeat("x", 300)+header("{}")), byte(5), byte(100))
	f.Add([]byte("xContent-Length:1\nContent-Length:9 \n\nContent-Length: 3"), byte(2), byte(16))
	f.Add([]byte("X: "+strings.Repeat("y", 4095)+"\r\n"+strings.Repeat("A: b\n", 20)+header("{}")), byte(255), byte(3))
	f.Add([]byte("Content-Type: "+strings.Repeat("y", 4080)+"\nContent-Length: 2\n\n{}"+strings.Repeat("z", 5000)+header("{}")), byte(90), byte(0))
	f.Fuzz(func(t *testing.T, in []byte, chunk, limit byte) {
		most := 1 + int(limit)
		read := func(src io.Reader) (got []string) {
			r := NewReader(src, most)
			for {
				promised := r.Buffered()
				msg, mode, err := r.Next()
				if len(r.buf) > most+maxBlock+2 {
					t.Fatalf("buffer of %d bytes", len(r.buf))
				}
				var broken *Error
				switch {
				case errors.As(err, &broken):
					if broken.Reason == "" || strings.ContainsFunc(broken.Reason, func(c rune) bool { return c < ' ' || c > '~' }) {
						t.Fatalf("reason %q", broken.Reason)
					}
					got = append(got, mode.String()+" error")
				case err == io.EOF:
					return got
				case err != nil:
					t.Fatal(err)
				default:
					if len(msg) == 0 || len(msg) > most || mode == Newline && bytes.IndexByte(msg, '\n') >= 0 {
						t.Fatalf("%v message %q, limit %d", mode, msg, most)
					}
					got = append(got, mode.String()+" "+string(msg))
				}
				if len(got) > len(in) {
					t.Fatalf("%d events of %d bytes, buffered %v", len(got), len(in), promised)
				}
			}
		}
		whole := read(bytes.NewReader(in))
		split := read(&sized{in, 1 + int(chunk)})
		if fmt.Sprintf("%q", whole) != fmt.Sprintf("%q", split) {
			t.Fatalf("in chunks of %d:\n%q\nwhole:\n%q", 1+int(chunk), split, whole)
		}
	})
}

// sized is a source that gives n bytes a read.
type sized struct {
	data []byte
	n    int
}

func (s *sized) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.data[:min(s.n, len(s.data))])
	s.data = s.data[n:]
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	long := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
	cases := append(steady,
		struct{ name, in string }{"newline 1 MiB", long + "\n"},
		struct{ name, in string }{"header 1 MiB", header(long)})
	for _, tt := range cases {
		for _, mode := range []struct {
			name  string
			times int
		}{{"single", 1}, {"pipelined", 64}} {
			if len(tt.in) > 1<<20 && mode.times > 1 {
				continue
			}
			b.Run(tt.name+"/"+mode.name, func(b *testing.B) {
				r := NewReader(&loop{data: []byte(strings.Repeat(tt.in, mode.times))}, 0)
				b.SetBytes(int64(len(tt.in)))
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := r.Next(); err != nil {
						b.Fatal(err)
					}
					r.Buffered()
				}
			})
		}
	}
}
