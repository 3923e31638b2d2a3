//go:build linux

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// reading is one sensor in the result of sensor_read.
type reading struct {
	Sensor string
	Value  float64
	Unit   string
	Time   time.Time
}

// listedAndRead checks that a temperature is in the list, and measures it.
func (b *board) listedAndRead(name string) (*reading, error) {
	var list struct {
		Sensors []struct{ Sensor, Quantity, Unit string }
	}
	if err := b.mcp.tool("sensor_list", arguments{}, &list); err != nil {
		return nil, err
	}
	listed := false
	for _, s := range list.Sensors {
		listed = listed || s.Sensor == name && s.Quantity == "temperature" && s.Unit == "°C"
	}
	if !listed {
		return nil, fmt.Errorf("the list has no such temperature: %+v", list.Sensors)
	}
	var read struct{ Sensors []reading }
	if err := b.mcp.tool("sensor_read", arguments{"sensor": name}, &read); err != nil {
		return nil, err
	}
	if len(read.Sensors) != 1 {
		return nil, fmt.Errorf("one sensor gives %+v", read.Sensors)
	}
	r := &read.Sensors[0]
	if r.Sensor != name || r.Unit != "°C" || r.Time.IsZero() {
		return nil, fmt.Errorf("the reading is %+v", r)
	}
	return r, nil
}

// sensorFollows checks that a sensor gives the temperature that is set from
// outside, on a device at path.
func sensorFollows(name, path string) check {
	return check{fmt.Sprintf("sensor_read of %s follows the temperature", name), func(b *board) error {
		for _, want := range []float64{23.5, -12.5} {
			if err := b.monitor.set(path, "temperature", want*1000); err != nil {
				return err
			}
			// A driver may measure at intervals.
			err := b.soon(func() error {
				r, err := b.listedAndRead(name)
				if err == nil && r.Value != want {
					err = fmt.Errorf("it reads %v at %v °C", r.Value, want)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// sensorAgrees checks that a sensor gives what a file of the kernel has, in
// thousandths of a degree.
func sensorAgrees(name, file string) check {
	return check{fmt.Sprintf("sensor_read of %s agrees with the kernel", name), func(b *board) error {
		r, err := b.listedAndRead(name)
		if err != nil {
			return err
		}
		text, err := b.guest.read(file)
		if err != nil {
			return err
		}
		kernel, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		if math.Abs(r.Value-float64(kernel)/1000) > 1 {
			return fmt.Errorf("it reads %v, the kernel %d", r.Value, kernel)
		}
		return nil
	}}
}

// sensorReads checks a sensor's value to the last digit.
func sensorReads(name, unit string, want float64) check {
	return check{fmt.Sprintf("sensor_read of %s is %v %s", name, want, unit), func(b *board) error {
		var read struct{ Sensors []reading }
		if err := b.mcp.tool("sensor_read", arguments{"sensor": name}, &read); err != nil {
			return err
		}
		if len(read.Sensors) != 1 {
			return fmt.Errorf("one sensor gives %+v", read.Sensors)
		}
		if r := read.Sensors[0]; r.Sensor != name || r.Unit != unit || math.Abs(r.Value-want) > 1e-9*want || r.Time.IsZero() {
			return fmt.Errorf("the reading is %+v", r)
		}
		return nil
	}}
}

// sensorCaptures checks samples that the kernel takes in step at the given rate,
// and that the buffer of the device is put back.
func sensorCaptures(folder string, hz float64, names ...string) check {
	return check{fmt.Sprintf("sensor_read of %s in the kernel's buffer", strings.Join(names, " and ")), func(b *board) error {
		const n = 20
		files := []string{"buffer/enable", "buffer/length", "trigger/current_trigger"}
		have := func() (have []string, err error) {
			for _, f := range files {
				text, e := b.guest.read(folder + "/" + f)
				have, err = append(have, text), errors.Join(err, e)
			}
			return have, err
		}
		before, err := have()
		if err != nil {
			return err
		}
		var got struct {
			Sensors []struct {
				Sensor                 string
				Min, Mean, Max, Stddev float64
				Values, Suspect, Error string
			}
			Samples  int
			Seconds  float64
			Buffered bool
		}
		if err := b.mcp.tool("sensor_read", arguments{"sensor": names, "samples": n}, &got); err != nil {
			return err
		}
		if len(got.Sensors) != len(names) || got.Samples != n || !got.Buffered {
			return fmt.Errorf("%+v", got)
		}
		// A busy host makes the timer late, and nothing makes it early.
		if least := (n - 1) / hz; got.Seconds < 0.9*least {
			return fmt.Errorf("%d samples took %v s, at %v Hz at least %v", n, got.Seconds, hz, least)
		}
		for i, s := range got.Sensors {
			if s.Sensor != names[i] || s.Error != "" || s.Suspect != "" || len(strings.Fields(s.Values)) != n || s.Min != s.Max || s.Mean != s.Min || s.Stddev != 0 {
				return fmt.Errorf("of a device that always measures the same: %+v", s)
			}
			var single struct{ Sensors []reading }
			if err := b.mcp.tool("sensor_read", arguments{"sensor": s.Sensor}, &single); err != nil {
				return err
			}
			// The kernel writes a scale with nine decimals, and of 1/256000 that is four digits.
			if v := single.Sensors[0].Value; math.Abs(v-s.Mean) > 1e-4*v {
				return fmt.Errorf("%s is %v in the buffer and %v without", s.Sensor, s.Mean, v)
			}
		}
		after, err := have()
		if err == nil && !slices.Equal(before, after) {
			err = fmt.Errorf("%v were %q and are %q", files, before, after)
		}
		return err
	}}
}
