package tty

import (
	"slices"
	"strconv"
	"strings"

	"go.bug.st/serial/enumerator"
)

// List gives the serial ports of this machine, USB devices first, each group by
// name. It opens none.
func List() ([]Info, error) {
	found, err := enumerator.GetDetailedPortsList()
	if err != nil {
		return nil, err
	}
	var ports []Info
	for _, d := range found {
		info := Info{Path: d.Name, Serial: d.SerialNumber, Description: strings.TrimSpace(d.Manufacturer + " " + d.Product)}
		if d.IsUSB {
			vid, _ := strconv.ParseUint(d.VID, 16, 16)
			pid, _ := strconv.ParseUint(d.PID, 16, 16)
			info.USB, info.VID, info.PID = true, uint16(vid), uint16(pid)
		}
		ports = append(ports, info)
	}
	slices.SortFunc(ports, func(a, b Info) int {
		switch {
		case a.USB != b.USB && a.USB:
			return -1
		case a.USB != b.USB:
			return 1
		case len(a.Path) != len(b.Path): // COM9 before COM10
			return len(a.Path) - len(b.Path)
		}
		return strings.Compare(a.Path, b.Path)
	})
	return ports, nil
}
