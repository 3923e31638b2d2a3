package tty

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPortsAreListedUSBFirst(t *testing.T) {
	tree := machine(t, together(map[string]string{
		"sys/class/tty/ttyGS0/dev":                    "235:0\n",
		"sys/class/tty/ttyAMA0/device":                "-> ../../../devices/platform/fe201000.serial",
		"sys/devices/platform/fe201000.serial/driver": "-> ../../../bus/amba/drivers/uart-pl011",
		"sys/class/tty/ttyS1/device/x":                "",
		"sys/class/tty/ttyS1/type":                    "0\n",
		"sys/class/tty/tty1/device/x":                 "",
		"sys/class/tty/ptmx/dev":                      "5:2\n",
	}, adapter("ttyUSB10", "1-2", "", "/dev/null"), adapter("ttyUSB2", "1-1", "A1\x1b", "/dev/null")))
	ports, err := List()
	must(t, err)
	var got []string
	for i := range ports {
		p := &ports[i]
		got = append(got, fmt.Sprintf("%s|%s|%s|%s|%v|%04x:%04x|%s", strings.TrimPrefix(p.String(), tree.Dev+"/"), filepath.Base(p.ByID), p.Driver, p.Serial, p.USB, p.VID, p.PID, p.place))
	}
	want := []string{
		"ttyUSB2 (FTDI FT232R USB UART)|.|ftdi_sio||true|0403:6001|1-1:1.0",
		"ttyUSB10 (FTDI FT232R USB UART)|usb-FTDI_-if00-port0|ftdi_sio||true|0403:6001|1-2:1.0",
		"ttyAMA0|.|uart-pl011||false|0000:0000|",
		"ttyGS0|.|||false|0000:0000|",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestThisMachinesPortsAreListed(t *testing.T) {
	if _, err := List(); err != nil {
		t.Error(err)
	}
}

func TestHoldersAreNamed(t *testing.T) {
	tree := machine(t, map[string]string{
		"sys/class/tty/ttyS0/dev":      "4:64\n",
		"sys/class/tty/ttyS1/dev":      "4:65\n",
		"sys/class/tty/ttyUSB0/dev":    "188:0\n",
		"sys/class/tty/ttyUSB1/dev":    "188:1\n",
		"sys/class/tty/ttyUSB2/dev":    "188:2\n",
		"sys/class/tty/ttyUSB3/dev":    "188:3\n",
		"sys/class/tty/console/active": "tty0 ttyS0\n",
		"proc/cmdline":                 "quiet console=ttyS0,115200n8\n",
		"proc/412/stat":                "412 (agetty) S 1 412 412 1088 412 4194560 92",
		"proc/413/stat":                "413 (login) S 1 413 413 1089 413 4194560 92",
		"proc/500/stat":                "500 (boardhand) S 1 500 500 0 -1 4194560 92",
		"proc/501/stat":                "501 (ModemManager) S 1 501 501 0 -1 4194560 92",
		"proc/502/stat":                "502 (my prog) (x) S 1 502 502 0 -1 4194560 92",
		"proc/503/fd/":                 "",
		"run/systemd/system/":          "",
		"boot/cmdline.txt":             "",
	})
	for pid, name := range map[string]string{"500": "ttyUSB0", "501": "ttyUSB1", "502": "ttyUSB2", "503": "ttyUSB3"} {
		put(t, filepath.Join(tree.Proc, pid, "fd/7"), "-> "+filepath.Join(tree.Dev, name))
	}
	names := []string{"ttyS0", "ttyS1", "ttyUSB0", "ttyUSB1", "ttyUSB2", "ttyUSB3", "ttyUSB4"}
	holders := tree.Holders(names)
	for name, want := range map[string]string{
		"ttyS0": "in use by the kernel's console and agetty (pid 412), whose terminal it is; free it with: " +
			"sudo systemctl disable --now serial-getty@ttyS0; take console=ttyS0,115200n8 out of /boot/cmdline.txt; sudo reboot",
		"ttyS1":   "in use by login (pid 413), whose terminal it is; free it with: sudo systemctl disable --now serial-getty@ttyS1",
		"ttyUSB0": "in use by boardhand (pid 500); end that boardhand first: a client has started it, or the service boardhand, which ends with: sudo systemctl stop boardhand",
		"ttyUSB1": "in use by ModemManager (pid 501); it lets go of a new port after some seconds; to keep it away: sudo systemctl disable --now ModemManager",
		"ttyUSB2": "in use by my prog) (x (pid 502); end that program first",
		"ttyUSB3": "in use by pid 503; end that program first",
	} {
		h, ok := holders[name]
		if got := tree.busy("P", name, h); !ok || got.Error() != "P: "+want || !errors.Is(got, ErrBusy) {
			t.Errorf("got  %v\nwant P: %s", got, want)
		}
	}
	if h, ok := holders["ttyUSB4"]; ok {
		t.Errorf("a free port is %v", h)
	}
}

func TestConsolesAreThoseOfTheKernel(t *testing.T) {
	for name, c := range map[string]struct{ active, cmdline, want string }{
		"as the command line says":              {"tty0 ttyS0\n", "console=ttyS0,115200 console=tty1\n", "map[tty0: ttyS0:console=ttyS0,115200]"},
		"as the device tree says":               {"ttyS0\n", "quiet\n", "map[ttyS0:]"},
		"not one that the kernel lacks":         {"tty0\n", "console=ttyS9\n", "map[tty0:]"},
		"by the command line, without the list": {"", "console=ttyO0\n", "map[ttyO0:console=ttyO0]"},
	} {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"proc/cmdline": c.cmdline}
			if c.active != "" {
				files["sys/class/tty/console/active"] = c.active
			}
			if got := fmt.Sprint(machine(t, files).Consoles()); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func TestFreeingAPortDependsOnTheSystem(t *testing.T) {
	tree := machine(t, nil)
	for want, got := range map[string]string{
		"take the getty on ttyS0 out of /etc/inittab":                                  tree.FreeOfLogin("ttyS0"),
		"take console=ttyS0 out of the boot loader's kernel command line; sudo reboot": strings.Join(tree.FreeOfConsole("console=ttyS0"), "; "),
		"add console=tty1 to the boot loader's kernel command line; sudo reboot":       strings.Join(tree.FreeOfConsole(""), "; "),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestForbiddenPortSaysWhichGroup(t *testing.T) {
	tree := machine(t, map[string]string{"dev/ttyUSB0": "", "etc/group": "root:x:0:\ndialout:x:20:pi\n"})
	node := filepath.Join(tree.Dev, "ttyUSB0")
	check := func(errno unix.Errno, want string) {
		t.Helper()
		if got := tree.explain(node, errno); got.Error() != node+": "+want || !errors.Is(got, fs.ErrPermission) {
			t.Errorf("got  %v\nwant %s", got, want)
		}
	}
	check(unix.EPERM, "no right to open it (EPERM); a container or a security policy forbids it: pass the device in, as with docker run --device "+node)
	check(unix.EACCES, "no right to open it (EACCES); only root may use it: run as root, or give it a group with a udev rule")
	if os.Chown(node, 0, 20) != nil || os.Chmod(node, 0o660) != nil {
		t.Skip("only root may give a file to a group")
	}
	check(unix.EACCES, "no right to open it (EACCES); join its group: sudo usermod -aG dialout $USER, then log in again")
}

func TestLockerIsFound(t *testing.T) {
	node, _ := pty(t)
	fd, err := unix.Open(node, unix.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer unix.Close(fd)
	var st unix.Stat_t
	must(t, unix.Fstat(fd, &st))
	dev := uint64(st.Dev)
	tree := machine(t, map[string]string{
		"proc/locks": fmt.Sprintf("1: POSIX  ADVISORY  WRITE 11 %02x:%02x:%d 0 EOF\n2: FLOCK  ADVISORY  WRITE 12 %02x:%02x:%d 0 EOF\n3: FLOCK  ADVISORY  WRITE 612 %02x:%02x:%d 0 EOF\n",
			unix.Major(dev), unix.Minor(dev), st.Ino, unix.Major(dev), unix.Minor(dev), st.Ino+1000, unix.Major(dev), unix.Minor(dev), st.Ino),
		"proc/612/stat": "612 (boardhand) S 1 500 500 0 -1 4194560 92",
	})
	if got := tree.locked(node, fd, unix.EWOULDBLOCK).Error(); !strings.Contains(got, "in use by boardhand (pid 612); end that boardhand first") {
		t.Error(got)
	}
}
