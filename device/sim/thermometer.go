package sim

import (
	"math"
	"time"

	"boardhand/device"
)

// The thermometer is a DS18B20 on a 1-Wire bus in the air around the board. As on
// the real one a conversion takes 750 ms at 12 bits, a step is 1/16 °C, and what
// it holds at power-on is 85 °C.
const (
	thermometer       = "28-0316a2790f5c"
	thermometerBus    = "w1_bus_master1"
	conversion        = 750 * time.Millisecond
	thermometerStarts = time.Second
)

func newThermometer(seed int64, booted time.Time) meter {
	air := climate(seed)
	return meter{
		device.Sensor{Name: thermometer, Quantity: device.Temperature, Source: "sim", Waits: thermometerBus},
		func(t time.Time) (device.Decimal, string) {
			if t.Sub(booted) < thermometerStarts {
				return device.Decimal{Value: 85000, Exp: -3}, "85 °C is the value at power-on: the thermometer may have lost power during the conversion"
			}
			sixteenths := math.Floor(air(t).celsius * 16)
			return device.Decimal{Value: int64(sixteenths * 62.5), Exp: -3}, "" // as the kernel cuts it
		}, conversion}
}
