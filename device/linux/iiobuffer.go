//go:build linux

package linux

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// The limits of a capture. A buffer that stays silent for captureIdle has no
// trigger that fires.
const (
	captureIdle   = 2 * time.Second
	capturePoll   = 50 * time.Millisecond
	maxElements   = 256 // of a device's scan
	maxBufferSize = 64 << 10
)

// makeTrigger is what to do where nothing says when to sample.
const makeTrigger = "make a trigger: sudo modprobe iio-trig-hrtimer; sudo mkdir -p /sys/kernel/config/iio/triggers/hrtimer/boardhand"

// element is one element of a device's scan.
type element struct {
	base  string
	index int
	scanType
	at int // its place in a scan, in bytes
}

// Capture implements device.Sensors through the device's buffer
// (Documentation/driver-api/iio/buffers.rst): the elements and a trigger are
// chosen in sysfs, scans are read from /dev/iio:deviceX, and everything is put
// back.
func (s *sensors) Capture(names []string, n int, stop func() bool) (device.Capture, error) {
	if s.closed.Load() {
		return device.Capture{}, errClosed("sensors")
	}
	if len(names) == 0 || n < 1 || n > device.MaxSamples {
		return device.Capture{}, &device.Error{Subject: "capture of " + strconv.Itoa(n) + " samples", Kind: device.ErrNotSupport,
			Hint: "1 to " + strconv.Itoa(device.MaxSamples) + " samples of at least one sensor are allowed"}
	}
	c := capture{sensors: s, n: n, stop: stop}
	for _, name := range names {
		x, err := s.sensor(name)
		if err != nil {
			return device.Capture{}, err
		}
		channel, ok := x.source.(*iioChannel)
		if !ok || channel.scan.storage == 0 || channel.processed && channel.scale == "" {
			return device.Capture{}, &device.Error{Subject: "sensor " + strconv.Quote(name), Kind: device.ErrNotSupport,
				Reason: "has no buffer", Hint: "read it again and again"}
		}
		if len(c.wanted) > 0 && c.device.dir != channel.device.dir {
			return device.Capture{}, &device.Error{Subject: "sensors " + strconv.Quote(names[0]) + " and " + strconv.Quote(name),
				Kind: device.ErrNotSupport, Reason: "belong to two devices and share no buffer", Hint: "capture one device at a time"}
		}
		c.device = channel.device
		c.wanted = append(c.wanted, channel)
		c.result.Samples = append(c.result.Samples, device.Samples{Sensor: x.Sensor})
	}
	if !s.capturing.TryLock() {
		return device.Capture{}, &device.Error{Subject: c.device.name, Kind: device.ErrBusy, Reason: "a capture is running", Hint: "try again when it has ended"}
	}
	defer s.capturing.Unlock()
	if err := c.run(); err != nil {
		return device.Capture{}, err
	}
	return c.result, nil
}

// capture is one run of a device's buffer.
type capture struct {
	sensors *sensors
	device  *iioDevice
	wanted  []*iioChannel
	n       int
	stop    func() bool

	undo     []setting // in the order in which they were changed
	elements []element // that are on, by place
	scan     int       // bytes of one
	stamp    int       // which of them is the time stamp, or -1
	kick     string    // path of a trigger that fires when it is written to, or empty
	result   device.Capture
}

// setting is a file and what it held.
type setting struct{ path, text string }

var captureMeanings = []meaning{
	{unix.EBUSY, device.ErrBusy, "another program has its buffer", "end that program, such as iiod, or read one sample at a time"},
	{unix.EINVAL, device.ErrNotSupport, "the driver refuses this buffer", "read it again and again"},
	{unix.ENOENT, device.ErrNotSupport, "the kernel gives it no buffer", "read it again and again"},
	{unix.ENXIO, device.ErrNotSupport, "the kernel gives it no buffer", "read it again and again"},
}

func (c *capture) explain(err error) error { return explain(c.device.name, err, captureMeanings) }

// run sets the buffer up, reads it and puts everything back.
func (c *capture) run() (err error) {
	if on, err := readText(8, c.device.dir, "buffer/enable"); err != nil {
		return c.explain(err)
	} else if on != "0" {
		return c.explain(unix.EBUSY)
	}
	fd, err := unix.Open(c.device.node, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return openError(c.sensors.roots, c.device.node, err, captureMeanings)
	}
	defer unix.Close(fd)
	defer c.restore()
	if err := c.setUp(); err != nil {
		return err
	}
	return c.read(fd)
}

// set changes a setting, to be put back.
func (c *capture) set(text string, path ...string) error {
	full := filepath.Join(append([]string{c.device.dir}, path...)...)
	before, err := readText(128, full)
	if err == nil && before != text {
		if err = writeText(full, text); err == nil {
			c.undo = append(c.undo, setting{full, before})
		}
	}
	if err != nil {
		e := c.explain(err)
		if d, ok := e.(*device.Error); ok && d.Kind == device.ErrPermission {
			d.Reason, d.Hint = "no right to set its buffer up in "+full, "run as root, or read one sample at a time"
		}
		return e
	}
	return nil
}

// restore puts the settings back, the last first.
func (c *capture) restore() {
	for _, s := range slices.Backward(c.undo) {
		_ = writeText(s.path, s.text) // nobody is left to tell, and the others matter as much
	}
}

// setUp chooses the trigger and the elements and starts the buffer.
func (c *capture) setUp() error {
	if err := c.trigger(); err != nil {
		return err
	}
	if err := c.choose(); err != nil {
		return err
	}
	// Twice as many as asked for, so that none is lost while we are away.
	length := min(2*c.n+2, max(16, maxBufferSize/c.scan))
	if err := c.set(strconv.Itoa(length), "buffer/length"); err != nil {
		return err
	}
	_ = c.set("1", "buffer/watermark") // where there is one (Linux 4.2)
	return c.set("1", "buffer/enable")
}

// trigger takes the device's trigger, or gives it one for as long as the capture
// lasts: the device's own, one of a timer, one that we fire.
func (c *capture) trigger() error {
	current, err := readText(128, c.device.dir, "trigger/current_trigger")
	if err != nil {
		return nil // the device samples by its own clock
	}
	devices := filepath.Join(c.sensors.roots.sys, "bus/iio/devices")
	best, bestRank := "", 0
	for _, n := range numbered(devices, "trigger") {
		dir := filepath.Join(devices, "trigger"+strconv.Itoa(n))
		name, _ := readText(128, dir, "name")
		rank := 0
		switch {
		case name == "":
		case name == current:
			rank = 4
		case current != "":
		case strings.HasPrefix(name, c.device.name) && strings.HasSuffix(name, "-dev"+strconv.Itoa(c.device.number)):
			rank = 3
		case exists(dir, "sampling_frequency"):
			rank = 2
		case exists(dir, "trigger_now"):
			rank = 1
		}
		if rank > bestRank {
			best, bestRank, c.kick = name, rank, ""
			if now := filepath.Join(dir, "trigger_now"); exists(now) {
				c.kick = now
			}
		}
	}
	if best == "" && current == "" {
		return &device.Error{Subject: c.device.name, Kind: device.ErrNotSupport, Reason: "its buffer needs a trigger and there is none", Hint: makeTrigger}
	}
	if current != "" {
		return nil
	}
	return c.set(best, "trigger/current_trigger")
}

// choose turns the wanted elements on, with the time stamp, and all others off,
// then looks which are on and where each stands in a scan.
func (c *capture) choose() error {
	const dir = "scan_elements"
	entries, err := os.ReadDir(filepath.Join(c.device.dir, dir))
	if err != nil {
		return c.explain(err)
	}
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), "_en")
		if !ok {
			continue
		}
		on := "0"
		name := strings.TrimPrefix(base, "in_")
		if name == "timestamp" || slices.ContainsFunc(c.wanted, func(w *iioChannel) bool { return w.base == name }) {
			on = "1"
		}
		if err := c.set(on, dir, e.Name()); err != nil {
			return err
		}
		// A driver may keep an element on, or turn its kin on too.
		if state, err := readText(8, c.device.dir, dir, e.Name()); err != nil || state == "0" {
			continue
		}
		c.elements = append(c.elements, element{base: name})
		if len(c.elements) > maxElements {
			return c.explain(unix.EINVAL)
		}
	}
	for i := range c.elements {
		e := &c.elements[i]
		kind := e.base[:len(e.base)-len(strings.TrimLeft(e.base, "abcdefghijklmnopqrstuvwxyz"))]
		index, err := readText(16, c.device.dir, dir, "in_"+e.base+"_index")
		if err == nil {
			e.index, err = strconv.Atoi(index)
		}
		if e.scanType = c.device.scanType(kind, e.base); err != nil || e.storage == 0 {
			return &device.Error{Subject: c.device.name, Kind: device.ErrNotSupport,
				Reason: "the layout of its buffer is not known: " + e.base, Hint: "read it again and again"}
		}
	}
	slices.SortStableFunc(c.elements, func(a, b element) int { return cmp.Compare(a.index, b.index) })
	c.scan, c.stamp = layOut(c.elements)
	return nil
}

// layOut gives each element its place: behind the one before, at a multiple of
// its own size; a scan ends at a multiple of its largest. stamp is which of them
// is the time stamp, or -1.
func layOut(elements []element) (scan, stamp int) {
	stamp = -1
	largest := 1
	up := func(n, to int) int { return (n + to - 1) / to * to }
	for i := range elements {
		e := &elements[i]
		e.at = up(scan, e.alignment())
		scan = e.at + e.size()
		largest = max(largest, e.alignment())
		if e.base == "timestamp" {
			stamp = i
		}
	}
	return up(scan, largest), stamp
}

// column is where a wanted channel's samples are, and how they become values.
type column struct {
	*element
	channel       *iioChannel
	scale, offset device.Decimal
}

// read takes the scans in.
func (c *capture) read(fd int) error {
	columns := make([]column, len(c.wanted))
	for i, w := range c.wanted {
		k := slices.IndexFunc(c.elements, func(e element) bool { return e.base == w.base })
		if k < 0 {
			return c.explain(unix.EINVAL)
		}
		scale, offset, err := w.factors()
		if err != nil {
			return c.explain(err)
		}
		columns[i] = column{&c.elements[k], w, scale, offset}
		c.result.Samples[i].Values = make([]device.Decimal, 0, c.n)
	}
	buf := make([]byte, min(c.n, max(1, maxBufferSize/c.scan))*c.scan)
	var first, last int64
	var began, ended time.Time
	heard := time.Now()
	for got := 0; got < c.n; {
		if c.sensors.closed.Load() || c.stop != nil && c.stop() || time.Since(heard) > captureIdle {
			break
		}
		if c.kick != "" {
			if err := writeText(c.kick, "1"); err != nil {
				return c.explain(err)
			}
		}
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(capturePoll.Milliseconds()))
		if err != nil && err != unix.EINTR {
			return c.explain(err)
		}
		n, err := unix.Read(fd, buf[:min(len(buf), (c.n-got)*c.scan)])
		switch {
		case err == unix.EAGAIN || err == unix.EINTR:
			continue
		case err != nil:
			return c.explain(err)
		case n < c.scan:
			time.Sleep(time.Millisecond)
			continue
		}
		heard = time.Now()
		for scan := range slices.Chunk(buf[:n/c.scan*c.scan], c.scan) {
			if got == 0 {
				began = heard
			}
			if c.stamp >= 0 {
				last = c.elements[c.stamp].decode(scan[c.elements[c.stamp].at:])
				if got == 0 {
					first = last
				}
			}
			for i := range columns {
				columns[i].add(&c.result.Samples[i], scan)
			}
			got++
		}
		ended = heard
	}
	if began.IsZero() {
		hint := "check that its trigger fires: a timer's sampling_frequency, or the chip's interrupt line"
		return &device.Error{Subject: c.device.name, Kind: device.ErrTimeout, Reason: "no sample arrived in its buffer", Hint: hint}
	}
	c.result.Time, c.result.Span = began, ended.Sub(began)
	if last > first {
		c.result.Span = time.Duration(last - first)
	}
	return nil
}

// add appends the sample in a scan.
func (c *column) add(s *device.Samples, scan []byte) {
	raw := c.decode(scan[c.at:])
	v := c.channel.value(device.Decimal{Value: raw}, c.scale, c.offset)
	if s.Suspect == "" {
		if s.Suspect = c.saturated(raw); s.Suspect == "" {
			s.Suspect = implausible(s.Sensor, v)
		}
	}
	s.Values = append(s.Values, v)
}

// close ends the sensors, and a capture that runs: it waits for as long as its
// settings take to be put back, within a limit.
func (s *sensors) close() {
	s.closed.Store(true)
	for limit := time.Now().Add(4 * capturePoll); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		if s.capturing.TryLock() {
			s.capturing.Unlock()
			return
		}
	}
}
