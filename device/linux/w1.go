//go:build linux

package linux

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// thermometers is the 1-Wire families with a temperature that the kernel's
// w1_therm reads: DS18S20, DS1822, DS18B20, DS1825 and MAX31850, DS28EA00.
var thermometers = map[string]bool{"10": true, "22": true, "28": true, "3b": true, "42": true}

// w1Thermometer is one thermometer on a 1-Wire bus: Documentation/w1/slaves/w1_therm.rst.
type w1Thermometer struct {
	dir    string // with no link in it
	family string
	slave  bool // has w1_slave; else only temperature (Linux 5.8)
}

// w1 is the 1-Wire thermometers to which the kernel's driver is bound.
func (s *sensors) w1() []sensor {
	dir := filepath.Join(s.roots.sys, "bus/w1/devices")
	entries, _ := os.ReadDir(dir)
	var found []sensor
	for _, e := range entries {
		family, serial, ok := strings.Cut(e.Name(), "-") // 28-0316a2790f5c
		if !ok || !thermometers[family] || len(serial) != 12 {
			continue
		}
		path, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		w := w1Thermometer{dir: path, family: family}
		value := "w1_slave"
		if _, err := os.Lstat(filepath.Join(path, value)); err == nil {
			w.slave = true
		} else if value = "temperature"; !exists(path, value) {
			continue
		}
		found = append(found, sensor{
			device.Sensor{Name: word(e.Name()), Quantity: device.Temperature, Source: "w1", Waits: filepath.Base(filepath.Dir(path))},
			w, filepath.Join(path, value)})
	}
	return found
}

func exists(path ...string) bool {
	_, err := os.Lstat(filepath.Join(path...))
	return err == nil
}

// measure implements source. It waits for the conversion, 750 ms at 12 bits,
// unless Begin has done so.
func (w w1Thermometer) measure() (v device.Decimal, suspect string, err error) {
	value, scratchpad := "", []byte(nil)
	if w.slave {
		// 72 01 4b 46 7f ff 0e 10 57 : crc=57 YES
		// 72 01 4b 46 7f ff 0e 10 57 t=23125
		text, err := readText(256, w.dir, "w1_slave")
		if err != nil {
			return v, "", err
		}
		first, second, _ := strings.Cut(text, "\n")
		bytes, crc, _ := strings.Cut(first, ":")
		if !strings.HasSuffix(strings.TrimSpace(crc), "YES") {
			return v, "", badCRC(first)
		}
		scratchpad, _ = hex.DecodeString(strings.ReplaceAll(bytes, " ", ""))
		_, value, _ = strings.Cut(second, "t=")
	} else if value, err = readText(64, w.dir, "temperature"); err != nil {
		return v, "", err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	if err != nil {
		return v, "", noValue(value)
	}
	return device.Decimal{Value: n, Exp: -3}, w.suspect(n, scratchpad), nil
}

// badCRC says that a thermometer's answer arrived corrupt, or not at all.
func badCRC(line string) error {
	reason := "its answer arrived corrupt (CRC)"
	if line == "" {
		reason = "it gave no answer"
	}
	return &device.Error{Kind: unix.EIO, Reason: reason, Hint: "check its wiring, its power and the 4.7 kΩ pull-up of the data line"}
}

// suspect says why milli, in thousandths of a degree, may be no measurement. The
// scratchpad is what the thermometer sent, or empty.
func (w w1Thermometer) suspect(milli int64, scratchpad []byte) string {
	sent := len(scratchpad) == 9
	switch {
	case sent && allZero(scratchpad):
		// The CRC of nothing but zeros is zero, and so is right.
		return "the thermometer sent only zeros: the data line may be shorted to ground"
	case w.family == "3b": // a MAX31850 reads a thermocouple, -270 to 1768 °C
	case milli == 85000 && (!sent || scratchpad[6] == 0x0c):
		// Byte 6 is 0x0c from power-on to the first conversion (DS18B20 data sheet; w1_therm.rst, features).
		return "85 °C is the value at power-on: the thermometer may have lost power during the conversion"
	case milli == 127937:
		return "127.9375 °C stands for a conversion without enough power; check the supply and the pull-up"
	case milli == -127000:
		return "-127 °C stands for a thermometer that does not answer"
	case milli < -55000 || milli > 125000:
		return "outside the thermometer's range, -55 to 125 °C"
	}
	return ""
}

func allZero(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return false
		}
	}
	return true
}

// A bulk conversion takes as long as one, 750 ms; a bus that takes much longer
// is left to itself.
const (
	bulkLimit = 2 * time.Second
	bulkPoll  = 20 * time.Millisecond
)

// Begin implements device.Sensors: all thermometers of a 1-Wire bus convert at
// once (therm_bulk_read, Linux 5.8). A thermometer that is not read afterwards
// would give its old value to whoever reads it next, so only a whole bus is begun.
func (s *sensors) Begin(names []string, stop func() bool) {
	if len(names) < 2 || s.closed.Load() {
		return
	}
	s.mu.Lock()
	found := s.found
	s.mu.Unlock()
	asked, all := map[string]int{}, map[string]int{}
	dir := map[string]string{}
	for _, x := range found {
		if w, ok := x.source.(w1Thermometer); ok {
			all[x.Waits]++
			dir[x.Waits] = filepath.Dir(w.dir)
		}
	}
	seen := map[string]bool{}
	for _, name := range names {
		if x, ok := find(found, name); ok && all[x.Waits] > 1 && !seen[name] {
			seen[name] = true
			asked[x.Waits]++
		}
	}
	var begun []string
	for bus, n := range asked {
		path := filepath.Join(dir[bus], "therm_bulk_read")
		if n == all[bus] && writeText(path, "trigger") == nil {
			begun = append(begun, path)
		}
	}
	limit := time.Now().Add(bulkLimit)
	for _, path := range begun {
		for time.Now().Before(limit) && !s.closed.Load() && (stop == nil || !stop()) {
			if state, err := readText(8, path); err != nil || state != "-1" {
				break
			}
			time.Sleep(bulkPoll)
		}
	}
}

// writeText writes a line to a file of the kernel that is there.
func writeText(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text + "\n")
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}
