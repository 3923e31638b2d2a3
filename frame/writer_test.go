package frame

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

// sink takes at most n bytes a write, all where n is 0.
type sink struct {
	bytes.Buffer
	n      int
	writes int
	err    error
}

func (s *sink) Write(p []byte) (int, error) {
	s.writes++
	if s.err != nil {
		return 0, s.err
	}
	if s.n > 0 && len(p) > s.n {
		p = p[:s.n]
	}
	return s.Buffer.Write(p)
}

func put(w *Writer, msg string, mode Mode) { w.End(append(w.Begin(), msg...), mode) }

func TestWriterWritesAllAtOnce(t *testing.T) {
	var dst sink
	w := NewWriter(&dst)
	put(w, "{}", Newline)
	put(w, "[1,2,3,4,5,6]", Header)
	put(w, "", Header)
	w.Begin()
	w.Abort()
	_ = append(w.Begin(), "dropped"...)
	w.Abort()
	put(w, "[]", Newline)
	const want = "{}\nContent-Length: 13\r\n\r\n[1,2,3,4,5,6][]\n"
	if w.Len() != len(want) || dst.writes != 0 {
		t.Errorf("Len %d, %d writes; want %d, 0", w.Len(), dst.writes, len(want))
	}
	if err := w.Flush(); err != nil || dst.String() != want || dst.writes != 1 {
		t.Errorf("wrote %q in %d writes, %v", dst.String(), dst.writes, err)
	}
	if err := w.Flush(); err != nil || dst.writes != 1 || w.Len() != 0 {
		t.Errorf("with nothing pending: %d writes, Len %d, %v", dst.writes, w.Len(), err)
	}
}

func TestWriterGoesOnAfterShortWrites(t *testing.T) {
	dst := sink{n: 3}
	w := NewWriter(&dst)
	put(w, `{"a":1}`, Header)
	if err := w.Flush(); err != nil || dst.String() != header(`{"a":1}`) {
		t.Errorf("wrote %q, %v", dst.String(), err)
	}
	if err := NewWriter(writeFunc(func([]byte) (int, error) { return 0, nil })).flushOf("x"); err != io.ErrShortWrite {
		t.Errorf("a destination that takes nothing: %v", err)
	}
}

type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(p []byte) (int, error) { return f(p) }

func (w *Writer) flushOf(msg string) error {
	put(w, msg, Newline)
	return w.Flush()
}

func TestWriterErrorIsFinal(t *testing.T) {
	gone := errors.New("gone")
	dst := sink{err: gone}
	w := NewWriter(&dst)
	if err := w.flushOf("{}"); err != gone {
		t.Errorf("Flush: %v", err)
	}
	dst.err = nil
	for range 3 {
		if err := w.flushOf(strings.Repeat("x", 1000)); err != gone || w.Len() != 0 || dst.writes != 1 {
			t.Errorf("later Flush: %v, Len %d, %d writes", err, w.Len(), dst.writes)
		}
	}
}

func TestWriterDropsBufferOfLongMessage(t *testing.T) {
	w := NewWriter(io.Discard)
	if err := w.flushOf(strings.Repeat("x", 1<<20)); err != nil || cap(w.buf) > keepBuf {
		t.Errorf("keeps %d bytes, %v", cap(w.buf), err)
	}
}

func TestWriterMisusePanics(t *testing.T) {
	for name, misuse := range map[string]func(w *Writer){
		"Begin in a message": func(w *Writer) { w.Begin(); w.Begin() },
		"Flush in a message": func(w *Writer) { w.Begin(); w.Flush() },
		"End without Begin":  func(w *Writer) { w.End(nil, Newline) },
		"End after Abort":    func(w *Writer) { buf := w.Begin(); w.Abort(); w.End(buf, Newline) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			misuse(NewWriter(io.Discard))
		})
	}
}

func TestWrittenIsRead(t *testing.T) {
	var dst sink
	w := NewWriter(&dst)
	var want []string
	for n := 1; n < 3000; n += 1 + n/3 {
		msg := strings.Repeat("x", n)
		put(w, msg, Header)
		put(w, msg, Newline)
		want = append(want, "header "+msg, "newline "+msg)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	got, _ := events(NewReader(&dst, 0))
	if strings.Join(got, "\n") != strings.Join(append(want, "EOF"), "\n") {
		t.Errorf("got %.200q", got)
	}
}

func TestWriterAllocatesNothingWhenWarm(t *testing.T) {
	for _, mode := range []Mode{Newline, Header} {
		w := NewWriter(io.Discard)
		n := testing.AllocsPerRun(1000, func() {
			put(w, call, mode)
			put(w, call, mode)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		})
		if n != 0 {
			t.Errorf("%v: %v allocations", mode, n)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	long := `{"a":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, tt := range []struct {
		name, msg string
		mode      Mode
	}{
		{"newline", call, Newline}, {"header", call, Header},
		{"newline 1 MiB", long, Newline}, {"header 1 MiB", long, Header},
	} {
		b.Run(tt.name, func(b *testing.B) {
			w := NewWriter(io.Discard)
			b.SetBytes(int64(len(tt.msg)))
			b.ReportAllocs()
			for b.Loop() {
				if err := w.flushOf(tt.msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestTaggedMessagesCanBeTakenApart(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out)
	for i, text := range []string{"a", "", "bc"} {
		w.End(append(w.Begin(), text...), Tagged+Mode(i))
	}
	if err := w.Flush(); err != nil || out.String() != "a\n\x02bc\n\x04" {
		t.Errorf("%q, %v", out.String(), err)
	}
}
