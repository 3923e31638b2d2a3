package device

// Names is what a board file calls the board, and those things on it that the
// board itself has no name for. It never changes, and nobody may change it.
type Names struct {
	Board       string // or empty
	Description string // of the board, or empty
	Chips       []Chip
	Devices     []ModbusDevice
	Points      []Point
}

// ModbusDevice is a device that speaks Modbus.
type ModbusDevice struct {
	Name, Description string
	Target            string // "ttyUSB1", "192.0.2.10"
	Unit              byte   // its unit id
}

// Chip is a device on an I2C bus.
type Chip struct {
	Name, Description string
	Bus               int
	Addr              uint16 // with TenBit where it is one of 10 bits
	RegisterWidth     int    // bytes of a register's number, 1 or 2
	Registers         []Register
}

// Register is a register of a chip, or several in a row.
type Register struct {
	Name, Description string
	First, Last       uint16
	Length            int // bytes of all of it
	Form              Form
}

// Register is the chip's register called name, or nil.
func (c *Chip) Register(name string) *Register {
	for i := range c.Registers {
		if c.Registers[i].Name == name {
			return &c.Registers[i]
		}
	}
	return nil
}

// Point is a value of a device that speaks Modbus.
type Point struct {
	Name, Description string
	Target            string // as of its device
	Unit              byte   // the device's unit id
	Kind              string // "holding", "input", "coil" or "discrete"
	Address           uint16
	Count             int    // of values
	Type              string // of a register, "u16" to "f64" or "text"
	Little            bool   // the low word comes first
	Form              Form
	Writable          bool
}

// Registers is how many registers or coils the point has; of text, of which nobody
// knows, at least one.
func (p *Point) Registers() int { return p.Count * max(p.Form.Size()/2, 1) }

// Named is a Board that a board file has given names.
type Named interface {
	Board
	Names() *Names
}

// Finder is an SPI or a CAN whose things have other names too, and some of which may
// be closed.
type Finder interface {
	// Find gives the name under which the thing called name is listed. The error of
	// one that is closed says why.
	Find(name string) (string, error)
}

// NamesOf is the names of a board, which has none where there is no board file.
func NamesOf(b Board) *Names {
	if n, ok := b.(Named); ok {
		return n.Names()
	}
	return &Names{}
}

// Chip is the chip called name, or nil.
func (n *Names) Chip(name string) *Chip {
	for i := range n.Chips {
		if n.Chips[i].Name == name {
			return &n.Chips[i]
		}
	}
	return nil
}

// ChipAt is the chip at an address of a bus, or nil.
func (n *Names) ChipAt(bus int, addr uint16) *Chip {
	for i := range n.Chips {
		if n.Chips[i].Bus == bus && n.Chips[i].Addr == addr {
			return &n.Chips[i]
		}
	}
	return nil
}

// Device is the Modbus device called name, or nil.
func (n *Names) Device(name string) *ModbusDevice {
	for i := range n.Devices {
		if n.Devices[i].Name == name {
			return &n.Devices[i]
		}
	}
	return nil
}

// Point is the point called name, or nil.
func (n *Names) Point(name string) *Point {
	for i := range n.Points {
		if n.Points[i].Name == name {
			return &n.Points[i]
		}
	}
	return nil
}
