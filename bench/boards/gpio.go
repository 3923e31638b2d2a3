//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// level is one line of a gpio_read.
type level struct {
	Line  string
	Level int
}

// readLines is gpio_read.
func (b *board) readLines(names ...string) ([]level, error) {
	var got struct{ Lines []level }
	if err := b.mcp.tool("gpio_read", arguments{"lines": names}, &got); err != nil {
		return nil, err
	}
	if len(got.Lines) != len(names) {
		return nil, fmt.Errorf("%d levels for %d lines", len(got.Lines), len(names))
	}
	for i, l := range got.Lines {
		if l.Line != names[i] || l.Level != 0 && l.Level != 1 {
			return nil, fmt.Errorf("level %d of line %q where %q was asked for", l.Level, l.Line, names[i])
		}
	}
	return got.Lines, nil
}

// writeLine is gpio_write; it checks that the line stood at before.
func (b *board) writeLine(name string, to int, before string) error {
	var got struct {
		Line   string
		Level  int
		Before struct {
			Direction string
			Level     int
		}
	}
	if err := b.mcp.tool("gpio_write", arguments{"line": name, "level": to}, &got); err != nil {
		return err
	}
	stood := got.Before.Direction
	if stood == "out" {
		stood += " " + strconv.Itoa(got.Before.Level)
	}
	if got.Line != name || got.Level != to || stood != before {
		return fmt.Errorf("wrote %d to %s and got %+v, want before %q", to, name, got, before)
	}
	return nil
}

// gpioList checks the pages of gpio_list: so many lines in all match, each once,
// and one is owned.
func gpioList(match string, total int, owned, owner string) check {
	return check{fmt.Sprintf("gpio_list gives %d lines, %s owned by %q", total, owned, owner), func(b *board) error {
		seen := map[string]bool{}
		found := ""
		for offset := 0; ; {
			a := arguments{"offset": offset}
			if match != "" {
				a["match"] = match
			}
			var page struct {
				Lines []struct{ Line, Direction, Owner string }
				Total int
				Next  int
			}
			if err := b.mcp.tool("gpio_list", a, &page); err != nil {
				return err
			}
			if page.Total != total {
				return fmt.Errorf("the total is %d", page.Total)
			}
			for _, l := range page.Lines {
				if seen[l.Line] || l.Line == "" || l.Direction != "in" && l.Direction != "out" {
					return fmt.Errorf("line %+v, seen before: %v", l, seen[l.Line])
				}
				seen[l.Line] = true
				if l.Line == owned {
					found = l.Owner
				}
			}
			if page.Next == 0 {
				break
			}
			if page.Next <= offset {
				return fmt.Errorf("after offset %d comes %d", offset, page.Next)
			}
			offset = page.Next
		}
		if len(seen) != total {
			return fmt.Errorf("%d lines on all pages", len(seen))
		}
		if !strings.Contains(found, owner) {
			return fmt.Errorf("its owner is %q", found)
		}
		return nil
	}}
}

// gpioReads checks that lines which nobody drives can be read together.
func gpioReads(names ...string) check {
	return check{"gpio_read of " + strings.Join(names, ", "), func(b *board) error {
		_, err := b.readLines(names...)
		return err
	}}
}

// gpioReadsDriven checks that a line is read as the pin is driven from outside.
func gpioReadsDriven(name string, p pin) check {
	return check{fmt.Sprintf("gpio_read of %s follows the pin", name), func(b *board) error {
		for _, want := range []int{1, 0, 1, 0} {
			if err := b.drive(p, want); err != nil {
				return err
			}
			// The emulator's processor may be a step behind its pins.
			err := b.soon(func() error {
				got, err := b.readLines(name)
				if err == nil && got[0].Level != want {
					err = fmt.Errorf("it reads %d while the pin is at %d", got[0].Level, want)
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// gpioWriteSeen checks that a written line is held, moves the pin, and is what the
// kernel has. It leaves the line high; see givenBack.
func gpioWriteSeen(name, parent string, n int) check {
	return check{fmt.Sprintf("gpio_write of %s moves the pin", name), func(b *board) error {
		before := "in"
		// The first level may be set before the pin is an output, and not be seen.
		for i, to := range []int{1, 0, 1, 1, 0, 1} {
			if err := b.writeLine(name, to, before); err != nil {
				return err
			}
			before = fmt.Sprintf("out %d", to)
			got, err := b.readLines(name)
			if err != nil {
				return err
			}
			if got[0].Level != to {
				return fmt.Errorf("it reads %d, was written %d", got[0].Level, to)
			}
			use, err := b.lineUse(parent, n)
			if err != nil {
				return err
			}
			if want := "boardhand out " + [...]string{"lo", "hi"}[to]; use != want {
				return fmt.Errorf("the kernel has %q, want %q", use, want)
			}
			if i > 0 {
				if err := b.seen(n, to); err != nil {
					return err
				}
			}
		}
		b.written = append(b.written, writtenLine{name, parent, n})
		return nil
	}}
}

// gpioPulseEnds checks that a level for some time ends by itself.
func gpioPulseEnds(name, parent string, n int) check {
	return check{fmt.Sprintf("gpio_write of %s with for_ms ends by itself", name), func(b *board) error {
		var got struct {
			For int `json:"for_ms"`
		}
		if err := b.mcp.tool("gpio_write", arguments{"line": name, "level": 1, "for_ms": 1500}, &got); err != nil {
			return err
		}
		if got.For != 1500 {
			return fmt.Errorf("for_ms is %d in the result", got.For)
		}
		return b.soon(func() error {
			use, err := b.lineUse(parent, n)
			if err == nil && use != "" {
				err = fmt.Errorf("the kernel still has %q", use)
			}
			return err
		})
	}}
}

// gpioRefusesOwned checks that a line which somebody else has is left alone.
func gpioRefusesOwned(name, owner string) check {
	return check{fmt.Sprintf("%s of %q is refused", name, owner), func(b *board) error {
		if err := b.mcp.refused("gpio_write", arguments{"line": name, "level": 1}, name, owner); err != nil {
			return err
		}
		return b.mcp.refused("gpio_read", arguments{"lines": []string{name}}, name, owner)
	}}
}

// gpioRefusesUnknown checks that the error for a wrong name tells what there is.
func gpioRefusesUnknown(total int) check {
	return check{"an unknown line is refused", func(b *board) error {
		return b.mcp.refused("gpio_read", arguments{"lines": []string{"GPIO999"}}, "GPIO999", strconv.Itoa(total)+" lines")
	}}
}

// A line in use: " gpio-3   (NAME |consumer ) out hi", or of gpio-sim, which writes
// its own, " gpio-3   (consumer) output-high,pull-down".
var lineInUse = regexp.MustCompile(`^ gpio-(\d+) +\((?:[^|)]*\|)?([^)]*)\) (in|out)(?:put)?(?:-| +)?(hi|lo)?`)

// lineUse is the kernel's own view of line n of the chip that belongs to a
// device, as in "boardhand out hi": empty where nobody has it.
func (b *board) lineUse(parent string, n int) (string, error) {
	text, err := b.guest.read("/sys/kernel/debug/gpio")
	if err != nil {
		return "", err
	}
	use, err := parseLineUse(text, parent, n)
	return ourProcess.ReplaceAllString(use, "boardhand "), err
}

// ourProcess is the name under which boardhand has its lines, with its process's number.
var ourProcess = regexp.MustCompile(`^boardhand \d+ `)

// parseLineUse finds a line in debugfs's list of lines in use.
func parseLineUse(text, parent string, n int) (string, error) {
	ours, base := false, 0
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "gpiochip") {
			// "gpiochip0: GPIOs 504-511, parent: amba/9030000.pl061, 9030000.pl061:"
			// or, since the kernel's own numbers are gone, "gpiochip0: 8 GPIOs, parent: ..."
			ours, base = strings.Contains(l, "/"+parent+","), 0
			if _, span, ok := strings.Cut(l, "GPIOs "); ok {
				first, _, _ := strings.Cut(span, "-")
				var err error
				if base, err = strconv.Atoi(first); err != nil {
					return "", fmt.Errorf("debugfs: %q: %w", l, err)
				}
			}
			continue
		}
		m := lineInUse.FindStringSubmatch(l)
		if ours && m != nil && m[1] == strconv.Itoa(base+n) && m[2] != "<unused>" {
			return strings.TrimSpace(strings.TrimSpace(m[2]) + " " + m[3] + " " + m[4]), nil
		}
	}
	return "", nil
}

// soon tries until it works, for at most 10 s.
func (b *board) soon(try func() error) error {
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if err := try(); err == nil || time.Now().After(end) {
			return err
		}
	}
}

// gpioWaits checks that edges which come from outside are waited for, with their
// times, and that a level which is there answers at once.
func gpioWaits(name string, p pin) check {
	return check{fmt.Sprintf("gpio_wait sees the edges of %s", name), func(b *board) error {
		if err := b.drive(p, 0); err != nil {
			return err
		}
		type waited struct {
			Lines  []struct{ Level, Edges, Lost int }
			Events []struct {
				Edge string
				Us   float64
				Seq  int
			}
			TimedOut bool `json:"timed_out"`
			WaitedMs int  `json:"waited_ms"`
		}
		id, err := b.mcp.request("tools/call", map[string]any{"name": "gpio_wait", "arguments": arguments{"lines": []string{name}, "count": 4, "timeout_ms": 30000}})
		if err != nil {
			return err
		}
		// While it waits, others are answered.
		if err := b.mcp.call("ping", map[string]any{}, new(any)); err != nil {
			return err
		}
		time.Sleep(time.Second)
		for _, to := range []int{1, 0, 1, 0} {
			if err := b.drive(p, to); err != nil {
				return err
			}
			time.Sleep(200 * time.Millisecond)
		}
		a, err := b.mcp.next()
		if err != nil {
			return err
		}
		var r toolResult
		var got waited
		if err := json.Unmarshal(a.Result, &r); err != nil {
			return err
		}
		if err := r.decode(&got); err != nil {
			return err
		}
		if a.ID != id || got.TimedOut || len(got.Events) != 4 || got.Lines[0].Edges != 4 || got.Lines[0].Lost != 0 || got.Lines[0].Level != 0 {
			return fmt.Errorf("answer %d: %+v", a.ID, got)
		}
		for i, e := range got.Events {
			if e.Edge != [...]string{"rising", "falling"}[i%2] || e.Seq != i+1 || i > 0 && e.Us < got.Events[i-1].Us+1000 {
				return fmt.Errorf("event %d is %+v of %+v", i, e, got.Events)
			}
		}
		got = waited{}
		if err := b.mcp.tool("gpio_wait", arguments{"lines": []string{name}, "until": "low", "timeout_ms": 30000}, &got); err != nil {
			return err
		}
		if got.TimedOut || got.WaitedMs > 20000 || got.Lines[0].Level != 0 {
			return fmt.Errorf("a level that is there: %+v", got)
		}
		if err := b.mcp.tool("gpio_wait", arguments{"lines": []string{name}, "timeout_ms": 100}, &got); err != nil {
			return err
		}
		if !got.TimedOut {
			return fmt.Errorf("nothing came: %+v", got)
		}
		return nil
	}}
}

// gpioPulses checks that a train of pulses moves the pin and leaves it as it was.
func gpioPulses(name, parent string, n int) check {
	return check{fmt.Sprintf("gpio_pulse of %s moves the pin and gives it back", name), func(b *board) error {
		var got struct {
			Count int
			High  struct{ Min, Mean, Max float64 } `json:"high_us"`
			Low   struct{ Min, Mean, Max float64 } `json:"low_us"`
		}
		if err := b.mcp.tool("gpio_pulse", arguments{"line": name, "high_us": 20000, "low_us": 5000, "count": 5}, &got); err != nil {
			return err
		}
		if got.Count != 5 || got.High.Min < 20000 || got.Low.Min < 5000 || got.High.Mean < got.High.Min || got.High.Max < got.High.Mean {
			return fmt.Errorf("%+v", got)
		}
		if use, err := b.lineUse(parent, n); err != nil || use != "" {
			return fmt.Errorf("after it the kernel has %q, error %w", use, err)
		}
		return nil
	}}
}

// gpioConfigures checks that the kernel has what was configured, until it is
// given back.
func gpioConfigures(name, parent string, n int) check {
	return check{fmt.Sprintf("gpio_configure of %s is what the kernel has", name), func(b *board) error {
		type config struct {
			Direction string
			Level     int
			Drive     string
			ActiveLow bool `json:"active_low"`
		}
		for _, step := range []struct {
			set  string
			want config
			use  string
		}{
			{"high", config{Direction: "out", Level: 1}, "boardhand out hi"},
			{"active_low", config{Direction: "out", ActiveLow: true}, "boardhand out hi"},
			{"high", config{Direction: "out", Level: 1, ActiveLow: true}, "boardhand out lo"},
			{"active_high low open_drain", config{Direction: "out", Drive: "open_drain"}, "boardhand out lo"},
		} {
			var got struct{ Before, After config }
			if err := b.mcp.tool("gpio_configure", arguments{"line": name, "set": step.set}, &got); err != nil {
				return err
			}
			use, err := b.lineUse(parent, n)
			if err != nil {
				return err
			}
			if got.After != step.want || use != step.use {
				return fmt.Errorf("%q gives %+v, and the kernel has %q, want %+v and %q", step.set, got.After, use, step.want, step.use)
			}
		}
		var got struct{ After config }
		if err := b.mcp.tool("gpio_configure", arguments{"line": name, "set": "release"}, &got); err != nil {
			return err
		}
		if use, err := b.lineUse(parent, n); err != nil || use != "" || got.After.Direction != "in" {
			return fmt.Errorf("after a release: %+v, and the kernel has %q, error %w", got.After, use, err)
		}
		return nil
	}}
}
