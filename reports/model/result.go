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

// Result has all data of one run that a report needs. It is written as result.json into the run folder, so that every
// report can be made again later.
type Result struct {
	Format  int     `json:"format"`
	Version string  `json:"version"` // of this tool
	Commit  string  `json:"commit"`  // of this tool, "" when unknown
	Started string  `json:"started"` // RFC 3339
	Wall    float64 `json:"wall_seconds"`
	Command string  `json:"command"` // command line that repeats the run
	Bench   string  `json:"bench"`
	// seconds of the machine per second of the Spec; 0 in virtual time
	Dilated   int       `json:"dilated,omitempty"`
	Stretches bool      `json:"-"`    // the bench chose Dilated and could have chosen more
	Impl      [2]string `json:"impl"` // at A and B
	Spec      string    `json:"spec"` // canonical text
	SpecHash  string    `json:"spec_hash"`
	Seed      uint64    `json:"seed"`
	Folder    string    `json:"folder,omitempty"` // the run folder; "" if nothing was kept
	Report    string    `json:"report,omitempty"` // path of the HTML report
	// page with explanations of the broken rules, in the same folder as the report
	Rulebook string `json:"rulebook,omitempty"`
	// earlier attempts at this run, whose links did not match the Spec
	Earlier []Attempt `json:"earlier_attempts,omitempty"`

	metrics.Summary

	Processor *Processor `json:"processor,omitempty"` // of runs in real time
	Capture   *Capture   `json:"capture,omitempty"`   // of a foreign capture
	// the result is of one capture of a run of this tool, which does not show the fates of packets
	SingleTap bool `json:"single_tap,omitempty"`

	// Status is the worst verdict of a required rule that stands; INVALID or ERROR when none fails and the run proves
	// nothing, INCONCLUSIVE when it completed no work. The State beside it is that of link, capture and host.
	Status string `json:"status"`
	Reason string `json:"reason,omitempty"`
	Fault  *Fault `json:"fault,omitempty"` // of the end that stopped the run; nil if none did
	validity.State

	Verdicts     []rule.Verdict        `json:"verdicts"`
	Certificates []certify.Certificate `json:"certificates"`
	Warnings     []string              `json:"warnings,omitempty"`
	// how the run was made: kind of link with the reason, codec, limits of the stored trace
	Notes       []string `json:"notes,omitempty"`
	Environment []Fact   `json:"environment"`

	Timeline  metrics.Timeline   `json:"timeline"`
	Sequences []metrics.Sequence `json:"sequences,omitempty"`
	Ladders   []Ladder           `json:"ladders,omitempty"`
	// state that the QPs of a side share at the end of the run: "A pool_units_high"
	Shared   []Fact `json:"shared,omitempty"`
	Counters []Fact `json:"counters,omitempty"` // counters of endpoints and links that are not zero
}

// Where returns the name of the bench, with the dilation if there is one.
func (r *Result) Where() string {
	if r.Dilated > 1 {
		return fmt.Sprintf("%s, time dilated %d times", r.Bench, r.Dilated)
	}
	return r.Bench
}

// Processor is the processor time of the endpoints at A and B in nanoseconds, from the start of the traffic to its end,
// over all threads; 0 for a program that does not report it. It is comparable only on one machine, and for endpoints
// that wait in the same way.
type Processor struct {
	Ns      [2]int64 `json:"ns"`
	NsPerGB [2]int64 `json:"ns_per_gb"` // per 10^9 bytes of delivered payload
}

// NewProcessor returns nil when no endpoint reports its time, and when nothing was delivered.
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

// Incomplete is the status of a stored trace whose run did not end, and which breaks no rule as far as it goes.
const Incomplete = "INCOMPLETE"

// ExitCode returns the exit code of the process for a status: 0 when all required rules passed, 1 for a failure that
// stands, 3 for INVALID, ERROR, INCOMPLETE or a result that proves nothing.
func ExitCode(status string) int {
	switch status {
	case rule.Pass.String():
		return 0
	case rule.Invalid.String(), rule.Error.String(), rule.Inconclusive.String(), Incomplete:
		return 3
	}
	return 1
}

// Fault names the end that crashed, stalled or was not done when the run had to end.
type Fault struct {
	Side    string `json:"side"`    // "A" or "B"
	Program string `json:"program"` // the program at that end: "exec:./mine", or the tool of a device
	What    string `json:"what"`    // one line
	// the properties on which the blame rests, of bench.Fault
	Rests validity.Property `json:"rests_on,omitempty"`
}

// Attempt is an earlier attempt at a run.
type Attempt struct {
	Folder string `json:"folder,omitempty"` // its run folder; "" if nothing was kept
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

// Invalidation is a reason why verdicts are INVALID.
type Invalidation struct {
	Reason string
	Rules  []string
}

// Invalidated returns the reasons why verdicts are INVALID, each once, with the rules concerned.
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

// Counts returns the number of verdicts with each status, in the order of the statuses.
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
