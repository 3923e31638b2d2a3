package link

// fifo is a queue of messages in one buffer, which it keeps while it is small.
type fifo struct {
	buf   []byte
	start int // of the first message
	items []item
	head  int // the first item
}

// item is a message that waits to be sent.
type item struct {
	ticket uint64
	size   int
	after  uint64 // the ticket of the short message that must leave first
}

func (q *fifo) empty() bool { return q.head == len(q.items) }

// waits is what waits in bytes, as the limits of queues count them.
func (q *fifo) waits() int {
	return len(q.buf) - q.start + (len(q.items)-q.head)*perMessage
}

func (q *fifo) push(msg []byte, i item) {
	if q.start > 0 && len(q.buf)+len(msg) > cap(q.buf) {
		q.buf = q.buf[:copy(q.buf, q.buf[q.start:])]
		q.start = 0
	}
	if q.head > 0 && len(q.items) == cap(q.items) {
		q.items = q.items[:copy(q.items, q.items[q.head:])]
		q.head = 0
	}
	i.size = len(msg)
	q.buf = append(q.buf, msg...)
	q.items = append(q.items, i)
}

// front is the first message, valid until push and pop. The queue is not empty.
func (q *fifo) front() (*item, []byte) {
	i := &q.items[q.head]
	return i, q.buf[q.start : q.start+i.size]
}

func (q *fifo) pop() {
	q.start += q.items[q.head].size
	q.head++
	if q.empty() {
		q.clear()
	}
}

func (q *fifo) clear() {
	q.buf, q.items, q.start, q.head = small(q.buf), q.items[:0], 0, 0
}

// small empties a buffer, and leaves a large one to the garbage collector.
func small(buf []byte) []byte {
	if cap(buf) > keepBuffer {
		return nil
	}
	return buf[:0]
}

// payloadBuffer gives an empty buffer for n bytes of a payload: buf, or a larger one.
// Doubling it would take more than all 64 of them may.
func payloadBuffer(buf []byte, n int) []byte {
	if cap(buf) >= n {
		return buf[:0]
	}
	for _, size := range []int{smallFragment, bulkFragment} {
		if n <= size {
			return make([]byte, 0, size)
		}
	}
	return make([]byte, 0, maxPayload)
}

// inbox is what waits for Receive.
type inbox struct {
	buf  []byte
	ends []int // of each message in buf; ended where a session ended
	next int   // of ends
	at   int   // of buf
}

const ended = -1

func (b *inbox) empty() bool { return b.next == len(b.ends) }

func (b *inbox) reset() {
	b.buf, b.ends, b.next, b.at = small(b.buf), b.ends[:0], 0, 0
}

// end notes that a session ended, once for several that brought nothing. It
// returns whether it was noted.
func (b *inbox) end() bool {
	if n := len(b.ends); n > 0 && b.ends[n-1] == ended {
		return false
	}
	b.ends = append(b.ends, ended)
	return true
}

// take gives the next message; ok is false where a session ended.
func (b *inbox) take() (msg []byte, ok bool) {
	end := b.ends[b.next]
	b.next++
	if end == ended {
		return nil, false
	}
	msg = b.buf[b.at:end:end]
	b.at = end
	return msg, true
}
