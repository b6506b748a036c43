package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/perf/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// Qualification writes a qualification: a testsuite with the verdict and the scenarios' links, one per family of rules,
// and one with the targets. A rule that the profile does not require never fails here.
func Qualification(w io.Writer, q *model.Qualification) error {
	all := suites{Name: "gauntlet qualify", Time: seconds(q.Wall)}
	run := &model.Result{Bench: q.Bench, Impl: [2]string{q.Subject, q.Peer}, Version: q.Version, Started: q.Started}
	all.add(run, "qualification", append([]testcase{verdictCase(q)}, scenarioCases(q)...), q.Wall)
	families := map[string][]testcase{}
	var order []string
	for i := range q.Rules {
		f := family(q.Rules[i].Rule)
		if families[f] == nil {
			order = append(order, f)
		}
		families[f] = append(families[f], outcomeCase(&q.Rules[i]))
	}
	for _, f := range order {
		all.add(run, f, families[f], 0)
	}
	if q.Targets != nil {
		all.add(run, "targets", targetCases(q.Targets), q.Targets.Wall)
	}
	return write(w, &all)
}

// write encodes the document. It also escapes attributes that were set without printable: outside of text every
// character must print.
func write(w io.Writer, all *suites) error {
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	_, err = io.WriteString(w, printable(string(text))+"\n")
	return err
}

// verdictCase fails unless the subject is qualified.
func verdictCase(q *model.Qualification) testcase {
	c := testcase{Name: printable("qualified for " + q.Profile), Class: "gauntlet.qualification", Time: seconds(q.Wall)}
	p := &problem{Message: printable(fmt.Sprintf("%s: %d reasons", q.Verdict(), len(q.Reasons))), Type: q.Status,
		Text: printable(strings.Join(q.Reasons, "\n"))}
	switch {
	case q.Qualified:
	case q.Undecided():
		c.Error = p
	default:
		c.Failure = p
	}
	return c
}

// scenarioCases has a testcase for each scenario: whether it could be judged; its findings are with the rules.
func scenarioCases(q *model.Qualification) (out []testcase) {
	for i := range q.Scenarios {
		s := &q.Scenarios[i]
		c := testcase{Name: printable(strings.TrimSpace(s.Role + " " + s.Name)),
			Class: "gauntlet.scenario", Time: "0.000"}
		switch {
		case s.Note(s.Status) != "":
			c.Error = &problem{Message: printable(s.Note(s.Status)), Type: validity.Invalid, Text: printable(s.Again)}
		case s.Status == rule.Invalid.String() || s.Status == rule.Error.String():
			c.Error = &problem{Message: printable(s.Reason), Type: s.Status, Text: printable(s.Again)}
		case s.Status == rule.NotApplicable.String():
			c.Skipped = &problem{Message: printable(s.Status + ": " + s.Reason)}
		}
		out = append(out, c)
	}
	return out
}

// outcomeCase turns a rule into a testcase.
func outcomeCase(r *model.RuleOutcome) testcase {
	c := testcase{Name: printable(strings.TrimSpace(r.Role + " " + r.Rule + ": " + r.Title)),
		Class: "gauntlet." + printable(family(r.Rule)), Time: "0.000"}
	text := fmt.Sprintf("exercised by %d scenarios, %d times, %d violations in: %s\n%s\n%s: %s\n%s", r.Judged, r.Met,
		r.Total, strings.Join(r.Broken, " "), r.Finding, r.Source.Ref, r.Source.Requirement, r.Explain)
	switch r.Status {
	case rule.Pass.String():
	case rule.Error.String(), rule.Invalid.String():
		c.Error = &problem{Message: printable(r.Reason), Type: r.Status, Text: printable(text)}
	case rule.Fail.String(), rule.XPass.String():
		if !r.Required {
			c.Out = &output{printable(string(r.Level) + ", not required by the profile:\n" + text)}
			break
		}
		c.Failure = &problem{Message: printable(strings.TrimSpace(r.Reason + " " + r.Finding)), Type: r.Status,
			Text: printable(text)}
	default:
		if r.Core && r.Status != rule.XFail.String() {
			c.Failure = &problem{Message: printable("the profile asks to see it hold; " + r.Reason), Type: r.Status}
			break
		}
		c.Skipped = &problem{Message: printable(r.Status + ": " + r.Reason)}
	}
	return c
}

// targetCases are a testcase per number, and one per claim that was not measured.
func targetCases(m *suite.Result) (out []testcase) {
	for i := range m.Claims {
		c := &m.Claims[i]
		if len(c.Measured) == 0 {
			out = append(out, testcase{Name: printable(c.ID), Class: "gauntlet.target", Time: "0.000",
				Skipped: &problem{Message: printable(c.Reason)}})
		}
		for k := range c.Measured {
			out = append(out, targetCase(c, &c.Measured[k]))
		}
	}
	return out
}

func targetCase(c *suite.Claim, m *suite.Measured) testcase {
	t := testcase{Name: printable(c.ID + ": " + m.Title()), Class: "gauntlet.target", Time: "0.000"}
	measured := m.Trouble
	if m.Estimate != nil {
		measured = fmt.Sprintf("%.4g, %.4g to %.4g", m.Estimate.Value, m.Estimate.Low, m.Estimate.High)
	}
	switch m.Status {
	case suite.Holds, suite.Reported:
	case suite.Broken, suite.Open:
		t.Failure = &problem{Message: printable(measured), Type: m.Status, Text: printable(c.Claim)}
	default:
		t.Error = &problem{Message: printable(measured), Type: m.Status}
	}
	return t
}
