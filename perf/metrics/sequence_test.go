package metrics

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

func kinds(marks []Mark) (n [5]int) {
	for _, m := range marks {
		n[m.Kind]++
	}
	return n
}

// fill plots a run with a loss in every hundred packets, each followed by a burst of retransmissions.
func fill(p *plot, n, burst int) {
	at := vtime.Time(0)
	for i := range int64(n) {
		at += 1000
		if i%100 != 99 {
			p.add(at, i, SentFirst)
			continue
		}
		p.add(at, i, LostMark)
		for k := range int64(burst) {
			p.add(at+vtime.Time(k), i-k, SentAgain)
		}
	}
}

func TestPlotKeepsLossesLongest(t *testing.T) {
	for _, tc := range []struct {
		name       string
		n, burst   int
		lost, most int // losses kept, and marks of other kinds at most
	}{
		{"fits", 5000, 1, 50, 0},
		{"first transmissions are thinned", 100_000, 1, 1000, 0},
		{"retransmissions are thinned", 100_000, 100, 1000, 0},
		{"losses alone do not fit", 5_000_000, 1, 0, 0},
	} {
		p := newPlot(1)
		fill(p, tc.n, tc.burst)
		got := kinds(p.marks)
		if len(p.marks) > otherMarks || len(p.marks) < otherMarks/4 {
			t.Errorf("%s: %d marks", tc.name, len(p.marks))
		}
		if tc.lost > 0 && got[LostMark] != tc.lost {
			t.Errorf("%s: %d losses kept of %d", tc.name, got[LostMark], tc.lost)
		}
		if got[SentFirst] == 0 || got[SentAgain] == 0 || got[LostMark] == 0 {
			t.Errorf("%s: a kind is gone: %v", tc.name, got)
		}
		if want := tc.n > 5000; p.sequence(0, trace.A).Thinned != want {
			t.Errorf("%s: thinned is %v", tc.name, !want)
		}
		if !slices.IsSortedFunc(p.marks, func(a, b Mark) int { return int(a.At/1000 - b.At/1000) }) {
			t.Errorf("%s: marks are out of order", tc.name)
		}
	}
}

func TestPlotIsEven(t *testing.T) {
	p := newPlot(1)
	for i := range int64(100_000) {
		p.add(vtime.Time(i), i, SentFirst)
	}
	gap := p.marks[1].Offset - p.marks[0].Offset
	for i := range p.marks[1:] {
		if p.marks[i+1].Offset-p.marks[i].Offset != gap {
			t.Fatalf("marks %d and %d are at %d and %d, want a distance of %d", i, i+1, p.marks[i].Offset,
				p.marks[i+1].Offset, gap)
		}
	}
}

func TestPlotIsDeterministic(t *testing.T) {
	a, b := newPlot(0), newPlot(0)
	fill(a, 200_000, 20)
	fill(b, 200_000, 20)
	if d := cmp.Diff(a.marks, b.marks); d != "" {
		t.Error("the same run gives two plots")
	}
	if len(a.marks) > firstMarks {
		t.Errorf("%d marks", len(a.marks))
	}
	var none *plot
	none.add(0, 0, LostMark)
}
