package suite

import (
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// FormatVersion is the version of the JSON forms of Result and Changes.
const FormatVersion = 1

// Result holds the papers' claims and the measurements. "gauntlet perf --json" prints it, and perf compare reads it.
type Result struct {
	Format     int     `json:"format"`
	Version    string  `json:"version"` // of this tool
	Commit     string  `json:"commit"`
	Started    string  `json:"started"` // RFC 3339
	Wall       float64 `json:"wall_seconds"`
	Command    string  `json:"command"`
	Bench      string  `json:"bench"`
	Confidence float64 `json:"confidence"`          // of the intervals
	Runs       int     `json:"runs"`                // that were made in virtual time; claims share them
	Emulated   string  `json:"emulated,omitempty"`  // bench on which numbers were measured besides
	RealRuns   int     `json:"real_runs,omitempty"` // that were made there

	LeftOut int `json:"real_left_out,omitempty"` // numbers that its budget did not reach

	Status string  `json:"status"` // the worst of the claims
	Claims []Claim `json:"claims"`
}

// The statuses of a claim and its numbers.
const (
	Holds    = "PASS"         // within the bound
	Open     = "INCONCLUSIVE" // outside, but the interval reaches in: more seeds are needed
	Broken   = "FAIL"         // outside with the whole interval
	Reported = "REPORTED"     // of a class that is never gated
	Unknown  = "ERROR"        // a run broke, or there is no number
)

// Findings on a paper's number.
const (
	Reproduced    = "reproduced"
	NotReproduced = "not reproduced"
)

// Claim is one claim of a paper.
type Claim struct {
	ID       string     `json:"id"`
	Source   string     `json:"source"`
	Claim    string     `json:"claim"`
	Class    string     `json:"class"` // letters of A V E H X
	Reason   string     `json:"reason,omitempty"`
	Status   string     `json:"status"`            // worst status of the checks that gate
	Finding  string     `json:"finding,omitempty"` // worst finding of its numbers; empty when the paper gives none
	Measured []Measured `json:"measured,omitempty"`
}

// Measured is one number of a claim.
type Measured struct {
	Name          string   `json:"name,omitempty"`
	Class         string   `json:"class"`
	Metric        string   `json:"metric"`
	Unit          string   `json:"unit,omitempty"` // empty for a share or a ratio
	LowerIsBetter bool     `json:"lower_is_better,omitempty"`
	Paper         *float64 `json:"paper,omitempty"`
	Model         *float64 `json:"model,omitempty"`
	Low           *float64 `json:"low,omitempty"`  // bound; absent when there is none at this end
	High          *float64 `json:"high,omitempty"` // upper bound, likewise

	Scenarios []string  `json:"scenarios,omitempty"` // of the runs that the metric reads
	Seeds     []uint64  `json:"seeds,omitempty"`     // one suffices without random events
	Random    bool      `json:"random,omitempty"`
	Values    []float64 `json:"values,omitempty"` // by seed

	Estimate *stats.Estimate `json:"estimate,omitempty"`

	// The number from runs with real packets, if there are any, and the share by which it is above Estimate.
	Real       *stats.Estimate `json:"real,omitempty"`
	RealValues []float64       `json:"real_values,omitempty"` // by seed
	Gap        *stats.Estimate `json:"gap,omitempty"`
	RealMade   []Made          `json:"real_made,omitempty"`
	// why there is no Real although runs were made for it, such as that the machine was too busy
	RealTrouble string `json:"real_trouble,omitempty"`
	Cut         *Cut   `json:"cut,omitempty"` // the runs with real packets were shorter; nil when they were not

	Status  string `json:"status"`
	Finding string `json:"finding,omitempty"`
	Trouble string `json:"trouble,omitempty"` // why there is no number
}

// Made says how a run with real packets was made.
type Made = targets.Made

// Cut is the number from runs in virtual time that are as short as those with real packets, which are compared with it.
type Cut struct {
	Length   string          `json:"length"` // of a run, in the time of the Spec
	Values   []float64       `json:"values"` // by seed
	Estimate *stats.Estimate `json:"estimate"`
}

// Beside returns the number in virtual time with which real packets are compared, and what it is of.
func (m *Measured) Beside() (what string, virtual *stats.Estimate) {
	if m.Cut != nil {
		return m.Title() + ", in the first " + m.Cut.Length, m.Cut.Estimate
	}
	return m.Title(), m.Estimate
}

// Carried returns the largest dilation of the runs with real packets, the time that all took, in seconds, and the most
// packets that one carried in a second of the machine.
func (m *Measured) Carried() (all Made) {
	for _, r := range m.RealMade {
		all.Dilation, all.Wall = max(all.Dilation, r.Dilation), all.Wall+r.Wall
		all.Rate = max(all.Rate, r.Rate)
	}
	return all
}

// Emulated reports whether runs with real packets were made for the number, with or without a result.
func (m *Measured) Emulated() bool {
	return m.Estimate != nil && (m.Real != nil || m.RealTrouble != "")
}

// Title names the measured quantity: "40 ms, goodput ratio".
func (m *Measured) Title() string {
	if m.Name == "" {
		return m.Metric
	}
	return m.Name + ", " + m.Metric
}

// severity orders the statuses; Reported has no weight.
var severity = map[string]int{Reported: 0, Holds: 1, Open: 2, Broken: 3, Unknown: 4}

// Worse returns the worse of two statuses.
func Worse(a, b string) string {
	if severity[b] > severity[a] {
		return b
	}
	return a
}

// Settle sets the status and finding of the claim to the worst of its numbers.
func (c *Claim) Settle() {
	c.Status, c.Finding = Reported, ""
	for i := range c.Measured {
		m := &c.Measured[i]
		c.Status = Worse(c.Status, m.Status)
		if m.Finding != "" && c.Finding != NotReproduced {
			c.Finding = m.Finding
		}
	}
}

// Settle sets the status of the result to the worst of its claims.
func (p *Result) Settle() {
	p.Status = Reported
	for i := range p.Claims {
		p.Status = Worse(p.Status, p.Claims[i].Status)
	}
}

// Count returns the number of claims with a status.
func (p *Result) Count(status string) (n int) {
	for i := range p.Claims {
		if p.Claims[i].Status == status {
			n++
		}
	}
	return n
}
