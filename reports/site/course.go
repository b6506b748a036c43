package site

import (
	"math"
	"slices"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
)

// course is the page of a series: its plot and the table behind it.
type course struct {
	head
	*history.Track
	Last  string
	Plots []*plot // for a wide and for a narrow window
	Band  string  // what it is
	Rows  []row
	More  int // rows that are left out
}

// row is a point, the newest first.
type row struct {
	*history.Header
	Value, Run, Begins string
	Gap                bool
	Marks              []mark
}

func newCourse(p *past, t *history.Track) *course {
	v := &course{head: p.head(named(t.Name, t.Host)), Track: t, Last: text(t.Last())}
	switch {
	case t.Last().Word != "":
	case t.Class == history.Noisy:
		v.Band = "The band is the median of the stretch and three robust spreads on either side."
	case t.Class == history.Paired:
		v.Band = "The band is the interval that holds the true mean with probability 0.95."
	default:
		v.Band = "The number is exact: any difference is a change."
	}
	marks := p.marks[seriesPage(&t.Series, t.Host)]
	begins := begun(t)
	for _, wide := range []bool{true, false} {
		v.Plots = append(v.Plots, newPlot(p.site, t, begins, marks, wide))
	}
	for i := range slices.Backward(t.Entries) {
		e := &t.Entries[i]
		if len(v.Rows) == maxRows {
			v.More = i + 1
			break
		}
		r := row{Header: e.Header, Value: text(e), Run: p.site.link(e.Run), Begins: begins[i], Gap: e.Gap()}
		for _, m := range marks {
			if m.Night == e.Night {
				r.Marks = append(r.Marks, m)
			}
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// begun names the conditions that are others than before, by the index of the entry where a segment begins.
func begun(t *history.Track) map[int]string {
	out := map[int]string{}
	var last *history.Entry
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.Gap() {
			continue
		}
		if last != nil && last.Segment() != e.Segment() {
			old := last.Conditions()
			for k, is := range e.Conditions() {
				if old[k] == is {
					continue
				}
				if out[i] != "" {
					out[i] += ", "
				}
				out[i] += is[0] + " " + is[1]
			}
		}
		last = e
	}
	return out
}

// value is a number as people read it.
func value(x float64, unit string) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case unit == "bit/s":
		return quantity.Rate(x)
	case unit == "ns":
		return quantity.Duration(int64(x))
	}
	return quantity.Value(x, unit)
}
