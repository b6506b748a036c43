package modeltest

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Matrix returns a new small matrix with a cell of every kind (passed, failed, INVALID after several attempts, not
// run), a broken engine that was caught and one that was not.
func Matrix() *model.Matrix {
	m := &model.Matrix{
		Format: model.FormatVersion, Version: "0.1.0", Commit: "0123456789abcdef", Started: "2026-03-01T12:00:00Z",
		Wall:    12.5,
		Command: "gauntlet matrix --impl gbn,fasr --links clean,burst --broken", Bench: "netns", Seed: 7,
		Folder: "runs/example",
		Impls:  []string{"gbn", "fasr+gbn"},
		Links: []model.MatrixLink{{Name: "clean", Title: "No loss."}, {Name: "burst", Title: "Loss in bursts.",
			Text: "loss gemodel p=0.1% r=20%"}},
		Cells: []model.Cell{
			cell("gbn", "clean", rule.Pass, 91.8e6, 0, 15_600_000),
			cell("gbn", "burst", rule.Fail, 54.2e6, 4100, 144_000_000),
			cell("fasr+gbn", "clean", rule.Invalid, 88e6, 12, 16_100_000),
			{Impl: "fasr+gbn", Link: "burst", Status: rule.Error.String(), Reason: "interrupted"},
		},
		Kills: []model.Kill{
			{Family: "gbn", Name: "acks-early", Breaks: "acknowledges what it does not have",
				Status: rule.Fail.String(), Caught: []string{"RC-ACK-001", "RC-MSN-002"}},
			{Family: "gbn", Name: "too-clever", Breaks: "hides from a rule", Status: rule.Pass.String(),
				Caught: []string{"RC-PSN-001"}, Missed: []string{"RC-ACK-004"}},
		},
	}
	m.Cells[1].Broken = []string{"RC-NAK-002", "RC-TMO-001"}
	m.Cells[1].Warnings = []string{"queue=100 is small"}
	m.Cells[2].Attempts, m.Cells[2].Reason = 3, "link certificate during the run: A>B lateness p99 is 2 ms"
	m.Settle()
	return m
}

// Peers returns a new matrix in which two implementations and a program that cannot be run met each other.
func Peers() *model.Matrix {
	names := []string{"gbn", "irn", "exec:./mine"}
	m := Matrix()
	m.Impls, m.Peers, m.Links, m.Cells, m.Kills = nil, names, m.Links[:1], nil, nil
	for i, from := range names {
		for k, to := range names {
			c := cell(from+"+"+to, "clean", rule.Pass, 90e6, 0, 15_600_000)
			switch {
			case i == 2 || k == 2:
				c = model.Cell{Impl: c.Impl, Link: c.Link, Status: rule.Error.String(),
					Reason: "contract: ./mine: it said nothing"}
			case i == 1 && k == 0:
				c.Status, c.Reason = rule.NotApplicable.String(),
					"recovery irn of the requester meets gbn of the responder"
			case i == 0 && k == 1:
				c.Status, c.Broken = rule.Fail.String(), []string{"RC-ACK-002"}
			}
			c.Ends = [2]string{from, to}
			m.Impls, m.Cells = append(m.Impls, c.Impl), append(m.Cells, c)
		}
	}
	m.Settle()
	return m
}

func cell(impl, link string, status rule.Status, bps float64, again, p99 int64) model.Cell {
	return model.Cell{Impl: impl, Link: link, Status: status.String(), Attempts: 1, Wall: 1.5, SpecHash: "212eaf2a68a0",
		Folder: "runs/example/" + impl + "/" + link, Again: "gauntlet run runs/example/" + impl + "/" + link +
			"/spec.txt --bench netns",
		Verdicts: []model.Fact{{Name: "PASS", Value: "40"}},
		Summary: metrics.Summary{Work: metrics.Work{Tally: metrics.Tally{Ordered: 100, Posted: 100, Done: 100,
			Known: metrics.ByCompletions}},
			GoodputBps: bps, Utilisation: bps / 100e6, DataPackets: 6400 + again, Retransmitted: again,
			Timeouts: again / 1000,
			FCT: metrics.Spread{Count: 100, Mean: 16_000_000, Min: 15_000_000, P50: 15_600_000, P95: p99,
				P99: p99, Max: p99}}}
}
