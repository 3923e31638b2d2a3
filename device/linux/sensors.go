//go:build linux

package linux

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// sensors is the channels of hwmon and IIO, the thermal zones and the 1-Wire
// thermometers.
type sensors struct {
	roots  roots
	closed atomic.Bool
	mu     sync.Mutex
	found  []sensor // as last looked up, by name
	// capturing is held while a buffer is set up and runs: its settings are the
	// device's, not the opener's.
	capturing sync.Mutex
}

// sensor is one channel and where it is measured.
type sensor struct {
	device.Sensor
	source
	path string // of the value, with no link in it: another device does not take its place
}

// source measures one quantity in its unit. suspect is as of device.Reading.
type source interface {
	measure() (v device.Decimal, suspect string, err error)
}

// kernelFile is a quantity in one file of hwmon or a thermal zone.
type kernelFile struct {
	channel
	path  string
	fault string // path of the chip's own word that the value is wrong, or empty
}

// channel is how the kernel gives a quantity: a whole number of 10^exp of its unit.
type channel struct {
	quantity device.Quantity
	exp      int8
}

// channels is the kinds of hwmon channel: Documentation/hwmon/sysfs-interface.rst.
var channels = map[string]channel{
	"temp":     {device.Temperature, -3},
	"in":       {device.Voltage, -3},
	"curr":     {device.Current, -3},
	"power":    {device.Power, -6},
	"energy":   {device.Energy, -6},
	"humidity": {device.Humidity, -3},
	"fan":      {device.Speed, 0},
	"freq":     {device.Frequency, 0},
	"pwm":      {device.FanDrive, -1},
}

// maxSensors bounds what is looked up; a server has some hundred.
const maxSensors = 1024

func newSensors(r roots) *sensors { return &sensors{roots: r} }

// look looks all sensors up anew. The caller must not change them.
func (s *sensors) look() []sensor {
	zones, types := s.zones()
	found := append(s.hwmon(types), zones...)
	found = append(found, s.iio()...)
	found = append(found, s.w1()...)
	if len(found) > maxSensors {
		found = found[:maxSensors]
	}
	slices.SortStableFunc(found, func(a, b sensor) int { return strings.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, func(a, b sensor) bool { return a.Name == b.Name })
	s.mu.Lock()
	s.found = found
	s.mu.Unlock()
	return found
}

// zones is the thermal zones, by the type of each, or by type and number where
// two have the same, and how many there are of each type.
func (s *sensors) zones() (zones []sensor, count map[string]int) {
	dir := filepath.Join(s.roots.sys, "class/thermal")
	count = map[string]int{}
	for _, n := range numbered(dir, "thermal_zone") {
		path, err := filepath.EvalSymlinks(filepath.Join(dir, "thermal_zone"+strconv.Itoa(n)))
		if err != nil {
			continue
		}
		value := filepath.Join(path, "temp")
		z := sensor{device.Sensor{Quantity: device.Temperature, Source: "thermal"}, kernelFile{channel: channels["temp"], path: value}, value}
		z.Name, _ = readText(64, path, "type")
		if z.Name = word(z.Name); z.Name == "" {
			z.Name = "thermal_zone" + strconv.Itoa(n)
		}
		z.Label = strconv.Itoa(n) // for now: its number
		count[z.Name]++
		zones = append(zones, z)
	}
	for i := range zones {
		z := &zones[i]
		if count[z.Name] > 1 {
			z.Name += "-" + z.Label
		}
		z.Label = ""
	}
	return zones, count
}

// hwmonChip is one hwmon device.
type hwmonChip struct{ name, parent, path string }

// hwmon is the channels of all hwmon chips but those that mirror a thermal zone
// of one of types.
func (s *sensors) hwmon(types map[string]int) []sensor {
	mirrors := map[string]bool{} // hwmon has no "-" in a name
	for name := range types {
		mirrors[strings.ReplaceAll(name, "-", "_")] = true
	}
	dir := filepath.Join(s.roots.sys, "class/hwmon")
	var chips []hwmonChip
	count := map[string]int{}
	for _, n := range numbered(dir, "hwmon") {
		base := "hwmon" + strconv.Itoa(n)
		path, err := filepath.EvalSymlinks(filepath.Join(dir, base))
		if err != nil {
			continue
		}
		c := hwmonChip{path: path, parent: linkBase(path, "device")}
		c.name, _ = readText(64, path, "name")
		if c.name = word(c.name); c.name == "" {
			c.name = base
		}
		// Older kernels give the mirror of a zone no parent, only the zone's name.
		if c.parent == "" && mirrors[c.name] || strings.HasPrefix(c.parent, "thermal_zone") {
			continue
		}
		if c.parent == "" {
			c.parent = base
		}
		count[c.name]++
		chips = append(chips, c)
	}
	var found []sensor
	for _, c := range chips {
		if count[c.name] > 1 {
			c.name += "-" + word(c.parent)
		}
		found = append(found, c.channels()...)
	}
	return found
}

// channels is what the chip measures.
func (c hwmonChip) channels() []sensor {
	entries, err := os.ReadDir(c.path)
	if err != nil {
		return nil
	}
	has := func(name string) bool {
		return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name })
	}
	var found []sensor
	for _, e := range entries {
		base, suffix, _ := strings.Cut(e.Name(), "_")
		kind := strings.TrimRight(base, "0123456789")
		ch, ok := channels[kind]
		if !ok || kind == base {
			continue
		}
		switch {
		case ch.quantity == device.FanDrive && suffix == "":
		case ch.quantity != device.FanDrive && suffix == "input":
		case ch.quantity == device.Power && suffix == "average" && !has(base+"_input"):
		default:
			continue
		}
		x := device.Sensor{Name: c.name + "/" + base, Quantity: ch.quantity, Source: "hwmon", Waits: "sensor " + c.name}
		f := kernelFile{channel: ch, path: filepath.Join(c.path, e.Name())}
		if has(base + "_label") {
			label, _ := readText(64, c.path, base+"_label")
			x.Label = word(label)
		}
		if has(base + "_fault") {
			f.fault = filepath.Join(c.path, base+"_fault")
		}
		found = append(found, sensor{x, f, f.path})
	}
	return found
}

// word is a name from the kernel, or "" where it is not printable.
func word(s string) string { return text([]byte(s)) }

// List implements device.Sensors.
func (s *sensors) List(dst []device.Sensor) ([]device.Sensor, error) {
	if s.closed.Load() {
		return dst, errClosed("sensors")
	}
	for _, x := range s.look() {
		dst = append(dst, x.Sensor)
	}
	return dst, nil
}

// Read implements device.Sensors.
func (s *sensors) Read(name string) (device.Sensor, device.Reading, error) {
	if s.closed.Load() {
		return device.Sensor{}, device.Reading{}, errClosed("sensors")
	}
	x, err := s.sensor(name)
	if err != nil {
		return device.Sensor{}, device.Reading{}, err
	}
	r, err := x.read()
	return x.Sensor, r, err
}

// sensor is the sensor called name, looked up anew where it is not as it was.
func (s *sensors) sensor(name string) (sensor, error) {
	s.mu.Lock()
	x, ok := find(s.found, name)
	s.mu.Unlock()
	if ok {
		if _, err := os.Lstat(x.path); err == nil {
			return x, nil
		}
	}
	found := s.look() // it may have come, or come back elsewhere
	if x, ok = find(found, name); ok {
		return x, nil
	}
	return sensor{}, &device.Error{Subject: "sensor " + strconv.Quote(name), Kind: device.ErrNotFound,
		Hint: "sensor_list shows " + strconv.Itoa(len(found)) + " sensors"}
}

func find(found []sensor, name string) (sensor, bool) {
	i, ok := slices.BinarySearchFunc(found, name, func(x sensor, name string) int { return strings.Compare(x.Name, name) })
	if !ok {
		return sensor{}, false
	}
	return found[i], true
}

// sensorMeanings is where a sensor's errors differ from the general ones.
var sensorMeanings = []meaning{
	{unix.EIO, nil, "the sensor does not answer", "check its wiring and power"},
	{unix.ENODATA, nil, "the sensor has no value now: it is switched off or not ready", "try again"},
	{unix.EAGAIN, nil, "the sensor has no value yet", "try again"},
	{unix.EINVAL, nil, "the sensor has no value now", "try again"},
	{unix.ENOENT, device.ErrUnplugged, "the sensor is gone", "sensor_list shows what is there"},
	{unix.ENXIO, device.ErrNoAck, "no acknowledge from the sensor", "check its wiring and power"},
	{unix.EREMOTEIO, device.ErrNoAck, "no acknowledge from the sensor", "check its wiring and power"},
	{unix.ERANGE, nil, "the value is out of the sensor's range", ""},
	{unix.EPROTO, nil, "the sensor's answer was corrupt", "try again"},
	{unix.EBADMSG, nil, "the sensor's answer was corrupt", "try again"},
}

// read measures.
func (x sensor) read() (device.Reading, error) {
	v, suspect, err := x.measure()
	if err != nil {
		return device.Reading{}, x.explain(err)
	}
	if suspect == "" {
		suspect = implausible(x.Sensor, v)
	}
	return device.Reading{Value: v, Time: time.Now(), Suspect: suspect}, nil
}

// explain is an error of measuring, about this sensor.
func (x sensor) explain(err error) error {
	subject := "sensor " + strconv.Quote(x.Name)
	var e *device.Error
	if errors.As(err, &e) {
		e.Subject = subject
		return e
	}
	return explain(subject, err, sensorMeanings)
}

// measure implements source.
func (f kernelFile) measure() (v device.Decimal, suspect string, err error) {
	text, err := readText(64, f.path)
	if err != nil {
		return v, "", err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return v, "", noValue(text)
	}
	if f.fault != "" {
		if fault, err := readText(8, f.fault); err == nil && fault != "0" {
			suspect = "the chip reports a fault of the sensor: it may be open or shorted"
		}
	}
	if f.quantity == device.FanDrive {
		n = (n*1000 + 127) / 255 // 0 to 255, to the nearest tenth of a percent
	}
	return device.Decimal{Value: n, Exp: f.exp}, suspect, nil
}

// noValue says that a file of the kernel holds no value. Its subject comes later.
func noValue(text string) error {
	return &device.Error{Kind: unix.EIO, Reason: "the kernel gave " + strconv.Quote(text) + " for a value"}
}
