package model

import "github.com/rdma-gauntlet/gauntlet/perf/change"

// Bisection is the search for the commit that changed an exact number or verdict.
type Bisection struct {
	Format  int             `json:"format"`
	Command string          `json:"command"` // run with each build
	Good    string          `json:"good"`
	Bad     string          `json:"bad"`
	Commits int             `json:"commits"`         // after good, up to bad
	Series  []string        `json:"series"`          // that differ between good and bad, by the found commit
	Later   []string        `json:"later,omitempty"` // that differ between good and bad, by a commit after it
	Runs    int             `json:"runs"`
	Steps   []BisectionStep `json:"steps"` // in the order of the measurements
	First   string          `json:"first"` // first commit that may have changed the series
	Last    string          `json:"last"`  // last one; equal to First where every commit can be measured
	Title   string          `json:"title"` // of Last
}

// BisectionStep is a commit that was measured.
type BisectionStep struct {
	Commit  string `json:"commit"`
	Value   string `json:"value,omitempty"` // of the first series that was changed
	Trouble string `json:"trouble,omitempty"`
}

// Cause returns the commit that the search found; found is false if there may be several.
func (b *Bisection) Cause() (c change.Cause, found bool) {
	return change.Cause{Before: b.Good, Now: b.Bad, Commit: b.Last, Title: b.Title, Series: b.Series}, b.First == b.Last
}
