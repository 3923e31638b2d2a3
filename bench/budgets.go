package bench

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

//go:embed budgets.txt
var text string

// Budget is a bound on one figure.
type Budget struct {
	Name  string  // "allocs.ping"; what comes before the point says who measures it
	Max   bool    // Bound is the highest value allowed, else the lowest
	Bound float64 // in the unit that Name ends in, else a count or a ratio
	Note  string  // what is measured, and why so much
}

// Budgets gives the budgets of budgets.txt in its order.
func Budgets() ([]Budget, error) { return Parse(text) }

// Parse reads budgets, one a line:
//
//	allocs.ping max 0  # per request, in every dialect
//
// A line may be empty or a comment alone. The error names the line.
func Parse(text string) ([]Budget, error) {
	var budgets []Budget
	seen := map[string]bool{}
	for i, line := range strings.Split(text, "\n") {
		body, note, _ := strings.Cut(line, "#")
		fields := strings.Fields(body)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 3 || fields[1] != "max" && fields[1] != "min" {
			return nil, fmt.Errorf("budgets, line %d: %q is not of the form: name max|min value", i+1, strings.TrimSpace(body))
		}
		bound, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			return nil, fmt.Errorf("budgets, line %d: %q is not a number", i+1, fields[2])
		}
		if seen[fields[0]] {
			return nil, fmt.Errorf("budgets, line %d: %s has a budget already", i+1, fields[0])
		}
		seen[fields[0]] = true
		budgets = append(budgets, Budget{fields[0], fields[1] == "max", bound, strings.TrimSpace(note)})
	}
	return budgets, nil
}

// Exceeded says in one sentence how value breaks the budget; "" where it does not.
func (b *Budget) Exceeded(value float64) string {
	word := "most"
	ok := value <= b.Bound
	if !b.Max {
		word, ok = "least", value >= b.Bound
	}
	if ok {
		return ""
	}
	return b.Name + " is " + number(value) + ", its budget at " + word + " " + number(b.Bound) + " (" + b.Note +
		"); undo what moved it, or change the line in bench/budgets.txt and say there why"
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
