//go:build linux

package linux

import (
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"boardhand/device"
)

// Every input of IIO gives what the kernel's files give, or says why not; a
// buffer that can be taken is taken and put back.
func TestKernelIIO(t *testing.T) {
	kernel(t)
	s := openReal(t).Sensors()
	if s == nil {
		t.Skip("no sensors")
	}
	list, err := s.List(nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, x := range list {
		if x.Source != "iio" {
			continue
		}
		seen++
		_, r, err := s.Read(x.Name)
		t.Logf("%s: %v %s, suspect %q, %v", x.Name, r.Value, x.Quantity.Unit(), r.Suspect, err)
		if found, _ := s.(*sensors).sensor(x.Name); err == nil {
			agree(t, found.source.(*iioChannel), r.Value.Float())
		}
		c, err := s.Capture([]string{x.Name}, 5, nil)
		var e *device.Error
		switch {
		case err == nil && len(c.Samples[0].Values) == 0:
			t.Errorf("a capture of %s is empty", x.Name)
		case err != nil && !errors.As(err, &e):
			t.Errorf("%v is no *device.Error", err)
		}
		t.Logf("captured %+v, %v", c, err)
	}
	if seen == 0 {
		t.Skip("no IIO device")
	}
}

// A thermometer that is registered but not there gives an error, and no value.
func TestKernel1WireThermometerThatIsNotThere(t *testing.T) {
	kernel(t)
	const id = "28-00000123abcd"
	r := roots{"/dev", "/sys", "/proc"}
	master := r.sys + "/bus/w1/devices/w1_bus_master1/"
	if !exists(master) {
		t.Skip("no 1-Wire bus")
	}
	if err := writeText(master+"w1_master_add", id); err != nil {
		t.Skip("no slave can be added: ", err)
	}
	defer writeText(master+"w1_master_remove", id)
	_, reading, err := openReal(t).Sensors().Read(id)
	t.Logf("%+v, %v", reading, err)
	if err == nil && reading.Suspect == "" {
		t.Errorf("it gives %+v", reading)
	}
	if err != nil && !strings.Contains(err.Error(), id) {
		t.Errorf("%v does not name it", err)
	}
}

// The doctor's view of a real machine, as root: nothing that is open to root is
// called unusable, but a console and an interface that is down.
func TestKernelIsExamined(t *testing.T) {
	kernel(t)
	d, err := Examine()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, machine %s, user %s, groups %v", d.Info, d.Machine, d.User, d.Groups)
	for _, f := range d.Findings {
		t.Logf("%s %s %q: %s [%s] %q", f.Condition, f.Family, f.Name, f.Detail, f.Owner, f.Mend)
		switch f.Family {
		case "GPIO", "I2C", "PWM", "LED":
			if f.Condition == device.FoundUnusable {
				t.Errorf("%s %s is not usable for root: %s", f.Family, f.Name, f.Detail)
			}
		}
	}
}

// agree checks a value of a channel against the kernel's files, by the plain
// arithmetic of floats. The raw value must not move.
func agree(t *testing.T, c *iioChannel, value float64) {
	number := func(path string) float64 {
		text, err := readText(64, path)
		v, parsing := strconv.ParseFloat(text, 64)
		if err != nil || parsing != nil {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		return v
	}
	if c.processed {
		return
	}
	want, scale := number(filepath.Join(c.device.dir, "in_"+c.base+"_raw")), 1.0
	if c.offset != "" {
		want += number(c.offset)
	}
	if c.scale != "" {
		scale = number(c.scale)
	}
	want *= scale * math.Pow10(int(c.exp))
	if math.Abs(value-want) > 1e-9*math.Abs(want) {
		t.Errorf("%s is %v, the kernel's files say %v", c.base, value, want)
	}
	t.Logf("%s: scan type %+v, scale from %q", c.base, c.scan, c.scale)
}
