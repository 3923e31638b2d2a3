//go:build linux

package linux

import (
	"math"

	"boardhand/device"
)

// implausible says why a value cannot be, or is one that drivers and chips give
// when they have none; empty: nothing speaks against it. What only one kind of
// source knows, it says itself.
func implausible(x device.Sensor, v device.Decimal) string {
	switch x.Quantity {
	case device.Temperature:
		milli := int64(math.Round(min(max(v.Float(), -1e9), 1e9) * 1000))
		switch {
		case milli < -273150:
			// A thermal zone without a value gives -274 (THERMAL_TEMP_INVALID).
			return "below absolute zero: the driver has no valid value"
		case x.Source != "hwmon":
		case milli == 127500 || milli == 127875 || milli == 127937 || milli == 127996:
			// 0x7f80 to 0x7fff in the register of an LM75 and its kin, by resolution.
			return "every data bit is one, the top of the chip's range: it may not be connected"
		case milli == -127000 || milli == -128000:
			return "the bottom of the chip's range, which many give for a sensor that is not connected"
		}
	case device.Humidity:
		if f := v.Float(); f < 0 || f > 100 {
			return "outside 0 to 100 %: the sensor may be wet, faulty or not calibrated"
		}
	}
	return ""
}
