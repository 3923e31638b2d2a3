//go:build linux

package linux

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"boardhand/device"
)

// iioKind is a type of channel: what it measures, and in which power of ten of
// its unit (Documentation/ABI/testing/sysfs-bus-iio).
type iioKind struct {
	quantity device.Quantity
	exp      int8
	plain    device.Quantity // of a raw value without a scale
}

var iioKinds = map[string]iioKind{
	"voltage":                {device.Voltage, -3, device.Code},
	"altvoltage":             {device.Voltage, -3, device.Code},
	"current":                {device.Current, -3, device.Code},
	"power":                  {device.Power, -3, device.Code},
	"energy":                 {device.Energy, 0, device.Code},
	"temp":                   {device.Temperature, -3, device.Code},
	"humidityrelative":       {device.Humidity, -3, device.Code},
	"pressure":               {device.Pressure, 0, device.Code},
	"illuminance":            {device.Illuminance, 0, device.Code},
	"intensity":              {device.Intensity, 0, device.Intensity},
	"uvindex":                {device.UVIndex, 0, device.Code},
	"accel":                  {device.Acceleration, 0, device.Code},
	"gravity":                {device.Acceleration, 0, device.Code},
	"anglvel":                {device.AngularVelocity, 0, device.Code},
	"velocity":               {device.Velocity, 0, device.Code},
	"deltavelocity":          {device.Velocity, 0, device.Code},
	"angl":                   {device.Angle, 0, device.Code},
	"deltaangl":              {device.Angle, 0, device.Code},
	"phase":                  {device.Angle, 0, device.Code},
	"incli":                  {device.Inclination, 0, device.Code},
	"magn":                   {device.MagneticField, 2, device.Code}, // the kernel's gauss are 100 µT
	"distance":               {device.Distance, 0, device.Code},
	"proximity":              {device.Distance, 0, device.Proximity},
	"positionrelative":       {device.Position, -3, device.Code},
	"resistance":             {device.Resistance, 0, device.Code},
	"capacitance":            {device.Capacitance, 0, device.Code},
	"electricalconductivity": {device.Conductivity, 0, device.Code},
	"concentration":          {device.Concentration, 0, device.Code},
	"massconcentration":      {device.MassConcentration, 0, device.Code},
	"ph":                     {device.Acidity, 0, device.Code},
	"count":                  {device.Count, 0, device.Count},
	"steps":                  {device.Count, 0, device.Count},
}

// iioDevice is one IIO device.
type iioDevice struct {
	number       int
	name, parent string
	label        string
	dir          string // with no link in it
	node         string // of its buffer, whether it is there or not
}

// iioChannel is one input of a device.
type iioChannel struct {
	device    *iioDevice
	base      string // "accel_x", "voltage0-voltage1"
	exp       int8
	processed bool   // the value is in in_BASE_input, in the unit; else in in_BASE_raw
	scale     string // paths, or empty
	offset    string
	scan      scanType // of its element in the buffer; zero where it has none
}

// iio is the inputs of all IIO devices.
func (s *sensors) iio() []sensor {
	dir := filepath.Join(s.roots.sys, "bus/iio/devices")
	var devices []*iioDevice
	count := map[string]int{}
	for _, n := range numbered(dir, "iio:device") {
		base := "iio:device" + strconv.Itoa(n)
		path, err := filepath.EvalSymlinks(filepath.Join(dir, base))
		if err != nil {
			continue
		}
		d := &iioDevice{number: n, dir: path, node: filepath.Join(s.roots.dev, base), parent: word(filepath.Base(filepath.Dir(path)))}
		name, _ := readText(64, path, "name")
		if d.name = word(name); d.name == "" {
			d.name = base
		}
		label, _ := readText(64, path, "label")
		d.label = word(label)
		count[d.name]++
		devices = append(devices, d)
	}
	var found []sensor
	for _, d := range devices {
		called := d.name
		if count[called] > 1 {
			called += "-" + d.parent
		}
		found = append(found, d.channels(called)...)
	}
	return found
}

// aside are channels' statistics, which are no measurement of now.
var aside = []string{"_mean", "_peak", "_trough", "_correction"}

// channels is what the device measures; it is called so.
func (d *iioDevice) channels(called string) []sensor {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil
	}
	files := map[string]bool{}
	for _, e := range entries {
		files[e.Name()] = true
	}
	var found []sensor
	for _, e := range entries {
		base, isIn := strings.CutPrefix(e.Name(), "in_")
		base, raw := strings.CutSuffix(base, "_raw")
		base, processed := strings.CutSuffix(base, "_input")
		name := base[:len(base)-len(strings.TrimLeft(base, "abcdefghijklmnopqrstuvwxyz"))]
		kind, known := iioKinds[name]
		switch {
		case !isIn || !known || raw == processed || word(base) == "":
			continue
		case raw && files["in_"+base+"_input"]:
			continue // the driver's own arithmetic is the better one
		case slices.ContainsFunc(aside, func(suffix string) bool { return strings.HasSuffix(base, suffix) }):
			continue
		}
		c := &iioChannel{device: d, base: base, exp: kind.exp, processed: processed}
		c.scale, c.offset = d.shared(files, name, base, "scale"), d.shared(files, name, base, "offset")
		c.scan = d.scanType(name, base)
		x := device.Sensor{Name: called + "/" + base, Label: d.label, Quantity: kind.quantity, Source: "iio", Waits: "sensor " + called}
		if raw && c.scale == "" {
			x.Quantity, c.exp = kind.plain, 0
		}
		if files["in_"+base+"_label"] {
			label, _ := readText(64, d.dir, "in_"+base+"_label")
			x.Label = word(label)
		}
		found = append(found, sensor{x, c, filepath.Join(d.dir, e.Name())})
	}
	return found
}

// shared is the path of the attribute, "scale" or "offset", that holds for a
// channel: its own, that of its type with the same modifier, that of its type,
// that of all inputs, or that of the device. Empty: there is none.
func (d *iioDevice) shared(files map[string]bool, kind, base, attribute string) string {
	numberless := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, base)
	for _, name := range []string{"in_" + base + "_", "in_" + numberless + "_", "in_" + kind + "_", "in_", ""} {
		if files[name+attribute] {
			return filepath.Join(d.dir, name+attribute)
		}
	}
	return ""
}

// scanType is how a channel's samples stand in the buffer; zero: they do not.
func (d *iioDevice) scanType(kind, base string) scanType {
	for _, name := range []string{base, kind} {
		if text, err := readText(64, d.dir, "scan_elements", "in_"+name+"_type"); err == nil {
			t, _ := parseScanType(text)
			return t
		}
	}
	return scanType{}
}

// measure implements source: (raw + offset) * scale.
func (c *iioChannel) measure() (v device.Decimal, suspect string, err error) {
	if c.processed {
		v, err = readDecimal(c.device.dir, "in_"+c.base+"_input")
		v.Exp += c.exp
		return v, "", err
	}
	raw, err := readDecimal(c.device.dir, "in_"+c.base+"_raw")
	if err != nil {
		return v, "", err
	}
	scale, offset, err := c.factors()
	if err != nil {
		return v, "", err
	}
	if raw.Exp == 0 {
		suspect = c.scan.saturated(raw.Value)
	}
	return c.value(raw, scale, offset), suspect, nil
}

// factors are the channel's scale and offset as they are now.
func (c *iioChannel) factors() (scale, offset device.Decimal, err error) {
	scale = device.Decimal{Value: 1}
	if c.scale != "" {
		if scale, err = readDecimal(c.scale); err != nil {
			return
		}
	}
	if c.offset != "" {
		offset, err = readDecimal(c.offset)
	}
	return
}

// value is a raw sample in the unit of its quantity.
func (c *iioChannel) value(raw, scale, offset device.Decimal) device.Decimal {
	v := raw.Add(offset).Mul(scale)
	v.Exp += c.exp
	return v
}

// readDecimal is the number in a file of the kernel.
func readDecimal(path ...string) (device.Decimal, error) {
	text, err := readText(64, path...)
	if err != nil {
		return device.Decimal{}, err
	}
	v, ok := device.ParseDecimal(text)
	if !ok {
		return device.Decimal{}, noValue(text)
	}
	return v, nil
}

// scanType is how one element of a scan is stored, as the attribute _type says:
// "le:s12/16>>4" is 12 signed bits in 16 little-endian ones, above 4 others.
type scanType struct {
	big, signed   bool
	bits, storage int // storage is 8, 16, 32 or 64; zero: there is no such element
	repeat        int // how many in a row, as in "le:s16/32X4>>0"
	shift         int
}

// parseScanType reads such a text; it is false for what it does not know.
func parseScanType(s string) (scanType, bool) {
	t := scanType{repeat: 1}
	order, s, ok := strings.Cut(s, ":")
	if !ok || order != "le" && order != "be" || s == "" || s[0] != 's' && s[0] != 'u' {
		return scanType{}, false
	}
	t.big, t.signed = order == "be", s[0] == 's'
	bits, s, _ := strings.Cut(s[1:], "/")
	storage, shift, shifted := strings.Cut(s, ">>")
	storage, repeat, repeated := strings.Cut(storage, "X")
	number := func(text string, dst *int, low, high int) {
		n, err := strconv.Atoi(text)
		ok = ok && err == nil && n >= low && n <= high
		*dst = n
	}
	number(bits, &t.bits, 1, 64)
	number(storage, &t.storage, 8, 64)
	if repeated {
		number(repeat, &t.repeat, 1, 64)
	}
	if shifted {
		number(shift, &t.shift, 0, 63)
	}
	if !ok || t.storage&(t.storage-1) != 0 || t.bits+t.shift > t.storage {
		return scanType{}, false
	}
	return t, true
}

// size is how many bytes the element takes.
func (t scanType) size() int { return t.storage / 8 * t.repeat }

// alignment is what its place in a scan is a multiple of: its whole size (the
// kernel's iio_storage_bytes_for_si).
func (t scanType) alignment() int { return max(1, t.size()) }

// decode is the sample that begins b. An unsigned one above 63 bits is cut there.
func (t scanType) decode(b []byte) int64 {
	n := t.storage / 8
	var v uint64
	for i := range n {
		if t.big {
			v = v<<8 | uint64(b[i])
		} else {
			v |= uint64(b[i]) << (8 * i)
		}
	}
	v >>= t.shift
	if t.signed {
		return int64(v<<(64-t.bits)) >> (64 - t.bits)
	}
	if t.bits < 64 {
		v &= 1<<t.bits - 1
	}
	return int64(min(v, math.MaxInt64))
}

// saturated says that a sample is at an end of the converter's range, or nothing.
func (t scanType) saturated(raw int64) string {
	if t.bits == 0 || t.bits > 62 {
		return ""
	}
	low, high := int64(0), int64(1)<<t.bits-1
	if t.signed {
		low, high = -(high+1)/2, high/2
	}
	switch raw {
	case high:
		return "at the top of the converter's range (code " + strconv.FormatInt(raw, 10) + "): the true value may be above"
	case low:
		return "at the bottom of the converter's range (code " + strconv.FormatInt(raw, 10) + "): the true value may be below"
	}
	return ""
}
