//go:build linux

package linux

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

// watch records the edges of some lines. Each line has a request of its own, so
// that the kernel counts its events by themselves, and a line that is held keeps
// the request that it has.
type watch struct {
	gpio  *gpio
	lines []*line
	own   []bool   // the request is this watch's, and ends with it
	base  []uint32 // the kernel's number before the first event: a held line's count may go on
	began int64    // CLOCK_MONOTONIC, ns

	// mu is held while the descriptors are in use; whoever closes one ends the
	// watch first. It comes after the chip's mu and gpio.mu.
	mu     sync.Mutex
	ended  bool
	closed bool
	wake   int // an eventfd, readable when the watch has ended; open as long as a line has the watch
	polls  []unix.PollFd
	events [watchBatch]uapi.LineEvent
}

// watchBatch is how many events one read takes from the kernel.
const watchBatch = 64

// Watch implements device.GPIO.
func (g *gpio) Watch(names []string, edges device.Edges) (device.Watcher, error) {
	if len(names) == 0 || len(names) > device.MaxWatched || edges == 0 || edges&^device.BothEdges != 0 {
		return nil, &device.Error{Subject: "gpio", Kind: device.ErrNotSupport, Reason: "no watch of " + strconv.Itoa(len(names)) + " lines",
			Hint: "1 to " + strconv.Itoa(device.MaxWatched) + " are allowed"}
	}
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, explain("gpio", err, nil)
	}
	w := &watch{gpio: g, wake: wake, began: monotonic()}
	for _, name := range names {
		if err := w.add(name, edges); err != nil {
			w.Close()
			return nil, err
		}
	}
	w.mu.Lock()
	w.polls = append(w.polls, unix.PollFd{Fd: int32(wake), Events: unix.POLLIN})
	w.mu.Unlock()
	return w, nil
}

func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // it has one since Linux 2.6
	return now.Nano()
}

// add arms a line.
func (w *watch) add(name string, edges device.Edges) error {
	l, err := w.gpio.lookup(name)
	if err != nil {
		return err
	}
	l.chip.mu.Lock()
	err = w.arm(l, edges)
	w.gpio.done(l.chip, err)
	return err
}

// arm is add with the chip's mu held.
func (w *watch) arm(l *line, edges device.Edges) error {
	switch {
	case l.chip.fd < 0:
		return l.fail(unix.ENODEV)
	case l.watch != nil:
		return l.watched()
	case l.pinned != "":
		return l.ownedBy(l.pinned)
	}
	fd, own := l.fd, l.fd < 0
	if own {
		var err error
		if fd, err = l.take(); err != nil {
			return err
		}
		l.seq = 0
	}
	c, err := l.state(fd)
	if err == nil && c.Direction == device.Out {
		err = &device.Error{Subject: l.subject(), Kind: device.ErrNotSupport, Reason: "an output has no events", Hint: "make it an input with gpio_configure"}
		if own && l.chip.frees {
			// Giving it back would make it an input, see gpio.
			w.gpio.mu.Lock()
			l.fd = fd
			w.gpio.mu.Unlock()
			return err
		}
	}
	if err == nil {
		err = l.listen(fd, c, edges)
	}
	if err != nil {
		if own {
			unix.Close(fd)
		}
		return err
	}
	w.gpio.mu.Lock()
	l.fd, l.watch = fd, w
	closed := w.gpio.closed
	w.gpio.mu.Unlock()
	w.mu.Lock()
	w.lines, w.own, w.base = append(w.lines, l), append(w.own, own), append(w.base, l.seq)
	w.polls = append(w.polls, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	w.mu.Unlock()
	if closed { // between lookup and now
		return errClosed("gpio")
	}
	return nil
}

// listen sets the one line of the request fd, an input set up as c, up for events.
func (l *line) listen(fd int, c device.Config, edges device.Edges) error {
	config := lineConfig(c, edges)
	err := uapi.SetConfig(fd, &config)
	if err == unix.ENODEV || err == unix.ENXIO {
		// So says a chip that is gone, and one that is there but has no interrupt for the line.
		if uapi.GetChipInfo(l.chip.fd, new(uapi.ChipInfo)) == nil {
			return &device.Error{Subject: l.subject(), Kind: device.ErrNotSupport, Reason: "the chip has no interrupt for it (" + errnoName(err.(unix.Errno)) + ")",
				Hint: "look at it with gpio_read now and then"}
		}
	}
	if err != nil {
		return l.fail(err)
	}
	return nil
}

// Next implements device.Watcher.
func (w *watch) Next(dst []device.Event, wait time.Duration) ([]device.Event, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return dst, errClosed("gpio")
	}
	for end := time.Now().Add(wait); ; {
		left := max(time.Until(end), 0)
		n, err := unix.Poll(w.polls, int((left+time.Millisecond-1)/time.Millisecond))
		switch {
		case err == unix.EINTR && left > 0:
			continue
		case err != nil && err != unix.EINTR:
			return dst, explain("gpio", err, nil)
		case n <= 0:
			return dst, nil
		}
		break
	}
	base := len(dst)
	for i, l := range w.lines {
		var err error
		switch revents := w.polls[i].Revents; {
		case revents&unix.POLLIN != 0:
			dst, err = w.read(dst, i)
		case revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0:
			err = unix.ENODEV
		}
		if err != nil {
			return dst, l.fail(err)
		}
	}
	if len(dst) == base { // only the end can have woken it
		return dst, errClosed("gpio")
	}
	slices.SortStableFunc(dst[base:], func(a, b device.Event) int { return cmp.Compare(a.Since, b.Since) })
	return dst, nil
}

// read appends the events that line i has. Among several lines each gets its share,
// so that one that never rests does not drown the others.
func (w *watch) read(dst []device.Event, i int) ([]device.Event, error) {
	n, err := uapi.ReadEvents(int(w.polls[i].Fd), w.events[:watchBatch/len(w.lines)])
	for k := range w.events[:n] {
		e := &w.events[k]
		level := device.Low
		if e.Id == uapi.EventRising {
			level = device.High
		}
		if e.Line_seqno <= w.base[i] {
			w.base[i] = 0 // a kernel that begins anew
		}
		dst = append(dst, device.Event{Line: i, Level: level, Since: time.Duration(int64(e.Timestamp_ns) - w.began), Seq: e.Line_seqno - w.base[i]})
	}
	if n > 0 {
		w.lines[i].seq = w.events[n-1].Line_seqno
	}
	return dst, err
}

// end makes Next return, now and ever after, and waits until it has.
func (w *watch) end() {
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	unix.Write(w.wake, one[:])
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// Close implements device.Watcher.
func (w *watch) Close() error {
	w.mu.Lock()
	twice := w.closed
	w.closed, w.ended = true, true
	w.mu.Unlock()
	if twice {
		return nil
	}
	var first error
	for i, l := range w.lines {
		l.chip.mu.Lock()
		err := w.disarm(l, w.own[i])
		w.gpio.done(l.chip, err)
		if first == nil {
			first = err
		}
	}
	unix.Close(w.wake)
	return first
}

// disarm ends the events of a line. Call it with the chip's mu held.
func (w *watch) disarm(l *line, own bool) error {
	if l.watch != w { // the chip is gone, or closed
		return nil
	}
	var err error
	if !own {
		err = l.apply(l.fd, l.now, 0)
		l.drain(w.events[:])
	}
	w.gpio.mu.Lock()
	defer w.gpio.mu.Unlock()
	l.watch = nil
	if own {
		unix.Close(l.fd)
		l.fd = -1
	}
	return err
}

// drain throws away the events that a held line still has, and keeps their number.
func (l *line) drain(events []uapi.LineEvent) {
	poll := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
	for range 2 * uapi.EventsMax / len(events) { // there are no more
		if n, err := unix.Poll(poll, 0); n != 1 || err != nil || poll[0].Revents&unix.POLLIN == 0 {
			return
		}
		n, err := uapi.ReadEvents(l.fd, events)
		if n == 0 || err != nil {
			return
		}
		l.seq = events[n-1].Line_seqno
	}
}
