package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// metric is a column of the tables.
type metric struct {
	name    string
	unit    string // ends the name of its absolute figure
	title   string
	decimal int  // digits after the point
	ratio   bool // a ratio of it says something
}

var metrics = []metric{
	{"p50", "us", "call p50, us", 1, true},
	{"p99", "us", "p99, us", 1, true},
	{"cpu", "us", "CPU per call, us", 1, true},
	{"pipelined", "", "pipelined calls/s", 0, true},
	{"arg1m", "ms", "1 MiB argument, ms", 2, true},
	{"idle_wakeups", "", "idle wake-ups in 3 s", 0, false},
	{"start", "ms", "start to first answer, ms", 1, true},
	{"rss", "mib", "peak MiB", 2, true},
	{"size", "mib", "binary, MiB", 2, true},
}

// titles are the names of servers in the tables.
var titles = map[string]string{
	"boardhand": "boardhand",
	"C":         "C, canned answer (the floor)",
	"gosdk":     "go-sdk 1.8.0",
	"mcpgo":     "mcp-go 1.2.1",
	"empty":     "Go, canned answer",
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ratio returns the median of the ratios a/b of each round; false when a metric
// was not measured on both or b was zero.
func ratio(a, b []float64) (float64, bool) {
	if len(a) == 0 || len(a) != len(b) || slices.Contains(b, 0) {
		return 0, false
	}
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return median(ratios), true
}

// medians returns each server's figures by transport and metric.
func medians(servers []*server) map[string]map[transport]map[string]float64 {
	out := map[string]map[transport]map[string]float64{}
	for _, s := range servers {
		out[s.name] = map[transport]map[string]float64{}
		for t, rounds := range s.rounds {
			out[s.name][t] = map[string]float64{}
			for name, values := range rounds {
				out[s.name][t][name] = median(values)
			}
		}
	}
	return out
}

// figuresOf returns what budgets may name: boardhand's own figures
// ("peers.rss_mib") and its ratios to others ("peers.p50_ratio_c"), over a
// socket with ".socket" after. floorP50 is a call of the C program, and
// "peers.cpu_own_ratio_mcpgo" the processor time that a call takes beyond that
// program's, which is what is boardhand's own, to that of mcp-go.
func figuresOf(servers []*server) map[string]float64 {
	figures := map[string]float64{}
	i := slices.IndexFunc(servers, func(s *server) bool { return s.name == "boardhand" })
	if i < 0 {
		return figures
	}
	for _, t := range transports {
		suffix := ""
		if t != pipe {
			suffix = "." + string(t)
		}
		for _, m := range metrics {
			values := servers[i].rounds[t][m.name]
			if len(values) == 0 {
				continue
			}
			name := "peers." + m.name
			absolute := name
			if m.unit != "" {
				absolute += "_" + m.unit
			}
			figures[absolute+suffix] = median(values)
			for _, other := range servers {
				if other.name == "C" && m.name == "p50" && len(other.rounds[t][m.name]) > 0 {
					figures[floorP50+suffix] = median(other.rounds[t][m.name])
				}
				if r, ok := ratio(values, other.rounds[t][m.name]); ok && m.ratio && other != servers[i] {
					figures[name+"_ratio_"+strings.ToLower(other.name)+suffix] = r
				}
			}
		}
		toC, ok := figures["peers.cpu_ratio_c"+suffix]
		if toPeer := figures["peers.cpu_ratio_mcpgo"+suffix]; ok && toPeer > 0 {
			figures["peers.cpu_own_ratio_mcpgo"+suffix] = toPeer * (1 - 1/toC)
		}
	}
	return figures
}

const floorP50 = "peers.floor_p50_us"

// report returns the tables and how they were made.
func report(servers []*server, e effort) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Servers in turn, medians of %d rounds of %d calls of gpio_read, one at a time on one core; pipelined %d deep on all cores; peak memory after %d calls.\n",
		machine(), e.rounds, e.calls, window, e.memory)
	for _, t := range transports {
		columns := slices.DeleteFunc(slices.Clone(metrics), func(m metric) bool {
			return len(servers[0].rounds[t][m.name]) == 0
		})
		fmt.Fprintf(&b, "\nOver a %s:\n\n", t)
		absolute(&b, servers, t, columns)
		columns = slices.DeleteFunc(columns, func(m metric) bool { return !m.ratio })
		fmt.Fprintf(&b, "\nAs ratios, over a %s:\n\n", t)
		ratios(&b, servers, t, columns)
	}
	return b.String()
}

func heading(b *strings.Builder, first string, columns []metric) {
	fmt.Fprintf(b, "| %s |", first)
	for _, m := range columns {
		fmt.Fprintf(b, " %s |", m.title)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---:|", len(columns)))
}

func absolute(b *strings.Builder, servers []*server, t transport, columns []metric) {
	heading(b, "server", columns)
	for _, s := range servers {
		if s.startOnly && t != pipe {
			continue
		}
		fmt.Fprintf(b, "| %s |", titles[s.name])
		for _, m := range columns {
			cell := ""
			if values := s.rounds[t][m.name]; len(values) > 0 {
				cell = fmt.Sprintf("%.*f", m.decimal, median(values))
			}
			fmt.Fprintf(b, " %s |", cell)
		}
		b.WriteByte('\n')
	}
}

// ratios prints every server against C, and boardhand against every peer.
func ratios(b *strings.Builder, servers []*server, t transport, columns []metric) {
	for i := range columns {
		columns[i].title, _, _ = strings.Cut(columns[i].title, ",")
	}
	heading(b, "ratio", columns)
	for _, over := range servers {
		for _, under := range servers {
			if over == under || under.name == "boardhand" || (over.name != "boardhand" && under.name != "C") || ((over.startOnly || under.startOnly) && t != pipe) {
				continue
			}
			fmt.Fprintf(b, "| %s / %s |", over.name, under.name)
			for _, m := range columns {
				cell := ""
				if r, ok := ratio(over.rounds[t][m.name], under.rounds[t][m.name]); ok {
					cell = fmt.Sprintf("%.3g", r)
				}
				fmt.Fprintf(b, " %s |", cell)
			}
			b.WriteByte('\n')
		}
	}
}

// machine says where the figures come from.
func machine() string {
	kernel := "unknown"
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		kernel = unix.ByteSliceToString(u.Release[:])
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(text), " ")
	}
	return fmt.Sprintf("%s, %d CPUs, Linux %s, %s, load %s", runtime.GOARCH, runtime.NumCPU(), kernel, runtime.Version(), load)
}
