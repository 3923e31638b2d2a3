package policy_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
)

// refused checks that an error is a refusal of the policy that holds all of texts.
func refused(t *testing.T, err error, texts ...string) {
	t.Helper()
	if !errors.Is(err, device.ErrPermission) {
		t.Errorf("error %v, want a refusal", err)
		return
	}
	for _, text := range append(texts, "board.toml") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q does not say %q", err, text)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFileThatNamesNothingClosesEverything(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{PWM: true, CAN: "up"}), "# nothing\n")
	for name, there := range map[string]bool{"gpio": b.GPIO() != nil, "i2c": b.I2C() != nil, "sensors": b.Sensors() != nil, "spi": b.SPI() != nil,
		"pwm": b.PWM() != nil, "leds": b.LEDs() != nil, "system": b.System() != nil, "can": b.CAN() != nil, "uart": b.UART() != nil, "tcp": b.TCP() != nil} {
		if there {
			t.Errorf("%s is there", name)
		}
	}
}

func TestWhatIsNoneIsClosedWhereEverythingElseIsOpen(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), `
allow = "everything"
[[line]]
line = "GPIO22"
access = "none"
[[sensor]]
sensor = "cpu-fan"
access = "none"
[[i2c]]
bus = 1
address = 0x50
access = "none"
`)
	_, err := b.GPIO().Write("GPIO22", device.High)
	refused(t, err, "board.toml:3", `line "GPIO22"`, "none")
	_, err = b.GPIO().Write("GPIO23", device.High)
	must(t, err)
	_, _, err = b.Sensors().Read("cpu-fan")
	refused(t, err, "board.toml:6", "cpu-fan")
	sensors, err := b.Sensors().List(nil)
	must(t, err)
	for _, s := range sensors {
		if s.Name == "cpu-fan" {
			t.Error("a closed sensor is listed")
		}
	}
	refused(t, b.I2C().Transfer(1, 0x50, []byte{0, 0}, make([]byte, 1)), "board.toml:9")
	found, err := b.I2C().Scan(1, 0x08, 0x77, nil, device.Scanning{})
	must(t, err)
	for _, o := range found {
		if o.Addr == 0x50 {
			t.Error("a closed address is scanned")
		}
	}
}

func TestReadOnlyChangesNothing(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{PWM: true, CAN: "up"}), "allow = \"everything\"\nread_only = true\n[[line]]\nline = \"GPIO17\"\nname = \"pump\"\naccess = \"write\"\n")
	g := b.GPIO()
	_, err := g.Write("pump", device.High)
	refused(t, err, "read_only")
	_, err = g.Write("GPIO22", device.High)
	refused(t, err, "read_only")
	_, _, err = g.Configure("pump", func(*device.Config) error { t.Error("asked"); return nil })
	refused(t, err, "read_only")
	must(t, g.Read([]string{"pump", "GPIO22"}, make([]device.Level, 2)))
	must(t, g.Release("pump"))
	refused(t, b.I2C().Transfer(1, 0x76, []byte{0xf4, 0x27}, nil), "read_only")
	refused(t, b.I2C().Transfer(1, 0x76, []byte{0xf4}, nil), "read_only")
	must(t, b.I2C().Transfer(1, 0x76, []byte{0xd0}, make([]byte, 1)))
	refused(t, b.SPI().Transfer("spidev0.0", device.SPIConfig{}, []device.SPISegment{{Write: []byte{0x9f}}}), "read_only")
	_, _, err = b.LEDs().Set("ACT", device.LEDSetting{})
	refused(t, err, "read_only")
	_, _, err = b.PWM().Set("pwmchip0/0", func(s device.PWMState) (device.PWMState, error) { t.Error("asked"); return s, nil })
	refused(t, err, "read_only")
	_, _, err = b.CAN().Send("can0", &device.CANFrame{ID: 1}, time.Now().Add(time.Second))
	refused(t, err, "read_only")
	p, err := b.UART().Open("ttyUSB0", device.DefaultMode)
	must(t, err)
	_, err = p.Write([]byte("*IDN?\n"), time.Now().Add(time.Second))
	refused(t, err, "read_only")
	refused(t, p.SetDTR(false), "read_only")
	conn, err := b.TCP().Dial(netip.MustParseAddrPort("192.0.2.10:502"), time.Now().Add(time.Second))
	must(t, err)
	must(t, conn.Write([]byte{0, 1, 0, 0, 0, 6, 1, 3, 0, 0, 0, 1}, time.Now().Add(time.Second)))
	refused(t, conn.Write([]byte{0, 1, 0, 0, 0, 6, 1, 6, 0, 0, 0, 1}, time.Now().Add(time.Second)), "read_only")
}

func TestLinesHaveTheUsersNames(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), `
[[line]]
line = "GPIO17"
name = "GPIO22"
description = "a name that another line has"
access = "write"
[[line]]
line = "GPIO22"
name = "fan"
[[line]]
line = "GPIO99"
name = "ghost"
[[line]]
line = "GPIO8"
name = "select"
`)
	g := b.GPIO()
	lines, err := g.Lines(nil)
	must(t, err)
	names := ""
	for _, l := range lines {
		names += l.Name + " "
	}
	if names != "select GPIO22 fan " || lines[1].Description == "" || lines[1].Offset != 17 {
		t.Errorf("lines %s %+v", names, lines)
	}
	_, err = g.Write("GPIO22", device.High)
	must(t, err)
	l, err := g.Find("GPIO22")
	must(t, err)
	if l.Offset != 17 || !l.Held {
		t.Errorf("%+v", l)
	}
	_, err = g.Write("fan", device.High)
	refused(t, err, "board.toml:7", `line "fan"`, "only be read", `access = "write"`)
	if l, err := g.Find("GPIO17"); err != nil || l.Name != "GPIO22" {
		t.Errorf("%+v %v", l, err)
	}
	_, err = g.Find("GPIO5")
	refused(t, err, "no [[line]] opens it", "fan")
	_, err = g.Find("ghost")
	if !errors.Is(err, device.ErrNotFound) || !strings.Contains(err.Error(), "board.toml:10") || !strings.Contains(err.Error(), "GPIO99") {
		t.Error(err)
	}
	_, err = g.Find("nothing")
	if !errors.Is(err, device.ErrNotFound) || !strings.Contains(err.Error(), "fan") {
		t.Error(err)
	}
	if err := g.Read([]string{"select"}, make([]device.Level, 1)); !errors.Is(err, device.ErrBusy) || !strings.Contains(err.Error(), `"select"`) {
		t.Error(err)
	}
	_, err = g.Watch([]string{"GPIO5"}, device.BothEdges)
	refused(t, err)
}

func TestOfAChipTheRegistersAreOpenThatTheFileNames(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), `
[[i2c]]
bus = 1
address = 0x76
name = "climate"
access = "none"
[[i2c.register]]
register = 0xd0
name = "id"
access = "read"
[[i2c.register]]
register = "0xf7-0xfe"
name = "measured"
access = "read"
[[i2c.register]]
register = 0xf4
name = "mode"
type = "u8"
min = 0
max = 39
access = "write"
[[i2c]]
bus = 1
address = "0x50-0x57"
access = "read"
register_width = 2
[[i2c]]
bus = 1
address = 0x20
register_width = 0
access = "read"
`)
	c := b.I2C()
	read := func(n int) []byte { return make([]byte, n) }
	w := func(addr uint16, data ...byte) device.Message { return device.Message{Addr: addr, Data: data} }
	r := func(addr uint16, n int) device.Message {
		return device.Message{Addr: addr, Read: true, Data: make([]byte, n)}
	}
	must(t, c.Transfer(1, 0x76, []byte{0xd0}, read(1)))
	must(t, c.Transfer(1, 0x76, []byte{0xf7}, read(8)))
	must(t, c.Transfer(1, 0x76, []byte{0xf4, 0x27}, nil))
	must(t, c.Transact(1, []device.Message{w(0x76, 0xf7), r(0x76, 4), r(0x76, 4)}))
	must(t, c.Transfer(1, 0x50, []byte{0, 0}, read(4)))
	for name, c := range map[string]struct {
		err  error
		says []string
	}{
		"another register":              {c.Transfer(1, 0x76, []byte{0xd1}, read(1)), []string{"board.toml:2", `chip "climate" register 0xd1`, "id (0xd0)"}},
		"one beyond":                    {c.Transfer(1, 0x76, []byte{0xf7}, read(9)), []string{"0xff"}},
		"one beyond in two reads":       {c.Transact(1, []device.Message{w(0x76, 0xf7), r(0x76, 8), r(0x76, 1)}), []string{"0xff"}},
		"a read of nobody knows what":   {c.Transfer(1, 0x76, nil, read(1)), []string{"does not say which"}},
		"the pointer of another chip":   {c.Transact(1, []device.Message{w(0x50, 0xd0, 0), r(0x50, 1), r(0x76, 1)}), []string{"does not say which"}},
		"a write of what is read":       {c.Transfer(1, 0x76, []byte{0xd0, 1}, nil), []string{"board.toml:7", `register "id"`, "only be read"}},
		"a command that is a register":  {c.Transfer(1, 0x76, []byte{0xd0}, nil), []string{"only be read"}},
		"a value that is too large":     {c.Transfer(1, 0x76, []byte{0xf4, 40}, nil), []string{"board.toml:15", `register "mode"`, "40", "0 to 39"}},
		"a write that runs on":          {c.Transfer(1, 0x76, []byte{0xf4, 1, 2}, nil), []string{"0xf5"}},
		"data to a chip that is read":   {c.Transfer(1, 0x50, []byte{0, 0, 1}, nil), []string{"board.toml:22", "only be read"}},
		"a pointer without a read":      {c.Transfer(1, 0x50, []byte{0, 0}, nil), []string{"only be read"}},
		"a write to one without any":    {c.Transfer(1, 0x20, []byte{0}, read(1)), []string{"board.toml:27", "only be read"}},
		"an address that is not open":   {c.Transfer(1, 0x77, []byte{0}, read(1)), []string{"no [[i2c]] opens it", "climate (0x76 of bus 1)"}},
		"a bus that is not open":        {c.Transfer(2, 0x76, []byte{0xd0}, read(1)), []string{"no [[i2c]] opens it"}},
		"one of ten bits":               {c.Transfer(1, device.TenBit|0x76, []byte{0xd0}, read(1)), []string{"no [[i2c]] opens it"}},
		"another address in between":    {c.Transact(1, []device.Message{w(0x76, 0xd0), r(0x76, 1), r(0x77, 1)}), []string{"no [[i2c]] opens it"}},
		"a write smuggled behind reads": {c.Transact(1, []device.Message{w(0x76, 0xd0), r(0x76, 1), w(0x76, 0xe0, 0xb6)}), []string{"0xe0"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, c.err, c.says...) })
	}
	found, err := c.Scan(1, 0x08, 0x77, nil, device.Scanning{})
	must(t, err)
	if len(found) != 2 || found[0].Addr != 0x50 || found[1].Name != "climate" {
		t.Errorf("%+v", found)
	}
}

func TestSensorsAreConverted(t *testing.T) {
	inner := sim.Open(sim.Wiring{Now: func() time.Time { return time.Unix(1000, 0) }})
	b := wrapped(t, inner, `
[[sensor]]
sensor = "supply"
name = "tank"
description = "of water"
scale = 20
offset = -50.5
unit = "L"
max = 10
`)
	_, volts, err := inner.Sensors().Read("supply")
	must(t, err)
	x, r, err := b.Sensors().Read("tank")
	must(t, err)
	if want := 20*volts.Value.Float() - 50.5; r.Value.Float() < want-1e-9 || r.Value.Float() > want+1e-9 {
		t.Errorf("%v, want %v", r.Value.Float(), want)
	}
	if x.Name != "tank" || x.UnitOf() != "L" || x.Description != "of water" || !strings.Contains(r.Suspect, "board.toml:2") {
		t.Errorf("%+v %+v", x, r)
	}
	_, _, err = b.Sensors().Read("cpu-thermal")
	refused(t, err, "no [[sensor]] opens it", "tank")
	_, err = b.Sensors().Capture([]string{"cpu-thermal"}, 1, nil)
	refused(t, err)
}

func TestAPortSendsWhatItsRuleSays(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), `
[[uart]]
port = "0403:6001"
name = "meter"
mode = "115200 8N1"
commands = ["*IDN?"]
[[modbus]]
target = "ttyUSB1"
name = "plant"
access = "none"
[[modbus.point]]
name = "setpoint"
address = 0
type = "i16"
scale = 0.1
min = 5
max = 30
access = "write"
[[modbus.point]]
name = "relay"
kind = "coil"
address = 1
access = "write"
`)
	u := b.UART()
	soon := func() time.Time { return time.Now().Add(time.Second) }
	ports, err := u.Ports(nil)
	must(t, err)
	if len(ports) != 2 || ports[0].Name != "meter" || ports[1].Name != "ttyUSB1" {
		t.Errorf("%+v", ports)
	}
	if name, err := u.Find("ttyUSB0"); name != "meter" || err != nil {
		t.Error(name, err)
	}
	_, err = u.Find("ttyAMA0")
	refused(t, err, "no [[uart]] opens it", "meter")
	_, err = u.Open("meter", device.PortMode{Baud: 9600, DataBits: 8, Parity: 'N', StopBits: 1})
	refused(t, err, "board.toml:2", "9600 8N1", "115200 8N1")
	p, err := u.Open("meter", device.DefaultMode)
	must(t, err)
	if again, err := u.Open("ttyUSB0", device.DefaultMode); err != nil || again != p || u.Opened("meter") != p || p.Name() != "meter" {
		t.Error("it is another port", again, err)
	}
	_, err = p.Write([]byte("*IDN?\n"), soon())
	must(t, err)
	for _, text := range []string{"*RST\n", "*IDN?;*RST\n", "", "*IDN?\n*RST\n"} {
		_, err = p.Write([]byte(text), soon())
		refused(t, err, "board.toml:2", `UART "meter"`, "*IDN?")
	}
	refused(t, p.SetMode(device.ModbusMode), "115200 8N1")
	refused(t, p.SetDTR(true))
	refused(t, p.SetRTS(true))
	refused(t, p.Break(time.Millisecond))
	refused(t, p.SetRS485(true))
	must(t, p.Close())
	if u.Opened("meter") != nil {
		t.Error("a closed port counts as open")
	}

	// Modbus: whole requests that touch its points, whoever wrote them.
	m, err := u.Open("ttyUSB1", device.ModbusMode)
	must(t, err)
	for text, says := range map[string][]string{
		"hello":                                {"only whole Modbus requests"},
		"\x01\x03\x00\x00\x00\x02\xc4\x0b":     {`Modbus "plant" holding 1`, "setpoint"}, // one register beyond
		"\x02\x03\x00\x00\x00\x01\x84\x39":     {"no [[modbus]] opens it"},               // another unit
		"\x01\x06\x00\x00\x01\x90\x88\x36":     {`point "setpoint"`, "40", "5 to 30"},    // 40 °C
		"\x01\x08\x00\x00\x00\x00\xe0\x0b":     {"function 8"},
		"\x01\x0f\x00\x00\x00\x02\x01\x03\x9e": {"only whole Modbus requests"}, // cut short
	} {
		_, err := m.Write([]byte(text), soon())
		refused(t, err, says...)
	}
	for _, text := range []string{"\x01\x03\x00\x00\x00\x01\x84\x0a", "\x01\x06\x00\x00\x00\xd7\xc9\x94"} {
		_, err := m.Write([]byte(text), soon())
		must(t, err)
	}
}

func TestSPISendsTheCommandsThatOnlyRead(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), `
[[spi]]
device = "spidev0.0"
name = "flash"
commands = ["9f", "03"]
max_hz = 1000000
`)
	s := b.SPI()
	send := func(config device.SPIConfig, segments ...device.SPISegment) error {
		return s.Transfer("flash", config, segments)
	}
	id := device.SPISegment{Write: []byte{0x9f}}
	three := device.SPISegment{Read: make([]byte, 3)}
	must(t, send(device.SPIConfig{}, id, three))
	erase := device.SPISegment{Write: []byte{0xc7}}
	refused(t, send(device.SPIConfig{}, erase), "board.toml:2", `SPI device "flash"`, "9f, 03")
	refused(t, send(device.SPIConfig{}, three), "9f, 03")
	id.Release = true
	refused(t, send(device.SPIConfig{}, id, erase), "9f, 03")
	refused(t, send(device.SPIConfig{Hz: 2_000_000}, id), "max_hz")
	refused(t, send(device.SPIConfig{Mode: 1}, id), "mode 0")
	refused(t, send(device.SPIConfig{LSBFirst: true}, id))
	refused(t, send(device.SPIConfig{Bits: 16}, device.SPISegment{Write: []byte{0x9f, 0}}))
	refused(t, s.Transfer("spidev0.1", device.SPIConfig{}, []device.SPISegment{id}), "no [[spi]] opens it")
}

func TestOutputsKeepToTheirBounds(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{PWM: true, CAN: "up"}), `
[[pwm]]
channel = "pwmchip0/0"
name = "servo"
min_hz = 40
max_hz = 60
min_duty = 5
max_duty = 10
access = "write"
[[led]]
led = "PWR"
max_brightness = 0
access = "write"
[[can]]
interface = "can0"
name = "engine"
send = ["7df", "7e0/7f8"]
receive = ["7e8"]
access = "write"
`)
	set := func(s device.PWMState) error {
		_, _, err := b.PWM().Set("servo", func(device.PWMState) (device.PWMState, error) { return s, nil })
		return err
	}
	ms := time.Millisecond
	must(t, set(device.PWMState{Period: 20 * ms, Duty: 3 * ms / 2, Enabled: true}))
	refused(t, set(device.PWMState{Period: 20 * ms, Duty: 3 * ms, Enabled: true}), "board.toml:2", `"servo"`, "duty", "10 %")
	refused(t, set(device.PWMState{Period: 20 * ms, Duty: ms / 2, Enabled: true}), "5 %")
	refused(t, set(device.PWMState{Period: ms, Duty: ms / 10, Enabled: true}), "frequency", "60 Hz")
	refused(t, set(device.PWMState{Period: 20 * ms, Duty: 3 * ms / 2, Enabled: true, Inverted: true}), "inverted")
	_, err := b.PWM().Find("pwmchip0/1")
	refused(t, err, "no [[pwm]] opens it", "servo")

	_, _, err = b.LEDs().Set("PWR", device.LEDSetting{Brightness: 1})
	refused(t, err, "board.toml:10", "max_brightness")
	_, _, err = b.LEDs().Set("PWR", device.LEDSetting{Trigger: "timer"})
	refused(t, err, "trigger")
	_, _, err = b.LEDs().Set("ACT", device.LEDSetting{})
	refused(t, err, "no [[led]] opens it")

	c := b.CAN()
	soon := time.Now().Add(5 * time.Second)
	_, next, err := c.Send("engine", &device.CANFrame{ID: 0x7df, Len: 3, Data: [64]byte{2, 1, 0x0c}}, soon)
	must(t, err)
	for _, f := range []device.CANFrame{{ID: 0x7d0}, {ID: 0x7e8}, {ID: 0x7df, Extended: true}} {
		_, _, err := c.Send("engine", &f, soon)
		refused(t, err, "board.toml:14", f.String())
	}
	frames, _, err := c.Receive("engine", device.CANWanted{From: next, Count: 3, Deadline: time.Now().Add(300 * ms)}, nil)
	must(t, err)
	for _, f := range frames {
		if f.ID != 0x7e8 {
			t.Errorf("frame %v is shown", &f.CANFrame)
		}
	}
}

func TestOverTheNetworkGoWholeModbusRequestsToTheirPoints(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), `
[[modbus]]
target = "192.0.2.10"
name = "plant"
unit_id = 1
[[modbus.point]]
name = "level"
address = 10
type = "f32"
min = 0
max = 5
access = "write"
`)
	soon := time.Now().Add(5 * time.Second)
	_, err := b.TCP().Dial(netip.MustParseAddrPort("192.0.2.11:502"), soon)
	refused(t, err, "192.0.2.11:502", "no [[modbus]] opens it", "192.0.2.10:502")
	conn, err := b.TCP().Dial(netip.MustParseAddrPort("192.0.2.10:502"), soon)
	must(t, err)
	request := func(unit byte, pdu ...byte) []byte {
		return append([]byte{0, 1, 0, 0, 0, byte(len(pdu) + 1), unit}, pdu...)
	}
	must(t, conn.Write(request(1, 3, 0, 0, 0, 10), soon))
	must(t, conn.Write(request(1, 16, 0, 10, 0, 2, 4, 0x40, 0, 0, 0), soon)) // 2.0
	for name, c := range map[string]struct {
		p    []byte
		says []string
	}{
		"another unit":        {request(2, 3, 0, 0, 0, 1), []string{"unit 2"}},
		"a write elsewhere":   {request(1, 6, 0, 0, 0, 1), []string{"board.toml:2", "only be read"}},
		"a value out of it":   {request(1, 16, 0, 10, 0, 2, 4, 0x40, 0xc0, 0, 0), []string{"board.toml:6", "6", "0 to 5"}},
		"what is no number":   {request(1, 16, 0, 10, 0, 2, 4, 0x7f, 0xc0, 0, 0), []string{"no number"}},
		"a part of a value":   {request(1, 6, 0, 10, 0x40, 0), []string{"a part of it", "2 registers"}},
		"its other part":      {request(1, 6, 0, 11, 0x40, 0), []string{"a part of it"}},
		"two at once":         {append(request(1, 3, 0, 0, 0, 1), request(1, 3, 0, 0, 0, 1)...), []string{"only whole"}},
		"a half":              {request(1, 3, 0, 0, 0, 1)[:9], []string{"only whole"}},
		"a count that lies":   {request(1, 16, 0, 10, 0, 2, 2, 0x40, 0), []string{"function 16"}},
		"a mask write":        {request(1, 22, 0, 10, 0, 0, 0, 1), []string{"function 22"}},
		"read and write":      {request(1, 23, 0, 0, 0, 1, 0, 10, 0, 1, 2, 0, 0), []string{"function 23"}},
		"beyond the last one": {request(1, 16, 0xff, 0xff, 0, 1, 2, 0, 0), []string{"only be read"}},
	} {
		t.Run(name, func(t *testing.T) { refused(t, conn.Write(c.p, soon), c.says...) })
	}
}

func TestReadsAndWritesAllocateNothing(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), "[[line]]\nline = \"GPIO17\"\nname = \"pump\"\naccess = \"write\"\n[[line]]\nline = \"GPIO27\"\nname = \"flow\"\n")
	g := b.GPIO()
	names, levels := []string{"pump", "flow"}, make([]device.Level, 2)
	must(t, g.Read(names, levels))
	if n := testing.AllocsPerRun(100, func() { g.Read(names, levels) }); n != 0 {
		t.Errorf("a read allocates %v times", n)
	}
	_, err := g.Write("pump", device.High)
	must(t, err)
	if n := testing.AllocsPerRun(100, func() { g.Write("pump", device.High) }); n != 0 {
		t.Errorf("a write allocates %v times", n)
	}
}

func BenchmarkRead(b *testing.B) {
	inner := sim.Open(sim.Wiring{})
	names, levels := []string{"GPIO17"}, make([]device.Level, 1)
	t := &testing.T{}
	w := wrapped(t, inner, "[[line]]\nline = \"GPIO17\"\nname = \"pump\"\n")
	b.Run("of the board", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			inner.GPIO().Read(names, levels)
		}
	})
	b.Run("through the rules", func(b *testing.B) {
		b.ReportAllocs()
		names := []string{"pump"}
		for b.Loop() {
			w.GPIO().Read(names, levels)
		}
	})
}

func TestOnlySoManyPortsAreOpen(t *testing.T) {
	b := wrapped(t, sim.Open(sim.Wiring{}), "[limits]\nhandles = 1\n[[uart]]\nport = \"ttyUSB0\"\nname = \"modem\"\n[[uart]]\nport = \"ttyUSB1\"\n")
	p, err := b.UART().Open("modem", device.DefaultMode)
	must(t, err)
	again, err := b.UART().Open("ttyUSB0", device.DefaultMode)
	must(t, err)
	if again != p {
		t.Error("a port that is open is opened again")
	}
	_, err = b.UART().Open("ttyUSB1", device.ModbusMode)
	refused(t, err, "board.toml:1: ", "limits.handles = 1", "modem", "come again")
	must(t, p.Close())
	_, err = b.UART().Open("ttyUSB1", device.ModbusMode)
	must(t, err)
}
