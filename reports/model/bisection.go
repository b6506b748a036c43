package model

// Bisection is the search for the commit that changed an exact number or verdict.
type Bisection struct {
	Format  int             `json:"format"`
	Command string          `json:"command"` // run with each build
	Good    string          `json:"good"`
	Bad     string          `json:"bad"`
	Commits int             `json:"commits"` // after good, up to bad
	Series  []string        `json:"series"`  // that differ between good and bad
	Runs    int             `json:"runs"`
	Steps   []BisectionStep `json:"steps"` // in the order of the measurements
	First   string          `json:"first"` // first commit that may have changed the series
	Last    string          `json:"last"`  // last one; equal to First where every commit can be measured
	Title   string          `json:"title"` // of Last
}

// BisectionStep is a commit that was measured.
type BisectionStep struct {
	Commit  string `json:"commit"`
	Value   string `json:"value,omitempty"` // of the first series
	Trouble string `json:"trouble,omitempty"`
}
