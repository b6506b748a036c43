// Package change determines what has changed in a night, by the class of each number:
//
//   - Exact: any difference from the previous night is a change. Two nights of one commit must not differ; a difference
//     means that runs cannot be repeated.
//   - Paired: compared seed by seed, with an interval for each series that stands out, and a bound on the share of
//     false changes among those of the night.
//   - Noisy: a number that leaves its level is suspected. It counts as changed only when runs of both builds, made
//     alternately in the same night, confirm it. A bad night alone is no change, because it affects both builds.
//
// A gap changes nothing. A series measured under other conditions begins a segment, and is not compared with earlier
// nights. The changes between two commits are one entry, however many series show them. The package neither makes runs
// nor stores anything.
package change

import (
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Kind is the kind of a change.
type Kind string

// The kinds, the most important first.
const (
	NewFailure Kind = "new failure"
	Unstable   Kind = "not repeatable" // another exact result of the same commit
	Regressed  Kind = "regressed"
	Fixed      Kind = "fixed"
	Improved   Kind = "improved"
	Changed    Kind = "changed" // neither direction is better
)

var kinds = []Kind{NewFailure, Unstable, Regressed, Fixed, Improved, Changed}

// Worse reports whether a change is for the worse.
func (k Kind) Worse() bool { return k == NewFailure || k == Unstable || k == Regressed }

// Side is one of the two nights between which a series changed.
type Side struct {
	Night  string   `json:"night"`
	Commit string   `json:"commit"`
	Value  *float64 `json:"value,omitempty"`
	Word   string   `json:"word,omitempty"`
	Run    string   `json:"run,omitempty"`
}

// Change is one series that changed.
type Change struct {
	history.Series
	Host     string          `json:"host,omitempty"`
	Kind     Kind            `json:"kind"`
	Before   Side            `json:"before"`
	Now      Side            `json:"now"`
	Relative *stats.Estimate `json:"change,omitempty"` // now/before - 1; nil for verdicts, and when before is 0
	P        float64         `json:"p,omitempty"`      // probability without a change; 0 for exact series
}

// Entry holds all changes with one cause.
type Entry struct {
	Before  string   `json:"before,omitempty"`  // last commit without the change
	Now     string   `json:"now,omitempty"`     // first commit with it; the cause is between the two
	Commit  string   `json:"commit,omitempty"`  // the cause, where a search has found it
	Title   string   `json:"title,omitempty"`   // of the commit
	Segment string   `json:"segment,omitempty"` // instead of commits: the conditions that changed
	Changes []Change `json:"changes,omitempty"` // the worst first
	Series  []string `json:"series,omitempty"`  // series of the segment
}

// Gap is a series without a result from tonight.
type Gap struct {
	Series string `json:"series"`
	Host   string `json:"host"`
	Status string `json:"status"`
}

// Report holds the changes of a night.
type Report struct {
	Night     string      `json:"night"`
	Compared  int         `json:"compared"`  // series with an earlier night for comparison
	First     int         `json:"first"`     // series without one
	Entries   []Entry     `json:"entries"`   // the worst first, segments last
	Suspected []Suspicion `json:"suspected"` // not confirmed yet
	Gaps      []Gap       `json:"gaps"`
}

// Worse reports whether anything changed for the worse.
func (r *Report) Worse() bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return slices.ContainsFunc(e.Changes, func(c Change) bool { return c.Kind.Worse() })
	})
}

// Rule defines which differences count as changes.
type Rule struct {
	Discovery float64 // upper bound of the mean share of false changes among the paired ones of a night
	Margin    float64 // relative change of a paired or noisy number up to which it is ignored
}

// Usual is the default rule.
var Usual = Rule{Discovery: 0.05, Margin: 0.002}

// Of reports the changes of a night, from the tracks of all nights and the noisy changes that were confirmed in it.
func Of(tracks []history.Track, night string, r Rule, confirmed []Change) *Report {
	c := &comparing{rule: r, report: &Report{Night: night, Entries: []Entry{}, Suspected: []Suspicion{}, Gaps: []Gap{}}}
	c.hosts(tracks, night)
	for i := range tracks {
		c.track(&tracks[i], night)
	}
	c.paired()
	for _, x := range confirmed {
		c.add(x)
	}
	c.report.sort()
	return c.report
}

// comparing builds a report.
type comparing struct {
	rule      Rule
	report    *Report
	pairs     []pair
	elsewhere map[string]bool // noisy series that any host measured on an earlier night
}

// track compares the entries of tonight with those before them. An exact number that several hosts have measured is
// compared each time, which is a check at no cost.
func (c *comparing) track(t *history.Track, night string) {
	first := slices.IndexFunc(t.Entries, func(e history.Entry) bool { return e.Night == night })
	for i := first; i >= 0 && i < len(t.Entries) && t.Entries[i].Night == night; i++ {
		now := &t.Entries[i]
		if now.Gap() {
			c.report.Gaps = append(c.report.Gaps, Gap{t.Name, now.Host, now.Status})
			continue
		}
		before := t.Before(i)
		if before == nil {
			c.begins(t, i)
			continue
		}
		c.report.Compared++
		c.compare(t, i, before)
	}
}

// compare compares an entry with the one before it.
func (c *comparing) compare(t *history.Track, i int, before *history.Entry) {
	now := &t.Entries[i]
	switch {
	case now.Word != "" && t.Class == history.Noisy:
		c.seenTwice(t, i)
	case t.Class == history.Noisy:
		if s, ok := suspect(t, i); ok {
			c.report.Suspected = append(c.report.Suspected, s)
		}
	case t.Class == history.Paired && now.Word == "":
		c.pairs = append(c.pairs, pair{t, before, now})
	case now.Word != before.Word || !slices.Equal(now.Values, before.Values):
		c.add(exact(t, before, now))
	}
}

// add adds a change to the entry of its cause.
func (c *comparing) add(x Change) {
	list := &c.report.Entries
	i := slices.IndexFunc(*list, func(e Entry) bool {
		return e.Segment == "" && e.Before == x.Before.Commit && e.Now == x.Now.Commit
	})
	if i < 0 {
		i = len(*list)
		*list = append(*list, Entry{Before: x.Before.Commit, Now: x.Now.Commit})
	}
	(*list)[i].Changes = append((*list)[i].Changes, x)
}

// sort orders entries and changes by importance.
func (r *Report) sort() {
	rank := func(x Change) int { return slices.Index(kinds, x.Kind) }
	for i := range r.Entries {
		slices.SortStableFunc(r.Entries[i].Changes, func(a, b Change) int { return cmp.Compare(rank(a), rank(b)) })
	}
	first := func(e Entry) int {
		if len(e.Changes) == 0 {
			return len(kinds)
		}
		return rank(e.Changes[0])
	}
	slices.SortStableFunc(r.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(len(b.Changes), len(a.Changes)))
	})
}
