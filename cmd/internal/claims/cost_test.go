package claims

import (
	"slices"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/harness/shard"
	"github.com/rdma-gauntlet/gauntlet/impls/all"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// A run of a claim takes about the data packets that its cost is estimated from: a wrong estimate makes one shard much
// slower than the others. The shortest and, of a sweep, all runs. Loss and set-up make up the tolerance.
func TestCostFollowsPackets(t *testing.T) {
	specs, err := (&suite.Options{Targets: targets.All(), Seeds: 1, Cost: Cost}).Specs()
	if err != nil {
		t.Fatal(err)
	}
	if !everything {
		specs = shortest(specs, 20_000)
	}
	for _, s := range specs {
		r, err := Measure(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		want, got := expected(s), float64(r.Summary.DataPackets)
		if got < want/2.5 || got > 1.5*want {
			t.Errorf("%g data packets, %g expected:\n%s", got, want, s)
		}
	}
}

// shortest returns of each transport, with and without a window that limits, the run with the fewest expected packets,
// but at least so many.
func shortest(specs []*scenario.Spec, least float64) []*scenario.Spec {
	type kind struct {
		impl  string
		small bool // packets
	}
	best := map[kind]*scenario.Spec{}
	for _, s := range specs {
		k := kind{s.Impl[0], s.Loads[0].Mean() < float64(s.QP[0].MTU)}
		if n := expected(s); n >= least && (best[k] == nil || n < expected(best[k])) {
			best[k] = s
		}
	}
	var out []*scenario.Spec
	for _, s := range best {
		if expected(s) < 1e6 {
			out = append(out, s)
		}
	}
	return out
}

// The cost of a packet follows the processor time that was measured, relative to one of gbn: microseconds per expected
// data packet, over the runs of all claims and of the default atlas, and with 5000 QPs at 100G and a loss of 1e-2.
func TestPricesFollowMeasurements(t *testing.T) {
	const gbn = 0.49
	for _, m := range []struct {
		impl         string
		qps          int
		microseconds float64
	}{
		{"fasr", 1, 0.96},
		{"fasr", 5000, 1.63},
		{"gbn", 1, gbn},
		{"gbn", 16, 0.59},
		{"gbn", 32, 0.66},
		{"gbn", 5000, 1.43},
		{"gobackone", 1, 1.02},
		{"gobackone", 5000, 1.64},
		{"irn", 1, 0.93},
		{"irn", 5000, 2.19},
		{"lowar", 1, 1.29},
		{"lowar", 16, 1.37},
		{"pseudoack", 1, 2.49},
		{"srnic", 1, 0.90},
		{"srnic", 5000, 4.85},
		{"writerecord", 1, 1.52},
	} {
		if ratio := packetCost(m.impl, m.qps) * gbn / m.microseconds; ratio < 1/1.4 || ratio > 1.4 {
			t.Errorf("%s with %d QPs: the estimate is %.2f of what was measured", m.impl, m.qps, ratio)
		}
	}
}

// Every transport has a price.
func TestPricesAreComplete(t *testing.T) {
	for _, im := range all.Implementations() {
		if _, ok := price(im.Name); !ok {
			t.Errorf("%s has no price", im.Name)
		}
	}
}

// By estimated cost the slowest shard of the default claims has at most a tenth more than the mean.
func TestClaimsPackEvenly(t *testing.T) {
	specs, err := (&suite.Options{Targets: targets.All(), Seeds: 6, Cost: Cost}).Specs()
	if err != nil {
		t.Fatal(err)
	}
	var items []shard.Item
	total := 0.0
	for _, s := range specs {
		items = append(items, shard.Item{Cost: Cost(s), Copies: 1})
		total += Cost(s)
	}
	for _, n := range []int{2, 8, 16} {
		loads := make([]float64, n)
		for i, shards := range shard.Pack(items, n) {
			loads[shards[0]] += items[i].Cost
		}
		if heaviest := slices.Max(loads) * float64(n) / total; heaviest > 1.1 {
			t.Errorf("%d shards: the slowest has %.2f of the mean", n, heaviest)
		}
	}
}
