package main

import (
	"fmt"
	"strconv"
	"strings"
)

// budget is a bound on one figure.
type budget struct {
	name  string
	max   bool // the bound is the highest value allowed, else the lowest
	bound float64
}

// parseBudgets reads lines of the form
//
//	peers.p50_ratio_c max 1.15
//	peers.pipelined_ratio_c min 0.6
//
// Empty lines, comments from # on, and names that do not begin with "peers."
// are passed over: the file serves other benchmarks too.
func parseBudgets(text string) ([]budget, error) {
	var budgets []budget
	for i, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 || !strings.HasPrefix(fields[0], "peers.") {
			continue
		}
		if len(fields) != 3 || (fields[1] != "max" && fields[1] != "min") {
			return nil, fmt.Errorf("line %d: %q is not of the form: name max|min value", i+1, strings.TrimSpace(line))
		}
		bound, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a number", i+1, fields[2])
		}
		budgets = append(budgets, budget{fields[0], fields[1] == "max", bound})
	}
	return budgets, nil
}

// check returns the budgets that are exceeded or name nothing measured, with one
// sentence for each.
func check(budgets []budget, figures map[string]float64) (left []budget, exceeded []string) {
	for _, b := range budgets {
		value, ok := figures[b.name]
		switch {
		case !ok:
			exceeded = append(exceeded, fmt.Sprintf("%s has a budget but was not measured; -json FILE lists the names", b.name))
		case b.max && !(value <= b.bound):
			exceeded = append(exceeded, fmt.Sprintf("%s is %.4g, its budget at most %g", b.name, value, b.bound))
		case !b.max && !(value >= b.bound):
			exceeded = append(exceeded, fmt.Sprintf("%s is %.4g, its budget at least %g", b.name, value, b.bound))
		default:
			continue
		}
		left = append(left, b)
	}
	return left, exceeded
}

// slowSwitch is how long a call of the C program takes at least, in us, where the time of
// a call is judged by it: that is two switches between processes. Where those cost
// less, as on some virtual machines, the ratio says more of the machine than of boardhand.
const slowSwitch = 8

// judged are the budgets that this machine can judge; those of others are named.
func judged(budgets []budget, figures map[string]float64) (can []budget, cannot []string) {
	for _, b := range budgets {
		name, socket := strings.CutSuffix(b.name, ".socket")
		floor := floorP50
		if socket {
			floor += ".socket"
		}
		us, measured := figures[floor]
		switch name {
		case "peers.p50_ratio_c", "peers.p99_ratio_c", "peers.cpu_ratio_c":
			if measured && us < slowSwitch {
				cannot = append(cannot, b.name)
				continue
			}
		}
		can = append(can, b)
	}
	return can, cannot
}
