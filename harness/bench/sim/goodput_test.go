package sim_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/harness/bench/sim"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

// goodput runs a saturating WRITE load over 40 ms RTT. It returns the payload rate in bit/s, that of the formula, and
// the tolerance. A cycle from one loss to the next is a geometric number of packets, so the standard deviation is (1-η)
// of the mean over the root of the number of losses. The tolerance is three of them, and 3 % for lost retransmissions,
// which the formula does not model.
func goodput(tb fataler, rate unit.Rate, p float64, seconds int) (got, want, tolerance float64) {
	var n tally
	const msg = 16 << 10
	s := spec(tb, fmt.Sprintf("link rate=%s delay=20ms queue=200000", rate), fmt.Sprintf("run for=%ds", seconds),
		"load write msg=16KiB")
	bdp := s.Link.AB.BDPPackets(s.RTT(), 1106)
	lines := []string{fmt.Sprintf("qp qd=%d", 2*bdp/16+16)}
	if p > 0 {
		lines = append(lines, fmt.Sprintf("loss A>B random p=%g", p))
	}
	for _, l := range lines {
		if err := s.Line(l); err != nil {
			tb.Fatalf("%v", err)
		}
	}
	w := world(tb, s, sim.Options{Sink: &n})
	if err := w.Run(); err != nil {
		tb.Fatalf("%v", err)
	}
	got = float64(n.completed) * msg * 8 / (float64(s.For) / float64(vtime.Second))
	// A message is 15 packets of 1106 bytes at layer 1 and one with a RETH of 1122.
	line := float64(rate) * msg / (15*1106 + 1122)
	b := float64(rate) * s.RTT().Seconds() / 8 / 1107
	share := models.GoBackN(p, b)
	losses := max(1, float64(w.Channel(trace.A).Counters().Lost))
	return got, line * share, 0.03 + 3*(1-share)/math.Sqrt(losses)
}

// Goodput depends on the product of loss rate and bandwidth-delay product: a hundredth of the rate with a hundred times
// the loss rate gives a hundredth of the goodput. These are the full-scale points of BenchmarkGoodput, scaled down to a
// second each.
func TestGoodputOfGoBackN(t *testing.T) {
	for _, tt := range []struct {
		p       float64 // at 10 Gb/s
		scale   int
		seconds int
	}{{0, 100, 10}, {1e-5, 100, 100}, {1e-4, 50, 60}, {1e-3, 10, 10}} {
		if raceEnabled && tt.p > 1e-5 {
			break // ten times as slow, and one goroutine has no races
		}
		if testing.Short() && tt.scale < 50 {
			break
		}
		got, want, tolerance := goodput(t, 10*unit.Gbps/unit.Rate(tt.scale), tt.p*float64(tt.scale), tt.seconds)
		text := fmt.Sprintf("p=%g at 1/%d: %.4g b/s, the formula says %.4g ± %.0f %%", tt.p, tt.scale, got,
			want, 100*tolerance)
		if t.Log(text); math.Abs(got/want-1) > tolerance {
			t.Error(text)
		}
	}
}

// BenchmarkGoodput makes the same test at full scale: 10 Gb/s and 40 ms for 20 s of virtual time.
func BenchmarkGoodput(b *testing.B) {
	for _, p := range []float64{0, 1e-5, 1e-4, 1e-3} {
		b.Run(fmt.Sprintf("p=%g", p), func(b *testing.B) {
			for b.Loop() {
				got, want, tolerance := goodput(b, 10*unit.Gbps, p, 20)
				if math.Abs(got/want-1) > tolerance {
					b.Errorf("%.4g b/s, the formula says %.4g", got, want)
				}
				b.ReportMetric(got/1e9, "Gb/s")
				b.ReportMetric(want/1e9, "formula-Gb/s")
			}
		})
	}
}
