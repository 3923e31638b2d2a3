package tools

import (
	"bytes"

	"boardhand/device"
	"boardhand/rpc"
	"boardhand/rpc/wire"
)

func addSystem(cat *rpc.Catalogue, s device.System, sensors device.Sensors) {
	t := systemTools{s, sensors}
	cat.Tools = append(cat.Tools, rpc.Tool{
		Name:        "system_info",
		Title:       "System",
		Description: "Load, power, disks, network.",
		Hints:       rpc.Hints{ReadOnly: true, Idempotent: true},
		Result: []rpc.Field{
			{Name: "uptime_s", Type: rpc.Integer},
			{Name: "boot_reason", Type: rpc.String, Optional: true},
			{Name: "load_1min", Type: rpc.Number},
			{Name: "load_5min", Type: rpc.Number},
			{Name: "load_15min", Type: rpc.Number},
			{Name: "mem_total", Type: rpc.Integer, Description: "bytes"},
			{Name: "mem_free", Type: rpc.Integer, Description: "bytes"},
			{Name: "swap_total", Type: rpc.Integer, Optional: true, Description: "bytes"},
			{Name: "swap_free", Type: rpc.Integer, Optional: true, Description: "bytes"},
			{Name: "throttling", Type: rpc.Strings, Optional: true, Description: "absent where the board does not tell"},
			{Name: "temperatures", Type: rpc.Objects, Optional: true, Fields: []rpc.Field{
				{Name: "sensor", Type: rpc.String},
				{Name: "celsius", Type: rpc.Number},
			}},
			{Name: "storage", Type: rpc.Objects, Fields: []rpc.Field{
				{Name: "mount", Type: rpc.String},
				{Name: "device", Type: rpc.String},
				{Name: "type", Type: rpc.String},
				{Name: "total", Type: rpc.Integer, Optional: true, Description: "bytes"},
				{Name: "free", Type: rpc.Integer, Optional: true, Description: "bytes"},
				{Name: "read_only", Type: rpc.Boolean, Optional: true},
			}},
			{Name: "network", Type: rpc.Objects, Fields: []rpc.Field{
				{Name: "interface", Type: rpc.String},
				{Name: "state", Type: rpc.String},
				{Name: "mac", Type: rpc.String, Optional: true},
				{Name: "addresses", Type: rpc.Strings, Optional: true},
				{Name: "mbit", Type: rpc.Integer, Optional: true},
				{Name: "rx_bytes", Type: rpc.Integer},
				{Name: "tx_bytes", Type: rpc.Integer},
				{Name: "errors", Type: rpc.Integer, Optional: true},
			}},
			{Name: "watchdogs", Type: rpc.Objects, Optional: true, Fields: []rpc.Field{
				{Name: "watchdog", Type: rpc.String},
				{Name: "identity", Type: rpc.String},
				{Name: "state", Type: rpc.String, Description: "inactive: nobody has started it"},
				{Name: "timeout_s", Type: rpc.Integer},
				{Name: "left_s", Type: rpc.Integer, Optional: true},
				{Name: "nowayout", Type: rpc.Boolean, Optional: true, Description: "once started it cannot be stopped"},
				{Name: "bootstatus", Type: rpc.Integer, Optional: true},
			}},
			{Name: "omitted", Type: rpc.Integer, Optional: true, Description: "entries for which there was no room"},
		},
		Queue: func(*rpc.Call) string { return "system" }, // a disk may hang
		Run:   t.info,
	})
}

type systemTools struct {
	system  device.System
	sensors device.Sensors // or nil
}

func (t systemTools) info(c *rpc.Call) error {
	s, err := t.system.Status()
	if err != nil {
		return err
	}
	dst := wire.AppendInt(append(c.Out, `{"uptime_s":`...), int64(s.Uptime.Seconds()))
	if s.BootReason != "" {
		dst = wire.AppendString(append(dst, `,"boot_reason":`...), s.BootReason)
	}
	dst = wire.AppendFloat(append(dst, `,"load_1min":`...), s.Load[0])
	dst = wire.AppendFloat(append(dst, `,"load_5min":`...), s.Load[1])
	dst = wire.AppendFloat(append(dst, `,"load_15min":`...), s.Load[2])
	dst = wire.AppendInt(append(dst, `,"mem_total":`...), s.MemTotal)
	dst = wire.AppendInt(append(dst, `,"mem_free":`...), s.MemFree)
	if s.SwapTotal > 0 {
		dst = wire.AppendInt(append(dst, `,"swap_total":`...), s.SwapTotal)
		dst = wire.AppendInt(append(dst, `,"swap_free":`...), s.SwapFree)
	}
	if s.Throttled {
		dst = append(dst, `,"throttling":`...)
		dst = appendStrings(dst, s.Throttling)
	}
	l := lists{dst: dst, room: pageCost - answerCost(dst)}
	l.begin("watchdogs")
	for i := range s.Watchdogs {
		l.add(appendWatchdog(nil, &s.Watchdogs[i]))
	}
	l.end(len(s.Watchdogs) > 0)
	l.begin("storage")
	for i := range s.Storage {
		l.add(appendStorage(nil, &s.Storage[i]))
	}
	l.end(true)
	t.temperatures(&l)
	l.begin("network")
	for i := range s.Networks {
		l.add(appendNetwork(nil, &s.Networks[i]))
	}
	l.end(true)
	if l.omitted > 0 {
		l.dst = wire.AppendInt(append(l.dst, `,"omitted":`...), int64(l.omitted))
	}
	c.Out = append(l.dst, '}')
	return nil
}

// temperatures adds those that the processor has at hand; what is behind a bus is
// left to sensor_read.
func (t systemTools) temperatures(l *lists) {
	if t.sensors == nil {
		return
	}
	all, err := t.sensors.List(nil)
	if err != nil {
		return
	}
	l.begin("temperatures")
	any := false
	for _, s := range all {
		if s.Quantity != device.Temperature || s.Waits != "" {
			continue
		}
		_, r, err := t.sensors.Read(s.Name)
		if err != nil {
			continue // sensor_read says why
		}
		item := wire.AppendString([]byte(`{"sensor":`), s.Name)
		item = wire.AppendDecimal(append(item, `,"celsius":`...), r.Value.Value, r.Value.Exp)
		l.add(append(item, '}'))
		any = true
	}
	l.end(any)
}

func appendStorage(dst []byte, s *device.Storage) []byte {
	dst = wire.AppendString(append(dst, `{"mount":`...), s.Mount)
	dst = wire.AppendString(append(dst, `,"device":`...), s.Device)
	dst = wire.AppendString(append(dst, `,"type":`...), s.Type)
	if s.Total > 0 {
		dst = wire.AppendInt(append(dst, `,"total":`...), s.Total)
		dst = wire.AppendInt(append(dst, `,"free":`...), s.Free)
	}
	if s.ReadOnly {
		dst = append(dst, `,"read_only":true`...)
	}
	return append(dst, '}')
}

func appendNetwork(dst []byte, n *device.Network) []byte {
	dst = wire.AppendString(append(dst, `{"interface":`...), n.Name)
	dst = wire.AppendString(append(dst, `,"state":`...), n.State)
	if n.MAC != "" {
		dst = wire.AppendString(append(dst, `,"mac":`...), n.MAC)
	}
	if len(n.Addresses) > 0 {
		dst = appendStrings(append(dst, `,"addresses":`...), n.Addresses)
	}
	if n.Mbit > 0 {
		dst = wire.AppendInt(append(dst, `,"mbit":`...), int64(n.Mbit))
	}
	dst = wire.AppendUint(append(dst, `,"rx_bytes":`...), n.RxBytes)
	dst = wire.AppendUint(append(dst, `,"tx_bytes":`...), n.TxBytes)
	if n.Errors > 0 {
		dst = wire.AppendUint(append(dst, `,"errors":`...), n.Errors)
	}
	return append(dst, '}')
}

func appendWatchdog(dst []byte, w *device.Watchdog) []byte {
	dst = wire.AppendString(append(dst, `{"watchdog":`...), w.Name)
	dst = wire.AppendString(append(dst, `,"identity":`...), w.Identity)
	dst = wire.AppendString(append(dst, `,"state":`...), w.State)
	dst = wire.AppendInt(append(dst, `,"timeout_s":`...), int64(w.Timeout.Seconds()))
	if w.HasLeft {
		dst = wire.AppendInt(append(dst, `,"left_s":`...), int64(w.TimeLeft.Seconds()))
	}
	if w.NoWayOut {
		dst = append(dst, `,"nowayout":true`...)
	}
	if w.BootStatus != 0 {
		dst = wire.AppendUint(append(dst, `,"bootstatus":`...), uint64(w.BootStatus))
	}
	return append(dst, '}')
}

// appendStrings appends an array of strings.
func appendStrings(dst []byte, all []string) []byte {
	dst = append(dst, '[')
	for _, s := range all {
		dst = wire.AppendString(wire.AppendSep(dst), s)
	}
	return append(dst, ']')
}

// lists appends lists to an answer while it has room, and counts what has none.
type lists struct {
	dst     []byte
	room    int
	omitted int
	start   int // of the list in dst
}

func (l *lists) begin(name string) {
	l.start = len(l.dst)
	l.dst = append(wire.AppendKey(l.dst, name), '[')
}

func (l *lists) add(item []byte) {
	cost := answerCost(item)
	if cost > l.room {
		l.omitted++
		return
	}
	l.room -= cost
	l.dst = append(wire.AppendSep(l.dst), item...)
}

// end ends a list, or takes it out where it is not to be shown.
func (l *lists) end(shown bool) {
	if !shown {
		l.dst = l.dst[:l.start]
		return
	}
	l.dst = append(l.dst, ']')
}

// answerCost is how many bytes of an answer a part of its result takes: it goes
// out twice, as it is and as text with its quotes escaped.
func answerCost(part []byte) int {
	return 2*len(part) + bytes.Count(part, []byte{'"'}) + bytes.Count(part, []byte{'\\'})
}
