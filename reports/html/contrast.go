package html

import (
	"fmt"
	"html/template"
	"io"

	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/perf/datasheet"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Contrast writes the page of a device and an engine side by side: pictures, the numbers, and their explanation.
func Contrast(w io.Writer, m *model.Contrast) error {
	return render(w, "contrast.tmpl", newContrastView(m))
}

// contrastView is the data of the page.
type contrastView struct {
	*model.Contrast
	Policy  string
	Style   template.CSS
	Title   string
	Figures []figure
	Numbers []contrastNumbers
	Runs    []contrastRun
}

// contrastNumbers is a line of the first table.
type contrastNumbers struct {
	Link                   string
	Goodput, Mean, P99     [2]string
	GoodputRatio, FCTRatio string
}

// contrastRun is a line of the second.
type contrastRun struct {
	Link, Impl, What string
	Status, Reason   string
	Broken           []string
	validity.State
	Line, Again, Timer, Idle                          string
	Lost, Resent, NAKs                                string
	GoneBack, Answered, Timeouts, AckReqEvery, Window string
}

func newContrastView(m *model.Contrast) *contrastView {
	v := &contrastView{Contrast: m, Policy: policy() + " 'none'", Style: template.CSS(asset("style.css"))}
	v.Title = fmt.Sprintf("%s beside %s over %s", m.Impls[0], m.Impls[1],
		quantity.Plural(int64(len(m.Rows)), "link", "links"))
	for single, q := range []measure{
		{"Goodput",
			"Payload delivered once, per second, with several messages outstanding. Longer is better.", goodputOf},
		{"Flow completion time", "Mean time of a message that is alone, from its first packet to the acknowledgement " +
			"of its last. Shorter is better.", meanOf},
	} {
		v.Figures = append(v.Figures, figure{q.name, q.caption, drawBars(contrastCells(m, single == 1),
			fmt.Sprint("c", single), &q)})
	}
	for i := range m.Rows {
		v.Numbers = append(v.Numbers, newContrastNumbers(&m.Rows[i]))
		for side := range m.Rows[i].Sides {
			v.Runs = append(v.Runs, newContrastRun(m, i, side, false), newContrastRun(m, i, side, true))
		}
	}
	return v
}

func goodputOf(c *model.Cell) (float64, string) { return c.GoodputBps, quantity.Rate(c.GoodputBps) }

func meanOf(c *model.Cell) (float64, string) {
	return float64(c.FCT.Mean), orNone(c.FCT.Count, c.FCT.Mean)
}

// contrastCells puts one kind of run into the shape that is drawn.
func contrastCells(m *model.Contrast, single bool) *model.Matrix {
	out := &model.Matrix{Impls: m.Impls[:]}
	for i := range m.Rows {
		link := contrastLink(&m.Rows[i])
		out.Links = append(out.Links, model.MatrixLink{Name: link})
		for side, impl := range m.Impls {
			run := m.Rows[i].Sides[side].Of(single)
			out.Cells = append(out.Cells, model.Cell{Impl: impl, Link: link, Status: run.Status, Summary: run.Summary})
		}
	}
	return out
}

func contrastLink(r *model.ContrastRow) string {
	return fmt.Sprintf("%s, loss %g", quantity.Duration(r.RTTNs), r.Loss)
}

func newContrastNumbers(r *model.ContrastRow) contrastNumbers {
	n := contrastNumbers{Link: contrastLink(r), GoodputRatio: fmt.Sprintf("%.2f", r.GoodputRatio()),
		FCTRatio: fmt.Sprintf("%.2f", r.FCTRatio())}
	for side := range r.Sides {
		fct := &r.Sides[side].Single.FCT
		n.Goodput[side] = quantity.Rate(r.Sides[side].Stream.GoodputBps)
		n.Mean[side], n.P99[side] = orNone(fct.Count, fct.Mean), orNone(fct.Count, fct.P99)
	}
	return n
}

func newContrastRun(m *model.Contrast, row, side int, single bool) contrastRun {
	r := &m.Rows[row]
	run := r.Sides[side].Of(single)
	why, s := &run.Reasons, run.Shares(m.Rate)
	out := contrastRun{Link: contrastLink(r), Impl: m.Impls[side], What: "goodput", Status: run.Status,
		Reason: run.Reason, Broken: run.Broken, State: run.State,
		Line: quantity.Share(s.Useful), Again: quantity.Share(s.Again), Timer: quantity.Share(s.Timeout),
		Idle: quantity.Share(s.Other),
		Lost: quantity.Count(run.Lost), Resent: quantity.Count(run.Retransmitted), NAKs: quantity.Count(run.NAKs),
		GoneBack: ranged(&why.GoneBack, quantity.Count), Answered: ranged(&why.Answered, quantity.Duration),
		Timeouts: ranged(&why.Timeouts, quantity.Duration), AckReqEvery: ranged(&why.AckReqEvery, quantity.Count),
		Window: quantity.Count(int64(why.Window.Most))}
	if single {
		out.What = "FCT"
	}
	return out
}

// ranged writes the median of values, and how far they reach where they differ.
func ranged(r *datasheet.Range, text func(int64) string) string {
	switch {
	case r.Seen == 0:
		return "–"
	case r.Least == r.Greatest:
		return fmt.Sprintf("%s (%d×)", text(r.Median), r.Seen)
	}
	return fmt.Sprintf("%s (%d×, %s to %s)", text(r.Median), r.Seen, text(r.Least), text(r.Greatest))
}
