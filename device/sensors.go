package device

import "time"

// Quantity is what a sensor measures.
type Quantity uint8

// The quantities, with the unit that a Reading of each is in.
const (
	Temperature       Quantity = iota // °C
	Humidity                          // %
	Pressure                          // kPa
	Voltage                           // V
	Current                           // A
	Power                             // W
	Energy                            // J
	Speed                             // rpm, of a fan
	Frequency                         // Hz
	FanDrive                          // %, of a fan's power
	Illuminance                       // lx
	Intensity                         // of light or radiation, no unit
	UVIndex                           // no unit
	Acceleration                      // m/s²
	AngularVelocity                   // rad/s
	Velocity                          // m/s
	Angle                             // rad
	Inclination                       // °
	MagneticField                     // µT
	Distance                          // m
	Proximity                         // no unit, higher is nearer
	Position                          // %, of a pad
	Resistance                        // Ω
	Capacitance                       // nF
	Conductivity                      // S/m
	Concentration                     // %, of a substance
	MassConcentration                 // µg/m³, of particles
	Acidity                           // pH
	Count                             // no unit
	Code                              // LSB, of a converter whose scale the kernel does not know
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
	FanDrive:    {"pwm", "%"},

	Illuminance:       {"illuminance", "lx"},
	Intensity:         {"intensity", "1"},
	UVIndex:           {"uv index", "1"},
	Acceleration:      {"acceleration", "m/s²"},
	AngularVelocity:   {"angular velocity", "rad/s"},
	Velocity:          {"velocity", "m/s"},
	Angle:             {"angle", "rad"},
	Inclination:       {"inclination", "°"},
	MagneticField:     {"magnetic field", "µT"},
	Distance:          {"distance", "m"},
	Proximity:         {"proximity", "1"},
	Position:          {"position", "%"},
	Resistance:        {"resistance", "Ω"},
	Capacitance:       {"capacitance", "nF"},
	Conductivity:      {"conductivity", "S/m"},
	Concentration:     {"concentration", "%"},
	MassConcentration: {"mass concentration", "µg/m³"},
	Acidity:           {"acidity", "pH"},
	Count:             {"count", "1"},
	Code:              {"code", "LSB"},
}

// Sensor is one quantity that the board can measure.
type Sensor struct {
	Name     string // unique and stable: "cpu-thermal", "bme280/temp1", "28-0316a2790f5c"
	Label    string // the kernel's label for it, or empty
	Quantity Quantity
	Source   string // "hwmon", "thermal", "iio", "w1" or "sim"
	// Description is what the board file says of it, or empty.
	Description string
	// Unit is that of the value where the board file converts it; empty: the quantity's.
	Unit string
	// Waits is what measuring waits for, "sensor bme280" or "w1_bus_master1":
	// sensors that wait for the same share it. Empty: the value is at hand.
	Waits string
}

// UnitOf is the unit that the sensor's values are in.
func (s *Sensor) UnitOf() string {
	if s.Unit != "" {
		return s.Unit
	}
	return s.Quantity.Unit()
}

// Reading is one measurement.
type Reading struct {
	Value Decimal // in the unit of the sensor, see UnitOf
	Time  time.Time
	// Suspect says why the value may not be what it seems, such as a code of a
	// sensor that has just got power; empty: nothing speaks against it.
	Suspect string
}

// Samples are measurements of one sensor, in their order.
type Samples struct {
	Sensor  Sensor
	Values  []Decimal
	Suspect string // as of the first suspect Reading among them, or empty
}

// Capture is what a buffer took in: as many samples of each sensor, of each scan
// one.
type Capture struct {
	Time    time.Time     // when the first scan arrived
	Span    time.Duration // from the first scan to the last
	Samples []Samples     // in the order of the names
}

// MaxSamples is the most scans that one capture takes.
const MaxSamples = 1000

// Sensors is what a board measures.
type Sensors interface {
	// List appends every sensor, by name. It is looked up anew, so a sensor that
	// was plugged in appears.
	List(dst []Sensor) ([]Sensor, error)
	// Read measures. An unknown name is ErrNotFound. It can wait for a bus.
	Read(name string) (Sensor, Reading, error)
	// Begin lets those of the named sensors that can do so measure all at the same
	// time, and waits until they have; a Read that follows at once gives what was
	// measured then. It only saves time, so it gives no error. It ends early when
	// stop is true; stop may be nil.
	Begin(names []string, stop func() bool)
	// Capture has the kernel take n scans, 1 to MaxSamples, of the named sensors,
	// which are channels of one device with a buffer, in step with that device or
	// a trigger. It ends early when stop is true, with what has arrived; nothing at
	// all is ErrTimeout. Where there is no such buffer, or no right to it, it is
	// ErrNotSupport, ErrPermission or ErrBusy, and Read still measures. What it
	// sets in the kernel it puts back. The result is the caller's to keep.
	Capture(names []string, n int, stop func() bool) (Capture, error)
}
