//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"boardhand/bench"
)

const (
	emulator = "qemu-arm"
	compiler = "gcc"
	cpu      = "arm1176" // of the Pi Zero; it knows no instruction beyond ARMv6
)

//go:embed plugin/count.c
var plugin []byte

// patience is how long one run may take: a hundred times what it does.
const patience = 5 * time.Minute

// dialect is a revision of MCP, by what a client says in it.
type dialect struct {
	suffix  string // of the figures' names
	opening string // or empty
	call    string
}

const arguments = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"gpio_read","arguments":{"lines":["GPIO17","GPIO27"]}`

var dialects = []dialect{
	{"", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"bench","version":"1"}}}`, arguments + `}}`},
	{".2026-07-28", "", arguments + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"}}}}`},
}

// figure is one result. spread is by how much the counts that it comes from
// differ, in percent of the least.
type figure struct {
	name          string
	value, spread float64
}

// keepToOneProcessor keeps this goroutine, and with it the programs that it
// starts, to one processor, as a small board has no more: threads that wait for
// each other then look less often in vain.
func keepToOneProcessor() error {
	runtime.LockOSThread()
	var set, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return fmt.Errorf("asking for the processors: %w", err)
	}
	for n := range len(set) * bits.UintSize {
		if set.IsSet(n) {
			one.Set(n)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("keeping to one processor: %w", err)
	}
	return nil
}

// counter runs a program and counts.
type counter struct {
	dir, plugin, exe string
	config           string // the board file; empty: none
}

func measure(dir, exe string) ([]figure, error) {
	c := counter{dir: dir, plugin: filepath.Join(dir, "count.so"), exe: exe}
	source := filepath.Join(dir, "count.c")
	if err := os.WriteFile(source, plugin, 0o600); err != nil {
		return nil, err
	}
	if err := command(compiler, "-shared", "-fPIC", "-O2", "-Wall", "-o", c.plugin, source); err != nil {
		return nil, err
	}
	if c.exe == "" {
		c.exe = filepath.Join(dir, "boardhand")
		if err := bench.Build(c.exe, "arm"); err != nil {
			return nil, err
		}
	}
	link, err := c.link()
	if err != nil {
		return nil, err
	}
	figures := []figure{link}
	for _, d := range dialects {
		start, spreadOne, err := c.least(d, 1, startRounds)
		if err != nil {
			return nil, err
		}
		once, spreadN, err := c.least(d, calls, rounds)
		if err != nil {
			return nil, err
		}
		twice, spread2N, err := c.least(d, 2*calls, rounds)
		if err != nil {
			return nil, err
		}
		figures = append(figures,
			figure{"arm.instructions_per_call" + d.suffix, perCall(once, twice), max(spreadN, spread2N)},
			figure{"arm.start_instructions" + d.suffix, float64(start), spreadOne})

		open, err := c.under(bench.OpenFile)
		if err != nil {
			return nil, err
		}
		gatedOnce, spreadN, err := open.least(d, calls, rounds)
		if err != nil {
			return nil, err
		}
		gatedTwice, spread2N, err := open.least(d, 2*calls, rounds)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{"gate.call_ratio" + d.suffix, perCall(gatedOnce, gatedTwice) / perCall(once, twice), max(spreadN, spread2N)})
		if d.suffix != "" {
			continue
		}
		large, err := c.under(bench.LargeFile())
		if err != nil {
			return nil, err
		}
		with, spread, err := large.least(d, 1, startRounds)
		if err != nil {
			return nil, err
		}
		figures = append(figures, figure{"gate.start_instructions", float64(with) - float64(start), spread})
	}
	return figures, nil
}

// under is the counter of the program under a board file.
func (c counter) under(text string) (*counter, error) {
	c.config = filepath.Join(c.dir, "board.toml")
	return &c, os.WriteFile(c.config, []byte(text), 0o600)
}

// perCall is what one call takes, from the counts of runs with so many and twice
// as many.
func perCall(once, twice uint64) float64 { return (float64(twice) - float64(once)) / calls }

// command runs a tool to its end.
func command(name string, args ...string) error {
	cmd := exec.Command(name, args...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, text)
	}
	return nil
}

// least is the least count of so many rounds with n calls each, and by how many
// percent they differ.
func (c *counter) least(d dialect, n, rounds int) (count uint64, spread float64, err error) {
	counts := make([]uint64, rounds)
	for i := range counts {
		if counts[i], err = c.count(d, n); err != nil {
			return 0, 0, err
		}
	}
	lowest, highest := slices.Min(counts), slices.Max(counts)
	return lowest, 100 * float64(highest-lowest) / float64(lowest), nil
}

// count runs the program from its start to its end with n calls, one at a time.
func (c *counter) count(d dialect, n int) (uint64, error) {
	program := []string{c.exe, "serve", "--board", "sim"}
	if c.config != "" {
		program = append(program, "--config", c.config)
	}
	return c.run(func(in io.Writer, answers *bufio.Reader) error { return ask(in, answers, d, n) }, program...)
}

// run runs a program and counts; talk is with its standard input and output.
func (c *counter) run(talk func(io.Writer, *bufio.Reader) error, program ...string) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out := filepath.Join(c.dir, "count")
	cmd := exec.CommandContext(ctx, emulator, append([]string{"-cpu", cpu, "-plugin", c.plugin + ",out=" + out}, program...)...)
	cmd.Env = []string{} // what the runtime of Go would look at
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	failed := talk(in, bufio.NewReader(answers))
	in.Close()
	if err := cmd.Wait(); failed != nil || err != nil {
		return 0, fmt.Errorf("%w, %v: %s", failed, err, said.Bytes())
	}
	text, err := os.ReadFile(out)
	if err != nil {
		return 0, fmt.Errorf("the plugin left no count: %w: %s", err, said.Bytes())
	}
	if err := os.Remove(out); err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

// link is what one end of the link takes for a call and its answer: half of what both
// ends take in a benchmark of package frame/link, as each codes one message, decodes
// one, and has their packets.
func (c *counter) link() (figure, error) {
	exe := filepath.Join(c.dir, "link.test")
	build := exec.Command("go", "test", "-c", "-o", exe, "boardhand/frame/link")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm", "GOARM=6")
	if text, err := build.CombinedOutput(); err != nil {
		return figure{}, fmt.Errorf("%v: %w\n%s", build.Args, err, text)
	}
	var least [2]uint64
	spread := 0.0
	for i := range least {
		counts := make([]uint64, rounds)
		for r := range counts {
			var err error
			if counts[r], err = c.run(func(_ io.Writer, out *bufio.Reader) error {
				_, err := io.Copy(io.Discard, out)
				return err
			}, exe, "-test.run", "^$", "-test.bench", "CallAndAnswer$", "-test.benchtime", fmt.Sprintf("%dx", (i+1)*calls)); err != nil {
				return figure{}, err
			}
		}
		lowest, highest := slices.Min(counts), slices.Max(counts)
		least[i], spread = lowest, max(spread, 100*float64(highest-lowest)/float64(lowest))
	}
	return figure{"arm.link_call", perCall(least[0], least[1]) / 2, spread}, nil
}

// ask makes n calls, each after the answer to the one before.
func ask(in io.Writer, answers *bufio.Reader, d dialect, n int) error {
	one := func(message string) error {
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			return err
		}
		line, err := answers.ReadSlice('\n')
		if err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
		if !bytes.Contains(line, []byte(`"result":`)) || bytes.Contains(line, []byte(`"isError":true`)) {
			return fmt.Errorf("%s is answered by %s", message, line)
		}
		return nil
	}
	if d.opening != "" {
		if err := one(d.opening); err != nil {
			return err
		}
	}
	for range n {
		if err := one(d.call); err != nil {
			return err
		}
	}
	return nil
}
