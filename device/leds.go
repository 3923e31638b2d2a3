package device

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// LED is a snapshot of one LED.
type LED struct {
	Name        string // "ACT", as in /sys/class/leds
	Brightness  int    // 0 to Max, as of now: a trigger may change it at any time
	Max         int
	Trigger     string // what the kernel lets drive it: "mmc0", "timer"; "none" where nothing does
	Held        bool   // this process has set it
	Description string // what the board file says of it, or empty
}

// LEDSetting is what an LED is set to: a steady brightness, or a trigger.
type LEDSetting struct {
	Trigger    string // empty: none, and Brightness counts
	Brightness int    // 0 to the LED's Max
	// On and Off are how long the trigger "timer" lights the LED and leaves it
	// dark, in whole milliseconds; both zero: as the kernel has it, half a second each.
	On, Off time.Duration
}

// LEDs is a board's LEDs.
type LEDs interface {
	// Names appends the names of all LEDs, in order, and waits for nothing.
	Names(dst []string) ([]string, error)
	// List appends every LED, by name. Some drivers ask the hardware for the brightness.
	List(dst []LED) ([]LED, error)
	// Find describes one LED. An unknown name is ErrNotFound.
	Find(name string) (LED, error)
	// Triggers appends the triggers that the LED can have, as the kernel orders them.
	Triggers(name string, dst []string) ([]string, error)
	// Set sets an LED and holds it so until Release or Close; before is how it
	// stood just before this call. A brightness above Max is ErrNotSupport, a
	// trigger that the LED lacks ErrNotFound: nothing has changed then.
	Set(name string, s LEDSetting) (before, after LED, err error)
	// Release puts a held LED back to the trigger, with its settings, or to the
	// brightness that it had before its first Set, and gives it up. One that is
	// not held is left alone, without error.
	Release(name string) error
	// Rest says how Release and Close leave the LED, held now or later, in place of
	// how it was before. It changes nothing by itself, and refuses what Set would.
	Rest(name string, s LEDSetting) error
}

// Check says why an LED that can have triggers cannot be set so. It is the part of
// LEDs.Set that all boards share.
func (s LEDSetting) Check(led LED, triggers []string) error {
	subject := "LED " + strconv.Quote(led.Name)
	timed := s.On != 0 || s.Off != 0
	switch {
	case s.Trigger != "" && !slices.Contains(triggers, s.Trigger):
		return &Error{Subject: subject + " trigger " + strconv.Quote(s.Trigger), Kind: ErrNotFound, Hint: "it can have " + listTriggers(triggers)}
	case timed && s.Trigger != "timer":
		return &Error{Subject: subject, Kind: ErrNotSupport, Reason: "times belong to the trigger timer only", Hint: "leave them out, or set the trigger timer"}
	case timed && (s.On <= 0 || s.Off <= 0 || max(s.On, s.Off) > MaxLEDTime):
		return &Error{Subject: subject, Kind: ErrNotSupport, Reason: "lit for " + s.On.String() + ", dark for " + s.Off.String(),
			Hint: "give both, 1 ms to " + MaxLEDTime.String()}
	case s.Brightness < 0 || s.Brightness > led.Max:
		return &Error{Subject: subject, Kind: ErrNotSupport, Reason: "no brightness " + strconv.Itoa(s.Brightness),
			Hint: "0 to " + strconv.Itoa(led.Max) + " are allowed"}
	}
	return nil
}

// MaxLEDTime is the longest that a blinking LED is lit or dark.
const MaxLEDTime = time.Hour

// listTriggers is the triggers for a person; those of a keyboard are left out.
func listTriggers(triggers []string) string {
	shown := slices.DeleteFunc(slices.Clone(triggers), func(t string) bool { return strings.HasPrefix(t, "kbd-") })
	if len(shown) == 0 {
		return "none"
	}
	n := min(len(shown), 40)
	s := strings.Join(shown[:n], ", ")
	if n < len(shown) {
		s += " and " + strconv.Itoa(len(shown)-n) + " more"
	}
	return s
}
