package gate

import (
	"testing"
	"testing/quick"
	"time"

	"boardhand/device/policy"
)

func TestNoRateIsNoLimit(t *testing.T) {
	if l := newLimit(policy.Rate{}, ""); l != nil {
		t.Errorf("%+v", l)
	}
}

// Whatever the calls do, never more than the rate pass in any stretch of its time.
func TestALimitHoldsInAnyStretchOfTime(t *testing.T) {
	for _, rate := range []policy.Rate{{Count: 1, Per: time.Second}, {Count: 3, Per: time.Second}, {Count: 10, Per: time.Minute},
		{Count: maxKept, Per: time.Second}, {Count: maxKept + 1, Per: time.Second}, {Count: 5000, Per: time.Hour}} {
		property := func(steps []uint16) bool {
			l := newLimit(rate, "")
			if len(l.at) > maxKept {
				t.Fatalf("it keeps %d times", len(l.at))
			}
			var passed []int64
			now := int64(0)
			for range 3 * rate.Count / max(1, len(steps)) {
				for _, s := range steps {
					now += int64(s) * int64(rate.Per) / int64(rate.Count) / (1 << 15)
					if l.wait(now) == 0 {
						l.take(now)
						passed = append(passed, now)
					}
				}
			}
			for i := rate.Count; i < len(passed); i++ {
				if passed[i]-passed[i-rate.Count] < int64(rate.Per)*999/1000 {
					return false
				}
			}
			return true
		}
		if err := quick.Check(property, &quick.Config{MaxCount: 10}); err != nil {
			t.Errorf("%v: %v", rate, err)
		}
	}
}

func TestALimitSaysWhenToComeAgain(t *testing.T) {
	l := newLimit(policy.Rate{Count: 2, Per: time.Minute}, "board.toml:3: rate = 2/min")
	second := int64(time.Second)
	for _, step := range []struct {
		at   int64
		wait time.Duration
	}{{0, 0}, {10 * second, 0}, {20 * second, 40 * time.Second}, {60*second - 1, 1}, {60 * second, 0}, {61 * second, 9 * time.Second}} {
		wait := l.wait(step.at)
		if wait != step.wait {
			t.Errorf("at %v it waits for %v, want %v", time.Duration(step.at), wait, step.wait)
		}
		if wait == 0 {
			l.take(step.at)
		}
	}
	if got, want := l.refusal(9200*time.Millisecond), "board.toml:3: rate = 2/min is used up; come again in 9.2s"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTimesAreRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1: "1ms", 1500 * time.Microsecond: "2ms", 87 * time.Millisecond: "87ms", 432 * time.Millisecond: "440ms",
		1234 * time.Millisecond: "1.3s", 59 * time.Second: "59s", 61 * time.Second: "1m1s", 1234 * time.Second: "21m",
	} {
		if got := rounded(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}
