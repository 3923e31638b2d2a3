package httpfront

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// inStack says how many goroutines have a function in their stacks.
func inStack(function string) (n int) {
	all := make([]byte, 8<<20)
	for g := range strings.SplitSeq(string(all[:runtime.Stack(all, true)]), "\n\n") {
		if strings.Contains(g, function) {
			n++
		}
	}
	return n
}

// answered reads a response of aCall.
func answered(t *testing.T, in *bufio.Reader) {
	t.Helper()
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
		t.Fatalf("status %d, %v: %s", res.StatusCode, err, text)
	}
}

const served1 = "net/http.(*conn).serve("

func TestConnectionsThatWaitAreParkedAndGoOn(t *testing.T) {
	url, s := serve(t, func(c *Config) { c.Connections = 101 })
	before := inStack(served1)
	const n = 100
	conns, readers := make([]net.Conn, n), make([]*bufio.Reader, n)
	for round := range 3 {
		for i := range conns {
			switch {
			case round == 0:
				conns[i], readers[i] = raw(t, url, aCall)
			case i%2 == 0:
				_, _ = io.WriteString(conns[i], aCall)
			default: // in pieces, of which the first ends the parking
				_, _ = io.WriteString(conns[i], aCall[:1])
				time.Sleep(time.Millisecond)
				_, _ = io.WriteString(conns[i], aCall[1:3])
				time.Sleep(time.Millisecond)
				_, _ = io.WriteString(conns[i], aCall[3:])
			}
		}
		for i := range readers {
			answered(t, readers[i])
		}
		deadline := time.Now().Add(linger + 10*time.Second)
		for inStack(served1) > before {
			if time.Now().After(deadline) {
				t.Fatalf("round %d: net/http has %d connections still", round, inStack(served1)-before)
			}
			time.Sleep(50 * time.Millisecond)
		}
	}

	// They count as connections all the time, until their clients close them.
	_, in := raw(t, url, aCall)
	answered(t, in)
	extra, in := raw(t, url, aCall)
	if _, err := in.ReadByte(); err == nil {
		t.Error("there is one more than the limit")
	}
	_ = extra.Close()
	for _, c := range conns[:n/2] {
		_ = c.Close()
	}
	deadline := time.Now().Add(10 * time.Second)
	for waiting := n; waiting > n/2; time.Sleep(10 * time.Millisecond) {
		if waiting = inStack("(*parking).wait("); time.Now().After(deadline) {
			t.Fatalf("%d are parked still", waiting)
		}
	}
	served(t, url)

	s.Close()
	for _, in := range readers[n/2:] { // whose connections are parked
		if _, err := in.ReadByte(); err == nil {
			t.Error("a byte came after the end")
		}
	}
}

// What came with the request before is no new one: nothing of it gets lost.
func TestRequestsSentAtOnceAreNotParked(t *testing.T) {
	url, _ := serve(t, nil)
	c, in := raw(t, url, aCall+aCall+aCall[:10])
	answered(t, in)
	answered(t, in)
	time.Sleep(linger + linger/2)
	_, _ = io.WriteString(c, aCall[10:])
	answered(t, in)
}

func TestQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int32
		q := newQuiet(func() { told.Add(1) })
		time.Sleep(time.Hour)
		if n := told.Load(); n != 0 {
			t.Errorf("told %d times of nothing", n)
		}
		for range 10 {
			q.request()
			time.Sleep(quietAfter / 2)
		}
		if n := told.Load(); n != 0 {
			t.Errorf("told %d times while requests came", n)
		}
		for want := int32(1); want < 3; want++ {
			time.Sleep(3 * quietAfter)
			if n := told.Load(); n != want {
				t.Errorf("told %d times, want %d", n, want)
			}
			q.request()
		}
	})
}
