package device

import "time"

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
	Debounce  time.Duration // of an input; 0: none
	// Held says that this process holds the line.
	Held bool
	// Owner is who else holds the line ("spi0 CS0", "another process"), empty when free
	// or held by this process. An owned line can be neither read nor written.
	Owner string
	// Slow says that reaching the line needs a transfer on a bus (an I/O expander), which can wait.
	Slow bool
	// Description is what the board file says of it, or empty.
	Description string
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

// Config is how a line is set up.
type Config struct {
	Direction Direction
	// Level is what an output drives, and what an input was read as.
	Level     Level
	ActiveLow bool
	// Bias is BiasUnknown where nobody has set one; then Configure leaves the pull
	// as it is. A kernel does not say whether its driver can set a bias: one that
	// cannot shows it as set all the same.
	Bias Bias
	// Drive is of an output; an input ignores it.
	Drive Drive
	// Debounce is how long an input must stand still before its new level counts;
	// an output ignores it. 0: none. The kernel keeps whole microseconds, in
	// software where the chip has none of its own.
	Debounce time.Duration
}

// MaxDebounce is the longest Debounce: what the kernel's 32 bits of microseconds
// hold is far more, and no contact bounces for so long.
const MaxDebounce = 10 * time.Second

// Edges says which changes of a line are events.
type Edges uint8

// The edges, of the logical level.
const (
	Rising    Edges = 1 << iota // low to high
	Falling                     // high to low
	BothEdges = Rising | Falling
)

// Event is one change of a line's level, as the kernel saw it.
type Event struct {
	Line  int   // which of the names given to Watch
	Level Level // after the change
	// Since is when, by the kernel's clock, counted from the begin of the watch.
	Since time.Duration
	// Seq is the kernel's own count of the line's events in this watch, from 1. A
	// number that is missing is an event that was lost: the kernel drops the oldest
	// when nobody fetches them.
	Seq uint32
}

// MaxWatched is how many lines one Watch can have.
const MaxWatched = 16

// Watcher records the events of some lines. Its methods are for one goroutine at a
// time.
type Watcher interface {
	// Next appends the events that have come in, at most a few dozen, by time. It
	// waits for the first until wait has passed; then it appends none, without an
	// error. It keeps no slice and allocates nothing while dst has room for 64 more.
	// After Board.Close, and when the chip is gone, it fails with ErrUnplugged.
	Next(dst []Event, wait time.Duration) ([]Event, error)
	// Close ends the watch. The lines are as they were before it. It is safe to
	// call twice.
	Close() error
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
	// or Close; before is how it stood just before this call: of a held output the level
	// that it drives, which the pin need not show. A held output just changes level; what else was configured stays. A line that is watched is
	// ErrBusy. It does not keep name. It allocates nothing for a held line.
	Write(name string, level Level) (before State, err error)
	// Configure changes how the named line is set up, and holds it so until Release
	// or Close. change is called once, with how it is set up, and makes of it how it
	// shall be; an error of change comes back as it is, and nothing was changed. A
	// level of an output stays what it is at the pin unless change sets it: to
	// reverse ActiveLow, reverse Level too. What the chip cannot do is
	// ErrNotSupport, and a line that is watched ErrBusy; then the line is as before.
	// after is what the kernel shows in the end.
	Configure(name string, change func(*Config) error) (before, after Config, err error)
	// Release puts a held line back to how it was set up before its first Write
	// or Configure and gives it up; a bias that was BiasUnknown then stays as it was
	// set, for nobody knows the former one. A line that is not held is left alone,
	// without error; one that is held and watched is ErrBusy.
	Release(name string) error
	// Rest says how Release and Close leave the named line, held now or later, in
	// place of how it was before its first Write or Configure. It changes nothing
	// by itself. An output at rest keeps its level for as long as its chip does:
	// some make a line an input when the last process lets it go.
	Rest(name string, c Config) error
	// Watch begins to record the edges of the named lines, at most MaxWatched, each
	// once. It holds no line beyond the Watcher's Close and changes none: each must
	// be an input, or it is ErrNotSupport. A line that is watched already is ErrBusy.
	Watch(names []string, edges Edges) (Watcher, error)
}
