//go:build linux

package uapi

import "testing"

// The number from the kernel's header, which is the same on every processor: MIPS
// differs from the others only where data goes one way.
func TestSetConfigHasTheKernelsNumber(t *testing.T) {
	if lineSetConfig != 0xc110b40d {
		t.Errorf("%#x", lineSetConfig)
	}
}

func TestWordIsInTheProcessorsOrder(t *testing.T) {
	var d SMBusData
	d.SetWord(0x1234)
	if d.Word() != 0x1234 || d[2] != 0 {
		t.Errorf("% x", d)
	}
}
