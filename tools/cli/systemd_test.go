package cli

import (
	"bytes"
	"strings"
	"testing"

	"boardhand/frame/tty"
)

func TestSystemdUnit(t *testing.T) {
	var stdout, stderr bytes.Buffer
	status := Setup([]string{"systemd", "--serial", "/dev/ttyZZ9", "--baud", "921600", "--config", "/etc/my board.toml"}, "/usr/local/bin/boardhand", &stdout, &stderr)
	want(t, status, ExitOK, stdout.String(), `
# /etc/systemd/system/boardhand.service
[Unit]
Description=boardhand on /dev/ttyZZ9
# The port may come late, and the service tries for ever.
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/local/bin/boardhand serve --serial /dev/ttyZZ9 --baud 921600 --config "/etc/my board.toml"
# However it has ended, the outputs of the board file are safe.
ExecStopPost=/usr/local/bin/boardhand safe --config "/etc/my board.toml"
Restart=always
RestartSec=2
TimeoutStopSec=10

# It runs as root. To run it as a user of its own, which needs the groups that the
# board gives its devices to:
#   sudo useradd --system --groups dialout,gpio,i2c,spi boardhand
#User=boardhand

# Where it may write: the journal of outputs, and an audit log. Other places that the
# board file names need ReadWritePaths=.
StateDirectory=boardhand
StateDirectoryMode=0700
LogsDirectory=boardhand

NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=read-only
ProtectControlGroups=yes
ProtectKernelModules=yes
ProtectKernelLogs=yes
ProtectHostname=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_CAN AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`, stderr.String(), `
Write it to /etc/systemd/system/boardhand.service and start it:
  /usr/local/bin/boardhand setup systemd --serial /dev/ttyZZ9 --baud 921600 --config '/etc/my board.toml' | sudo tee /etc/systemd/system/boardhand.service
  sudo systemctl daemon-reload
  sudo systemctl enable --now boardhand
The port must be free of a login prompt and of the kernel's messages:
  sudo systemctl disable --now serial-getty@ttyZZ9
  take console=ttyZZ9 (or console=serial0) out of /boot/firmware/cmdline.txt or the
  boot loader's kernel command line, and start the board anew
"boardhand doctor" says whether it is. What the service says is in:
  journalctl -u boardhand
At the other end of the cable:
  boardhand connect --baud 921600

`)
}

func TestSystemdUnitWithoutAPortHasOne(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := Setup([]string{"systemd"}, "/b", &stdout, &stderr); status != ExitOK || !strings.Contains(stdout.String(), "\nExecStart=/b serve --serial ") {
		t.Errorf("status %d, %s%s", status, &stdout, &stderr)
	}
	for want, ports := range map[string][]tty.Info{
		"/dev/ttyAMA0": nil,
		"/dev/ttyS1":   {{Path: "/dev/ttyUSB0", USB: true}, {Path: "/dev/ttyS1"}, {Path: "/dev/ttyS2"}},
		"/dev/ttyGS0":  {{Path: "/dev/ttyAMA0"}, {Path: "/dev/ttyGS0"}},
	} {
		if got := ownPort(ports); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestUnitWord(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/bin/boardhand": "/usr/bin/boardhand", "a b": `"a b"`, "100%": "100%%", "$HOME": "$$HOME",
		`a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "it's": `"it's"`, "a;b": `"a;b"`, "": `""`, "a\nb": `"a\nb"`,
	} {
		if got := unitWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
