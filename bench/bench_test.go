package bench

import (
	"strings"
	"testing"

	"boardhand/frame"
	"boardhand/rpc"
)

// run serves b.N messages of one client in memory; bytes are those of a message
// and its answer.
func run(b *testing.B, srv *rpc.Server, dialect, msg string, mode frame.Mode, burst int) {
	b.Helper()
	var once failures
	if err := srv.Serve(client(dialect, msg, mode, 1, 1), &once); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(framed(msg, mode))) + once.bytes)
	b.ResetTimer()
	if err := srv.Serve(client(dialect, msg, mode, burst, b.N), discard{}); err != nil {
		b.Fatal(err)
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkCall(b *testing.B) {
	srv := board(b)
	for _, d := range dialects {
		for _, name := range []string{"ping", "gpio_read", "gpio_write", "gpio_write_for_ms", "tools_list"} {
			for _, framing := range []string{"newline", "header"} {
				msg := steady(d, name)
				if msg == "" {
					continue
				}
				b.Run(d+"/"+name+"/"+framing, func(b *testing.B) { run(b, srv, d, msg, framings[framing], 1) })
			}
		}
	}
}

// 64 calls arrive in one read and leave in one write.
func BenchmarkPipelined(b *testing.B) {
	srv := board(b)
	for _, d := range dialects {
		b.Run(d, func(b *testing.B) { run(b, srv, d, steady(d, "gpio_read"), frame.Newline, inFlight) })
	}
}

// One argument of 1 MiB, which is refused.
func BenchmarkBigArgument(b *testing.B) {
	srv := board(b)
	const d = "2025-06-18"
	for name, text := range map[string]string{
		"plain":   strings.Repeat("G", 1<<20),
		"escaped": strings.Repeat(`\n`, 1<<19),
		"utf8":    strings.Repeat("ä", 1<<19),
	} {
		b.Run(name, func(b *testing.B) {
			run(b, srv, d, call(d, "gpio_read", `{"lines":["`+text+`"]}`), frame.Newline, 1)
		})
	}
}

// What is sent to make a parser work or remember: refused before it is parsed.
func BenchmarkBracketBomb(b *testing.B) {
	srv := board(b)
	const d = "2025-06-18"
	for name, text := range map[string]string{
		"deep":        strings.Repeat("[", 1<<20),
		"deep_closed": strings.Repeat("[", 1<<19) + strings.Repeat("]", 1<<19),
		"wide":        "[[]" + strings.Repeat(",[]", 1<<20/3) + "]",
		"argument":    call(d, "gpio_read", `{"lines":[[]`+strings.Repeat(",[]", 1<<20/3)+"]}"),
	} {
		b.Run(name, func(b *testing.B) { run(b, srv, d, text, frame.Newline, 1) })
	}
}
