// Package bench holds the budgets of the program, budgets.txt, and what measures
// against them: tests for figures that are the same on every run (allocations,
// bytes, resident memory), and benchmarks, without a budget, for times. Times of
// whole processes are measured against other servers by bench/peers, which
// checks its own lines of the same file.
package bench
