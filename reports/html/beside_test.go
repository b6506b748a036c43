package html_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/html"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

// Two runs have the same axes, also when one is shorter; their first difference is found and enlarged.
func TestBeside(t *testing.T) {
	a, b := modeltest.Result(), modeltest.Result()
	names := [2]string{"Before", "Now"}
	if p := html.Beside("x", [2]*model.Result{a, b}, names); p == nil || p.Differ != "" || p.Closer[0] != "" ||
		p.Counts[0] != p.Counts[1] {
		t.Fatalf("a run beside itself: %+v", p)
	}
	marks := slices.Clone(b.Sequences[0].Marks)
	i := slices.IndexFunc(marks, func(m metrics.Mark) bool { return m.Kind == metrics.NakMark })
	b.Sequences = slices.Clone(b.Sequences)
	b.Sequences[0].Marks = marks[:i]
	p := html.Beside("x", [2]*model.Result{a, b}, names)
	if p == nil || p.Differ == "" {
		t.Fatalf("%+v", p)
	}
	axis := func(s string) (labels []string) {
		for part := range strings.SplitSeq(s, `<text class="tick"`) {
			_, text, _ := strings.Cut(part, ">")
			text, _, _ = strings.Cut(text, "<")
			labels = append(labels, text)
		}
		return labels[1:]
	}
	for _, pair := range [][2]string{{string(p.Drawings[0]), string(p.Drawings[1])},
		{string(p.Closer[0]), string(p.Closer[1])}} {
		if x, y := axis(pair[0]), axis(pair[1]); len(x) < 6 || !slices.Equal(x, y) {
			t.Errorf("axes %q beside %q", x, y)
		}
	}
	for i, want := range []int{2, 0} { // the legend, and the marks
		if n := strings.Count(string(p.Closer[i]), `class="k-nak"`); n != want {
			t.Errorf("%d paths of NAKs, want %d: %s", n, want, p.Closer[i])
		}
	}
	b.Sequences = nil
	if p := html.Beside("x", [2]*model.Result{a, b}, names); p != nil {
		t.Errorf("a run without a plot: %+v", p)
	}
}
