package tools

import (
	"slices"
	"testing"

	"boardhand/device"
	"boardhand/device/sim"
)

// named is a board with the names of a board file.
type named struct {
	device.Board
	names device.Names
}

func (n named) Names() *device.Names { return &n.names }

// The simulated board has every family, and so every tool, but for what a board
// file's names bring.
func TestNamesAreThoseOfAllTools(t *testing.T) {
	b := sim.Open(sim.Wiring{CAN: "up", PWM: true})
	defer b.Close()
	cat, guard := Catalogue(named{b, device.Names{Points: []device.Point{{Name: "flow"}}}}, "1", nil)
	defer guard.Close()
	var got []string
	for i := range cat.Tools {
		got = append(got, cat.Tools[i].Name)
	}
	want := slices.Clone(Names)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the simulated board has %q; Names are %q", got, want)
	}
}

// What acts on a thing says on which, or no rule about it would see the call.
func TestWhatActsSaysOnWhat(t *testing.T) {
	b := sim.Open(sim.Wiring{CAN: "up", PWM: true})
	defer b.Close()
	cat, guard := Catalogue(b, "1", nil)
	defer guard.Close()
	for i := range cat.Tools {
		if t2 := &cat.Tools[i]; !t2.Hints.ReadOnly && t2.Subjects == nil {
			t.Errorf("%s may change something and names no subject", t2.Name)
		}
	}
}
