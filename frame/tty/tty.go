// Package tty opens a serial port for the link: raw, 8 data bits, no parity, one
// stop bit, no flow control, and for this process alone.
//
// A port is a file that can go away and come back: an adapter is pulled and
// plugged in again, often under another number, and a gadget's port hangs up with
// its host. So a Port ends for good when its hardware does, and Reopen waits for
// the same device.
//
// The line's settings are the work of go.bug.st/serial on every system. On Linux
// bytes go through a file of our own on the same node, which the runtime's poller
// waits for: the library's Write has no deadline, and its Read cannot tell the
// hardware's end from its own. Ports are listed from sysfs, where looking touches
// no line; the library's own list opens every port it tries.
package tty

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// Kinds of Error, for errors.Is, beside fs.ErrNotExist (there is no such port),
// fs.ErrPermission, os.ErrClosed (by Close) and os.ErrDeadlineExceeded (the
// hardware takes no bytes).
var (
	ErrBusy        = errors.New("in use")
	ErrUnplugged   = errors.New("unplugged")
	ErrUnsupported = errors.New("not supported")
)

// Error is what is wrong with a port and what to do about it.
type Error struct {
	Path   string // of the port
	Kind   error
	Reason string
	Hint   string // what to do; or empty
}

// Error implements error.
func (e *Error) Error() string {
	s := e.Path + ": " + e.Reason
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

// Unwrap gives the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Info is a serial port and the device behind it.
type Info struct {
	Path        string // "/dev/ttyUSB0", "COM3", "/dev/cu.usbserial-A50285BI"
	ByID        string // Linux: the path below /dev/serial/by-id, which keeps its name; or empty
	Driver      string // Linux: of the kernel, "ftdi_sio"; or empty
	Description string // of a USB device by itself, "FTDI FT232R USB UART"; or empty
	Serial      string // number of the USB device; or empty
	USB         bool   // the port is a USB device, or its adapter is one
	VID, PID    uint16 // of the USB device; both 0 where they are not known
	place       string // Linux: the USB device's socket and interface, "1-1.2:1.0"
	number      string // Linux: which port of the USB device, "00.0"
}

// identified says that the device can be told from others whatever its port's name.
func (i *Info) identified() bool { return i.VID != 0 || i.PID != 0 }

// String is the port for a person: "/dev/ttyUSB0 (FTDI FT232R USB UART)".
func (i *Info) String() string {
	switch {
	case i.Description != "":
		return i.Path + " (" + i.Description + ")"
	case i.identified():
		return fmt.Sprintf("%s (USB %04x:%04x)", i.Path, i.VID, i.PID)
	}
	return i.Path
}

// same says that now is the device that was there as i. USB devices without a
// serial number are told apart by their socket, or else by their port's name.
func (i *Info) same(now *Info) bool {
	switch {
	case !i.identified():
		return i.Path == now.Path
	case i.VID != now.VID || i.PID != now.PID || i.Serial != now.Serial || i.number != now.number:
		return false
	case i.Serial != "":
		return true
	}
	return i.Path == now.Path || i.place != "" && i.place == now.place
}

// What a line and a wait may take.
const (
	// stalled is how long hardware may take no byte.
	stalled = 10 * time.Second
	// queued is the bytes that the system may still hold from before.
	queued = 4096
	// leaveWait is how long Close waits for written bytes to leave.
	leaveWait = 300 * time.Millisecond
	// maxListed is the ports in an error.
	maxListed = 8
	// firstLook and lastLook are the shortest and the longest time between two
	// looks for a port that is away.
	firstLook = 100 * time.Millisecond
	lastLook  = time.Second
)

// patience is how long n bytes may take, beside stalled.
func patience(n, baud int) time.Duration {
	return time.Duration(n+queued) * 10 * time.Second / time.Duration(baud)
}

// Reopen opens the device that was there as was, of Port.Info or List, at its new
// name where it has one. It tries at once, then once a second or more often until
// ctx is done, and gives the last reason then. What waiting cannot mend, such as
// a baud rate, it gives at once. An Info of which only Path is set means whatever
// is there.
func Reopen(ctx context.Context, was Info, baud int) (*Port, error) {
	wait := time.NewTimer(0)
	defer wait.Stop()
	<-wait.C
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		path, err := was.Path, error(nil)
		if was.identified() {
			path, err = find(&was)
		}
		if err == nil {
			var p *Port
			if p, err = Open(path, baud); err == nil || errors.Is(err, ErrUnsupported) || errors.Is(err, errors.ErrUnsupported) {
				return p, err
			}
		}
		wait.Reset(pause)
		select {
		case <-ctx.Done():
			return nil, err
		case <-wait.C:
		}
	}
}

// find gives the path that the device was now has.
func find(was *Info) (string, error) {
	ports, err := List()
	if err != nil {
		return "", err
	}
	for i := range ports {
		if was.same(&ports[i]) {
			return ports[i].Path, nil
		}
	}
	return "", &Error{was.Path, ErrUnplugged, "the device is gone", "plug it in again"}
}

// noPort is the error of a port that does not exist.
func noPort(path string) *Error {
	e := &Error{path, fs.ErrNotExist, "there is no such port", "this machine has no serial port: check the cable, and with an adapter that the system knows it"}
	ports, _ := List()
	if len(ports) > 0 {
		names := make([]string, 0, maxListed)
		for i := range ports[:min(len(ports), maxListed)] {
			names = append(names, ports[i].String())
		}
		e.Hint = "this machine has " + strings.Join(names, ", ")
		if more := len(ports) - len(names); more > 0 {
			e.Hint += fmt.Sprintf(" and %d more", more)
		}
	}
	return e
}

func closed(path string) *Error { return &Error{path, os.ErrClosed, "closed", "open it again"} }

func badBaud(path string, baud int) *Error {
	return &Error{path, ErrUnsupported, fmt.Sprintf("%d baud is not supported", baud), "choose one that both ends have, such as 115200"}
}

// checkBaud refuses what no driver takes; some make 0 a hang-up.
func checkBaud(path string, baud int) error {
	if baud < 50 || baud > 1<<30 {
		return badBaud(path, baud)
	}
	return nil
}

// stuck is the error of a Write that the hardware did not take.
func stuck(path string, n, of int) *Error {
	return &Error{path, os.ErrDeadlineExceeded, fmt.Sprintf("took %d of %d bytes in time, and some of them may not have left", n, of),
		"check that the other end is there and reads"}
}
