package points

import (
	"cmp"
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/perf/history"
	measured "github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Run returns the points of one run; name "" names them after the Spec.
func Run(name string, r *model.Result) []history.Point {
	who := r.Impl[0]
	if r.Impl[1] != who {
		who += "+" + r.Impl[1]
	}
	o := origin(r.Bench, r.SpecHash, r.Folder, r.Seed, "run", who, cmp.Or(name, fmt.Sprintf("%.8s", r.SpecHash)))
	return o.all(r.Status, required(r.Verdicts), &r.Summary)
}

// required lists the required rules that a run broke.
func required(all []rule.Verdict) (ids []string) {
	for i := range all {
		if v := &all[i]; v.Status == rule.Fail && v.Required {
			ids = append(ids, v.Rule)
		}
	}
	return ids
}

// Matrix returns the points of every cell that the bench could run.
func Matrix(m *model.Matrix) (list []history.Point) {
	for i := range m.Cells {
		c := &m.Cells[i]
		o := origin(m.Bench, c.SpecHash, c.Folder, m.Seed, "matrix", c.Impl, c.Link)
		list = append(list, o.all(c.Status, c.Broken, &c.Summary)...)
	}
	return list
}

// Outcome returns the point of a scenario of the conformance suite.
func Outcome(s *suite.Outcome) []history.Point {
	if s.Status == rule.NotApplicable {
		return nil
	}
	o := origin(s.Bench, s.SpecHash, s.Folder, s.Seed, "conform", s.Impl, s.Scenario)
	var broken []string
	for _, v := range s.Verdicts {
		if v.Status == rule.Fail && v.Required {
			broken = append(broken, v.Rule)
		}
	}
	return []history.Point{o.verdict(s.Status.String(), broken)}
}

// Claims returns the points of measured claims, in virtual time and on the bench with real packets. A number that needs
// no run is not a measurement and has none.
func Claims(prefix string, m *measured.Result) (list []history.Point) {
	for i := range m.Claims {
		for k := range m.Claims[i].Measured {
			x := &m.Claims[i].Measured[k]
			if len(x.Scenarios) == 0 {
				continue
			}
			list = append(list, number(prefix+" "+m.Claims[i].ID+" "+x.Title(), m.Bench, x))
			if x.Real != nil {
				p := number(prefix+" "+m.Claims[i].ID+" "+x.Title(), m.Emulated, x)
				p.Class, p.Values = class(m.Emulated), x.RealValues
				list = append(list, p)
			}
		}
	}
	return list
}

// number returns the point of one number of a claim.
func number(name, bench string, x *measured.Measured) history.Point {
	p := history.Point{Values: x.Values, Seeds: x.Seeds, Spec: hash(x.Scenarios)}
	p.Name, p.Bench, p.Unit, p.Better, p.Class = name, bench, x.Unit, history.Up, class(bench)
	if x.LowerIsBetter {
		p.Better = history.Down
	}
	if x.Random && p.Class == history.Exact {
		p.Class = history.Paired
	}
	if x.Estimate == nil {
		p.Values, p.Status = nil, measured.Unknown
	}
	return p
}

// Gate returns the points of a gate: verdicts of scenarios and links, the numbers of exact runs, and the measured
// numbers.
func Gate(g *model.Gate) (list []history.Point) {
	for i := range g.Stages {
		s := &g.Stages[i]
		for k := range s.Runs {
			list = append(list, gateRun(g, s, &s.Runs[k])...)
		}
		if s.Numbers != nil {
			n := *s.Numbers
			n.Bench = cmp.Or(n.Bench, s.Bench)
			list = append(list, Claims("gate "+s.Name+" "+g.Subject, &n)...)
		}
	}
	return list
}

func gateRun(g *model.Gate, s *model.GateStage, r *model.GateRun) []history.Point {
	if r.Status == rule.NotApplicable.String() {
		return nil
	}
	o := origin(s.Bench, r.SpecHash, r.Folder, r.Seed, "gate", s.Name, cmp.Or(r.Role, g.Subject), r.Name)
	if s.Exact {
		o.Class = history.Exact
	}
	list := []history.Point{o.verdict(r.Status, r.Broken)}
	for _, n := range r.Numbers {
		p := o.about(n.Name, "", "")
		p.Values = []float64{float64(n.Value)}
		list = append(list, p)
	}
	return list
}
