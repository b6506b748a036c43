package models_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/unit"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/models"
)

const ms = vtime.Millisecond

// wan is the bandwidth-delay product of LoWAR's testbed: 10 Gb/s, 40 ms, frames of 1106 bytes.
var wan = models.BDP(40*ms, 10*unit.Gbps, 1106)

// Every value was computed by hand or is printed in a paper; the tolerance is relative to want.
func TestKnownValues(t *testing.T) {
	lowar := models.LoWAR{R: 32, C: 1, Data: 1106, Extra: 1106}
	ddp := models.Datagrams{Segment: 65000, Header: 26, Fragment: 1480}
	wrec, _ := ddp.WriteRecord(0.001, 1<<20)
	for _, tt := range []struct {
		name            string
		got, want, near float64
	}{
		{"ceiling of 64 KiB in packets of 1 KiB", models.Ceiling(64<<10, 1024), 0.9256, 1e-3},
		{"ceiling of one packet", models.Ceiling(1024, 1024), 0.9127, 1e-3},
		{"product of 10 Gb/s and 40 ms", wan, 45208, 1e-4},
		{"go-back-N at 1e-5", models.GoBackN(1e-5, wan), 0.689, 2e-3},
		{"go-back-N at 1e-4", models.GoBackN(1e-4, wan), 0.181, 3e-3},
		{"go-back-N without loss", models.GoBackN(0, wan), 1, 0},
		{"the paper's formula at 1e-5", models.GoBackNPaper(1e-5, wan), 0.558, 2e-3},
		{"the paper's formula at 4.6e-5", models.GoBackNPaper(4.6e-5, wan), 0.271, 3e-3},
		{"the paper's formula at 1e-3", models.GoBackNPaper(1e-3, wan), 0.0212, 3e-3},
		{"the paper's formula without loss", models.GoBackNPaper(0, wan), 1, 0},
		{"a loss in 1 MB at 1e-5", models.AnyLost(1024, 1e-5), 0.0102, 1e-2},
		{"one lost of one or more, 5 expected", models.ExactlyOne(5), 0.034, 0.02},
		{"one lost of one or more, 5/8 expected", models.ExactlyOne(5.0 / 8), 0.72, 0.01},
		{"residual of (32,1) at 1e-4", lowar.Residual(1e-4), 1.65e-7, 5e-3},
		{"goodput of (32,1) at 1e-3", 9.256 * lowar.Efficiency(1e-3, wan), 5.25, 5e-3},
		{"16 connections at 1e-3 keep", lowar.Kept(1e-3, wan, 16), 0.958, 2e-3},
		{"perftest over 1 ms", models.Moderated(128, 100, ms, 0, 100*unit.Gbps, 4096, 4096) / 1e9, 3.2, 0.01},
		{"perftest over 10 ms", models.Moderated(128, 100, 10*ms, 0, 100*unit.Gbps, 4096, 4096) / 1e9, 0.327, 0.01},
		{"perftest over 0.1 ms", models.Moderated(128, 100, ms/10, 8*vtime.Microsecond, 100*unit.Gbps, 4096,
			4096) / 1e9, 24.8, 0.01},
		{"2048 messages of 256 bytes over 1 ms",
			models.ClosedLoop(2048, ms, 100*unit.Gbps, 256, 4096) / 1e9, 4.19, 0.01},
		{"a long queue fills the line", models.ClosedLoop(1<<20, ms, 100*unit.Gbps, 4096, 4096) / 1e11,
			models.Ceiling(4096, 4096), 0},
		{"128 packets in flight at 1e-3 keep", models.WindowedGoBackN(1e-3, 128), 0.938, 1e-3},
		{"2048 packets in flight at 1e-3 keep", models.WindowedGoBackN(1e-3, 2048), 0.425, 0.01},
		{"a window without loss keeps", models.WindowedGoBackN(0, 128), 1, 0},
		{"one query at 400 Gb/s",
			models.Stall(0.01, 1, (400 * unit.Gbps).Time(1106), 1400*vtime.Nanosecond), 0.388, 2e-3},
		{"two queries at 100 Gb/s",
			models.Stall(0.01, 2, (100 * unit.Gbps).Time(1106), 1400*vtime.Nanosecond), 0.24, 5e-3},
		{"no stall", models.Stall(0, 2, vtime.Nanosecond, vtime.Microsecond), 0, 0},
		{"send/receive of 1 MB at 0.1 %", ddp.SendReceive(0.001, 1<<20), 0.492, 0.01},
		{"Write-Record of 1 MB at 0.1 %", wrec, 0.952, 0.01},
		{"a window of two products never stalls", models.Selective(0.01, 68, 136, 0), 0.99, 0},
		{"a window of one product stalls one", models.Selective(0.01, 68, 68, 0), 0.99 / 1.68, 1e-9},
	} {
		if !(math.Abs(tt.got-tt.want) <= tt.near*tt.want) {
			t.Errorf("%s: %.6g, want %.6g", tt.name, tt.got, tt.want)
		}
	}
}

// The formula of the Go-Back-ONE paper is never above the throughput and at most a fifth of the line below it, with the
// largest gap around p·b = 1/2.
func TestThePapersFormulaIsLow(t *testing.T) {
	worst, at := 0.0, 0.0
	for a := 0.01; a < 100; a *= 1.1 {
		const b = 5000
		gap := models.GoBackN(a/b, b) - models.GoBackNPaper(a/b, b)
		if gap < -1e-9 || gap > 0.2 {
			t.Errorf("p·b = %.3g: the gap is %.4f", a, gap)
		}
		if gap > worst {
			worst, at = gap, a
		}
	}
	if at < 0.25 || at > 1 {
		t.Errorf("the widest gap is at p·b = %.2f, want about 1/2", at)
	}
}

// The renewal form is the throughput of a sender that goes back, and the paper's formula is the mean over its cycles.
func TestGoBackNAgainstItsDefinition(t *testing.T) {
	const p, b, cycles = 0.002, 300.0, 200_000
	rng := rand.New(rand.NewPCG(1, 2))
	useful, sent, mean := 0.0, 0.0, 0.0
	for range cycles {
		k := math.Floor(math.Log(1-rng.Float64()) / math.Log(1-p)) // packets delivered before the loss
		useful, sent, mean = useful+k, sent+k+b, mean+k/(k+b)/cycles
	}
	if got, want := useful/sent, models.GoBackN(p, b); math.Abs(got-want) > 0.005 {
		t.Errorf("throughput %.4f, model %.4f", got, want)
	}
	if want := models.GoBackNPaper(p, b); math.Abs(mean-want) > 0.005 {
		t.Errorf("mean of cycles %.4f, formula %.4f", mean, want)
	}
}

// A residual simulated packet by packet agrees with the closed form, also for units of unequal length.
func TestResidualAgainstItsDefinition(t *testing.T) {
	const p, blocks = 0.03, 200_000
	l := models.LoWAR{R: 10, C: 3}
	rng := rand.New(rand.NewPCG(3, 4))
	failed := 0
	for range blocks {
		var lost [3]int
		for slot := range l.R + l.C {
			if rng.Float64() < p {
				lost[slot%l.C]++
			}
		}
		if max(lost[0], lost[1], lost[2]) > 1 {
			failed++
		}
	}
	got, want := float64(failed)/blocks/float64(l.R), l.Residual(p)
	if math.Abs(got/want-1) > 0.02 {
		t.Errorf("residual %.5f, model %.5f", got, want)
	}
}

// For any arguments, more loss never helps, and an efficiency is a share.
func TestMoreLossNeverHelps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0, 0.3).Draw(t, "p")
		q := rapid.Float64Range(p, 0.3).Draw(t, "q")
		b := rapid.Float64Range(1, 1e5).Draw(t, "b")
		w := rapid.Float64Range(1, 1e5).Draw(t, "w")
		l := models.LoWAR{R: rapid.IntRange(1, 128).Draw(t, "r"), Data: 1106, Extra: 1122}
		l.C = rapid.IntRange(1, l.R).Draw(t, "c")
		d := models.Datagrams{Segment: 65000, Header: 26, Fragment: 1480}
		size := rapid.IntRange(1, 1<<20).Draw(t, "size")
		for name, f := range map[string]func(float64) float64{
			"GoBackN":     func(p float64) float64 { return models.GoBackN(p, b) },
			"Windowed":    func(p float64) float64 { return models.WindowedGoBackN(p, 1+int(w)) },
			"Selective":   func(p float64) float64 { return models.Selective(p, b, w, b) },
			"LoWAR":       func(p float64) float64 { return l.Efficiency(p, b) },
			"SendReceive": func(p float64) float64 { return d.SendReceive(p, size) },
			"WriteRecord": func(p float64) float64 { m, _ := d.WriteRecord(p, size); return m },
		} {
			less, more := f(p), f(q)
			if more > less+1e-9 || less > 1+1e-9 || more < 0 {
				t.Errorf("%s: %v at %v and %v at %v", name, less, p, more, q)
			}
		}
	})
}

func TestNonsenseIsNaN(t *testing.T) {
	for i, x := range []float64{
		models.GoBackN(1, 5), models.GoBackN(-0.1, 5), models.GoBackN(math.NaN(), 5), models.GoBackN(0.1, -1),
		models.GoBackNPaper(2, 5),
		models.Ceiling(0, 1024), models.Ceiling(5, 0), models.Rounds(-1, 0.1), models.ExactlyOne(0),
		models.UnitFails(0.1, 0),
		models.Moderated(10, 0, ms, 0, unit.Gbps, 1, 256), models.Moderated(10, 11, ms, 0, unit.Gbps, 1, 256),
		models.Selective(0.1, 1, 0, 0), models.WindowedGoBackN(0.1, 0), models.Stall(0.1, 1, 0, 0),
	} {
		if !math.IsNaN(x) {
			t.Errorf("case %d: %v", i, x)
		}
	}
}
