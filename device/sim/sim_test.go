package sim

import (
	"errors"
	"strings"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/contract"
)

var (
	gpioWiring = contract.GPIOWiring{Free: "GPIO17", Tied: "GPIO27", Standing: "CAM_GPIO0", Owned: "GPIO8"}
	i2cWiring  = contract.I2CWiring{Bus: 1, Device: bmeAddr, Write: []byte{bmeID}, Read: []byte{bmeChipID}, Empty: 0x42, Owned: rtcAddr}
)

func opened(t *testing.T, w Wiring) *Board {
	t.Helper()
	b := Open(w)
	t.Cleanup(func() { b.Close() })
	return b
}

func TestContract(t *testing.T) {
	t.Run("info", func(t *testing.T) { contract.Info(t, opened(t, Wiring{})) })
	t.Run("gpio", func(t *testing.T) { contract.GPIO(t, opened(t, Wiring{}), gpioWiring) })
	t.Run("gpio by another name", func(t *testing.T) {
		contract.GPIO(t, opened(t, Wiring{}), contract.GPIOWiring{Free: "SD1_CMD", Alias: "GPIO35", Owned: "STATUS_LED_N"})
	})
	t.Run("i2c", func(t *testing.T) { contract.I2C(t, opened(t, Wiring{}), i2cWiring) })
	t.Run("configure", func(t *testing.T) {
		w := gpioWiring
		w.Pulls = true
		contract.Configure(t, opened(t, Wiring{}), w)
	})
	t.Run("watch", func(t *testing.T) {
		b := opened(t, Wiring{})
		contract.Watch(t, b, moved(b))
	})
	t.Run("watch ends", func(t *testing.T) {
		b := opened(t, Wiring{})
		contract.WatchEnds(t, b, moved(b))
	})
	t.Run("sensors", func(t *testing.T) { contract.Sensors(t, opened(t, Wiring{})) })
	t.Run("close", func(t *testing.T) {
		first := opened(t, Wiring{})
		contract.Close(t, func() device.Board { return first.Another() }, gpioWiring)
	})
}

// moved is a wiring in which another process moves GPIO27, at GPIO17.
func moved(b *Board) contract.GPIOWiring {
	outside := b.Another()
	w := gpioWiring
	w.Moved, w.Still, w.Exact = "GPIO27", "GPIO22", true
	w.Move = func(l device.Level) { outside.gpio.Write("GPIO17", l) }
	return w
}

func TestTheBoardSaysThatItIsSimulated(t *testing.T) {
	now := time.Unix(1000, 0)
	b := opened(t, Wiring{Now: func() time.Time { return now }})
	now = now.Add(90 * time.Second)
	i := b.Info()
	if !i.Simulated || !strings.Contains(i.Model, "Simulated") || i.Uptime != 90*time.Second {
		t.Errorf("%+v", i)
	}
}

func TestErrorsReadAsOneSentence(t *testing.T) {
	b := opened(t, Wiring{Jams: []Jam{{Bus: 1, Seconds: 0.001}}})
	free := opened(t, Wiring{})
	closed := Open(Wiring{})
	closed.Close()
	one := make([]byte, 1)
	_, unknown := b.gpio.Find("GPIO99")
	_, long := b.gpio.Find(strings.Repeat("x", 1<<20))
	_, owned := b.gpio.Write("GPIO8", 1)
	_, level := b.gpio.Write("GPIO17", 2)
	_, _, sensor := b.sensors.Read("cpu")
	_, scan := b.i2c.Scan(1, 0x70, 0x10, nil, device.Scanning{})
	_, stopped := free.i2c.Scan(1, 0x70, 0x77, nil, device.Scanning{Stop: func() bool { return true }})
	for want, err := range map[string]error{
		`line "GPIO99" not found; gpio_list shows 54 lines`:                                                               unknown,
		`line "` + strings.Repeat("x", 64) + `" not found; gpio_list shows 54 lines`:                                      long,
		`line "GPIO8": in use by "spi0 CS0" (EBUSY); gpio_list shows which lines are free`:                                owned,
		`line "GPIO17": level 2 not supported; 0 and 1 are allowed`:                                                       level,
		`sensor "cpu" not found; sensor_list shows 7 sensors`:                                                             sensor,
		`i2c-1: scan from 0x70 to 0x10 not supported; addresses 0x00 to 0x7f are allowed, the first not above the last`:   scan,
		`i2c-1: scan cancelled before 0x70`:                                                                               stopped,
		`i2c-0 not found; the board has i2c-1`:                                                                            b.i2c.Transfer(0, 0x50, nil, one),
		`i2c-1 address 0x42: no acknowledge (EREMOTEIO); check the wiring and the address with i2c_scan`:                  free.i2c.Transfer(1, 0x42, nil, one),
		`i2c-1 address 0x68: in use by the kernel's driver "rtc-ds1307" (EBUSY); i2c_scan shows which addresses are free`: b.i2c.Transfer(1, 0x68, nil, one),
		`i2c-1 address 0x3ff: 10-bit address not supported; 0x00 to 0x7f are allowed`:                                     b.i2c.Transfer(1, device.TenBit|0x3ff, nil, one),
		`i2c-1 address 0x50: empty transfer not supported; write or read at least one byte`:                               b.i2c.Transfer(1, 0x50, nil, nil),
		`i2c-1 address 0x50: write of 8193 bytes not supported; at most 8192 are allowed`:                                 b.i2c.Transfer(1, 0x50, make([]byte, 8193), nil),
		`i2c-1: timed out (ETIMEDOUT); something holds the bus; check its wiring and power, and the devices on it`:        b.i2c.Transfer(1, 0x50, nil, one),
		`board: closed; open it again`:                                                                                    closed.gpio.Release("GPIO17"),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		if !errors.As(err, new(*device.Error)) {
			t.Errorf("%T is no *device.Error", err)
		}
	}
}

func TestCheck(t *testing.T) {
	wire := func(from, to string) Wiring { return Wiring{Wires: []Wire{{from, to}}} }
	for name, c := range map[string]struct {
		w    Wiring
		want string
	}{
		"as it comes":    {Wiring{}, ""},
		"no wires":       {Wiring{Wires: []Wire{}}, ""},
		"kernel names":   {wire("ID_SDA", "GPIO53"), ""},
		"jam for ever":   {Wiring{Jams: []Jam{{Bus: 1}}}, ""},
		"jam and slow":   {Wiring{Jams: []Jam{{1, 86400}}, Slow: []Slow{{Bus: 1, Ms: 10000}}}, ""},
		"unknown line":   {wire("GPIO17", "GPIO54"), `sim.wire: to "GPIO54" is no line of the simulated board; GPIO0 to GPIO53 and the kernel's names, as "STATUS_LED_N", are allowed`},
		"no line":        {wire("", "GPIO5"), `sim.wire: from "" is no line of the simulated board; GPIO0 to GPIO53 and the kernel's names, as "STATUS_LED_N", are allowed`},
		"one line twice": {wire("GPIO0", "ID_SDA"), `sim.wire: from "GPIO0" and to "ID_SDA" are the same line; a wire ties two lines`},
		"many wires":     {Wiring{Wires: make([]Wire, 65)}, "sim.wire: 65 wires; at most 64 are allowed"},
		"unknown bus":    {Wiring{Jams: []Jam{{Bus: 0}}}, "sim.jam: bus 0; the simulated board has bus 1 only"},
		"bus twice":      {Wiring{Slow: []Slow{{Bus: 1, Ms: 1}, {Bus: 1, Ms: 2}}}, "sim.slow: bus 1 twice; once is allowed"},
		"clocks":         {Wiring{Clocks: []Clock{{Line: "GPIO5", Hz: 1e6}, {Line: "ID_SDA", Hz: 0.001, Edges: 1, AfterMs: 5}}}, ""},
		"clocked line":   {Wiring{Clocks: []Clock{{Line: "GPIO54", Hz: 1}}}, `sim.clock: line "GPIO54" is no line of the simulated board; GPIO0 to GPIO53 and the kernel's names, as "STATUS_LED_N", are allowed`},
		"two clocks":     {Wiring{Clocks: []Clock{{Line: "GPIO0", Hz: 1}, {Line: "ID_SDA", Hz: 1}}}, `sim.clock: line "ID_SDA" twice; once is allowed`},
		"standing clock": {Wiring{Clocks: []Clock{{Line: "GPIO5"}}}, "sim.clock: hz 0; 0.001 to 1e+06 are allowed"},
		"negative edges": {Wiring{Clocks: []Clock{{Line: "GPIO5", Hz: 1, Edges: -1}}}, "sim.clock: edges -1; 0 (for ever) or more are allowed"},
		"endless wait":   {Wiring{Clocks: []Clock{{Line: "GPIO5", Hz: 1, AfterMs: inf()}}}, "sim.clock: after_ms +Inf; 0 to 86400000 are allowed"},
		"many clocks":    {Wiring{Clocks: make([]Clock, 9)}, "sim.clock: 9 clocks; at most 8 are allowed"},
		"negative jam":   {Wiring{Jams: []Jam{{1, -1}}}, "sim.jam: seconds -1; 0 (for ever) to 86400 are allowed"},
		"endless jam":    {Wiring{Jams: []Jam{{1, inf()}}}, "sim.jam: seconds +Inf; 0 (for ever) to 86400 are allowed"},
		"no number":      {Wiring{Slow: []Slow{{Bus: 1, Ms: inf() - inf()}}}, "sim.slow: ms NaN; 0 to 10000 are allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := c.w.Check(); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			defer func() {
				if r := recover(); (r != nil) != (c.want != "") {
					t.Errorf("Open panics with %v", r)
				}
			}()
			Open(c.w).Close()
		})
	}
}

func inf() float64 { x := 1e308; return x * 10 }
