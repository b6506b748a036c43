package model

// Bisection is the search for the commit that changed an exact number or verdict.
type Bisection struct {
	Format  int             `json:"format"`
	Command string          `json:"command"` // that was run with each build
	Good    string          `json:"good"`
	Bad     string          `json:"bad"`
	Commits int             `json:"commits"` // behind good, up to bad
	Series  []string        `json:"series"`  // that differ between the two
	Runs    int             `json:"runs"`
	Steps   []BisectionStep `json:"steps"` // in the order in which they were asked
	First   string          `json:"first"` // of the commits that may have changed it
	Last    string          `json:"last"`  // of these, which is the same one where every commit can be measured
	Title   string          `json:"title"` // of the last
}

// BisectionStep is a commit that was asked.
type BisectionStep struct {
	Commit  string `json:"commit"`
	Value   string `json:"value,omitempty"` // of the first series
	Trouble string `json:"trouble,omitempty"`
}
