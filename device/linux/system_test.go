//go:build linux

package linux

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/contract"
)

var systemTree = map[string]string{
	"proc/uptime":  "3725.48 7000.11\n",
	"proc/loadavg": "0.52 0.58 1.59 2/345 6789\n",
	"proc/meminfo": "MemTotal:   439404 kB\nMemAvailable:     300004 kB\nSwapTotal: 100 kB\nSwapFree:  50 kB\n",
	"proc/mounts": "rootfs / rootfs rw 0 0\n/dev/root / ext4 rw,noatime 0 0\nproc /proc proc rw 0 0\n" +
		"/dev/mmcblk0p1 /no\\040such\\040place vfat ro,relatime 0 0\n/dev/mmcblk0p1 /no\\040such\\040place/again vfat ro 0 0\n" +
		"/dev/loop3 /snap/x squashfs ro 0 0\ntmpfs /run tmpfs rw 0 0\nnas:/x /mnt nfs4 rw 0 0\nubi0:data /nowhere/data ubifs rw 0 0\nshort\n",
	"sys/class/net/lo/type":                               "772\n",
	"sys/class/net/eth9/type":                             "1\n",
	"sys/class/net/eth9/address":                          "b8:27:eb:00:00:01\n",
	"sys/class/net/eth9/operstate":                        "up\n",
	"sys/class/net/eth9/speed":                            "100\n",
	"sys/class/net/eth9/ifindex":                          "999999\n",
	"sys/class/net/eth9/statistics/rx_bytes":              "5000000000\n",
	"sys/class/net/eth9/statistics/tx_bytes":              "70\n",
	"sys/class/net/eth9/statistics/rx_errors":             "2\n",
	"sys/class/net/eth9/statistics/tx_errors":             "1\n",
	"sys/class/net/can0/type":                             "280\n",
	"sys/class/net/can0/speed":                            "-1\n",
	"sys/class/net/bonding_masters":                       "\n",
	"sys/class/watchdog/watchdog0/identity":               "Broadcom BCM2835 Watchdog timer\n",
	"sys/class/watchdog/watchdog0/state":                  "active\n",
	"sys/class/watchdog/watchdog0/timeout":                "15\n",
	"sys/class/watchdog/watchdog0/timeleft":               "9\n",
	"sys/class/watchdog/watchdog0/nowayout":               "1\n",
	"sys/class/watchdog/watchdog0/bootstatus":             "32\n",
	"sys/class/watchdog/watchdog1/identity":               "Software Watchdog\n",
	"sys/class/watchdog/watchdog1/state":                  "inactive\n",
	"sys/class/watchdog/watchdog1/timeout":                "60\n",
	"sys/class/watchdog/watchdog1/timeleft":               "49\n", // of the time since the boot
	"dev/watchdog":                                        "untouched",
	"sys/devices/platform/soc/soc:firmware/get_throttled": "50005\n",
}

func TestSystemStatus(t *testing.T) {
	b := open(tree(t, systemTree))
	st, err := b.System().Status()
	must(t, err)
	// The root is this machine's, and so are its sizes.
	if len(st.Storage) != 3 || st.Storage[0].Total <= 0 || st.Storage[0].Free > st.Storage[0].Total {
		t.Fatalf("%+v", st.Storage)
	}
	st.Storage[0].Total, st.Storage[0].Free = 0, 0
	want := device.Status{
		Uptime: 3725*time.Second + 480*time.Millisecond, Load: [3]float64{0.52, 0.58, 1.59},
		MemTotal: 439404 << 10, MemFree: 300004 << 10, SwapTotal: 100 << 10, SwapFree: 50 << 10,
		BootReason: "watchdog", Throttled: true,
		Throttling: []string{"under-voltage now", "throttled now", "under-voltage since boot", "throttled since boot"},
		Storage: []device.Storage{
			{Mount: "/", Device: "/dev/root", Type: "ext4"},
			{Mount: "/no such place", Device: "/dev/mmcblk0p1", Type: "vfat", ReadOnly: true},
			{Mount: "/nowhere/data", Device: "ubi0:data", Type: "ubifs"},
		},
		Networks: []device.Network{
			{Name: "can0", State: "unknown"},
			{Name: "eth9", State: "up", MAC: "b8:27:eb:00:00:01", Mbit: 100, RxBytes: 5000000000, TxBytes: 70, Errors: 3},
		},
		Watchdogs: []device.Watchdog{
			{Name: "watchdog0", Identity: "Broadcom BCM2835 Watchdog timer", State: "active", Timeout: 15 * time.Second,
				TimeLeft: 9 * time.Second, HasLeft: true, NoWayOut: true, BootStatus: 32},
			{Name: "watchdog1", Identity: "Software Watchdog", State: "inactive", Timeout: time.Minute},
		},
	}
	if got, want := fmt.Sprintf("%+v", st), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	contract.System(t, b)
}

func TestThrottlingWhereTheMakersAttributeLacks(t *testing.T) {
	for _, c := range []struct {
		files map[string]string
		known bool
		words string
	}{
		{nil, false, ""},
		{map[string]string{"sys/class/hwmon/hwmon1/name": "rpi_volt\n", "sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n"}, true, "under-voltage now"},
		{map[string]string{"sys/class/hwmon/hwmon1/name": "rpi_volt\n", "sys/class/hwmon/hwmon1/in0_lcrit_alarm": "0\n"}, true, ""},
		{map[string]string{"sys/devices/platform/soc@107c000000/x:firmware/get_throttled": "0x0\n"}, true, ""},
		{map[string]string{"sys/devices/platform/soc/soc:firmware/get_throttled": "rubbish\n"}, false, ""},
	} {
		known, words := open(tree(t, c.files)).system.throttling()
		if got := strings.Join(words, ","); known != c.known || got != c.words {
			t.Errorf("%v: %v %q", c.files, known, got)
		}
	}
}

func TestPowerChipTellsWhyItBooted(t *testing.T) {
	for bits, want := range map[string]string{"\x00\x00\x00\x02": "under-voltage", "\x00\x00\x00\x00": "", "\x02": "", "\x00\x00\x00\x10": "watchdog"} {
		s := open(tree(t, map[string]string{"proc/device-tree/chosen/power/power_reset": bits})).system.bootReason(nil)
		if s != want {
			t.Errorf("%x: %q, want %q", bits, s, want)
		}
	}
}

func TestListsOfASystemEnd(t *testing.T) {
	files := map[string]string{}
	for i := range 40 {
		files[fmt.Sprintf("sys/class/net/eth%d/type", i)] = "1\n"
		files[fmt.Sprintf("sys/class/watchdog/watchdog%d/timeout", i)] = "1\n"
		files["proc/mounts"] += fmt.Sprintf("/dev/sd%d /nowhere/%d ext4 rw 0 0\n", i, i)
	}
	st, err := open(tree(t, files)).System().Status()
	must(t, err)
	if len(st.Networks) != device.MaxStatus || len(st.Storage) != device.MaxStatus || len(st.Watchdogs) != device.MaxStatus {
		t.Errorf("%d %d %d", len(st.Networks), len(st.Storage), len(st.Watchdogs))
	}
}

// The kernel of this machine, whichever it is, answers for the loopback.
func TestAddressesOfThisMachine(t *testing.T) {
	all := interfaceAddresses()
	if len(all) == 0 {
		t.Skip("this kernel gives no addresses")
	}
	for index, addresses := range all {
		if slices.Contains(addresses, "127.0.0.1/8") && index == 1 {
			return
		}
	}
	t.Skipf("no loopback among %v", all)
}
