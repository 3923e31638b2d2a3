package sim

import (
	"time"

	"boardhand/device"
)

// The accelerometer is like an ADXL345 in full resolution: 13 bits, 3.9 mg each,
// which its kernel driver gives the scale 0.0383. It lies flat and still, so Z
// feels gravity and all axes the noise of the data sheet, about one bit.
const (
	accelerometer       = "sensor adxl345"
	accelerometerPeriod = 10 * time.Millisecond
	accelerometerBurst  = 10 // samples that its FIFO hands over at a time
	accelerometerScale  = 383
	accelerometerExp    = -4
)

func newAccelerometer(seed int64) []meter {
	meters := make([]meter, 0, 3)
	for axis, still := range []int64{3, -5, 256} {
		meters = append(meters, meter{
			device.Sensor{Name: "adxl345/accel_" + string(rune('x'+axis)), Quantity: device.Acceleration, Source: "sim", Waits: accelerometer},
			func(t time.Time) (device.Decimal, string) {
				tick := uint64(t.UnixNano() / int64(accelerometerPeriod))
				code := still + noise(uint64(seed)<<32^tick<<2^uint64(axis))
				return device.Decimal{Value: code * accelerometerScale, Exp: accelerometerExp}, ""
			}, 0})
	}
	return meters
}

// noise is a whole number from -2 to 2, mostly 0, that the same n always gives:
// the sum of four bits of SplitMix64 (Steele, Lea, Flood 2014), less two.
func noise(n uint64) int64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	n ^= n >> 31
	sum := int64(-2)
	for range 4 {
		sum += int64(n & 1)
		n >>= 1
	}
	return sum
}
