package targets

import (
	"math"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// Run is a measured run, as metrics see it.
type Run struct {
	metrics.Summary
	Spec   *scenario.Spec
	Shared map[string]float64 // what the QPs of side A or B shared when it ended: "A pool_blocks_high"
}

// sustained is the goodput in bits per second, counted from when the first packet can have arrived: half a round trip
// in which nothing is delivered would show how long a run is, and make one of 2 s differ from one of 4.
func (r *Run) sustained() float64 {
	elapsed, path := float64(r.ElapsedNs), float64(r.Spec.RTT())/2/float64(vtime.Nanosecond)
	if elapsed <= path {
		return r.GoodputBps
	}
	return r.GoodputBps * elapsed / (elapsed - path)
}

// Metric turns the runs of a check into its number.
type Metric struct {
	Name          string // "goodput"
	Unit          string // "Gb/s"; "" for a share or a ratio
	LowerIsBetter bool
	Runs          int // how many it reads; 0 for a number that needs none
	Of            func(runs []Run) float64
}

// number is the metric of a check without runs.
func number(name, unit string) Metric { return Metric{Name: name, Unit: unit} }

// The metrics. Those that compare take the one in question first.
var (
	// goodput is payload delivered once.
	goodput = Metric{"goodput", "Gb/s", false, 1, func(r []Run) float64 { return r[0].sustained() / 1e9 }}

	// share is goodput as a share of the ceiling: of what the line carries of such messages without loss.
	share = Metric{"share of ceiling", "", false, 1, func(r []Run) float64 { return OfCeiling(&r[0]) }}

	// ratio is how many times the goodput of the second run the first has.
	ratio = Metric{"goodput ratio", "", false, 2, func(r []Run) float64 { return r[0].sustained() / r[1].sustained() }}

	// steadiness is the least goodput of several runs as a share of the greatest.
	steadiness = Metric{"least / greatest goodput", "", false, 3, func(r []Run) float64 {
		least, most := math.Inf(1), 0.0
		for i := range r {
			least, most = min(least, r[i].sustained()), max(most, r[i].sustained())
		}
		return least / most
	}}

	// received is what reaches the receiver, retransmissions included, as a share of the line. Losses on the way back
	// are counted in Lost as well, so a run that reads it has none.
	received = Metric{"share of line received", "", false, 1, func(r []Run) float64 {
		arrived := 1 - float64(r[0].Lost)/float64(r[0].DataPackets)
		return r[0].ThroughputBps / float64(r[0].Spec.Link.AB.Rate) * arrived
	}}

	// delivered is the share of what was posted that the receiver may read.
	delivered = Metric{"delivered share", "", false, 1, func(r []Run) float64 {
		posted := 0.0
		for _, l := range r[0].Spec.Loads {
			posted += float64(l.Count) * float64(l.Msg) * float64(r[0].Spec.QPs)
		}
		return float64(r[0].PayloadBytes) / posted
	}}

	// increase is by which share the mean FCT of the first run is above that of the second.
	increase = Metric{"mean FCT increase", "", true, 2, func(r []Run) float64 {
		return float64(r[0].FCT.Mean)/float64(r[1].FCT.Mean) - 1
	}}

	// meanFCT and tailFCT are of the completion times of messages.
	meanFCT = Metric{"mean FCT", "ms", true, 1, func(r []Run) float64 { return float64(r[0].FCT.Mean) / 1e6 }}
	tailFCT = Metric{"FCT p99", "ms", true, 1, func(r []Run) float64 { return float64(r[0].FCT.P99) / 1e6 }}

	// shortfall is the part of the goodput of the second run that the first does not have.
	shortfall = Metric{"loss of goodput", "", true, 2, func(r []Run) float64 {
		return 1 - r[0].sustained()/r[1].sustained()
	}}

	// extra is how much longer a message takes on average than in the second run.
	extra = Metric{"mean FCT above", "us", true, 2, func(r []Run) float64 {
		return float64(r[0].FCT.Mean-r[1].FCT.Mean) / 1e3
	}}

	// extraRatio is the extra of the first run over the third, as a multiple of that of the second over the third.
	extraRatio = Metric{"ratio of FCT above", "", true, 3, func(r []Run) float64 {
		return float64(r[0].FCT.Mean-r[2].FCT.Mean) / float64(r[1].FCT.Mean-r[2].FCT.Mean)
	}}

	// tail is the 99th percentile of the FCT in round trips.
	tail = Metric{"FCT p99 / RTT", "", true, 1, func(r []Run) float64 {
		return float64(r[0].FCT.P99) / 1e9 / r[0].Spec.RTT().Seconds()
	}}
)

// variable is a high-water mark that the QPs of a side share, on the side where it is higher.
func variable(name, unit string) Metric {
	return Metric{name, unit, true, 1, func(r []Run) float64 { return r[0].highest(name) }}
}

// variables is such a mark of the first run over that of the second.
func variables(name string) Metric {
	return Metric{name + " ratio", "", true, 2, func(r []Run) float64 {
		return r[0].highest(name) / r[1].highest(name)
	}}
}

// highest is a variable on the side where it is higher; NaN where no side has it.
func (r *Run) highest(name string) float64 {
	a, sender := r.Shared["A "+name]
	b, receiver := r.Shared["B "+name]
	if !sender && !receiver {
		return math.NaN()
	}
	return max(a, b)
}

// single is how often a recovery is of one lost packet.
var single = Metric{"recoveries of one loss", "", false, 1, func(r []Run) float64 {
	return float64(r[0].SingleLosses) / float64(r[0].Recoveries)
}}

// slowdown is the 95th percentile of the FCT slowdown in group n of so many, by size.
func slowdown(n, groups int) Metric {
	return Metric{"slowdown p95", "", true, 1, func(r []Run) float64 {
		if s := r[0].Slowdown; s != nil && len(s.Groups) == groups {
			return s.Groups[n].P95
		}
		return math.NaN()
	}}
}

// OfCeiling relates goodput to the ceiling of the first load.
func OfCeiling(r *Run) float64 {
	return r.sustained() / float64(r.Spec.Link.AB.Rate) / models.Ceiling(int(r.Spec.Loads[0].Msg), r.Spec.QP[0].MTU)
}
