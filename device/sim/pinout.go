package sim

import (
	"fmt"

	"boardhand/device"
)

const chipName = "gpiochip0"

// spec is one line as the board comes up.
type spec struct {
	name      string
	owner     string // the kernel's consumer, or empty
	dir       device.Direction
	out       device.Level // of an output, at the pin
	pull      device.Level // where the pin goes when nothing drives it
	activeLow bool
}

// pinout is every line by its offset. Header lines have the names of the
// Raspberry Pi's own kernel, the others those of the Pi 3 and Zero 2 W device
// trees; the pulls are the processor's at reset (BCM2835 ARM Peripherals, 6.2).
var pinout = [...]spec{
	0: {name: "ID_SDA", pull: device.High},
	1: {name: "ID_SCL", pull: device.High},
	2: {name: "GPIO2", pull: device.High},
	3: {name: "GPIO3", pull: device.High},
	4: {name: "GPIO4", pull: device.High},
	5: {name: "GPIO5", pull: device.High},
	6: {name: "GPIO6", pull: device.High},
	7: {name: "GPIO7", owner: "spi0 CS1", dir: device.Out, out: device.High, activeLow: true},
	8: {name: "GPIO8", owner: "spi0 CS0", dir: device.Out, out: device.High, activeLow: true},
	9: {name: "GPIO9"}, 10: {name: "GPIO10"}, 11: {name: "GPIO11"}, 12: {name: "GPIO12"},
	13: {name: "GPIO13"}, 14: {name: "GPIO14"}, 15: {name: "GPIO15"}, 16: {name: "GPIO16"},
	17: {name: "GPIO17"}, 18: {name: "GPIO18"}, 19: {name: "GPIO19"}, 20: {name: "GPIO20"},
	21: {name: "GPIO21"}, 22: {name: "GPIO22"}, 23: {name: "GPIO23"}, 24: {name: "GPIO24"},
	25: {name: "GPIO25"}, 26: {name: "GPIO26"}, 27: {name: "GPIO27"},
	28: {name: "HDMI_HPD_N", owner: "hpd", pull: device.High, activeLow: true},
	29: {name: "STATUS_LED_N", owner: "ACT", dir: device.Out, out: device.High, activeLow: true},
	30: {name: "CTS0"}, 31: {name: "RTS0"}, 32: {name: "TXD0"}, 33: {name: "RXD0"},
	34: {name: "SD1_CLK", pull: device.High},
	35: {name: "SD1_CMD", pull: device.High},
	36: {name: "SD1_DATA0", pull: device.High},
	37: {name: "SD1_DATA1"}, 38: {name: "SD1_DATA2"}, 39: {name: "SD1_DATA3"},
	40: {name: "CAM_GPIO0", dir: device.Out, out: device.High}, // the firmware leaves it so
	41: {name: "WL_ON", owner: "reset", dir: device.Out, out: device.High, activeLow: true},
	42: {name: "BT_ON", owner: "shutdown", dir: device.Out, out: device.High},
	43: {name: "WIFI_CLK"},
	44: {name: "SDA0", pull: device.High},
	45: {name: "SCL0", pull: device.High},
	46: {name: "SMPS_SCL", pull: device.High},
	47: {name: "SMPS_SDA", pull: device.High},
	48: {name: "SD_CLK_R", pull: device.High},
	49: {name: "SD_CMD_R", pull: device.High},
	50: {name: "SD_DATA0_R", pull: device.High},
	51: {name: "SD_DATA1_R", pull: device.High},
	52: {name: "SD_DATA2_R", pull: device.High},
	53: {name: "SD_DATA3_R", pull: device.High},
}

// offsets finds a line by the kernel's name, and by "GPIO" and its offset where
// the kernel has no such name.
var offsets = func() map[string]int {
	m := make(map[string]int, 2*len(pinout))
	for i := range pinout {
		m[fmt.Sprintf("GPIO%d", i)] = i
	}
	for i, s := range pinout {
		m[s.name] = i
	}
	return m
}()
