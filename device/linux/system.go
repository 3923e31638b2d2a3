//go:build linux

package linux

import (
	"encoding/binary"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/device"
)

// system is what the kernel tells of the machine.
type system struct {
	roots  roots
	closed atomic.Bool
}

// Status implements device.System.
func (s *system) Status() (device.Status, error) {
	if s.closed.Load() {
		return device.Status{}, errClosed("system")
	}
	st := device.Status{Uptime: uptime(s.roots)}
	loads, _ := readText(128, s.roots.proc, "loadavg")
	for i, field := range strings.Fields(loads) {
		if i < len(st.Load) {
			st.Load[i], _ = strconv.ParseFloat(field, 64)
		}
	}
	memory := meminfo(s.roots)
	st.MemTotal, st.MemFree = memory["MemTotal:"], memory["MemAvailable:"]
	st.SwapTotal, st.SwapFree = memory["SwapTotal:"], memory["SwapFree:"]
	st.Throttled, st.Throttling = s.throttling()
	st.Storage = s.storage()
	st.Networks = s.networks()
	st.Watchdogs = s.watchdogs()
	st.BootReason = s.bootReason(st.Watchdogs)
	return st, nil
}

// uptime is the time since boot.
func uptime(r roots) time.Duration {
	text, _ := readText(64, r.proc, "uptime")
	seconds, _, _ := strings.Cut(text, " ")
	f, _ := strconv.ParseFloat(seconds, 64)
	return time.Duration(f*100) * (10 * time.Millisecond)
}

// meminfo is the kernel's counts of memory, in bytes: "MemTotal:  1018144 kB".
func meminfo(r roots) map[string]int64 {
	text, _ := readText(8192, r.proc, "meminfo")
	counts := make(map[string]int64)
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			counts[fields[0]] = kib << 10
		}
	}
	return counts
}

// throttleBits is the bits of the Raspberry Pi firmware's GET_THROTTLED.
var throttleBits = []struct {
	bit   uint
	words string
}{
	{0, "under-voltage now"},
	{1, "frequency capped now"},
	{2, "throttled now"},
	{3, "soft temperature limit now"},
	{16, "under-voltage since boot"},
	{17, "frequency capped since boot"},
	{18, "throttled since boot"},
	{19, "soft temperature limit since boot"},
}

// throttling asks the Raspberry Pi's firmware, by the attribute of its makers'
// kernels, or else by the hwmon chip rpi_volt of all kernels.
func (s *system) throttling() (known bool, words []string) {
	files, _ := filepath.Glob(filepath.Join(s.roots.sys, "devices/platform/*/*firmware/get_throttled"))
	for _, file := range files {
		text, err := readText(16, file)
		bits, err2 := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 32)
		if err != nil || err2 != nil {
			continue
		}
		for _, b := range throttleBits {
			if bits&(1<<b.bit) != 0 {
				words = append(words, b.words)
			}
		}
		return true, words
	}
	dir := filepath.Join(s.roots.sys, "class/hwmon")
	for _, n := range numbered(dir, "hwmon") {
		chip := filepath.Join(dir, "hwmon"+strconv.Itoa(n))
		if name, _ := readText(32, chip, "name"); name != "rpi_volt" {
			continue
		}
		alarm, err := readText(8, chip, "in0_lcrit_alarm")
		if err == nil && alarm != "0" {
			words = []string{throttleBits[0].words}
		}
		return err == nil, words
	}
	return false, nil
}

// keeping is the types of file system that keep things without a device in /dev.
var keeping = []string{"ubifs", "jffs2", "zfs", "overlay", "virtiofs", "9p"}

// storage is the mounted file systems that keep things on this machine. Those of a
// network are left out: they may not answer.
func (s *system) storage() []device.Storage {
	text, _ := readText(1<<16, s.roots.proc, "mounts")
	var all []device.Storage
	for line := range strings.Lines(text) {
		fields := strings.Fields(line) // device, mount, type, options
		if len(fields) < 4 {
			continue
		}
		m := device.Storage{Device: word(unescapeMount(fields[0])), Mount: unescapeMount(fields[1]), Type: word(fields[2]),
			ReadOnly: slices.Contains(strings.Split(fields[3], ","), "ro")}
		onDisk := strings.HasPrefix(m.Device, "/dev/") && !strings.HasPrefix(m.Device, "/dev/loop")
		if !onDisk && m.Mount != "/" && !slices.Contains(keeping, m.Type) || m.Type == "rootfs" || word(m.Mount) != m.Mount {
			continue
		}
		// What is mounted at several places is shown once; a later mount at one place hides the former.
		i := slices.IndexFunc(all, func(o device.Storage) bool {
			return o.Mount == m.Mount || onDisk && o.Device == m.Device
		})
		switch {
		case i < 0 && len(all) < device.MaxStatus:
			all = append(all, m)
		case i >= 0 && len(m.Mount) <= len(all[i].Mount):
			all[i] = m
		}
	}
	for i := range all {
		var st unix.Statfs_t
		if unix.Statfs(all[i].Mount, &st) != nil {
			continue
		}
		size := int64(st.Frsize)
		if size == 0 {
			size = int64(st.Bsize)
		}
		all[i].Total, all[i].Free = int64(st.Blocks)*size, int64(st.Bavail)*size
	}
	return all
}

// unescapeMount undoes the octal escapes of /proc/mounts: "\040" is a blank.
func unescapeMount(s string) string {
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b = append(b, byte(n))
				i += 3
				continue
			}
		}
		b = append(b, s[i])
	}
	return string(b)
}

// networks is the network interfaces but the loopback.
func (s *system) networks() []device.Network {
	dir := filepath.Join(s.roots.sys, "class/net")
	addresses := interfaceAddresses()
	var all []device.Network
	for _, name := range entries(dir) {
		path := filepath.Join(dir, name)
		const arphrdEther, arphrdLoopback = 1, 772
		kind := whole(path, "type")
		if word(name) != name || kind == arphrdLoopback || kind == 0 {
			continue
		}
		if len(all) == device.MaxStatus {
			break
		}
		n := device.Network{Name: name, Addresses: addresses[int(whole(path, "ifindex"))]}
		n.State, _ = readText(16, path, "operstate")
		if n.State = word(n.State); n.State == "" {
			n.State = "unknown"
		}
		if kind == arphrdEther {
			mac, _ := readText(32, path, "address")
			n.MAC = word(mac)
		}
		n.Mbit = int(max(whole(path, "speed"), 0))
		count := func(what string) uint64 { return uint64(whole(path, "statistics", what)) }
		n.RxBytes, n.TxBytes, n.Errors = count("rx_bytes"), count("tx_bytes"), count("rx_errors")+count("tx_errors")
		all = append(all, n)
	}
	return all
}

// maxAddresses bounds the addresses shown of one interface.
const maxAddresses = 8

// interfaceAddresses asks the kernel by rtnetlink(7) for the addresses of all
// interfaces, by their indices.
func interfaceAddresses() map[int][]string {
	table, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_UNSPEC)
	if err != nil {
		return nil
	}
	messages, err := syscall.ParseNetlinkMessage(table)
	if err != nil {
		return nil
	}
	all := make(map[int][]string)
	for i := range messages {
		m := &messages[i]
		if m.Header.Type != syscall.RTM_NEWADDR || len(m.Data) < syscall.SizeofIfAddrmsg {
			continue
		}
		prefix, index := int(m.Data[1]), int(binary.NativeEndian.Uint32(m.Data[4:]))
		attributes, err := syscall.ParseNetlinkRouteAttr(m)
		if err != nil {
			continue
		}
		// On a point-to-point link IFA_ADDRESS is the other end.
		var local []byte
		for _, a := range attributes {
			if a.Attr.Type == syscall.IFA_LOCAL || a.Attr.Type == syscall.IFA_ADDRESS && local == nil {
				local = a.Value
			}
		}
		if ip, ok := netip.AddrFromSlice(local); ok && len(all[index]) < maxAddresses {
			all[index] = append(all[index], ip.String()+"/"+strconv.Itoa(prefix))
		}
	}
	return all
}

// watchdogs is the watchdog timers: Documentation/ABI/testing/sysfs-class-watchdog.
// Their nodes are not touched, for opening one starts it.
func (s *system) watchdogs() []device.Watchdog {
	dir := filepath.Join(s.roots.sys, "class/watchdog")
	var all []device.Watchdog
	for _, n := range numbered(dir, "watchdog") {
		if len(all) == device.MaxStatus {
			break
		}
		w := device.Watchdog{Name: "watchdog" + strconv.Itoa(n)}
		path := filepath.Join(dir, w.Name)
		identity, _ := readText(64, path, "identity")
		w.Identity = word(identity)
		state, _ := readText(16, path, "state")
		w.State = word(state)
		w.Timeout = time.Duration(whole(path, "timeout")) * time.Second
		// Of one that nobody has started, Linux 7 counts from the boot, to nothing.
		if left, err := readText(16, path, "timeleft"); err == nil && w.State != "inactive" {
			seconds, err := strconv.ParseInt(left, 10, 32)
			w.TimeLeft, w.HasLeft = time.Duration(seconds)*time.Second, err == nil
		}
		w.NoWayOut = whole(path, "nowayout") != 0
		w.BootStatus = uint32(whole(path, "bootstatus"))
		all = append(all, w)
	}
	return all
}

// bootReason is why the machine booted, as the Raspberry Pi 5's power chip or a
// watchdog tells.
func (s *system) bootReason(watchdogs []device.Watchdog) string {
	b, err := readBytes(4, s.roots.proc, "device-tree/chosen/power/power_reset")
	if err == nil && len(b) == 4 {
		bits := binary.BigEndian.Uint32(b)
		for i, reason := range []string{"over-voltage", "under-voltage", "over-temperature", "enable signal", "watchdog"} {
			if bits&(1<<i) != 0 {
				return reason
			}
		}
	}
	for _, w := range watchdogs {
		for _, f := range []struct {
			bit    uint32
			reason string
		}{
			{unix.WDIOF_CARDRESET, "watchdog"},
			{unix.WDIOF_OVERHEAT, "over-temperature"},
			{unix.WDIOF_POWERUNDER, "under-voltage"},
			{unix.WDIOF_POWEROVER, "over-voltage"},
			{unix.WDIOF_FANFAULT, "fan fault"},
			{unix.WDIOF_EXTERN1, "external relay 1"},
			{unix.WDIOF_EXTERN2, "external relay 2"},
		} {
			if w.BootStatus&f.bit != 0 {
				return f.reason
			}
		}
	}
	return ""
}
