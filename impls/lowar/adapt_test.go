package lowar

import "testing"

// stream is packets in blocks of 64, of which every n-th begins a burst of losses.
type stream struct{ every, burst, at int }

// window reports a number of packets.
func (s *stream) window(r *report, n int) {
	var marks bitmap
	for range n / 64 {
		marks.clear()
		for i := range 64 {
			if s.at++; s.every > 0 && (s.at+20)%s.every < s.burst {
				marks.set(i)
			}
		}
		r.saw(64, &marks)
	}
}

// TestControllerWants compares the wanted parameters with the formula: m is the largest power of two with m²p²·bdp <=
// 2, and c covers the bursts.
func TestControllerWants(t *testing.T) {
	for _, tt := range []struct {
		name         string
		every, burst int
		bdp          int
		want         code
	}{
		{"no loss", 0, 0, 32768, code{64, 1}},
		{"1 in 64000", 64000, 1, 32768, code{64, 1}},
		{"1 in 3000", 3000, 1, 32768, code{16, 1}},
		{"1 in 1000", 1000, 1, 32768, code{4, 1}},
		{"1 in 1000 on a short path", 1000, 1, 512, code{32, 1}},
		{"1 in 10", 10, 1, 32768, code{2, 1}},
		{"most of it", 2, 1, 1, code{2, 1}},
		{"bursts of 3", 3000, 3, 512, code{128, 4}},
		{"bursts of 8", 50000, 8, 512, code{512, 8}},
		{"bursts of 30", 50000, 30, 512, code{256, 16}},
	} {
		r, in := report{on: true, bdp: tt.bdp, window: 4096, depth: 1}, stream{every: tt.every, burst: tt.burst}
		var got code
		for range 64 {
			in.window(&r, 4096)
			if !r.due {
				t.Fatalf("%s: no report after a window", tt.name)
			}
			p := r.feedback(5, false)
			got = code{int(p.Repair.R), int(p.Repair.C)}
		}
		if tt.burst > 1 && got.c != tt.want.c || tt.burst <= 1 && got != tt.want {
			t.Errorf("%s: wants (%d,%d), expected (%d,%d)", tt.name, got.r, got.c, tt.want.r, tt.want.c)
		}
		p := 0.0
		if tt.every > 0 {
			p = float64(tt.burst) / float64(tt.every)
		}
		// The neighbours of the wanted parameters must not cost clearly less.
		cost := func(m float64) float64 { return 1/m + float64(tt.bdp)*m*p*p/2 }
		m := float64(got.r / got.c)
		for _, other := range []float64{m / 2, 2 * m} {
			if other >= 2 && other <= 64 && p < 0.25 && cost(other) < 0.7*cost(m) {
				t.Errorf("%s: m=%v costs %.4f, and m=%v %.4f", tt.name, m, cost(m), other, cost(other))
			}
		}
	}
}

// TestControllerForgets: redundancy decreases when losses end, the rate within some windows, the depth more slowly.
func TestControllerForgets(t *testing.T) {
	r := report{on: true, bdp: 32768, window: 4096, depth: 1}
	in := stream{every: 200, burst: 4}
	for range 20 {
		in.window(&r, 4096)
		r.feedback(5, false)
	}
	first := r.wanted()
	in, windows := stream{}, 0
	for got := first; got != (code{64, 1}) && windows < 1000; windows++ {
		in.window(&r, 4096)
		p := r.feedback(5, false)
		got = code{int(p.Repair.R), int(p.Repair.C)}
	}
	if first.c != 4 || first.r/first.c > 4 || windows == 1000 || windows < 2*memory {
		t.Errorf("from (%d,%d) it is back at (64,1) after %d windows", first.r, first.c, windows)
	}
	t.Logf("from (%d,%d) to (64,1) in %d windows", first.r, first.c, windows)
}
