// Package junit writes the verdicts of a run as JUnit XML, which CI systems read: one testsuite per family of rules,
// one testcase per rule.
package junit

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quote"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []*testsuite
}

type testsuite struct {
	XMLName    xml.Name   `xml:"testsuite"`
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"`
	Timestamp  string     `xml:"timestamp,attr,omitempty"`
	Properties []property `xml:"properties>property"`
	Cases      []testcase
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testcase struct {
	XMLName xml.Name `xml:"testcase"`
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    string   `xml:"time,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Skipped *problem `xml:"skipped"`
	Out     *output  `xml:"system-out"`
}

// output is text as it is: a ladder with escaped line ends would be unreadable.
type output struct {
	Text string `xml:",cdata"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",cdata"`
}

// Write writes the verdicts of r. The run itself is the first testcase, so that a broken harness or an invalid link
// shows even when no rule was judged.
func Write(w io.Writer, r *model.Result) error {
	all := suites{Name: "gauntlet", Time: seconds(r.Wall)}
	all.add(r, "run", []testcase{runCase(r), endsCase(r)}, r.Wall)
	for _, name := range families(r.Verdicts) {
		var cases []testcase
		for i := range r.Verdicts {
			if family(r.Verdicts[i].Rule) == name {
				cases = append(cases, ruleCase(r, &r.Verdicts[i]))
			}
		}
		all.add(r, name, cases, 0)
	}
	return write(w, &all)
}

// add appends a suite and counts its cases.
func (s *suites) add(r *model.Result, name string, cases []testcase, wall float64) {
	u := &testsuite{Name: name, Tests: len(cases), Time: seconds(wall), Timestamp: strings.TrimSuffix(r.Started, "Z"),
		Cases: cases,
		Properties: []property{{"seed", strconv.FormatUint(r.Seed, 10)}, {"spec_hash", printable(r.SpecHash)},
			{"bench", printable(r.Where())},
			{"impl_a", printable(r.Impl[0])}, {"impl_b", printable(r.Impl[1])}, {"version", printable(r.Version)},
			{"requests", printable(model.Headline(&r.Work))}}}
	for _, c := range cases {
		switch {
		case c.Failure != nil:
			u.Failures++
		case c.Error != nil:
			u.Errors++
		case c.Skipped != nil:
			u.Skipped++
		}
	}
	s.Tests += u.Tests
	s.Failures += u.Failures
	s.Errors += u.Errors
	s.Skipped += u.Skipped
	s.Suites = append(s.Suites, u)
}

// runCase passes unless the harness broke, the link was not as the Spec says (for any verdict beside it), or none of
// the work was done.
func runCase(r *model.Result) testcase {
	c := testcase{Name: "link and harness", Class: "gauntlet.run", Time: seconds(r.Wall)}
	done := printable(model.Headline(&r.Work))
	switch broke := r.Status == rule.Fail.String() && r.Reason != "" && r.Fault == nil; {
	case broke || r.Status == rule.Error.String():
		c.Error = &problem{Message: printable(r.Reason), Type: rule.Error.String(), Text: done}
	case r.Doubtful():
		c.Error = &problem{Message: printable(cmp.Or(r.Note(r.Status), r.Reason)), Type: validity.Invalid, Text: done}
	case r.Status == rule.Invalid.String():
		c.Error = &problem{Message: printable(r.Reason), Type: r.Status, Text: done}
	case r.Status == rule.Inconclusive.String():
		c.Failure = &problem{Message: printable(r.Reason), Type: r.Status, Text: done}
	}
	return c
}

// endsCase fails when an end stopped the run: it crashed, stalled, was not done in time or broke the contract.
func endsCase(r *model.Result) testcase {
	c := testcase{Name: "programs at both ends", Class: "gauntlet.run", Time: "0.000"}
	if f := r.Fault; f != nil {
		c.Failure = &problem{Message: printable(f.What), Type: rule.Fail.String(),
			Text: printable("to blame: " + f.Program + " at " + f.Side + "\n" + model.Headline(&r.Work))}
	}
	return c
}

// ruleCase turns a verdict into a testcase. A broken SHOULD is advice: it is reported as output and does not fail.
func ruleCase(r *model.Result, v *rule.Verdict) testcase {
	c := testcase{Name: printable(v.Rule + ": " + v.Title),
		Class: "gauntlet." + printable(family(v.Rule)), Time: "0.000"}
	status := v.Status.String()
	switch v.Status {
	case rule.Pass:
	case rule.Fail:
		text := details(r, v)
		if !v.Required {
			c.Out = &output{printable(string(v.Level) + ", not required:\n" + text)}
			break
		}
		c.Failure = &problem{Message: printable(first(v)), Type: status, Text: printable(text)}
	case rule.XPass:
		c.Failure = &problem{Message: printable(v.Reason), Type: status}
	case rule.Inconclusive, rule.NotApplicable, rule.XFail, rule.Invalid: // the link has a separate testcase
		c.Skipped = &problem{Message: printable(status + ": " + v.Reason)}
	default:
		c.Error = &problem{Message: printable(v.Reason), Type: status, Text: printable(details(r, v))}
	}
	return c
}

// first is the finding that names the failure.
func first(v *rule.Verdict) string {
	if len(v.Findings) == 0 {
		return v.Reason
	}
	return fmt.Sprintf("%s: %s", v.Findings[0].Blame, v.Findings[0].Line())
}

// details lists the findings with their ladders and where the rule comes from.
func details(r *model.Result, v *rule.Verdict) string {
	var b strings.Builder
	for i, f := range v.Findings {
		fmt.Fprintf(&b, "%s, connection %d, %s us: %s\n", f.Blame, f.Conn, f.At.Micros(), f.Line())
		for _, l := range r.Ladders {
			if l.Rule == v.Rule && l.Finding == i {
				b.WriteString(l.Text)
			}
		}
	}
	if n := v.More(); n > 0 {
		fmt.Fprintf(&b, "… and %d more\n", n)
	}
	if v.Source.Ref != "" {
		fmt.Fprintf(&b, "%s: %s\n", v.Source.Ref, v.Source.Requirement)
	}
	if v.Explain != "" {
		b.WriteString(v.Explain + "\n")
	}
	b.WriteString(model.Headline(&r.Work) + "\n")
	return b.String()
}

// family is the first part of a rule's ID.
func family(id string) string {
	name, _, _ := strings.Cut(id, "-")
	return name
}

// families lists them in the order of their first rules.
func families(verdicts []rule.Verdict) []string {
	var out []string
	seen := map[string]bool{}
	for _, v := range verdicts {
		if f := family(v.Rule); !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	return out
}

// printable escapes characters that XML 1.0 cannot hold, which readers of JUnit files refuse, and characters that do
// not print: many CI systems show the text as it is.
func printable(s string) string { return quote.Text(s) }

func seconds(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }
