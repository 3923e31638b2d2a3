//go:build linux

package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
)

// Keys of BOARDHAND_KERNEL for the tests in this file:
//
//	uart      a free serial port of a USB device, the host's end of a gadget's
//	gadget    the gadget's end of it, on this machine too (dummy_hcd, g_serial)
//	console   a serial port that the kernel uses
//	alias-usb the USB identity of uart

// answer plays the device at the gadget's end: to ping it says pong. It opens the
// port again when it was unplugged, until stop.
func answer(t *testing.T, path string, stop chan struct{}) {
	t.Helper()
	open := func() (*os.File, error) {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
		if err != nil {
			return nil, err
		}
		if settings, err := unix.IoctlGetTermios(fd, unix.TCGETS); err == nil {
			settings.Lflag, settings.Iflag, settings.Oflag = 0, 0, 0
			settings.Cc[unix.VMIN], settings.Cc[unix.VTIME] = 1, 0
			unix.IoctlSetTermios(fd, unix.TCSETS, settings)
		}
		return os.NewFile(uintptr(fd), path), nil
	}
	f, err := open()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			for f != nil {
				n, err := f.Read(buf)
				if n > 0 && bytes.Contains(buf[:n], []byte("ping\n")) {
					f.Write([]byte("pong\r\n"))
				}
				if err != nil {
					f.Close()
					f = nil
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				f, _ = open()
			}
		}
	}()
	t.Cleanup(func() { close(stop) })
}

func TestKernelUART(t *testing.T) {
	m := kernel(t)
	if m["uart"] == "" {
		t.Skip("no serial port to test on")
	}
	node := filepath.Join("/dev", m["uart"])
	answer(t, filepath.Join("/dev", m["gadget"]), make(chan struct{}))
	// Unbinding the USB device takes the port away as pulling the plug does.
	function, err := filepath.EvalSymlinks(filepath.Join("/sys/class/tty", m["uart"], "device"))
	must(t, err)
	usb := filepath.Dir(function)
	drivers := "/sys/bus/usb/drivers/usb"
	w := contract.UARTWiring{
		Port: m["uart"], Mode: device.DefaultMode, Other: device.PortMode{Baud: 57600, DataBits: 7, Parity: 'E', StopBits: 2, Flow: device.FlowXonXoff},
		Send: "ping\n", Answer: "pong\r\n", Owned: m["console"], Modem: true,
		Pull: func() { must(t, os.WriteFile(filepath.Join(drivers, "unbind"), []byte(filepath.Base(usb)), 0)) },
		Plug: func() {
			must(t, os.WriteFile(filepath.Join(drivers, "bind"), []byte(filepath.Base(usb)), 0))
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
				if _, err := os.Stat(node); err == nil {
					time.Sleep(500 * time.Millisecond) // the gadget's end
					return
				}
			}
			t.Errorf("%s does not come back", node)
		},
	}
	if m["alias-usb"] != "" {
		w.Aliases = append(w.Aliases, m["alias-usb"])
	}
	contract.UART(t, func() device.Board { return openReal(t) }, w)
}

func TestKernelUARTsAreListed(t *testing.T) {
	m := kernel(t)
	u := openReal(t).UART()
	if u == nil {
		t.Skip("no serial ports")
	}
	ports, err := u.Ports(nil)
	must(t, err)
	for _, p := range ports {
		t.Logf("%+v", p)
		if p.USB != nil {
			t.Logf("%+v", *p.USB)
		}
		if strings.HasPrefix(p.Name, "ttyS") && p.Driver == "" && m["console"] != "" {
			t.Errorf("%s has no driver", p.Name)
		}
		if p.Name == m["console"] && p.Owner != "the kernel's console" {
			t.Errorf("the console's owner is %q", p.Owner)
		}
	}
}
