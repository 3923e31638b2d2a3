//go:build linux

// Command conformance runs the official conformance suite of MCP (npm,
// @modelcontextprotocol/conformance) against the packages that boardhand is made of:
// the items that it asks for (package items) behind boardhand's HTTP front; and the
// same on standard input and output in both framings, and at the end of a serial
// cable, which the suite cannot do itself, through an adapter. All that is scored must
// pass: there is no list of expected failures.
//
//	go run ./bench/conformance
//	go run ./bench/conformance -over http,serial -revisions 2026-07-28
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"boardhand/bench/cable"
)

// The suite and the node that it wants.
const (
	suite = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
	node  = "node@24.12.0"
)

// ways are how the items are reached; oauth is the suite's scenarios for authorization
// servers, against the program itself.
var ways = []string{"http", "stdio", "header", "serial", "oauth"}

// Of these revisions the suite has lists of what they require; of older ones it has
// the scenarios that apply.
var required = []string{"2025-11-25", "2026-07-28"}

func main() {
	over := flag.String("over", strings.Join(ways, ","), "how the items are reached, some of these")
	revisions := flag.String("revisions", "2025-03-26,2025-06-18,2025-11-25,2026-07-28", "the `revisions` of MCP, separated by commas")
	require := flag.Bool("require", false, "fail where the suite cannot be had")
	url := flag.String("url", "", "judge the server at this address instead, which has the items")
	flag.Parse()
	switch err := run(strings.Split(*over, ","), strings.Split(*revisions, ","), *url); {
	case errors.Is(err, errNoSuite) && !*require:
		fmt.Fprintln(os.Stderr, "conformance: left out,", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
}

var errNoSuite = errors.New("the suite cannot be had")

func run(over, revisions []string, url string) error {
	s, err := install()
	if err != nil {
		return fmt.Errorf("%w: %w", errNoSuite, err)
	}
	work, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if url != "" {
		return s.judgeAll("url", url, revisions, work)
	}
	programs := map[string]string{"server": "./bench/conformance/server", "adapter": "./bench/conformance/adapter", "boardhand": "."}
	for name, pkg := range programs {
		programs[name] = filepath.Join(work, name)
		if out, err := exec.Command("go", "build", "-o", programs[name], pkg).CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
	}
	var failed []error
	for _, way := range over {
		if err := s.over(way, programs, revisions, work); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// over judges the items that are reached in one way.
func (s *installed) over(way string, programs map[string]string, revisions []string, work string) error {
	adapter := func(args ...string) *exec.Cmd { return exec.Command(programs["adapter"], args...) }
	var cmd *exec.Cmd
	switch way {
	case "oauth":
		return s.authorization(programs["boardhand"], revisions, work)
	case "http":
		cmd = exec.Command(programs["server"], "-http", "127.0.0.1:0")
	case "stdio":
		cmd = adapter("--", programs["server"])
	case "header":
		cmd = adapter("-header", "--", programs["server"])
	case "serial":
		c, err := cable.Open(cable.Config{A: filepath.Join(work, "laptop"), B: filepath.Join(work, "board"), Seed: 1})
		if err != nil {
			return err
		}
		defer c.Close()
		board := exec.Command(programs["server"], "-serial", c.Path(cable.B))
		board.Stderr = os.Stderr
		if err := board.Start(); err != nil {
			return err
		}
		defer end(board)
		cmd = adapter("--", programs["boardhand"], "connect", c.Path(cable.A), "--baud", "921600")
	default:
		return fmt.Errorf("-over %q: it must be %s", way, strings.Join(ways, ", "))
	}
	said := new(strings.Builder)
	cmd.Stderr = said
	in, err := cmd.StdinPipe() // the adapter ends with it
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer end(cmd)
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("over %s: the server did not start: %w\n%s", way, err, said)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := s.judgeAll(way, strings.TrimSpace(url), revisions, work); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func (s *installed) judgeAll(way, url string, revisions []string, work string) error {
	var failed []error
	for _, revision := range revisions {
		start := time.Now()
		v, err := s.judge(url, revision, filepath.Join(work, way+"-"+revision))
		fmt.Printf("%-7s %s  %3d checks pass, %d fail, %d not scored of %d fail  (%.0f s)\n", way, revision, v.passed, len(v.failed), v.extraFailed, v.extra, time.Since(start).Seconds())
		for _, f := range v.failed {
			fmt.Println("       ", f)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("over %s at %s: %w", way, revision, err))
		}
	}
	return errors.Join(failed...)
}

// verdict is what the suite says.
type verdict struct {
	passed             int
	failed             []string // what and why
	extra, extraFailed int      // checks that are not scored: extensions, and what came later
}

// judge runs the suite once.
func (s *installed) judge(url, revision, out string) (v verdict, err error) {
	args := []string{s.script, "server", "--url", url, "-o", out}
	if slices.Contains(required, revision) {
		args = append(args, "--requirements", revision)
	} else {
		args = append(args, "--suite", "all", "--spec-version", revision)
	}
	cmd := exec.Command(s.node, args...)
	text, err := cmd.CombinedOutput()
	unscored := map[string]bool{}
	_, rest, _ := strings.Cut(string(text), "Not scored for ")
	for line := range strings.Lines(rest) {
		if words := strings.Fields(line); len(words) > 1 && (words[0] == "✓" || words[0] == "✗") {
			unscored[words[1]] = true
		}
	}
	files, _ := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	for _, file := range files {
		var checks []struct{ ID, Status, ErrorMessage string }
		data, readErr := os.ReadFile(file)
		if readErr != nil || json.Unmarshal(data, &checks) != nil {
			return v, fmt.Errorf("%s cannot be read: %w", file, readErr)
		}
		scenario := strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-")
		extra := false
		for name := range unscored {
			extra = extra || strings.HasPrefix(scenario, name+"-20")
		}
		for _, c := range checks {
			bad := c.Status == "FAILURE" || c.Status == "WARNING"
			switch {
			case c.Status == "INFO" || c.Status == "SKIPPED":
			case extra && bad:
				v.extra++
				v.extraFailed++
			case extra:
				v.extra++
			case bad:
				v.failed = append(v.failed, c.ID+": "+c.ErrorMessage)
			default:
				v.passed++
			}
		}
	}
	switch {
	case len(v.failed) > 0:
		return v, fmt.Errorf("%d checks fail", len(v.failed))
	case err != nil:
		return v, fmt.Errorf("the suite: %w\n%s", err, tail(text))
	case v.passed == 0:
		return v, fmt.Errorf("the suite has checked nothing\n%s", tail(text))
	}
	return v, nil
}

func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }

// installed is the suite on this machine.
type installed struct{ node, script string }

// install installs the suite into the user's cache, the first time.
func install() (*installed, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "boardhand-conformance", strings.ReplaceAll(suite[1:], "/", "-"))
	s := &installed{
		node:   filepath.Join(dir, "node_modules", ".bin", "node"),
		script: filepath.Join(dir, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"),
	}
	if s.whole() {
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel=error", suite, node)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm install %s: %w\n%s", suite, err, out)
	}
	if !s.whole() {
		return nil, errors.New("npm has installed no node, or not the suite, in " + dir)
	}
	return s, nil
}

func (s *installed) whole() bool {
	_, err := os.Stat(s.script)
	return err == nil && exec.Command(s.node, "--version").Run() == nil
}
