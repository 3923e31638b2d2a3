package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// call is a tools/call of MCP 2026-07-28.
const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["GPIO17"]},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// result is what a tool writes.
const result = `{"lines":[{"name":"GPIO17","level":1,"direction":"output"},{"name":"GPIO27","level":0,"direction":"input"}],"time":"2026-07-28T12:00:00Z"}`

func BenchmarkScan(b *testing.B) {
	for _, bb := range []struct {
		name, text string
	}{
		{"call", call},
		{"text1MiB", `"` + strings.Repeat("a", 1<<20) + `"`},
		{"textUTF8", `"` + strings.Repeat("grüße °C ", 1000) + `"`},
		{"numbers", "[" + strings.Repeat("-12.5e3, ", 4000) + "0]"},
		{"brackets1MiB", strings.Repeat("[", 1<<20)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			text := []byte(bb.text)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				_ = Scan(text, DefaultLimits)
			}
		})
	}
	b.Run("call/tree", func(b *testing.B) {
		text := []byte(call)
		var t Tree
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			_ = t.Scan(text, DefaultLimits)
		}
	})
	b.Run("call/encoding-json", func(b *testing.B) {
		text := []byte(call)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			json.Valid(text)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	dst := make([]byte, 0, 4<<20)
	res, long := []byte(result), bytes.Repeat([]byte("a"), 1<<20)
	frame := []byte{0x0a, 0xff, 0x10, 0x20}
	for _, bb := range []struct {
		name string
		size int
		run  func() []byte
	}{
		{"StringShort", 6, func() []byte { return AppendString(dst, "GPIO17") }},
		{"EscapedResult", len(res), func() []byte { return AppendEscaped(dst, res) }},
		{"Escaped1MiB", len(long), func() []byte { return AppendEscaped(dst, long) }},
		{"Key", 6, func() []byte { return AppendKey(dst, "level") }},
		{"Int", 5, func() []byte { return AppendInt(dst, -12345) }},
		{"Float", 6, func() []byte { return AppendFloat(dst, 101.325) }},
		{"Decimal", 6, func() []byte { return AppendDecimal(dst, 21375, -3) }},
		{"Hex", 4, func() []byte { return AppendHex(dst, frame) }},
		{"Addr", 2, func() []byte { return AppendAddr(dst, 0x76) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(bb.size))
			b.ReportAllocs()
			for b.Loop() {
				bb.run()
			}
		})
	}
}
