//go:build linux

package main

import (
	"slices"
	"time"
)

// machine is one emulated board: how it boots, what is connected to it, and what
// is to be found out on it.
type machine struct {
	name string
	// optional says that what the machine needs may be absent: it is left out then.
	optional bool
	limit    time.Duration // for all of it, from the start of QEMU
	kernel   flavour
	goarch   string // and ARMv6 where it is arm
	qemu     []string
	append   string // to the kernel's command line
	port     string // the serial port at which boardhand serves, in the guest
	cable    bool   // it serves there for boardhand connect at this side, and the kernel's console is there too

	tree    string // the stock device tree; empty: the one that QEMU makes; or noTree
	edits   []treeEdit
	nodes   string     // added to the device tree
	modules []string   // with their parameters
	setup   [][]string // commands for the guest before anything else

	tests   string // BOARDHAND_KERNEL of device/linux, see its kernel_test.go
	skip    string // tests that this machine cannot pass, see there, with the reason beside it
	watched string // the device whose outputs are seen from outside: a path or a type
	moving  pin    // an input that is moved twice a second while the tests run

	checks []check // with boardhand at the serial port, in order

	rig rig // outputs with rules, tried when boardhand has ended there
}

// pin is a pin of an emulated device, from outside. The device is a path or a type.
type pin struct {
	device string
	n      int
}

// noTree is the tree of a machine that has none.
const noTree = "none"

// The modules of what does not depend on the board.
var everywhere = []string{"i2c-dev", "leds-gpio", "ledtrig-timer", "softdog soft_margin=60", "can", "can-raw", "vcan"}

// An emulated chip has no pulls: an input that nobody drives has the level that
// was last driven. So "back to how it was" is checked by these chips' direction
// alone, in TestKernelMakesAnInputAnInputAgain.
const floats = "/(release_goes_back|puts_every_written|many_callers)"

const (
	pl061   = "9030000.pl061:"
	mxcFour = "20a8000.gpio:" // the i.MX's GPIO4, on which the stock board uses no line
)

var machines = []machine{
	{
		name:   "arm64",
		limit:  180 * time.Second,
		kernel: flavour{"arm64", "arm64", bookworm},
		goarch: "arm64",
		qemu: []string{"qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-smp", "1", "-m", "256",
			"-serial", "stdio", "-device", "pci-serial,chardev=session",
			"-object", "can-bus,id=can", "-device", "kvaser_pci,canbus=can", "-device", "kvaser_pci,canbus=can",
			"-chardev", "socket,id=uart,path={dir}/uart,server=on,wait=off", "-device", "pci-serial,chardev=uart",
			"-chardev", "socket,id=usb,path={dir}/usb,server=on,wait=off", "-device", "qemu-xhci",
			"-device", "usb-serial,chardev=usb,id=ftdi,always-plugged=on"},
		append: "console=ttyAMA0",
		port:   "/dev/ttyS0",
		nodes: `/ { leds { compatible = "gpio-leds";
			led-act { label = "ACT"; gpios = <&{/pl061@9030000} 0 0>; linux,default-trigger = "none"; }; }; };`,
		modules: append([]string{"gpio-keys", "kvaser_pci", "xhci-pci", "ftdi_sio", "dummy_hcd", "usb_f_acm", "g_serial", "cdc-acm"}, everywhere...),
		tests: "free=" + pl061 + "2,alias=GPIO2,standing=" + pl061 + "5,owned=" + pl061 + "3,moving=" + pl061 + "4,can=vcan,canpair=can0+can1,led=ACT,watchdog=Software+Watchdog," +
			"uart=ttyACM0,gadget=ttyGS0,alias-usb=0525:a4a7,console=ttyAMA0",
		skip:    floats,
		watched: "pl061",
		rig:     rig{pump: pin{"pl061", 1}, valve: pin{"pl061", 7}, names: [3]string{pl061 + "1", "GPIO7", "GPIO6"}, keeps: true, watchdog: true},
		moving:  pin{"pl061", 4},
		checks: []check{
			toolsList("board_info", "gpio_list", "gpio_read", "gpio_write", "can_send", "can_receive"),
			boardInfo("linux,dummy-virt", "arm64", 8),
			gpioList("pl061", 8, pl061+"3", "GPIO Key Poweroff"),
			gpioReadsDriven(pl061+"6", pin{"pl061", 6}),
			gpioReadsDriven("GPIO6", pin{"pl061", 6}),
			gpioWriteSeen("GPIO7", "9030000.pl061", 7),
			gpioPulseEnds(pl061+"1", "9030000.pl061", 1),
			gpioWaits("GPIO6", pin{"pl061", 6}),
			gpioPulses("GPIO1", "9030000.pl061", 1),
			gpioConfigures("GPIO1", "9030000.pl061", 1),
			gpioRefusesOwned(pl061+"0", "ACT"),
			canPair("can0", "can1"),
			ledSet("ACT", 0),
			systemInfo("Software Watchdog"),
			gpioRefusesUnknown(8),
			uartListed(uartPort{Port: "ttyUSB0", Driver: "ftdi_sio", USB: "0403:6001:1-0000:00:05.0-1"}),
			uartRefusesOwned("ttyAMA0", "the kernel's console"),
			uartRefusesOwned("ttyS0", "this server's own client"),
			uartExchanges("ttyS1", "uart"),
			uartControls("ttyS1"),
			modbusSpeaks("ttyS1", "uart"),
			uartUnplugged("ttyUSB0", "0403:6001", "ftdi", "usb"),
			kernelHas("an LED, a UART, a USB serial port, CAN, vcan and a watchdog", "/sys/class/leds/ACT/brightness", "/sys/class/tty/ttyS1/dev",
				"/sys/class/tty/ttyUSB0/dev", "/sys/class/net/can0/type", "/sys/class/net/can1/type", "/sys/module/vcan/initstate", "/sys/class/watchdog/watchdog0/dev"),
		},
	},
	{
		name:   "cable",
		limit:  180 * time.Second,
		kernel: flavour{"arm64", "arm64", bookworm},
		goarch: "arm64",
		qemu: []string{"qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a53", "-smp", "1", "-m", "256",
			"-serial", "stdio", "-chardev", "pty,id=cable", "-device", "pci-serial,chardev=cable"},
		append:  "loglevel=6 console=ttyS0,115200 console=ttyAMA0", // the last is the first process's
		port:    "/dev/ttyS0",
		tree:    noTree,
		watched: "pl061",
		cable:   true,
		checks: []check{
			cableSeesBoot,
			cableSeesLogin,
			cableServes,
			initialize(version),
			toolsList("board_info", "gpio_list", "gpio_read", "gpio_write", "gpio_wait"),
			boardInfo("linux,dummy-virt", "arm64", 8),
			gpioWriteSeen("GPIO7", "9030000.pl061", 7),
			cableCarriesText("GPIO7"),
			cableOutlivesReboot("GPIO5", "GPIO4", "9030000.pl061", 5, 4),
			again(toolsList("board_info", "gpio_list", "gpio_read", "gpio_write", "gpio_wait")),
			again(gpioWriteSeen("GPIO7", "9030000.pl061", 7)),
			again(cableCarriesText("GPIO7")),
		},
	},
	{
		name:   "sabrelite",
		limit:  180 * time.Second,
		kernel: flavour{"armmp", "armhf", bookworm},
		goarch: "arm",
		qemu: []string{"qemu-system-arm", "-M", "sabrelite", "-m", "512", "-smp", "1",
			"-serial", "chardev:session", "-serial", "stdio",
			"-device", "tmp105,bus=i2c-bus.0,address=0x48,id=lm75", "-device", "tmp421,bus=i2c-bus.0,address=0x4d",
			"-device", "at24c-eeprom,bus=i2c-bus.0,address=0x51,rom-size=256",
			"-device", "ds1338,bus=i2c-bus.0,address=0x68", "-device", "dps310,bus=i2c-bus.0,address=0x77",
			"-device", "at24c-eeprom,bus=i2c-bus.0,address=0x54,rom-size=256"}, // its bytes pass for a converter's registers
		append: "console=ttymxc1",
		port:   "/dev/ttymxc0",
		tree:   "imx6q-sabrelite.dtb",
		// QEMU has no SDMA: a port or a bus that waits for it hangs.
		edits: append(without([]string{"dmas", "dma-names"},
			spba+"spi@2008000", spba+"spi@200c000", spba+"spi@2010000", spba+"spi@2014000", spba+"spi@2018000", spba+"serial@2020000",
			aips+"serial@21e8000", aips+"serial@21ec000", aips+"serial@21f0000", aips+"serial@21f4000"),
			// The emulated flash, to be reached through spidev.
			treeEdit{spba + "spi@2008000/flash@0", "compatible", "rohm,dh2228fv"}),
		nodes: `/ { leds-test { compatible = "gpio-leds";
			act { label = "ACT"; gpios = <&{/soc/bus@2000000/gpio@20a8000} 20 0>; linux,default-trigger = "none"; }; };
			onewire { compatible = "w1-gpio"; gpios = <&{/soc/bus@2000000/gpio@20a8000} 21 7>; }; };`,
		modules: append([]string{"gpio-mxc", "i2c-imx", "spi-imx", "pwm-imx27", "lm75", "tmp421", "dps310", "ti-ads1015", "wire", "w1-gpio", "w1-therm"}, everywhere...),
		setup: [][]string{
			{"write", "/sys/bus/i2c/devices/i2c-0/new_device", "lm75", "0x48"},
			{"write", "/sys/bus/i2c/devices/i2c-0/new_device", "tmp421", "0x4d"},
			{"write", "/sys/bus/i2c/devices/i2c-0/new_device", "dps310", "0x77"},
			{"write", "/sys/bus/i2c/devices/i2c-0/new_device", "ads1015", "0x54"},
		},
		// An address without a device costs 0.2 s or more and gives ETIMEDOUT here,
		// so the scan is short and there is no empty address.
		tests: "free=" + mxcFour + "22,standing=" + mxcFour + "9,owned=" + mxcFour + "20,moving=209c000.gpio:4,can=vcan," +
			"bus=0,range=46-52,device=51,set=0003a5,write=0003,read=a5,driven=48," +
			"spi=spidev0.0,spiwrite=9f,spiread=bf2541,pwm=pwmchip0/0,led=ACT,watchdog=Software+Watchdog",
		watched: "/machine/soc/gpio4",
		moving:  pin{"/machine/soc/gpio1", 4},
		checks: []check{
			toolsList("board_info", "gpio_list", "gpio_read", "gpio_write", "i2c_scan", "i2c_read", "i2c_write", "sensor_list", "sensor_read"),
			boardInfo("Freescale i.MX6 Quad SABRE Lite Board", "arm", 224),
			gpioList("", 224, mxcFour+"20", "ACT"),
			gpioReadsDriven("209c000.gpio:6", pin{"/machine/soc/gpio1", 6}),
			gpioReadsDriven("GPIO6", pin{"/machine/soc/gpio1", 6}),
			gpioWriteSeen(mxcFour+"23", "20a8000.gpio", 23),
			gpioPulseEnds(mxcFour+"24", "20a8000.gpio", 24),
			gpioWaits("209c000.gpio:6", pin{"/machine/soc/gpio1", 6}),
			gpioPulses(mxcFour+"24", "20a8000.gpio", 24),
			gpioConfigures(mxcFour+"24", "20a8000.gpio", 24),
			gpioRefusesOwned(mxcFour+"20", "ACT"),
			gpioRefusesUnknown(224),
			uartRefusesOwned("ttymxc1", "the kernel's console"),
			uartRefusesOwned("ttymxc0", "this server's own client"),
			i2cScan(0, 0x47, 0x51, map[string]string{"0x48": "lm75", "0x4d": "tmp421", "0x51": ""}),
			i2cReadsWritten(0, 0x51),
			i2cTransfers(0, 0x51),
			i2cScanInParts(0, map[string]string{"0x48": "lm75", "0x4d": "tmp421", "0x51": "", "0x68": "", "0x77": "dps310"}),
			i2cRefusesDriver(0, 0x48, "lm75"),
			sensorFollows("lm75/temp1", "/machine/peripheral/lm75"),
			spiReads("spidev0.0", "9f +3; 05 +1", "bf 25 41", "00"),
			pwmSet("pwmchip1/0", "/sys/class/pwm/pwmchip1/pwm0"),
			ledSet("ACT", 20),
			systemInfo("Software Watchdog"),
			sensorAgrees("dps310/temp", "/sys/bus/iio/devices/iio:device0/in_temp_input"),
			kernelHas("an LED, spidev, PWM, IIO, 1-Wire, vcan and watchdogs", "/sys/class/leds/ACT/brightness", "/sys/class/spidev/spidev0.0/dev",
				"/sys/class/pwm/pwmchip0/npwm", "/sys/bus/iio/devices/iio:device0/name", "/sys/bus/w1/devices/w1_bus_master1/w1_master_slave_count",
				"/sys/module/vcan/initstate", "/sys/class/watchdog/watchdog0/dev"),
		},
	},
	{
		name:   "raspi0",
		limit:  180 * time.Second,
		kernel: flavour{"rpi", "armel", bookworm},
		goarch: "arm",
		// QEMU's system timer waits 71 minutes for a time that has passed when it is set,
		// as it has where the host is busy; time that counts instructions does not.
		qemu: []string{"qemu-system-arm", "-M", "raspi0", "-icount", "shift=auto", "-serial", "stdio", "-serial", "chardev:session"},
		// The power driver panics on hardware that QEMU leaves out.
		append: "console=ttyAMA0,115200 initcall_blacklist=bcm2835_power_driver_init",
		port:   "/dev/ttyS1",
		tree:   "bcm2835-rpi-zero.dtb",
		edits: append(without([]string{"pinctrl-0"}, "/soc/serial@7e215040"),
			treeEdit{"/soc/serial@7e215040", "status", "okay"}, treeEdit{"/soc/spi@7e204000", "status", "okay"}),
		// QEMU has no SPI controller there: a transfer times out.
		nodes:   `/ { soc { spi@7e204000 { spidev@0 { compatible = "rohm,dh2228fv"; reg = <0>; spi-max-frequency = <500000>; }; }; }; };`,
		modules: append([]string{"dummy_hcd", "usb_f_acm", "g_serial", "cdc-acm"}, everywhere...),
		// The stock device tree makes GPIO6 an output.
		tests: "free=GPIO17,alias=GPIO17,left=GPIO6,owned=STATUS_LED_N,pinned=GPIO14,can=vcan,spijam=spidev0.0,led=ACT,watchdog=Software+Watchdog," +
			"uart=ttyACM0,gadget=ttyGS0,alias-usb=0525:a4a7,console=ttyAMA0",
		skip:    floats,
		watched: "/machine/soc/peripherals/gpio",
		checks: []check{
			toolsList("board_info", "gpio_list", "gpio_read", "gpio_write", "i2c_scan", "i2c_read", "i2c_write", "sensor_list", "sensor_read"),
			boardInfo("Raspberry Pi Zero", "arm", 54),
			gpioList("", 54, "STATUS_LED_N", "ACT"),
			gpioReads("GPIO5", "GPIO16", "GPIO20"),
			ledSet("ACT", 47),
			systemInfo("Software Watchdog"),
			spiTimesOut("spidev0.0"),
			gpioWriteSeen("GPIO22", "20200000.gpio", 22),
			gpioPulseEnds("GPIO23", "20200000.gpio", 23),
			gpioPulses("GPIO23", "20200000.gpio", 23),
			gpioConfigures("GPIO23", "20200000.gpio", 23),
			gpioRefusesOwned("STATUS_LED_N", "ACT"),
			gpioRefusesOwned("TXD0", "serial@7e201000"),
			gpioRefusesUnknown(54),
			uartRefusesOwned("ttyAMA0", "the kernel's console"),
			uartRefusesOwned("ttyS1", "this server's own client"),
			hungBusHoldsUpNobody(1, 0x50, "GPIO5"),
			sensorAgrees("cpu-thermal", "/sys/class/thermal/thermal_zone0/temp"),
			kernelHas("an LED, vcan and a watchdog", "/sys/class/leds/ACT/brightness", "/sys/module/vcan/initstate", "/sys/module/softdog/initstate"),
		},
	},
	{
		name:     "amd64",
		optional: true, // its kernel's mirror is out of sync at times
		limit:    180 * time.Second,
		kernel:   flavour{"amd64", "amd64", backports},
		goarch:   "amd64",
		qemu: []string{"qemu-system-x86_64", "-M", "q35", "-cpu", "qemu64", "-smp", "1", "-m", "256",
			"-serial", "stdio", "-serial", "chardev:session"},
		append: "console=ttyS0",
		port:   "/dev/ttyS1",
		tree:   noTree,
		modules: []string{"configfs", "gpio-sim", "i2c-dev", "i2c-stub chip_addr=0x20,0x48,0x76 functionality=" + smbusAll,
			"lm75", "bmp280-i2c", "iio-trig-hrtimer", "dummy_hcd", "usb_f_acm", "g_serial", "cdc-acm",
			"softdog soft_margin=60", "can", "can-raw", "vcan"},
		setup: slices.Concat(
			makeSim("sim", 16, map[int]string{1: "RELAY", 2: "BUTTON", 3: "POWER", 4: "DOOR"}, 3),
			[][]string{
				// A temperature of 25 degrees, high byte first, and the example of the BMP280's
				// data sheet, 3.12: its identity, the factory's coefficients, one measurement.
				{"poke", "0", "0x48", "0x00", "0x19", "0x00"},
				{"poke", "0", "0x76", "0xd0", "0x58"},
				{"poke", "0", "0x76", "0x88", "0x70", "0x6b", "0x43", "0x67", "0x18", "0xfc", "0x7d", "0x8e", "0x43", "0xd6", "0xd0", "0x0b",
					"0x27", "0x0b", "0x8c", "0x00", "0xf9", "0xff", "0x8c", "0x3c", "0xf8", "0xc6", "0x70", "0x17"},
				{"poke", "0", "0x76", "0xf7", "0x65", "0x5a", "0xc0", "0x7e", "0xed", "0x00"},
				{"write", "/sys/bus/i2c/devices/i2c-0/new_device", "lm75", "0x48"},
				{"write", "/sys/bus/i2c/devices/i2c-0/new_device", "bmp280", "0x76"},
				{"mkdir", "/sys/kernel/config/iio/triggers/hrtimer/boards"},
			}),
		// The level of an output of gpio-sim is its pull's as soon as it is given back, so
		// none of its lines can be left standing.
		tests: "free=sim:8,alias=GPIO8,owned=POWER,pulls=yes,move=DOOR,pull=" + simLines + "/sim_gpio4/pull,still=BUTTON,can=vcan," +
			"bus=0,device=20,set=10a5,write=10,read=a5,driven=48,watchdog=Software+Watchdog," +
			"uart=ttyACM0,gadget=ttyGS0,alias-usb=0525:a4a7,console=ttyS0",
		watched: simLines,
		// Nor can it be left as Rest says, which is the case of that.
		skip: "/leaves_a_line_as_Rest",
		rig:  rig{pump: pin{simLines, 9}, valve: pin{simLines, 11}, names: [3]string{"sim:9", "sim:11", "BUTTON"}, watchdog: true},
		checks: []check{
			toolsList("board_info", "gpio_list", "gpio_read", "gpio_write", "gpio_wait", "i2c_scan", "i2c_read", "i2c_write", "i2c_transfer", "sensor_list", "sensor_read"),
			boardInfo("QEMU Standard PC (Q35 + ICH9, 2009)", "amd64", 16),
			gpioList("", 16, "POWER", "hog"),
			gpioReadsDriven("BUTTON", pin{simLines, 2}),
			gpioWriteSeen("RELAY", "gpio-sim.0", 1),
			gpioPulseEnds("sim:9", "gpio-sim.0", 9),
			gpioWaits("BUTTON", pin{simLines, 2}),
			gpioPulses("sim:9", "gpio-sim.0", 9),
			gpioConfigures("sim:9", "gpio-sim.0", 9),
			gpioPulls("sim:10", 10),
			gpioRefusesOwned("POWER", "hog"),
			gpioRefusesUnknown(16),
			uartRefusesOwned("ttyS0", "the kernel's console"),
			uartRefusesOwned("ttyS1", "this server's own client"),
			kernelHas("a USB serial port, vcan and a watchdog", "/sys/class/tty/ttyACM0/dev", "/sys/module/vcan/initstate", "/sys/class/watchdog/watchdog0/dev"),
			i2cScan(0, 0x08, 0x77, map[string]string{"0x20": "", "0x48": "lm75", "0x76": "bmp280"}),
			smbusReadsWritten(0, 0x20),
			smbusBlocks(0, 0x20),
			smbusRefuses(0, 0x20),
			i2cRefusesDriver(0, 0x48, "lm75"),
			i2cRefusesDriver(0, 0x76, "bmp280"),
			sensorReads("lm75/temp1", "°C", 25),
			sensorReads("bmp280/temp", "°C", 25.08),
			sensorReads("bmp280/pressure", "kPa", 100.653253906),
			sensorCaptures("/sys/bus/iio/devices/iio:device0", 100, "bmp280/temp", "bmp280/pressure"),
			systemInfo("Software Watchdog"),
		},
	},
}

// smbusAll is what I2C_FUNC_ says of every SMBus transaction, blocks included.
const smbusAll = "0x0fff0000"

// Buses of the i.MX6 in its device tree.
const (
	spba = "/soc/bus@2000000/spba-bus@2000000/"
	aips = "/soc/bus@2100000/"
)
