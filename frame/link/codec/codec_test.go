package codec

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
)

const window = Window

// session gives what a client and boardhand's server with a simulated board said
// to each other: the client's messages begin with "> ", the server's with "< ".
// Made by a script that wrote the client's lines to `boardhand serve --board sim`.
func session(t testing.TB, revision string) (lines []string) {
	text, err := os.ReadFile("testdata/session-" + revision + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// pair is both ends of a stream.
type pair struct {
	t testing.TB
	e *Encoder
	d *Decoder
}

func newPair(t testing.TB, window int) *pair {
	return &pair{t, NewEncoder(window), NewDecoder(window)}
}

// send takes msg through both ends and gives its coded size.
func (p *pair) send(msg []byte) int { p.t.Helper(); return p.take(msg, p.e.Encode(nil, msg)) }

// store does the same for a message that is not coded.
func (p *pair) store(msg []byte) int { p.t.Helper(); return p.take(msg, p.e.Store(nil, msg)) }

func (p *pair) reset() { p.e.Reset(); p.d.Reset() }

func (p *pair) take(msg, coded []byte) int {
	p.t.Helper()
	if len(coded) < 1 || len(coded) > len(msg)+1 {
		p.t.Fatalf("%d bytes are coded to %d: %.80q", len(msg), len(coded), msg)
	}
	got, err := p.d.Decode(nil, coded, len(msg))
	if err != nil {
		p.t.Fatalf("%v: %.80q coded to %.80x", err, msg, coded)
	}
	if !bytes.Equal(got, msg) {
		p.t.Fatalf("got  %.200q\nwant %.200q", got, msg)
	}
	return len(coded)
}

func TestSessionsAreCodedSmall(t *testing.T) {
	if raceDetector {
		t.Skip("counts bytes; run without -race")
	}
	// Bytes allowed: of all lists and hellos together each way, of the first list of
	// tools, and of a call and its answer on average after the first 16.
	tests := []struct {
		revision                         string
		asking, telling, list            int
		call, answer, gpioAnswer, sensor float64
	}{
		{"2026-07-28", 70, 1750, 1370, 3, 6.5, 4.8, 15.5},
		{"2025-11-25", 60, 1720, 1350, 6, 17, 0, 0},
		{"2025-06-18", 55, 1710, 1350, 3, 9.2, 6.6, 13.5},
		{"2025-03-26", 60, 1690, 1350, 7.5, 13, 0, 0},
		{"2024-11-05", 55, 1690, 1350, 8, 17, 0, 0},
		{"1.0", 40, 4800, 3400, 10.5, 22, 0, 0}, // its lists have output schemas and prompts
	}
	for _, tt := range tests {
		t.Run(tt.revision, func(t *testing.T) {
			requests, answers := newPair(t, window), newPair(t, window)
			var asking, telling, list, calls int
			var call, answer, gpioAnswer, sensor mean
			tool := ""
			for _, line := range session(t, tt.revision) {
				msg := []byte(line[2:])
				if line[0] == '>' {
					n := requests.send(msg)
					tool = between(line, `"method":"tools/call","params":{"name":"`, `"`) + between(line, `/tools/`, `:`)
					switch {
					case tool == "":
						asking += n
					default:
						if calls++; calls > 16 || tt.gpioAnswer == 0 {
							call.add(n)
						}
					}
					continue
				}
				n := answers.send(msg)
				switch {
				case tool == "":
					telling += n
					if len(msg) > 5000 && list == 0 {
						list = newPair(t, window).send(msg)
					}
				case calls <= 16 && tt.gpioAnswer != 0:
				case strings.HasPrefix(tool, "gpio"):
					gpioAnswer.add(n)
					answer.add(n)
				default:
					sensor.add(n)
					answer.add(n)
				}
			}
			t.Logf("lists: asking %d, telling %d, first list of tools %d; call %v, answer %v (gpio %v, sensors %v)",
				asking, telling, list, call, answer, gpioAnswer, sensor)
			if asking > tt.asking || telling > tt.telling || list > tt.list || call.value() > tt.call || answer.value() > tt.answer ||
				tt.gpioAnswer > 0 && (gpioAnswer.value() > tt.gpioAnswer || sensor.value() > tt.sensor) {
				t.Errorf("larger than is allowed: %+v", tt)
			}
		})
	}
}

func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, ok := strings.Cut(s, after)
	if !ok {
		return ""
	}
	return s
}

type mean struct{ sum, n int }

func (m *mean) add(x int)     { m.sum += x; m.n++ }
func (m mean) value() float64 { return float64(m.sum) / float64(max(m.n, 1)) }
func (m mean) String() string { return fmt.Sprintf("%.1f", m.value()) }

func text(r *rand.Rand, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = " {}\",:0123456789abcdefghij\\\n"[r.IntN(28)]
	}
	return s
}

func noise(r *rand.Rand, n int) []byte {
	s := make([]byte, n)
	for i := range s {
		s[i] = byte(r.Uint32())
	}
	return s
}

// changed gives msg with a few bytes changed, left out or put in.
func changed(r *rand.Rand, msg []byte) []byte {
	msg = bytes.Clone(msg)
	for range r.IntN(4) {
		i := r.IntN(len(msg) + 1)
		j := min(len(msg), i+r.IntN(4))
		msg = append(append(bytes.Clone(msg[:i]), noise(r, r.IntN(4))...), msg[j:]...)
	}
	return msg
}

func TestAnyBytesComeBackAsTheyWere(t *testing.T) {
	var said [][]byte
	for _, line := range session(t, "2025-06-18") {
		said = append(said, []byte(line[2:]))
	}
	seeds, rounds := uint64(5), 300
	if raceDetector {
		seeds, rounds = 1, 30
	}
	for seed := range seeds {
		for _, window := range []int{1 << 13, 1 << 14, 1 << 15} {
			r := rand.New(rand.NewPCG(seed, uint64(window)))
			p := newPair(t, window)
			last := []byte{}
			for range rounds {
				switch r.IntN(12) {
				case 0:
					last = noise(r, r.IntN(3000))
				case 1:
					last = text(r, r.IntN(300))
				case 2, 3:
					last = said[r.IntN(len(said))]
				case 4:
					last = bytes.Repeat([]byte{byte(r.Uint32())}, r.IntN(5000))
				case 5:
					last = nil
				case 6:
					if r.IntN(20) == 0 {
						p.reset()
					}
				case 7:
					if r.IntN(2) == 0 {
						last = text(r, r.IntN(window*5/4))
					}
					p.store(last)
				default:
					last = changed(r, last)
				}
				p.send(last)
			}
		}
	}
}

// The counter of places is 32 bits wide, and every 64 KiB has the same places in
// the tables: both ends must agree when it comes round.
func TestPlacesMayComeRound(t *testing.T) {
	for _, pos := range []uint32{1<<16 - 200, 1<<32 - 40_000, 1<<32 - 300} {
		p := newPair(t, window)
		p.send([]byte("{}"))
		p.e.pos, p.d.pos, p.e.start, p.d.start = pos, pos, 0, 0
		for _, line := range session(t, "2025-06-18") {
			p.send([]byte(line[2:]))
		}
	}
}

func TestNoiseGrowsByOneByte(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	p := newPair(t, window)
	for _, n := range []int{0, 1, 10, 100, 1000, 100_000} {
		if raceDetector && n > 1000 {
			break
		}
		for range 10 {
			if got := p.send(noise(r, n)); got > n+1 {
				t.Errorf("%d random bytes are coded to %d", n, got)
			}
		}
	}
}

func TestCorruptMessagesEnd(t *testing.T) {
	const max = 3000
	rounds := 20
	if raceDetector {
		rounds = 2
	}
	r := rand.New(rand.NewPCG(3, 4))
	e, d := NewEncoder(window), NewDecoder(window)
	dst := make([]byte, 0, max)
	refused := 0
	for _, line := range session(t, "2026-07-28")[:60] {
		coded := e.Encode(nil, []byte(line[2:]))
		for range rounds {
			bad := changed(r, coded)
			d.Reset()
			got, err := d.Decode(dst, bad, max)
			if err != nil {
				refused++
			}
			if len(got) > max || &got[:1][0] != &dst[:1][0] {
				t.Fatalf("%x: %d bytes where %d are allowed", bad, len(got), max)
			}
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
	if _, err := d.Decode(nil, nil, max); !errors.Is(err, errCorrupt) {
		t.Errorf("no bytes at all: %v", err)
	}
}

func TestLengthIsLimited(t *testing.T) {
	for _, msg := range [][]byte{bytes.Repeat([]byte("ab"), 500), noise(rand.New(rand.NewPCG(5, 6)), 1000)} {
		for max, allowed := range map[int]bool{0: false, 999: false, 1000: true} {
			coded := NewEncoder(window).Encode(nil, msg)
			got, err := NewDecoder(window).Decode([]byte("before"), coded, max)
			if allowed != (err == nil) || len(got) > 6+max || !bytes.HasPrefix(got, []byte("before")) {
				t.Errorf("at most %d of 1000 bytes: %d, %v", max, len(got), err)
			}
			if allowed && !bytes.Equal(got[6:], msg) {
				t.Errorf("got %.40q", got)
			}
		}
	}
}

// An ID stands for the coding, its numbers and its dictionary: a change of the sum
// needs a new ID. It is the same on every machine.
func TestCodingIsThatOfItsID(t *testing.T) {
	if raceDetector {
		t.Skip("a sum over much text; run without -race")
	}
	r := rand.New(rand.NewPCG(11, 12))
	h := uint32(2166136261)
	sum := func(coded []byte) {
		for _, c := range coded {
			h = (h ^ uint32(c)) * 16777619
		}
	}
	for _, window := range []int{1 << 13, 1 << 15} {
		e := NewEncoder(window)
		for _, revision := range []string{"2025-06-18", "1.0", "2026-07-28"} {
			for i, line := range session(t, revision) {
				msg := []byte(line[2:])
				sum(e.Encode(nil, msg))
				switch i % 16 {
				case 3:
					sum(e.Encode(nil, changed(r, msg)))
				case 7:
					sum(e.Encode(nil, text(r, 500)))
				case 11:
					sum(e.Encode(nil, noise(r, 100)))
				case 15:
					sum(e.Store(nil, text(r, 9000)))
				}
			}
		}
	}
	if frozen := uint32(0xcdf336b3); ID == 1 && h != frozen {
		t.Errorf("what is coded has the sum %#x; that of ID 1 is %#x", h, frozen)
	}
}

func TestTheDictionaryFitsTheLeastWindow(t *testing.T) {
	if most := 1<<13 - behind - ahead; len(dictionary) > most {
		t.Errorf("the dictionary has %d bytes; a window of 8 KiB holds %d", len(dictionary), most)
	}
	if !bytes.HasSuffix(dictionary, []byte{term}) || bytes.Contains(dictionary, []byte("\r")) || bytes.Contains(dictionary, []byte("\n\n")) {
		t.Error("the dictionary has a line that does not end with a line feed alone, or an empty one")
	}
}

var eachLine = flag.Bool("lines", false, "say what the sessions would cost without each line of the dictionary")

// Not a test, but what is needed to make a dictionary: see the package's documentation.
func TestEachLineOfTheDictionary(t *testing.T) {
	if !*eachLine {
		t.Skip("takes a while; -lines does it")
	}
	whole := dictionary
	defer func() { dictionary = whole }()
	cost := func() (n int) {
		for _, revision := range []string{"2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "1.0"} {
			up, down := NewEncoder(window), NewEncoder(window)
			for _, line := range session(t, revision) {
				if line[0] == '>' {
					n += len(up.Encode(nil, []byte(line[2:])))
				} else {
					n += len(down.Encode(nil, []byte(line[2:])))
				}
			}
		}
		return n
	}
	all := cost()
	t.Logf("all sessions take %d bytes", all)
	lines := bytes.SplitAfter(whole, []byte{term})
	for i, line := range lines[:len(lines)-1] {
		dictionary = bytes.Join(append(append([][]byte{}, lines[:i]...), lines[i+1:]...), nil)
		t.Logf("%5d for %5d bytes: %.100s", cost()-all, len(line), line)
	}
}

// What an end keeps is measured, as the memory of Go is given out in sizes.
func TestMemoryIsBounded(t *testing.T) {
	if raceDetector {
		t.Skip("memory is another one; run without -race")
	}
	const ends = 8
	msg := noise(rand.New(rand.NewPCG(13, 14)), 40_000)
	dst := make([]byte, 0, 200_000)
	for window, allowed := range map[int]int{1 << 13: 40 << 10, 1 << 14: 48 << 10, 1 << 15: 64 << 10} {
		var e [ends]*Encoder
		var d [ends]*Decoder
		before := heap()
		for i := range e {
			e[i], d[i] = NewEncoder(window), NewDecoder(window)
			for _, coded := range [][]byte{e[i].Encode(dst, msg), e[i].Store(dst, msg), e[i].Encode(dst, nil)} {
				if _, err := d[i].Decode(make([]byte, 0, len(msg)), coded, len(msg)); err != nil {
					t.Fatal(err)
				}
			}
		}
		n := (heap() - before) / (2 * ends)
		runtime.KeepAlive(&e)
		runtime.KeepAlive(&d)
		t.Logf("with a window of %d an end keeps %d bytes", window, n)
		if n > allowed+allowed/100 {
			t.Errorf("with a window of %d an end keeps %d bytes; %d are allowed", window, n, allowed)
		}
	}
}

func heap() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func TestALargeMessageComesBack(t *testing.T) {
	size := 4 << 20
	if raceDetector {
		size = 1 << 17
	}
	r := rand.New(rand.NewPCG(15, 16))
	large := noise(r, size/4)
	for len(large) < size*3/4 {
		large = append(large, text(r, 1000)...)
	}
	for i := 0; len(large) < size; i++ {
		large = fmt.Appendf(large, `{"line":"GPIO%d","level":%d},`, r.IntN(28), i%2)
	}
	p := newPair(t, 1<<15)
	p.send([]byte("{}"))
	n := p.send(large)
	t.Logf("%d bytes of noise, letters and JSON are coded to %d", len(large), n)
	p.store(large)
	p.store(large[:1<<15])
	p.store(large[:1<<15-1])
	p.send(large[size/2 : size/2+1<<16])
	p.send([]byte("{}"))
}

// What a client may write for an id or a number must come back letter for letter.
func TestJSONComesBackLetterForLetter(t *testing.T) {
	ids := []string{`0`, `-0`, `-0.0`, `1e400`, `-1E+400`, `1e-400`, `9223372036854775807`, `9223372036854775808`, `18446744073709551616`,
		`0.1000000000000000055511151231257827`, `1.0`, `1`, `1.00`, `01`, `99`, `100`, `999999999`, `1000000000`, `""`, `"a\u0000b"`, `"\u00e9"`, `"é"`, `"\ud800"`,
		`"\/"`, `"\\\"\\"`, `null`, `"id\n"`, "\"\x80\xff\"", `"𝄞"`, `"\ud834\udd1e"`, `{"a":1,"a":2,"a":1}`, `[[[[[]]]]]`, `true`, ` 1 `, "\t1\r", `"\\\\\\"`}
	shapes := []string{
		`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"gpio_write","arguments":{"line":%s,"level":1}}}`,
		`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"{\"value\":%s}"}],"structuredContent":{"value":%[2]s}}}`,
		`{"id":%s,"id":%s,"id":%[1]s}`,
		"{ \"id\" :%s ,\r\n\"x\":\t%s}",
	}
	seeds := uint64(8)
	if raceDetector {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 17))
		p := newPair(t, 1<<(13+r.IntN(3)))
		pick := func() string {
			switch r.IntN(4) {
			case 0:
				return fmt.Sprintf("%s%d%s", []string{"", "-", "0", "\"9"}[r.IntN(4)], r.Uint64()>>r.IntN(64), []string{"", ".0", "e9", "9\""}[r.IntN(4)])
			case 1:
				return fmt.Sprint(r.IntN(3) + 98)
			}
			return ids[r.IntN(len(ids))]
		}
		for range 500 {
			p.send(fmt.Appendf(nil, shapes[r.IntN(len(shapes))], pick(), pick()))
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	e, d := NewEncoder(window), NewDecoder(window)
	coded, msg := make([]byte, 0, 10000), make([]byte, 0, 10000)
	lines := session(t, "2026-07-28")
	var messages [][]byte
	for _, line := range lines {
		messages = append(messages, []byte(line[2:]))
	}
	messages = append(messages, noise(rand.New(rand.NewPCG(7, 8)), 5000))
	i := 0
	if n := testing.AllocsPerRun(len(messages), func() {
		coded = e.Encode(coded[:0], messages[i%len(messages)])
		var err error
		if msg, err = d.Decode(msg[:0], coded, 10000); err != nil {
			t.Fatal(err)
		}
		if i++; i%100 == 0 {
			e.Reset()
			d.Reset()
		}
	}); n != 0 {
		t.Errorf("a message allocates %v times", n)
	}
}

func FuzzDecode(f *testing.F) {
	e := NewEncoder(1 << 13)
	for _, line := range session(f, "2025-06-18")[:30] {
		f.Add(e.Encode(nil, []byte(line[2:])))
		e.Reset()
	}
	f.Add(e.Encode(nil, bytes.Repeat([]byte("0123456789"), 400)))
	f.Add([]byte{})
	f.Add([]byte{learnt, '{', '}'})
	f.Add([]byte{stored, '{', '}'})
	f.Add([]byte{stored - 1, 0xFF, 0xFF, 0xFF, 0xFF})
	d, again := NewDecoder(1<<13), NewDecoder(1<<13)
	dst := make([]byte, 0, 5000)
	f.Fuzz(func(t *testing.T, coded []byte) {
		d.Reset()
		for i := range 2 { // the second goes on where an error left it
			got, err := d.Decode(dst, coded, 5000)
			if cap(got) != cap(dst) || len(got) > 5000 {
				t.Fatalf("%d bytes", len(got))
			}
			if i > 0 {
				continue
			}
			again.Reset()
			if same, e := again.Decode(nil, coded, 5000); !bytes.Equal(got, same) || (err == nil) != (e == nil) {
				t.Fatalf("once %q, %v, then %q, %v", got, err, same, e)
			}
		}
	})
}

// A sequence of messages: each byte of how says what is done next, with the pieces
// that zeros make of said.
func FuzzRoundTrip(f *testing.F) {
	lines := session(f, "2025-06-18")
	for i := range lines[:20] {
		f.Add([]byte{0, 1, 0, 9, 2, 0, 16, 0}, []byte(lines[i][2:]+"\x00"+lines[i+2][2:]))
	}
	f.Add([]byte{0, 0, 5, 0, 0, 0}, []byte("\n\n\\n\n\x00\xff\xfe\x00\xfe"))
	f.Add([]byte{}, []byte{})
	f.Add([]byte{0, 0, 0, 3, 0, 0, 2, 0, 0}, []byte("{\"id\":99}\x00{\"id\":100}"))
	p := newPair(f, 1<<13)
	f.Fuzz(func(t *testing.T, how, said []byte) {
		p.t = t
		p.reset()
		pieces := bytes.Split(said, []byte{0})
		for i, h := range how[:min(len(how), 64)] {
			msg := pieces[i%len(pieces)]
			switch h % 8 {
			case 2:
				p.store(msg)
			case 3:
				p.send(said)
			case 4:
				p.send(bytes.Repeat(msg, int(h)/8))
			case 5:
				p.reset()
			default:
				p.send(msg)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) { benchmark(b, false) }
func BenchmarkDecode(b *testing.B) { benchmark(b, true) }

func benchmark(b *testing.B, decode bool) {
	var calls, answers [][]byte
	for _, line := range session(b, "2026-07-28") {
		switch {
		case !strings.Contains(line, "tools/call") && !strings.Contains(line, "content"):
		case line[0] == '>':
			calls = append(calls, []byte(line[2:]))
		default:
			answers = append(answers, []byte(line[2:]))
		}
	}
	large := []byte{}
	for _, revision := range []string{"1.0", "2024-11-05"} {
		for _, line := range session(b, revision) {
			large = append(large, line...)
		}
	}
	for _, bb := range []struct {
		name     string
		messages [][]byte
	}{{"call", calls}, {"answer", answers}, {"large", [][]byte{large}}, {"noise", [][]byte{noise(rand.New(rand.NewPCG(9, 1)), 10_000)}}} {
		b.Run(bb.name, func(b *testing.B) {
			e, d := NewEncoder(window), NewDecoder(window)
			var coded [][]byte
			size := 0
			for _, msg := range bb.messages {
				coded = append(coded, e.Encode(nil, msg))
				size += len(msg)
			}
			b.SetBytes(int64(size / len(bb.messages)))
			b.ReportAllocs()
			dst := make([]byte, 0, 100_000)
			i := 0
			for b.Loop() {
				if i == len(coded) {
					i = 0
					if decode || bb.name == "large" {
						b.StopTimer()
						e.Reset()
						d.Reset()
						e.prime()
						d.prime()
						b.StartTimer()
					}
				}
				if decode {
					if _, err := d.Decode(dst, coded[i], cap(dst)); err != nil {
						b.Fatal(err)
					}
				} else {
					e.Encode(dst, bb.messages[i])
				}
				i++
			}
		})
	}
}

func BenchmarkStore(b *testing.B) {
	e, d := NewEncoder(1<<15), NewDecoder(1<<15)
	msg := noise(rand.New(rand.NewPCG(9, 1)), 100_000)
	dst, got := make([]byte, 0, 200_000), make([]byte, 0, 200_000)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		dst = e.Store(dst[:0], msg)
		if _, err := d.Decode(got, dst, len(msg)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPrime(b *testing.B) {
	e := NewEncoder(window)
	b.ReportAllocs()
	for b.Loop() {
		e.prime()
	}
}
