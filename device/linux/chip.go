//go:build linux

package linux

import (
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/linux/internal/uapi"
)

// maxLines bounds the lines of one chip; the kernel's largest have some hundred.
const maxLines = 4096

// chip is one GPIO chip, open for as long as it is there.
type chip struct {
	roots  roots
	name   string // "gpiochip0"
	label  string
	parent string // the device that the chip belongs to, "1-0020"
	number int
	slow   bool
	// frees says that this chip's driver makes an output that is given back an
	// input, so that giving back is a change.
	frees bool
	lines []line

	// mu serialises what is done with lines; it is held while the chip works,
	// which on a slow bus can be long. It comes before gpio.mu.
	mu  sync.Mutex
	req uapi.LineRequest // reused; only its lines and fd change
	// requests is odd while a line of the chip is requested that has no fd yet.
	requests atomic.Uint32

	// fd and the fd and held of lines change under mu and gpio.mu both, so
	// either is enough to look at them. A chip that is gone has fd -1.
	fd int
}

// line is one line of a chip.
type line struct {
	chip   *chip
	offset uint32
	kernel string // the kernel's name for it, or empty
	name   string // what we call it, unique on the board
	pinned string // the device whose function the pin carries, where the device tree says so

	fd    int           // our request, or -1
	held  bool          // it was written or configured and is to be put back
	first device.Config // before that
	now   device.Config // how it is set up since, with what it was last written
	watch *watch        // what watches it, or nil
	seq   uint32        // the kernel's number of the last event of fd; its watch's own
	slot  int           // 1 + its place in the request being built; 0: none
}

// openChip opens gpiochipN and reads its lines. Errors name the node.
func openChip(r roots, number int) (*chip, error) {
	name := "gpiochip" + strconv.Itoa(number)
	path := filepath.Join(r.dev, name)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, openError(r, path, err, nil)
	}
	c := &chip{roots: r, name: name, number: number, fd: fd}
	if err := c.learn(r); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return c, nil
}

func (c *chip) learn(r roots) error {
	var info uapi.ChipInfo
	if err := uapi.GetChipInfo(c.fd, &info); err != nil {
		return explain(c.name, err, nil)
	}
	if info.Lines > maxLines {
		return &device.Error{Subject: c.name, Kind: device.ErrNotSupport,
			Reason: strconv.Itoa(int(info.Lines)) + " lines, more than " + strconv.Itoa(maxLines)}
	}
	c.label = text(info.Label[:])
	copy(c.req.Consumer[:], consumer)
	c.req.Event_buffer_size = uapi.EventsMax // of which there are none until edges are asked for
	c.place(r)
	var pins map[uint32]string
	if c.frees = strings.HasPrefix(c.label, "pinctrl-bcm2") || c.label == "pinctrl-rp1"; c.frees {
		pins = pinFunctions(r)
		module := "pinctrl_bcm2835"
		if c.label == "pinctrl-rp1" {
			module = "pinctrl_rp1"
		}
		if v, _ := readText(8, r.sys, "module", module, "parameters/persist_gpio_outputs"); v == "Y" {
			c.frees = false
		}
	}
	c.lines = make([]line, info.Lines)
	for i := range c.lines {
		info := uapi.LineInfo{Offset: uint32(i)}
		if err := uapi.GetLineInfo(c.fd, &info); err != nil {
			return c.lineInfoError(r, err)
		}
		c.lines[i] = line{chip: c, offset: uint32(i), kernel: text(info.Name[:]), pinned: pins[uint32(i)], fd: -1}
	}
	return nil
}

// lineInfoError is the error err of the first request of uAPI version 2, which an
// older kernel does not know.
func (c *chip) lineInfoError(r roots, err error) error {
	if err == unix.EINVAL || err == unix.ENOTTY {
		return &device.Error{Subject: c.name, Kind: device.ErrNotSupport,
			Reason: "this kernel (Linux " + kernelRelease(r) + ") lacks version 2 of the GPIO character device",
			Hint:   "Linux 5.10 or newer has it"}
	}
	return explain(c.name, err, nil)
}

// place finds the device that the chip belongs to and whether it is on a bus.
func (c *chip) place(r roots) {
	dir, err := filepath.EvalSymlinks(filepath.Join(r.sys, "bus/gpio/devices", c.name))
	if err != nil {
		return
	}
	dir = filepath.Dir(dir)
	c.parent = filepath.Base(dir)
	for ; strings.HasPrefix(dir, r.sys+"/devices/"); dir = filepath.Dir(dir) {
		switch linkBase(dir, "subsystem") {
		case "i2c", "spi", "usb":
			c.slow = true
			return
		}
	}
}

// text is a name from the kernel: printable, or empty.
func text(b []byte) string {
	s := unix.ByteSliceToString(b)
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return ""
	}
	return s
}

// look asks the kernel about the line and returns who else has it, or "". Call it
// with either lock held.
func (l *line) look(info *uapi.LineInfo) (owner string, err error) {
	requests := l.chip.requests.Load()
	*info = uapi.LineInfo{Offset: l.offset}
	if err := uapi.GetLineInfo(l.chip.fd, info); err != nil {
		return "", l.fail(err)
	}
	switch {
	case l.fd >= 0:
		return "", nil
	case info.Flags&uapi.FlagUsed == 0:
		return l.pinned, nil
	}
	owner = l.chip.userOf(info)
	if owner == anotherOne && (requests%2 == 1 || l.chip.requests.Load() != requests) {
		return l.pinned, nil // a read of ours, which is over by now
	}
	return owner, nil
}

// anotherOne is who has a line by this very process, as another board of it.
const anotherOne = "another boardhand"

// userOf is who requested a line that is used.
func (c *chip) userOf(info *uapi.LineInfo) string {
	switch s := text(info.Consumer[:]); s {
	case "":
		if info.Consumer[0] == 0 {
			return "the kernel"
		}
		return "another process"
	case "?": // what the kernel shows for one that gave no name
		return "another process"
	case consumer:
		return anotherOne
	default:
		if pid := consumerPID(s); pid > 0 {
			return process(c.roots, pid)
		}
		return s
	}
}

// busy is the error of the first of lines, all of c, that somebody else has. Call
// it with mu held.
func (c *chip) busy(lines ...*line) error {
	for _, l := range lines {
		info := uapi.LineInfo{Offset: l.offset}
		if uapi.GetLineInfo(c.fd, &info) == nil && info.Flags&uapi.FlagUsed != 0 {
			return l.ownedBy(c.userOf(&info))
		}
	}
	return lines[0].ownedBy("") // given back since
}

func (l *line) ownedBy(owner string) error {
	e := &device.Error{Subject: l.subject(), Kind: device.ErrBusy, Hint: "choose a line without an owner in gpio_list, or end what uses it"}
	if owner != "" {
		e.Reason = "in use by " + owner
	}
	return e
}

func (l *line) subject() string { return `line "` + l.name + `"` }

// gpioMeanings is where a line's errors differ from the general ones.
var gpioMeanings = []meaning{
	{unix.EPERM, device.ErrNotSupport, "the kernel does not let it be driven this way", ""},
	{unix.EIO, nil, "the chip refuses it or does not answer", "check the bus that the chip is on"},
	{unix.EINTR, nil, "interrupted, outcome unknown", "read the line to see how it stands"},
	{unix.EINVAL, device.ErrNotSupport, "the chip cannot do this with the line", ""},
}

func (l *line) fail(err error) error { return explain(l.subject(), err, gpioMeanings) }

// request takes n lines, whose offsets are in c.req, as they are and returns the
// request's descriptor. Call it with mu held, and gpio.done after it.
func (c *chip) request(n int) (int, error) {
	c.requests.Or(1)
	c.req.Num_lines = uint32(n)
	err := uapi.GetLine(c.fd, &c.req)
	return int(c.req.Fd), err
}

// take requests one line as it is. Call it with mu held.
func (l *line) take() (int, error) {
	l.chip.req.Offsets[0] = l.offset
	fd, err := l.chip.request(1)
	if err == unix.EBUSY {
		return -1, l.chip.busy(l)
	}
	if err != nil {
		return -1, l.fail(err)
	}
	return fd, nil
}

// state is how the line of the request fd is set up. Call it with mu held.
func (l *line) state(fd int) (device.Config, error) {
	level, err := l.get(fd)
	if err != nil {
		return device.Config{}, err
	}
	// Since the request, the kernel knows the true direction.
	info := uapi.LineInfo{Offset: l.offset}
	if err := uapi.GetLineInfo(l.chip.fd, &info); err != nil {
		return device.Config{}, l.fail(err)
	}
	return device.Config{Direction: direction(&info), Level: level, ActiveLow: info.Flags&uapi.FlagActiveLow != 0,
		Bias: bias(&info), Drive: drive(&info), Debounce: debounce(&info)}, nil
}

// get is the level of the one line of the request fd.
func (l *line) get(fd int) (device.Level, error) {
	values := uapi.LineValues{Mask: 1}
	if err := uapi.GetValues(fd, &values); err != nil {
		return 0, l.fail(err)
	}
	return device.Level(values.Bits & 1), nil
}

// set changes the level of the one line of the request fd, an output.
func (l *line) set(fd int, level device.Level) error {
	values := uapi.LineValues{Bits: uint64(level), Mask: 1}
	if err := uapi.SetValues(fd, &values); err != nil {
		return l.fail(err)
	}
	return nil
}

// apply sets the one line of the request fd up as c, with edges as events.
func (l *line) apply(fd int, c device.Config, edges device.Edges) error {
	config := lineConfig(c, edges)
	if err := uapi.SetConfig(fd, &config); err != nil {
		return l.fail(err)
	}
	return nil
}

// lineConfig is c as the kernel takes it.
func lineConfig(c device.Config, edges device.Edges) (config uapi.LineConfig) {
	if c.ActiveLow {
		config.Flags |= uapi.FlagActiveLow
	}
	switch c.Bias {
	case device.BiasOff:
		config.Flags |= uapi.FlagBiasDisabled
	case device.BiasUp:
		config.Flags |= uapi.FlagBiasPullUp
	case device.BiasDown:
		config.Flags |= uapi.FlagBiasPullDown
	}
	if c.Direction == device.Out {
		config.Flags |= uapi.FlagOutput
		switch c.Drive {
		case device.OpenDrain:
			config.Flags |= uapi.FlagOpenDrain
		case device.OpenSource:
			config.Flags |= uapi.FlagOpenSource
		}
		config.Num_attrs = 1
		config.Attrs[0].Attr.Id = uapi.AttrOutputValues
		config.Attrs[0].Attr.Flags = uint64(c.Level) // the values, in a union with the flags
		config.Attrs[0].Mask = 1
		return config
	}
	config.Flags |= uapi.FlagInput
	if edges&device.Rising != 0 {
		config.Flags |= uapi.FlagEdgeRising
	}
	if edges&device.Falling != 0 {
		config.Flags |= uapi.FlagEdgeFalling
	}
	if c.Debounce > 0 {
		uapi.SetDebounce(&config, uint32(c.Debounce/time.Microsecond))
	}
	return config
}

func debounce(info *uapi.LineInfo) time.Duration {
	return time.Duration(uapi.Debounce(info)) * time.Microsecond
}

func direction(info *uapi.LineInfo) device.Direction {
	if info.Flags&uapi.FlagOutput != 0 {
		return device.Out
	}
	return device.In
}

func bias(info *uapi.LineInfo) device.Bias {
	switch {
	case info.Flags&uapi.FlagBiasPullUp != 0:
		return device.BiasUp
	case info.Flags&uapi.FlagBiasPullDown != 0:
		return device.BiasDown
	case info.Flags&uapi.FlagBiasDisabled != 0:
		return device.BiasOff
	}
	return device.BiasUnknown
}

func drive(info *uapi.LineInfo) device.Drive {
	switch {
	case info.Flags&uapi.FlagOpenDrain != 0:
		return device.OpenDrain
	case info.Flags&uapi.FlagOpenSource != 0:
		return device.OpenSource
	}
	return device.PushPull
}
