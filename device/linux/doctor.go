//go:build linux

package linux

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// The limit of an examination, on machines that have more.
const maxFindings = 16 // of a family

// Examine looks at this machine as its user. It only reads, and opens no node
// but those of GPIO chips and I2C buses, at which opening does nothing: never a
// watchdog, which would start it, nor a tty, which would move its lines.
func Examine() (device.Diagnosis, error) {
	var name unix.Utsname
	machine := ""
	if unix.Uname(&name) == nil {
		machine = unix.ByteSliceToString(name.Machine[:])
	}
	groups, _ := unix.Getgroups()
	groups = append(groups, os.Getegid())
	d := &doctor{
		roots: roots{"/dev", "/sys", "/proc"},
		uid:   os.Geteuid(), groups: groups, machine: machine,
		may: func(path string, mode uint32) error {
			return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
		},
		group: func(path string) (gid int, mode uint32) {
			var st unix.Stat_t
			if unix.Stat(path, &st) != nil {
				return 0, 0
			}
			return int(st.Gid), uint32(st.Mode)
		},
	}
	return d.examine(), nil
}

// doctor is one examination.
type doctor struct {
	roots   roots
	uid     int
	groups  []int
	machine string
	may     func(path string, mode uint32) error // access(2)
	group   func(path string) (gid int, mode uint32)

	info      device.Info
	user      string
	pi        bool
	container string            // "docker"; empty: none
	holders   map[string]string // who has a node open, or runs a getty on it, by name: "ttyS0"
	getty     map[string]string
	missing   []string // nodes that the kernel has and /dev has not
	found     []device.Finding
}

// mendReboot follows what is written to the firmware's settings.
const mendReboot = "sudo reboot"

func (d *doctor) examine() device.Diagnosis {
	d.info = (&Board{roots: d.roots}).Info()
	d.pi = strings.Contains(d.info.Model, "Raspberry Pi")
	d.user = d.userName()
	d.container = d.containerKind()
	d.processes()
	for _, family := range []func(){d.gpio, d.i2c, d.spi, d.uart, d.sensors, d.pwm, d.leds, d.can, d.oneWire, d.watchdog} {
		before := len(d.found)
		family()
		if more := len(d.found) - before - maxFindings; more > 0 {
			d.found = d.found[:before+maxFindings]
			last := d.found[len(d.found)-1]
			d.add(device.Finding{Family: last.Family, Condition: last.Condition, Detail: "and " + strconv.Itoa(more) + " more"})
		}
	}
	families := d.found
	d.found = nil
	d.system()
	diagnosis := device.Diagnosis{Info: d.info, Machine: d.machine, User: d.user, Findings: append(d.found, families...)}
	for _, g := range d.groups {
		diagnosis.Groups = append(diagnosis.Groups, d.roots.tree().Group(uint32(g)))
	}
	slices.Sort(diagnosis.Groups)
	diagnosis.Groups = slices.Compact(diagnosis.Groups)
	return diagnosis
}

func (d *doctor) add(f device.Finding) { d.found = append(d.found, f) }

// absent adds that a family has no interface. On a Raspberry Pi, line in the
// firmware's settings, or a word of raspi-config, brings one.
func (d *doctor) absent(family, what, line, raspiConfig string) {
	f := device.Finding{Family: family, Condition: device.FoundAbsent, Detail: what}
	if d.pi && line != "" {
		config := "/boot/firmware/config.txt"
		if !d.has(config) && d.has("/boot/config.txt") {
			config = "/boot/config.txt"
		}
		f.Mend = []string{"add " + line + " to " + config, mendReboot}
		if raspiConfig != "" && d.has("/usr/bin/raspi-config") {
			f.Mend = []string{"sudo raspi-config nonint " + raspiConfig + " 0", mendReboot}
		}
	}
	d.add(f)
}

// has says that a file of the system is there.
func (d *doctor) has(path string) bool { return exists(d.roots.proc, "..", path) }

// under is the names in a folder of sysfs.
func (d *doctor) under(path string) []string { return entries(filepath.Join(d.roots.sys, path)) }

// read is the text of a small file of sysfs, or "".
func (d *doctor) read(path ...string) string {
	text, _ := readText(256, append([]string{d.roots.sys}, path...)...)
	return word(text)
}

// system adds what concerns more than one family.
func (d *doctor) system() {
	if d.container != "" {
		f := device.Finding{Family: "system", Name: d.container, Detail: "a container has only the devices that it was given"}
		if len(d.missing) > 0 {
			f.Condition = device.FoundUnusable
			f.Detail = "the container was not given " + strings.Join(d.missing[:min(3, len(d.missing))], ", ")
			if more := len(d.missing) - 3; more > 0 {
				f.Detail += " and " + strconv.Itoa(more) + " more"
			}
			f.Mend = []string{"pass in each that is needed: " + d.runs("--device "+d.missing[0])}
		}
		d.add(f)
	}
	switch {
	case !exists(d.roots.sys, "class"):
		d.add(device.Finding{Family: "system", Name: "/sys", Condition: device.FoundUnusable, Detail: "sysfs is not mounted",
			Mend: []string{"sudo mount -t sysfs sysfs /sys"}})
	case d.sysReadOnly():
		f := device.Finding{Family: "system", Name: "/sys", Condition: device.FoundUnusable,
			Detail: "is read-only: no PWM, LED or sensor's buffer can be set", Mend: []string{"sudo mount -o remount,rw /sys"}}
		if d.container != "" {
			f.Mend = []string{"pass it in: " + d.runs("-v /sys:/sys")}
		}
		d.add(f)
	}
	if !exists(d.roots.proc, "self") {
		d.add(device.Finding{Family: "system", Name: "/proc", Condition: device.FoundUnusable, Detail: "is not mounted",
			Mend: []string{"sudo mount -t proc proc /proc"}})
	}
}

// runs is the command that starts the container with an option.
func (d *doctor) runs(option string) string {
	tool := d.container
	if tool != "docker" && tool != "podman" {
		tool = "as docker does with docker"
	}
	return tool + " run " + option + " ..."
}

// sysReadOnly says that /sys is mounted so: proc_pid_mountinfo(5).
func (d *doctor) sysReadOnly() bool {
	text, _ := readBytes(1<<16, d.roots.proc, "self/mountinfo")
	readOnly := false
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 5 && fields[4] == "/sys" { // the last mount is the one that is seen
			readOnly = slices.Contains(strings.Split(fields[5], ","), "ro")
		}
	}
	return readOnly
}

func (d *doctor) containerKind() string {
	if kind, _ := readText(64, d.roots.proc, "../run/systemd/container"); word(kind) != "" {
		return word(kind)
	}
	switch {
	case d.has("/.dockerenv"):
		return "docker"
	case d.has("/run/.containerenv"):
		return "podman"
	}
	return ""
}

// userName is the user's name in /etc/passwd, or number.
func (d *doctor) userName() string {
	number := strconv.Itoa(d.uid)
	text, _ := readBytes(1<<16, d.roots.proc, "../etc/passwd")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, ":"); len(fields) > 2 && fields[2] == number {
			return word(fields[0])
		}
	}
	return number
}

// inGroup says that /etc/group names the user as a member.
func (d *doctor) inGroup(group string) bool {
	text, _ := readBytes(1<<16, d.roots.proc, "../etc/group")
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSpace(line), ":"); len(fields) == 4 && fields[0] == group {
			return slices.Contains(strings.Split(fields[3], ","), d.user)
		}
	}
	return false
}

// processes looks for who has which node open, as far as this user may see it,
// and which terminals have a login prompt.
func (d *doctor) processes() {
	d.holders, d.getty = map[string]string{}, map[string]string{}
	for p := range d.roots.tree().Processes() {
		who := p.Name + " (" + strconv.Itoa(p.PID) + ")"
		if strings.Contains(p.Name, "getty") {
			for _, arg := range p.Arguments() {
				d.getty[strings.TrimPrefix(arg, "/dev/")] = who
			}
		}
		for file := range p.Files() {
			if name, ok := strings.CutPrefix(file, "/dev/"); ok && d.holders[name] == "" {
				d.holders[name] = who
			}
		}
	}
}

// node judges the node /dev/name, which this user should be able to open for
// reading and writing. probe opens it as well: access(2) knows of no container's
// or security module's rules.
func (d *doctor) node(f device.Finding, name string, probe bool) device.Finding {
	path := filepath.Join(d.roots.dev, name)
	shown := "/dev/" + name
	err := d.may(path, unix.R_OK|unix.W_OK)
	if err == nil && probe {
		var fd int
		if fd, err = unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err == nil {
			unix.Close(fd)
		}
	}
	switch {
	case err == nil:
		return f
	case errors.Is(err, unix.ENOENT):
		d.missing = append(d.missing, shown)
		f.Condition, f.Detail = device.FoundUnusable, "the kernel has it, but there is no "+shown
		if len(f.Mend) == 0 && d.container == "" {
			f.Mend = []string{"sudo udevadm trigger"}
		}
	case errors.Is(err, unix.EACCES):
		f.Condition, f.Detail, f.Mend = device.FoundUnusable, "no right to open "+shown, d.right(path)
	case errors.Is(err, unix.EPERM):
		f.Condition, f.Detail = device.FoundUnusable, "a container or a security policy forbids "+shown
		f.Mend = []string{"pass it in, as with docker run --device " + shown}
	default:
		f.Condition, f.Detail = device.FoundUnusable, explain(shown, err, nil).Error()
	}
	return f
}

// right is how this user gets the right to the file at path.
func (d *doctor) right(path string) []string {
	gid, mode := d.group(path)
	group := d.roots.tree().Group(uint32(gid))
	switch {
	case gid == 0 || mode&0o060 != 0o060:
		return []string{"run boardhand as root, or give the node to a group with a udev rule"}
	case d.inGroup(group):
		return []string{"log in again: you are in the group " + group + ", but not yet in this session"}
	}
	return []string{"sudo usermod -aG " + group + " $USER", "log in again"}
}

func (d *doctor) gpio() {
	const family = "GPIO"
	chips := numbered(d.roots.dev, "gpiochip")
	chips = append(chips, numbered(filepath.Join(d.roots.sys, "bus/gpio/devices"), "gpiochip")...)
	slices.Sort(chips)
	chips = slices.Compact(chips)
	if len(chips) == 0 {
		what := "no GPIO chip"
		if len(d.under("class/gpio")) > 2 {
			what = "only the old sysfs interface; the kernel lacks CONFIG_GPIO_CDEV"
		}
		d.absent(family, what, "", "")
		return
	}
	for _, n := range chips {
		name := "gpiochip" + strconv.Itoa(n)
		f := device.Finding{Family: family, Name: name}
		if path, err := filepath.EvalSymlinks(filepath.Join(d.roots.sys, "bus/gpio/devices", name)); err == nil {
			f.Detail = word(filepath.Base(filepath.Dir(path)))
		}
		f = d.node(f, name, true)
		if f.Condition == device.FoundUsable && !kernelAtLeast(d.info.Kernel, 5, 10) {
			f.Condition = device.FoundUnusable
			f.Detail = "this kernel has no GPIO uAPI version 2, which came with Linux 5.10"
			f.Mend = []string{"boot Linux 5.10 or newer"}
		}
		d.add(f)
	}
}

// kernelAtLeast compares a version such as "Linux 5.4.0-rc1". One that it cannot
// read counts as new.
func kernelAtLeast(kernel string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(strings.TrimPrefix(kernel, "Linux "), "%d.%d", &a, &b); n != 2 {
		return true
	}
	return a > major || a == major && b >= minor
}

func (d *doctor) i2c() {
	const family = "I2C"
	buses := (&i2c{roots: d.roots}).numbers()
	if len(buses) == 0 {
		d.absent(family, "no bus", "dtparam=i2c_arm=on", "do_i2c")
		return
	}
	devices := d.under("bus/i2c/devices")
	for _, n := range buses {
		f := device.Finding{Family: family, Name: busName(n), Detail: d.read("bus/i2c/devices", busName(n), "name"),
			Mend: []string{"sudo modprobe i2c-dev", "echo i2c-dev | sudo tee /etc/modules-load.d/i2c-dev.conf"}}
		f = d.node(f, busName(n), true)
		if f.Condition == device.FoundUsable {
			f.Mend = nil
		}
		var owned []string
		for _, dev := range devices {
			addr, ok := strings.CutPrefix(dev, strconv.Itoa(n)+"-00") // 7 bits
			driver := word(linkBase(d.roots.sys, "bus/i2c/devices", dev, "driver"))
			if ok && driver != "" && driver != "dummy" {
				owned = append(owned, "0x"+addr+" "+driver)
			}
		}
		if len(owned) > 0 {
			f.Owner = "the kernel at " + strings.Join(owned, ", ")
		}
		d.add(f)
	}
}

func (d *doctor) spi() {
	const family = "SPI"
	masters := d.under("class/spi_master")
	devices := d.under("bus/spi/devices")
	for _, dev := range devices { // spi0.1
		f := device.Finding{Family: family, Name: dev}
		switch driver := word(linkBase(d.roots.sys, "bus/spi/devices", dev, "driver")); driver {
		case "spidev":
			name := "spidev" + strings.TrimPrefix(dev, "spi")
			f.Name = name
			f = d.node(f, name, false)
			if who := d.holders[name]; who != "" {
				f.Owner = who
			}
		case "":
			f.Condition, f.Detail = device.FoundUnusable, "no driver is bound to "+d.read("bus/spi/devices", dev, "modalias")
			f.Mend = []string{"sudo modprobe spidev"}
		default:
			f.Condition, f.Owner = device.FoundOwned, "the kernel's driver "+driver
		}
		d.add(f)
	}
	switch {
	case len(masters) == 0 && len(devices) == 0:
		d.absent(family, "no controller", "dtparam=spi=on", "do_spi")
	case len(devices) == 0:
		d.absent(family, "a controller, "+word(masters[0])+", but no device on it", "dtparam=spi=on", "do_spi")
	}
}

func (d *doctor) uart() {
	const family = "UART"
	before := len(d.found)
	ports := d.roots.tree()
	consoles := ports.Consoles()
	for _, name := range d.under("class/tty") {
		if !ports.IsPort(name) {
			continue
		}
		f := device.Finding{Family: family, Name: word(name), Detail: word(linkBase(d.roots.sys, "class/tty", name, "device/driver"))}
		f = d.node(f, name, false)
		argument, console := consoles[name]
		switch {
		case d.getty[name] != "":
			f.Condition, f.Detail, f.Owner = device.FoundUnusable, "has a login prompt", d.getty[name]
			f.Mend = []string{ports.FreeOfLogin(name)}
			if console {
				f.Detail = "has a login prompt and the kernel's messages"
				f.Mend = append(f.Mend, ports.FreeOfConsole(argument)...)
			}
		case console:
			f.Condition, f.Detail, f.Owner = device.FoundUnusable, "has the kernel's messages", "the kernel"
			f.Mend = ports.FreeOfConsole(argument)
		case d.holders[name] != "":
			f.Owner = d.holders[name]
			if f.Condition == device.FoundUsable {
				f.Condition = device.FoundOwned
			}
		}
		d.add(f)
	}
	if len(d.found) == before {
		d.absent(family, "no serial port", "enable_uart=1", "do_serial_hw")
	}
}

func (d *doctor) sensors() {
	count := map[string]int{}
	found := newSensors(d.roots).look()
	for _, x := range found {
		count[x.Source]++
	}
	if len(found) == 0 {
		d.absent("sensors", "none that the kernel knows", "", "")
		return
	}
	var kinds []string
	for _, source := range []string{"thermal", "hwmon", "iio", "w1"} {
		if n := count[source]; n > 0 {
			kinds = append(kinds, strconv.Itoa(n)+" "+source)
		}
	}
	d.add(device.Finding{Family: "sensors", Detail: strings.Join(kinds, ", ")})
}

func (d *doctor) pwm() {
	const family = "PWM"
	chips := numbered(filepath.Join(d.roots.sys, "class/pwm"), "pwmchip")
	if len(chips) == 0 {
		d.absent(family, "no chip", "dtoverlay=pwm", "")
		return
	}
	for _, n := range chips {
		name := "pwmchip" + strconv.Itoa(n)
		f := device.Finding{Family: family, Name: name, Detail: d.read("class/pwm", name, "npwm") + " channels"}
		if f.Detail == "1 channels" {
			f.Detail = "1 channel"
		}
		d.add(d.attribute(f, "class/pwm/"+name+"/export"))
	}
}

// attribute judges an attribute of sysfs that this user should be able to write.
func (d *doctor) attribute(f device.Finding, path string) device.Finding {
	full := filepath.Join(d.roots.sys, path)
	if err := d.may(full, unix.W_OK); err != nil {
		f.Condition, f.Detail = device.FoundUnusable, "no right to write /sys/"+path
		if f.Mend == nil {
			f.Mend = d.right(full)
		}
	}
	return f
}

func (d *doctor) leds() {
	const family = "LED"
	names := d.under("class/leds")
	if len(names) == 0 {
		d.absent(family, "none", "", "")
		return
	}
	for i, name := range names {
		f := device.Finding{Family: family, Name: word(name)}
		// none [mmc0] timer: the one in brackets has it
		if _, trigger, ok := strings.Cut(d.read("class/leds", name, "trigger"), "["); ok {
			if trigger, _, _ = strings.Cut(trigger, "]"); trigger != "none" {
				f.Owner = "the kernel's trigger " + trigger
			}
		}
		f = d.attribute(f, "class/leds/"+name+"/brightness")
		if f.Condition == device.FoundUnusable && gidIsRoot(d, "class/leds/"+name+"/brightness") {
			f.Mend = []string{"sudo chown $USER /sys/class/leds/*/{brightness,trigger}"}
			if i > 0 {
				f.Mend = nil // said once
			}
		}
		d.add(f)
	}
}

func gidIsRoot(d *doctor, path string) bool {
	gid, _ := d.group(filepath.Join(d.roots.sys, path))
	return gid == 0
}

// arphrdCAN is the type of a CAN interface: linux/if_arp.h.
const arphrdCAN = "280"

func (d *doctor) can() {
	const family = "CAN"
	before := len(d.found)
	for _, name := range d.under("class/net") {
		if d.read("class/net", name, "type") != arphrdCAN {
			continue
		}
		f := device.Finding{Family: family, Name: word(name), Detail: word(linkBase(d.roots.sys, "class/net", name, "device/driver"))}
		bitrate := " type can bitrate 500000"
		if !exists(d.roots.sys, "class/net", name, "device") {
			f.Detail, bitrate = "virtual", ""
		}
		flags, _ := strconv.ParseUint(strings.TrimPrefix(d.read("class/net", name, "flags"), "0x"), 16, 32)
		if flags&unix.IFF_UP == 0 {
			f.Condition, f.Detail = device.FoundUnusable, "is down"
			f.Mend = []string{"sudo ip link set " + f.Name + " up" + bitrate}
		}
		d.add(f)
	}
	if len(d.found) == before {
		d.absent(family, "no interface", "", "")
	}
}

func (d *doctor) oneWire() {
	const family = "1-Wire"
	masters := numbered(filepath.Join(d.roots.sys, "bus/w1/devices"), "w1_bus_master")
	if len(masters) == 0 {
		d.absent(family, "no bus", "dtoverlay=w1-gpio", "do_onewire")
		return
	}
	for _, n := range masters {
		name := "w1_bus_master" + strconv.Itoa(n)
		slaves := strings.Fields(strings.ReplaceAll(d.readLines("bus/w1/devices", name, "w1_master_slaves"), "not found.", ""))
		f := device.Finding{Family: family, Name: name, Detail: strconv.Itoa(len(slaves)) + " devices"}
		if len(slaves) == 1 {
			f.Detail = "1 device"
		}
		for _, slave := range slaves {
			dir := filepath.Join(d.roots.sys, "bus/w1/devices", slave)
			if family, _, _ := strings.Cut(slave, "-"); thermometers[family] && !exists(dir, "w1_slave") && !exists(dir, "temperature") {
				f.Condition, f.Detail = device.FoundUnusable, "no driver is bound to the thermometer "+word(slave)
				f.Mend = []string{"sudo modprobe w1-therm"}
				break
			}
		}
		d.add(f)
	}
}

// readLines is the text of a small file of sysfs with its line ends, or "".
func (d *doctor) readLines(path ...string) string {
	text, _ := readText(2048, append([]string{d.roots.sys}, path...)...)
	return text
}

func (d *doctor) watchdog() {
	const family = "watchdog"
	names := numbered(filepath.Join(d.roots.sys, "class/watchdog"), "watchdog")
	if len(names) == 0 {
		if exists(d.roots.dev, "watchdog") {
			d.add(device.Finding{Family: family, Name: "watchdog", Detail: "this kernel does not show its state"})
			return
		}
		d.absent(family, "none", "dtparam=watchdog=on", "")
		return
	}
	for _, n := range names {
		name := "watchdog" + strconv.Itoa(n)
		f := device.Finding{Family: family, Name: name, Detail: d.read("class/watchdog", name, "identity")}
		switch d.read("class/watchdog", name, "state") {
		case "active":
			f.Condition, f.Owner = device.FoundOwned, "a program that feeds it"
			if timeout := d.read("class/watchdog", name, "timeout"); timeout != "" {
				f.Detail += ", fed within " + timeout + " s or the machine starts anew"
			}
			for _, node := range []string{name, "watchdog"} {
				if who := d.holders[node]; who != "" {
					f.Owner = who
				}
			}
		case "inactive":
			f.Detail += ", idle"
		}
		f.Detail = strings.TrimPrefix(f.Detail, ", ")
		d.add(f)
	}
}
