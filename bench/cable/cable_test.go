//go:build linux

package cable

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const patience = 10 * time.Second

func open(t *testing.T, cfg Config) *Cable {
	t.Helper()
	dir := t.TempDir()
	cfg.A, cfg.B = filepath.Join(dir, "a"), filepath.Join(dir, "b")
	c, err := Open(cfg)
	if err != nil {
		t.Skip("no cable to be had: ", err)
	}
	t.Cleanup(c.Close)
	return c
}

// port opens an end as a program does, at a baud.
func port(t *testing.T, c *Cable, e End, baud uint32) *os.File {
	t.Helper()
	f, err := os.OpenFile(c.Path(e), os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if baud != 0 {
		tio, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS2)
		if err != nil {
			t.Fatal(err)
		}
		tio.Cflag = tio.Cflag&^unix.CBAUD | unix.BOTHER
		tio.Ispeed, tio.Ospeed = baud, baud
		if err := unix.IoctlSetTermios(int(f.Fd()), unix.TCSETS2, tio); err != nil {
			t.Fatal(err)
		}
		if err := unix.SetNonblock(int(f.Fd()), true); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return f
}

// everyByte is n bytes, all values among them.
func everyByte(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

func TestEveryByteArrivesBothWays(t *testing.T) {
	c := open(t, Config{Baud: 1_000_000})
	a, b := port(t, c, A, 0), port(t, c, B, 0)
	for _, way := range [][2]*os.File{{a, b}, {b, a}} {
		sent, got := everyByte(4000), make([]byte, 4000)
		if _, err := way[0].Write(sent); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes came otherwise: %v", len(got), err)
		}
	}
	if n := c.Counts(A); n.Sent != 4000 || n.Delivered != 4000 {
		t.Errorf("%+v", n)
	}
}

func TestAnEndComesBackUnderItsPath(t *testing.T) {
	c := open(t, Config{Baud: 1_000_000})
	a, b := port(t, c, A, 0), port(t, c, B, 0)
	c.Unplug(A)
	if n, err := a.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read of a port that is gone gives %d %v", n, err)
	}
	if _, err := os.Stat(c.Path(A)); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := c.Plug(A); err != nil {
		t.Fatal(err)
	}
	again := port(t, c, A, 0)
	if _, err := again.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

func TestWhatNobodyHearsIsLost(t *testing.T) {
	c := open(t, Config{Baud: 1_000_000})
	a := port(t, c, A, 0)
	if _, err := a.WriteString("early"); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return c.Counts(A).Unheard == 5 })
	b := port(t, c, B, 0)
	if _, err := a.WriteString("late"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(b, got); err != nil || string(got) != "late" {
		t.Errorf("%q %v", got, err)
	}
}

func TestAnotherBaudGarbles(t *testing.T) {
	c := open(t, Config{})
	a, b := port(t, c, A, 115200), port(t, c, B, 115200)
	got := make([]byte, 100)
	if _, err := a.Write(everyByte(100)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, got); err != nil || !bytes.Equal(got, everyByte(100)) {
		t.Errorf("at one baud: %x %v", got, err)
	}
	a = port(t, c, A, 57600)
	if _, err := a.Write(everyByte(50)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, got); err != nil || c.Counts(A).Garbled != 100 {
		t.Errorf("half the baud makes two bytes of one: %v %+v", err, c.Counts(A))
	}
}

func TestWhatIsDoneToTheLineIsSeen(t *testing.T) {
	for name, tt := range map[string]struct {
		do   func(c *Cable)
		seen func(n Counts) bool
		want string // at B; "" for what is not told
	}{
		"noise":        {func(c *Cable) { c.Noise(A, 9) }, func(n Counts) bool { return n.Noise == 9 }, ""},
		"text between": {func(c *Cable) { c.Inject(A, []byte("login: ")) }, func(n Counts) bool { return n.Text == 7 }, "login: bytes"},
		"a cut":        {func(c *Cable) { c.Cut(A, time.Hour) }, func(n Counts) bool { return n.Cut == 5 }, ""},
		"garbled":      {func(c *Cable) { c.Garble(A, time.Hour) }, func(n Counts) bool { return n.Garbled == 5 }, ""},
		"a stall":      {func(c *Cable) { c.Stall(A, 50*time.Millisecond) }, func(n Counts) bool { return n.Delivered == 5 }, "bytes"},
		"all dropped":  {func(c *Cable) { c.SetFaults(Faults{Drop: 1}) }, func(n Counts) bool { return n.Dropped == 5 }, ""},
		"all repeated": {func(c *Cable) { c.SetFaults(Faults{Repeat: 1}) }, func(n Counts) bool { return n.Repeated == 5 }, "bbyytteess"},
	} {
		t.Run(name, func(t *testing.T) {
			c := open(t, Config{Baud: 1_000_000})
			a, b := port(t, c, A, 0), port(t, c, B, 0)
			tt.do(c)
			if name == "noise" || name == "text between" {
				await(t, func() bool { return tt.seen(c.Counts(A)) })
			}
			if _, err := a.WriteString("bytes"); err != nil {
				t.Fatal(err)
			}
			await(t, func() bool { return tt.seen(c.Counts(A)) })
			if got := make([]byte, len(tt.want)); tt.want != "" {
				if _, err := io.ReadFull(b, got); err != nil || string(got) != tt.want {
					t.Errorf("%q %v", got, err)
				}
			}
		})
	}
}

func TestTheSameBytesMeetTheSameFaults(t *testing.T) {
	f := Faults{Bits: 0.001, Drop: 0.01, Insert: 0.01, Repeat: 0.01}
	pass := func(seed uint64) ([]byte, Counts) {
		var n Counts
		return f.apply(everyByte(10000), rand.New(rand.NewPCG(seed, 0)), &n), n
	}
	first, n := pass(1)
	second, _ := pass(1)
	other, _ := pass(2)
	if !bytes.Equal(first, second) || bytes.Equal(first, other) {
		t.Error("chance does not follow its seed")
	}
	if n.Flipped == 0 || n.Dropped == 0 || n.Inserted == 0 || n.Repeated == 0 || len(first) != 10000+int(n.Inserted+n.Repeated-n.Dropped) {
		t.Errorf("%d bytes, %+v", len(first), n)
	}
}

func TestUnpluggingAgainAndAgainEnds(t *testing.T) {
	c := open(t, Config{Baud: 1_000_000, Faults: Faults{Unplug: time.Millisecond, Text: time.Millisecond, Noise: time.Millisecond}})
	await(t, func() bool { return c.Counts(B).Text > 0 })
}

func TestFaultsAreReadAsAPersonWritesThem(t *testing.T) {
	for _, tt := range []struct {
		text string
		want Faults
		err  string
	}{
		{"", Faults{}, ""},
		{"bits=0.001, unplug=10s", Faults{Bits: 0.001, Unplug: 10 * time.Second}, ""},
		{"drop=2", Faults{}, "a chance is from 0 to 1"},
		{"noise=-1s", Faults{}, "a mean time is not negative"},
		{"noise=2", Faults{}, `missing unit`},
		{"rain=1s", Faults{}, `"rain=1s": no such fault`},
	} {
		got, err := ParseFaults(tt.text)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%q: %v, want %s", tt.text, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%q: %+v %v", tt.text, got, err)
		}
	}
}

func TestAFileIsNotReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Open(Config{A: path, B: path + "b", Baud: 9600})
	if err == nil || !strings.Contains(err.Error(), "is no symbolic link") {
		t.Error(err)
	}
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		t.Error("it is gone: ", err)
	}
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
	}
}

// What the relay costs: how long a round of bytes takes at 115200 baud, against the
// 86.8 us that each byte is on the line.
func BenchmarkLatency(b *testing.B) {
	dir := b.TempDir()
	c, err := Open(Config{A: filepath.Join(dir, "a"), B: filepath.Join(dir, "b"), Baud: 115200})
	if err != nil {
		b.Skip(err)
	}
	defer c.Close()
	near, err := os.OpenFile(c.Path(A), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer near.Close()
	far, err := os.OpenFile(c.Path(B), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer far.Close()
	buf := make([]byte, 24)
	for b.Loop() {
		if _, err := near.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(far, buf); err != nil {
			b.Fatal(err)
		}
	}
}
