package device

import (
	"sync"
	"time"
)

// ReceiverSize is how many bytes a Receiver keeps.
const ReceiverSize = 64 << 10

// Receiver keeps the last bytes that a port has received, each with its offset:
// the number of bytes received before it since the port was opened. A board puts
// bytes in; any number of callers may read and wait. What nobody read in time is
// lost, and its count is the distance of the offsets. The zero Receiver is ready.
type Receiver struct {
	mu   sync.Mutex
	ring []byte
	end  uint64 // offset of the next byte
	last time.Time
	err  error
	wake chan struct{} // closed at the next change; nil while nobody waits
}

// Put appends received bytes. It does not keep p, and allocates only at first
// and where someone waits.
func (r *Receiver) Put(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		r.ring = make([]byte, ReceiverSize)
	}
	r.last = time.Now()
	if extra := len(p) - ReceiverSize; extra > 0 {
		p, r.end = p[extra:], r.end+uint64(extra)
	}
	n := copy(r.ring[r.end%ReceiverSize:], p)
	copy(r.ring, p[n:])
	r.end += uint64(len(p))
	r.changed()
}

// Fail ends the reception: whoever waits gets err. What was received stays.
func (r *Receiver) Fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
		r.changed()
	}
}

func (r *Receiver) changed() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// Bounds are the offsets of the oldest byte kept and of the next to come.
func (r *Receiver) Bounds() (start, end uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.start(), r.end
}

func (r *Receiver) start() uint64 { return r.end - min(r.end, ReceiverSize) }

// Last is when the last byte came; zero where none has.
func (r *Receiver) Last() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

// Err is why nothing more can come, or nil.
func (r *Receiver) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// ReadAt copies bytes from offset on into dst and gives their count and the
// offset of the first, which is later than offset where bytes were lost.
func (r *Receiver) ReadAt(dst []byte, offset uint64) (n int, from uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	from = max(offset, r.start())
	if from >= r.end {
		return 0, from
	}
	dst = dst[:min(uint64(len(dst)), r.end-from)]
	k := copy(dst, r.ring[from%ReceiverSize:])
	copy(dst[k:], r.ring)
	return len(dst), from
}

// Find gives the offset behind the first of patterns, none of them empty, that
// stands wholly at or after offset.
func (r *Receiver) Find(patterns []string, offset uint64) (end uint64, found bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for at := max(offset, r.start()); at < r.end; at++ {
		for _, p := range patterns {
			if uint64(len(p)) <= r.end-at && r.holds(p, at) {
				return at + uint64(len(p)), true
			}
		}
	}
	return 0, false
}

func (r *Receiver) holds(p string, at uint64) bool {
	for i := range len(p) {
		if r.ring[(at+uint64(i))%ReceiverSize] != p[i] {
			return false
		}
	}
	return true
}

// Wait waits until a byte after offset has come, and says whether one has;
// false at the deadline. An error is that of Fail, once all bytes are read.
func (r *Receiver) Wait(offset uint64, deadline time.Time) (bool, error) {
	var timer *time.Timer
	for {
		r.mu.Lock()
		if r.end > offset || r.err != nil {
			more, err := r.end > offset, r.err
			r.mu.Unlock()
			if more {
				err = nil
			}
			return more, err
		}
		left := time.Until(deadline)
		if left <= 0 {
			r.mu.Unlock()
			return false, nil
		}
		if r.wake == nil {
			r.wake = make(chan struct{})
		}
		wake := r.wake
		r.mu.Unlock()
		if timer == nil {
			timer = time.NewTimer(left)
			defer timer.Stop()
		} else {
			timer.Reset(left)
		}
		select {
		case <-wake:
		case <-timer.C:
		}
	}
}
