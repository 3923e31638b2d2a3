package tools

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"boardhand/device"
	"boardhand/device/sim"
)

func TestSystemInfo(t *testing.T) {
	clk := newClock()
	c := newClient(t, sim.Open(sim.Wiring{Now: clk.now}))
	clk.t = clk.t.Add(90 * time.Second)
	got := c.must("system_info", `{}`)
	for _, want := range []string{
		`{"uptime_s":90,"load_1min":0.`, `"mem_total":536870912,"mem_free":402653184,"swap_total":104857600,"swap_free":104857600,"throttling":[],`,
		`"watchdogs":[{"watchdog":"watchdog0","identity":"Broadcom BCM2835 Watchdog timer","state":"inactive","timeout_s":15}]`,
		`"storage":[{"mount":"/","device":"/dev/mmcblk0p2","type":"ext4","total":31138512896,"free":22548578304},`,
		`"temperatures":[{"sensor":"cpu-thermal","celsius":`,
		`"network":[{"interface":"eth0","state":"down","mac":"02:00:00:00:00:01","rx_bytes":0,"tx_bytes":0},` +
			`{"interface":"wlan0","state":"up","mac":"02:00:00:00:00:02","addresses":["192.0.2.17/24"],"rx_bytes":270000,"tx_bytes":180000}]}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

// status is a machine that is told how it is.
type status device.Status

func (s status) Status() (device.Status, error) { return device.Status(s), nil }

func TestSystemThatTellsLittle(t *testing.T) {
	c := newClient(t, noBoard{system: status{}})
	const want = `{"uptime_s":0,"load_1min":0,"load_5min":0,"load_15min":0,"mem_total":0,"mem_free":0,"storage":[],"network":[]}`
	if got := c.must("system_info", `{}`); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSystemInTrouble(t *testing.T) {
	c := newClient(t, noBoard{system: status{
		BootReason: "watchdog", Throttled: true, Throttling: []string{"under-voltage now"},
		Storage:   []device.Storage{{Mount: "/", Device: "/dev/x", Type: "ext4", Total: 2, Free: 1, ReadOnly: true}, {Mount: "/mnt", Device: "/dev/y", Type: "vfat"}},
		Networks:  []device.Network{{Name: "eth0", State: "up", Mbit: 100, Errors: 7}},
		Watchdogs: []device.Watchdog{{Name: "watchdog0", State: "active", Timeout: 15 * time.Second, TimeLeft: 9 * time.Second, HasLeft: true, NoWayOut: true, BootStatus: 32}},
	}})
	got := c.must("system_info", `{}`)
	for _, want := range []string{`"boot_reason":"watchdog"`, `"throttling":["under-voltage now"]`, `"read_only":true},{"mount":"/mnt","device":"/dev/y","type":"vfat"}`,
		`"mbit":100,"rx_bytes":0,"tx_bytes":0,"errors":7}`, `"timeout_s":15,"left_s":9,"nowayout":true,"bootstatus":32}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
}

func TestSystemInfoIsCutBelow8KB(t *testing.T) {
	var s status
	for i := range device.MaxStatus {
		s.Storage = append(s.Storage, device.Storage{Mount: fmt.Sprintf("/mnt/%0200d", i), Device: "/dev/sda", Type: "ext4", Total: 1 << 40, Free: 1 << 39})
		n := device.Network{Name: fmt.Sprint("eth", i), State: "up", MAC: "02:00:00:00:00:01", RxBytes: 1 << 60, TxBytes: 1 << 60}
		for range 8 {
			n.Addresses = append(n.Addresses, "2001:db8:1111:2222:3333:4444:5555:6666/64")
		}
		s.Networks = append(s.Networks, n)
		s.Watchdogs = append(s.Watchdogs, device.Watchdog{Name: "watchdog0", Identity: "x", State: "inactive"})
	}
	c := newClient(t, noBoard{system: s})
	_, raw := c.ask("tools/call", `"name":"system_info"`)
	if len(raw) > 8000 || !strings.Contains(raw, `"omitted":`) {
		t.Errorf("%d bytes: %s", len(raw), raw)
	}
}
