package device

// Condition is how an interface of a machine was found.
type Condition uint8

// The conditions. Only FoundUnusable is something to mend.
const (
	FoundUsable   Condition = iota // this user can work with it
	FoundOwned                     // there, and at work for the kernel or another program, as it should be
	FoundAbsent                    // not there
	FoundUnusable                  // there, but this user cannot work with it
)

// String is "usable", "owned", "absent" or "unusable".
func (c Condition) String() string {
	return [...]string{"usable", "owned", "absent", "unusable"}[c]
}

// Finding is what was found out about one interface, or about a family of which
// there is none. Texts are the kernel's or ours, and may hold anything printable.
type Finding struct {
	Family    string // "GPIO", "I2C", "UART"
	Name      string // "gpiochip0"; empty where the family is meant
	Condition Condition
	Detail    string   // what it is, or what is wrong with it
	Owner     string   // who has it, or a part of it; empty: nobody
	Mend      []string // what to do, in order: commands, or lines and where they go
}

// Diagnosis is what a look at a machine, as one user, found.
type Diagnosis struct {
	Info     Info
	Machine  string   // what the kernel calls its processor: "aarch64"
	User     string   // who looked
	Groups   []string // of which that user's process is a member
	Findings []Finding
}

// Well says that nothing was found unusable.
func (d *Diagnosis) Well() bool {
	for i := range d.Findings {
		if d.Findings[i].Condition == FoundUnusable {
			return false
		}
	}
	return true
}
