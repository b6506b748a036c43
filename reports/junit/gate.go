package junit

import (
	"cmp"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Gate writes a gate: a testsuite for each stage with its verdict, its runs, its rules and its numbers, and one with
// the verdict on the whole.
func Gate(w io.Writer, g *model.Gate) error {
	all := suites{Name: "gauntlet gate", Time: seconds(g.Wall)}
	run := &model.Result{Impl: [2]string{g.Subject, g.Peer}, Version: g.Version, Started: g.Started}
	all.add(run, "gate", []testcase{gateCase("verdict", g.Status, g.Reasons)}, g.Wall)
	for i := range g.Stages {
		s := &g.Stages[i]
		q := &model.Qualification{}
		for _, r := range s.Runs {
			r.Reason = cmp.Or(r.Repeated(), r.Reason)
			q.Scenarios = append(q.Scenarios, r.ScenarioOutcome)
		}
		cases := append([]testcase{gateCase("verdict", s.Status, append(s.Reasons, s.Why))}, scenarioCases(q)...)
		for k := range s.Rules {
			cases = append(cases, outcomeCase(&s.Rules[k]))
		}
		if s.Numbers != nil {
			cases = append(cases, targetCases(s.Numbers)...)
		}
		run.Bench = s.Bench
		all.add(run, printable(s.Title()), cases, s.Wall)
	}
	return write(w, &all)
}

// gateCase passes when the status does; runs that were left out are skipped.
func gateCase(name, status string, reasons []string) testcase {
	c := testcase{Name: name, Class: "gauntlet.gate", Time: "0.000"}
	p := &problem{
		Message: printable(status),
		Type:    printable(status),
		Text:    printable(strings.TrimSpace(strings.Join(reasons, "\n"))),
	}
	switch {
	case status == "NOT-APPLICABLE":
		c.Skipped = &problem{Message: p.Text}
	case model.ExitCode(status) == 1:
		c.Failure = p
	case model.ExitCode(status) != 0:
		c.Error = p
	}
	return c
}
