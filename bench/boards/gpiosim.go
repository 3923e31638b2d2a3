//go:build linux

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A chip of gpio-sim (Documentation/admin-guide/gpio/gpio-sim.rst) is made in the
// guest and seen and moved there, in sysfs: simLines is the directory of its lines,
// and stands for the device of a pin and for what is watched.
const (
	simLines = "/sys/devices/platform/gpio-sim.0/gpiochip0"
	simGroup = "/sys/kernel/config/gpio-sim/board"
)

func isSim(device string) bool { return device == simLines }

// makeSim gives the commands that make the chip: its label, so many lines, their
// names, and the line that the kernel holds.
func makeSim(label string, lines int, names map[int]string, hog int) [][]string {
	bank := simGroup + "/bank"
	commands := [][]string{{"mkdir", simGroup}, {"mkdir", bank},
		{"write", bank + "/num_lines", strconv.Itoa(lines)}, {"write", bank + "/label", label}}
	for n := range lines {
		line := bank + "/line" + strconv.Itoa(n)
		if names[n] == "" && n != hog {
			continue
		}
		commands = append(commands, []string{"mkdir", line})
		if names[n] != "" {
			commands = append(commands, []string{"write", line + "/name", names[n]})
		}
		if n == hog {
			commands = append(commands, []string{"mkdir", line + "/hog"},
				[]string{"write", line + "/hog/name", "hog"}, []string{"write", line + "/hog/direction", "output-high"})
		}
	}
	return append(commands, []string{"write", simGroup + "/live", "1"})
}

func simFile(n int, attribute string) string {
	return fmt.Sprintf("%s/sim_gpio%d/%s", simLines, n, attribute)
}

// driveSim moves an input by its pull.
func (b *board) driveSim(p pin, to int) error {
	_, err := b.guest.do(nil, "write", simFile(p.n, "pull"), [...]string{"pull-down", "pull-up"}[to])
	return err
}

// seenSim waits until a line has the level.
func (b *board) seenSim(n, to int) error {
	return b.soon(func() error {
		text, err := b.guest.read(simFile(n, "value"))
		if err == nil && strings.TrimSpace(text) != strconv.Itoa(to) {
			err = fmt.Errorf("line %d is seen at %q, not at %d", n, text, to)
		}
		return err
	})
}

// gpioPulls checks that a pull which is configured is what the chip has and what
// its line reads.
func gpioPulls(name string, n int) check {
	return check{fmt.Sprintf("gpio_configure of %s pulls it up and down", name), func(b *board) error {
		for _, step := range []struct {
			set, bias string
			level     int
		}{{"in pull_up", "pull-up", 1}, {"pull_down", "pull-down", 0}, {"pull_up", "pull-up", 1}} {
			var got struct {
				After struct {
					Direction, Bias string
					Level           int
				}
			}
			if err := b.mcp.tool("gpio_configure", arguments{"line": name, "set": step.set}, &got); err != nil {
				return err
			}
			pull, err := b.guest.read(simFile(n, "pull"))
			if err != nil {
				return err
			}
			if pull != step.bias || got.After.Direction != "in" || got.After.Level != step.level {
				return fmt.Errorf("%q gives %+v, and the chip has %q", step.set, got.After, pull)
			}
			if err := b.seen(n, step.level); err != nil {
				return err
			}
		}
		return b.mcp.tool("gpio_configure", arguments{"line": name, "set": "release"}, new(any))
	}}
}
