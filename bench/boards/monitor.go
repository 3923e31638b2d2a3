//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
)

// monitor is QEMU's own view of a machine: the QEMU Machine Protocol, in which
// devices are objects with a path.
type monitor struct {
	conn net.Conn
	dec  *json.Decoder
}

func (e *emulator) openMonitor() (*monitor, error) {
	conn, err := e.dial("qmp")
	if err != nil {
		return nil, err
	}
	m := &monitor{conn, json.NewDecoder(conn)}
	var greeting struct{ QMP any }
	if err := m.dec.Decode(&greeting); err != nil {
		return nil, err
	}
	return m, m.ask("qmp_capabilities", nil, nil)
}

// ask executes a command and puts what it returns into result, if that is not nil.
func (m *monitor) ask(command string, arguments map[string]any, result any) error {
	request := map[string]any{"execute": command}
	if arguments != nil {
		request["arguments"] = arguments
	}
	if err := json.NewEncoder(m.conn).Encode(request); err != nil {
		return err
	}
	for {
		var answer struct {
			Return json.RawMessage
			Error  *struct{ Desc string }
		}
		switch err := m.dec.Decode(&answer); {
		case err != nil:
			return err
		case answer.Error != nil:
			return fmt.Errorf("QEMU's %s %v: %s", command, arguments, answer.Error.Desc)
		case answer.Return == nil: // an event
			continue
		case result == nil:
			return nil
		}
		return json.Unmarshal(answer.Return, result)
	}
}

// device finds the path of a device: what is a path already, or else the only
// device of that type that belongs to the board itself.
func (m *monitor) device(what string) (string, error) {
	if strings.HasPrefix(what, "/") {
		return what, nil
	}
	var list []struct{ Name, Type string }
	if err := m.ask("qom-list", map[string]any{"path": "/machine/unattached"}, &list); err != nil {
		return "", err
	}
	for _, d := range list {
		if d.Type == "child<"+what+">" {
			return "/machine/unattached/" + d.Name, nil
		}
	}
	return "", fmt.Errorf("the board has no device of type %s", what)
}

// set sets a property of a device.
func (m *monitor) set(path, property string, value any) error {
	return m.ask("qom-set", map[string]any{"path": path, "property": property, "value": value}, nil)
}
