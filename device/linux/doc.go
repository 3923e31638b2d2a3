// Package linux is a board on the kernel's own interfaces: the GPIO character
// device (uAPI version 2, Linux 5.10), i2c-dev, hwmon, IIO, 1-Wire and thermal
// zones. It needs no library and no daemon, only the right to open the device nodes.
//
// The files are the families: gpio.go with chip.go, i2c.go, sensors.go with iio.go,
// iiobuffer.go, w1.go and plausible.go, uart.go with
// port.go, tcp.go, info.go. What can be used, and by whom, is doctor.go.
// What the kernel's headers say is in internal/uapi, and what its error numbers
// mean is in errno.go.
package linux
