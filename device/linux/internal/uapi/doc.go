// Package uapi mirrors the kernel's structures and ioctls for GPIO lines (the
// character device, version 2), I2C buses, SPI devices and serial ports. It gives them no
// meaning and holds no state. It is the only package of the program that uses
// unsafe.
//
// Every call is one ioctl and returns the kernel's unix.Errno or nil. Sources:
// include/uapi/linux/gpio.h, i2c.h, i2c-dev.h, spi/spidev.h and serial.h.
package uapi
