package device

import (
	"testing"
	"time"
)

func TestParsePortMode(t *testing.T) {
	base := PortMode{115200, 8, 'N', 1, FlowNone}
	for text, want := range map[string]PortMode{
		"":                     base,
		"9600":                 {9600, 8, 'N', 1, FlowNone},
		"7e2":                  {115200, 7, 'E', 2, FlowNone},
		"9600 8N1":             {9600, 8, 'N', 1, FlowNone},
		"9600,8o1,RTSCTS":      {9600, 8, 'O', 1, FlowRTSCTS},
		" 250000  5M2 xonxoff": {250000, 5, 'M', 2, FlowXonXoff},
		"none 12000000 6S1":    {12000000, 6, 'S', 1, FlowNone},
	} {
		got, err := ParsePortMode(text, base)
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v", text, got, err)
		}
		if again, err := ParsePortMode(got.String(), PortMode{}); err != nil || again != want {
			t.Errorf("%q is %+v, %v", got, again, err)
		}
	}
	for text, want := range map[string]string{
		"9600 8X1": `mode "9600 8X1": "8X1" is no part of a mode; give it as "9600 8N1": baud 50 to 12000000, 5 to 8 data bits, parity N, O, E, M or S, 1 or 2 stop bits, then rtscts, xonxoff or none`,
		"49":       "", "12000001": "", "-1": "", "9N1": "", "8N3": "", "8N1.5": "", "8-N-1": "", "fast": "", "0": "",
	} {
		if _, err := ParsePortMode(text, base); err == nil || want != "" && err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestTimeOfCharacters(t *testing.T) {
	for mode, want := range map[PortMode]time.Duration{
		{9600, 8, 'N', 1, FlowNone}:  10 * time.Second / 9600,
		{19200, 8, 'E', 1, FlowNone}: 11 * time.Second / 19200,
		{50, 7, 'O', 2, FlowNone}:    11 * time.Second / 50,
	} {
		if got := mode.Time(1); got != want {
			t.Errorf("%s: %v, want %v", mode, got, want)
		}
	}
	if got := (PortMode{50, 8, 'N', 1, FlowNone}).Time(4096); got < 13*time.Minute || got > 14*time.Minute {
		t.Errorf("4096 characters at 50 baud: %v", got)
	}
}

func TestUSBIdentity(t *testing.T) {
	u := USBIdentity{Vendor: 0x0403, Product: 0x600a, Serial: "A:1"}
	for name, want := range map[string]bool{"0403:600a": true, "0403:600A": true, "0403:600a:A:1": true, "0403:600a:": false, "0403:600a:a:1": false, "403:600a": false, "": false, "0403:600b": false} {
		if u.Names(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
	if u.String() != "0403:600a:A:1" {
		t.Error(u.String())
	}
}

func TestLineFaultsInWords(t *testing.T) {
	f := LineFaults{Framing: 12, Overrun: 3}.Sub(LineFaults{Framing: 2})
	if got := f.String(); got != "10 framing faults, 3 characters overrun" {
		t.Error(got)
	}
	if got := (LineFaults{}).String(); got != "" {
		t.Error(got)
	}
}
