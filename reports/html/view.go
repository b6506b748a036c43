package html

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// view is the data of the page, in its order.
type view struct {
	*model.Result
	Policy     string
	Style      template.CSS
	UPlot, App template.JS

	Title     string
	Done      string // outcome of the work
	Headlines []headline
	Spreads   []spread
	Goodput   *goodput
	Sequences []sequence
	Plots     []plotData
	Kinds     []kind
	Filters   []filter
	Rows      []row
	Facts     []model.Fact
	Began     string // time of the first packet, as in ladders
}

// headline is one number in large type.
type headline struct{ Name, Value, Unit, Detail string }

// kind is a line of the legend.
type kind struct{ Name, Class, Shape string }

func newView(r *model.Result) *view {
	v := &view{Result: r, Style: template.CSS(asset("uplot/uPlot.min.css") + "\n" + asset("style.css")),
		Title: title(r), Done: model.Headline(&r.Work)}
	v.Headlines = headlines(r)
	v.Spreads = spreads(r)
	v.Goodput = newGoodput(r)
	v.Sequences = newSequences(r)
	for i := range v.Sequences {
		v.Plots = append(v.Plots, v.Sequences[i].Data)
	}
	if len(v.Plots) > 0 {
		v.UPlot, v.App = template.JS(asset("uplot/uPlot.iife.min.js")), template.JS(asset("plot.js"))
	}
	v.Policy = policy(v.UPlot, v.App)
	for k, name := range kindNames {
		v.Kinds = append(v.Kinds, kind{name, kindClasses[k], shapes[k]})
	}
	v.Rows, v.Filters = rows(r)
	v.Facts = counters(r)
	v.Began = r.Timeline.Start.Micros() + " µs"
	return v
}

// title names the run: implementations and bench.
func title(r *model.Result) string {
	impls := r.Impl[0]
	if r.Impl[1] != r.Impl[0] {
		impls += " with " + r.Impl[1]
	}
	return fmt.Sprintf("%s on %s", impls, r.Where())
}

// headlines are the numbers to see first.
func headlines(r *model.Result) []headline {
	add := func(name, value, detail string) headline {
		number, unit, _ := strings.Cut(value, " ")
		return headline{name, number, unit, detail}
	}
	use := "line rate unlimited"
	if r.Utilisation > 0 {
		use = quantity.Share(r.Utilisation) + " of the line rate"
	}
	spurious, lost := ", "+quantity.Count(r.Spurious)+" spurious", add("Lost", quantity.Count(r.Lost),
		quantity.ShareOf(r.Lost, r.Packets)+" of all packets")
	if r.OneTap() {
		spurious, lost = "", add("Lost", "unknown", "to one tap")
	}
	timeouts := ", " + quantity.Plural(r.Timeouts, "timeout", "timeouts")
	if r.Capture != nil {
		timeouts = ""
	}
	return []headline{
		add("Goodput", quantity.Rate(r.GoodputBps), use),
		add("FCT, median", orNone(r.FCT.Count, r.FCT.P50), quantity.Plural(r.Messages, "message", "messages")),
		add("FCT, 99th percentile", orNone(r.FCT.Count, r.FCT.P99), "longest "+orNone(r.FCT.Count, r.FCT.Max)),
		add("Retransmitted", quantity.Count(r.Retransmitted), quantity.ShareOf(r.Retransmitted, r.DataPackets)+
			" of data packets"+spurious),
		lost,
		add("Recovery, median", orNone(r.RecoveryNs.Count, r.RecoveryNs.P50), quantity.Plural(r.RecoveryNs.Count,
			"recovery", "recoveries")+timeouts),
	}
}

func orNone(count, ns int64) string {
	if count == 0 {
		return "–"
	}
	return quantity.Duration(ns)
}

// spread is a distribution as a row of text.
type spread struct {
	Name  string
	Cells []string
}

func spreads(r *model.Result) []spread {
	row := func(name string, s metrics.Spread) spread {
		out := spread{Name: name, Cells: []string{quantity.Count(s.Count)}}
		for _, ns := range []int64{s.Min, s.Mean, s.P50, s.P95, s.P99, s.Max} {
			out.Cells = append(out.Cells, orNone(s.Count, ns))
		}
		return out
	}
	return []spread{row("Flow completion time", r.FCT), row("Recovery time", r.RecoveryNs)}
}

// counters are the counts of the summary, then those of endpoints and link.
func counters(r *model.Result) []model.Fact {
	const spurious, lost, timeouts = "of those, spurious", "lost on the link", "timeouts"
	n := func(name string, v int64) model.Fact {
		if r.OneTap() && (name == spurious || name == lost) || r.Capture != nil && name == timeouts {
			return model.Fact{Name: name, Value: "unknown"}
		}
		return model.Fact{Name: name, Value: quantity.Count(v)}
	}
	out := []model.Fact{
		n("packets sent", r.Packets), n("data packets", r.DataPackets), n("retransmitted", r.Retransmitted),
		n(spurious, r.Spurious),
		n(lost, r.Lost), n("ACKs", r.Acknowledges), n("sequence NAKs", r.NAKs), n("RNR NAKs", r.RNRs),
		n(timeouts, r.Timeouts),
		{Name: "payload delivered", Value: quantity.Bytes(r.PayloadBytes)}, {Name: "payload sent again",
			Value: quantity.Bytes(r.RetransmitByte)},
		{Name: "data on the link (layer 1)", Value: quantity.Rate(r.ThroughputBps)}, {Name: "measured time",
			Value: quantity.Duration(r.ElapsedNs)},
	}
	if p := r.Processor; p != nil {
		for side, name := range []string{"A", "B"} {
			out = append(out, model.Fact{Name: "processor time per GB, " + name,
				Value: quantity.Duration(p.NsPerGB[side])})
		}
	}
	if r.Fairness > 0 {
		out = append(out, model.Fact{Name: "fairness (Jain's index)", Value: fmt.Sprintf("%.3f", r.Fairness)})
	}
	out = append(out, r.Shared...)
	return append(out, r.Counters...)
}

// filter is one choice of which verdicts to show.
type filter struct {
	Name, Slug string
	Count      int
}

// row is a verdict with its ladders.
type row struct {
	rule.Verdict
	Open     bool
	Page     string // that explains the rule; "" when there is none
	Findings []finding
}

// finding is a violation with its ladder.
type finding struct {
	rule.Finding
	When   string
	Ladder []Rung
}

// Rung is a line of a ladder; Marked ones show the finding.
type Rung struct {
	Text   string
	Marked bool
}

// rows returns the verdicts, the most severe first, and the filters for the statuses that occur.
func rows(r *model.Result) ([]row, []filter) {
	ladders := map[string][]Rung{}
	for _, l := range r.Ladders {
		ladders[ladderKey(l.Rule, l.Finding)] = Rungs(l.Text)
	}
	out := make([]row, 0, len(r.Verdicts))
	for _, v := range r.Verdicts {
		out = append(out, newRow(v, ladders))
	}
	if r.Rulebook != "" {
		broken := r.Broken()
		for i := range out {
			if slices.Contains(broken, out[i].Rule) {
				out[i].Page = "./" + r.Rulebook + "#" + out[i].Rule
			}
		}
	}
	slices.SortStableFunc(out, func(a, b row) int {
		return cmp.Or(cmp.Compare(urgency(b.Status), urgency(a.Status)), boolOrder(b.Required, a.Required))
	})
	filters := []filter{{"All", "all", len(out)}}
	for i := rule.Fail; ; i-- {
		s := bySeverity(i)
		if n := countOf(out, s); n > 0 {
			filters = append(filters, filter{s.String(), slug(s), n})
		}
		if i == 0 {
			return out, filters
		}
	}
}

func newRow(v rule.Verdict, ladders map[string][]Rung) row {
	out := row{
		Verdict: v,
		Open:    (v.Status == rule.Fail || v.Status == rule.XPass || v.Status == rule.Error) && v.Required,
	}
	for i, f := range v.Findings {
		out.Findings = append(out.Findings, finding{Finding: f, When: f.At.Micros() + " µs",
			Ladder: ladders[ladderKey(v.Rule, i)]})
	}
	return out
}

func ladderKey(rule string, finding int) string { return fmt.Sprint(rule, "/", finding) }

// Rungs splits a ladder into lines and finds those that the drawing points at.
func Rungs(text string) []Rung {
	var out []Rung
	for l := range strings.Lines(text) {
		out = append(out, Rung{Text: l, Marked: strings.Contains(l, "  <== ")})
	}
	return out
}

func countOf(rows []row, s rule.Status) (n int) {
	for i := range rows {
		if rows[i].Status == s {
			n++
		}
	}
	return n
}

func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// order lists the statuses from the least to the most urgent for a reader: after the rules that were broken come those
// that held, then those whose stimulus did not arise.
var order = []rule.Status{rule.NotApplicable, rule.Inconclusive, rule.Pass, rule.XFail, rule.Invalid, rule.XPass,
	rule.Error, rule.Fail}

func urgency(s rule.Status) int { return slices.Index(order, s) }

func bySeverity(i rule.Status) rule.Status { return order[i] }

// count writes a number in groups of three digits.
func count(n int) string { return quantity.Count(int64(n)) }

// plural writes a number with its noun.
func plural(n int, one, many string) string { return quantity.Plural(int64(n), one, many) }

// slug makes a status, or its name, a class name.
func slug(s any) string { return strings.ToLower(fmt.Sprint(s)) }
