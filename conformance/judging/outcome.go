package judging

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// Outcome is a run that has been judged.
type Outcome struct {
	Verdicts []rule.Verdict // one for each rule, in the order of the rules
	Features []string       // what both implementations declare, with those that the parameters of the run add
	Evidence bench.Evidence // what the bench knows of the run: the certificates of its link, notes, counters
}

// ByRule returns the verdicts by the IDs of their rules.
func (o *Outcome) ByRule() map[string]rule.Verdict {
	m := make(map[string]rule.Verdict, len(o.Verdicts))
	for _, v := range o.Verdicts {
		m[v.Rule] = v
	}
	return m
}

// Failed returns the verdicts that fail the run, in the order of the rules: of required rules that were broken, and of
// checks that broke. A SHOULD that was not followed is advice.
func (o *Outcome) Failed() (failed []rule.Verdict) {
	for _, v := range o.Verdicts {
		if fails(&v) {
			failed = append(failed, v)
		}
	}
	return failed
}

// fails reports whether a verdict counts against its run.
func fails(v *rule.Verdict) bool {
	return v.Status == rule.XPass || v.Status == rule.Error || v.Status == rule.Fail && v.Required
}

// Invalidate makes INVALID what does not stand: verdicts whose evidence rests on a property that failed; and, when the
// bench broke with err, all but those of frames that speak for themselves, because nobody knows what else it did. The
// fault of an end takes nothing away: the trace is good as far as it goes.
func Invalidate(verdicts []rule.Verdict, certificates []certify.Certificate, err error) {
	rule.Invalidate(verdicts, func(rests validity.Property) string {
		why := certify.Against(certificates, rests)
		if why == "" && err != nil && bench.FaultOf(err) == nil && rests.Fails(broken) {
			return "the run broke: " + line(err)
		}
		return why
	})
}

// broken is what cannot be relied on when a bench broke.
const broken = validity.Everything &^ validity.Frames

// Settle returns the status of a run and, unless it passed or failed, the reason: FAIL when the verdict of a required
// rule stands that fails it, whatever else went wrong; ERROR when the run broke with err; INVALID when link, capture or
// host were not what the Spec says; FAIL when err is the fault of an end; INCONCLUSIVE when there are verdicts of which
// none decides anything; else the worst verdict that counts. It is a function apart from Outcome because waivers may
// have changed the verdicts meanwhile. What was wrong with the link beside a verdict is in certify.State.
func Settle(verdicts []rule.Verdict, certificates []certify.Certificate,
	err error) (status rule.Status, reason string) {
	for i := range verdicts {
		if v := &verdicts[i]; fails(v) {
			status = max(status, v.Status)
		}
	}
	if state := certify.State(certificates); state.Doubtful() && status < rule.Invalid {
		status, reason = rule.Invalid, "link certificate "+state.Doubt
	}
	switch {
	case err == nil && status == rule.Pass && len(verdicts) > 0 && !slices.ContainsFunc(verdicts, decided):
		return rule.Inconclusive, "no rule was decided"
	case err == nil:
		return status, reason
	case bench.FaultOf(err) == nil:
		return max(status, rule.Error), line(err)
	case status < rule.Invalid:
		status = rule.Fail
	case reason != "":
		return status, reason + "; " + line(err)
	}
	return status, line(err)
}

// decided reports a verdict that says something of a device.
func decided(v rule.Verdict) bool {
	return v.Status != rule.Inconclusive && v.Status != rule.NotApplicable
}

// line is an error in one line, joined ones set apart.
func line(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
