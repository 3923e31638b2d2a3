package contract

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"boardhand/device"
)

// UARTWiring names what is on a board's serial ports. Empty: there is none.
type UARTWiring struct {
	Port    string          // free, with something on it that answers
	Mode    device.PortMode // that it understands
	Other   device.PortMode // another that the hardware has
	Aliases []string        // other names of Port, as UART.Find has them
	Send    string
	Answer  string
	Owned   string // a port that may not be opened
	Modem   bool   // Port has modem lines
	Pull    func() // unplugs Port
	Plug    func() // plugs it in again
}

// UART tests a board's serial ports. Each call of open gives a board on the same
// hardware, as another process would see it.
func UART(t *testing.T, open func() device.Board, w UARTWiring) {
	board := open()
	t.Cleanup(func() { board.Close() })
	u := board.UART()
	if u == nil {
		t.Fatal("the board has no serial ports")
	}
	soon := func() time.Time { return time.Now().Add(2 * time.Second) }
	opened := func(t *testing.T, u device.UART) device.Port {
		t.Helper()
		p, err := u.Open(w.Port, w.Mode)
		must(t, err)
		return p
	}
	answers := func(t *testing.T, p device.Port) {
		t.Helper()
		_, start := p.Received().Bounds()
		n, err := p.Write([]byte(w.Send), soon())
		must(t, err)
		if n != len(w.Send) {
			t.Errorf("took %d of %d bytes", n, len(w.Send))
		}
		got, want, until := make([]byte, len(w.Answer)), []byte(w.Answer), soon()
		for {
			n, from := p.Received().ReadAt(got, start)
			if n == len(got) && from == start {
				break
			}
			if more, err := p.Received().Wait(start+uint64(n), until); !more || err != nil {
				t.Fatalf("%q and then nothing, %v", got[:n], err)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
	listed := func(t *testing.T, u device.UART, name string) *device.UARTPort {
		t.Helper()
		ports, err := u.Ports(nil)
		must(t, err)
		for i := range ports {
			if ports[i].Name == name {
				return &ports[i]
			}
		}
		return nil
	}

	t.Run("ports are in order", func(t *testing.T) {
		ports, err := u.Ports([]device.UARTPort{{Name: "mark"}})
		must(t, err)
		if len(ports) < 2 || ports[0].Name != "mark" {
			t.Fatalf("%+v", ports)
		}
		seen := map[string]bool{}
		for _, p := range ports[1:] {
			if p.Name == "" || seen[p.Name] {
				t.Errorf("a port has the name %q, empty or for the second time", p.Name)
			}
			seen[p.Name] = true
		}
		if p := listed(t, u, w.Port); p == nil || p.Open || p.Owner != "" {
			t.Errorf("the free port is %+v", p)
		}
	})
	t.Run("is found by each of its names", func(t *testing.T) {
		for _, name := range append(w.Aliases, w.Port, "/dev/"+w.Port) {
			if got, err := u.Find(name); err != nil || got != w.Port {
				t.Errorf("Find(%q) is %q, %v", name, got, err)
			}
		}
	})
	t.Run("an unknown name is not found", func(t *testing.T) {
		for _, name := range []string{"ttyNONE9", "", ".", "..", "../" + w.Port, "/etc/passwd", "/dev/null", "null", "ffff:ffff"} {
			_, err := u.Find(name)
			refused(t, err, device.ErrNotFound)
			_, err = u.Open(name, w.Mode)
			refused(t, err, device.ErrNotFound)
		}
	})
	t.Run("an owned port is refused", func(t *testing.T) {
		if w.Owned == "" {
			t.Skip("this board has no such port for a test")
		}
		p := listed(t, u, w.Owned)
		if p == nil || p.Owner == "" {
			t.Fatalf("the owned port is %+v", p)
		}
		_, err := u.Open(w.Owned, w.Mode)
		refused(t, err, device.ErrBusy, w.Owned, p.Owner)
		if u.Opened(w.Owned) != nil {
			t.Error("it is open")
		}
	})
	t.Run("stays open between calls", func(t *testing.T) {
		p := opened(t, u)
		defer p.Close()
		if again := opened(t, u); again != p || u.Opened(w.Port) != p {
			t.Error("a second Open gave another port")
		}
		if l := listed(t, u, w.Port); l == nil || !l.Open || l.Owner != "" {
			t.Errorf("the open port is %+v", l)
		}
		if p.Name() != w.Port || p.Mode() != w.Mode {
			t.Errorf("%s at %s", p.Name(), p.Mode())
		}
		answers(t, p)
		answers(t, p)
		if n := testing.AllocsPerRun(100, func() { u.Find(w.Port); u.Opened(w.Port) }); n != 0 {
			t.Errorf("finding an open port allocates %v times", n)
		}
	})
	t.Run("another process is kept out", func(t *testing.T) {
		other := open()
		defer other.Close()
		p := opened(t, u)
		_, err := other.UART().Open(w.Port, w.Mode)
		refused(t, err, device.ErrBusy, w.Port)
		answers(t, p)
		must(t, p.Close())
		q := opened(t, other.UART())
		answers(t, q)
		_, err = u.Open(w.Port, w.Mode)
		refused(t, err, device.ErrBusy, w.Port)
	})
	t.Run("a mode is set and kept", func(t *testing.T) {
		p := opened(t, u)
		defer p.Close()
		for _, m := range []device.PortMode{w.Other, w.Mode} {
			must(t, p.SetMode(m))
			if p.Mode() != m {
				t.Errorf("mode %s, want %s", p.Mode(), m)
			}
		}
		answers(t, p)
	})
	t.Run("modem lines", func(t *testing.T) {
		p := opened(t, u)
		defer p.Close()
		if !w.Modem {
			_, err := p.Modem()
			refusedQuietly(t, err, device.ErrNotSupport)
			refusedQuietly(t, p.SetDTR(true), device.ErrNotSupport)
			refusedQuietly(t, p.SetRTS(true), device.ErrNotSupport)
			return
		}
		for _, on := range []bool{false, true} {
			must(t, p.SetDTR(on))
			must(t, p.SetRTS(!on))
			if m, err := p.Modem(); err != nil || m.DTR != on || m.RTS != !on {
				t.Errorf("%+v, %v", m, err)
			}
		}
	})
	t.Run("a wait ends at its deadline", func(t *testing.T) {
		p := opened(t, u)
		defer p.Close()
		answers(t, p)
		_, end := p.Received().Bounds()
		if more, err := p.Received().Wait(end, time.Now().Add(10*time.Millisecond)); more || err != nil {
			t.Errorf("%v, %v", more, err)
		}
	})
	t.Run("a closed port fails and can be opened again", func(t *testing.T) {
		p := opened(t, u)
		waits := make(chan error)
		_, end := p.Received().Bounds()
		go func() {
			for {
				more, err := p.Received().Wait(end, time.Now().Add(time.Minute))
				if !more {
					waits <- err
					return
				}
				_, end = p.Received().Bounds()
			}
		}()
		must(t, p.Close())
		refused(t, <-waits, device.ErrUnplugged, w.Port)
		must(t, p.Close())
		_, err := p.Write([]byte("x"), soon())
		refused(t, err, device.ErrUnplugged, w.Port)
		refused(t, p.SetMode(w.Other), device.ErrUnplugged, w.Port)
		_, err = p.Modem()
		refused(t, err, device.ErrUnplugged, w.Port)
		if u.Opened(w.Port) != nil {
			t.Error("it counts as open")
		}
		p = opened(t, u)
		answers(t, p)
		must(t, p.Close())
	})
	t.Run("a pulled port fails within a second and comes back", func(t *testing.T) {
		if w.Pull == nil {
			t.Skip("nobody can pull this port")
		}
		p := opened(t, u)
		answers(t, p)
		_, end := p.Received().Bounds()
		begin := time.Now()
		w.Pull()
		_, err := p.Received().Wait(end, time.Now().Add(5*time.Second))
		refused(t, err, device.ErrUnplugged, w.Port)
		if d := time.Since(begin); d > time.Second {
			t.Errorf("noticed after %v", d)
		}
		_, err = p.Write([]byte("x"), soon())
		refused(t, err, device.ErrUnplugged, w.Port)
		if u.Opened(w.Port) != nil {
			t.Error("it counts as open")
		}
		w.Plug()
		for _, name := range append(w.Aliases, w.Port) {
			q, err := u.Open(name, w.Mode)
			must(t, err)
			answers(t, q)
			must(t, q.Close())
		}
	})
	t.Run("closing the board closes the port", func(t *testing.T) {
		b := open()
		p := opened(t, b.UART())
		must(t, b.Close())
		_, err := p.Write([]byte("x"), soon())
		refused(t, err, device.ErrUnplugged, w.Port)
		_, err = b.UART().Open(w.Port, w.Mode)
		refused(t, err, device.ErrUnplugged)
		if _, err = b.UART().Ports(nil); err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("error %v", err)
		}
		answers(t, opened(t, u))
		must(t, u.Opened(w.Port).Close())
	})
}
