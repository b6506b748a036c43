package model

import (
	"fmt"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/change"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// Night holds the steps that a night ran, and the changes that it found. It is written as night.json.
type Night struct {
	Format  int     `json:"format"`
	Version string  `json:"tool_version"`
	Tool    string  `json:"tool_commit"`
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"`
	Plan    string  `json:"plan"`
	Folder  string  `json:"folder"`
	Store   string  `json:"store"`
	File    string  `json:"file,omitempty"` // file that was added to the store; "" when nothing was measured
	history.Header

	// Status is PASS, FAIL when something changed for the worse, or INCOMPLETE when a command had no result.
	Status string `json:"status"`

	Steps   []NightStep    `json:"steps"`
	Changes *change.Report `json:"changes"`
	Failing []NightFailure `json:"failing"` // also those that are not new
	Notes   []string       `json:"notes"`   // such as files skipped, and suspicions that were not settled

	Selves change.Selves `json:"a_a,omitempty"` // of all nights of a store, up to this one
}

// NightStep is a command of the plan.
type NightStep struct {
	Command string  `json:"command"`
	Points  int     `json:"points"`
	Gaps    int     `json:"gaps"`
	Wall    float64 `json:"wall_seconds"`
	Trouble string  `json:"trouble,omitempty"`  // the reason why the step has no result
	Left    string  `json:"left_out,omitempty"` // the reason why the step was not run
}

// NightFailure is a verdict of the night that is a failure.
type NightFailure struct {
	Series string `json:"series"`
	Word   string `json:"word"`
	Run    string `json:"run,omitempty"`
}

// Settle gives the night its status.
func (n *Night) Settle() {
	n.Status = rule.Pass.String()
	for i := range n.Steps {
		if s := &n.Steps[i]; s.Trouble != "" || s.Left == "interrupted" {
			n.Status = Incomplete
		}
	}
	if n.Changes.Worse() {
		n.Status = rule.Fail.String()
	}
}

// Sentence summarises the night.
func (n *Night) Sentence() string {
	r := n.Changes
	changes, begun := 0, 0
	for i := range r.Entries {
		changes += len(r.Entries[i].Changes)
		begun += len(r.Entries[i].Series)
	}
	said := fmt.Sprintf("%s compared, ", quantity.Plural(int64(r.Compared), "series", "series"))
	if changes == 0 {
		said += "nothing changed"
	} else {
		said += fmt.Sprintf("%s of %s", quantity.Plural(int64(changes), "change", "changes"),
			quantity.Plural(int64(n.causes()), "cause", "causes"))
	}
	for _, more := range []struct {
		n    int
		text string
	}{{r.First, "measured for the first time"}, {begun, "in a new segment"}, {len(r.Gaps), "without a value"}} {
		if more.n > 0 {
			said += fmt.Sprintf("; %s %s", quantity.Count(int64(more.n)), more.text)
		}
	}
	if k := n.silent(); k > 0 {
		said += fmt.Sprintf("; %s had no result", quantity.Plural(k, "command", "commands"))
	}
	return said
}

// silent returns the number of commands that were run and had no result.
func (n *Night) silent() (k int64) {
	for i := range n.Steps {
		if n.Steps[i].Trouble != "" {
			k++
		}
	}
	return k
}

// causes returns the number of entries about commits.
func (n *Night) causes() (k int) {
	for i := range n.Changes.Entries {
		if n.Changes.Entries[i].Segment == "" {
			k++
		}
	}
	return k
}

// FromTo states the values of a series before and after its change.
func FromTo(x *change.Change) string {
	side := func(s *change.Side) string {
		switch {
		case s.Word != "":
			return s.Word
		case s.Value == nil:
			return "–"
		}
		return quantity.Value(*s.Value, x.Unit)
	}
	text := side(&x.Before) + " → " + side(&x.Now)
	if by := By(x); by != "" {
		text += ", " + by
	}
	return text
}

// By states the size of a change of a series, and its probability by chance; "" where neither is known.
func By(x *change.Change) string {
	var parts []string
	if e := x.Relative; e != nil {
		parts = append(parts, quantity.Percent(e.Value, e.Low, e.High))
	}
	if x.P > 0 {
		parts = append(parts, fmt.Sprintf("p = %.2g", x.P))
	}
	return strings.Join(parts, ", ")
}
