//go:build linux

package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"boardhand/bench"
)

// report is what was found out on one machine.
type report struct {
	machine             string
	oks, fails, skipped int
	boot                time.Duration // from the start of QEMU to the first process
	first               time.Duration // from the start of boardhand to its first answer
	took                time.Duration // all of it, building included
	peak                string        // kB
	notes               []string      // what the running test said
	absent              bool          // left out
}

func (r *report) checks() int { return r.oks + r.fails + r.skipped }

// add prints the outcome of a check and counts it.
func (r *report) add(err error, part, name string) {
	if err != nil {
		r.failed(err, part+"  "+name)
		return
	}
	r.oks++
	r.print("ok", part+"  "+name)
}

func (r *report) failed(err error, name string) {
	r.fails++
	r.print("FAIL", name)
	for line := range strings.Lines(err.Error()) {
		fmt.Println("        " + strings.TrimRight(line, "\n"))
	}
}

// skip counts a check that cannot be made; why may be empty.
func (r *report) skip(name, why string) {
	r.skipped++
	if why != "" {
		name += ": " + why
	}
	r.print("skip", name)
}

func (r *report) print(outcome, name string) {
	fmt.Printf("%-5s %-10s %s\n", outcome, r.machine, name)
}

var (
	testResult = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) `)
	testNote   = regexp.MustCompile(`^ +\S+\.go:\d+: (.*)`)
)

// testLine takes a line of the output of "go test -v". The notes of a test come
// before its result.
func (r *report) testLine(line string) {
	if strings.HasPrefix(line, "=== RUN ") {
		// A test that has subtests keeps its notes until its own result.
		return
	}
	if m := testNote.FindStringSubmatch(line); m != nil {
		r.notes = append(r.notes, m[1])
		return
	}
	if strings.HasPrefix(line, "panic: ") {
		r.failed(fmt.Errorf("%s", line), "kernel")
		return
	}
	m := testResult.FindStringSubmatch(line)
	if m == nil {
		return
	}
	name := "kernel " + " " + strings.ReplaceAll(strings.TrimPrefix(m[2], "TestKernel"), "_", " ")
	top := !strings.HasPrefix(line, " ")
	switch m[1] {
	case "PASS":
		r.oks++
		r.print("ok", name)
	case "FAIL":
		r.fails++
		r.print("FAIL", name)
		if top { // its subtests follow; the notes are of them all
			for _, n := range r.notes {
				fmt.Println("        " + n)
			}
		}
	case "SKIP":
		why := ""
		if top && len(r.notes) > 0 {
			why = r.notes[len(r.notes)-1]
		}
		r.skip(name, why)
	}
	if top {
		r.notes = nil
	}
}

// leftOut prints why the machine is not tried.
func (r *report) leftOut(why error) {
	r.absent = true
	r.print("out", "left out: "+strings.ReplaceAll(why.Error(), "\n", " "))
}

// budgets holds the figures of a machine that was tried to its end against their
// budgets.
func (r *report) budgets(all []bench.Budget) {
	kib, err := strconv.ParseFloat(r.peak, 64)
	if err != nil {
		return // what ended it early has been said
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"boards.peak_kib." + r.machine, kib},
		{"boards.first_answer_ms." + r.machine, float64(r.first.Milliseconds())},
	} {
		err := fmt.Errorf("%s is measured, %v, and has no line in bench/budgets.txt", f.name, f.value)
		for _, b := range all {
			if b.Name != f.name {
				continue
			}
			err = nil
			if broken := b.Exceeded(f.value); broken != "" {
				err = errors.New(broken)
			}
		}
		r.add(err, "budget", f.name)
	}
}

// summary prints the figures of all machines and gives the number of failures.
func summary(reports []*report) (failed int) {
	fmt.Printf("\n%-10s %6s %6s %7s %8s %14s %14s %8s\n", "machine", "ok", "failed", "skipped", "boot", "first answer", "peak memory", "all")
	for _, r := range reports {
		failed += r.fails
		if r.absent {
			fmt.Printf("%-10s left out\n", r.machine)
			continue
		}
		memory := "-"
		if kB, err := strconv.Atoi(r.peak); err == nil {
			memory = strconv.Itoa(kB) + " kB"
		}
		fmt.Printf("%-10s %6d %6d %7d %8s %14s %14s %8s\n", r.machine, r.oks, r.fails, r.skipped,
			r.boot.Round(100*time.Millisecond), r.first.Round(time.Millisecond), memory, r.took.Round(time.Second))
	}
	return failed
}
