package tools

import (
	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

func addBoard(cat *rpc.Catalogue, b device.Board) {
	t := boardTools{b}
	cat.Tools = append(cat.Tools, rpc.Tool{
		Name:        "board_info",
		Title:       "Describe the board",
		Description: "This board, simulated or real, and its hardware.",
		Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
		Result: []rpc.Field{
			{Name: "model", Type: rpc.String},
			{Name: "simulated", Type: rpc.Boolean},
			{Name: "hostname", Type: rpc.String},
			{Name: "kernel", Type: rpc.String},
			{Name: "arch", Type: rpc.String},
			{Name: "cpus", Type: rpc.Integer},
			{Name: "mem_total", Type: rpc.Integer, Description: "bytes"},
			{Name: "mem_free", Type: rpc.Integer, Description: "bytes"},
			{Name: "uptime_s", Type: rpc.Integer},
			{Name: "gpio_lines", Type: rpc.Integer, Optional: true},
			{Name: "gpio_chips", Type: rpc.Integer, Optional: true},
			{Name: "i2c", Type: rpc.Strings, Optional: true},
			{Name: "sensors", Type: rpc.Integer, Optional: true},
			{Name: "spi", Type: rpc.Strings, Optional: true},
			{Name: "pwm", Type: rpc.Strings, Optional: true},
			{Name: "leds", Type: rpc.Strings, Optional: true},
		},
		Run: t.info,
	})
	cat.Resources = append(cat.Resources, rpc.Resource{
		URI:         "board://info",
		Name:        "board",
		Title:       "The board",
		Description: "What board_info gives.",
		MIMEType:    mimeJSON,
		Read:        t.info,
	})
}

const mimeJSON = "application/json"

// maxBusesShown bounds the list of buses: a workstation with graphics cards has
// dozens.
const maxBusesShown = 32

type boardTools struct{ b device.Board }

func (t boardTools) info(c *rpc.Call) error {
	info := t.b.Info()
	dst := wire.AppendString(append(c.Out, `{"model":`...), info.Model)
	dst = wire.AppendBool(wire.AppendKey(dst, "simulated"), info.Simulated)
	dst = wire.AppendString(wire.AppendKey(dst, "hostname"), info.Hostname)
	dst = wire.AppendString(wire.AppendKey(dst, "kernel"), info.Kernel)
	dst = wire.AppendString(wire.AppendKey(dst, "arch"), info.Arch)
	dst = wire.AppendInt(wire.AppendKey(dst, "cpus"), int64(info.CPUs))
	dst = wire.AppendInt(wire.AppendKey(dst, "mem_total"), info.MemTotal)
	dst = wire.AppendInt(wire.AppendKey(dst, "mem_free"), info.MemFree)
	dst = wire.AppendInt(wire.AppendKey(dst, "uptime_s"), int64(info.Uptime.Seconds()))
	if g := t.b.GPIO(); g != nil {
		lines, err := g.Lines(nil)
		if err != nil {
			return err
		}
		dst = wire.AppendInt(wire.AppendKey(dst, "gpio_lines"), int64(len(lines)))
		dst = wire.AppendInt(wire.AppendKey(dst, "gpio_chips"), int64(countChips(lines)))
	}
	if bus := t.b.I2C(); bus != nil {
		buses, err := bus.Buses(nil)
		if err != nil {
			return err
		}
		dst = appendStrings(wire.AppendKey(dst, "i2c"), described(buses, maxBusesShown, func(b device.Bus) string { return busName(b.Number) + " " + b.Name }))
	}
	if s := t.b.Sensors(); s != nil {
		sensors, err := s.List(nil)
		if err != nil {
			return err
		}
		dst = wire.AppendInt(wire.AppendKey(dst, "sensors"), int64(len(sensors)))
	}
	if s := t.b.SPI(); s != nil {
		devices, err := s.Devices(nil)
		if err != nil {
			return err
		}
		dst = appendStrings(wire.AppendKey(dst, "spi"), described(devices, maxDescribed, describeSPI))
	}
	if p := t.b.PWM(); p != nil {
		channels, err := p.Channels(nil)
		if err != nil {
			return err
		}
		dst = appendStrings(wire.AppendKey(dst, "pwm"), described(channels, maxDescribed, describePWM))
	}
	if l := t.b.LEDs(); l != nil {
		names, err := l.Names(nil)
		if err != nil {
			return err
		}
		dst = appendStrings(wire.AppendKey(dst, "leds"), described(names, maxDescribed, func(name string) string { return name }))
	}
	c.Out = append(dst, '}')
	return nil
}

// countChips counts the chips of lines, which are ordered by chip.
func countChips(lines []device.Line) int {
	n := 0
	for i := range lines {
		if i == 0 || lines[i].Chip != lines[i-1].Chip {
			n++
		}
	}
	return n
}
