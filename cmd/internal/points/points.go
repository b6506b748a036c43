// Package points turns what other commands found out into the points of a night: a run, a matrix, a conformance suite,
// measured claims, a gate. Virtual time makes them exact, seeds make them paired, and real time noisy.
package points

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Origin is what the points of one run have in common.
type Origin struct {
	Name string // begins the names of the series
	history.Point
}

// origin begins the points of a run. Seed 0 is none.
func origin(bench, spec, run string, seed uint64, name ...string) Origin {
	o := Origin{Name: strings.Join(name, " ")}
	o.Bench, o.Spec, o.Run, o.Class = bench, spec, run, class(bench)
	if seed > 0 {
		o.Seeds = []uint64{seed}
	}
	return o
}

// class is that of a bench.
func class(bench string) history.Class {
	if bench == "sim" {
		return history.Exact
	}
	return history.Noisy
}

// about is the point of a series of this origin.
func (o *Origin) about(name, unit string, better history.Better) history.Point {
	p := o.Point
	p.Name, p.Unit, p.Better = o.Name+" "+name, unit, better
	return p
}

// verdict is the verdict of a run, with the rules that are broken. What proves nothing is a gap.
func (o *Origin) verdict(status string, broken []string) history.Point {
	p := o.about("verdict", "", "")
	if unproven(status) {
		p.Status = status
		return p
	}
	p.Word = strings.Join(append([]string{status}, broken...), " ")
	return p
}

// unproven reports a status that says nothing of who was run.
func unproven(status string) bool {
	switch status {
	case rule.Invalid.String(), rule.Error.String(), model.Incomplete, "":
		return true
	}
	return false
}

// numbers are those of a run, gaps where it proved nothing.
func (o *Origin) numbers(status string, s *metrics.Summary) (list []history.Point) {
	add := func(name, unit string, better history.Better, value float64) {
		p := o.about(name, unit, better)
		if unproven(status) {
			p.Status = status
		} else {
			p.Values = []float64{value}
		}
		list = append(list, p)
	}
	add("goodput", "bit/s", history.Up, s.GoodputBps)
	add("FCT p99", "ns", history.Down, float64(s.FCT.P99))
	for _, n := range model.Counts(s) {
		add(n.Name, n.Unit, n.Better, float64(n.Value))
	}
	return list
}

// all are the verdict and the numbers of a run. What cannot be run there has none.
func (o *Origin) all(status string, broken []string, s *metrics.Summary) []history.Point {
	if status == rule.NotApplicable.String() {
		return nil
	}
	return append([]history.Point{o.verdict(status, broken)}, o.numbers(status, s)...)
}
