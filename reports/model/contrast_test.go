package model_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// Half of the time the line is busy, a fifth of that with retransmissions; timeouts take another quarter.
func TestShares(t *testing.T) {
	r := model.ContrastRun{Summary: metrics.Summary{ElapsedNs: 1e9, ThroughputBps: 25e6, DataPackets: 100,
		Retransmitted: 20}}
	r.Reasons.Timeouts = datasheet.Range{Seen: 5, Sum: 25e7}
	got, want := r.Shares(50e6), model.Shares{Useful: 0.4, Again: 0.1, Timeout: 0.25, Other: 0.25}
	for _, x := range [][2]float64{{got.Useful, want.Useful}, {got.Again, want.Again}, {got.Timeout, want.Timeout},
		{got.Other, want.Other}} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	for name, empty := range map[string]model.Shares{"nothing happened": (&model.ContrastRun{}).Shares(50e6),
		"no rate": r.Shares(0)} {
		if empty != (model.Shares{}) {
			t.Errorf("%s: %+v", name, empty)
		}
	}
}

// The shares of a run with timeouts and a busy line add up to 1 at least.
func TestSharesAddUp(t *testing.T) {
	m := modeltest.Contrast()
	for i := range m.Rows {
		for _, side := range m.Rows[i].Sides {
			s := side.Stream.Shares(m.Rate)
			if sum := s.Useful + s.Again + s.Timeout + s.Other; sum < 1-1e-9 {
				t.Errorf("%+v is %g in all", s, sum)
			}
		}
	}
}

func TestContrastRatiosAndStatus(t *testing.T) {
	m := modeltest.Contrast()
	if g, f := m.Rows[1].GoodputRatio(), m.Rows[1].FCTRatio(); g != 0.5 || f != 1 {
		t.Errorf("ratios %g and %g, want 0.5 and 1", g, f)
	}
	if (&model.ContrastRow{}).GoodputRatio() != 0 {
		t.Error("the ratio of nothing is not 0")
	}
	if m.Status != rule.Fail.String() {
		t.Errorf("status %s, want that of the worst run", m.Status)
	}
	m.Rows[0].Sides[1].Stream.Status = "" // not run
	if m.Settle(); m.Status != rule.Fail.String() {
		t.Errorf("status %s: a run that was not made hides one that failed", m.Status)
	}
	for i := range m.Rows {
		for k := range m.Rows[i].Sides {
			s := &m.Rows[i].Sides[k]
			s.Stream.Status, s.Single.Status = strings.Replace(s.Stream.Status, "FAIL", "PASS", 1),
				strings.Replace(s.Single.Status, "FAIL", "PASS", 1)
		}
	}
	if m.Settle(); m.Status != rule.Error.String() {
		t.Errorf("status %s with a run that was not made", m.Status)
	}
}
