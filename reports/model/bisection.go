package model

import (
	"cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
)

// Bisection is the search for the commit that changed an exact number or verdict.
type Bisection struct {
	Format  int             `json:"format"`
	Command string          `json:"command"`           // run with each build; words as a shell reads them
	Build   string          `json:"build,omitempty"`   // shell command that builds a commit
	Subject string          `json:"subject,omitempty"` // program that is built; "" for this one
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

// Again is the command line, for a shell, that searches again for what changed the first series: in a repository and
// with a store of nights, unless these are "". A build command that is not known is left for the reader to fill in.
func (b *Bisection) Again(store, repo string) string {
	words := []string{"gauntlet", "bisect", b.Good, b.Bad}
	for _, f := range [][2]string{{"--store", store}, {"--build", cmp.Or(b.Build, "COMMAND")}, {"--subject", b.Subject},
		{"--repo", repo}} {
		if f[1] != "" {
			words = append(words, f[:]...)
		}
	}
	if len(b.Series) > 0 {
		words = append(words, "--series", b.Series[0])
	}
	return quote.Shell(words...) + " -- " + b.Command
}
