//go:build linux

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boardhand/device"
	"boardhand/device/contract"
)

// A board with a thermal zone that hwmon mirrors, two chips of one name, one chip
// of every kind of channel, and two zones of one type.
var sensorTree = map[string]string{
	"sys/class/thermal/thermal_zone0":                              "-> ../../devices/virtual/thermal/thermal_zone0",
	"sys/class/thermal/thermal_zone1":                              "-> ../../devices/virtual/thermal/thermal_zone1",
	"sys/class/thermal/thermal_zone2":                              "-> ../../devices/virtual/thermal/thermal_zone2",
	"sys/class/thermal/cooling_device0/type":                       "fan\n",
	"sys/devices/virtual/thermal/thermal_zone0/type":               "cpu-thermal\n",
	"sys/devices/virtual/thermal/thermal_zone0/temp":               "48312\n",
	"sys/devices/virtual/thermal/thermal_zone1/type":               "acpitz\n",
	"sys/devices/virtual/thermal/thermal_zone1/temp":               "-5000\n",
	"sys/devices/virtual/thermal/thermal_zone2/type":               "acpitz\n",
	"sys/devices/virtual/thermal/thermal_zone2/temp":               "warm\n",
	"sys/class/hwmon/hwmon0":                                       "-> ../../devices/virtual/thermal/thermal_zone0/hwmon0",
	"sys/devices/virtual/thermal/thermal_zone0/hwmon0/name":        "cpu_thermal\n",
	"sys/devices/virtual/thermal/thermal_zone0/hwmon0/temp1_input": "48312\n",
	"sys/devices/virtual/thermal/thermal_zone0/hwmon0/device":      "-> ../../thermal_zone0",
	"sys/class/hwmon/hwmon1":                                       "-> ../../devices/i2c-1/1-0048/hwmon/hwmon1",
	"sys/devices/i2c-1/1-0048/hwmon/hwmon1/name":                   "lm75\n",
	"sys/devices/i2c-1/1-0048/hwmon/hwmon1/device":                 "-> ../../../1-0048",
	"sys/devices/i2c-1/1-0048/hwmon/hwmon1/temp1_input":            "21375\n",
	"sys/devices/i2c-1/1-0048/hwmon/hwmon1/temp1_max":              "80000\n",
	"sys/class/hwmon/hwmon2":                                       "-> ../../devices/i2c-1/1-0049/hwmon/hwmon2",
	"sys/devices/i2c-1/1-0049/hwmon/hwmon2/name":                   "lm75\n",
	"sys/devices/i2c-1/1-0049/hwmon/hwmon2/device":                 "-> ../../../1-0049",
	"sys/devices/i2c-1/1-0049/hwmon/hwmon2/temp1_input":            "-125\n",
	"sys/class/hwmon/hwmon3":                                       "-> ../../devices/platform/meter/hwmon/hwmon3",
	"sys/devices/platform/meter/hwmon/hwmon3/name":                 "meter\n",
	"sys/devices/platform/meter/hwmon/hwmon3/device":               "-> ../../../meter",
	"sys/devices/platform/meter/hwmon/hwmon3/in0_input":            "3300\n",
	"sys/devices/platform/meter/hwmon/hwmon3/in0_label":            "3V3\n",
	"sys/devices/platform/meter/hwmon/hwmon3/curr1_input":          "-40\n",
	"sys/devices/platform/meter/hwmon/hwmon3/power1_input":         "1500000\n",
	"sys/devices/platform/meter/hwmon/hwmon3/power1_average":       "9\n",
	"sys/devices/platform/meter/hwmon/hwmon3/power2_average":       "2500000\n",
	"sys/devices/platform/meter/hwmon/hwmon3/energy1_input":        "9223372036854775807\n",
	"sys/devices/platform/meter/hwmon/hwmon3/humidity1_input":      "45500\n",
	"sys/devices/platform/meter/hwmon/hwmon3/fan1_input":           "1200\n",
	"sys/devices/platform/meter/hwmon/hwmon3/freq1_input":          "500000000\n",
	"sys/devices/platform/meter/hwmon/hwmon3/pwm1":                 "128\n",
	"sys/devices/platform/meter/hwmon/hwmon3/pwm1_enable":          "1\n",
	"sys/devices/platform/meter/hwmon/hwmon3/pwm2":                 "255\n",
	"sys/devices/platform/meter/hwmon/hwmon3/temp1_input":          "85000\n",
	"sys/devices/platform/meter/hwmon/hwmon3/temp1_fault":          "1\n",
	"sys/devices/platform/meter/hwmon/hwmon3/temp2_input":          "\n",
	"sys/devices/platform/meter/hwmon/hwmon3/temp3_input":          "99999999999999999999999\n",
	"sys/devices/platform/meter/hwmon/hwmon3/temp3_fault":          "0\n",
	"sys/devices/platform/meter/hwmon/hwmon3/update_interval":      "1000\n",
	"sys/devices/platform/meter/hwmon/hwmon3/intrusion0_alarm":     "0\n",
}

const sensorGolden = `
acpitz-1                temperature  -5000e-3 °C
acpitz-2                temperature  sensor "acpitz-2": the kernel gave "warm" for a value
cpu-thermal             temperature  48312e-3 °C
lm75-1-0048/temp1       temperature  21375e-3 °C
lm75-1-0049/temp1       temperature  -125e-3 °C
meter/curr1             current      -40e-3 A
meter/energy1           energy       9223372036854775807e-6 J
meter/fan1              speed        1200e0 rpm
meter/freq1             frequency    500000000e0 Hz
meter/humidity1         humidity     45500e-3 %
meter/in0 (3V3)         voltage      3300e-3 V
meter/power1            power        1500000e-6 W
meter/power2            power        2500000e-6 W
meter/pwm1              pwm          502e-1 %
meter/pwm2              pwm          1000e-1 %
meter/temp1             temperature  85000e-3 °C ! the chip reports a fault of the sensor: it may be open or shorted
meter/temp2             temperature  sensor "meter/temp2": the kernel gave "" for a value
meter/temp3             temperature  sensor "meter/temp3": the kernel gave "99999999999999999999999" for a value
`

func TestSensorsOfABoard(t *testing.T) {
	s := open(tree(t, sensorTree)).Sensors()
	list, err := s.List(nil)
	must(t, err)
	var got strings.Builder
	for _, x := range list {
		name := x.Name
		if x.Label != "" {
			name += " (" + x.Label + ")"
		}
		same, r, err := s.Read(x.Name)
		if same != x {
			t.Errorf("read %+v, listed %+v", same, x)
		}
		value := fmt.Sprintf("%de%d %s", r.Value.Value, r.Value.Exp, x.Quantity.Unit())
		if err != nil {
			value = err.Error()
		}
		if r.Suspect != "" {
			value += " ! " + r.Suspect
		}
		fmt.Fprintf(&got, "%-24s%-12s %s\n", name, x.Quantity, value)
	}
	if want := strings.TrimPrefix(sensorGolden, "\n"); got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

func TestSensorsKeepTheContract(t *testing.T) { contract.Sensors(t, open(tree(t, sensorTree))) }

func TestTheMirrorOfAZoneWithoutAParentIsLeftOut(t *testing.T) {
	b := open(tree(t, map[string]string{
		"sys/class/thermal/thermal_zone0/type":    "cpu-thermal\n",
		"sys/class/thermal/thermal_zone0/temp":    "40000\n",
		"sys/class/hwmon/hwmon0/name":             "cpu_thermal\n",
		"sys/class/hwmon/hwmon0/temp1_input":      "40000\n",
		"sys/class/hwmon/hwmon1/name":             "other\n",
		"sys/class/hwmon/hwmon1/temp12_input":     "1\n",
		"sys/class/hwmon/hwmon1/temperature":      "1\n",
		"sys/class/hwmon/hwmon1/temp_input":       "1\n",
		"sys/class/hwmon/hwmon1/tempx1_input":     "1\n",
		"sys/class/hwmon/hwmon1/temp1_crit_alarm": "1\n",
	}))
	list, _ := b.Sensors().List(nil)
	if len(list) != 2 || list[0].Name != "cpu-thermal" || list[1].Name != "other/temp12" {
		t.Errorf("%+v", list)
	}
}

func TestASensorThatComesAndGoes(t *testing.T) {
	r := tree(t, map[string]string{"sys/class/hwmon/hwmon0/name": "a\n", "sys/class/hwmon/hwmon0/temp1_input": "1000\n"})
	s := open(r).Sensors()
	_, _, err := s.Read("b/temp1")
	expect(t, err, device.ErrNotFound, `"b/temp1"`, "sensor_list shows 1 sensors")

	// It comes back with another number, and another takes its old one.
	hwmon := filepath.Join(r.sys, "class/hwmon")
	must(t, os.Rename(filepath.Join(hwmon, "hwmon0"), filepath.Join(hwmon, "hwmon3")))
	_, v, err := s.Read("a/temp1")
	must(t, err)
	if v.Value != (device.Decimal{Value: 1000, Exp: -3}) || v.Time.IsZero() {
		t.Errorf("%+v", v)
	}
	must(t, os.RemoveAll(filepath.Join(hwmon, "hwmon3")))
	_, _, err = s.Read("a/temp1")
	expect(t, err, device.ErrNotFound, `"a/temp1"`)
}
