//go:build linux

package main

import (
	"fmt"
	"math"
	"strconv"
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
