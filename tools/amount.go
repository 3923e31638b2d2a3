package tools

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// parseAmount splits "1.5ms" into 1.5 and "ms". The number is finite and not
// negative.
func parseAmount(text string) (value float64, unit string, ok bool) {
	text = strings.TrimSpace(text)
	n := strings.IndexFunc(text, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if n < 0 {
		n = len(text)
	}
	value, err := strconv.ParseFloat(text[:n], 64)
	return value, strings.TrimSpace(text[n:]), err == nil && !math.IsInf(value, 0)
}

// timeUnits are those of a duration, in nanoseconds.
var timeUnits = map[string]float64{"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}

// maxTime is the longest time that parseTime takes.
const maxTime = time.Hour

// parseTime reads a time such as "1.5ms", to the nanosecond.
func parseTime(text string) (time.Duration, bool) {
	value, unit, ok := parseAmount(text)
	scale, known := timeUnits[unit]
	if !ok || !known || value*scale > float64(maxTime) {
		return 0, false
	}
	return time.Duration(math.Round(value * scale)), true
}

// parsePeriod reads a time, or a frequency such as "50Hz", as a time above zero.
func parsePeriod(text string) (time.Duration, bool) {
	value, unit, ok := parseAmount(text)
	scale, known := map[string]float64{"hz": 1, "khz": 1e3, "mhz": 1e6}[strings.ToLower(unit)]
	if !ok || !known {
		d, ok := parseTime(text)
		return d, ok && d > 0
	}
	ns := math.Round(1e9 / (value * scale))
	return time.Duration(ns), ns >= 1 && ns <= float64(maxTime)
}
