package cli

import (
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"boardhand/frame/tty"
)

// systemd is what setup is asked for that is no client.
const systemd = "systemd"

// unitPath is where a machine's own units are (systemd.unit(5)).
const unitPath = "/etc/systemd/system/boardhand.service"

// The hardening leaves out what would take hardware away: PrivateDevices=,
// ProtectKernelTunables= (/sys would be read-only), ProtectClock= (it makes a list
// of allowed devices) and ProtectProc= (who has a port is read from /proc). The
// address families are those of Modbus TCP and CAN.
const unit = `# ` + unitPath + `
[Unit]
Description=boardhand on SERIAL
# The port may come late, and the service tries for ever.
StartLimitIntervalSec=0

[Service]
ExecStart=START
# However it has ended, the outputs of the board file are safe.
ExecStopPost=SAFE
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
`

const unitAdvice = `Write it to ` + unitPath + ` and start it:
  COMMAND | sudo tee ` + unitPath + `
  sudo systemctl daemon-reload
  sudo systemctl enable --now boardhand
FREE"boardhand doctor" says whether it is. What the service says is in:
  journalctl -u boardhand
At the other end of the cable:
  CONNECT

`

const unitFree = `The port must be free of a login prompt and of the kernel's messages:
  sudo systemctl disable --now serial-getty@NAME
  take console=NAME (or console=serial0) out of /boot/firmware/cmdline.txt or the
  boot loader's kernel command line, and start the board anew
`

// unitGadget is of a port that is there only while the board is a USB device.
const unitGadget = `The port is there while the gadget is. On a Raspberry Pi, once and for all: add
  dtoverlay=dwc2  to /boot/firmware/config.txt
  g_serial  to /etc/modules
`

// setupSystemd prints the unit that serves on a serial port.
func setupSystemd(f *Flags, exe string, stdout, stderr io.Writer) int {
	if f.Serial == "" {
		ports, _ := tty.List()
		f.Serial = ownPort(ports)
	}
	flags, err := serveArgs(f)
	if err != nil {
		return Fail(stderr, ExitFailed, err.Error())
	}
	args := append(portArgs([]string{"--serial"}, f), flags[1:]...)

	rest := []string{"safe"}
	if f.Board != "auto" {
		rest = append(rest, "--board", f.Board)
	}
	if i := slices.Index(flags, "--config"); i >= 0 {
		rest = append(rest, flags[i:i+2]...)
	}
	safe := unitWord(exe)
	for _, word := range rest {
		safe += " " + unitWord(word)
	}
	start := unitWord(exe) + " serve"
	again := shellWord(exe, false) + " setup " + systemd
	for _, word := range args {
		start += " " + unitWord(word)
		again += " " + shellWord(word, false)
	}
	name := f.Serial
	if node, err := filepath.EvalSymlinks(name); err == nil { // /dev/serial0
		name = node
	}
	connect := "boardhand connect"
	if f.Baud != 0 {
		connect += " --baud " + strconv.Itoa(f.Baud)
	}
	free := unitFree
	if strings.HasPrefix(path.Base(name), "ttyGS") {
		free = unitGadget
	}
	advice := strings.NewReplacer("COMMAND", again, "NAME", path.Base(name), "CONNECT", connect)
	_, _ = io.WriteString(stderr, advice.Replace(strings.Replace(unitAdvice, "FREE", free, 1)))
	text := strings.NewReplacer("SERIAL", strings.ReplaceAll(f.Serial, "%", "%%"), "START", start, "SAFE", safe)
	return emit(stdout, stderr, []byte(text.Replace(unit)))
}

// ownPort is the port by which a host is most likely to reach this machine: that of
// a USB gadget, or the first of its own.
func ownPort(ports []tty.Info) string {
	own := "/dev/ttyAMA0"
	for i := len(ports) - 1; i >= 0; i-- {
		if !ports[i].USB {
			own = ports[i].Path
		}
	}
	for i := range ports {
		if strings.HasPrefix(path.Base(ports[i].Path), "ttyGS") {
			return ports[i].Path
		}
	}
	return own
}

// unitWord quotes a word of a command line in a unit (systemd.service(5), "Command
// lines"; systemd.unit(5), "Specifiers").
func unitWord(word string) string {
	word = strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(word)
	if word == "" || strings.ContainsAny(word, " \t'\";\\") {
		return `"` + word + `"`
	}
	return word
}
