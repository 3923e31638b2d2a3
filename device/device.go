// Package device says what a board is: its lines, buses and sensors, the units
// they are measured in and the errors they give. It does no I/O and knows no
// JSON. Two packages implement it: device/linux on the kernel's own interfaces
// and device/sim, a simulated board.
//
// A board is a set of families. A family that the board lacks is nil, so a tool
// exists only where its hardware does:
//
//	if g := board.GPIO(); g != nil { ... }
//
// All methods may be called from several goroutines at once. Names are matched
// exactly. No method retries anything that acts.
package device

import "time"

// Board is one board. The families it returns live until Close.
type Board interface {
	// Info describes the board; it is read anew on every call.
	Info() Info
	// GPIO is the board's digital lines, or nil.
	GPIO() GPIO
	// I2C is the board's I2C buses, or nil.
	I2C() I2C
	// Sensors is what the board measures of itself and its surroundings, or nil.
	Sensors() Sensors
	// Close puts every line that was written back to the state it had before
	// (see GPIO.Release) and frees what is held. It is safe to call twice, and does
	// not wait for a transfer that hangs. A closed board reads and acts no more:
	// its families' methods fail with ErrUnplugged.
	Close() error
}

// Info describes a board for a person and a model.
type Info struct {
	Model     string        // "Raspberry Pi Zero 2 W Rev 1.0", or what the firmware calls it
	Simulated bool          // nothing here is real
	Hostname  string        // as the kernel has it
	Kernel    string        // "Linux 6.1.0"
	Arch      string        // "arm64", as Go names it
	CPUs      int           // processors online
	MemTotal  int64         // bytes
	MemFree   int64         // bytes that programs can still have (MemAvailable)
	Uptime    time.Duration // since boot
}

// Level is the logical level of a line: active-low is already applied.
type Level uint8

// The two levels.
const (
	Low  Level = 0
	High Level = 1
)

// Direction is which way a line is driven.
type Direction uint8

// The two directions.
const (
	In Direction = iota
	Out
)

// Line is a snapshot of one digital line.
type Line struct {
	Name      string // unique on the board, never empty: the kernel's name, else "LABEL:OFFSET"
	Chip      string // "gpiochip0"
	Offset    uint32 // on its chip
	Direction Direction
	ActiveLow bool
	Bias      Bias
	Drive     Drive
	// Held says that this process holds the line.
	Held bool
	// Owner is who else holds the line ("spi0 CS0", "another process"), empty when free
	// or held by this process. An owned line can be neither read nor written.
	Owner string
	// Slow says that reaching the line needs a transfer on a bus (an I/O expander), which can wait.
	Slow bool
}

// Bias is the pull on a line.
type Bias uint8

// The biases. BiasUnknown is what the kernel reports when nobody has set one.
const (
	BiasUnknown Bias = iota
	BiasOff
	BiasUp
	BiasDown
)

// Drive is how an output drives its line.
type Drive uint8

// The drives.
const (
	PushPull Drive = iota
	OpenDrain
	OpenSource
)

// State is how a line stood: which way it was driven, and its level.
type State struct {
	Direction Direction
	Level     Level
}

// GPIO is a board's digital lines.
type GPIO interface {
	// Lines appends a snapshot of every line, ordered by chip and offset. The
	// strings are the caller's to keep.
	Lines(dst []Line) ([]Line, error)
	// Find describes the line called name: the name in Lines, or "GPIO17" for
	// offset 17 of the processor's own chip where the kernel has no such name.
	// An unknown name is ErrNotFound.
	Find(name string) (Line, error)
	// Read puts the level of each named line into levels, which is as long as
	// names. It never changes a line: an output stays an output and keeps its
	// level. Either all are read or none. It keeps neither slice nor string and
	// allocates nothing once a line has been seen.
	Read(names []string, levels []Level) error
	// Write makes the named line an output at level and holds it until Release
	// or Close; before is how it stood just before this call. A held line just
	// changes level. It does not keep name. It allocates nothing for a held line.
	Write(name string, level Level) (before State, err error)
	// Release puts a held line back to the state it had before its first Write
	// and gives it up. A line that is not held is left alone, without error.
	Release(name string) error
}

// Bus is one I2C bus.
type Bus struct {
	Number    int    // as in /dev/i2c-1
	Name      string // the adapter's name: "bcm2835 (i2c@7e804000)"
	Transfers bool   // combined transfers with a repeated start (I2C_FUNC_I2C)
	TenBit    bool   // 10-bit addresses
}

// Occupant is one address of an I2C bus at which something was found.
type Occupant struct {
	Addr uint16
	// Driver is the kernel driver bound to the address ("bme280"); such an
	// address is not probed and not open to transfers. Empty: a device answered.
	Driver string
}

// Scanning is how a scan tells its caller where it is. Both functions may be nil.
type Scanning struct {
	Progress func(done, total int) // after each address
	Stop     func() bool           // true ends the scan early with ErrCancelled
}

// MaxTransfer is the most bytes that one part of a transfer, the write or the
// read, can have: the limit of I2C_RDWR in the kernel's i2c-dev.
const MaxTransfer = 8192

// I2C is a board's I2C buses. Transfers on one bus must not overlap: the caller
// runs them on the bus's own queue.
type I2C interface {
	// Buses appends every bus, by number.
	Buses(dst []Bus) ([]Bus, error)
	// Scan appends what it finds at addresses first to last (7 bit, 0x08 to 0x77
	// by custom), by address. It reads one byte at 0x30-0x37 and 0x50-0x5f, where
	// a write would upset an EEPROM, and sends an empty write elsewhere, as
	// i2cdetect does. An address above 0x7f, or first above last, is ErrNotSupport.
	// With an error, what was found before it is appended too.
	Scan(bus int, first, last uint16, dst []Occupant, s Scanning) ([]Occupant, error)
	// Transfer writes write, then reads len(read) bytes after a repeated start,
	// in one transaction; either may be empty, not both. An address that a
	// kernel driver owns is ErrBusy. It keeps neither slice. Both empty, either
	// longer than MaxTransfer, or an address that the bus cannot send is
	// ErrNotSupport. A bus that the board lacks is ErrNotFound.
	Transfer(bus int, addr uint16, write, read []byte) error
}

// Decimal is an exact decimal number, Value * 10^Exp: 21375 and -3 are 21.375.
type Decimal struct {
	Value int64
	Exp   int8
}

// Quantity is what a sensor measures.
type Quantity uint8

// The quantities, with the unit that a Reading of each is in.
const (
	Temperature Quantity = iota // °C
	Humidity                    // %
	Pressure                    // kPa
	Voltage                     // V
	Current                     // A
	Power                       // W
	Energy                      // J
	Speed                       // rpm, of a fan
	Frequency                   // Hz
	PWM                         // %, of a fan's drive
)

// String is the quantity's name.
func (q Quantity) String() string { return quantities[q].name }

// Unit is the unit's symbol.
func (q Quantity) Unit() string { return quantities[q].unit }

var quantities = [...]struct{ name, unit string }{
	Temperature: {"temperature", "°C"},
	Humidity:    {"humidity", "%"},
	Pressure:    {"pressure", "kPa"},
	Voltage:     {"voltage", "V"},
	Current:     {"current", "A"},
	Power:       {"power", "W"},
	Energy:      {"energy", "J"},
	Speed:       {"speed", "rpm"},
	Frequency:   {"frequency", "Hz"},
	PWM:         {"pwm", "%"},
}

// Sensor is one quantity that the board can measure.
type Sensor struct {
	Name     string // unique and stable: "cpu-thermal", "bme280/temp1"
	Label    string // the kernel's label for it, or empty
	Quantity Quantity
	Source   string // "hwmon", "thermal" or "sim"
}

// Reading is one measurement.
type Reading struct {
	Value Decimal // in the unit of the sensor's quantity
	Time  time.Time
}

// Sensors is what a board measures.
type Sensors interface {
	// List appends every sensor, by name. It is looked up anew, so a sensor that
	// was plugged in appears.
	List(dst []Sensor) ([]Sensor, error)
	// Read measures. An unknown name is ErrNotFound. It can wait for a bus.
	Read(name string) (Sensor, Reading, error)
}
