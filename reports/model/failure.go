package model

// Failure is the only JSON output of a command that came to no result: the command line is wrong, a file cannot be
// read, or a bench cannot be opened.
type Failure struct {
	Format  int    `json:"format"`
	Version string `json:"version"` // of this tool
	Commit  string `json:"commit"`  // of this tool, "" when unknown
	Command string `json:"command"` // as it was given
	Status  string `json:"status"`  // ERROR, or FAIL when the exit code is 1
	Error   string `json:"error"`   // one line: what is wrong, and the remedy
	Exit    int    `json:"exit"`    // the exit code of the process
}
