//go:build !linux && !windows

package tty

import (
	"path/filepath"
	"strings"
)

// List gives the serial ports of this machine, USB devices first, each group by
// name. It opens none. Names are all that macOS shows without its IOKit, which
// needs cgo; a USB port's has the device's serial number, or its socket, in it, so
// a device that is plugged in again has its old name.
func List() ([]Info, error) {
	var usb, others []Info
	for _, pattern := range []string{"/dev/cu.*", "/dev/cuaU[0-9]*", "/dev/cuau[0-9]*"} { // macOS; the BSDs
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			name := filepath.Base(path)
			switch {
			case strings.HasSuffix(name, ".lock"), strings.HasSuffix(name, ".init"):
			case strings.Contains(name, "Bluetooth"), strings.Contains(name, "debug"), strings.Contains(name, "wlan"):
			case strings.Contains(strings.ToLower(name), "usb"), strings.Contains(name, "SLAB_"), strings.Contains(name, "cuaU"):
				usb = append(usb, Info{Path: path, USB: true})
			default:
				others = append(others, Info{Path: path})
			}
		}
	}
	return append(usb, others...), nil
}
