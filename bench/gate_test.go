package bench

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"boardhand/device/boardfile"
	"boardhand/device/policy"
	"boardhand/device/sim"
	"boardhand/rpc"
	"boardhand/tools"
	"boardhand/tools/audit"
	"boardhand/tools/gate"
)

// gated is board under a board file. log may be nil.
func gated(t testing.TB, text string, log *audit.Log) *rpc.Server {
	t.Helper()
	f, err := boardfile.Parse("board.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	b, err := policy.Wrap(sim.Open(f.Sim), f.Rules, nil)
	if err != nil {
		t.Fatal(err)
	}
	cat, guard := tools.Catalogue(b, Version, func(err error) { t.Error(err) })
	t.Cleanup(func() {
		guard.Close()
		_ = b.Close()
	})
	if err := gate.Install(&cat, b, f.Rules, tools.Names, log); err != nil {
		t.Fatal(err)
	}
	return rpc.NewServer(cat, rpc.Limits{}, func(entry string, value any, _ []byte) { t.Errorf("%s panicked: %v", entry, value) })
}

// busyFile uses all that the gate does for a call.
const busyFile = `[limits]
calls = "1000000/s"
[tools]
rate = { "gpio_*" = "1000000/s" }
[audit]
file = "/of/this/test"
reads = true
[[line]]
line = "GPIO17"
name = "pump"
access = "write"
rate = "1000000/s"
[[line]]
line = "GPIO27"
`

// gateAllocs is how many more allocations a call has that passes the gate, in every
// dialect and framing: under a file that opens everything, and under one with limits,
// rates and an audit of each call.
func gateAllocs(t *testing.T) float64 {
	log, err := audit.Open(filepath.Join(t.TempDir(), "audit.jsonl"), audit.Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	worst := 0.0
	for _, name := range []string{"gpio_read", "gpio_write"} {
		for i, srv := range []*rpc.Server{gated(t, OpenFile, nil), gated(t, busyFile, log)} {
			for _, d := range dialects {
				for framing, mode := range framings {
					msg := steady(d, name)
					serve := func(srv *rpc.Server) float64 {
						var out failures
						n := allocsPerRequest(t, func(c *repeat) error { return srv.Serve(c, &out) }, client(d, msg, mode, 1, 0))
						if out.n > 0 {
							t.Fatalf("%s in %s is answered by %.300s", msg, d, out.first)
						}
						return n
					}
					// To the tenth, for the goroutine of the audit writes its file meanwhile.
					if more := math.Round(10*(serve(srv)-serve(board(t)))) / 10; more > worst {
						t.Logf("%s, %s, %s, file %d: %v", name, d, framing, i, more)
						worst = more
					}
				}
			}
		}
	}
	return worst
}

// gateStart is how many milliseconds a board file of 500 lines adds to a start: its
// parsing, its checks, the policy, and the gate. The least of many counts, for what
// else the machine does only adds.
func gateStart(t *testing.T) float64 {
	text := LargeFile()
	if n := strings.Count(text, "\n"); n < 500 {
		t.Fatalf("the large file has %d lines", n)
	}
	var with, without []float64
	took := func(start func()) float64 {
		began := time.Now()
		start()
		return time.Since(began).Seconds() * 1e3
	}
	for range 20 {
		with = append(with, took(func() { gated(t, text, nil) }))
		without = append(without, took(func() { board(t) }))
	}
	return slices.Min(with) - slices.Min(without)
}

// BenchmarkGate is what the gate and the policy cost a call: without a board file, under
// one that opens everything, and with limits and rates of all kinds.
func BenchmarkGate(b *testing.B) {
	for _, d := range []string{"2025-06-18", "2026-07-28"} {
		for _, name := range []string{"gpio_read", "gpio_write"} {
			for _, file := range []struct{ name, text string }{{"0-none", ""}, {"1-open", OpenFile}, {"2-limits", busyFile}} {
				b.Run(d+"/"+name+"/"+file.name, func(b *testing.B) {
					srv := board(b)
					if file.text != "" {
						srv = gated(b, strings.Replace(file.text, "reads = true\n", "", 1), nil)
					}
					run(b, srv, d, steady(d, name), framings["newline"], 1)
				})
			}
		}
	}
}
