package sim_test

import (
	"fmt"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
)

// GPIO17 and GPIO27 are tied, so what is written to the one is read on the other.
func ExampleOpen() {
	board := sim.Open(sim.Wiring{})
	defer board.Close()
	g := board.GPIO()

	var levels [1]device.Level
	before, _ := g.Write("GPIO17", device.High)
	g.Read([]string{"GPIO27"}, levels[:])
	fmt.Println("GPIO17 was", before.Level, "and GPIO27 is", levels[0])

	_, err := g.Write("GPIO8", device.Low)
	fmt.Println(err)
	// Output:
	// GPIO17 was 0 and GPIO27 is 1
	// line "GPIO8": in use by "spi0 CS0" (EBUSY); gpio_list shows which lines are free
}

// The BME280 sleeps until it is told to measure.
func ExampleBoard_I2C() {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	board := sim.Open(sim.Wiring{Now: func() time.Time { return now }})
	defer board.Close()
	bus := board.I2C()

	found, _ := bus.Scan(1, 0x08, 0x77, nil, device.Scanning{})
	for _, o := range found {
		fmt.Printf("%#x %q\n", o.Addr, o.Driver)
	}

	bus.Transfer(1, 0x76, []byte{0xf2, 0x01, 0xf4, 0x27}, nil) // all three, oversampling 1, normal mode
	now = now.Add(10 * time.Millisecond)
	data := make([]byte, 8)
	bus.Transfer(1, 0x76, []byte{0xf7}, data)
	fmt.Printf("raw temperature 0x%x...\n", data[3])
	// Output:
	// 0x50 ""
	// 0x68 "rtc-ds1307"
	// 0x76 ""
	// raw temperature 0x7e...
}
