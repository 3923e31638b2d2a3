package sim

import (
	"math"
	"sync/atomic"
	"time"

	"boardhand/device"
)

// system is one board's view of the simulated machine.
type system struct {
	hw     *hardware
	closed atomic.Bool
}

func newLoad(seed int64) wave { return newWave(seed, 5, 0.3, 0.2, 5*time.Minute) }

// Status moves with the time since Open: the load, and what the network has counted.
func (s *system) Status() (device.Status, error) {
	if s.closed.Load() {
		return device.Status{}, errClosed()
	}
	now := s.hw.now()
	up := now.Sub(s.hw.booted)
	load := func(ago time.Duration) float64 { return math.Round(100*s.hw.load.at(now.Add(-ago))) / 100 }
	return device.Status{
		Uptime:    up,
		Load:      [3]float64{load(0), load(5 * time.Minute), load(15 * time.Minute)},
		MemTotal:  memTotal,
		MemFree:   memFree,
		SwapTotal: 100 << 20,
		SwapFree:  100 << 20,
		Throttled: true,
		Storage: []device.Storage{
			{Mount: "/", Device: "/dev/mmcblk0p2", Type: "ext4", Total: 29 << 30, Free: 21 << 30},
			{Mount: "/boot/firmware", Device: "/dev/mmcblk0p1", Type: "vfat", Total: 510 << 20, Free: 440 << 20},
		},
		Networks: []device.Network{
			{Name: "eth0", State: "down", MAC: "02:00:00:00:00:01"},
			{Name: "wlan0", State: "up", MAC: "02:00:00:00:00:02", Addresses: []string{"192.0.2.17/24"},
				RxBytes: uint64(up.Milliseconds()) * 3, TxBytes: uint64(up.Milliseconds()) * 2},
		},
		Watchdogs: []device.Watchdog{
			{Name: "watchdog0", Identity: "Broadcom BCM2835 Watchdog timer", State: "inactive", Timeout: 15 * time.Second},
		},
	}, nil
}

// The simulated machine's memory.
const (
	memTotal = 512 << 20
	memFree  = 384 << 20
)
