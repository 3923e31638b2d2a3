//go:build linux

package linux

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// Watchdog is the hardware's own timer that resets the machine when nobody feeds it:
// Documentation/watchdog/watchdog-api.rst. It runs from OpenWatchdog on, and a process
// that is killed leaves it running, so that the reset brings outputs down that nobody
// else can.
type Watchdog struct {
	file    *os.File
	timeout time.Duration

	stop chan struct{}
	mu   sync.Mutex
	done bool // nothing may be written after the letter that stops it
}

var watchdogMeanings = []meaning{
	{unix.EBUSY, device.ErrBusy, "another process feeds it, such as systemd by RuntimeWatchdogSec=", "leave one of the two"},
	{unix.EINVAL, device.ErrNotSupport, "it cannot have this timeout", "a few seconds to a minute are common; a Raspberry Pi has 15 s at most"},
	{unix.ENOTTY, device.ErrNotSupport, "no watchdog", "/dev/watchdog and /dev/watchdog0 are usual"},
	{unix.ENOENT, device.ErrNotFound, "no such watchdog", "load its driver, or softdog for one in software"},
}

// OpenWatchdog starts the watchdog at path with a timeout of whole seconds; 0 leaves it
// what it is.
func OpenWatchdog(path string, timeout time.Duration) (*Watchdog, error) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, explain(path, err, watchdogMeanings)
	}
	w := &Watchdog{file: file, stop: make(chan struct{})}
	fd := int(file.Fd())
	if timeout > 0 {
		seconds := int((timeout + time.Second - 1) / time.Second)
		err = unix.IoctlSetPointerInt(fd, unix.WDIOC_SETTIMEOUT, seconds)
	}
	var seconds uint32
	if err == nil {
		seconds, err = unix.IoctlGetUint32(fd, unix.WDIOC_GETTIMEOUT)
	}
	if err != nil {
		_ = w.end()
		return nil, explain(path, err, watchdogMeanings)
	}
	w.timeout = time.Duration(seconds) * time.Second
	return w, nil
}

// Guard feeds the watchdog from now on, for as long as alive, asked several times
// within its timeout, says so and does not hang.
func (w *Watchdog) Guard(alive func() bool) {
	go w.guard(max(w.timeout/8, 10*time.Millisecond), alive)
}

func (w *Watchdog) guard(every time.Duration, alive func() bool) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if alive() {
			w.feed()
		}
		select {
		case <-w.stop:
			return
		case <-tick.C:
		}
	}
}

func (w *Watchdog) feed() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		_, _ = w.file.Write([]byte{0}) // where that fails there is nothing else to do
	}
}

// Close stops the watchdog, where its driver lets it be stopped, and feeds it no more.
// It is safe to call twice.
func (w *Watchdog) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done {
		return nil
	}
	w.done = true
	close(w.stop)
	return w.end()
}

// end closes the file with the letter that says that it is meant.
func (w *Watchdog) end() error {
	_, err := w.file.Write([]byte{'V'})
	if err2 := w.file.Close(); err == nil {
		err = err2
	}
	if err != nil {
		return fmt.Errorf("%s still runs: %w", w.file.Name(), err)
	}
	return nil
}
