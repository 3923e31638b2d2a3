package policy_test

import (
	"testing"

	"boardhand/device"
	"boardhand/device/boardfile"
	"boardhand/device/contract"
	"boardhand/device/policy"
	"boardhand/device/sim"
)

// wrapped is board b as a board file shows it.
func wrapped(t *testing.T, b device.Board, text string) *policy.Board {
	t.Helper()
	f, err := boardfile.Parse("board.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	w, err := policy.Wrap(b, f.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// A board that opens everything keeps the promises of package device, and so does
// one whose things the user has named.
func TestContract(t *testing.T) {
	for name, c := range map[string]struct {
		file             string
		line, tied, uart string
		spi, can         string
		pwm, led         string
	}{
		"everything is open": {`allow = "everything"`, "GPIO17", "GPIO27", "ttyUSB0", "spidev0.0", "can0", "pwmchip0/0", "ACT"},
		"what is used has names": {`
allow = "everything"
[[line]]
line = "GPIO17"
name = "pump"
access = "write"
[[line]]
line = "GPIO27"
name = "flow"
access = "write"
[[i2c]]
bus = 1
address = 0x76
name = "climate"
access = "write"
[[i2c.register]]
register = 0xd0
name = "id"
[[uart]]
port = "0403:6001"
access = "write"
[[spi]]
device = "spidev0.0"
name = "flash"
access = "write"
[[can]]
interface = "can0"
name = "engine"
access = "write"
[[led]]
led = "ACT"
name = "lamp"
access = "write"
`, "pump", "flow", "ttyUSB0", "flash", "engine", "pwmchip0/0", "lamp"},
	} {
		t.Run(name, func(t *testing.T) {
			open := func() device.Board { return wrapped(t, sim.Open(sim.Wiring{}), c.file) }
			first := sim.Open(sim.Wiring{PWM: true, CAN: "up"})
			again := func() device.Board { return wrapped(t, first.Another(), c.file) }
			lines := contract.GPIOWiring{Free: c.line, Alias: "GPIO17", Tied: c.tied, Standing: "CAM_GPIO0", Owned: "GPIO8"}
			t.Run("info", func(t *testing.T) { contract.Info(t, open()) })
			t.Run("gpio", func(t *testing.T) { contract.GPIO(t, open(), lines) })
			t.Run("configure", func(t *testing.T) {
				w := lines
				w.Pulls = true
				contract.Configure(t, open(), w)
			})
			t.Run("watch", func(t *testing.T) {
				b := sim.Open(sim.Wiring{})
				outside := b.Another()
				w := lines
				w.Moved, w.Still, w.Exact = c.tied, "GPIO22", true
				w.Move = func(l device.Level) { outside.GPIO().Write("GPIO17", l) }
				contract.Watch(t, wrapped(t, b, c.file), w)
			})
			t.Run("close", func(t *testing.T) { contract.Close(t, again, lines) })
			t.Run("i2c", func(t *testing.T) {
				contract.I2C(t, open(), contract.I2CWiring{Bus: 1, Device: 0x76, Write: []byte{0xd0}, Read: []byte{0x60}, Empty: 0x42, Owned: 0x68})
			})
			t.Run("sensors", func(t *testing.T) { contract.Sensors(t, open()) })
			t.Run("spi", func(t *testing.T) {
				contract.SPI(t, open(), contract.SPIWiring{Device: c.spi, Write: []byte{0x9f}, Read: []byte{0xef, 0x40, 0x15}})
				contract.SPIEnds(t, open(), c.spi)
			})
			t.Run("can", func(t *testing.T) { contract.CAN(t, again, contract.CANWiring{Name: c.can, FD: true}) })
			t.Run("pwm", func(t *testing.T) { contract.PWM(t, again, c.pwm) })
			t.Run("leds", func(t *testing.T) { contract.LEDs(t, again, c.led) })
			t.Run("system", func(t *testing.T) { contract.System(t, open()) })
			t.Run("uart", func(t *testing.T) {
				contract.UART(t, again, contract.UARTWiring{
					Port: c.uart, Mode: device.DefaultMode, Other: device.PortMode{Baud: 9600, DataBits: 7, Parity: 'E', StopBits: 2, Flow: device.FlowRTSCTS},
					Aliases: []string{"ttyUSB0", "/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_SIM00042-if00-port0", "0403:6001", "0403:6001:SIM00042"},
					Send:    "*IDN?\n", Answer: "SIM,TH-1,0042,1.0\r\n", Owned: "ttyAMA0", Modem: true,
					Pull: func() { first.Pull("ttyUSB0") }, Plug: func() { first.Plug("ttyUSB0") },
				})
			})
		})
	}
}
