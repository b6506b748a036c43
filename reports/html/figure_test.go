package html

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
	"github.com/rdma-gauntlet/gauntlet/reports/model/modeltest"
)

func TestAxisLabels(t *testing.T) {
	for _, tc := range []struct {
		max   float64
		n     int
		whole bool
		units []unit
		want  string
	}{
		{1.02e9, 4, true, rateUnits, "0.0 0.5 1.0 1.5 Gb/s"},
		{83e6, 4, true, rateUnits, "0 50 100 Mb/s"},
		{545.8e9, 10, false, timeUnits, "0 100 200 300 400 500 ms"},
		{2.5e12, 10, false, timeUnits, "0.0 0.5 1.0 1.5 2.0 2.5 s"},
		{12800, 5, true, plainUnit, "0 5000 10\u00a0000 15\u00a0000 "},
		{0, 4, true, rateUnits, "0.0 0.5 1.0 b/s"},
	} {
		a := newAxis(tc.max, tc.n, tc.whole, tc.units, 0, 100)
		var got []string
		a.labels(func(_ float64, text string) { got = append(got, text) })
		if text := strings.Join(got, " ") + " " + a.unit; text != tc.want {
			t.Errorf("%g: %q, want %q", tc.max, text, tc.want)
		}
	}
}

func TestAxisHoldsAnyValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most := math.Exp(rapid.Float64Range(-20, 60).Draw(t, "log"))
		n, whole := rapid.IntRange(1, 12).Draw(t, "labels"), rapid.Bool().Draw(t, "whole")
		a := newAxis(most, n, whole,
			rapid.SampledFrom([][]unit{rateUnits, timeUnits, plainUnit}).Draw(t, "units"), 50, 900)
		count, last := 0, math.Inf(-1)
		a.labels(func(px float64, _ string) {
			if px < 49.9 || px > 900.1 || px <= last {
				t.Fatalf("label at %g after %g", px, last)
			}
			count, last = count+1, px
		})
		if count == 0 || count > n+2 || a.px(most) > 900.1 {
			t.Fatalf("%d labels, %g is at %g", count, most, a.px(most))
		}
	})
}

// The last interval of a timeline is shorter; a very short one is joined to the interval before it.
func TestIntervals(t *testing.T) {
	r := &model.Result{Timeline: metrics.Timeline{Step: vtime.Second, Bytes: []int64{1000, 3000, 500}}}
	for _, tc := range []struct {
		elapsed int64
		want    []float64 // bit/s
	}{
		{3e9, []float64{8000, 24000, 4000}},
		{25e8, []float64{8000, 24000, 8000}},
		{21e8, []float64{8000, 3500 * 8 / 1.1}},
		{2e9, []float64{8000, 28000}},
		{0, nil},
	} {
		r.ElapsedNs = tc.elapsed
		var got []float64
		for _, row := range intervals(r) {
			got = append(got, row.bps)
		}
		if d := cmp.Diff(tc.want, got,
			cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6*a+1e-9 })); d != "" {
			t.Errorf("%d ns (-want +got)\n%s", tc.elapsed, d)
		}
	}
}

func TestManyIntervalsAreMerged(t *testing.T) {
	t400 := metrics.Timeline{Step: 10, Bytes: make([]int64, 400)}
	for i := range t400.Bytes {
		t400.Bytes[i] = int64(i)
	}
	got := coarse(t400)
	if len(got.Bytes) != 100 || got.Step != 40 || got.Bytes[1] != 4+5+6+7 {
		t.Errorf("%d intervals of %d, the second has %d", len(got.Bytes), got.Step, got.Bytes[1])
	}
	if short := coarse(metrics.Timeline{Step: 10, Bytes: make([]int64, 120)}); len(short.Bytes) != 120 {
		t.Errorf("%d intervals left of 120", len(short.Bytes))
	}
}

// wellFormed parses a drawing as XML.
func wellFormed(t *testing.T, name, svg string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, svg)
		}
	}
}

func TestDrawings(t *testing.T) {
	r := modeltest.Result()
	g, s := newGoodput(r), newSequences(r)
	for name, svg := range map[string]string{"wide": string(g.Wide), "narrow": string(g.Narrow),
		"sequence": string(s[0].Static)} {
		wellFormed(t, name, svg)
		for _, want := range []string{`role="img"`, "<title ", "<desc ", "time since the first packet, ms"} {
			if !strings.Contains(svg, want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
	if !strings.Contains(string(g.Wide), "line rate 100 Mb/s") || !strings.Contains(string(g.Wide), "goodput, Mb/s") {
		t.Errorf("no line rate or unit in\n%s", g.Wide)
	}
}

func TestPlotData(t *testing.T) {
	ms := vtime.Time(vtime.Millisecond)
	r := &model.Result{Timeline: metrics.Timeline{Start: ms}, Sequences: []metrics.Sequence{{Conn: 2, From: "B",
		Marks: []metrics.Mark{
			{At: 31 * ms, Offset: 2, Kind: metrics.SentFirst},
			{At: ms, Offset: 0, Kind: metrics.SentFirst},
			{At: ms + 1_500_000, Offset: 1, Kind: metrics.LostMark},
		}}}}
	got, err := json.Marshal(newSequences(r)[0].Data)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"name":"connection 2, requests of B","unit":"ms","window":1.5,"marks":[[[0,30],[0,2]],[null,null],` +
		`[[0.0015],[1]],[null,null],[null,null]]}`
	if string(got) != want {
		t.Errorf("data %s\nwant %s", got, want)
	}
}

func TestSequenceTableIsBounded(t *testing.T) {
	for _, tc := range []struct{ again, lost, rows, left int }{
		{100, 10, 110, 0},
		{500, 10, 10, 500}, // losses are not hidden by retransmissions
		{0, 500, tableLimit, 500 - tableLimit},
		{0, 0, 0, 0},
	} {
		r := &model.Result{Sequences: []metrics.Sequence{{From: "A", Marks: []metrics.Mark{{Kind: metrics.SentFirst}}}}}
		for i := range tc.again + tc.lost {
			kind := metrics.SentAgain
			if i >= tc.again {
				kind = metrics.LostMark
			}
			r.Sequences[0].Marks = append(r.Sequences[0].Marks, metrics.Mark{At: vtime.Time(i) * 1000,
				Offset: int64(i), Kind: kind})
		}
		s := newSequences(r)[0]
		if len(s.Rows) != tc.rows || s.Left != tc.left || s.Empty != (tc.again+tc.lost == 0) {
			t.Errorf("%+v: %d rows, %d left out", tc, len(s.Rows), s.Left)
		}
	}
}
