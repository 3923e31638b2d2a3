package device

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A model that keeps everything says the same.
func TestReceiverKeepsTheLastBytes(t *testing.T) {
	var r Receiver
	var all []byte
	rng := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		p := make([]byte, rng.IntN(2000))
		if rng.IntN(50) == 0 {
			p = make([]byte, ReceiverSize+rng.IntN(2000))
		}
		for i := range p {
			p[i] = byte(rng.Uint32())
		}
		r.Put(p)
		all = append(all, p...)
		start, end := r.Bounds()
		if end != uint64(len(all)) || start != end-min(end, ReceiverSize) {
			t.Fatalf("%d to %d of %d", start, end, len(all))
		}
		from := uint64(rng.Int64N(int64(end) + 10))
		dst := make([]byte, rng.IntN(3000))
		n, first := r.ReadAt(dst, from)
		want := all[min(max(from, start), end):]
		want = want[:min(len(want), len(dst))]
		if !bytes.Equal(dst[:n], want) || first != max(from, start) {
			t.Fatalf("%d bytes from %d for %d", n, first, from)
		}
		if len(want) > 4 {
			pattern := string(want[1:4])
			at, found := r.Find([]string{"no such pattern", pattern}, from)
			if !found || at != max(from, start)+uint64(bytes.Index(all[max(from, start):], []byte(pattern))+3) {
				t.Fatalf("%q at %d, %v", pattern, at, found)
			}
		}
	}
}

func TestReceiverFindsTheFirstWholePattern(t *testing.T) {
	var r Receiver
	r.Put([]byte("AT\r\r\nERROR\r\nOK\r\n"))
	for _, c := range []struct {
		patterns []string
		from     uint64
		end      uint64
		found    bool
	}{
		{[]string{"OK", "ERROR"}, 0, 10, true}, {[]string{"OK", "ERROR"}, 6, 14, true}, {[]string{"\n"}, 0, 5, true},
		{[]string{"OK\r\n"}, 0, 16, true}, {[]string{"OK\r\n!"}, 0, 0, false}, {nil, 0, 0, false}, {[]string{"OK"}, 99, 0, false},
	} {
		if end, found := r.Find(c.patterns, c.from); end != c.end || found != c.found {
			t.Errorf("%q from %d: %d, %v", c.patterns, c.from, end, found)
		}
	}
}

func TestReceiverWakesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r Receiver
		var wg sync.WaitGroup
		for i := range 3 {
			wg.Go(func() {
				if more, err := r.Wait(uint64(i), time.Now().Add(time.Hour)); !more || err != nil {
					t.Errorf("%v, %v", more, err)
				}
			})
		}
		time.Sleep(time.Minute)
		begin := time.Now()
		r.Put([]byte("abc"))
		wg.Wait()
		if more, err := r.Wait(3, begin.Add(time.Second)); more || err != nil || time.Since(begin) != time.Second {
			t.Errorf("%v, %v after %v", more, err, time.Since(begin))
		}
		gone := errors.New("gone")
		wg.Go(func() {
			if more, err := r.Wait(3, time.Now().Add(time.Hour)); more || err != gone {
				t.Errorf("%v, %v", more, err)
			}
		})
		time.Sleep(time.Minute)
		r.Fail(gone)
		r.Fail(errors.New("another"))
		wg.Wait()
		// What came before the end can still be read.
		if more, err := r.Wait(2, time.Time{}); !more || err != nil {
			t.Errorf("%v, %v", more, err)
		}
		if r.Err() != gone {
			t.Error(r.Err())
		}
	})
}

func TestReceiverAllocatesNothingOnceWarm(t *testing.T) {
	var r Receiver
	p, dst := make([]byte, 300), make([]byte, 300)
	patterns := []string{"zz"}
	r.Put(p)
	if n := testing.AllocsPerRun(1000, func() {
		r.Put(p)
		_, end := r.Bounds()
		r.ReadAt(dst, end-300)
		r.Find(patterns, end-300)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
