package gate

import (
	"strconv"
	"strings"
	"time"

	"boardhand/device/policy"
)

// limit lets so many calls pass in any stretch of a time, and no more: it keeps
// when the last ones passed. Times are ns of a clock that only runs forward.
type limit struct {
	per  int64
	at   []int64 // when the last calls passed; the oldest at next
	next int
	rule string // for refusals: `board.toml:12: line "pump": rate = 10/min`
}

// maxKept bounds what a limit keeps. A higher rate is taken in shorter stretches,
// each of which gets its share.
const maxKept = 1024

// newLimit gives a limit that nothing has passed, or nil for no rate.
func newLimit(r policy.Rate, rule string) *limit {
	if r.Count <= 0 || r.Per <= 0 {
		return nil
	}
	parts := (r.Count + maxKept - 1) / maxKept
	l := &limit{per: int64(r.Per) / int64(parts), at: make([]int64, r.Count/parts), rule: rule}
	for i := range l.at {
		l.at[i] = -l.per
	}
	return l
}

// wait is how long it takes until a call may pass; 0: it may now.
func (l *limit) wait(now int64) time.Duration {
	return time.Duration(max(0, l.at[l.next]+l.per-now))
}

// take counts a call that passes.
func (l *limit) take(now int64) {
	l.at[l.next] = now
	if l.next++; l.next == len(l.at) {
		l.next = 0
	}
}

// refusal says which limit was met and when to come again.
func (l *limit) refusal(wait time.Duration) string {
	return l.rule + " is used up; come again in " + rounded(wait)
}

// rounded is a time with two digits, rounded up.
func rounded(d time.Duration) string {
	unit := time.Millisecond
	for _, u := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second, time.Minute, 10 * time.Minute} {
		if d > 10*u {
			unit = u
		}
	}
	s := ((d + unit - 1) / unit * unit).String()
	if unit >= time.Minute {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

// Place is where a rule of a file stands, "board.toml:12", by its line; 0 is none.
func Place(r *policy.Rules, at int) string {
	if at == 0 {
		return r.File
	}
	return r.File + ":" + strconv.Itoa(at)
}
