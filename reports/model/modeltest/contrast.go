package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Contrast returns a new small contrast: a link without loss on which both do alike, and one with loss on which the
// device has a run that broke a rule.
func Contrast() *model.Contrast {
	m := &model.Contrast{
		Format: model.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef",
		Command: "gauntlet lab goodput --deterministic --loss 0,1e-2",
		Kernel:  "6.1.0-56-amd64", Seed: 7, Rate: 50e6, Conditions: "line of 50M, messages of 128KiB",
		Impls: [2]string{"rxe", "gbn"},
		Rows: []model.ContrastRow{
			{RTTNs: 1e6, Sides: [2]model.ContrastSide{
				{Stream: contrastRun(44e6, 0, 0, 129), Single: contrastRun(40e6, 0, 0, 128)},
				{Stream: contrastRun(46e6, 0, 0, 256), Single: contrastRun(41e6, 0, 0, 128)}}},
			{RTTNs: 10e6, Loss: 1e-2, Sides: [2]model.ContrastSide{
				{Stream: contrastRun(11e6, 900, 3, 129), Single: contrastRun(9e6, 800, 1, 128)},
				{Stream: contrastRun(22e6, 700, 0, 256), Single: contrastRun(10e6, 700, 0, 128)}}},
		},
	}
	broken := &m.Rows[1].Sides[0].Single
	broken.Status, broken.Broken = rule.Fail.String(), []string{"RC-PSN-005"}
	m.Settle()
	return m
}

// contrastRun is a run of a thousand packets that took as long as its goodput says.
func contrastRun(bps float64, again, timeouts int64, window int) model.ContrastRun {
	const first, payload, wire = 1000, 1024 * 8, 1106 * 8
	r := model.ContrastRun{Status: rule.Pass.String(), Summary: metrics.Summary{GoodputBps: bps,
		ElapsedNs:     int64(first * payload / bps * 1e9),
		ThroughputBps: bps * wire / payload * float64(first+again) / first, DataPackets: first + again,
		Retransmitted: again, Lost: again / 100, NAKs: again / 100,
		FCT: metrics.Spread{Count: 8, Mean: 25_000_000, P50: 24_000_000, P99: 40_000_000 + again*1000}}}
	r.Reasons.Window = datasheet.Depth{Most: window, Held: 4}
	r.Reasons.AckReqEvery = datasheet.Range{Seen: 16, Least: 64, Median: 64, Greatest: 64, Sum: 1024}
	if again > 0 {
		r.Reasons.GoneBack = datasheet.Range{Seen: int(again / 100), Least: 2, Median: 100, Greatest: 256, Sum: again}
		r.Reasons.Answered = datasheet.Range{Seen: int(again / 100), Least: 10_000, Median: 20_000,
			Greatest: 30_000, Sum: again * 200}
	}
	if timeouts > 0 {
		r.Reasons.Timeouts = datasheet.Range{Seen: int(timeouts), Least: 60_000_000, Median: 64_000_000,
			Greatest: 68_000_000, Sum: timeouts * 64_000_000}
	}
	return r
}
