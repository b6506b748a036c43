package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/perf/atlas"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
)

// Atlas returns a new small atlas with a cell of every kind: a clear lead, a tie with and without a loser, and one that
// an interrupt left out.
func Atlas() *atlas.Map {
	m := &atlas.Map{Format: atlas.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef",
		Started: "2026-03-01T12:00:00Z", Wall: 12.5,
		Command: "gauntlet atlas --impl gbn,irn,fasr", Confidence: 0.95, Margin: 0.02, Seeds: 5,
		Runs: 60, Law: "geometric",
		Transports: []string{"gbn", "irn", "fasr"}}
	lead := func(x, low, high float64) *stats.Estimate {
		return &stats.Estimate{Value: x, Low: low, High: high, Confidence: 0.95, N: 5}
	}
	m.Cells = []atlas.Cell{
		{RateBps: 1e9, RTTNs: 1e6, Loss: 1e-3, Burst: 1, Product: 113, Pick: "irn", Best: "irn", Next: "fasr",
			Lead:    lead(0.4, 0.3, 0.5),
			Entries: entries([3]float64{0.4, 0.98, 0.7}, [3]bool{false, true, false})},
		{RateBps: 1e9, RTTNs: 1e6, Loss: 1e-2, Burst: 1, Product: 113, Pick: "irn", Best: "fasr", Next: "gbn",
			Lead:    lead(8, 7.9, 8.1),
			Entries: entries([3]float64{0.1, 0.89, 0.9}, [3]bool{false, true, true})},
		{RateBps: 1e9, RTTNs: 1e6, Loss: 1e-3, Burst: 8, Product: 113, Pick: "gbn", Best: "gbn",
			Entries: entries([3]float64{0.9, 0.9, 0.9}, [3]bool{true, true, true})},
		{RateBps: 1e9, RTTNs: 1e6, Loss: 1e-2, Burst: 8, Product: 113, Trouble: batch.NotRun,
			Entries: []atlas.Entry{{Transport: "gbn", Trouble: "context canceled"}}},
	}
	return m
}

func entries(shares [3]float64, tied [3]bool) (out []atlas.Entry) {
	for i, name := range []string{"gbn", "irn", "fasr"} {
		x := shares[i]
		out = append(out, atlas.Entry{Transport: name, Tied: tied[i], Values: []float64{x},
			Behind:   &stats.Estimate{N: 5},
			Share:    stats.Estimate{Value: x, Low: x - 0.01, High: x + 0.01, Confidence: 0.95, N: 5},
			Scenario: "impl " + name})
	}
	return out
}
