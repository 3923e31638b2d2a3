package bench

import (
	"flag"
	"fmt"
	"math"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
)

var long = flag.Bool("long", false, "measure what takes minutes too: memory over 10,000,000 calls")

// measures are how the figures come about, by name. Each may skip.
var measures = map[string]func(t *testing.T) float64{
	"allocs.ping":              allocs("ping"),
	"allocs.gpio_read":         allocs("gpio_read"),
	"allocs.gpio_write":        allocs("gpio_write"),
	"allocs.gpio_write_for_ms": allocs("gpio_write_for_ms"),
	"allocs.tools_list":        allocs("tools_list"),

	"bytes.tools_list": length(steady("2026-07-28", "tools_list")),
	"bytes.gpio_list":  length(call("2026-07-28", "gpio_list", `{}`)),
	"bytes.discover":   length(request("2026-07-28", "server/discover", "")),

	"size.arm":     size("arm"),
	"size.arm64":   size("arm64"),
	"size.amd64":   size("amd64"),
	"size.riscv64": size("riscv64"),
	"size.mipsle":  size("mipsle"),

	"memory.peak_100k_kib":  peakAfterCalls,
	"memory.growth_1m_kib":  growth(1_000_000),
	"memory.growth_10m_kib": growth(10_000_000),
	"memory.peak_lists_kib": peakAfterLists,

	"gate.allocs":   gateAllocs,
	"gate.start_ms": gateStart,

	"link.bytes_call":       bytesPerCall(false),
	"link.bytes_answer":     bytesPerCall(true),
	"link.bytes_known_list": bytesOfList(true),
	"link.bytes_first_list": bytesOfList(false),
	"link.allocs":           allocsPerMessage,
	"link.buffers_kib":      linkBuffers,

	"link.goodput.9600":           goodput(9600),
	"link.goodput.115200":         goodput(115200),
	"link.goodput.921600":         goodput(921600),
	"link.delay_ratio.9600":       delayRatio(9600),
	"link.delay_ratio.115200":     delayRatio(115200),
	"link.delay_ratio.921600":     delayRatio(921600),
	"link.calls_per_s.9600":       callRate(9600, 1),
	"link.calls_per_s.115200":     callRate(115200, 1),
	"link.pipelined_per_s.9600":   callRate(9600, 32),
	"link.pipelined_per_s.115200": callRate(115200, 32),
}

func TestBudgets(t *testing.T) {
	budgets, err := Budgets()
	if err != nil {
		t.Fatal(err)
	}
	budgeted := map[string]bool{}
	for _, b := range budgets {
		if slices.ContainsFunc([]string{"peers.", "arm.", "boards.", "http.", "link.time.", "gate.call_ratio", "gate.start_instructions"}, func(p string) bool { return strings.HasPrefix(b.Name, p) }) {
			continue
		}
		budgeted[b.Name] = true
		measure := measures[b.Name]
		if measure == nil {
			t.Errorf("%s has a budget and nothing measures it; write a measure, or take the line out", b.Name)
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			value := measure(t)
			t.Logf("%s: %s of %s", b.Name, number(value), number(b.Bound))
			if s := b.Exceeded(value); s != "" {
				t.Error(s)
			}
		})
	}
	for name := range measures {
		if !budgeted[name] {
			t.Errorf("%s is measured and has no line in budgets.txt", name)
		}
	}
}

// allocs measures the allocations per request, and gives those of the worst
// dialect and framing.
func allocs(name string) func(t *testing.T) float64 {
	return func(t *testing.T) float64 {
		if raceDetector {
			t.Skip("a single goroutine, tens of thousands of calls; run without -race")
		}
		srv := board(t)
		worst := 0.0
		for _, d := range dialects {
			msg := steady(d, name)
			if msg == "" {
				continue
			}
			for framing, mode := range framings {
				for _, burst := range []int{1, inFlight} {
					var out failures
					n := allocsPerRequest(t, func(c *repeat) error { return srv.Serve(c, &out) }, client(d, msg, mode, burst, 0))
					if out.n > 0 {
						t.Fatalf("%s in %s is answered by %.300s", msg, d, out.first)
					}
					if n > 0 {
						t.Logf("%s, %s, %d in flight: %v", d, framing, burst, n)
					}
					worst = max(worst, n)
				}
			}
		}
		return worst
	}
}

// allocsPerRequest counts between two moments at which the client is read from,
// both on the serving goroutine, as testing.AllocsPerRun does. It counts twice
// and gives the smaller, for whatever else the runtime allocates.
func allocsPerRequest(t *testing.T, serve func(*repeat) error, c *repeat) float64 {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const warm, each = 4 * inFlight, 20 * inFlight
	var mem runtime.MemStats
	marks := [3]uint64{}
	c.count = warm + 2*each + 1
	c.sent = func(n int) {
		if n >= warm && (n-warm)%each == 0 {
			runtime.ReadMemStats(&mem)
			marks[(n-warm)/each] = mem.Mallocs
		}
	}
	if err := serve(c); err != nil {
		t.Fatal(err)
	}
	least := min(marks[1]-marks[0], marks[2]-marks[1])
	return math.Round(100*float64(least)/each) / 100
}

func length(msg string) func(t *testing.T) float64 {
	return func(t *testing.T) float64 {
		got := answers(t, board(t), msg)
		if len(got) != 1 || !strings.Contains(got[0], `"result":`) || strings.Contains(got[0], `"isError":true`) {
			t.Fatalf("%s is answered by %.300q", msg, got)
		}
		return float64(len(got[0]))
	}
}

func size(arch string) func(t *testing.T) float64 {
	return func(t *testing.T) float64 {
		if testing.Short() || raceDetector {
			t.Skip("builds the program for " + arch + "; run without -short and -race")
		}
		info, err := os.Stat(build(t, arch))
		if err != nil {
			t.Fatal(err)
		}
		return float64(info.Size())
	}
}

// measured is the program at its first call, ready to be watched by /proc. Its
// memory is known on one architecture only: that of others follows their binary.
func measured(t *testing.T) *process {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the budget is of linux/amd64")
	}
	if testing.Short() || raceDetector {
		t.Skip("builds and runs the program; run without -short and -race")
	}
	p := start(t, build(t, ""))
	p.ask(opening("2025-06-18"), 1)
	return p
}

const settled = 100_000 // calls after which nothing grows any more

func (p *process) calls(n int) { p.ask(steady("2025-06-18", "gpio_read"), n) }

func peakAfterCalls(t *testing.T) float64 {
	p := measured(t)
	p.calls(settled)
	return p.status("VmHWM")
}

func growth(calls int) func(t *testing.T) float64 {
	return func(t *testing.T) float64 {
		if calls > 1_000_000 && !*long {
			t.Skip("takes a minute; run with -long")
		}
		p := measured(t)
		p.calls(settled)
		before := p.status("RssAnon")
		p.calls(calls - settled)
		return p.status("RssAnon") - before
	}
}

func peakAfterLists(t *testing.T) float64 {
	p := measured(t)
	for _, d := range []string{"2025-06-18", "2026-07-28"} {
		p.ask(steady(d, "tools_list"), 10_000)
	}
	return p.status("VmHWM")
}

func TestABudgetIsReadFromItsLine(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []Budget
		err  string
	}{
		{"a highest and a lowest value", "a.b max 1.5 # why\nc min 2",
			[]Budget{{"a.b", true, 1.5, "why"}, {"c", false, 2, ""}}, ""},
		{"comments and blanks are passed over", "# all\n\n \t\na max 0", []Budget{{"a", true, 0, ""}}, ""},
		{"another word than max or min", "\na most 4", nil, `budgets, line 2: "a most 4" is not of the form: name max|min value`},
		{"no value", "a max # 4", nil, `budgets, line 1: "a max" is not of the form: name max|min value`},
		{"a value that is no number", "a max four", nil, `budgets, line 1: "four" is not a number`},
		{"a name that stands twice", "a max 4\na min 1", nil, `budgets, line 2: a has a budget already`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse(tt.text)
			if err != nil || tt.err != "" {
				if fmt.Sprint(err) != tt.err {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestABrokenBudgetSaysWhatToDo(t *testing.T) {
	high, low := Budget{"a", true, 2, "of what"}, Budget{"b", false, 2.5, "of that"}
	got := []string{high.Exceeded(2), high.Exceeded(4096), low.Exceeded(2.5), low.Exceeded(2)}
	const todo = "; undo what moved it, or change the line in bench/budgets.txt and say there why"
	want := []string{
		"", "a is 4096, its budget at most 2 (of what)" + todo,
		"", "b is 2, its budget at least 2.5 (of that)" + todo,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
