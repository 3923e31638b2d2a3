package tty

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestPortIsRawExclusiveAndPutBack(t *testing.T) {
	node, other := pty(t)
	before := settings(t, node)
	fd, err := unix.Open(node, unix.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer unix.Close(fd)
	p, err := Open(node, 250000)
	must(t, err)
	during, err := unix.IoctlGetTermios(fd, unix.TCGETS2)
	must(t, err)
	if during.Ospeed != 250000 || during.Cflag&(unix.CRTSCTS|unix.PARENB|unix.CSTOPB) != 0 || during.Cflag&unix.CSIZE != unix.CS8 ||
		during.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 || during.Oflag&unix.OPOST != 0 || during.Iflag&(unix.IXON|unix.IXOFF|unix.ICRNL) != 0 {
		t.Errorf("settings %+v", during)
	}
	if alone, err := unix.IoctlGetInt(fd, unix.TIOCGEXCL); err != nil || alone == 0 {
		t.Errorf("exclusive %d, %v", alone, err)
	}
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for name, ends := range map[string][2]io.ReadWriter{"out": {p, other}, "in": {other, p}} {
		if n, err := ends[0].Write(every); n != 256 || err != nil {
			t.Errorf("%s: %d, %v", name, n, err)
		}
		got := make([]byte, 256)
		if _, err := io.ReadFull(ends[1], got); err != nil || !bytes.Equal(got, every) {
			t.Errorf("%s: % x, %v", name, got, err)
		}
	}
	must(t, p.SetBaud(57600))
	if during, err = unix.IoctlGetTermios(fd, unix.TCGETS2); err != nil || during.Ospeed != 57600 || p.Baud() != 57600 {
		t.Errorf("speed %d, %v", during.Ospeed, err)
	}
	for range 2 {
		must(t, p.Close())
	}
	if after := settings(t, node); *after != *before {
		t.Errorf("settings were %+v, are %+v", before, after)
	}
	if alone, err := unix.IoctlGetInt(fd, unix.TIOCGEXCL); err != nil || alone != 0 {
		t.Errorf("after Close it is exclusive: %d, %v", alone, err)
	}
	if err := p.SetBaud(9600); !errors.Is(err, os.ErrClosed) {
		t.Errorf("SetBaud after Close: %v", err)
	}
	if _, err := p.Write(every); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Write after Close: %v", err)
	}
}

func TestReadEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(p *Port, other *os.File)
		want error
	}{
		"by Close":     {func(p *Port, _ *os.File) { p.Close() }, os.ErrClosed},
		"by a hang-up": {func(_ *Port, other *os.File) { other.Close() }, ErrUnplugged},
	} {
		t.Run(name, func(t *testing.T) {
			node, other := pty(t)
			p, err := Open(node, 115200)
			must(t, err)
			defer p.Close()
			failed := make(chan error)
			go func() {
				_, err := p.Read(make([]byte, 16))
				failed <- err
			}()
			time.Sleep(20 * time.Millisecond)
			c.end(p, other)
			select {
			case err := <-failed:
				if !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("Read waits on")
			}
		})
	}
}

func TestWaitingTakesNoProcessorTime(t *testing.T) {
	node, other := pty(t)
	p, err := Open(node, 115200)
	must(t, err)
	defer p.Close()
	used := func() time.Duration {
		var r syscall.Rusage
		must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	idle := func(what string) {
		before := used()
		time.Sleep(200 * time.Millisecond)
		if d := used() - before; d > 100*time.Millisecond {
			t.Errorf("%s: %v of processor time in 200 ms", what, d)
		}
	}
	go p.Read(make([]byte, 1))
	idle("reading")
	other.Close()
	p.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go Reopen(ctx, Info{Path: node + "-gone"}, 115200)
	idle("away")
	cancel()
}

// A pseudo-terminal takes no more when nobody reads the other end, as a gadget's
// port does whose host does not read.
func TestWriteThatIsHeldEndsAtItsDeadline(t *testing.T) {
	node, _ := pty(t)
	p, err := Open(node, 12_000_000)
	must(t, err)
	p.stall = 50 * time.Millisecond
	n, err := p.Write(make([]byte, 1<<18))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n >= 1<<18 || !strings.Contains(err.Error(), "of 262144 bytes in time") {
		t.Errorf("%d bytes, %v", n, err)
	}
	must(t, p.Close())
}

func TestCloseFreesAWriteThatIsHeld(t *testing.T) {
	node, _ := pty(t)
	p, err := Open(node, 115200)
	must(t, err)
	failed := make(chan error)
	go func() {
		_, err := p.Write(make([]byte, 1<<20))
		failed <- err
	}()
	time.Sleep(20 * time.Millisecond)
	must(t, p.Close())
	if err := <-failed; !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}

func TestReadAndWriteAllocateNothing(t *testing.T) {
	node, other := pty(t)
	p, err := Open(node, 115200)
	must(t, err)
	defer p.Close()
	b := make([]byte, 64)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := p.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(other, b); err != nil {
			t.Fatal(err)
		}
		if _, err := other.Write(b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(p, b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestOpenErrorsSayWhatToDo(t *testing.T) {
	node, _ := pty(t)
	tree := machine(t, together(map[string]string{
		"dev/ttyAMA0":                  "-> " + node,
		"dev/null":                     "-> /dev/null",
		"dev/file":                     "",
		"sys/class/tty/ttyAMA0/device": "-> ../../../devices/platform/fe201000.serial",
		"sys/devices/platform/fe201000.serial/driver": "-> ../../../bus/amba/drivers/uart-pl011",
		"sys/class/tty/console/active":                "tty0 ttyAMA0\n",
		"proc/cmdline":                                "console=ttyAMA0,115200 console=tty1 root=/dev/mmcblk0p2\n",
		"boot/firmware/cmdline.txt":                   "",
	}, adapter("ttyUSB0", "1-1", "A50285BI", node)))
	at := func(name string) string { return filepath.Join(tree.Dev, name) }
	for _, c := range []struct {
		path string
		baud int
		kind error
		want string
	}{
		{at("ttyUSB7"), 115200, fs.ErrNotExist, at("ttyUSB7") + ": there is no such port; this machine has " +
			at("ttyUSB0") + " (FTDI FT232R USB UART), " + at("ttyAMA0")},
		{"ttyUSB7", 115200, fs.ErrNotExist, at("ttyUSB7") + ": there is no such port; this machine has " +
			at("ttyUSB0") + " (FTDI FT232R USB UART), " + at("ttyAMA0")},
		{at("ttyAMA0"), 115200, ErrBusy, at("ttyAMA0") +
			": in use by the kernel's console; free it with: take console=ttyAMA0,115200 out of /boot/firmware/cmdline.txt; sudo reboot"},
		{at("null"), 115200, ErrUnsupported, at("null") + ": this is no serial port; name one, such as /dev/ttyUSB0"},
		{at("file"), 115200, ErrUnsupported, at("file") + ": this is no serial port; name one, such as /dev/ttyUSB0"},
		{at("file/x"), 115200, ErrUnsupported, at("file/x") + ": this is no serial port; name one, such as /dev/ttyUSB0"},
		{at("ttyUSB0"), 0, ErrUnsupported, at("ttyUSB0") + ": 0 baud is not supported; choose one that both ends have, such as 115200"},
	} {
		p, err := Open(c.path, c.baud)
		if !errors.Is(err, c.kind) || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s", err, c.want)
		}
		if p != nil {
			t.Errorf("%s is open", c.path)
		}
	}
}

func TestMachineWithoutPortsSaysSo(t *testing.T) {
	machine(t, nil)
	_, err := Open("/nowhere/ttyUSB0", 115200)
	if want := "/nowhere/ttyUSB0: there is no such port; this machine has no serial port: check the cable, and with an adapter that the system knows it"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestPortThatIsOpenHereIsRefused(t *testing.T) {
	node, _ := pty(t)
	p, err := Open(node, 115200)
	must(t, err)
	before := settings(t, node)
	_, err = Open(node, 9600)
	if want := node + ": this program has it open already, or was started on it; take another port"; err == nil || err.Error() != want || !errors.Is(err, ErrBusy) {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if after := settings(t, node); *after != *before {
		t.Errorf("its settings were %+v, are %+v", before, after)
	}
	must(t, p.Close())
	p, err = Open(node, 9600)
	must(t, err)
	must(t, p.Close())
}

func TestPortThatAnotherKeepsAloneIsRefused(t *testing.T) {
	node, _ := pty(t)
	fd, err := unix.Open(node, unix.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer unix.Close(fd)
	before := settings(t, node)
	must(t, unix.IoctlSetInt(fd, unix.TIOCEXCL, 0))
	_, err = Open(node, 9600)
	if want := node + ": another program holds it for itself alone (EBUSY); find it with: sudo fuser -v " + node; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	must(t, unix.IoctlSetInt(fd, unix.TIOCNXCL, 0))
	if after := settings(t, node); *after != *before {
		t.Errorf("its settings were %+v, are %+v", before, after)
	}
}

func TestReopenFollowsALink(t *testing.T) {
	link := filepath.Join(t.TempDir(), "cable")
	first, other := pty(t)
	must(t, os.Symlink(first, link))
	p, err := Open(link, 115200)
	must(t, err)
	other.Close()
	if _, err := p.Read(make([]byte, 1)); !errors.Is(err, ErrUnplugged) {
		t.Error(err)
	}
	must(t, p.Close())
	must(t, os.Remove(link))
	second, other := pty(t)
	time.AfterFunc(150*time.Millisecond, func() { os.Symlink(second, link) })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if p, err = Reopen(ctx, p.Info(), 115200); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := other.Write([]byte("x")); err != nil {
		t.Error(err)
	}
	if n, err := p.Read(make([]byte, 9)); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestReopenFindsTheDevice(t *testing.T) {
	for name, c := range map[string]struct {
		serial        string
		name, socket  string // of it when it is back
		other         string // serial number of what has its old name then
		want, failure string
	}{
		"by its serial number":                 {serial: "A1", name: "ttyUSB1", socket: "1-2", other: "B2", want: "ttyUSB1"},
		"by its socket":                        {name: "ttyUSB1", socket: "1-1", want: "ttyUSB1"},
		"by its name":                          {name: "ttyUSB0", socket: "1-3", want: "ttyUSB0"},
		"but no other of its kind":             {name: "ttyUSB5", socket: "1-4", failure: "the device is gone; plug it in again"},
		"and takes no other that has its name": {serial: "A1", other: "B2", failure: "the device is gone; plug it in again"},
	} {
		t.Run(name, func(t *testing.T) {
			node, _ := pty(t)
			tree := machine(t, adapter("ttyUSB0", "1-1", c.serial, node))
			p, err := Open(filepath.Join(tree.Dev, "ttyUSB0"), 115200)
			must(t, err)
			must(t, p.Close())
			was := p.Info()
			if !was.USB || was.VID != 0x0403 || was.PID != 0x6001 || was.Serial != c.serial || was.Driver != "ftdi_sio" {
				t.Errorf("%+v", was)
			}

			node, _ = pty(t)
			files := map[string]string{}
			if c.name != "" {
				maps.Copy(files, adapter(c.name, c.socket, c.serial, node))
			}
			if c.other != "" {
				maps.Copy(files, adapter("ttyUSB0", "1-9", c.other, node))
			}
			now := machine(t, files)
			was.Path = filepath.Join(now.Dev, "ttyUSB0")
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			p, err = Reopen(ctx, was, 115200)
			if c.failure != "" {
				if !errors.Is(err, ErrUnplugged) || !strings.Contains(err.Error(), c.failure) {
					t.Errorf("%v, %v", p, err)
				}
				return
			}
			must(t, err)
			defer p.Close()
			if p.Name() != filepath.Join(now.Dev, c.want) {
				t.Errorf("opened %s", p.Name())
			}
		})
	}
}

func TestReopenGivesUpAtOnceWhereWaitingIsNoUse(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	// An emulated kernel that has not the call says so, which is as final.
	if _, err := Reopen(ctx, Info{Path: "/dev/null"}, 115200); !errors.Is(err, ErrUnsupported) && !errors.Is(err, errors.ErrUnsupported) || ctx.Err() != nil {
		t.Error(err)
	}
}

func together(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}
