package device

import (
	"sync"
	"time"
)

// CANRingFrames is how many frames a ring holds: half a second of a full bus at
// 1 Mbit/s, minutes of a quiet one, and half a megabyte at the most.
const CANRingFrames = 4096

// CANFromNow is the offset of whatever comes next.
const CANFromNow = ^uint64(0)

// CANReceived is a frame as it was received.
type CANReceived struct {
	CANFrame
	Offset uint64    // its number since the recording began, those that were lost included
	Time   time.Time // the kernel's
}

// CANWanted says which frames a call of Receive wants.
type CANWanted struct {
	From  uint64 // the offset to begin at, or CANFromNow
	Count int    // the most frames
	// Match says whether a frame is wanted, for each once and in order; nil: all
	// are. Error frames are asked for too. It is called while the ring is locked.
	Match    func(*CANFrame) CANVerdict
	Deadline time.Time   // when to stop waiting
	Stop     func() bool // asked now and then; true ends the wait early; may be nil
}

// CANVerdict is whether a frame is wanted.
type CANVerdict uint8

// The verdicts. CANEnd leaves the frame where it is and ends the call.
const (
	CANSkip CANVerdict = iota
	CANTake
	CANEnd
)

// CANTaken says what a call of Receive has passed over.
type CANTaken struct {
	Next uint64 // the offset to go on from
	Lost uint64 // frames between From and Next that are not in the ring: it was too slow, or they are too old
}

// CANRing records received frames, the newest CANRingFrames of them. One
// goroutine puts frames, any number take them. The zero CANRing is empty and
// ready.
type CANRing struct {
	mu     sync.Mutex
	frames []CANReceived // a ring once it is full
	oldest int           // its first frame
	next   uint64
	closed error
	wake   chan struct{} // closed at the next change; nil while nobody waits
}

// Put records a frame that was received at when. It allocates until the ring is
// full, and never waits.
func (r *CANRing) Put(f *CANFrame, when time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.frames) < CANRingFrames {
		r.frames = append(r.frames, CANReceived{*f, r.next, when})
	} else {
		r.frames[r.oldest] = CANReceived{*f, r.next, when}
		r.oldest = (r.oldest + 1) % len(r.frames)
	}
	r.next++
	r.changed()
}

// Lose counts n frames that were lost before the next one.
func (r *CANRing) Lose(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next += n
}

// Close ends the recording: a Take that finds nothing gives err, which is not nil.
func (r *CANRing) Close(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed == nil {
		r.closed = err
	}
	r.changed()
}

// Next is the offset of the next frame.
func (r *CANRing) Next() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.next
}

// changed wakes who waits. The caller holds the lock.
func (r *CANRing) changed() {
	if r.wake != nil {
		close(r.wake)
		r.wake = nil
	}
}

// stopEvery is how often a wait asks whether to stop.
const stopEvery = 50 * time.Millisecond

// Take appends what w wants, and waits for it until its deadline. Too few frames
// are no error. After Close it gives what is there, and the error of Close only
// where that is nothing.
func (r *CANRing) Take(w CANWanted, dst []CANReceived) ([]CANReceived, CANTaken, error) {
	want := len(dst) + w.Count
	begin := len(dst)
	taken := CANTaken{Next: w.From}
	for {
		r.mu.Lock()
		var done bool
		dst, done = r.collect(&w, &taken, want, dst)
		closed := r.closed
		if !done && closed == nil && r.wake == nil {
			r.wake = make(chan struct{})
		}
		wake := r.wake
		r.mu.Unlock()
		left := time.Until(w.Deadline)
		switch {
		case done || len(dst) > begin && closed != nil:
			return dst, taken, nil
		case closed != nil:
			return dst, taken, closed
		case left <= 0 || w.Stop != nil && w.Stop():
			return dst, taken, nil
		}
		timer := time.NewTimer(min(left, stopEvery))
		select {
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// collect appends the wanted frames that are there, and says whether that is
// enough. The caller holds the lock.
func (r *CANRing) collect(w *CANWanted, taken *CANTaken, want int, dst []CANReceived) (_ []CANReceived, done bool) {
	if taken.Next > r.next { // CANFromNow, or an offset of an earlier recording
		taken.Next = r.next
	}
	// Offsets grow but may have gaps, so a frame's place is at most as far from
	// the end as its offset.
	skip := 0
	if away := r.next - taken.Next; uint64(len(r.frames)) > away {
		skip = len(r.frames) - int(away)
	}
	for i := skip; i < len(r.frames) && len(dst) < want; i++ {
		f := &r.frames[(r.oldest+i)%len(r.frames)]
		if f.Offset < taken.Next {
			continue
		}
		taken.Lost += f.Offset - taken.Next
		taken.Next = f.Offset
		verdict := CANTake
		if w.Match != nil {
			verdict = w.Match(&f.CANFrame)
		}
		if verdict == CANEnd {
			return dst, true
		}
		taken.Next++
		if verdict == CANTake {
			dst = append(dst, *f)
		}
	}
	if len(dst) >= want {
		return dst, true
	}
	taken.Lost += r.next - taken.Next
	taken.Next = r.next
	return dst, false
}
