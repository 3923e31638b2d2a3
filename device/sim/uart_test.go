package sim

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/contract"
)

func TestUARTContract(t *testing.T) {
	first := opened(t, Wiring{})
	contract.UART(t, func() device.Board { return first.Another() }, contract.UARTWiring{
		Port: "ttyUSB0", Mode: device.DefaultMode, Other: device.PortMode{Baud: 9600, DataBits: 7, Parity: 'E', StopBits: 2, Flow: device.FlowRTSCTS},
		Aliases: []string{"/dev/serial/by-id/usb-FTDI_FT232R_USB_UART_SIM00042-if00-port0", "usb-FTDI_FT232R_USB_UART_SIM00042-if00-port0", "0403:6001", "0403:6001:SIM00042"},
		Send:    "*IDN?\n", Answer: "SIM,TH-1,0042,1.0\r\n", Owned: "ttyAMA0", Modem: true,
		Pull: func() { first.Pull("ttyUSB0") }, Plug: func() { first.Plug("ttyUSB0") },
	})
}

// heard is all that a port has received.
func heard(p device.Port) string {
	b := make([]byte, device.ReceiverSize)
	n, _ := p.Received().ReadAt(b, 0)
	return string(b[:n])
}

func openedPort(t *testing.T, b *Board, name string, m device.PortMode) device.Port {
	t.Helper()
	p, err := b.UART().Open(name, m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func send(t *testing.T, p device.Port, text string) {
	t.Helper()
	if _, err := p.Write([]byte(text), time.Time{}); err != nil {
		t.Fatal(err)
	}
}

func TestInstrumentSpeaksSCPI(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := openedPort(t, opened(t, Wiring{Now: func() time.Time { return now }}), "ttyUSB0", device.DefaultMode)
	for _, c := range []struct{ send, want string }{
		{"", "TH-1 1.0 ready\r\n"},
		{"*IDN?\r\n", "SIM,TH-1,0042,1.0\r\n"},
		{"*id", ""},
		{"n?\n", "SIM,TH-1,0042,1.0\r\n"},
		{"meas:temp?\n", fmt.Sprintf("%.2f\r\n", climate(0)(now).celsius)},
		{"UNIT F\nUNIT?\nMEAS:TEMP?\n", fmt.Sprintf("F\r\n%.2f\r\n", climate(0)(now).celsius*1.8+32)},
		{"MEAS:HUM?\n", fmt.Sprintf("%.1f\r\n", climate(0)(now).percent)},
		{"NONSENSE\n\r\n", ""},
		{"SYST:ERR?\nSYST:ERR?\n", "-113,\"Undefined header\"\r\n0,\"No error\"\r\n"},
		{"UNIT K\nSYST:ERR?\n", "-224,\"Illegal parameter value\"\r\n"},
		{strings.Repeat("x", 5000), ""},
		{"\nSYST:ERR?\n", "-363,\"Input buffer overrun\"\r\n"},
	} {
		before := len(heard(p))
		send(t, p, c.send)
		if c.send == "" {
			before = 0
		}
		if got := heard(p)[before:]; got != c.want {
			t.Errorf("%.40q gives %q, want %q", c.send, got, c.want)
		}
	}
	before := len(heard(p))
	for _, on := range []bool{false, true} {
		if err := p.SetDTR(on); err != nil {
			t.Fatal(err)
		}
	}
	send(t, p, "UNIT?\n")
	if got := heard(p)[before:]; got != "TH-1 1.0 ready\r\nC\r\n" {
		t.Errorf("after DTR rose: %q", got)
	}
}

func TestWrongModeGivesRubbishAndFaults(t *testing.T) {
	p := openedPort(t, opened(t, Wiring{}), "ttyUSB0", device.PortMode{Baud: 9600, DataBits: 8, Parity: 'N', StopBits: 1})
	send(t, p, "*IDN?\n")
	if got := heard(p); strings.Contains(got, "TH-1") || got == "" {
		t.Errorf("heard %q", got)
	}
	if f := p.Faults(); f.Framing == 0 || f.String() == "" {
		t.Errorf("faults %+v", f)
	}
}

func TestUARTFaults(t *testing.T) {
	silent := openedPort(t, opened(t, Wiring{UARTs: []UARTFault{{Port: "ttyUSB0", Silent: true}}}), "ttyUSB0", device.DefaultMode)
	send(t, silent, "*IDN?\n")
	if got := heard(silent); got != "" {
		t.Errorf("a silent device says %q", got)
	}
	late := openedPort(t, opened(t, Wiring{UARTs: []UARTFault{{Port: "ttyUSB0", LateMs: 20}}}), "ttyUSB0", device.DefaultMode)
	if got := heard(late); got != "" {
		t.Errorf("a late device says %q at once", got)
	}
	if more, err := late.Received().Wait(0, time.Now().Add(5*time.Second)); !more || err != nil {
		t.Errorf("a late device says nothing: %v", err)
	}
	noisy := func() string {
		p := openedPort(t, opened(t, Wiring{Seed: 3, UARTs: []UARTFault{{Port: "ttyUSB0", Noise: 0.2}}}), "ttyUSB0", device.DefaultMode)
		send(t, p, "*IDN?\n")
		return heard(p)
	}
	if one, two := noisy(), noisy(); one != two || one == "TH-1 1.0 ready\r\nSIM,TH-1,0042,1.0\r\n" {
		t.Errorf("with noise %q, then %q", one, two)
	}
}

func TestUARTWiringIsChecked(t *testing.T) {
	for want, faults := range map[string][]UARTFault{
		`sim.uart: port "ttyAMA0"; ttyUSB0 and ttyUSB1 are allowed`: {{Port: "ttyAMA0"}},
		`sim.uart: port "ttyUSB0" twice; once is allowed`:           {{Port: "ttyUSB0"}, {Port: "ttyUSB0"}},
		`sim.uart: late_ms 60001; 0 to 60000 are allowed`:           {{Port: "ttyUSB1", LateMs: 60001}},
		`sim.uart: noise 1.5; 0 to 1 are allowed`:                   {{Port: "ttyUSB1", Noise: 1.5}},
	} {
		if err := (Wiring{UARTs: faults}).Check(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The frames are those of MODBUS Application Protocol V1.1b3, 6, with their CRC
// by an independent program.
func TestPlantSpeaksModbus(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := openedPort(t, opened(t, Wiring{Now: func() time.Time { return now }}), "ttyUSB1", device.ModbusMode)
	ask := func(pdu string) string {
		t.Helper()
		b, err := hex.DecodeString(strings.ReplaceAll(pdu, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		frame := append([]byte{1}, b...)
		crc := crc16(frame)
		before := len(heard(p))
		send(t, p, string(append(frame, byte(crc), byte(crc>>8))))
		got := heard(p)[before:]
		if len(got) < 4 {
			return ""
		}
		return hex.EncodeToString([]byte(got[1 : len(got)-2]))
	}
	for _, c := range []struct{ ask, want string }{
		{"03 0000 0001", "030200d7"},
		{"06 0000 0064", "0600000064"},
		{"06 0000 8000", "8603"},
		{"03 0000 0001", "03020064"},
		{"10 0001 0002 04 40490fdb", "1000010002"},
		{"03 0001 0002", "030440490fdb"},
		{"03 0018 0002", "030454482d31"},
		{"06 0018 0000", "8602"},
		{"10 0017 0002 04 00000000", "9002"},
		{"10 0001 0002 03 000000", "9003"},
		{"03 0000 007e", "8303"},
		{"03 001f 0002", "8302"},
		{"05 0001 ff00", "050001ff00"},
		{"05 0001 0001", "8503"},
		{"0f 0002 000a 02 cd01", "0f0002000a"},
		{"01 0000 0010", "0102" + "3607"},
		{"02 0000 0010", "0202" + "0600"},
		{"04 000c 0004", "04080000000000000000"},
		{"07", "8701"}, {"2b0e", "ab01"}, {"03 00", "8303"},
	} {
		if got := ask(c.ask); got != c.want {
			t.Errorf("%s gives %s, want %s", c.ask, got, c.want)
		}
	}
	before := len(heard(p))
	send(t, p, "\x01\x03\x00\x00\x00\x01\x00\x00") // a wrong CRC
	send(t, p, "\x02\x03\x00\x00\x00\x01\x84\x39") // another unit
	if got := heard(p)[before:]; got != "" {
		t.Errorf("answers %x", got)
	}
}
