// Package change says what a night changed, by the class of each number:
//
//   - Exact: any difference from the last night is a change. Of one commit there is none, and a difference is a broken
//     promise.
//   - Paired: seed by seed, with an interval for each series that stands out, and a bound on the share of false ones
//     over
//     the night.
//   - Noisy: a number that leaves its level is suspected, and changed only when builds that are run in turns in the
//     same
//     night confirm it. One bad night is no change, for the other build has had it too.
//
// A gap changes nothing. Whoever runs under other conditions begins a segment, and is compared with nobody. What one
// range of commits changed is one entry, however many series it shows in. The package runs nothing and keeps nothing.
package change

import (
	"cmp"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Kind says in which way something changed.
type Kind string

// The kinds, in the order in which a reader wants them.
const (
	NewFailure Kind = "new failure"
	Unstable   Kind = "not repeatable" // exact, of one commit, and yet another result
	Regressed  Kind = "regressed"
	Fixed      Kind = "fixed"
	Improved   Kind = "improved"
	Changed    Kind = "changed" // neither direction is better
)

var kinds = []Kind{NewFailure, Unstable, Regressed, Fixed, Improved, Changed}

// Worse reports whether a change is for the worse.
func (k Kind) Worse() bool { return k == NewFailure || k == Unstable || k == Regressed }

// Side is one of the two nights that a change is between.
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
	Relative *stats.Estimate `json:"change,omitempty"` // of now/before - 1; nil of verdicts, and where it was 0
	P        float64         `json:"p,omitempty"`      // of no change, where chance has a part
}

// Entry is everything that changed for one cause.
type Entry struct {
	Before  string   `json:"before,omitempty"`  // commit
	Now     string   `json:"now,omitempty"`     // likewise; the cause is behind Before, up to this one
	Segment string   `json:"segment,omitempty"` // in place of commits: what began anew
	Changes []Change `json:"changes,omitempty"` // what is worse first
	Series  []string `json:"series,omitempty"`  // of a segment
}

// Gap is a series that has nothing to say of tonight.
type Gap struct {
	Series string `json:"series"`
	Host   string `json:"host"`
	Status string `json:"status"`
}

// Report is what a night changed.
type Report struct {
	Night     string      `json:"night"`
	Compared  int         `json:"compared"`  // series that have an earlier night to be compared with
	First     int         `json:"first"`     // those that have none
	Entries   []Entry     `json:"entries"`   // what is worse first, segments last
	Suspected []Suspicion `json:"suspected"` // to be confirmed, or left
	Gaps      []Gap       `json:"gaps"`
}

// Worse reports whether anything changed for the worse.
func (r *Report) Worse() bool {
	return slices.ContainsFunc(r.Entries, func(e Entry) bool {
		return slices.ContainsFunc(e.Changes, func(c Change) bool { return c.Kind.Worse() })
	})
}

// Rule bounds what is taken for a change.
type Rule struct {
	Discovery float64 // share of false ones among the paired changes of a night, on average and at most
	Margin    float64 // relative change of a paired or noisy number that does not matter
}

// Usual is the rule where nobody asks for another.
var Usual = Rule{Discovery: 0.05, Margin: 0.002}

// Of says what a night changed, by the tracks of all nights. Confirmed are the noisy changes that were confirmed in it.
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

// comparing is a report in the making.
type comparing struct {
	rule      Rule
	report    *Report
	pairs     []pair
	elsewhere map[string]bool // series and hosts that had an earlier night
}

// track compares the entries of tonight with those before them. An exact number that several hosts measured is compared
// each time, which is a free check.
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

// compare relates an entry to the one before it.
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

// add puts a change into the entry of its cause.
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

// sort puts first what a reader wants first.
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
