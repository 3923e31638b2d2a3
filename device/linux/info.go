//go:build linux

package linux

import (
	"runtime"
	"strconv"
	"strings"

	"boardhand/device"
)

// Info implements device.Board. What the kernel does not tell stays zero.
func (b *Board) Info() device.Info {
	r := b.roots
	release := kernelRelease(r)
	hostname, _ := readText(256, r.proc, "sys/kernel/hostname")
	info := device.Info{
		Model:    model(r),
		Hostname: word(hostname),
		Kernel:   strings.TrimSpace("Linux " + release),
		Arch:     runtime.GOARCH,
		CPUs:     cpusOnline(r),
	}
	memory := meminfo(r)
	info.MemTotal, info.MemFree = memory["MemTotal:"], memory["MemAvailable:"]
	info.Uptime = uptime(r)
	return info
}

// model is what the firmware calls the board: the device tree's model, or the
// maker and product of DMI, or the processor's architecture.
func model(r roots) string {
	if s, err := readText(256, r.proc, "device-tree/model"); err == nil && word(s) != "" {
		return word(s)
	}
	vendor, _ := readText(128, r.sys, "class/dmi/id/sys_vendor")
	product, _ := readText(128, r.sys, "class/dmi/id/product_name")
	if product = word(product); product != "" {
		return strings.TrimSpace(word(vendor) + " " + product)
	}
	return "Linux on " + runtime.GOARCH
}

// cpusOnline counts a list such as "0-3,5".
func cpusOnline(r roots) int {
	list, _ := readText(256, r.sys, "devices/system/cpu/online")
	n := 0
	for span := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(span, "-")
		lo, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		hi := lo
		if isRange {
			if hi, err = strconv.Atoi(to); err != nil || hi < lo {
				continue
			}
		}
		n += hi - lo + 1
	}
	if n == 0 {
		return runtime.NumCPU()
	}
	return n
}
