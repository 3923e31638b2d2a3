package device

import "time"

// Status is how the machine itself is doing. What the board does not tell stays
// zero. Every list has a limit, beyond which it ends: see MaxStatus.
type Status struct {
	Uptime    time.Duration // since boot
	Load      [3]float64    // processes that run or wait, over 1, 5 and 15 minutes
	MemTotal  int64         // bytes
	MemFree   int64         // bytes that programs can still have
	SwapTotal int64         // bytes
	SwapFree  int64         // bytes
	// BootReason is why the machine booted, where something tells: "watchdog".
	BootReason string
	// Throttling is what slows the processor or troubles its supply, in words, with
	// "now" or "since boot": "under-voltage now". Where Throttled is false nothing tells.
	Throttled  bool
	Throttling []string
	Storage    []Storage
	Networks   []Network
	Watchdogs  []Watchdog
}

// MaxStatus is the most entries of each list of a Status.
const MaxStatus = 16

// Storage is one mounted file system that keeps things.
type Storage struct {
	Mount    string // where: "/"
	Device   string // "/dev/mmcblk0p2"
	Type     string // "ext4"
	Total    int64  // bytes; 0 where it gave no answer
	Free     int64  // bytes that programs can still have
	ReadOnly bool
}

// Network is one network interface.
type Network struct {
	Name      string
	State     string // RFC 2863: "up", "down", "dormant"; "unknown" where the driver does not tell
	MAC       string // or empty
	Mbit      int    // of its link; 0 where it does not tell
	RxBytes   uint64
	TxBytes   uint64
	Errors    uint64   // received and sent
	Addresses []string // with the length of the prefix: "192.0.2.7/24"
}

// Watchdog is one watchdog timer, as it says without being opened: opening would
// start it.
type Watchdog struct {
	Name       string // "watchdog0"
	Identity   string // "Broadcom BCM2835 Watchdog timer"
	State      string // "active" or "inactive"
	Timeout    time.Duration
	TimeLeft   time.Duration // where HasLeft
	HasLeft    bool
	NoWayOut   bool   // once started it cannot be stopped
	BootStatus uint32 // WDIOF_ bits of why it last reset the machine
}

// System is what a machine knows of itself.
type System interface {
	// Status looks everything up anew. It can wait for a disk that hangs.
	Status() (Status, error)
}
