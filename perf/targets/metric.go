package targets

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// Run is a measured run, the input of metrics.
type Run struct {
	metrics.Summary
	Spec   *scenario.Spec
	Shared map[string]float64 // final variables that the QPs of side A or B share: "A pool_blocks_high"
	Made   Made               // zero in virtual time
}

// Made says how a run with real packets was made.
type Made struct {
	Dilation int     `json:"dilation"`         // seconds of the machine for a second of the Spec
	Wall     float64 `json:"wall_seconds"`     // for the run, the measurements of its link, and the merge of its captures
	Rate     float64 `json:"packets_a_second"` // that both ends sent, in a second of the machine
}

// sustained is the goodput in bits per second, counted from the time at which the first packet can have arrived:
// otherwise the half round trip without delivery would make the goodput depend on the length of the run.
func (r *Run) sustained() float64 {
	elapsed, path := float64(r.ElapsedNs), float64(r.Spec.RTT())/2/float64(vtime.Nanosecond)
	if elapsed <= path {
		return r.GoodputBps
	}
	return r.GoodputBps * elapsed / (elapsed - path)
}

// Metric computes the number of a check from its runs.
type Metric struct {
	Name          string // "goodput"
	Unit          string // "Gb/s"; "" for a share or a ratio
	LowerIsBetter bool
	Runs          int // number of runs that it reads; 0 for a number without runs
	Of            func(runs []Run) float64
}

// number is the metric of a check without runs.
func number(name, unit string) Metric { return Metric{Name: name, Unit: unit} }

// The metrics. Those that compare runs take the run in question first.
var (
	// goodput is payload delivered once.
	goodput = Metric{"goodput", "Gb/s", false, 1, func(r []Run) float64 { return r[0].sustained() / 1e9 }}

	// share is goodput as a share of the ceiling: the goodput of a full line with such messages without loss.
	share = Metric{"share of ceiling", "", false, 1, func(r []Run) float64 { return OfCeiling(&r[0]) }}

	// ratio is the goodput of the first run over that of the second.
	ratio = Metric{"goodput ratio", "", false, 2, func(r []Run) float64 { return r[0].sustained() / r[1].sustained() }}

	// steadiness is the lowest goodput of several runs as a share of the highest.
	steadiness = Metric{"least / greatest goodput", "", false, 3, func(r []Run) float64 {
		least, most := math.Inf(1), 0.0
		for i := range r {
			least, most = min(least, r[i].sustained()), max(most, r[i].sustained())
		}
		return least / most
	}}

	// received is the throughput that reaches the receiver, retransmissions included, as a share of the line. Lost
	// counts losses in the reverse direction too, so a run for this metric must have none.
	received = Metric{"share of line received", "", false, 1, func(r []Run) float64 {
		arrived := 1 - float64(r[0].Lost)/float64(r[0].DataPackets)
		return r[0].ThroughputBps / float64(r[0].Spec.Link.AB.Rate) * arrived
	}}

	// delivered is the share of the posted bytes that the receiver may read.
	delivered = Metric{"delivered share", "", false, 1, func(r []Run) float64 {
		posted := 0.0
		for _, l := range r[0].Spec.Loads {
			posted += float64(l.Count) * float64(l.Msg) * float64(r[0].Spec.QPs)
		}
		return float64(r[0].PayloadBytes) / posted
	}}

	// increase is the relative increase of the mean FCT of the first run over that of the second.
	increase = Metric{"mean FCT increase", "", true, 2, func(r []Run) float64 {
		return float64(r[0].FCT.Mean)/float64(r[1].FCT.Mean) - 1
	}}

	// meanFCT and tailFCT are the mean and the 99th percentile of the completion times of messages.
	meanFCT = Metric{"mean FCT", "ms", true, 1, func(r []Run) float64 { return float64(r[0].FCT.Mean) / 1e6 }}
	tailFCT = Metric{"FCT p99", "ms", true, 1, func(r []Run) float64 { return float64(r[0].FCT.P99) / 1e6 }}

	// shortfall is the share of the goodput of the second run by which the first is lower.
	shortfall = Metric{"loss of goodput", "", true, 2, func(r []Run) float64 {
		return 1 - r[0].sustained()/r[1].sustained()
	}}

	// extra is the mean FCT of the first run less that of the second.
	extra = Metric{"mean FCT above", "us", true, 2, func(r []Run) float64 {
		return float64(r[0].FCT.Mean-r[1].FCT.Mean) / 1e3
	}}

	// extraRatio is the extra of the first run over the third, divided by the extra of the second over the third.
	extraRatio = Metric{"ratio of FCT above", "", true, 3, func(r []Run) float64 {
		return float64(r[0].FCT.Mean-r[2].FCT.Mean) / float64(r[1].FCT.Mean-r[2].FCT.Mean)
	}}

	// tail is the 99th percentile of the FCT in round trips.
	tail = Metric{"FCT p99 / RTT", "", true, 1, func(r []Run) float64 {
		return float64(r[0].FCT.P99) / 1e9 / r[0].Spec.RTT().Seconds()
	}}
)

// variable is a high-water mark of the state that the QPs of a side share, on the side where it is higher.
func variable(name, unit string) Metric {
	return Metric{name, unit, true, 1, func(r []Run) float64 { return r[0].highest(name) }}
}

// variables is such a mark of the first run over that of the second.
func variables(name string) Metric {
	return Metric{name + " ratio", "", true, 2, func(r []Run) float64 {
		return r[0].highest(name) / r[1].highest(name)
	}}
}

// highest returns a shared variable on the side where it is higher; NaN when neither side has it.
func (r *Run) highest(name string) float64 {
	a, sender := r.Shared["A "+name]
	b, receiver := r.Shared["B "+name]
	if !sender && !receiver {
		return math.NaN()
	}
	return max(a, b)
}

// single is the share of recoveries that repair exactly one lost packet.
var single = Metric{"recoveries of one loss", "", false, 1, func(r []Run) float64 {
	return float64(r[0].SingleLosses) / float64(r[0].Recoveries)
}}

// slowdown is the 95th percentile of the FCT slowdown in group n of groups groups, by size.
func slowdown(n, groups int) Metric {
	return Metric{"slowdown p95", "", true, 1, func(r []Run) float64 {
		if s := r[0].Slowdown; s != nil && len(s.Groups) == groups {
			return s.Groups[n].P95
		}
		return math.NaN()
	}}
}

// OfCeiling returns goodput as a share of the ceiling for messages of the first load.
func OfCeiling(r *Run) float64 {
	return r.sustained() / float64(r.Spec.Link.AB.Rate) / models.Ceiling(int(r.Spec.Loads[0].Msg), r.Spec.QP[0].MTU)
}
