package tools

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

// The names of biases and drives in results.
var (
	biases = []string{device.BiasOff - 1: "off", device.BiasUp - 1: "up", device.BiasDown - 1: "down"}
	drives = []string{device.PushPull: "push_pull", device.OpenDrain: "open_drain", device.OpenSource: "open_source"}
)

// settings are the words of gpio_configure.
const settings = "in out low high pull_up pull_down no_pull push_pull open_drain open_source active_low active_high debounce_us=N release"

func (t *gpioTools) configureTool() rpc.Tool {
	return rpc.Tool{
		Name:        "gpio_configure",
		Title:       "Set a line up",
		Description: "Lasts until release or until this server ends.",
		Hints:       rpc.Hints{Destructive: true},
		Params: []rpc.Param{
			{Name: "line", Type: rpc.String, Required: true, Max: maxName},
			{Name: "set", Type: rpc.String, Required: true, Max: maxSettings, Description: "words: " + settings},
		},
		Result: []rpc.Field{
			{Name: "line", Type: rpc.String},
			{Name: "before", Type: rpc.Object, Fields: configFields},
			{Name: "after", Type: rpc.Object, Fields: configFields},
			{Name: "note", Type: rpc.String, Optional: true},
		},
		Queue:    t.lineQueue,
		Subjects: t.lineSubject,
		Run:      t.configure,
	}
}

// maxSettings is the longest text of settings, in bytes.
const maxSettings = 200

var configFields = []rpc.Field{
	{Name: "direction", Type: rpc.String},
	{Name: "level", Type: rpc.Integer},
	{Name: "bias", Type: rpc.String, Optional: true},
	{Name: "drive", Type: rpc.String, Optional: true},
	{Name: "active_low", Type: rpc.Boolean, Optional: true},
	{Name: "debounce_us", Type: rpc.Integer, Optional: true},
}

func (t *gpioTools) configure(c *rpc.Call) error {
	line, err := t.names.find(c.Str(0))
	if err != nil {
		return err
	}
	words := strings.FieldsFunc(c.Str(1), func(r rune) bool { return r == ' ' || r == ',' })
	var before, after device.Config
	switch {
	case len(words) == 0:
		return errors.New("set is empty; its words are " + settings)
	case !slices.Contains(words, "release"):
		change, err := parseSettings(words)
		if err != nil {
			return err
		}
		if before, after, err = t.guard.configure(line, change); err != nil {
			return err
		}
	case len(words) > 1:
		return errors.New("release gives the line back as it was; give it alone")
	default:
		if before, err = t.config(line.name); err != nil {
			return err
		}
		if err = t.guard.release(line); err != nil {
			return err
		}
		if after, err = t.config(line.name); err != nil {
			return err
		}
	}
	dst := wire.AppendString(append(c.Out, `{"line":`...), c.Str(0))
	dst = appendConfig(wire.AppendKey(dst, "before"), before)
	dst = appendConfig(wire.AppendKey(dst, "after"), after)
	if before.Bias == device.BiasUnknown && after.Bias != device.BiasUnknown {
		dst = append(dst, `,"note":"nobody knows the former bias: this one stays when the line is given back"`...)
	}
	c.Out = append(dst, '}')
	return nil
}

// parseSettings turns words into the change that they make of a configuration.
func parseSettings(words []string) (func(*device.Config) error, error) {
	var direction, level, bias, drive, activeLow, debounce *string
	for i := range words {
		word, kind := &words[i], (**string)(nil)
		switch name, _, _ := strings.Cut(*word, "="); name {
		case "in", "out":
			kind = &direction
		case "low", "high":
			kind = &level
		case "pull_up", "pull_down", "no_pull":
			kind = &bias
		case "push_pull", "open_drain", "open_source":
			kind = &drive
		case "active_low", "active_high":
			kind = &activeLow
		case "debounce_us":
			kind = &debounce
		}
		if kind == nil || strings.Contains(*word, "=") != (kind == &debounce) {
			return nil, fmt.Errorf("set has %.40q; its words are %s", *word, settings)
		}
		if *kind != nil {
			return nil, fmt.Errorf("set has both %s and %s; give one", **kind, *word)
		}
		*kind = word
	}
	still, err := parseDebounce(debounce)
	switch {
	case err != nil:
		return nil, err
	case level != nil && direction != nil && *direction == "in":
		return nil, fmt.Errorf("set has in and %s, which is an output's level; give one", *level)
	}
	return func(c *device.Config) error {
		if activeLow != nil && c.ActiveLow != (*activeLow == "active_low") {
			c.ActiveLow = !c.ActiveLow
			c.Level ^= 1 // the pin stays where it is
		}
		switch {
		case level != nil && *level == "high":
			c.Direction, c.Level = device.Out, device.High
		case level != nil:
			c.Direction, c.Level = device.Out, device.Low
		case direction != nil && *direction == "in":
			c.Direction = device.In
		case direction != nil:
			c.Direction = device.Out
		}
		if bias != nil {
			c.Bias = map[string]device.Bias{"pull_up": device.BiasUp, "pull_down": device.BiasDown, "no_pull": device.BiasOff}[*bias]
		}
		if drive != nil {
			c.Drive = device.Drive(slices.Index(drives, *drive))
		}
		if debounce != nil {
			c.Debounce = still
		}
		switch {
		case drive != nil && c.Direction == device.In:
			return fmt.Errorf("%s is of an output, and the line is an input; add out, low or high", *drive)
		case debounce != nil && c.Direction == device.Out && still > 0:
			return fmt.Errorf("%s is of an input, and the line is an output; add in", *debounce)
		}
		return nil
	}, nil
}

// parseDebounce is the time of a debounce_us=N, or 0 where there is none.
func parseDebounce(word *string) (time.Duration, error) {
	if word == nil {
		return 0, nil
	}
	_, text, _ := strings.Cut(*word, "=")
	us, err := strconv.ParseInt(text, 10, 64)
	if err != nil || us < 0 || us > device.MaxDebounce.Microseconds() {
		return 0, fmt.Errorf("set has %.40q; debounce_us=0 to %d are allowed", *word, device.MaxDebounce.Microseconds())
	}
	return time.Duration(us) * time.Microsecond, nil
}

// config is how a line is set up.
func (t *gpioTools) config(name string) (device.Config, error) {
	l, err := t.gpio.Find(name)
	if err != nil {
		return device.Config{}, err
	}
	level := make([]device.Level, 1)
	if err := t.gpio.Read([]string{name}, level); err != nil {
		return device.Config{}, err
	}
	return device.Config{Direction: l.Direction, Level: level[0], ActiveLow: l.ActiveLow, Bias: l.Bias, Drive: l.Drive, Debounce: l.Debounce}, nil
}

// appendConfig appends the object that describes a configuration; what is as usual
// is left out.
func appendConfig(dst []byte, c device.Config) []byte {
	dst = appendDirection(append(dst, `{"direction":`...), c.Direction)
	dst = wire.AppendInt(wire.AppendKey(dst, "level"), int64(c.Level))
	dst = appendElectrical(dst, c.ActiveLow, c.Bias, c.Drive, c.Debounce)
	return append(dst, '}')
}

// appendElectrical appends the members that lists and configurations share.
func appendElectrical(dst []byte, activeLow bool, bias device.Bias, drive device.Drive, debounce time.Duration) []byte {
	if activeLow {
		dst = append(dst, `,"active_low":true`...)
	}
	if bias != device.BiasUnknown {
		dst = wire.AppendString(wire.AppendKey(dst, "bias"), biases[bias-1])
	}
	if drive != device.PushPull {
		dst = wire.AppendString(wire.AppendKey(dst, "drive"), drives[drive])
	}
	if debounce > 0 {
		dst = wire.AppendInt(wire.AppendKey(dst, "debounce_us"), debounce.Microseconds())
	}
	return dst
}
