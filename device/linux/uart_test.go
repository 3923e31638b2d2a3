//go:build linux

package linux

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
)

// ptyBench is a fake tree with ttyUSB0, whose node is a pseudo-terminal, and what
// else a board has. What comes to the other end of it is answered line by line.
type ptyBench struct {
	t     *testing.T
	roots roots
	mu    sync.Mutex
	ours  *os.File
	heard bytes.Buffer
}

const usbPath = "sys/devices/usb1/1-1/1-1:1.0/ttyUSB0"

var uartTree = map[string]string{
	"sys/class/tty/ttyUSB0/device":         "-> ../../../devices/usb1/1-1/1-1:1.0/ttyUSB0",
	usbPath + "/driver":                    "-> ../../../../../bus/usb-serial/drivers/ftdi_sio",
	"sys/devices/usb1/1-1/idVendor":        "0403\n",
	"sys/devices/usb1/1-1/idProduct":       "6001\n",
	"sys/devices/usb1/1-1/serial":          "A50285BI\n",
	"sys/devices/usb1/1-1/manufacturer":    "FTDI\n",
	"sys/devices/usb1/1-1/product":         "FT232R USB UART\n",
	"dev/serial/by-id/usb-FTDI_FT232R-if0": "-> ../../ttyUSB0",

	// A second adapter of one kind, without a serial number.
	"sys/class/tty/ttyUSB10/device":               "-> ../../../devices/usb1/1-2/1-2:1.0/ttyUSB10",
	"sys/class/tty/ttyUSB10/dev":                  "188:10\n",
	"sys/devices/usb1/1-2/1-2:1.0/ttyUSB10/x":     "",
	"sys/devices/usb1/1-2/idVendor":               "0403\n",
	"sys/devices/usb1/1-2/idProduct":              "6001\n",
	"dev/ttyUSB10":                                "",
	"sys/class/tty/ttyAMA0/device":                "-> ../../../devices/platform/fe201000.serial",
	"sys/class/tty/ttyAMA0/dev":                   "204:64\n",
	"sys/devices/platform/fe201000.serial/driver": "-> ../../../bus/amba/drivers/uart-pl011",
	"sys/class/tty/console/active":                "tty0 ttyAMA0\n",

	// Linux 6.5 and later.
	"sys/class/tty/ttyS0/device":                         "-> ../../../devices/pnp0/00:01/00:01:0/00:01:0.0",
	"sys/class/tty/ttyS0/dev":                            "4:64\n",
	"sys/class/tty/ttyS0/type":                           "4\n",
	"sys/devices/pnp0/00:01/00:01:0/00:01:0.0/subsystem": "-> ../../../../../bus/serial-base",
	"sys/devices/pnp0/00:01/00:01:0/00:01:0.0/driver":    "-> ../../../../../bus/serial-base/drivers/port",
	"sys/devices/pnp0/00:01/00:01:0/subsystem":           "-> ../../../../bus/serial-base",
	"sys/devices/pnp0/00:01/00:01:0/driver":              "-> ../../../../bus/serial-base/drivers/ctrl",
	"sys/devices/pnp0/00:01/driver":                      "-> ../../../bus/pnp/drivers/serial",
	"proc/412/stat":                                      "412 (agetty) S 1 412 412 1088 412 4194560 92",
	"proc/500/stat":                                      "500 (my prog) (x) S 1 500 500 0 -1 4194560 92",
	"proc/500/fd/0":                                      "-> /dev/null",

	// Neither has hardware.
	"sys/class/tty/ttyS1/device":        "-> ../../../devices/platform/serial8250",
	"sys/class/tty/ttyS1/type":          "0\n",
	"sys/devices/platform/serial8250/x": "",
	"sys/class/tty/tty1/dev":            "4:1\n",
	"sys/class/tty/ttyGS0/dev":          "235:0\n",
}

func newPTYBench(t *testing.T) *ptyBench {
	t.Helper()
	b := &ptyBench{t: t, roots: tree(t, uartTree)}
	b.plug()
	t.Cleanup(func() { b.pull() })
	return b
}

func (b *ptyBench) plug() {
	b.t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		b.t.Skipf("no pseudo-terminal: %v", err)
	}
	var n int
	raw, err := ours.SyscallConn()
	must(b.t, err)
	must(b.t, raw.Control(func(fd uintptr) {
		must(b.t, unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		must(b.t, err)
	}))
	node := filepath.Join(b.roots.dev, "ttyUSB0")
	os.Remove(node)
	must(b.t, os.Symlink(fmt.Sprintf("/dev/pts/%d", n), node))
	must(b.t, os.WriteFile(filepath.Join(b.roots.sys, "class/tty/ttyUSB0/dev"), fmt.Appendf(nil, "136:%d\n", n), 0o644))
	// While nobody has the other end open, our reads fail.
	keep, err := os.OpenFile(node, os.O_RDWR|unix.O_NOCTTY, 0)
	must(b.t, err)
	if _, err := unix.IoctlGetTermios(int(keep.Fd()), unix.TCGETS2); err == unix.ENOSYS {
		b.t.Skip("no TCGETS2, which qemu-user lacks: boots on emulated boards test this")
	}
	b.mu.Lock()
	b.ours = ours
	b.mu.Unlock()
	go func() {
		defer keep.Close()
		buf := make([]byte, 4096)
		for {
			n, err := ours.Read(buf)
			if err != nil {
				return
			}
			b.mu.Lock()
			b.heard.Write(buf[:n])
			b.mu.Unlock()
			if bytes.Contains(buf[:n], []byte("ping\n")) {
				ours.Write([]byte("pong\r\n"))
			}
		}
	}()
}

func (b *ptyBench) pull() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ours.Close()
}

func (b *ptyBench) say(p []byte) {
	b.t.Helper()
	if _, err := b.ours.Write(p); err != nil {
		b.t.Fatal(err)
	}
}

func (b *ptyBench) open() *Board {
	board := open(b.roots)
	b.t.Cleanup(func() { board.Close() })
	return board
}

var otherMode = device.PortMode{Baud: 57600, DataBits: 8, Parity: 'N', StopBits: 2, Flow: device.FlowXonXoff}

func TestUARTContractOnAPseudoTerminal(t *testing.T) {
	b := newPTYBench(t)
	contract.UART(t, func() device.Board { return b.open() }, contract.UARTWiring{
		Port: "ttyUSB0", Mode: device.DefaultMode, Other: otherMode,
		Aliases: []string{"usb-FTDI_FT232R-if0", "/dev/serial/by-id/usb-FTDI_FT232R-if0", "0403:6001:A50285BI"},
		Send:    "ping\n", Answer: "pong\r\n", Owned: "ttyAMA0", Pull: b.pull, Plug: b.plug,
	})
}

func TestUARTsAreListedWithTheirOwners(t *testing.T) {
	b := newPTYBench(t)
	dir := filepath.Join(b.roots.proc, "500/fd")
	must(t, os.Symlink(filepath.Join(b.roots.dev, "ttyUSB10"), filepath.Join(dir, "7")))
	ports, err := b.open().UART().Ports(nil)
	must(t, err)
	var got []string
	for _, p := range ports {
		usb, text := "", ""
		if p.USB != nil {
			usb, text = p.USB.String(), p.USB.Text
		}
		got = append(got, strings.Join([]string{p.Name, p.Driver, p.ByID, usb, text, p.Owner}, "|"))
	}
	want := []string{
		"ttyAMA0|uart-pl011||||the kernel's console",
		"ttyGS0|||||",
		"ttyS0|serial||||agetty (pid 412), whose terminal it is",
		"ttyUSB0|ftdi_sio|usb-FTDI_FT232R-if0|0403:6001:A50285BI|FTDI FT232R USB UART|",
		"ttyUSB10|||0403:6001||my prog) (x (pid 500)",
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got  %q\nwant %q", got[i], want[i])
		}
	}
}

func TestUARTErrorsSayWhatToDo(t *testing.T) {
	b := newPTYBench(t)
	u := b.open().UART()
	_, several := u.Find("0403:6001")
	_, none := u.Find("ttyUSB7")
	_, console := u.Open("ttyAMA0", device.DefaultMode)
	_, getty := u.Open("ttyS0", device.DefaultMode)
	_, file := u.Open("ttyUSB10", device.DefaultMode)
	_, node := u.Open("ttyGS0", device.DefaultMode)
	for want, err := range map[string]error{
		`port "0403:6001" means several ports, ttyUSB0, ttyUSB10; name one of them, or give the serial number too, as in 0403:6001:A50285BI`: several,
		`port "ttyUSB7" not found; this board has ttyAMA0, ttyGS0, ttyS0, ttyUSB0, ttyUSB10`:                                                 none,
		`ttyAMA0: in use by the kernel's console; take console=ttyAMA0 off the kernel's command line and boot again to free it`:              console,
		`ttyS0: in use by agetty (pid 412), whose terminal it is; free it with: sudo systemctl disable --now serial-getty@ttyS0`:             getty,
		`ttyUSB10: the port's driver cannot do this (` + noDevice(t) + `)`:                                                                   file,
		b.roots.dev + `/ttyGS0: the kernel has the port but there is no node (ENOENT); check /dev, or in a container pass the device in`:     node,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// Others that hold the port, by each of the ways there are.
func TestPortOfAnotherIsRefused(t *testing.T) {
	b := newPTYBench(t)
	node := filepath.Join(b.roots.dev, "ttyUSB0")
	for name, c := range map[string]struct {
		hold, free func(fd int) error
		want       string
	}{
		"exclusive": {func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCEXCL, 0) }, func(fd int) error { return unix.IoctlSetInt(fd, unix.TIOCNXCL, 0) },
			"another program holds it for itself alone (EBUSY)"},
		"locked": {func(fd int) error { return unix.Flock(fd, unix.LOCK_EX) }, func(fd int) error { return nil },
			"another program has locked it (EAGAIN)"},
	} {
		t.Run(name, func(t *testing.T) {
			fd, err := unix.Open(node, unix.O_RDWR|unix.O_NOCTTY, 0)
			must(t, err)
			defer unix.Close(fd)
			before, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
			must(t, err)
			must(t, c.hold(fd))
			_, err = b.open().UART().Open("ttyUSB0", otherMode)
			if !errors.Is(err, device.ErrBusy) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "fuser -v /dev/ttyUSB0") {
				t.Errorf("%v", err)
			}
			after, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
			must(t, err)
			if *after != *before {
				t.Errorf("its settings were %+v, are %+v", before, after)
			}
			must(t, c.free(fd))
		})
	}
}

func TestPortIsRawExclusiveAndPutBack(t *testing.T) {
	b := newPTYBench(t)
	node := filepath.Join(b.roots.dev, "ttyUSB0")
	fd, err := unix.Open(node, unix.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer unix.Close(fd)
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	must(t, err)

	p, err := b.open().UART().Open("ttyUSB0", device.PortMode{Baud: 250000, DataBits: 8, Parity: 'N', StopBits: 1, Flow: device.FlowRTSCTS})
	must(t, err)
	during, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	must(t, err)
	if during.Ospeed != 250000 || during.Cflag&unix.CRTSCTS == 0 || during.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 || during.Oflag&unix.OPOST != 0 {
		t.Errorf("settings %+v", during)
	}
	if alone, err := unix.IoctlGetInt(fd, unix.TIOCGEXCL); err != nil || alone == 0 {
		t.Errorf("exclusive %d, %v", alone, err)
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	must(t, p.SetMode(device.DefaultMode))
	b.say(every)
	if _, err := p.Write(every, time.Now().Add(time.Second)); err != nil {
		t.Error(err)
	}
	got := make([]byte, 256)
	for n := 0; n < 256; {
		if more, err := p.Received().Wait(uint64(n), time.Now().Add(5*time.Second)); !more {
			t.Fatalf("%d bytes, %v", n, err)
		}
		n, _ = p.Received().ReadAt(got, 0)
	}
	if !bytes.Equal(got, every) {
		t.Errorf("received % x", got)
	}
	must(t, p.Close())
	after, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	must(t, err)
	if *after != *before {
		t.Errorf("settings were %+v, are %+v", before, after)
	}
	if alone, err := unix.IoctlGetInt(fd, unix.TIOCGEXCL); err != nil || alone != 0 {
		t.Errorf("after Close it is exclusive: %d, %v", alone, err)
	}
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		b.mu.Lock()
		whole := bytes.Equal(b.heard.Bytes(), every)
		b.mu.Unlock()
		if whole {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the other end heard % x", b.heard.Bytes())
		}
	}
}

// The pseudo-terminal stops taking bytes when nobody reads them, as a port does
// whose CTS is held.
func TestWriteThatIsHeldEndsAtItsDeadline(t *testing.T) {
	b := newPTYBench(t)
	b.pull()
	b.plugDeaf()
	p, err := b.open().UART().Open("ttyUSB0", device.DefaultMode)
	must(t, err)
	const size = 1 << 20
	n, err := p.Write(make([]byte, size), time.Now().Add(50*time.Millisecond))
	if !errors.Is(err, device.ErrTimeout) || n >= size || !strings.Contains(err.Error(), fmt.Sprintf("of %d bytes in time", size)) {
		t.Errorf("%d bytes, %v", n, err)
	}
	begin := time.Now()
	must(t, p.Close())
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("Close took %v", d)
	}
}

// plugDeaf is plug for an other end that does not read.
func (b *ptyBench) plugDeaf() {
	b.t.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(b.t, err)
	must(b.t, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	must(b.t, err)
	node := filepath.Join(b.roots.dev, "ttyUSB0")
	os.Remove(node)
	must(b.t, os.Symlink(fmt.Sprintf("/dev/pts/%d", n), node))
	b.t.Cleanup(func() { ours.Close() })
}

func TestClosingTheBoardFreesAWriteThatIsHeld(t *testing.T) {
	b := newPTYBench(t)
	b.pull()
	b.plugDeaf()
	board := b.open()
	p, err := board.UART().Open("ttyUSB0", device.DefaultMode)
	must(t, err)
	failed := make(chan error)
	go func() {
		_, err := p.Write(make([]byte, 1<<20), time.Now().Add(time.Minute))
		failed <- err
	}()
	time.Sleep(20 * time.Millisecond)
	must(t, board.Close())
	if err := <-failed; !errors.Is(err, device.ErrUnplugged) {
		t.Error(err)
	}
}

// 1 MiB comes while nobody reads: what is kept and what is lost is all.
func TestRingCountsWhatItLoses(t *testing.T) {
	b := newPTYBench(t)
	p, err := b.open().UART().Open("ttyUSB0", device.DefaultMode)
	must(t, err)
	const total = 1 << 20
	chunk := make([]byte, 1024)
	for i := range total / len(chunk) {
		for k := range chunk {
			chunk[k] = byte((i*len(chunk) + k) % 251)
		}
		b.say(chunk)
	}
	var start, end uint64
	for end < total {
		if more, err := p.Received().Wait(end, time.Now().Add(5*time.Second)); !more {
			t.Fatalf("%d bytes, %v", end, err)
		}
		start, end = p.Received().Bounds()
	}
	if end != total || start != total-device.ReceiverSize {
		t.Errorf("kept %d to %d", start, end)
	}
	got := make([]byte, 2*device.ReceiverSize)
	n, from := p.Received().ReadAt(got, 0)
	if from != start || n != device.ReceiverSize {
		t.Errorf("%d bytes from %d", n, from)
	}
	for i, v := range got[:n] {
		if want := byte((from + uint64(i)) % 251); v != want {
			t.Fatalf("byte %d is %d, want %d", i, v, want)
		}
	}
}

func TestIdleAndPulledPortTakeNoTime(t *testing.T) {
	b := newPTYBench(t)
	board := b.open()
	_, err := board.UART().Open("ttyUSB0", device.DefaultMode)
	must(t, err)
	used := func() time.Duration {
		var r syscall.Rusage
		must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	for _, what := range []string{"idle", "pulled"} {
		before := used()
		time.Sleep(200 * time.Millisecond)
		if d := used() - before; d > 100*time.Millisecond {
			t.Errorf("%s: %v of processor time in 200 ms", what, d)
		}
		if what == "idle" {
			b.pull()
		}
	}
}

func BenchmarkReceive(b *testing.B) {
	var r device.Receiver
	p := make([]byte, 256)
	b.ReportAllocs()
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		r.Put(p)
	}
}
