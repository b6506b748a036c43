// Package example reads a fixture of a rule, with the directives in its comments, and judges it by the rule. The tests
// of rules and gauntlet explain use it.
package example

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/trace/fixture"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// Example is a fixture of one rule.
type Example struct {
	*fixture.Trace
	Options rule.Options // options of the Judge: features and orders of the fixture
	rule    *rule.Rule
}

// Parse reads a fixture of r; PSN +0 is base unless a header line moves it. Errors name the line.
func Parse(r *rule.Rule, text []byte, base psn.PSN) (*Example, error) {
	f, err := fixture.Parse(bytes.NewReader(text), base)
	if err != nil {
		return nil, err
	}
	orders, err := ordersOf(text)
	if err != nil {
		return nil, err
	}
	return &Example{f, rule.Options{Features: featuresOf(r, text), Orders: orders, Findings: allFindings}, r}, nil
}

// Start returns the start PSN that a fixture requires; only is false for a fixture that may start at any PSN.
func Start(text []byte) (start psn.PSN, only bool, err error) {
	m := atStart.FindSubmatch(text)
	if m == nil {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(string(m[1]), 10, 24)
	return psn.New(uint32(n)), true, err
}

// atStart is the line of a fixture that may start at one PSN only, because its PSNs are at the wrap.
var atStart = regexp.MustCompile(`(?m)^# at-start (\d+)$`)

// allFindings is more findings than any fixture has.
const allFindings = 1000

// declares is the line of a fixture that names features of the endpoints.
var declares = regexp.MustCompile(`(?m)^# features (.+)$`)

// featuresOf returns the features with which a fixture is judged: those that the rule needs ("rc" for a rule that names
// none), and those that the fixture names.
func featuresOf(r *rule.Rule, text []byte) []string {
	all := slices.Clone(r.Features)
	if len(all) == 0 {
		all = []string{"rc"}
	}
	if m := declares.FindSubmatch(text); m != nil {
		all = append(all, strings.Fields(string(m[1]))...)
	}
	return all
}

// Judge judges the fixture with all times later by shift.
func (e *Example) Judge(shift vtime.Duration) rule.Verdict {
	opts := e.Options
	if o := opts.Orders; o != nil && o.Until != vtime.Never && shift > 0 {
		later := *o
		later.Until = later.Until.Add(shift)
		opts.Orders = &later
	}
	j := rule.NewJudge(e.Header, []rule.Rule{*e.rule}, opts)
	e.Play(&shifter{trace.Delayed{Next: trace.NewTimeline(&e.Header, j), By: shift}})
	return j.Verdicts()[0]
}

// shifter delays a trace, and its end by one picosecond more.
type shifter struct{ trace.Delayed }

// End is later than the last entry, so that a finding at the end can be distinguished from one at that entry.
func (s *shifter) End(at vtime.Time) { s.Delayed.End(at + 1) }

// Prose returns the comment at the beginning of a fixture, a description in a sentence or two; "" when there is none.
func Prose(text []byte) string {
	var words []string
	for line := range strings.Lines(string(text)) {
		said, comment := strings.CutPrefix(strings.TrimSpace(line), "# ")
		if !comment || Directive(said) {
			break
		}
		words = append(words, said)
	}
	return strings.Join(words, " ")
}

// Directive reports whether a comment is a directive for a program.
func Directive(comment string) bool { return directive.MatchString(comment) }

var directive = regexp.MustCompile(`^(features|want-end|at-start|order [AB]|region [AB]|rate [AB]|until \d)`)
