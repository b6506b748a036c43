package html

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/perf/figures"
	"github.com/rdma-gauntlet/gauntlet/perf/stats"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestFiguresShowEverything(t *testing.T) {
	m := modeltest.Figures()
	m.Figures[1].Title = "<script>alert(1)</script>"
	var b strings.Builder
	if err := Figures(&b, m); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{`id="XX-1"`, "goodput, Gb/s", "a knee", "a level", "what is only drawn", "2.92 Gb/s",
		"6 ±0.5 Gb/s", "1 point without a number: no memory",
		"coded", "1e-5", "&lt;script&gt;", `role="img"`, "40 ms plain: 6 Gb/s at 1e-5, 1 Gb/s at 1e-4"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	for _, re := range []*regexp.Regexp{loads, handler, regexp.MustCompile(`<script`), regexp.MustCompile(`NaN|Inf`)} {
		if found := re.FindString(got); found != "" {
			t.Errorf("found %q", found)
		}
	}
}

// Our points, the model and the paper differ in form and not only in colour; a missing number has no point.
func TestPointsByKind(t *testing.T) {
	drawing, _, _ := drawFigure(&modeltest.Figures().Figures[0], false)
	for re, want := range map[string]int{`<circle class="f`: 4, `<path class="stated l0"`: 1,
		`<path class="modelled l0"`: 1, `class="name f1"`: 1, `<line class="limit"`: 1} {
		if n := strings.Count(string(drawing), re); n != want {
			t.Errorf("%d of %s, want %d", n, re, want)
		}
	}
}

// The names of curves that end together do not overlap.
func TestNamesAreApart(t *testing.T) {
	var curves []figures.Curve
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		curves = append(curves, figures.Curve{Name: name,
			Ours: []figures.Measure{{X: 1, Estimate: &stats.Estimate{Value: 0.01}},
				{X: 2, Estimate: &stats.Estimate{Value: 1}}}})
	}
	curves[0].Ours[1].Estimate.Value = 0
	f := figures.Figure{ID: "X", Panels: []figures.Panel{{Curves: curves}}}
	drawing, _, _ := drawFigure(&f, false)
	seen := map[string]bool{}
	for _, at := range regexp.MustCompile(`class="name[^>]* y="([0-9.]+)"`).FindAllStringSubmatch(string(drawing), -1) {
		seen[at[1]] = true
	}
	if len(seen) != len(curves) {
		t.Errorf("%d heights of %d names", len(seen), len(curves))
	}
}

// For any values, every pixel is within the plot.
func TestScalesHoldTheirValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.Float64Range(1e-9, 1e12), 1, 6).Draw(t, "values")
		log, decades := rapid.Bool().Draw(t, "log"), rapid.Bool().Draw(t, "decades")
		e := newExtent()
		e.add(values...)
		s := newScale(e, log, decades, 300, 40)
		if decades || !log {
			s.rounded(5)
		}
		for _, v := range values {
			if px := s.px(v); math.IsNaN(px) || px < 39.9 || px > 300.1 {
				t.Fatalf("%g is at %g", v, px)
			}
		}
	})
}

func TestFigureWithoutAnything(t *testing.T) {
	for _, f := range []figures.Figure{{ID: "X"}, {ID: "X", Panels: []figures.Panel{{}}},
		{ID: "X", Panels: []figures.Panel{{X: figures.Axis{Log: true}, Y: figures.Axis{Log: true},
			Curves: []figures.Curve{{Name: "a"}}}}}} {
		var b strings.Builder
		if err := FigureSVG(&b, &f); err != nil || strings.Contains(b.String(), "NaN") ||
			strings.Contains(b.String(), "Inf") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}
