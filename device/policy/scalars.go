package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Each type here reads itself from a value of TOML: a string, int64, float64 or
// bool. The errors say what is allowed, and the caller says where it stands.

// UnmarshalTOML reads "listed" or "everything".
func (a *Allow) UnmarshalTOML(v any) error {
	return choose(a, v, map[string]Allow{"listed": Listed, "everything": Everything}, `"listed" or "everything" is allowed`)
}

// UnmarshalTOML reads "none", "read" or "write".
func (a *Access) UnmarshalTOML(v any) error {
	return choose(a, v, map[string]Access{"none": AccessNone, "read": AccessRead, "write": AccessWrite}, `"none", "read" or "write" is allowed`)
}

func (a Access) String() string {
	return [...]string{"default", "none", "read", "write"}[a]
}

// UnmarshalTOML reads "low", "high" or "input".
func (l *Level) UnmarshalTOML(v any) error {
	return choose(l, v, map[string]Level{"low": LevelLow, "high": LevelHigh, "input": LevelInput}, `"low", "high" or "input" is allowed`)
}

func (l Level) String() string {
	return [...]string{"unset", "low", "high", "input"}[l]
}

func choose[T any](dst *T, v any, choices map[string]T, allowed string) error {
	text, isText := v.(string)
	value, ok := choices[text]
	if !isText || !ok {
		return wrong(v, allowed)
	}
	*dst = value
	return nil
}

// wrong is the error of a value that is not allowed.
func wrong(v any, allowed string) error {
	if text, ok := v.(string); ok {
		return fmt.Errorf("%.64q; %s", text, allowed)
	}
	return fmt.Errorf("%.64s; %s", fmt.Sprint(v), allowed)
}

var ratePer = map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}

// maxRate bounds the count of a Rate.
const maxRate = 1_000_000

// UnmarshalTOML reads "10/s", "5/min" or "100/h".
func (r *Rate) UnmarshalTOML(v any) error {
	const allowed = `a number of calls in a time, as "10/s", "5/min" or "100/h", is allowed`
	text, _ := v.(string)
	count, per, _ := strings.Cut(text, "/")
	n, err := strconv.Atoi(strings.TrimSpace(count))
	unit, ok := ratePer[strings.TrimSpace(per)]
	if err != nil || !ok || n < 1 || n > maxRate {
		return wrong(v, allowed)
	}
	*r = Rate{n, unit}
	return nil
}

// String is the rate as UnmarshalTOML takes it.
func (r Rate) String() string {
	for unit, per := range ratePer {
		if per == r.Per {
			return strconv.Itoa(r.Count) + "/" + unit
		}
	}
	return fmt.Sprintf("%d/%v", r.Count, r.Per)
}

// Range is the numbers from First to Last. The zero Range is unset; see Set.
type Range struct {
	First, Last uint16
	Set         bool
}

// UnmarshalTOML reads one number, 0x76 or "0x76", or two: "0x20-0x27"; or "any".
func (r *Range) UnmarshalTOML(v any) error {
	const allowed = `a number as 0x76, two as "0x20-0x27", or "any" is allowed`
	switch v := v.(type) {
	case int64:
		if v < 0 || v > 0xffff {
			return wrong(v, "0 to 0xffff are allowed")
		}
		*r = Range{uint16(v), uint16(v), true}
		return nil
	case string:
		if v == "any" {
			*r = Range{0, 0xffff, true}
			return nil
		}
		first, last, two := strings.Cut(v, "-")
		if !two {
			last = first
		}
		a, err := parseNumber(first)
		b, err2 := parseNumber(last)
		switch {
		case errors.Join(err, err2) != nil:
			return wrong(v, allowed)
		case a > b:
			return wrong(v, "the lower number comes first")
		}
		*r = Range{a, b, true}
		return nil
	}
	return wrong(v, allowed)
}

// parseNumber reads a number as people write it: "118" or "0x76".
func parseNumber(text string) (uint16, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 0, 16)
	return uint16(n), err
}

// Any says that the range has all numbers.
func (r Range) Any() bool { return r.First == 0 && r.Last == 0xffff }

// Has says whether n is in the range.
func (r Range) Has(n uint16) bool { return r.Set && n >= r.First && n <= r.Last }

// String is the range as people write it: "0x76", "0x20-0x27" or "any".
func (r Range) String() string {
	switch {
	case r.Any():
		return "any"
	case r.First == r.Last:
		return fmt.Sprintf("0x%02x", r.First)
	}
	return fmt.Sprintf("0x%02x-0x%02x", r.First, r.Last)
}

// UnmarshalTOML reads "off" or a share in percent.
func (s *SafeDuty) UnmarshalTOML(v any) error {
	const allowed = `"off" or a share from 0 to 100 is allowed`
	switch v := v.(type) {
	case int64:
		return s.UnmarshalTOML(float64(v))
	case float64:
		if !(v >= 0 && v <= 100) {
			return wrong(v, allowed)
		}
		*s = SafeDuty{Duty: v}
		return nil
	case string:
		if v == "off" {
			*s = SafeDuty{Off: true}
			return nil
		}
	}
	return wrong(v, allowed)
}
