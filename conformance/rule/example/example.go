// Package example reads a fixture together with what it says beyond its trace, and lets a rule judge it: for the tests
// of rules, and for whoever explains one.
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
	Options rule.Options // that the rule judges it with: features declared, and what was ordered
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

// Start returns the PSN at which a fixture has to start, and whether there is one: most make sense at any start.
func Start(text []byte) (start psn.PSN, only bool, err error) {
	m := atStart.FindSubmatch(text)
	if m == nil {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(string(m[1]), 10, 24)
	return psn.New(uint32(n)), true, err
}

// atStart is the line of a fixture that makes sense at one start only, because it speaks of the wrap itself.
var atStart = regexp.MustCompile(`(?m)^# at-start (\d+)$`)

// allFindings is as many as no fixture has.
const allFindings = 1000

// declares is the line of a fixture that names features of the endpoints.
var declares = regexp.MustCompile(`(?m)^# features (.+)$`)

// featuresOf returns the features that a fixture is judged with: those that the rule needs, which for a rule that names
// none is a reliable connection, and those that the fixture names.
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

// Judge lets the rule judge the fixture as if it happened later by shift.
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

// shifter delays a whole trace.
type shifter struct{ trace.Delayed }

// End is a little later than the last entry, so that a finding at the end is told from one at that entry.
func (s *shifter) End(at vtime.Time) { s.Delayed.End(at + 1) }

// Prose returns the comment with which a fixture begins: what happens in it, in a sentence or two. "" when it has none.
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

// Directive reports a comment that is meant for a program.
func Directive(comment string) bool { return directive.MatchString(comment) }

var directive = regexp.MustCompile(`^(features|want-end|at-start|order [AB]|region [AB]|rate [AB]|until \d)`)
