// Package policy shows of a board what its user has opened, under the user's
// names, and refuses the rest: [Wrap] makes a device.Board of a board and of
// [Rules]. Tools, resources, prompts and completion see hardware only through a
// device.Board, so nothing goes round it.
//
// A refusal is a *device.Error of the kind device.ErrPermission that says which
// rule it was and where it stands:
//
//	board.toml:12: line "pump": it may only be read; access = "write" would allow this
//
// Package boardfile reads the rules from a file; here they are plain types, whose
// toml tags are the words of that file.
package policy

import (
	"time"

	"boardhand/device"
)

// Rules are what a board file says but for the simulated board's wiring. They
// must not change once they were given to Wrap.
type Rules struct {
	File string `toml:"-"` // the file's name, for errors

	Name        string `toml:"name"`        // of the board, for people and the model
	Description string `toml:"description"` // what it is for; told to the model
	// Allow says what becomes of the things that the file does not name.
	Allow Allow `toml:"allow"`
	// ReadOnly refuses whatever would change the board or what is connected to it.
	ReadOnly bool `toml:"read_only"`

	Lines    []Line       `toml:"line"`
	I2C      []Chip       `toml:"i2c"`
	SPI      []SPI        `toml:"spi"`
	Sensors  []Sensor     `toml:"sensor"`
	UARTs    []UART       `toml:"uart"`
	CAN      []CAN        `toml:"can"`
	Modbus   []Modbus     `toml:"modbus"`
	PWM      []PWM        `toml:"pwm"`
	LEDs     []LED        `toml:"led"`
	System   System       `toml:"system"`
	Tools    ToolRules    `toml:"tools"`
	Own      []OwnTool    `toml:"tool"`
	Limits   Limits       `toml:"limits"`
	Outputs  OutputLimits `toml:"outputs"`
	Consent  Consent      `toml:"consent"`
	Audit    Audit        `toml:"audit"`
	Watchdog Watchdog     `toml:"watchdog"`
}

// Allow says what is open of a board besides what the file names.
type Allow uint8

// What is open: by "listed" nothing else, by "everything" all else.
const (
	Listed Allow = iota
	Everything
)

// Access is what may be done with a thing.
type Access uint8

// The kinds of access, each with those before it. Default is "read", but for a
// register, which has its chip's.
const (
	AccessDefault Access = iota
	AccessNone           // "none": closed, and not listed
	AccessRead           // "read"
	AccessWrite          // "write": all that the board can do with it
)

// Rule is what the rules about single things share.
type Rule struct {
	At          int    `toml:"-"`           // the line of the file on which it begins
	Name        string `toml:"name"`        // the user's; empty: the board's own
	Description string `toml:"description"` // told to the model
	Access      Access `toml:"access"`
	// Confirm says that a person is asked before each call that acts on it.
	Confirm bool `toml:"confirm"`
	// Rate is how often calls may act on it; zero: as often as they like.
	Rate Rate `toml:"rate"`
	// Secret keeps what is written to it and read from it out of the audit.
	Secret bool `toml:"secret"`
}

// Rate is so many calls within a time: "10/s", "5/min", "100/h".
type Rate struct {
	Count int
	Per   time.Duration
}

// Line is one digital line. Of an input the keys from safe on say nothing, and
// are refused without access = "write".
type Line struct {
	Rule
	Line    string        `toml:"line"`    // the board's name of it: "GPIO17"
	Safe    Level         `toml:"safe"`    // where it goes when nobody holds it any more
	Initial Level         `toml:"initial"` // where it goes at the start
	MaxOn   time.Duration `toml:"max_on"`  // the longest that it may be on at a stretch
	MinOff  time.Duration `toml:"min_off"` // the shortest that it must be off before it is on again
	// On is the level at which it is "on"; unset: the one that is not safe, or high.
	On       Level    `toml:"on"`
	Needs    []string `toml:"needs"`    // names of lines that must be on as long as it is
	Excludes []string `toml:"excludes"` // names of lines that must not be on with it
}

// Level is how an output stands.
type Level uint8

// The levels: "low", "high", and "input", which drives nothing.
const (
	LevelUnset Level = iota
	LevelLow
	LevelHigh
	LevelInput
)

// Chip is an address of an I2C bus, or a range of addresses that are alike. Access
// is of every register that has no entry of its own, and so "none" with some
// registers opens just those. "read" lets a register number be written, and no
// data behind it.
type Chip struct {
	Rule
	Bus       int        `toml:"bus"`
	Addresses Range      `toml:"address"` // 0x76, "0x20-0x27", "any"
	TenBit    bool       `toml:"ten_bit"`
	Registers []Register `toml:"register"`
	// RegisterWidth is how many bytes a register's number has, 0 to 2; unset: 1. One
	// without register numbers has 0, and "read" writes nothing to it then.
	RegisterWidth *int `toml:"register_width"`
	// RegisterBytes is how many bytes there are between a register number and the
	// next; 0 is 1.
	RegisterBytes int `toml:"register_bytes"`
}

// Register is a register of a chip, or a range of them.
type Register struct {
	Rule
	Numbers Range `toml:"register"` // 0xf7, "0xf7-0xfe"
	Value
}

// Value says how bytes are a number, and which a write may have.
type Value struct {
	Type   string          `toml:"type"`   // as of device.Form, and of Modbus "text" too; empty: bytes, and of Modbus u16
	Order  string          `toml:"order"`  // "big", the default, or "little"; of Modbus, of the words
	Scale  *device.Decimal `toml:"scale"`  // what the number is multiplied by
	Offset *device.Decimal `toml:"offset"` // what is added then
	Unit   string          `toml:"unit"`   // of the result: "°C"
	Min    *float64        `toml:"min"`    // the least that may be written, in Unit
	Max    *float64        `toml:"max"`
}

// SPI is one SPI device. A transfer always writes: "read" allows those alone that
// begin with one of Commands.
type SPI struct {
	Rule
	Device   string   `toml:"device"`   // "spidev0.1"
	Commands []string `toml:"commands"` // in hex, "9f"; each chip select must begin with one
	MaxHz    int64    `toml:"max_hz"`
	// Mode is the only one allowed, 0 to 3; unset: any, or with commands 0.
	Mode *int `toml:"mode"`
}

// Sensor is one sensor, whose value may be converted: scale and offset make it
// one of unit, and one outside min to max is told as suspect.
type Sensor struct {
	Rule
	Sensor string          `toml:"sensor"` // the board's name of it: "cpu-thermal"
	Scale  *device.Decimal `toml:"scale"`
	Offset *device.Decimal `toml:"offset"` // added to the scaled value
	Unit   string          `toml:"unit"`
	Min    *float64        `toml:"min"`
	Max    *float64        `toml:"max"`
}

// UART is one serial port. "read" lets it be opened and listened to, and sends
// nothing but Commands.
type UART struct {
	Rule
	Port string `toml:"port"` // as device.UART.Find takes it: "ttyUSB0", a by-id path, "0403:6001"
	// Mode is what the port is opened in, and the only one allowed; empty: any.
	Mode     string   `toml:"mode"`
	Commands []string `toml:"commands"` // whole texts, but for the line end, that "read" may send
	MaxSend  int      `toml:"max_send"` // bytes of one write; 0: no limit of its own
	// Control allows DTR, RTS, break and RS-485 to be set; it needs "write".
	Control *bool `toml:"control"`
}

// CAN is one CAN interface. "read" receives.
type CAN struct {
	Rule
	Interface string   `toml:"interface"`
	Send      []string `toml:"send"`    // the ids that may be sent, "7e0", "18da00f1", "7e0/7f8" with a mask; empty: any
	Receive   []string `toml:"receive"` // the ids that are shown; empty: all
}

// Modbus is one device that speaks Modbus, on a serial port or the network.
// Access is of every register and coil that is no point. It opens the target for
// whole Modbus requests alone, and what a [[uart]] rule says of the port is of
// everything else.
type Modbus struct {
	Rule
	Target string  `toml:"target"`  // "ttyUSB1", "192.0.2.10", "192.0.2.10:502"; or the name of a [[uart]]
	UnitID *int    `toml:"unit_id"` // 0 to 255; unset: 1
	Mode   string  `toml:"mode"`    // of a serial port; empty: that of its [[uart]], or 19200 8E1
	Points []Point `toml:"point"`
}

// Point is a value that a Modbus device has.
type Point struct {
	Rule
	Kind    string `toml:"kind"`    // "holding", "input", "coil" or "discrete"; empty: holding
	Address *int   `toml:"address"` // from 0
	Count   int    `toml:"count"`   // of values; 0 is 1
	Value
}

// PWM is one PWM channel.
type PWM struct {
	Rule
	Channel string    `toml:"channel"` // "pwmchip0/0", "3f20c000.pwm/1"
	MinHz   *float64  `toml:"min_hz"`
	MaxHz   *float64  `toml:"max_hz"`
	MinDuty *float64  `toml:"min_duty"` // %
	MaxDuty *float64  `toml:"max_duty"` // %
	Safe    *SafeDuty `toml:"safe"`     // where it goes when nobody holds it any more
}

// SafeDuty is a share of the period in percent, or "off".
type SafeDuty struct {
	Off  bool
	Duty float64 // %
}

// LED is one LED.
type LED struct {
	Rule
	LED           string `toml:"led"` // "ACT"
	MaxBrightness *int   `toml:"max_brightness"`
	Safe          *int   `toml:"safe"` // the brightness that it goes to when nobody holds it any more
}

// System is what the machine knows of itself: load, memory, storage, networks.
type System struct {
	At     int    `toml:"-"`
	Access Access `toml:"access"` // "read" or "none", which is the default unless all is allowed
}

// ToolRules open and close whole tools, by name or by the begin of one and a star:
// "gpio_*".
type ToolRules struct {
	At      int             `toml:"-"`
	Allow   []string        `toml:"allow"`   // empty: all that the board has something for
	Deny    []string        `toml:"deny"`    // wins over allow
	Confirm []string        `toml:"confirm"` // a person is asked before each call
	Rate    map[string]Rate `toml:"rate"`    // by tool, or begin and star
	Secret  []string        `toml:"secret"`  // arguments and results stay out of the audit
}

// Limits bound what one connection may take. Zero: the program's own limit.
type Limits struct {
	At          int  `toml:"-"`
	Calls       Rate `toml:"calls"`        // of all tools together
	Jobs        int  `toml:"jobs"`         // calls that wait at the same time
	ResultBytes int  `toml:"result_bytes"` // of one result
	Handles     int  `toml:"handles"`      // serial ports that are open at the same time
}

// OutputLimits are about all outputs.
type OutputLimits struct {
	At        int           `toml:"-"`
	State     string        `toml:"state"`      // the folder of the journals of what is in use; empty: the program's own place
	LinkGrace time.Duration `toml:"link_grace"` // how long a serial line may be silent before outputs are safe; 0: the program's own
	HTTPGrace time.Duration `toml:"http_grace"` // the same without a request over HTTP
}

// Consent is about the questions that confirm asks.
type Consent struct {
	At      int           `toml:"-"`
	Expires time.Duration `toml:"expires"` // how long an answer may take; 0: the program's own
}

// Audit is where acting calls are written down.
type Audit struct {
	At      int    `toml:"-"`
	File    string `toml:"file"`      // empty: nowhere
	MaxSize int    `toml:"max_bytes"` // of one file, after which the next begins; 0: the program's own
	Keep    int    `toml:"keep"`      // older files that are kept; 0: the program's own
	Reads   bool   `toml:"reads"`     // calls that only read are written down too
}

// Watchdog is the hardware's own, which restarts a machine that hangs.
type Watchdog struct {
	At      int           `toml:"-"`
	Device  string        `toml:"device"`  // "/dev/watchdog"; empty: none
	Timeout time.Duration `toml:"timeout"` // after which it resets; 0: as it is
}

// OwnTool is a tool of the user's own: steps, run in order, each through these
// same rules. Text in a step may hold {param}, which becomes that argument; other
// braces are themselves.
type OwnTool struct {
	At          int           `toml:"-"`
	Name        string        `toml:"name"` // [a-z0-9_]
	Title       string        `toml:"title"`
	Description string        `toml:"description"`
	ReadOnly    bool          `toml:"read_only"` // it changes nothing: told to the model, and writing steps are refused
	Confirm     bool          `toml:"confirm"`
	Rate        Rate          `toml:"rate"`
	Timeout     time.Duration `toml:"timeout"` // of all steps; 0: the program's own
	Params      []ToolParam   `toml:"param"`
	Steps       []Step        `toml:"step"`
}

// ToolParam is a parameter of a user's tool.
type ToolParam struct {
	At          int      `toml:"-"`
	Name        string   `toml:"name"`
	Type        string   `toml:"type"` // "string", "integer", "number" or "boolean"; empty: string
	Description string   `toml:"description"`
	Required    bool     `toml:"required"`
	Default     string   `toml:"default"` // as text, of any type
	Min         *float64 `toml:"min"`
	Max         *float64 `toml:"max"`
	Choices     []string `toml:"choices"`
	Secret      bool     `toml:"secret"`
}

// Step is one step of a user's tool: exactly one of Set, Read, I2C, UART, Modbus,
// Wait and Program says which kind it is, and the rest belongs to that kind.
type Step struct {
	At int `toml:"-"`

	Set   string `toml:"set"`   // a line, which goes to Level
	Level string `toml:"level"` // "low", "high", "0", "1" or "{param}"
	For   string `toml:"for"`   // then back: "5s" or "{param}", which is of ms

	Read string `toml:"read"` // a line or a sensor, whose value is in the result

	I2C      string `toml:"i2c"`      // a chip's name
	Register string `toml:"register"` // a register's name or number
	Write    string `toml:"write"`    // what is written, in hex; of Modbus, a value
	Length   int    `toml:"length"`   // bytes to read

	UART  string `toml:"uart"`  // a port's name
	Send  string `toml:"send"`  // text
	Until string `toml:"until"` // the text that ends the answer

	Modbus string `toml:"modbus"` // a point's name; with Write it is written, else read

	Wait string `toml:"wait"` // "100ms" or "{param}", which is of ms

	Program []string `toml:"program"` // its path and its arguments, never a shell
	MaxOut  int      `toml:"max_output"`

	Timeout time.Duration `toml:"timeout"` // of a UART's answer or a program
	As      string        `toml:"as"`      // what the result calls what was read; empty: the name of the thing
}
