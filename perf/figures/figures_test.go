package figures

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/scenario"
	"github.com/rdma-gauntlet/gauntlet/perf/batch"
	"github.com/rdma-gauntlet/gauntlet/perf/targets"
)

// All figures are measured with fake runs: every point gets its number from its runs, and none is left out.
func TestEveryPointHasANumber(t *testing.T) {
	account := func(x float64) float64 { return 2 * x }
	o := Options{Figures: targets.Figures(), Confidence: 0.95,
		Accounts: map[string]func(float64) float64{"fasr SR memory": account, "srnic SR memory": account,
			"irn SR memory": account},
		Batch: batch.Options{Seeds: 2, Jobs: 2, Cost: func(*scenario.Spec) float64 { return 1 },
			Run: func(_ context.Context, s *scenario.Spec) (targets.Run, error) {
				r := targets.Run{Spec: s}
				r.GoodputBps, r.DataPackets, r.FCT.Mean, r.FCT.P99, r.Recoveries = 1e9*float64(s.Seed), 10, 5, 6, 1
				return r, nil
			}}}
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m := p.Measure(t.Context())
	if _, err := json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	points := 0
	for i, f := range m.Figures {
		reasons, n := f.Troubles()
		if n > 0 && !strings.HasPrefix(f.Title, "FCT slowdown") { // a run without flows has no slowdown
			t.Errorf("%s: %d points without a number: %v", f.ID, n, reasons)
		}
		for k, panel := range f.Panels {
			for c, curve := range panel.Curves {
				if modelled := o.Figures[i].Panels[k].Curves[c].Model != nil; modelled !=
					(len(curve.Model) > samples/2) {
					t.Errorf("%s, %s: %d points of the model", f.ID, curve.Name, len(curve.Model))
				}
				points += len(curve.Ours)
			}
		}
	}
	if points < 150 {
		t.Errorf("%d points", points)
	}
	p3 := m.Figures[7].Panels[0].Curves[0]
	if m.Figures[7].ID != "NT-3" || p3.Ours[1].Estimate.Value != 1 || p3.Ours[1].Estimate.N != 1 ||
		p3.Paper[1] != [2]float64{100, 3} {
		t.Errorf("%s: %+v", m.Figures[7].ID, p3)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	p, _ = New(o)
	if reasons, n := p.Measure(cancelled).Troubles(); n < 150 || reasons[0] != batch.NotRun {
		t.Errorf("interrupted: %d points, %v", n, reasons)
	}
}

func TestNewRejects(t *testing.T) {
	bad := targets.Figures()[:1]
	bad[0].Source = ""
	if _, err := New(Options{Figures: bad, Batch: batch.Options{Seeds: 1}}); err == nil ||
		!strings.Contains(err.Error(), "LW-9: no source") {
		t.Error(err)
	}
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "0 seeds") {
		t.Error(err)
	}
}
