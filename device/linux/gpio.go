//go:build linux

package linux

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

// gpio is the lines of all chips.
//
// A line is read by requesting it as it is, with no direction, and giving it back
// at once; the kernel changes nothing for that. Written lines stay requested, for
// the kernel may let a level go with the request that set it. On a chip that makes
// an output an input when it is given back (see chip.frees), an output that was
// only read stays requested too; it ends with the process, as it does for everyone.
type gpio struct {
	roots roots

	// mu guards what follows, and see chip.fd. It is never held while a chip works.
	mu     sync.Mutex
	closed bool
	chips  []*chip          // by number
	byName map[string]*line // names and aliases
	why    error            // why a chip that is there is not in chips
	spare  []*reading
	rests  map[string]device.Config // how lines are left, by name, so that it outlives a chip that goes and comes
}

// reading is the scratch of one Read.
type reading struct {
	lines  []*line
	levels []device.Level
	done   []bool
}

func newGPIO(r roots) *gpio { return &gpio{roots: r} }

// usable says that at least one chip can be opened.
func (g *gpio) usable() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.look() == nil
}

// look brings the table of chips and names up to date. Call it with mu held. It
// fails when there is no chip that can be used.
func (g *gpio) look() error {
	if g.closed {
		return errClosed("gpio")
	}
	numbers := numbered(g.roots.dev, "gpiochip")
	changed := false
	g.chips = slices.DeleteFunc(g.chips, func(c *chip) bool {
		var info uapi.ChipInfo
		// Whoever is at work on a chip that is gone finds that out (see done).
		if uapi.GetChipInfo(c.fd, &info) == nil || !c.mu.TryLock() {
			return false
		}
		defer c.mu.Unlock()
		c.shut()
		changed = true
		return true
	})
	g.why = nil
	for _, n := range numbers {
		if slices.ContainsFunc(g.chips, func(c *chip) bool { return c.number == n }) {
			continue
		}
		c, err := openChip(g.roots, n)
		if err != nil {
			g.why = err
			continue
		}
		changed = true
		g.chips = append(g.chips, c)
	}
	if changed {
		slices.SortFunc(g.chips, func(a, b *chip) int { return a.number - b.number })
		g.byName = nameLines(g.chips)
	}
	switch {
	case len(g.chips) > 0:
		return nil
	case g.why != nil:
		return g.why
	}
	return &device.Error{Subject: "gpio", Kind: device.ErrUnplugged, Reason: "no GPIO chip is left"}
}

// nameLines gives each line its name and returns all names with the aliases
// "GPIO0" and so on.
func nameLines(chips []*chip) map[string]*line {
	kernel, labels, parents := map[string]int{}, map[string]int{}, map[string]int{}
	for _, c := range chips {
		labels[c.label]++
		parents[c.parent]++
		for i := range c.lines {
			kernel[c.lines[i].kernel]++
		}
	}
	names := make(map[string]*line)
	for _, c := range chips {
		prefix := c.name
		switch {
		case c.label != "" && labels[c.label] == 1:
			prefix = c.label
		case c.parent != "" && parents[c.parent] == 1:
			prefix = c.parent
		}
		for i := range c.lines {
			l := &c.lines[i]
			l.name = l.kernel
			if l.name == "" || kernel[l.name] > 1 {
				offset := ":" + strconv.Itoa(i)
				l.name = prefix + offset
				if kernel[l.name] > 0 || names[l.name] != nil {
					l.name = c.name + offset
				}
			}
			names[l.name] = l
		}
	}
	if c := processorChip(chips); c != nil {
		for i := range c.lines {
			alias := "GPIO" + strconv.Itoa(i)
			if kernel[alias] == 0 {
				names[alias] = &c.lines[i]
			}
		}
	}
	return names
}

// processorChip is the chip whose offsets are the processor's own numbers.
func processorChip(chips []*chip) *chip {
	for _, c := range chips {
		if strings.HasPrefix(c.label, "pinctrl-") {
			return c
		}
	}
	for _, c := range chips {
		if !c.slow {
			return c
		}
	}
	if len(chips) > 0 {
		return chips[0]
	}
	return nil
}

// find is the line called name. Call it with mu held.
func (g *gpio) find(name string) (*line, error) {
	if g.closed {
		return nil, errClosed("gpio")
	}
	if l := g.byName[name]; l != nil {
		return l, nil
	}
	if err := g.look(); err != nil {
		return nil, err
	}
	if l := g.byName[name]; l != nil {
		return l, nil
	}
	n := 0
	for _, c := range g.chips {
		n += len(c.lines)
	}
	e := &device.Error{Subject: `line ` + strconv.Quote(name), Kind: device.ErrNotFound,
		Hint: "gpio_list shows " + strconv.Itoa(n) + " lines"}
	if g.why != nil {
		e.Hint += "; " + g.why.Error()
	}
	return nil, e
}

// Lines implements device.GPIO.
func (g *gpio) Lines(dst []device.Line) ([]device.Line, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.look(); err != nil {
		return dst, err
	}
	for _, c := range g.chips {
		for i := range c.lines {
			l, err := c.lines[i].snapshot()
			if errors.Is(err, device.ErrUnplugged) {
				break
			}
			if err != nil {
				return dst, err
			}
			dst = append(dst, l)
		}
	}
	return dst, nil
}

// Find implements device.GPIO.
func (g *gpio) Find(name string) (device.Line, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l, err := g.find(name)
	if err != nil {
		return device.Line{}, err
	}
	return l.snapshot()
}

// snapshot is the line as the kernel shows it. Call it with gpio.mu held.
func (l *line) snapshot() (device.Line, error) {
	var info uapi.LineInfo
	owner, err := l.look(&info)
	if err != nil {
		return device.Line{}, err
	}
	return device.Line{
		Name:      l.name,
		Chip:      l.chip.name,
		Offset:    l.offset,
		Direction: direction(&info),
		ActiveLow: info.Flags&uapi.FlagActiveLow != 0,
		Bias:      bias(&info),
		Drive:     drive(&info),
		Debounce:  debounce(&info),
		Held:      l.held,
		Owner:     owner,
		Slow:      l.chip.slow,
	}, nil
}

// Read implements device.GPIO.
func (g *gpio) Read(names []string, levels []device.Level) error {
	r, err := g.begin(names)
	if err == nil {
		for i, l := range r.lines {
			if !r.done[i] {
				if err = g.readChip(l.chip, r); err != nil {
					break
				}
			}
		}
	}
	if err == nil {
		copy(levels, r.levels)
	}
	g.mu.Lock()
	g.spare = append(g.spare, r)
	g.mu.Unlock()
	return err
}

// begin finds the lines called names, into a spare reading.
func (g *gpio) begin(names []string) (*reading, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var r *reading
	if n := len(g.spare); n > 0 {
		r, g.spare = g.spare[n-1], g.spare[:n-1]
	} else {
		r = new(reading)
	}
	r.lines = r.lines[:0]
	for _, name := range names {
		l, err := g.find(name)
		if err != nil {
			return r, err
		}
		r.lines = append(r.lines, l)
	}
	r.levels = slices.Grow(r.levels[:0], len(names))[:len(names)]
	r.done = slices.Grow(r.done[:0], len(names))[:len(names)]
	clear(r.done)
	return r, nil
}

// readChip reads the lines of r that are on c.
func (g *gpio) readChip(c *chip, r *reading) error {
	c.mu.Lock()
	err := c.read(g, r)
	g.done(c, err)
	return err
}

func (c *chip) read(g *gpio, r *reading) error {
	if c.fd < 0 {
		return explain(c.name, unix.ENODEV, nil)
	}
	for i, l := range r.lines {
		if l.chip != c {
			continue
		}
		var err error
		switch {
		case l.fd >= 0:
			r.levels[i], err = l.get(l.fd)
		case l.pinned != "":
			// Giving it back would take the pin from the device.
			err = l.ownedBy(l.pinned)
		case c.frees:
			r.levels[i], err = g.readAlone(l)
		default:
			continue
		}
		if err != nil {
			return err
		}
		r.done[i] = true
	}
	for {
		n, err := c.readFree(r)
		if n == 0 || err != nil {
			return err
		}
	}
}

// readFree reads up to LinesMax lines of r that are on c, not requested by us and
// not read yet, in one request. It returns how many it read.
func (c *chip) readFree(r *reading) (n int, err error) {
	var batch [uapi.LinesMax]*line
	for i, l := range r.lines {
		if l.chip != c || r.done[i] || l.slot > 0 || n == len(batch) {
			continue
		}
		batch[n] = l
		c.req.Offsets[n] = l.offset
		n++
		l.slot = n // the kernel refuses a request that names a line twice
	}
	if n == 0 {
		return 0, nil
	}
	defer func() {
		for _, l := range batch[:n] {
			l.slot = 0
		}
	}()
	fd, err := c.request(n)
	if err == unix.EBUSY {
		return n, c.busy(batch[:n]...)
	}
	if err != nil {
		return n, failTogether(batch[:n], err)
	}
	values := uapi.LineValues{Mask: 1<<n - 1}
	err = uapi.GetValues(fd, &values)
	unix.Close(fd)
	if err != nil {
		return n, failTogether(batch[:n], err)
	}
	for i, l := range r.lines {
		if l.chip == c && l.slot > 0 {
			r.levels[i], r.done[i] = device.Level(values.Bits>>(l.slot-1)&1), true
		}
	}
	return n, nil
}

// failTogether is the error of lines, all of one chip, that were asked for in one
// request: the kernel does not say which of them it was.
func failTogether(lines []*line, err error) error {
	if len(lines) == 1 {
		return lines[0].fail(err)
	}
	return explain(lines[0].chip.name+": "+strconv.Itoa(len(lines))+" lines together", err, gpioMeanings)
}

// readAlone reads a line that is not requested yet, of a chip whose driver makes
// an output that is given back an input: an output stays requested for good. Only
// a request makes the kernel ask the chip which way the line is driven. Call it
// with the chip's mu held.
func (g *gpio) readAlone(l *line) (device.Level, error) {
	fd, err := l.take()
	if err != nil {
		return 0, err
	}
	s, err := l.state(fd)
	if err != nil || s.Direction == device.In {
		unix.Close(fd)
		return s.Level, err
	}
	g.mu.Lock()
	l.fd = fd
	g.mu.Unlock()
	return s.Level, nil
}

// Write implements device.GPIO.
func (g *gpio) Write(name string, level device.Level) (device.State, error) {
	l, err := g.lookup(name)
	if err != nil {
		return device.State{}, err
	}
	l.chip.mu.Lock()
	before, err := g.write(l, level&1)
	g.done(l.chip, err)
	return before, err
}

func (g *gpio) lookup(name string) (*line, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.find(name)
}

// write is Write with the chip's mu held.
func (g *gpio) write(l *line, level device.Level) (device.State, error) {
	if l.chip.fd < 0 {
		return device.State{}, l.fail(unix.ENODEV)
	}
	if l.watch != nil {
		return device.State{}, l.watched()
	}
	if l.held && l.now.Direction == device.Out {
		before := device.State{Direction: device.Out, Level: l.now.Level}
		err := l.set(l.fd, level)
		if err == nil {
			l.now.Level = level
		}
		return before, err
	}
	before, _, err := g.configure(l, func(c *device.Config) error {
		c.Direction, c.Level = device.Out, level
		return nil
	})
	return device.State{Direction: before.Direction, Level: before.Level}, err
}

// Configure implements device.GPIO.
func (g *gpio) Configure(name string, change func(*device.Config) error) (before, after device.Config, err error) {
	l, err := g.lookup(name)
	if err != nil {
		return before, after, err
	}
	l.chip.mu.Lock()
	before, after, err = g.configure(l, change)
	g.done(l.chip, err)
	return before, after, err
}

// configure is Configure with the chip's mu held.
func (g *gpio) configure(l *line, change func(*device.Config) error) (before, after device.Config, err error) {
	switch {
	case l.chip.fd < 0:
		return before, after, l.fail(unix.ENODEV)
	case l.watch != nil:
		return before, after, l.watched()
	case l.pinned != "":
		return before, after, l.ownedBy(l.pinned)
	}
	fd, ours := l.fd, l.fd >= 0
	if !ours {
		if fd, err = l.take(); err != nil {
			return before, after, err
		}
		l.seq = 0
	}
	before, err = l.state(fd)
	if err == nil {
		if l.held && before.Direction == device.Out {
			before.Level = l.now.Level // as it was written; the pin may be pulled elsewhere
		}
		after = before
		err = change(&after)
		if err == nil {
			err = l.change(fd, before, &after)
		}
	}
	if err != nil {
		if !ours {
			unix.Close(fd)
		}
		return before, before, err
	}
	g.mu.Lock()
	if !l.held {
		l.first = before
		if rest, ok := g.rests[l.name]; ok {
			l.first = rest
		}
	}
	l.fd, l.held, l.now = fd, true, after
	closed := g.closed
	g.mu.Unlock()
	if closed { // between lookup and now
		g.release(l)
		return before, before, errClosed("gpio")
	}
	return before, after, nil
}

// change sets the line of the request fd, which is set up as before, up as *after,
// and makes of *after what the kernel has. Where it fails the line is as before.
func (l *line) change(fd int, before device.Config, after *device.Config) error {
	if after.Debounce < 0 || after.Debounce > device.MaxDebounce {
		return &device.Error{Subject: l.subject(), Kind: device.ErrNotSupport, Reason: "no debounce of " + after.Debounce.String(),
			Hint: "0 to " + device.MaxDebounce.String() + " are allowed"}
	}
	err := l.apply(fd, *after, 0)
	if err == nil {
		want := *after
		if *after, err = l.state(fd); err == nil {
			if after.Direction == device.Out {
				after.Level = want.Level
			}
			return nil
		}
	}
	l.apply(fd, before, 0) // it may have been changed all the same
	if errors.Is(err, device.ErrNoAck) && after.Debounce > 0 {
		return &device.Error{Subject: l.subject(), Kind: device.ErrNotSupport,
			Reason: "the chip has no interrupt for the line, which debounce needs, or does not answer (ENXIO)", Hint: "leave debounce_us out"}
	}
	return err
}

func (l *line) watched() error {
	return &device.Error{Subject: l.subject(), Kind: device.ErrBusy, Reason: "watched by a gpio_wait", Hint: "wait for its end, or cancel it"}
}

// Release implements device.GPIO.
func (g *gpio) Release(name string) error {
	l, err := g.lookup(name)
	if err != nil {
		return err
	}
	l.chip.mu.Lock()
	if l.held && l.watch != nil {
		err = l.watched()
	} else {
		err = g.release(l)
	}
	g.done(l.chip, err)
	return err
}

// release is Release with the chip's mu held. The line is given up even where it
// could not be put back.
func (g *gpio) release(l *line) error {
	if !l.held {
		return nil
	}
	err := l.apply(l.fd, l.first, 0)
	g.mu.Lock()
	defer g.mu.Unlock()
	l.held = false
	if l.chip.frees && l.first.Direction == device.Out && !g.closed {
		return err // stays requested, or its level would go
	}
	unix.Close(l.fd)
	l.fd = -1
	return err
}

// Rest implements device.GPIO.
func (g *gpio) Rest(name string, c device.Config) error {
	g.mu.Lock()
	l, err := g.find(name)
	if err != nil {
		g.mu.Unlock()
		return err
	}
	if g.rests == nil {
		g.rests = make(map[string]device.Config)
	}
	g.rests[l.name] = c
	g.mu.Unlock()
	l.chip.mu.Lock() // where the chip is at work this waits, as Release does
	defer l.chip.mu.Unlock()
	if l.held {
		l.first = c
	}
	return nil
}

// done ends a piece of work on a chip, which ended with err, and unlocks its mu. A
// chip that is gone is closed and taken out of the table.
func (g *gpio) done(c *chip, err error) {
	defer c.mu.Unlock()
	if n := c.requests.Load(); n%2 == 1 {
		c.requests.Store(n + 1)
	}
	if err == nil || !errors.Is(err, device.ErrUnplugged) {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.shut()
	if i := slices.Index(g.chips, c); i >= 0 {
		g.chips = slices.Delete(g.chips, i, i+1)
		g.byName = nameLines(g.chips)
	}
}

// shut closes all descriptors of the chip. Call it with both locks held.
func (c *chip) shut() {
	for i := range c.lines {
		l := &c.lines[i]
		if l.watch != nil {
			l.watch.end()
			l.watch = nil
		}
		if l.fd >= 0 {
			unix.Close(l.fd)
		}
		l.fd, l.held = -1, false
	}
	if c.fd >= 0 {
		unix.Close(c.fd)
	}
	c.fd = -1
}

// closeWait is how long close waits for chips that are at work.
const closeWait = 500 * time.Millisecond

// close puts all held lines back and closes all chips, each by itself. A chip that
// hangs is left to the end of the process.
func (g *gpio) close() error {
	g.mu.Lock()
	g.closed = true
	chips := g.chips
	g.chips, g.byName = nil, nil
	g.mu.Unlock()
	ended := make(chan error, len(chips))
	for _, c := range chips {
		go func() { ended <- g.closeChip(c) }()
	}
	late := time.After(closeWait)
	var errs []error
	for n := range chips {
		select {
		case err := <-ended:
			errs = append(errs, err)
		case <-late:
			return errors.Join(append(errs, &device.Error{Subject: "gpio", Kind: device.ErrTimeout,
				Reason: strconv.Itoa(len(chips)-n) + " chips still at work after " + closeWait.String(),
				Hint:   "their lines may not have been put back"})...)
		}
	}
	return errors.Join(errs...)
}

func (g *gpio) closeChip(c *chip) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for i := range c.lines {
		if w := c.lines[i].watch; w != nil {
			w.end()
		}
		errs = append(errs, g.release(&c.lines[i]))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c.shut()
	return errors.Join(errs...)
}
