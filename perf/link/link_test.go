package link

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// path adds packets that are sent every millisecond; a delay of 0 is a loss.
func path(delays ...vtime.Duration) Figures {
	p := NewPath(trace.A)
	for i, d := range delays {
		r := trace.Record{From: trace.A, Sent: vtime.Time(i) * vtime.Time(vtime.Millisecond), Recv: vtime.Never}
		if d > 0 {
			r.Recv = r.Sent.Add(d)
		}
		p.Packet(&r)
		r.From = trace.B // not counted
		p.Packet(&r)
		r.From, r.Copy = trace.A, true // not counted
		p.Packet(&r)
	}
	p.End(0)
	return p.Figures()
}

func TestFigures(t *testing.T) {
	const ms, us = vtime.Millisecond, vtime.Microsecond
	approx := cmpopts.EquateApprox(0.002, 1e-9) // the precision of the histogram
	for name, c := range map[string]struct {
		got, want Figures
	}{
		"nothing": {path(), Figures{}},
		"delays": {path(1*ms, 2*ms, 3*ms, 1*ms+100*us), Figures{Sent: 4, Overtook: 0.25,
			DelayNs: [5]int64{1e6, 1e6, 11e5, 3e6, 3e6}}},
		"runs": {path(ms, 0, ms, 0, 0, ms, 0, 0, 0, 0, 0), Figures{Sent: 11, Lost: 8.0 / 11, Runs: [4]float64{1.0 / 3,
			1.0 / 3, 0, 1.0 / 3}, MeanRun: 8.0 / 3, DelayNs: [5]int64{1e6, 1e6, 1e6, 1e6, 1e6}}},
	} {
		for i := range c.got.DelayNs { // the histogram keeps three digits
			if d := c.got.DelayNs[i] - c.want.DelayNs[i]; d*d <= c.want.DelayNs[i]*c.want.DelayNs[i]/250_000 {
				c.got.DelayNs[i] = c.want.DelayNs[i]
			}
		}
		if diff := cmp.Diff(c.want, c.got, approx); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}
