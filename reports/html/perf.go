package html

import (
	"fmt"
	"html/template"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Perf writes the page of the papers' claims.
func Perf(w io.Writer, m *suite.Result) error {
	return render(w, "perf.tmpl", newPerfView(m))
}

// perfView is the data of the page.
type perfView struct {
	*suite.Result
	Policy string
	Style  template.CSS
	Counts []model.Fact
	Made   string // the runs
	Claims []claimView
}

// claimView is one claim with its numbers as text.
type claimView struct {
	*suite.Claim
	Rows []measuredView
}

// measuredView is one line of the table.
type measuredView struct {
	*suite.Measured
	What, PaperText, ModelText, Ours, Bound string

	// with real packets: the number or why there is none, and the difference from the number in virtual time beside it
	RealText, Gap, Beside, BesideWhat string
	K, Rate, Wall                     string // how the runs with real packets were made
}

func newPerfView(m *suite.Result) *perfView {
	v := &perfView{Result: m, Policy: policy() + " 'none'", Style: template.CSS(asset("style.css")),
		Made: quantity.Runs(m.Runs, m.RealRuns, m.Emulated)}
	for _, status := range []string{suite.Holds, suite.Broken, suite.Open, suite.Unknown, suite.Reported} {
		if n := m.Count(status); n > 0 {
			v.Counts = append(v.Counts, model.Fact{Name: status, Value: fmt.Sprint(n)})
		}
	}
	for i := range m.Claims {
		c := claimView{Claim: &m.Claims[i]}
		for k := range c.Measured {
			c.Rows = append(c.Rows, newMeasuredView(&c.Measured[k]))
		}
		v.Claims = append(v.Claims, c)
	}
	return v
}

func newMeasuredView(m *suite.Measured) measuredView {
	v := measuredView{Measured: m, What: m.Title(), PaperText: orDash(m.Paper, m.Unit), ModelText: orDash(m.Model, m.Unit),
		Ours: m.Trouble, Bound: quantity.Bounds(m.Low, m.High)}
	if m.Estimate != nil {
		v.Ours = quantity.Interval(m.Estimate.Value, m.Estimate.Low, m.Estimate.High, m.Unit)
	}
	v.RealText, v.Gap, v.Beside = m.RealTrouble, "–", v.Ours
	if what, virtual := m.Beside(); virtual != nil {
		v.BesideWhat, v.Beside = what, quantity.Interval(virtual.Value, virtual.Low, virtual.High, m.Unit)
	}
	if m.Real != nil {
		by := m.Carried()
		v.K, v.Rate, v.Wall = fmt.Sprint(by.Dilation), fmt.Sprintf("%.0f", by.Rate), fmt.Sprintf("%.0f", by.Wall)
		v.RealText, v.Gap = quantity.Interval(m.Real.Value, m.Real.Low, m.Real.High, m.Unit),
			quantity.Percent(m.Gap.Value, m.Gap.Low, m.Gap.High)
	}
	return v
}

// orDash returns a number with its unit, or a dash.
func orDash(x *float64, unit string) string {
	if x == nil {
		return "–"
	}
	return quantity.Value(*x, unit)
}
