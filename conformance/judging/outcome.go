package judging

import (
	"slices"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
	"github.com/rdma-gauntlet/gauntlet/harness/validity"
	"github.com/rdma-gauntlet/gauntlet/netem/certify"
)

// Outcome is the result of a judged run.
type Outcome struct {
	Verdicts []rule.Verdict // one for each rule, in the order of the rules
	Features []string       // features that both implementations declare, with those that the parameters of the run add
	Evidence bench.Evidence // evidence of the bench: the certificates of its link, notes, counters
}

// ByRule returns the verdicts by the IDs of their rules.
func (o *Outcome) ByRule() map[string]rule.Verdict {
	m := make(map[string]rule.Verdict, len(o.Verdicts))
	for _, v := range o.Verdicts {
		m[v.Rule] = v
	}
	return m
}

// Failed returns the verdicts that fail the run, in the order of the rules: FAIL of a required rule, XPASS, and ERROR
// of a check. A SHOULD that was not followed is advice.
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

// Invalidate makes INVALID the verdicts whose evidence rests on a property that failed and, when the bench failed with
// err, all except those that rest on single frames, because other effects of the failure are unknown. The fault of an
// end changes no verdict: the trace up to it is good.
func Invalidate(verdicts []rule.Verdict, certificates []certify.Certificate, err error) {
	rule.Invalidate(verdicts, func(rests validity.Property) string {
		why := certify.Against(certificates, rests)
		if why == "" && err != nil && bench.FaultOf(err) == nil && rests.Fails(broken) {
			return "the run broke: " + line(err)
		}
		return why
	})
}

// broken is the set of properties that are unknown when a bench failed.
const broken = validity.Everything &^ validity.Frames

// Settle returns the status of a run and, unless it passed or failed, the reason: FAIL when a required rule has a FAIL
// that stands, whatever else went wrong; ERROR when the run failed with err; INVALID when link, capture or host did not
// match the Spec, unless err is a fault of an end that does not rest on that; FAIL when err is the fault of an end;
// INCONCLUSIVE when there are verdicts and none is decided; else the worst verdict that counts. It is a function apart
// from Outcome because waivers may have changed the verdicts. certify.State tells what was wrong with the link.
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
	switch f := bench.FaultOf(err); {
	case err == nil && status == rule.Pass && len(verdicts) > 0 && !slices.ContainsFunc(verdicts, decided):
		return rule.Inconclusive, "no rule was decided"
	case err == nil:
		return status, reason
	case f == nil:
		return max(status, rule.Error), line(err)
	case status < rule.Invalid, status == rule.Invalid && certify.Against(certificates, f.Rests) == "":
		return rule.Fail, line(err)
	case reason != "":
		return status, reason + "; " + line(err)
	}
	return status, line(err)
}

// decided reports whether a verdict states anything about a device.
func decided(v rule.Verdict) bool {
	return v.Status != rule.Inconclusive && v.Status != rule.NotApplicable
}

// line returns an error on one line; joined errors are separated by semicolons.
func line(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }
