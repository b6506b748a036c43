package model

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// Matrix holds the results of every implementation over every link. It is written as matrix.json.
type Matrix struct {
	Format  int     `json:"format"`
	Version string  `json:"version"` // of this tool
	Commit  string  `json:"commit"`
	Started string  `json:"started"` // RFC 3339
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"`
	Bench   string  `json:"bench"`
	Seed    uint64  `json:"seed"`
	Folder  string  `json:"folder"` // folder of the run folders of the cells

	Status string       `json:"status"` // worst status of all cells; FAIL also when a broken engine was not caught
	Impls  []string     `json:"impls"`  // rows, in this order; "a+b" is a at A and b at B
	Links  []MatrixLink `json:"links"`  // columns, in this order
	Cells  []Cell       `json:"cells"`  // by implementation, then by link
	Kills  []Kill       `json:"kills,omitempty"`

	// names, if every one of them met every other: rows are requesters, columns responders
	Peers []string `json:"peers,omitempty"`
}

// MatrixLink is a column of a Matrix.
type MatrixLink struct {
	Name  string `json:"name"`
	Title string `json:"title"` // one line
	Text  string `json:"text"`  // the scenario lines that make it
}

// Cell is one implementation over one link.
type Cell struct {
	Impl   string    `json:"impl"`
	Ends   [2]string `json:"ends,omitzero"` // requester and responder, in a matrix of peers
	Link   string    `json:"link"`
	Status string    `json:"status"`
	Reason string    `json:"reason,omitempty"`
	validity.State
	Attempts int     `json:"attempts"` // runs that were made; more than 1 when the link of earlier ones was INVALID
	Wall     float64 `json:"wall_seconds"`
	SpecHash string  `json:"spec_hash"`
	Folder   string  `json:"folder,omitempty"` // of the last attempt
	Again    string  `json:"again,omitempty"`  // command that repeats the run

	Verdicts []Fact   `json:"verdicts"`         // how many rules have each status
	Broken   []string `json:"broken,omitempty"` // required rules that failed
	Warnings []string `json:"warnings,omitempty"`

	metrics.Summary
}

// Requests states in a line the outcome of a cell's work; "" when the cell was not run.
func (c *Cell) Requests() string {
	if c.Work.Known == "" {
		return ""
	}
	return Headline(&c.Work)
}

// Kill is a broken engine, and whether the rules caught it.
type Kill struct {
	Family string `json:"family"` // the transport of the engine
	Name   string `json:"name"`
	Breaks string `json:"breaks"` // the defect of the engine, in a sentence
	// FAIL as expected; PASS when the defect was not detected; ERROR when the correct engine fails as well
	Status string   `json:"status"`
	Caught []string `json:"caught"`           // rules that fail on it and not on the correct engine
	Missed []string `json:"missed,omitempty"` // rules that should fail on it and do not
	Reason string   `json:"reason,omitempty"`
}

// Killed reports whether every rule that names the engine caught it.
func (k *Kill) Killed() bool { return k.Status == rule.Fail.String() }

// Cell returns the cell of an implementation and a link; nil when it was not run.
func (m *Matrix) Cell(impl, link string) *Cell {
	for i := range m.Cells {
		if c := &m.Cells[i]; c.Impl == impl && c.Link == link {
			return c
		}
	}
	return nil
}

// Size returns the size of the matrix in words: "3 implementations over 2 links".
func (m *Matrix) Size() string {
	links := quantity.Plural(int64(len(m.Links)), "link", "links")
	if n := len(m.Peers); n > 0 {
		return quantity.Plural(int64(n), "implementation", "implementations") + ", each with each, over " + links
	}
	return quantity.Plural(int64(len(m.Impls)), "implementation", "implementations") + " over " + links
}

// Met returns the cell in which two peers met over a link; nil when it was not run.
func (m *Matrix) Met(requester, responder, link string) *Cell {
	for i := range m.Cells {
		if c := &m.Cells[i]; c.Ends == [2]string{requester, responder} && c.Link == link {
			return c
		}
	}
	return nil
}

// Survivors returns the number of broken engines that were not caught.
func (m *Matrix) Survivors() (n int) {
	for i := range m.Kills {
		if !m.Kills[i].Killed() {
			n++
		}
	}
	return n
}

// Settle gives the matrix its status: the worst of the cells that the bench can run, and at least FAIL when a broken
// engine was not caught. If the bench can run no cell, the status is NOT-APPLICABLE.
func (m *Matrix) Settle() {
	worst := rule.NotApplicable
	for i := range m.Cells {
		var s rule.Status
		if s.UnmarshalText([]byte(m.Cells[i].Status)) != nil {
			s = rule.Error // a cell without a verdict was not run
		}
		if worst == rule.NotApplicable {
			worst = s
		} else if s != rule.NotApplicable {
			worst = max(worst, s)
		}
	}
	if m.Survivors() > 0 {
		worst = max(worst, rule.Fail)
	}
	m.Status = worst.String()
}
