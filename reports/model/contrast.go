package model

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
)

// Contrast is a device and an engine of this project over the same links, side by side, with the causes of the
// difference that the captures show. It has no wall-clock times, so that a deterministic one repeats to the byte.
type Contrast struct {
	Format     int           `json:"format"`
	Version    string        `json:"version"` // of this tool
	Commit     string        `json:"commit"`
	Command    string        `json:"command"`
	Kernel     string        `json:"kernel"`
	Seed       uint64        `json:"seed"`
	Rate       int64         `json:"rate_bps"`   // rate of the line in both directions, bit/s
	Conditions string        `json:"conditions"` // the conditions that all runs share, in words
	Status     string        `json:"status"`     // the worst of the runs
	Impls      [2]string     `json:"impls"`      // the device, and the engine
	Rows       []ContrastRow `json:"rows"`       // by RTT, then by loss
}

// ContrastRow compares both over one link.
type ContrastRow struct {
	RTTNs int64           `json:"rtt_ns"`
	Loss  float64         `json:"loss"` // probability, each way
	Sides [2]ContrastSide `json:"sides"`
}

// ContrastSide is one of them over a link.
type ContrastSide struct {
	Stream ContrastRun `json:"stream"` // messages one after the other, several outstanding: for goodput
	Single ContrastRun `json:"single"` // one message at a time: for FCT
}

// ContrastRun is one run, measured and explained from its captures alone.
type ContrastRun struct {
	Status string `json:"status"` // of the rules and of the link
	Reason string `json:"reason,omitempty"`
	validity.State
	Broken []string `json:"broken,omitempty"` // required rules that failed
	metrics.Summary
	Reasons datasheet.Reasons `json:"reasons"`
}

// Settle gives the whole the worst status of its runs.
func (m *Contrast) Settle() {
	worst := rule.Pass
	for i := range m.Rows {
		for k := range m.Rows[i].Sides {
			for _, single := range []bool{false, true} {
				var s rule.Status
				if s.UnmarshalText([]byte(m.Rows[i].Sides[k].Of(single).Status)) != nil {
					s = rule.Error // a run without a verdict was not made
				}
				worst = max(worst, s)
			}
		}
	}
	m.Status = worst.String()
}

// Of returns one of the two runs.
func (s *ContrastSide) Of(single bool) *ContrastRun {
	if single {
		return &s.Single
	}
	return &s.Stream
}

// Shares divides the time of a run into shares; all are 0 when the run has no data packets.
type Shares struct {
	Useful  float64 // the line carried payload for the first time
	Again   float64 // the line carried retransmissions
	Timeout float64 // nothing was sent until a timer expired
	Other   float64 // neither: round trips, a full window, gaps
}

// Shares estimates the shares from the rate of the line, the counts of packets, and the silences that timers ended.
func (r *ContrastRun) Shares(rate int64) Shares {
	var s Shares
	if r.ElapsedNs == 0 || rate == 0 || r.DataPackets == 0 {
		return s
	}
	elapsed := float64(r.ElapsedNs)
	line := r.ThroughputBps / float64(rate)
	s.Again = line * float64(r.Retransmitted) / float64(r.DataPackets)
	s.Useful = line - s.Again
	s.Timeout = min(float64(r.Reasons.Timeouts.Sum)/elapsed, max(0, 1-line))
	s.Other = max(0, 1-line-s.Timeout)
	return s
}

// GoodputRatio returns the goodput of the device divided by the engine's; 0 when the engine has none.
func (r *ContrastRow) GoodputRatio() float64 {
	return ratio(r.Sides[0].Stream.GoodputBps, r.Sides[1].Stream.GoodputBps)
}

// FCTRatio returns the ratio of the mean completion times of single messages.
func (r *ContrastRow) FCTRatio() float64 {
	return ratio(float64(r.Sides[0].Single.FCT.Mean), float64(r.Sides[1].Single.FCT.Mean))
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
