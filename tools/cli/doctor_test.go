package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"boardhand/device"
)

var diagnosis = device.Diagnosis{
	Info:    device.Info{Model: "Raspberry Pi Zero 2 W Rev 1.0", Kernel: "Linux 6.1.21-v7+", Arch: "arm"},
	Machine: "armv7l", User: "pi", Groups: []string{"adm", "audio", "cdrom", "dialout", "games", "input", "netdev", "pi", "plugdev", "render", "sudo", "users", "video"},
	Findings: []device.Finding{
		{Family: "GPIO", Name: "gpiochip0", Detail: "3f200000.gpio"},
		{Family: "I2C", Name: "i2c-1", Condition: device.FoundUnusable, Detail: "no right to open /dev/i2c-1",
			Owner: "the kernel at 0x1d adxl345, 0x50 at24, 0x68 rtc-ds1307, 0x76 bmp280", Mend: []string{"sudo usermod -aG i2c $USER", "log in again"}},
		{Family: "SPI", Condition: device.FoundAbsent, Detail: "no controller", Mend: []string{"add dtparam=spi=on to /boot/firmware/config.txt", "sudo reboot"}},
		{Family: "UART", Name: "tty\x1b[2JX", Condition: device.FoundOwned, Owner: "modbusd (77)"},
		{Family: "sensors", Detail: "1 thermal, 2 hwmon"},
	},
}

const diagnosisGolden = `Raspberry Pi Zero 2 W Rev 1.0, Linux 6.1.21-v7+, arm on armv7l
As the user pi, in the groups adm audio cdrom dialout games input netdev pi
plugdev render sudo users video.

ok    GPIO      gpiochip0: 3f200000.gpio
NO    I2C       i2c-1: no right to open /dev/i2c-1; in use by the kernel at 0x1d
                adxl345, 0x50 at24, 0x68 rtc-ds1307, 0x76 bmp280
                > sudo usermod -aG i2c $USER
                > log in again
-     SPI       no controller
                > add dtparam=spi=on to /boot/firmware/config.txt
                > sudo reboot
used  UART      tty\x1b[2JX; in use by modbusd (77)
ok    sensors   1 thermal, 2 hwmon

1 is not usable; a line that begins with > says what to do.
`

func TestDoctor(t *testing.T) {
	var stdout, stderr bytes.Buffer
	want(t, Doctor(&diagnosis, false, false, &stdout, &stderr), ExitFailed, stdout.String(), diagnosisGolden, stderr.String(), "")
	for _, line := range strings.Split(stdout.String(), "\n") {
		if n := utf8.RuneCountInString(line); n > terminalWidth {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	plain(t, stdout.Bytes())

	stdout.Reset()
	Doctor(&diagnosis, false, true, &stdout, &stderr)
	coloured := stdout.String()
	if !strings.Contains(coloured, "\x1b[1;31mNO\x1b[0m    I2C") || strings.Count(coloured, "\x1b") != 2*len(diagnosis.Findings) {
		t.Errorf("%q", coloured)
	}
	for _, m := range marks {
		coloured = strings.ReplaceAll(coloured, "\x1b["+m.colour+"m", "")
	}
	if strings.ReplaceAll(coloured, "\x1b[0m", "") != diagnosisGolden {
		t.Errorf("a terminal gets other words: %q", coloured)
	}
}

func TestDoctorsSumsUp(t *testing.T) {
	none, two := diagnosis, diagnosis
	none.Findings = diagnosis.Findings[2:]
	two.Findings = append([]device.Finding{diagnosis.Findings[1]}, diagnosis.Findings...)
	for end, c := range map[string]struct {
		d    *device.Diagnosis
		code int
	}{
		"\n\nAll that is there can be used.\n":                                {&none, ExitOK},
		"\n\n2 are not usable; the lines that begin with > say what to do.\n": {&two, ExitFailed},
	} {
		var stdout, stderr bytes.Buffer
		if code := Doctor(c.d, false, false, &stdout, &stderr); code != c.code || !strings.HasSuffix(stdout.String(), end) {
			t.Errorf("status %d, %s", code, &stdout)
		}
	}
	var stderr bytes.Buffer
	if code := Doctor(&none, false, false, broken{}, &stderr); code != ExitFailed || !strings.Contains(stderr.String(), "could not be written") {
		t.Errorf("status %d, %s", code, &stderr)
	}
}

func TestDoctorAsJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Doctor(&diagnosis, true, true, &stdout, &stderr); code != ExitFailed || stderr.Len() > 0 {
		t.Errorf("status %d, %s", code, &stderr)
	}
	var got struct {
		Model, Kernel, Arch, Machine, User string
		Groups                             []string
		Simulated, Well                    bool
		Findings                           []struct {
			Family, Name, Condition, Detail, Owner string
			Mend                                   []string
		}
	}
	dec := json.NewDecoder(&stdout)
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.Model != diagnosis.Info.Model || got.User != "pi" || got.Well || len(got.Findings) != 5 || got.Findings[1].Condition != "unusable" ||
		got.Findings[1].Mend[0] != "sudo usermod -aG i2c $USER" || got.Findings[3].Name != "tty\x1b[2JX" || got.Findings[2].Condition != "absent" {
		t.Errorf("%+v", got)
	}
}
