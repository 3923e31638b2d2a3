// Package uapi mirrors the kernel's structures and ioctls for GPIO lines (the
// character device, version 2) and I2C buses. It gives them no meaning and holds
// no state. It is the only package of the program that uses unsafe.
//
// Every call is one ioctl and returns the kernel's unix.Errno or nil. Sources:
// include/uapi/linux/gpio.h, i2c.h and i2c-dev.h.
package uapi
