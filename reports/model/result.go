// Package model is the result of a run as reports see it: plain data with stable JSON names.
package model

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// FormatVersion is the version of Result's JSON form.
const FormatVersion = 1

// Result is everything a report needs to know of one run. It is written as result.json into the run folder, so that
// every report can be made again later.
type Result struct {
	Format  int     `json:"format"`
	Version string  `json:"version"` // of this tool
	Commit  string  `json:"commit"`  // of this tool, "" when unknown
	Started string  `json:"started"` // RFC 3339
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"` // reproduces the run
	Bench   string  `json:"bench"`
	// how many seconds of the machine one of the Spec lasted; 0 in virtual time
	Dilated   int       `json:"dilated,omitempty"`
	Stretches bool      `json:"-"`    // the bench chose Dilated and could have chosen more
	Impl      [2]string `json:"impl"` // at A and B
	Spec      string    `json:"spec"` // canonical text
	SpecHash  string    `json:"spec_hash"`
	Seed      uint64    `json:"seed"`
	Folder    string    `json:"folder,omitempty"` // the run folder, "" when nothing was kept
	Report    string    `json:"report,omitempty"` // path of the HTML report
	// page beside the report that explains the rules that are broken
	Rulebook string `json:"rulebook,omitempty"`
	// of the same run, whose links were not what the Spec says; this one is the last
	Earlier []Attempt `json:"earlier_attempts,omitempty"`

	metrics.Summary

	Processor *Processor `json:"processor,omitempty"` // of runs in real time
	Capture   *Capture   `json:"capture,omitempty"`   // of a capture of another program
	// of one capture of a run of ours, which shows no fates of packets either
	SingleTap bool `json:"single_tap,omitempty"`

	// Status is the worst verdict of a required rule that stands; INVALID or ERROR when none fails and the run proves
	// nothing, INCONCLUSIVE when it did none of its work. What is known of link, capture and host stands beside it.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Fault  *Fault `json:"fault,omitempty"` // of the end that kept the run from its end, nil of a run that came to it
	validity.State

	Verdicts     []rule.Verdict        `json:"verdicts"`
	Certificates []certify.Certificate `json:"certificates"`
	Warnings     []string              `json:"warnings,omitempty"`
	// how the run was made: link kind and why, codec, limits of what was stored
	Notes       []string `json:"notes,omitempty"`
	Environment []Fact   `json:"environment"`

	Timeline  metrics.Timeline   `json:"timeline"`
	Sequences []metrics.Sequence `json:"sequences,omitempty"`
	Ladders   []Ladder           `json:"ladders,omitempty"`
	// state that the QPs of a side share, when the run ended: "A pool_units_high"
	Shared   []Fact `json:"shared,omitempty"`
	Counters []Fact `json:"counters,omitempty"` // of endpoints and links, those that are not zero
}

// Where names the bench, and how long a second lasted there where that is not the machine's.
func (r *Result) Where() string {
	if r.Dilated > 1 {
		return fmt.Sprintf("%s, time dilated %d times", r.Bench, r.Dilated)
	}
	return r.Bench
}

// Processor is what the endpoints at A and B used of the processors, from the start of the traffic to its end, all
// threads together; 0 where a program does not tell. It holds for one machine, and for endpoints that wait in the same
// way.
type Processor struct {
	Ns      [2]int64 `json:"ns"`
	NsPerGB [2]int64 `json:"ns_per_gb"` // for 10^9 bytes of payload that were delivered
}

// NewProcessor returns nil when no endpoint tells, and when nothing was delivered.
func NewProcessor(used [2]time.Duration, payload int64) *Processor {
	if used == [2]time.Duration{} || payload <= 0 {
		return nil
	}
	var p Processor
	for side, t := range used {
		p.Ns[side] = t.Nanoseconds()
		p.NsPerGB[side] = int64(float64(t) * 1e9 / float64(payload))
	}
	return &p
}

// Incomplete is the status of a trace that is judged again and whose run did not come to its end: what there is has
// been judged, and breaks no rule.
const Incomplete = "INCOMPLETE"

// ExitCode is the process exit code for a status: 0 all required rules passed, 1 a failure that stands, 3 INVALID,
// ERROR, INCOMPLETE, or what proves nothing, where none stands.
func ExitCode(status string) int {
	switch status {
	case rule.Pass.String():
		return 0
	case rule.Invalid.String(), rule.Error.String(), rule.Inconclusive.String(), Incomplete:
		return 3
	}
	return 1
}

// Fault says which end crashed, stalled or was not done when the run had to end.
type Fault struct {
	Side    string `json:"side"`    // "A" or "B"
	Program string `json:"program"` // what stands there: "exec:./mine", or the tool of a device
	What    string `json:"what"`    // in one line
}

// Attempt is a run that was made again.
type Attempt struct {
	Folder string `json:"folder,omitempty"` // its run folder, "" when nothing was kept
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// Fact is a named value, in a fixed order.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Ladder is the drawing around one finding.
type Ladder struct {
	Rule    string `json:"rule"`
	Finding int    `json:"finding"` // index in the verdict's Findings
	Text    string `json:"text"`
}

// Invalidation is a reason for which verdicts do not stand.
type Invalidation struct {
	Reason string
	Rules  []string
}

// Invalidated returns why verdicts are INVALID, each reason once, with the rules that it concerns.
func (r *Result) Invalidated() (all []Invalidation) {
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		if v.Status != rule.Invalid {
			continue
		}
		at := slices.IndexFunc(all, func(x Invalidation) bool { return x.Reason == v.Reason })
		if at < 0 {
			at, all = len(all), append(all, Invalidation{Reason: v.Reason})
		}
		all[at].Rules = append(all[at].Rules, v.Rule)
	}
	return all
}

// Broken lists the rules that failed, waived or not.
func (r *Result) Broken() (ids []string) {
	for i := range r.Verdicts {
		if v := &r.Verdicts[i]; v.Status == rule.Fail || v.Status == rule.XFail {
			ids = append(ids, v.Rule)
		}
	}
	return ids
}

// Counts returns how many verdicts have each status, in the order of the statuses.
func (r *Result) Counts() []Fact {
	var n [rule.Fail + 1]int
	for _, v := range r.Verdicts {
		n[v.Status]++
	}
	var out []Fact
	for s, k := range n {
		if k > 0 {
			out = append(out, Fact{Name: rule.Status(s).String(), Value: strconv.Itoa(k)})
		}
	}
	return out
}
