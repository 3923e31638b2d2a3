//go:build linux

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of include/uapi/linux/i2c-dev.h and i2c.h. A forced address may have a driver.
const (
	i2cSlaveForce  = 0x0706
	i2cSMBus       = 0x0720
	smbusByteData  = 2
	smbusBlockData = 5
	smbusBlockMax  = 32
)

// smbusCall is struct i2c_smbus_ioctl_data.
type smbusCall struct {
	read    uint8
	command uint8
	size    uint32
	data    *[smbusBlockMax + 2]byte
}

// registers pokes, peeks or writes a block. Numbers are as in Go: 0x48. The result
// of a peek is in hexadecimal, "00 ff".
func registers(command string, words []string) (string, error) {
	var n []byte
	for _, w := range words {
		v, err := strconv.ParseUint(w, 0, 8)
		if err != nil {
			return "", err
		}
		n = append(n, byte(v))
	}
	bus, err := os.OpenFile("/dev/i2c-"+words[0], os.O_RDWR, 0)
	if err != nil {
		return "", err
	}
	defer bus.Close()
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, bus.Fd(), i2cSlaveForce, uintptr(n[1])); e != 0 {
		return "", e
	}
	var data [smbusBlockMax + 2]byte
	call := smbusCall{command: n[2], size: smbusByteData, data: &data}
	transact := func() error {
		_, _, e := unix.Syscall(unix.SYS_IOCTL, bus.Fd(), i2cSMBus, uintptr(unsafe.Pointer(&call)))
		runtime.KeepAlive(&data)
		if e != 0 {
			return fmt.Errorf("register 0x%02x: %w", call.command, e)
		}
		return nil
	}
	var got []string
	switch command {
	case "block":
		call.size = smbusBlockData
		data[0] = byte(copy(data[1:1+smbusBlockMax], n[3:]))
		return "", transact()
	case "poke":
		for _, data[0] = range n[3:] {
			if err := transact(); err != nil {
				return "", err
			}
			call.command++
		}
	case "peek":
		call.read = 1
		for range n[3] {
			if err := transact(); err != nil {
				return "", err
			}
			got = append(got, fmt.Sprintf("%02x", data[0]))
			call.command++
		}
	}
	return strings.Join(got, " "), nil
}
