// Package gate is what every call of a tool passes, in every dialect: by the rules
// of a board file it lets a call run, refuses it, or has a person asked; it counts
// rates, and it writes the audit. What single things allow, the wrapped board of
// package policy sees to by itself.
package gate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"boardhand/device/policy"
	"boardhand/rpc"
	"boardhand/tools/audit"
)

// gate is what the gates of all connections share.
type gate struct {
	board *policy.Board
	rules *policy.Rules
	log   *audit.Log // nil: nothing is written down
	start time.Time  // of the limits' clock
	other *tool      // what is no tool: resources and prompts
	// things are the rules about single things that confirm, bound the rate or keep a
	// secret; nil where there are none.
	things map[*policy.Rule]*thing
	// reading says that one of them bounds how often something is read.
	reading bool

	mu          sync.Mutex // the limits of tools and things
	connections int
}

// tool is what the rules say of a tool as a whole.
type tool struct {
	acting   bool // it may change something
	recorded bool // it is written down
	confirm  string
	limit    *limit
	secret   bool
}

// thing is what a rule says of its thing beside what the board sees to.
type thing struct {
	confirm string
	limit   *limit
	reading bool // the limit is of calls that read it, for it may not be changed
	secret  bool
}

// Install puts the rules of the tools on a catalogue: it closes those that are not
// allowed, and makes the catalogue's gate. b is the board whose tools they are,
// wrapped by the same rules. known are the names of all tools that there could be:
// a rule about another one is an error. log may be nil.
func Install(cat *rpc.Catalogue, b *policy.Board, r *policy.Rules, known []string, log *audit.Log) error {
	g := &gate{board: b, rules: r, log: log, start: time.Now(), other: &tool{recorded: log != nil && r.Audit.Reads}}
	if err := CheckNames(r, known); err != nil {
		return err
	}
	closeFamilies(cat, r, known)
	for i := range cat.Tools {
		t := &cat.Tools[i]
		if why := closed(r, t); why != "" {
			t.Closed = why
		}
		t.Note = g.tool(t)
	}
	for about := range r.All() {
		rule := about.Rule
		if !rule.Confirm && !rule.Secret && rule.Rate.Count == 0 {
			continue
		}
		if g.things == nil {
			g.things = make(map[*policy.Rule]*thing)
		}
		at := Place(r, rule.At) + ": " + about.Subject
		kept := &thing{secret: rule.Secret, limit: newLimit(rule.Rate, at+": rate = "+rule.Rate.String())}
		kept.reading = kept.limit != nil && about.Access != policy.AccessWrite
		g.reading = g.reading || kept.reading
		if rule.Confirm {
			kept.confirm = at + ": confirm = true"
		}
		g.things[rule] = kept
	}
	cat.Gate = g.connect
	return nil
}

// closed says which rule closes a tool, or "".
func closed(r *policy.Rules, t *rpc.Tool) string {
	at := Place(r, r.Tools.At)
	switch pattern := matching(r.Tools.Deny, t.Name); {
	case pattern != "":
		return fmt.Sprintf("%s: tool %q is closed by deny = %q; ask the owner of the file", at, t.Name, pattern)
	case len(r.Tools.Allow) > 0 && matching(r.Tools.Allow, t.Name) == "" && ownTool(r, t.Name) == nil:
		return fmt.Sprintf("%s: tool %q is closed, for allow does not name it; ask the owner of the file", at, t.Name)
	case r.ReadOnly && !t.Hints.ReadOnly:
		return fmt.Sprintf("%s: tool %q is closed by read_only = true; ask the owner of the file", r.File, t.Name)
	}
	return ""
}

// tool collects what the rules say of a tool.
func (g *gate) tool(t *rpc.Tool) *tool {
	r := g.rules
	at := fmt.Sprintf("%s: tool %q", Place(r, r.Tools.At), t.Name)
	kept := &tool{acting: !t.Hints.ReadOnly, secret: matching(r.Tools.Secret, t.Name) != ""}
	kept.recorded = g.log != nil && (kept.acting || r.Audit.Reads)
	if pattern := matching(r.Tools.Confirm, t.Name); pattern != "" {
		kept.confirm = fmt.Sprintf("%s: confirm = %q", at, pattern)
	}
	if pattern := matching(slices.Sorted(maps.Keys(r.Tools.Rate)), t.Name); pattern != "" {
		rate := r.Tools.Rate[pattern]
		kept.limit = newLimit(rate, fmt.Sprintf("%s: rate %q = %v", at, pattern, rate))
	}
	if own := ownTool(r, t.Name); own != nil {
		at := fmt.Sprintf("%s: tool %q", Place(r, own.At), t.Name)
		if own.Confirm {
			kept.confirm = at + ": confirm = true"
		}
		if own.Rate.Count > 0 {
			kept.limit = newLimit(own.Rate, at+": rate = "+own.Rate.String())
		}
	}
	return kept
}

func ownTool(r *policy.Rules, name string) *policy.OwnTool {
	for i := range r.Own {
		if r.Own[i].Name == name {
			return &r.Own[i]
		}
	}
	return nil
}

// matching is the longest of the patterns that a name fits, a name itself or the
// begin of one and a star; "" where it fits none.
func matching(patterns []string, name string) string {
	best := ""
	for _, p := range patterns {
		begin, star := strings.CutSuffix(p, "*")
		if (p == name || star && strings.HasPrefix(name, begin)) && len(p) > len(best) {
			best = p
		}
	}
	return best
}

// CheckNames says which rule is about a tool that cannot be: one that is neither
// among known nor the user's own.
func CheckNames(r *policy.Rules, known []string) error {
	rules := []struct {
		key      string
		patterns []string
	}{
		{"allow", r.Tools.Allow}, {"deny", r.Tools.Deny}, {"confirm", r.Tools.Confirm}, {"secret", r.Tools.Secret},
		{"rate", slices.Sorted(maps.Keys(r.Tools.Rate))},
	}
	for _, rule := range rules {
		for _, p := range rule.patterns {
			fits := func(name string) bool { return matching([]string{p}, name) != "" }
			if slices.ContainsFunc(known, fits) || slices.ContainsFunc(r.Own, func(t policy.OwnTool) bool { return fits(t.Name) }) {
				continue
			}
			return fmt.Errorf("%s: tools.%s: %.64q is no tool; allowed: a name, or the begin of one and a star, of %s",
				Place(r, r.Tools.At), rule.key, p, strings.Join(known, ", "))
		}
	}
	return nil
}

// connection is the gate of one connection.
type connection struct {
	*gate
	number int
	calls  *limit

	// These are used again by each call.
	found  []*policy.Rule
	about  []*thing
	limits []*limit
	line   []byte // of the audit
	name   []byte
}

// connect makes the gate of a connection.
func (g *gate) connect() rpc.Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.connections++
	r := g.rules
	return &connection{gate: g, number: g.connections,
		calls: newLimit(r.Limits.Calls, fmt.Sprintf("%s: limits.calls = %q", Place(r, r.Limits.At), r.Limits.Calls))}
}

// toolOf is what the rules say of what is called.
func (g *gate) toolOf(c *rpc.Call) *tool {
	if t := c.Tool(); t != nil {
		return t.Note.(*tool)
	}
	return g.other
}

// Enter implements rpc.Gate.
func (g *connection) Enter(c *rpc.Call) rpc.Verdict {
	t := g.toolOf(c)
	bounded := g.calls != nil || t.limit != nil || g.things != nil && (t.acting || g.reading)
	if !bounded && !t.recorded && t.confirm == "" {
		return rpc.Verdict{}
	}
	c.Entered = time.Now()
	c.Hidden = t.secret || c.Secret()
	if t.acting || t.recorded || g.reading {
		g.findRules(c)
	}
	if !bounded && t.confirm == "" {
		return rpc.Verdict{}
	}
	return g.decide(c, t, int64(c.Entered.Sub(g.start)))
}

// rests says whether a call does no more than bring outputs to their safe levels:
// that must be possible at any time, so no limit is against it, and nobody is asked.
func (g *connection) rests(c *rpc.Call) bool {
	subjects := c.Subjects()
	for i := range subjects {
		if subjects[i].Level < 0 || !g.board.Rests(policy.Touch(subjects[i])) {
			return false
		}
	}
	return len(subjects) > 0
}

// findRules finds the rules about the things that a call touches.
func (g *connection) findRules(c *rpc.Call) {
	g.about = g.about[:0]
	if g.things == nil {
		return
	}
	for _, s := range c.Subjects() {
		g.found = g.board.RulesAbout(g.found[:0], policy.Touch(s))
		for _, r := range g.found {
			t := g.things[r]
			if t == nil {
				continue
			}
			c.Hidden = c.Hidden || t.secret
			if !slices.Contains(g.about, t) {
				g.about = append(g.about, t)
			}
		}
	}
}

// decide decides on a call, whose rules were found, at a time of the limits' clock. A
// limit counts only a call that runs, but for that of all calls.
func (g *connection) decide(c *rpc.Call, t *tool, now int64) rpc.Verdict {
	limits, confirm := g.limits[:0], ""
	if t.limit != nil {
		limits = append(limits, t.limit)
	}
	for _, about := range g.about {
		if about.limit != nil && (t.acting || about.reading) {
			limits = append(limits, about.limit)
		}
		if t.acting && confirm == "" {
			confirm = about.confirm
		}
	}
	g.limits = limits
	if t.acting && t.confirm != "" {
		confirm = t.confirm
	}
	calls := g.calls
	if c.Confirmed() {
		calls, confirm = nil, "" // it was counted when the person was asked
	}
	if calls == nil && len(limits) == 0 && confirm == "" || t.acting && g.rests(c) {
		return rpc.Verdict{}
	}
	if calls != nil {
		if wait := calls.wait(now); wait > 0 {
			return rpc.Verdict{Action: rpc.Refuse, Why: calls.refusal(wait)}
		}
		calls.take(now)
	}
	if len(limits) > 0 {
		g.mu.Lock()
		defer g.mu.Unlock()
	}
	for _, l := range limits {
		if wait := l.wait(now); wait > 0 {
			return rpc.Verdict{Action: rpc.Refuse, Why: l.refusal(wait)}
		}
	}
	if confirm != "" {
		return rpc.Verdict{Action: rpc.Ask, Why: confirm}
	}
	for _, l := range limits {
		l.take(now)
	}
	return rpc.Verdict{}
}
