//go:build linux

package uapi

import (
	"runtime"
	"testing"
	"unsafe"
)

// The numbers of the kernel's header, include/uapi/linux/spi/spidev.h, on MIPS and
// elsewhere: there the direction of data has other bits.
func TestSPIHasTheKernelsNumbers(t *testing.T) {
	get, set, one := uint32(0x80046b05), uint32(0x40046b05), uint32(0x40206b00)
	if runtime.GOARCH == "mipsle" {
		get, set, one = 0x40046b05, 0x80046b05, 0x80206b00
	}
	if uint32(spiGetMode) != get || uint32(spiSetMode) != set {
		t.Errorf("%#x %#x", uint32(spiGetMode), uint32(spiSetMode))
	}
	if got := uint32(spiMessage | uint(unsafe.Sizeof(spiTransfer{}))<<16); got != one {
		t.Errorf("%#x", got)
	}
	var s spiTransfer
	if unsafe.Offsetof(s.rx) != 8 || unsafe.Offsetof(s.length) != 16 || unsafe.Offsetof(s.bits) != 26 || unsafe.Offsetof(s.release) != 27 {
		t.Errorf("%d %d %d %d", unsafe.Offsetof(s.rx), unsafe.Offsetof(s.length), unsafe.Offsetof(s.bits), unsafe.Offsetof(s.release))
	}
}
