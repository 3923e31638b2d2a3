package rpc

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"boardhand/rpc/wire"
)

// bus is what the test catalogue's queued tools hang on.
type bus struct {
	mu      sync.Mutex
	release chan struct{} // closed: transfers end
	started chan string   // told of each transfer that begins
	ran     int
	slow    time.Duration // until a scan tells of its progress
}

func newBus() *bus { return &bus{release: make(chan struct{}), started: make(chan string, 100)} }

func (b *bus) transfer(name string) {
	b.started <- name
	<-b.release
	b.mu.Lock()
	b.ran++
	b.mu.Unlock()
}

// testCatalogue has one entry of each kind.
func testCatalogue(b *bus) Catalogue {
	level := int64(0)
	return Catalogue{
		Name: "test", Title: "Test server", Version: "1.2.3", Instructions: "For tests.",
		Tools: []Tool{
			{
				Name: "read", Title: "Read lines", Description: "Reads lines.",
				Hints:  Hints{ReadOnly: true},
				Params: []Param{{Name: "lines", Type: Strings, Description: "names", Required: true, Max: 64, MaxItems: 3}},
				Result: []Field{{Name: "levels", Type: Objects, Fields: []Field{{Name: "line", Type: String}, {Name: "level", Type: Integer}}}},
				Run: func(c *Call) error {
					c.Out = append(c.Out, `{"levels":[`...)
					for _, n := range c.Strs(0) {
						if n == "nope" {
							return fmt.Errorf("line %q not found", n)
						}
						c.Out = append(wire.AppendSep(c.Out), '{')
						c.Out = wire.AppendString(wire.AppendKey(c.Out, "line"), n)
						c.Out = append(wire.AppendInt(wire.AppendKey(c.Out, "level"), level), '}')
					}
					c.Out = append(c.Out, "]}"...)
					return nil
				},
			},
			{
				Name: "write", Title: "Write a line", Description: "Writes a line.",
				Hints: Hints{Destructive: true, Idempotent: true},
				Params: []Param{
					{Name: "line", Type: String, Required: true, Max: 16},
					{Name: "level", Type: Integer, Required: true, Min: 0, Max: 1},
				},
				Result: []Field{{Name: "level", Type: Integer}},
				Run: func(c *Call) error {
					level = c.Int(1)
					if c.Wanted(LogInfo) {
						c.Log(LogInfo, "gpio", "line "+c.Str(0)+" written")
					}
					c.Out = append(wire.AppendInt(wire.AppendKey(append(c.Out, '{'), "level"), level), '}')
					return nil
				},
			},
			{
				Name: "all", Title: "Every type", Description: "Echoes its arguments.",
				Params: []Param{
					{Name: "s", Type: String}, {Name: "choice", Type: String, Choices: []string{"up", "down"}},
					{Name: "i", Type: Integer, Min: -5, Max: 5}, {Name: "h", Type: Hex, Min: 8, Max: 0x77},
					{Name: "n", Type: Number}, {Name: "b", Type: Boolean}, {Name: "d", Type: Bytes, Min: 1, Max: 4},
				},
				Result: []Field{{Name: "s", Type: String}, {Name: "i", Type: Integer}, {Name: "h", Type: String},
					{Name: "n", Type: Number}, {Name: "b", Type: Boolean}, {Name: "d", Type: String}},
				Run: func(c *Call) error {
					c.Out = wire.AppendString(append(c.Out, `{"s":`...), c.Str(0)+c.Str(1))
					c.Out = wire.AppendInt(append(c.Out, `,"i":`...), c.IntOr(2, 99))
					c.Out = wire.AppendAddr(append(c.Out, `,"h":`...), uint16(c.Int(3)))
					c.Out = wire.AppendFloat(append(c.Out, `,"n":`...), c.Num(4))
					c.Out = wire.AppendBool(append(c.Out, `,"b":`...), c.Bool(5))
					c.Out = append(wire.AppendHex(append(c.Out, `,"d":`...), c.Bytes(6)), '}')
					return nil
				},
			},
			{
				Name: "scan", Title: "Scan", Description: "Waits for a bus.", Hints: Hints{ReadOnly: true},
				Params:  []Param{{Name: "bus", Type: String, Required: true}},
				Result:  []Field{{Name: "bus", Type: String}},
				Queue:   func(c *Call) string { return c.Str(0) },
				Timeout: 2 * time.Second,
				Run: func(c *Call) error {
					time.Sleep(b.slow)
					c.Progress(1, 2, "half")
					c.Log(LogDebug, "bus", "scanning")
					b.transfer(c.Str(0))
					c.Out = append(wire.AppendString(append(c.Out, `{"bus":`...), c.Str(0)), '}')
					return nil
				},
			},
			{Name: "panic", Title: "Panic", Description: "Fails inside.", Run: func(c *Call) error { panic("at the disco") }},
			{Name: "asks", Title: "Asks", Description: "Needs elicitation.", Requires: "elicitation",
				Run: func(c *Call) error { c.Out = append(c.Out, "{}"...); return nil }},
		},
		Resources: []Resource{{URI: "test://info", Name: "info", Title: "Info", Description: "About.", MIMEType: "text/plain",
			Read: func(c *Call) error { c.Out = append(c.Out, "a \"quoted\"\nline"...); return nil }}},
		Templates: []Template{{Prefix: "line://", Name: "line", Title: "A line", Description: "One line.", MIMEType: "text/plain",
			Param: Param{Name: "line", Complete: func(dst []string, prefix string) []string {
				for i := range 120 {
					dst = append(dst, prefix+fmt.Sprint(i))
				}
				return dst
			}},
			Read: func(c *Call) error {
				switch c.Str(0) {
				case "no line":
					return fmt.Errorf("line %q: %w", c.Str(0), ErrNotFound)
				case "broken":
					return errors.New("it broke")
				}
				c.Out = append(append(c.Out, "line "...), c.Str(0)...)
				return nil
			}}},
		Prompts: []Prompt{{Name: "wire", Title: "Check wiring", Description: "Checks.",
			Params: []Param{{Name: "line", Description: "which"}},
			Render: func(c *Call) error { c.Out = append(append(c.Out, "Check "...), c.Str(0)...); return nil }}},
	}
}
