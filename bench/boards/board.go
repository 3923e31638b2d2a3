//go:build linux

package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// board is a machine that runs, with boardhand at its serial port.
type board struct {
	machine *machine
	guest   *emulator
	pins    *pins
	monitor *monitor
	mcp     *session
	laptop  *laptop           // where mcp is over a cable
	devices map[string]string // paths by what a pin names

	written []writtenLine // lines that boardhand holds, to be given back at its end
	outputs []setOutput   // other outputs that it has set
}

// writtenLine is a held line: its name, and line n of the chip of a device.
type writtenLine struct {
	name, parent string
	n            int
}

// check is one thing to find out about boardhand on a board. The functions that
// make them are its vocabulary; a machine's table lists what it has.
type check struct {
	name string
	do   func(b *board) error
}

// protocol is the revision of MCP that the session speaks.
const protocol = "2025-06-18"

// drive sets a pin from outside.
func (b *board) drive(p pin, to int) error {
	if isSim(p.device) {
		return b.driveSim(p, to)
	}
	path, err := b.path(p.device)
	if err != nil {
		return err
	}
	return b.pins.drive(path, p.n, to)
}

// seen waits until the watched device's output n has the level.
func (b *board) seen(n, to int) error {
	if isSim(b.machine.watched) {
		return b.seenSim(n, to)
	}
	return b.pins.seen(n, to)
}

func (b *board) path(device string) (string, error) {
	if path, ok := b.devices[device]; ok {
		return path, nil
	}
	path, err := b.monitor.device(device)
	if err == nil {
		b.devices[device] = path
	}
	return path, err
}

// initialize begins the session.
func initialize(version string) check {
	return check{"initialize", func(b *board) error {
		var got struct {
			ProtocolVersion string
			ServerInfo      struct{ Name, Version string }
			Capabilities    map[string]any
		}
		err := b.mcp.call("initialize", map[string]any{"protocolVersion": protocol, "capabilities": map[string]any{},
			"clientInfo": map[string]any{"name": "boards", "version": version}}, &got)
		if err != nil {
			return err
		}
		if got.ProtocolVersion != protocol || got.ServerInfo.Name != "boardhand" || got.ServerInfo.Version != version || got.Capabilities["tools"] == nil {
			return fmt.Errorf("the answer is %+v", got)
		}
		return b.mcp.notify("notifications/initialized")
	}}
}

// toolsList checks that the board has at least these tools.
func toolsList(names ...string) check {
	return check{fmt.Sprintf("tools/list has %d tools of this board", len(names)), func(b *board) error {
		var got struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Type string }
			}
		}
		if err := b.mcp.call("tools/list", map[string]any{}, &got); err != nil {
			return err
		}
		var have []string
		for _, t := range got.Tools {
			if t.InputSchema.Type != "object" {
				return fmt.Errorf("the schema of %s is of type %q", t.Name, t.InputSchema.Type)
			}
			have = append(have, t.Name)
		}
		for _, name := range names {
			if !slices.Contains(have, name) {
				return fmt.Errorf("%s is not among %v", name, have)
			}
		}
		return nil
	}}
}

// boardInfo checks what the board says of itself against the device tree and
// against what the kernel tells.
func boardInfo(model, arch string, lines int) check {
	return check{"board_info", func(b *board) error {
		var got struct {
			Model, Kernel, Arch string
			Simulated           *bool
			CPUs                int
			MemTotal            int64 `json:"mem_total"`
			Lines               int   `json:"gpio_lines"`
		}
		if err := b.mcp.tool("board_info", arguments{}, &got); err != nil {
			return err
		}
		release, err := b.guest.read("/proc/sys/kernel/osrelease")
		if err != nil {
			return err
		}
		memory, err := b.guest.read("/proc/meminfo")
		if err != nil {
			return err
		}
		total := ""
		if words := strings.Fields(memory); len(words) > 1 { // "MemTotal: 229504 kB"
			total = words[1]
		}
		switch {
		case got.Model != model || got.Arch != arch || got.Lines != lines || got.CPUs != 1:
			return fmt.Errorf("it is %+v", got)
		case got.Simulated == nil || *got.Simulated:
			return errors.New("it calls itself simulated")
		case got.Kernel != "Linux "+release:
			return fmt.Errorf("its kernel is %q, the kernel says %q", got.Kernel, release)
		case strconv.FormatInt(got.MemTotal/1024, 10) != total:
			return fmt.Errorf("its memory is %d bytes, the kernel says %s kB", got.MemTotal, total)
		}
		return nil
	}}
}

// kernelHas checks that the emulated hardware of families still to come is there:
// files of the kernel that can be read.
func kernelHas(families string, files ...string) check {
	return check{"the kernel has " + families, func(b *board) error {
		for _, f := range files {
			if _, err := b.guest.read(f); err != nil {
				return err
			}
		}
		return nil
	}}
}

// givenBack ends boardhand with SIGTERM, and checks that the lines which were
// written are inputs again that nobody has.
var givenBack = check{"SIGTERM gives all written lines back", func(b *board) error {
	if len(b.written) == 0 {
		return errors.New("no line was written; this machine's table lacks one")
	}
	for _, l := range b.written {
		if use, err := b.lineUse(l.parent, l.n); err != nil || use != "boardhand out hi" {
			return fmt.Errorf("before the end, the kernel has %q for %s, error %w", use, l.name, err)
		}
	}
	if _, err := b.guest.do(nil, "stop"); err != nil {
		return err
	}
	for _, l := range b.written {
		if use, err := b.lineUse(l.parent, l.n); err != nil || use != "" {
			return fmt.Errorf("after the end, the kernel has %q for %s, error %w", use, l.name, err)
		}
		if isSim(b.machine.watched) { // whose pulls are down
			if err := b.seen(l.n, 0); err != nil {
				return err
			}
		}
	}
	return b.outputsBack()
}}

// move drives the machine's moving pin up and down until stop is closed.
func (b *board) move(stop <-chan struct{}) error {
	path, err := b.path(b.machine.moving.device)
	if err != nil {
		return err
	}
	go func() {
		for to := 0; ; to = 1 - to {
			if b.pins.drive(path, b.machine.moving.n, to) != nil {
				return
			}
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Millisecond):
			}
		}
	}()
	return nil
}

// connect opens the emulator's ends of the board.
func connect(m *machine, e *emulator) (*board, error) {
	b := &board{machine: m, guest: e, devices: map[string]string{}}
	var err error
	if b.monitor, err = e.openMonitor(); err != nil {
		return nil, err
	}
	if b.pins, err = e.openPins(); err != nil {
		return nil, err
	}
	if m.watched != "" && !isSim(m.watched) {
		path, err := b.path(m.watched)
		if err != nil {
			return nil, err
		}
		if err := b.pins.watch(path); err != nil {
			return nil, err
		}
	}
	b.mcp, err = e.openSession()
	return b, err
}
