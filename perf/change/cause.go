package change

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// Cause is a commit that a search found between two others, and the series that it changed.
type Cause struct {
	Before, Now   string // the ends of the range
	Commit, Title string
	Series        []string
}

// Attribute names in each entry the commit that searches found in its range. An entry with several such commits becomes
// one for each, and one for the series that no search has explained.
func (r *Report) Attribute(causes []Cause) {
	all := []Entry{}
	for i := range r.Entries {
		all = append(all, r.Entries[i].attributed(causes)...)
	}
	r.Entries = all
	r.sort()
}

// attributed returns the entries that an entry becomes. While one commit alone is known of a range, unexplained changes
// stay with it.
func (e *Entry) attributed(causes []Cause) []Entry {
	var found []Entry
	var rest []Change
	for _, x := range e.Changes {
		i := slices.IndexFunc(causes, func(c Cause) bool { return c.explains(e, &x) })
		if i < 0 {
			rest = append(rest, x)
			continue
		}
		k := slices.IndexFunc(found, func(o Entry) bool { return o.Commit == causes[i].Commit })
		if k < 0 {
			k = len(found)
			found = append(found, Entry{Before: e.Before, Now: e.Now, Commit: causes[i].Commit, Title: causes[i].Title})
		}
		found[k].Changes = append(found[k].Changes, x)
	}
	switch {
	case len(found) == 0:
		return []Entry{*e}
	case len(found) == 1:
		found[0].Changes = e.Changes
	case len(rest) > 0:
		found = append(found, Entry{Before: e.Before, Now: e.Now, Changes: rest})
	}
	return found
}

// explains reports whether the commit made a change of an entry.
func (c *Cause) explains(e *Entry, x *Change) bool {
	return e.Segment == "" && c.Before == e.Before && c.Now == e.Now && x.Class != history.Noisy &&
		slices.Contains(c.Series, x.Name)
}
