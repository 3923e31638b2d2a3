//go:build linux

package main

import (
	"slices"
	"strings"
	"testing"

	"boardhand/bench"
)

func TestEveryBudgetHasItsFigure(t *testing.T) {
	budgets, err := bench.Budgets()
	if err != nil {
		t.Fatal(err)
	}
	figures := []figure{{name: "gate.start_instructions"}, {name: "arm.link_call"}}
	for _, d := range dialects {
		figures = append(figures, figure{name: "arm.instructions_per_call" + d.suffix}, figure{name: "arm.start_instructions" + d.suffix},
			figure{name: "gate.call_ratio" + d.suffix})
	}
	if wrong := compare(budgets, figures); len(wrong) > 0 {
		t.Error(wrong)
	}
}

func TestWhatIsWrongWithAFigureIsSaid(t *testing.T) {
	budgets := []bench.Budget{{Name: "size.arm", Max: true}, {Name: "arm.a", Max: true, Bound: 10}, {Name: "arm.b", Max: true, Bound: 10}, {Name: "arm.gone", Max: true}}
	got := compare(budgets, []figure{{name: "arm.a", value: 10}, {name: "arm.b", value: 11}, {name: "arm.new"}})
	want := []string{"arm.b is 11, its budget at most 10", "arm.gone has a budget and is not measured", "arm.new is measured and has no line"}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACallIsTheDifferenceOfTheRuns(t *testing.T) {
	if got := perCall(5_000_000, 5_000_000+20_000*calls); got != 20_000 {
		t.Error(got)
	}
}
