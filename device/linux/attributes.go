//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// entries is the names in a folder, in order; none where it cannot be read.
func entries(dir string) []string {
	all, _ := os.ReadDir(dir)
	names := make([]string, len(all))
	for i, e := range all {
		names[i] = e.Name()
	}
	return names
}

// attributeWait is how long an attribute that the kernel has just made may take
// until this user may open it: udev gives it to a group a little later.
const attributeWait = time.Second

// put writes an attribute of sysfs, which belongs to subject. An attribute that is
// fresh is waited for; the write itself is never tried again.
func put(r roots, subject, path, value string, fresh bool, family []meaning) error {
	const flags = unix.O_WRONLY | unix.O_TRUNC | unix.O_CLOEXEC
	fd, err := unix.Open(path, flags, 0)
	for end := time.Now().Add(attributeWait); fresh && (err == unix.EACCES || err == unix.ENOENT) && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		fd, err = unix.Open(path, flags, 0)
	}
	if err != nil {
		return openError(r, path, err, family)
	}
	defer unix.Close(fd)
	n, err := unix.Write(fd, []byte(value))
	if err == nil && n < len(value) {
		err = unix.EIO
	}
	if err != nil {
		return explain(subject+" "+filepath.Base(path)+" = "+value, err, family)
	}
	return nil
}

// whole is the whole number in an attribute, 0 where there is none.
func whole(path ...string) int64 {
	text, _ := readText(32, path...)
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// holds is what this process has set of a family, by name, and T is how such a
// thing stood before.
type holds[T any] struct {
	closed atomic.Bool
	mu     sync.Mutex
	byName map[string]*hold[T] // as many as the board has, at most
}

// hold is one thing. Its mu is held while it is acted on, which can take long.
type hold[T any] struct {
	mu    sync.Mutex
	set   bool
	first T
	rest  *T       // takes the place of first, where that was said
	lock  *os.File // tells other processes that it is set
}

// reserve locks the thing at path, where it is not set yet, for this process. The
// caller has mu, and calls unlock where it does not take it after all.
func (x *hold[T]) reserve(r roots, subject, path string, family []meaning) (err error) {
	if !x.set && x.lock == nil {
		x.lock, err = lockFolder(r, subject, path, family)
	}
	return err
}

// unlock ends what reserve began, where the thing is not set. The caller has mu.
func (x *hold[T]) unlock() {
	if !x.set && x.lock != nil {
		x.lock.Close()
		x.lock = nil
	}
}

// take makes the thing a held one, which stood as first before. The caller has mu.
func (x *hold[T]) take(first T) {
	if x.set {
		return
	}
	x.set, x.first = true, first
	if x.rest != nil {
		x.first = *x.rest
	}
}

// leave says how the thing is left. The caller has mu.
func (x *hold[T]) leave(rest T) {
	if x.rest = &rest; x.set {
		x.first = rest
	}
}

// of gives the hold of a thing that exists.
func (h *holds[T]) of(name string) *hold[T] {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byName == nil {
		h.byName = make(map[string]*hold[T])
	}
	if h.byName[name] == nil {
		h.byName[name] = &hold[T]{}
	}
	return h.byName[name]
}

// held says whether name is set, or is being set.
func (h *holds[T]) held(name string) bool {
	h.mu.Lock()
	x := h.byName[name]
	h.mu.Unlock()
	if x == nil || !x.mu.TryLock() {
		return x != nil
	}
	defer x.mu.Unlock()
	return x.set
}

// close ends the family and gives everything back, each by itself: back does so
// for one, whose mu it has. What hangs is left to the end of the process.
func (h *holds[T]) close(family string, back func(name string, x *hold[T]) error) error {
	h.closed.Store(true)
	h.mu.Lock()
	defer h.mu.Unlock()
	ended := make(chan error, len(h.byName))
	for name, x := range h.byName {
		go func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			ended <- back(name, x)
		}()
	}
	late := time.After(closeWait)
	var errs []error
	for n := range len(h.byName) {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-late:
			return errors.Join(append(errs, &device.Error{Subject: family, Kind: device.ErrTimeout,
				Reason: fmt.Sprintf("%d still at work after %v", len(h.byName)-n, closeWait), Hint: "they may not have been put back"})...)
		}
	}
	return errors.Join(errs...)
}
