// Package points converts the results of other commands to the points of a night: a run, a matrix, a conformance suite,
// measured claims, a gate. Points in virtual time are exact, numbers over several seeds are paired, and points in real
// time are noisy.
package points

import (
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	"github.com/rdma-gauntlet/gauntlet/perf/metrics"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Origin holds the values that the points of one run share.
type Origin struct {
	Name string // begins the names of the series
	history.Point
}

// origin makes the origin of the points of a run. Seed 0 means that there is none.
func origin(bench, spec, run string, seed uint64, name ...string) Origin {
	o := Origin{Name: strings.Join(name, " ")}
	o.Bench, o.Spec, o.Run, o.Class = bench, spec, run, class(bench)
	if seed > 0 {
		o.Seeds = []uint64{seed}
	}
	return o
}

// class returns the class of the points of a bench.
func class(bench string) history.Class {
	if bench == "sim" {
		return history.Exact
	}
	return history.Noisy
}

// about returns the point of one series of this origin, without a value.
func (o *Origin) about(name, unit string, better history.Better) history.Point {
	p := o.Point
	p.Name, p.Unit, p.Better = o.Name+" "+name, unit, better
	return p
}

// verdict returns the point of the verdict of a run, with the rules that were broken. A status that proves nothing is a
// gap.
func (o *Origin) verdict(status string, broken []string) history.Point {
	p := o.about("verdict", "", "")
	if unproven(status) {
		p.Status = status
		return p
	}
	p.Word = strings.Join(append([]string{status}, broken...), " ")
	return p
}

// unproven reports whether a status says nothing about the implementation.
func unproven(status string) bool {
	switch status {
	case rule.Invalid.String(), rule.Error.String(), model.Incomplete, "":
		return true
	}
	return false
}

// numbers returns the points of a run's numbers; they are gaps when the run proved nothing.
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

// all returns the points of the verdict and the numbers of a run; none when the run did not apply.
func (o *Origin) all(status string, broken []string, s *metrics.Summary) []history.Point {
	if status == rule.NotApplicable.String() {
		return nil
	}
	return append([]history.Point{o.verdict(status, broken)}, o.numbers(status, s)...)
}
