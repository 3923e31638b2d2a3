package own

import (
	"strings"
	"testing"
	"time"
)

// A value is put in as it is: what looks like a parameter in it stays.
func FuzzFill(f *testing.F) {
	f.Add("{a}", "x")
	f.Add("x{a}y{a}", "{a}")
	f.Add("{{a}}", "}")
	f.Add("{b{a}", "{")
	f.Add("{a", "x")
	f.Add("{}{ }}{", "")
	f.Fuzz(func(t *testing.T, template, value string) {
		if got, want := fill(template, map[string]string{"a": value}), strings.ReplaceAll(template, "{a}", value); got != want {
			t.Errorf("%q with %q is %q, not %q", template, value, got, want)
		}
	})
}

func TestTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1": time.Millisecond, "500ms": 500 * time.Millisecond, "600000": maxWait, "10m": maxWait,
		"": 0, "0": 0, "-5": 0, "0.5ms": 0, "1.5": 0, "600001": 0, "11m": 0, "9223372036854775807": 0, "1e3": 0, "5 s": 0,
	} {
		if got, err := parseTime(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
}
