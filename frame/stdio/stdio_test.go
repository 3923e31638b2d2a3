//go:build linux

package stdio

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pipes makes a stream and the other ends of its two pipes or sockets.
func pipes(t *testing.T, socket bool, alone func() bool) (s *Stream, feed, drain *os.File) {
	t.Helper()
	pair := func() (r, w int) {
		var fds [2]int
		var err error
		if socket {
			fds, err = syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		} else {
			err = syscall.Pipe(fds[:])
		}
		if err != nil {
			t.Fatal(err)
		}
		return fds[0], fds[1]
	}
	in, inFar := pair()
	outFar, out := pair()
	feed, drain = os.NewFile(uintptr(inFar), "feed"), os.NewFile(uintptr(outFar), "drain")
	t.Cleanup(func() {
		_ = feed.Close()
		_ = drain.Close()
		_ = syscall.Close(in)
		_ = syscall.Close(out)
	})
	return Open(in, out, alone), feed, drain
}

func always() bool { return true }

func TestBytesComeThrough(t *testing.T) {
	for name, alone := range map[string]func() bool{"alone": always, "not alone": nil} {
		for _, socket := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s, feed, drain := pipes(t, socket, alone)
				big := bytes.Repeat([]byte("0123456789abcdef"), 64<<10) // 1 MiB: more than a pipe holds
				go func() {
					_, _ = feed.Write(big)
					_ = feed.Close()
				}()
				got, err := io.ReadAll(s)
				if err != nil || !bytes.Equal(got, big) {
					t.Errorf("read %d bytes of %d: %v", len(got), len(big), err)
				}
				done := make(chan error, 1)
				go func() {
					_, err := s.Write(big)
					done <- err
				}()
				time.Sleep(30 * time.Millisecond) // the writer blocks on a full pipe
				back := make([]byte, len(big))
				if _, err := io.ReadFull(drain, back); err != nil || !bytes.Equal(back, big) {
					t.Errorf("what was written did not come whole: %v", err)
				}
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func TestANonBlockingParentIsWaitedFor(t *testing.T) {
	s, feed, drain := pipes(t, false, always)
	for _, fd := range []int{s.in, s.out} {
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		_, _ = feed.Write([]byte("late"))
	}()
	b := make([]byte, 8)
	if n, err := s.Read(b); err != nil || string(b[:n]) != "late" {
		t.Errorf("%q, %v", b[:n], err)
	}
	big := make([]byte, 1<<20)
	go func() { _, _ = io.Copy(io.Discard, drain) }()
	if n, err := s.Write(big); n != len(big) || err != nil {
		t.Errorf("wrote %d of %d: %v", n, len(big), err)
	}
}

// A read that waits must neither stop the collector nor the timers of others,
// also where the program was wrong to think itself alone.
func TestAWaitingReadHoldsNobodyUp(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s, feed, _ := pipes(t, false, always)
	read := make(chan error)
	go func() {
		_, err := s.Read(make([]byte, 8))
		read <- err
	}()
	limit := time.AfterFunc(20*time.Second, func() { panic("a waiting read holds the program up") })
	defer limit.Stop()
	for range 5 {
		time.Sleep(20 * time.Millisecond)
		runtime.GC()
	}
	_, _ = feed.Write([]byte("x"))
	if err := <-read; err != nil {
		t.Error(err)
	}
}

func TestAClosedReaderIsAnError(t *testing.T) {
	s, _, drain := pipes(t, false, always)
	_ = drain.Close()
	if _, err := s.Write([]byte("x")); err != syscall.EPIPE {
		t.Errorf("got %v", err)
	}
}

func TestReadsAndWritesAllocateNothing(t *testing.T) {
	for name, alone := range map[string]func() bool{"alone": always, "not alone": nil} {
		s, feed, drain := pipes(t, false, alone)
		b := make([]byte, 16)
		if n := testing.AllocsPerRun(100, func() {
			_, _ = feed.Write(b)
			_, _ = s.Read(b)
			_, _ = s.Write(b)
			_, _ = drain.Read(b)
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestATerminalIsKnown(t *testing.T) {
	pty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("this system gives no pseudo-terminal: ", err)
	}
	defer func() { _ = pty.Close() }()
	if !IsTerminal(int(pty.Fd())) {
		t.Error("a pseudo-terminal is not taken for a terminal")
	}
	s, _, _ := pipes(t, false, nil)
	if IsTerminal(s.in) {
		t.Error("a pipe is taken for a terminal")
	}
}

// The child of a shell that is killed hears of it, though its input stays open.
func TestTheParentsEndIsHeard(t *testing.T) {
	if os.Getenv("STDIO_TEST_CHILD") != "" {
		gone := ParentGone()
		_, _ = os.Stdout.WriteString("ready\n")
		<-gone
		_, _ = os.Stdout.WriteString("gone\n")
		os.Exit(0)
	}
	if err := exec.Command("sh", "-c", `"$0" -test.list '^$'`, os.Args[0]).Run(); err != nil {
		t.Skipf("a shell cannot start this program, as under an emulator: %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	parent := exec.Command("sh", "-c", `"$0" -test.run '^TestTheParentsEndIsHeard$' & wait`, os.Args[0])
	parent.Env = append(os.Environ(), "STDIO_TEST_CHILD=1")
	parent.Stdout = w
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	if err := r.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 6)
	if _, err := io.ReadFull(r, line); err != nil || string(line) != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	_ = parent.Process.Kill()
	_ = parent.Wait()
	rest, err := io.ReadAll(r)
	if err != nil || string(rest) != "gone\n" {
		t.Errorf("after its parent's end the child said %q, %v", rest, err)
	}
}
