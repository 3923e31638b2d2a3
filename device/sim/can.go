package sim

import (
	"fmt"
	"math"
	"sync"
	"time"

	"boardhand/device"
)

// The simulated bus has one other node, an engine's control unit as of a car. It
// sends by itself, and answers the questions of OBD-II (SAE J1979) of which an
// answer fits one frame.
const (
	canName    = "can0"
	canBitrate = 500000

	engineID      = 0x100      // engine speed in 1/4 rpm, then a counter; every 100 ms
	temperatureID = 0x18feee00 // J1939's engine temperature, 1 °C a bit from -40; every second
	askAllID      = 0x7df      // a question to every unit
	askID         = 0x7e0      // to this one
	answerID      = 0x7e8

	enginePeriod      = 100 * time.Millisecond
	temperaturePeriod = time.Second
	answerDelay       = 5 * time.Millisecond

	// What an answer shows besides.
	askCurrentData = 0x01
	pidSupported   = 0x00
	pidCoolant     = 0x05
	pidSpeed       = 0x0c
	refused        = 0x7f
	noSuchService  = 0x11
	noSuchPID      = 0x12

	maxCANAnswers = 64 // under way; a unit has no more memory for questions
)

// What a board file can say of the link.
const (
	canUp     = "up"
	canDown   = "down"
	canBusOff = "bus-off"
	canAlone  = "alone" // no other node: nothing is acknowledged
)

var canLinks = []string{canUp, canDown, canBusOff, canAlone}

// canBus is the bus, the link to it, and the control unit. Its frames are a
// function of time and of what was sent.
type canBus struct {
	now     func() time.Time
	link    string // one of canLinks
	rpm     wave
	coolant wave

	mu      sync.Mutex
	rings   []*device.CANRing // that record
	seen    time.Time         // everything up to here was recorded
	answers []canAnswer       // by time
}

// canAnswer is a frame that the unit will send.
type canAnswer struct {
	at    time.Time
	frame device.CANFrame
}

func newCANBus(w Wiring, now func() time.Time) *canBus {
	return &canBus{now: now, link: w.CAN,
		rpm:     newWave(w.Seed, 5, 1800, 900, 20*time.Second),
		coolant: newWave(w.Seed, 6, 88, 5, 9*time.Minute)}
}

func (b *canBus) state() device.CANLink {
	l := device.CANLink{Name: canName, Kind: "can", Up: b.link != canDown, FD: true, Bitrate: canBitrate, SamplePoint: 875, DataBitrate: 4 * canBitrate, Counted: true}
	switch b.link {
	case canDown:
		l.State = device.CANStopped
	case canBusOff:
		l.State, l.TxErrors = device.CANBusOff, 248
	case canAlone:
		l.State, l.TxErrors = device.CANErrorPassive, 128 // a missing acknowledge counts no further
	}
	return l
}

// advance records what came up to now, in its order. The caller holds the lock.
func (b *canBus) advance() {
	now := b.now()
	if b.link != canUp {
		b.seen = now
		return
	}
	// Of a long time nobody would keep more than the last frames.
	if oldest := now.Add(-device.CANRingFrames * enginePeriod); b.seen.Before(oldest) {
		skipped := uint64(oldest.Sub(b.seen)/enginePeriod) + uint64(oldest.Sub(b.seen)/temperaturePeriod)
		b.seen = oldest
		for _, r := range b.rings {
			r.Lose(skipped)
		}
	}
	for {
		at, frames := b.after(b.seen)
		if at.After(now) {
			return
		}
		b.seen = at
		if len(b.answers) > 0 && !b.answers[0].at.After(at) {
			b.answers = b.answers[1:] // it is in frames
		}
		for _, f := range frames {
			b.record(nil, &f, at)
		}
	}
}

// after is the frames that come next after t, and when.
func (b *canBus) after(t time.Time) (at time.Time, frames []device.CANFrame) {
	engine := t.Truncate(enginePeriod).Add(enginePeriod)
	temperature := t.Truncate(temperaturePeriod).Add(temperaturePeriod)
	at = engine // temperaturePeriod is a multiple
	if len(b.answers) > 0 && !b.answers[0].at.After(at) {
		at = b.answers[0].at
		frames = append(frames, b.answers[0].frame)
		if at.Before(engine) {
			return at, frames
		}
	}
	rpm := b.speed(engine)
	f := device.CANFrame{ID: engineID, Len: 8}
	f.Data[0], f.Data[1] = byte(rpm>>8), byte(rpm)
	f.Data[7] = byte(engine.UnixMilli() / enginePeriod.Milliseconds())
	frames = append(frames, f)
	if temperature.Equal(engine) {
		f = device.CANFrame{ID: temperatureID, Extended: true, Len: 8, Data: [64]byte{b.heat(engine), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}
		frames = append(frames, f)
	}
	return at, frames
}

// speed is the engine's, in quarters of a revolution per minute.
func (b *canBus) speed(t time.Time) uint16 { return uint16(math.Round(4 * b.rpm.at(t))) }

// heat is the coolant's temperature, in °C above -40.
func (b *canBus) heat(t time.Time) byte { return byte(math.Round(40 + b.coolant.at(t))) }

// record gives a frame to every recording but that of the sender. The caller
// holds the lock.
func (b *canBus) record(sender *device.CANRing, f *device.CANFrame, at time.Time) {
	for _, r := range b.rings {
		if r != sender {
			r.Put(f, at)
		}
	}
}

// hear is the control unit hearing a frame. The caller holds the lock.
func (b *canBus) hear(f *device.CANFrame, at time.Time) {
	if f.Extended || f.Remote || f.FD || f.ID != askAllID && f.ID != askID || f.Len < 3 || f.Data[0] != 2 {
		return
	}
	if len(b.answers) >= maxCANAnswers {
		return
	}
	service, pid := f.Data[1], f.Data[2]
	a := canAnswer{at: at.Add(answerDelay), frame: device.CANFrame{ID: answerID, Len: 8}}
	put := func(bytes ...byte) {
		a.frame.Data[0] = byte(len(bytes))
		copy(a.frame.Data[1:], bytes)
	}
	switch {
	case service != askCurrentData && f.ID == askAllID:
		return // who is not meant says nothing
	case service != askCurrentData:
		put(refused, service, noSuchService)
	case pid == pidSupported:
		put(service|0x40, pid, 1<<(8-pidCoolant), 1<<(16-pidSpeed), 0, 0)
	case pid == pidCoolant:
		put(service|0x40, pid, b.heat(at))
	case pid == pidSpeed:
		rpm := b.speed(at)
		put(service|0x40, pid, byte(rpm>>8), byte(rpm))
	case f.ID == askAllID:
		return
	default:
		put(refused, service, noSuchPID)
	}
	b.answers = append(b.answers, a)
}

// can is one board's access to the bus.
type can struct {
	bus *canBus

	mu     sync.Mutex
	ring   *device.CANRing // once something was sent or received
	closed bool
}

// open begins the recording and gives it.
func (c *can) open(name string) (*device.CANRing, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	if name != canName {
		return nil, &device.Error{Subject: fmt.Sprintf("CAN interface %.64q", name), Kind: device.ErrNotFound, Hint: "this board has " + canName}
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	if c.ring == nil {
		c.ring = new(device.CANRing)
		if len(c.bus.rings) == 0 {
			c.bus.seen = c.bus.now()
		}
		c.bus.advance()
		c.bus.rings = append(c.bus.rings, c.ring)
	}
	return c.ring, nil
}

// Links appends can0.
func (c *can) Links(dst []device.CANLink) ([]device.CANLink, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return dst, errClosed()
	}
	return append(dst, c.bus.state()), nil
}

// Send sends at once, or, where nobody acknowledges, waits until the deadline.
func (c *can) Send(name string, f *device.CANFrame, deadline time.Time) (when time.Time, next uint64, err error) {
	ring, err := c.open(name)
	if err != nil {
		return when, 0, err
	}
	link := c.bus.state()
	if err := link.Takes(f); err != nil {
		return when, 0, err
	}
	next = ring.Next()
	if c.bus.link == canAlone {
		time.Sleep(time.Until(deadline))
		ring.Put(&device.CANFrame{Error: true, ID: device.CANErrNoAck, Len: 8}, c.bus.now())
		return when, next, &device.Error{Subject: name, Kind: device.ErrTimeout,
			Reason: "the frame was not seen on the bus in time (no acknowledge: no other node answers); the link is " + link.String(),
			Hint:   "outcome unknown: the controller goes on trying until another node acknowledges it; check wiring, termination, bit rate and that another node is on the bus"}
	}
	clean := f.Clean()
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	c.bus.advance()
	when = c.bus.now()
	c.bus.record(ring, &clean, when)
	c.bus.hear(&clean, when)
	return when, ring.Next(), nil
}

// canStep is how often a waiting Receive looks at the board's clock.
const canStep = time.Millisecond

// Receive waits on the real clock for what comes by the board's.
func (c *can) Receive(name string, w device.CANWanted, dst []device.CANReceived) ([]device.CANReceived, device.CANTaken, error) {
	taken := device.CANTaken{Next: w.From}
	ring, err := c.open(name)
	if err != nil {
		return dst, taken, err
	}
	link := c.bus.state()
	quiet := link.Quiet()
	if quiet != nil {
		w.Deadline = time.Time{}
	}
	ended := false
	if match := w.Match; match != nil {
		w.Match = func(f *device.CANFrame) device.CANVerdict {
			v := match(f)
			ended = v == device.CANEnd
			return v
		}
	}
	step, begin, lost := w, len(dst), uint64(0)
	for {
		late := !time.Now().Before(w.Deadline)
		c.bus.mu.Lock()
		c.bus.advance()
		c.bus.mu.Unlock()
		step.Deadline = time.Now().Add(canStep)
		if step.Deadline.After(w.Deadline) {
			step.Deadline = w.Deadline
		}
		had := len(dst)
		dst, taken, err = ring.Take(step, dst)
		lost += taken.Lost
		taken.Lost = lost
		step.From = taken.Next
		step.Count -= len(dst) - had
		switch {
		case err != nil:
			return dst, taken, err
		case ended || step.Count <= 0 || late || w.Stop != nil && w.Stop():
			if len(dst) == begin {
				err = quiet
			}
			return dst, taken, err
		}
	}
}

// close ends the recording.
func (c *can) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.ring == nil {
		return
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	for i, r := range c.bus.rings {
		if r == c.ring {
			c.bus.rings = append(c.bus.rings[:i], c.bus.rings[i+1:]...)
			break
		}
	}
	c.ring.Close(errClosed())
}
