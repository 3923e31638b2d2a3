//go:build linux

package linux

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
	"boardhand/device/contract"
)

// at is the files of one device at path, under their names.
func at(path string, files map[string]string) map[string]string {
	all := map[string]string{}
	for name, content := range files {
		all[path+"/"+name] = content
	}
	return all
}

// iioAt is IIO device n, the one called name at the parent device, which lies
// under /sys/devices.
func iioAt(n int, parent, name string, files map[string]string) map[string]string {
	path := fmt.Sprintf("sys/devices/%s/iio:device%d", parent, n)
	all := at(path, files)
	all[path+"/name"] = name + "\n"
	all[fmt.Sprintf("sys/bus/iio/devices/iio:device%d", n)] = "-> ../../../devices/" + strings.TrimPrefix(path, "sys/devices/")
	return all
}

func together(parts ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, p := range parts {
		maps.Copy(all, p)
	}
	return all
}

// measured lists and reads every sensor, one a line.
func measured(t *testing.T, s device.Sensors) string {
	t.Helper()
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
		fmt.Fprintf(&got, "%-30s %s\n", name, value)
	}
	return got.String()
}

// What the drivers of common chips show: drivers/iio of the kernel.
var iioBoards = map[string]struct {
	files map[string]string
	want  string
}{
	"ADS1015, ti-ads1015: one scale for each input": {
		iioAt(0, "i2c-1/1-0048", "ads1015", map[string]string{
			"in_voltage0_raw": "1046\n", "in_voltage0_scale": "1.000000000\n", "in_voltage0_sampling_frequency": "1600\n",
			"in_voltage0-voltage1_raw": "-2048\n", "in_voltage0-voltage1_scale": "3.000000000\n",
			"in_voltage3_raw": "2047\n", "in_voltage3_scale": "0.125000000\n",
			"in_voltage_scale_available":                   "3 2 1 0.5 0.25 0.125\n",
			"scan_elements/in_voltage0_type":               "le:s12/16>>4\n",
			"scan_elements/in_voltage3_type":               "le:s12/16>>4\n",
			"scan_elements/in_voltage0-voltage1_type":      "le:s12/16>>4\n",
			"scan_elements/in_timestamp_type":              "le:s64/64>>0\n",
			"scan_elements/in_voltage0_en":                 "0\n",
			"events/in_voltage0_thresh_rising_value":       "0\n",
			"buffer/enable":                                "0\n",
			"in_voltage0_raw_available":                    "[0 1 2]\n",
			"in_temp_mean_raw":                             "1\n",
			"in_accel_x_peak_raw":                          "1\n",
			"in_anglvel_z_quadrature_correction_raw":       "1\n",
			"in_rot_quaternion_raw":                        "1 2 3 4\n",
			"out_voltage0_raw":                             "1\n",
			"in_unheardof_raw":                             "1\n",
			"in_voltage0_calibbias":                        "1\n",
			"in_\x1b[2Jvoltage_raw":                        "1\n",
			"in_" + strings.Repeat("voltage", 30) + "_raw": "1\n",
		}), `
ads1015/voltage0               1046000000000e-12 V
ads1015/voltage0-voltage1      -6144000000000e-12 V ! at the bottom of the converter's range (code -2048): the true value may be below
ads1015/voltage3               255875000000e-12 V ! at the top of the converter's range (code 2047): the true value may be above
`},
	"BME280, bmp280: processed values": {
		iioAt(0, "i2c-1/1-0076", "bme280", map[string]string{
			"in_temp_input": "25080\n", "in_pressure_input": "100.653253906\n", "in_humidityrelative_input": "45123\n",
			"in_temp_oversampling_ratio": "2\n", "in_temp_raw": "519888\n", "in_temp_scale": "1\n",
		}), `
bme280/humidityrelative        45123e-3 %
bme280/pressure                100653253906e-9 kPa
bme280/temp                    25080e-3 °C
`},
	"BH1750: a scale and no offset": {
		iioAt(2, "i2c-1/1-0023", "bh1750", map[string]string{
			"in_illuminance_raw": "542\n", "in_illuminance_scale": "0.833333\n", "in_illuminance_integration_time": "0.072000\n",
		}), `
bh1750/illuminance             451666486e-6 lx
`},
	"two MCP3422 on two addresses: shared scale by type": {
		together(
			iioAt(0, "i2c-1/1-0068", "mcp3422", map[string]string{
				"in_voltage0_raw": "12345\n", "in_voltage0_scale": "0.000015625\n", "in_voltage1_raw": "-131072\n", "in_voltage1_scale": "0.000015625\n",
			}),
			iioAt(1, "i2c-1/1-0069", "mcp3422", map[string]string{
				"in_voltage0_raw": "1\n", "in_voltage_scale": "0.001000000\n", "in_voltage0_label": "battery\n",
			})), `
mcp3422-1-0068/voltage0        192890625e-12 V
mcp3422-1-0068/voltage1        -2048000000e-12 V
mcp3422-1-0069/voltage0 (battery) 1000000e-12 V
`},
	"AM335x ADC, ti_am335x_adc: no scale": {
		iioAt(0, "platform/44e0d000.tscadc/TI-am335x-adc.0.auto", "TI-am335x-adc.0.auto", map[string]string{
			"in_voltage0_raw": "0\n", "in_voltage4_raw": "4095\n", "in_voltage5_raw": "2048\n",
			"scan_elements/in_voltage0_type": "le:u12/16>>0\n", "scan_elements/in_voltage4_type": "le:u12/16>>0\n", "scan_elements/in_voltage5_type": "le:u12/16>>0\n",
		}), `
TI-am335x-adc.0.auto/voltage0  0e0 LSB ! at the bottom of the converter's range (code 0): the true value may be below
TI-am335x-adc.0.auto/voltage4  4095e0 LSB ! at the top of the converter's range (code 4095): the true value may be above
TI-am335x-adc.0.auto/voltage5  2048e0 LSB
`},
	"HX711: an offset-less bridge": {
		iioAt(0, "platform/weight", "hx711", map[string]string{
			"in_voltage0_raw": "8388608\n", "in_voltage0_scale": "0.001553717\n", "in_voltage1_raw": "16777215\n", "in_voltage1_scale": "0.006214870\n",
			"scan_elements/in_voltage0_type": "le:u24/32>>0\n", "scan_elements/in_voltage1_type": "le:u24/32>>0\n",
		}), `
hx711/voltage0                 13033522855936e-12 V
hx711/voltage1                 104268210187050e-12 V ! at the top of the converter's range (code 16777215): the true value may be above
`},
	"MPU6050, inv_mpu6050: axes, one scale for all, temperature with an offset": {
		iioAt(0, "i2c-1/1-0068", "mpu6050", map[string]string{
			"in_accel_x_raw": "-164\n", "in_accel_y_raw": "328\n", "in_accel_z_raw": "16384\n", "in_accel_scale": "0.000598\n",
			"in_anglvel_x_raw": "-12\n", "in_anglvel_scale": "0.001064724\n",
			"in_temp_raw": "-3920\n", "in_temp_offset": "12420\n", "in_temp_scale": "2.941176\n",
			"in_accel_x_calibbias": "1\n", "in_accel_mount_matrix": "1, 0, 0; 0, 1, 0; 0, 0, 1\n", "in_gyro_matrix": "0\n",
			"label": "imu\n",
		}), `
mpu6050/accel_x (imu)          -98072e-6 m/s²
mpu6050/accel_y (imu)          196144e-6 m/s²
mpu6050/accel_z (imu)          9797632e-6 m/s²
mpu6050/anglvel_x (imu)        -12776688e-9 rad/s
mpu6050/temp (imu)             24999996000e-9 °C
`},
	"HMC5843: gauss": {
		iioAt(0, "i2c-1/1-001e", "hmc5883", map[string]string{"in_magn_x_raw": "-312\n", "in_magn_scale": "0.000917\n"}), `
hmc5883/magn_x                 -286104e-4 µT
`},
	"SPS30, SCD30, VL53L0X, ATLAS pH: processed and modified": {
		together(
			iioAt(0, "i2c-1/1-0069", "sps30", map[string]string{"in_massconcentration_pm2p5_input": "7.120000\n", "in_massconcentration_pm10_input": "9\n"}),
			iioAt(1, "i2c-1/1-0061", "scd30", map[string]string{"in_concentration_co2_input": "0.041200\n", "in_humidityrelative_raw": "10400\n", "in_humidityrelative_scale": "10\n"}),
			iioAt(2, "i2c-1/1-0029", "vl53l0x", map[string]string{"in_distance_raw": "1234\n", "in_distance_scale": "0.001000\n"}),
			iioAt(3, "i2c-1/1-0065", "atlas", map[string]string{"in_ph_raw": "7021\n", "in_ph_scale": "0.001000\n", "in_proximity_raw": "77\n", "in_count0_raw": "9\n"})), `
atlas/count0                   9e0 1
atlas/ph                       7021000e-6 pH
atlas/proximity                77e0 1
scd30/concentration_co2        41200e-6 %
scd30/humidityrelative         104000e-3 % ! outside 0 to 100 %: the sensor may be wet, faulty or not calibrated
sps30/massconcentration_pm10   9e0 µg/m³
sps30/massconcentration_pm2p5  7120000e-6 µg/m³
vl53l0x/distance               1234000e-6 m
`},
	"what cannot be": {
		iioAt(0, "platform/x", "x", map[string]string{
			"in_temp0_input": "-300000\n", "in_temp1_input": "warm\n", "in_temp2_raw": "1\n", "in_temp2_scale": "0 dB\n", "in_temp3_input": "\n",
			"in_current0_raw": "9223372036854775807\n", "in_current0_scale": "1000000\n",
		}), `
x/current0                     922337203685477581e4 A
x/temp0                        -300000e-3 °C ! below absolute zero: the driver has no valid value
x/temp1                        sensor "x/temp1": the kernel gave "warm" for a value
x/temp2                        sensor "x/temp2": the kernel gave "0 dB" for a value
x/temp3                        sensor "x/temp3": the kernel gave "" for a value
`},
	"a device without a name": {
		iioAt(7, "platform/y", "\x00", map[string]string{"in_resistance_raw": "12\n", "in_scale": "2\n"}), `
iio:device7/resistance         24e0 Ω
`},
}

func TestIIO(t *testing.T) {
	for name, c := range iioBoards {
		t.Run(name, func(t *testing.T) {
			b := open(tree(t, c.files))
			if got, want := measured(t, b.Sensors()), strings.TrimPrefix(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			list, err := b.Sensors().List(nil)
			must(t, err)
			for _, x := range list {
				if x.Source != "iio" || !strings.HasPrefix(x.Waits, "sensor ") {
					t.Errorf("%+v", x)
				}
			}
		})
	}
}

func TestScanTypes(t *testing.T) {
	for _, c := range []struct {
		text string
		b    []byte
		want int64
	}{
		{"le:s12/16>>4", []byte{0x0f, 0x80}, -2048},
		{"le:s12/16>>4", []byte{0xf0, 0x7f}, 2047},
		{"be:s16/16>>0", []byte{0xff, 0xfe}, -2},
		{"be:u24/32>>8", []byte{0x12, 0x34, 0x56, 0xff}, 0x123456},
		{"le:u12/16", []byte{0xff, 0xff}, 4095},
		{"le:s8/8>>0", []byte{0x80}, -128},
		{"le:s64/64>>0", []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, -2},
		{"le:u64/64>>0", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1<<63 - 1},
		{"be:s48/64>>2", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfb}, -2},
		{"le:s16/32X4>>0", []byte{1, 0, 0xff, 0xff, 2, 0, 0, 0}, 1},
	} {
		st, ok := parseScanType(c.text)
		if !ok || st.decode(c.b) != c.want {
			t.Errorf("%s of % x is %d (%v), want %d", c.text, c.b, st.decode(c.b), ok, c.want)
		}
	}
	for _, text := range []string{"", "le", "le:", "xe:s12/16", "le:f32/32>>0", "le:s0/16", "le:s12/12", "le:s65/64", "le:s16/128", "le:s12/16>>5", "le:s12/16>>-1", "le:s12/16X0", "le:s12", "le:s12/16>>x"} {
		if st, ok := parseScanType(text); ok {
			t.Errorf("%q is %+v", text, st)
		}
	}
}

func FuzzScanType(f *testing.F) {
	f.Add("le:s12/16>>4", []byte{1, 2})
	f.Add("be:u24/32X2>>8", []byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Fuzz(func(t *testing.T, text string, b []byte) {
		st, ok := parseScanType(text)
		if !ok {
			return
		}
		if st.size() < 1 || st.size() > 512 {
			t.Fatalf("%q takes %d bytes", text, st.size())
		}
		v := st.decode(append(b, make([]byte, 8)...))
		if !st.signed && v < 0 {
			t.Errorf("%q gives %d", text, v)
		}
		st.saturated(v)
	})
}

func TestElementsLieAtMultiplesOfTheirSize(t *testing.T) {
	el := func(base, text string) element {
		st, ok := parseScanType(text)
		if !ok {
			t.Fatal(text)
		}
		return element{base: base, scanType: st}
	}
	for _, c := range []struct {
		elements []element
		places   []int
		scan     int
		stamp    int
	}{
		{[]element{el("a", "le:s16/16")}, []int{0}, 2, -1},
		{[]element{el("a", "le:s16/16"), el("b", "le:s16/16"), el("c", "le:s16/16"), el("timestamp", "le:s64/64")}, []int{0, 2, 4, 8}, 16, 3},
		{[]element{el("a", "le:u24/32"), el("b", "le:s8/8")}, []int{0, 4}, 8, -1},
		{[]element{el("a", "le:s16/16X3"), el("b", "le:s8/8")}, []int{0, 6}, 12, -1},
	} {
		scan, stamp := layOut(c.elements)
		for i, e := range c.elements {
			if e.at != c.places[i] {
				t.Errorf("%s is at %d, want %v", e.base, e.at, c.places)
			}
		}
		if scan != c.scan || stamp != c.stamp {
			t.Errorf("scan of %d bytes, stamp %d; want %d, %d", scan, stamp, c.scan, c.stamp)
		}
	}
}

// accelerometerTree is a chip with a buffer, whose node is a pipe, and a trigger
// of a timer beside one that has nothing to do with it.
var accelerometerTree = together(
	iioAt(3, "i2c-1/1-0019", "lis3dh", map[string]string{
		"in_accel_x_raw": "1\n", "in_accel_y_raw": "2\n", "in_accel_z_raw": "1024\n", "in_accel_scale": "0.009576\n",
		"scan_elements/in_accel_x_en": "0\n", "scan_elements/in_accel_x_index": "0\n", "scan_elements/in_accel_x_type": "le:s12/16>>4\n",
		"scan_elements/in_accel_y_en": "1\n", "scan_elements/in_accel_y_index": "1\n", "scan_elements/in_accel_y_type": "le:s12/16>>4\n",
		"scan_elements/in_accel_z_en": "0\n", "scan_elements/in_accel_z_index": "2\n", "scan_elements/in_accel_z_type": "le:s12/16>>4\n",
		"scan_elements/in_timestamp_en": "0\n", "scan_elements/in_timestamp_index": "3\n", "scan_elements/in_timestamp_type": "le:s64/64>>0\n",
		"buffer/enable": "0\n", "buffer/length": "2\n", "buffer/watermark": "4\n", "trigger/current_trigger": "\n",
	}),
	at("sys/devices/trigger0", map[string]string{"name": "other-dev1\n"}),
	at("sys/devices/trigger1", map[string]string{"name": "every10ms\n", "sampling_frequency": "100\n"}),
	map[string]string{
		"sys/bus/iio/devices/trigger0": "-> ../../../devices/trigger0",
		"sys/bus/iio/devices/trigger1": "-> ../../../devices/trigger1",
	})

// pipe makes the node of IIO device 3 a pipe and gives its other end.
func pipe(t *testing.T, r roots) *os.File {
	t.Helper()
	node := filepath.Join(r.dev, "iio:device3")
	must(t, unix.Mkfifo(node, 0o600))
	w, err := os.OpenFile(node, os.O_RDWR, 0) // so that the reader sees no end
	must(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

func settings(t *testing.T, r roots) map[string]string {
	t.Helper()
	got := map[string]string{}
	for _, name := range []string{"scan_elements/in_accel_x_en", "scan_elements/in_accel_y_en", "scan_elements/in_accel_z_en",
		"scan_elements/in_timestamp_en", "buffer/enable", "buffer/length", "buffer/watermark", "trigger/current_trigger"} {
		text, err := readText(64, r.sys, "devices/i2c-1/1-0019/iio:device3", name)
		must(t, err)
		got[name] = text
	}
	return got
}

func TestABufferIsReadAndPutBack(t *testing.T) {
	r := tree(t, accelerometerTree)
	w := pipe(t, r)
	before := settings(t, r)
	var during map[string]string
	stopped := make(chan error, 1)
	go func() { // the chip: it begins when the buffer is on
		for {
			if on, _ := readText(8, r.sys, "devices/i2c-1/1-0019/iio:device3/buffer/enable"); on == "1" {
				break
			}
			time.Sleep(time.Millisecond)
		}
		during = settings(t, r)
		var scans []byte
		for i := range 6 { // x, z, padding, stamp
			scans = binary.LittleEndian.AppendUint16(scans, uint16(i-1)<<4|5)
			scans = binary.LittleEndian.AppendUint16(scans, uint16(2047-i)<<4)
			scans = binary.LittleEndian.AppendUint32(scans, 0xffffffff)
			scans = binary.LittleEndian.AppendUint64(scans, uint64(1e18+int64(i)*10e6))
		}
		_, err := w.Write(scans)
		stopped <- err
	}()
	names := []string{"lis3dh/accel_z", "lis3dh/accel_x"}
	b := open(r)
	c, err := b.Sensors().Capture(names, 4, nil)
	must(t, err)
	must(t, <-stopped)
	if got := fmt.Sprint(c.Samples[0].Values, c.Samples[1].Values); got != "[{19602072 -6} {19592496 -6} {19582920 -6} {19573344 -6}] [{-9576 -6} {0 0} {9576 -6} {19152 -6}]" {
		t.Error(got)
	}
	if c.Span != 30*time.Millisecond || c.Samples[0].Sensor.Name != names[0] || c.Samples[1].Suspect != "" ||
		!strings.Contains(c.Samples[0].Suspect, "top of the converter's range (code 2047)") {
		t.Errorf("%+v", c)
	}
	if got, want := fmt.Sprint(during), fmt.Sprint(map[string]string{"scan_elements/in_accel_x_en": "1", "scan_elements/in_accel_y_en": "0",
		"scan_elements/in_accel_z_en": "1", "scan_elements/in_timestamp_en": "1", "buffer/enable": "1", "buffer/length": "10", "buffer/watermark": "1",
		"trigger/current_trigger": "every10ms"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if after := settings(t, r); !maps.Equal(after, before) {
		t.Errorf("got  %v\nwant %v", after, before)
	}
}

func TestABufferThatCannotBeTaken(t *testing.T) {
	const x, z = "lis3dh/accel_x", "lis3dh/accel_z"
	dir := "sys/devices/i2c-1/1-0019/iio:device3/"
	for name, c := range map[string]struct {
		change map[string]string
		gone   []string
		kind   error
		words  []string
	}{
		"in use":     {change: map[string]string{dir + "buffer/enable": "1\n"}, kind: device.ErrBusy, words: []string{"lis3dh", "another program"}},
		"no trigger": {gone: []string{"sys/bus/iio/devices/trigger1", "sys/bus/iio/devices/trigger0"}, kind: device.ErrNotSupport, words: []string{"trigger", "iio-trig-hrtimer"}},
		"no node":    {gone: []string{"dev/iio:device3"}, kind: device.ErrNotSupport, words: []string{"no buffer"}},
		"no layout":  {gone: []string{dir + "scan_elements/in_timestamp_index"}, kind: device.ErrNotSupport, words: []string{"timestamp"}},
		"silent":     {kind: device.ErrTimeout, words: []string{"lis3dh", "sampling_frequency"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tree(t, together(accelerometerTree, c.change))
			pipe(t, r)
			root := filepath.Dir(r.sys)
			for _, path := range c.gone {
				must(t, os.Remove(filepath.Join(root, path)))
			}
			before := settings(t, r)
			_, err := open(r).Sensors().Capture([]string{x, z}, 4, nil)
			expect(t, err, c.kind, c.words...)
			if after := settings(t, r); !maps.Equal(after, before) {
				t.Errorf("got  %v\nwant %v", after, before)
			}
		})
	}
	t.Run("of two devices", func(t *testing.T) {
		b := open(tree(t, together(accelerometerTree, iioAt(4, "x", "other", map[string]string{
			"in_accel_x_raw": "1\n", "in_accel_scale": "1\n", "scan_elements/in_accel_x_type": "le:s16/16\n"}))))
		_, err := b.Sensors().Capture([]string{x, "other/accel_x"}, 4, nil)
		expect(t, err, device.ErrNotSupport, x, "other/accel_x", "one device")
	})
	t.Run("with the board closed", func(t *testing.T) {
		r := tree(t, accelerometerTree)
		pipe(t, r)
		before := settings(t, r)
		b := open(r)
		done := make(chan error, 1)
		go func() {
			_, err := b.Sensors().Capture([]string{x}, 4, nil)
			done <- err
		}()
		for {
			if on, _ := readText(8, r.sys, "devices/i2c-1/1-0019/iio:device3/buffer/enable"); on == "1" {
				break
			}
			time.Sleep(time.Millisecond)
		}
		_, err := b.Sensors().Capture([]string{x}, 4, nil)
		expect(t, err, device.ErrBusy, "a capture is running")
		must(t, b.Close())
		if after := settings(t, r); !maps.Equal(after, before) {
			t.Errorf("after Close %v, before %v", after, before)
		}
		expect(t, <-done, device.ErrTimeout)
	})
}

func TestATriggerThatHasToBeFired(t *testing.T) {
	r := tree(t, together(accelerometerTree, at("sys/devices/trigger1", map[string]string{"name": "sysfstrig1\n", "trigger_now": "\n"})))
	must(t, os.Remove(filepath.Join(r.sys, "devices/trigger1/sampling_frequency")))
	w := pipe(t, r)
	fired := filepath.Join(r.sys, "devices/trigger1/trigger_now")
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; n < 2; {
			if text, _ := readText(8, fired); text == "1" {
				if os.WriteFile(fired, nil, 0o600) != nil {
					return
				}
				if _, err := w.Write(make([]byte, 16)); err != nil {
					return
				}
				n++
			}
			time.Sleep(time.Millisecond)
		}
	}()
	c, err := open(r).Sensors().Capture([]string{"lis3dh/accel_x"}, 2, nil)
	must(t, err)
	if len(c.Samples[0].Values) != 2 {
		t.Errorf("%+v", c)
	}
	<-done
}

func TestBufferedSensorsKeepTheContract(t *testing.T) {
	r := tree(t, together(accelerometerTree, sensorTree, w1Tree))
	contract.Sensors(t, open(r)) // without a node
}

// w1At is a thermometer on bus 1.
func w1At(id string, files map[string]string) map[string]string {
	all := at("sys/devices/w1_bus_master1/"+id, files)
	all["sys/bus/w1/devices/"+id] = "-> ../../../devices/w1_bus_master1/" + id
	return all
}

var w1Tree = together(
	map[string]string{"sys/bus/w1/devices/w1_bus_master1": "-> ../../../devices/w1_bus_master1", "sys/devices/w1_bus_master1/w1_master_slave_count": "9\n"},
	w1At("28-000000000001", map[string]string{"w1_slave": "72 01 4b 46 7f ff 0e 10 57 : crc=57 YES\n72 01 4b 46 7f ff 0e 10 57 t=23125\n", "temperature": "1\n"}),
	w1At("28-000000000002", map[string]string{"w1_slave": "50 05 4b 46 7f ff 0c 10 1c : crc=1c YES\n50 05 4b 46 7f ff 0c 10 1c t=85000\n"}),
	w1At("28-000000000003", map[string]string{"w1_slave": "50 05 4b 46 7f ff 10 10 00 : crc=00 YES\n50 05 4b 46 7f ff 10 10 00 t=85000\n"}),
	w1At("28-000000000004", map[string]string{"w1_slave": "ff ff ff ff ff ff ff ff ff : crc=c9 NO\n72 01 4b 46 7f ff 0e 10 57 t=23125\n"}),
	w1At("28-000000000005", map[string]string{"w1_slave": "00 00 00 00 00 00 00 00 00 : crc=00 YES\n00 00 00 00 00 00 00 00 00 t=0\n"}),
	w1At("28-000000000006", map[string]string{"w1_slave": "ff 07 4b 46 7f ff 0c 10 1c : crc=1c YES\nff 07 4b 46 7f ff 0c 10 1c t=127937\n"}),
	w1At("28-000000000007", map[string]string{"w1_slave": ""}),
	w1At("28-000000000008", map[string]string{"temperature": "85000\n"}),
	w1At("28-000000000009", map[string]string{"temperature": "-127000\n"}),
	w1At("10-00000000000a", map[string]string{"temperature": "-60000\n"}),
	w1At("3b-00000000000b", map[string]string{"temperature": "812500\n"}),
	w1At("22-00000000000c", map[string]string{"temperature": "\n"}),
	w1At("28-00000000000d", map[string]string{"id": "x"}),          // no driver
	w1At("01-00000000000e", map[string]string{"w1_slave": "x"}),    // a serial number, no thermometer
	w1At("28-0000", map[string]string{"w1_slave": "x"}),            // no name of a slave
	w1At("28-00000000000f", map[string]string{"temperature": "x"}), //
)

const w1Golden = `
10-00000000000a                -60000e-3 °C ! outside the thermometer's range, -55 to 125 °C
22-00000000000c                sensor "22-00000000000c": the kernel gave "" for a value
28-000000000001                23125e-3 °C
28-000000000002                85000e-3 °C ! 85 °C is the value at power-on: the thermometer may have lost power during the conversion
28-000000000003                85000e-3 °C
28-000000000004                sensor "28-000000000004": its answer arrived corrupt (CRC); check its wiring, its power and the 4.7 kΩ pull-up of the data line
28-000000000005                0e-3 °C ! the thermometer sent only zeros: the data line may be shorted to ground
28-000000000006                127937e-3 °C ! 127.9375 °C stands for a conversion without enough power; check the supply and the pull-up
28-000000000007                sensor "28-000000000007": it gave no answer; check its wiring, its power and the 4.7 kΩ pull-up of the data line
28-000000000008                85000e-3 °C ! 85 °C is the value at power-on: the thermometer may have lost power during the conversion
28-000000000009                -127000e-3 °C ! -127 °C stands for a thermometer that does not answer
28-00000000000f                sensor "28-00000000000f": the kernel gave "x" for a value
3b-00000000000b                812500e-3 °C
`

func TestThermometersOnA1WireBus(t *testing.T) {
	b := open(tree(t, w1Tree))
	if got, want := measured(t, b.Sensors()), strings.TrimPrefix(w1Golden, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	list, err := b.Sensors().List(nil)
	must(t, err)
	for _, x := range list {
		if x.Waits != "w1_bus_master1" || x.Source != "w1" {
			t.Errorf("%+v", x)
		}
	}
}

func TestAWholeBusConvertsAtOnce(t *testing.T) {
	two := together(
		w1At("28-000000000001", map[string]string{"temperature": "1000\n"}),
		w1At("28-000000000002", map[string]string{"temperature": "2000\n"}),
		map[string]string{"sys/devices/w1_bus_master1/therm_bulk_read": "0\n"})
	for name, c := range map[string]struct {
		names []string
		want  string
	}{
		"both":         {[]string{"28-000000000001", "28-000000000002"}, "trigger"},
		"one":          {[]string{"28-000000000001"}, "0"},
		"one twice":    {[]string{"28-000000000001", "28-000000000001"}, "0"},
		"and a zone":   {[]string{"28-000000000002", "cpu", "28-000000000001"}, "trigger"},
		"none of them": {[]string{"a", "b"}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tree(t, two)
			open(r).Sensors().Begin(c.names, nil)
			if got, err := readText(16, r.sys, "devices/w1_bus_master1/therm_bulk_read"); err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestKnownCodesAreMarked(t *testing.T) {
	for _, c := range []struct {
		source string
		q      device.Quantity
		milli  int64
		marked bool
	}{
		{"hwmon", device.Temperature, 127996, true}, {"hwmon", device.Temperature, 127500, true}, {"hwmon", device.Temperature, 127000, false},
		{"hwmon", device.Temperature, -128000, true}, {"thermal", device.Temperature, -274000, true}, {"thermal", device.Temperature, 127500, false},
		{"hwmon", device.Temperature, -273150, false}, {"iio", device.Humidity, 100001, true}, {"iio", device.Humidity, -1, true},
		{"iio", device.Humidity, 0, false}, {"iio", device.Humidity, 100000, false}, {"hwmon", device.Voltage, 127500, false},
		{"iio", device.Temperature, 1 << 62, false}, {"iio", device.Temperature, -1 << 62, true},
	} {
		got := implausible(device.Sensor{Source: c.source, Quantity: c.q}, device.Decimal{Value: c.milli, Exp: -3})
		if (got != "") != c.marked {
			t.Errorf("%s %s %d: %q", c.source, c.q, c.milli, got)
		}
	}
}

func TestCaptureNeedsARight(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root has every right")
	}
	r := tree(t, accelerometerTree)
	pipe(t, r)
	must(t, os.Chmod(filepath.Join(r.sys, "devices/i2c-1/1-0019/iio:device3/trigger/current_trigger"), 0o400))
	_, err := open(r).Sensors().Capture([]string{"lis3dh/accel_x"}, 2, nil)
	if !errors.Is(err, device.ErrPermission) {
		t.Error(err)
	}
}
