package judging

import (
	"cmp"
	"strings"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/bench"
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

// Failed returns the verdicts that fail the run, in the order of the rules: of required rules that were broken, and of checks
// that broke. A SHOULD that was not followed is advice.
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
	return v.Status >= rule.XPass || v.Status == rule.Fail && v.Required
}

// Settle returns the status of a run and, unless it passed or failed, the reason: the worst verdict of a required rule;
// INVALID when the link or the capture was not what the Spec says; FAIL when err is the fault of an end, see bench.Fault; ERROR when
// the run broke with any other err. It is a function apart from Outcome because waivers may have changed the verdicts meanwhile.
func Settle(verdicts []rule.Verdict, certificates []certify.Certificate, err error) (status rule.Status, reason string) {
	for i := range verdicts {
		if v := &verdicts[i]; fails(v) {
			status = max(status, v.Status)
		}
	}
	for _, c := range certificates {
		if !c.Valid {
			status = max(status, rule.Invalid)
			reason = cmp.Or(reason, "link certificate "+c.When+" the run: "+c.Reason)
		}
	}
	if err == nil {
		return status, reason
	}
	text := strings.ReplaceAll(err.Error(), "\n", "; ") // joined errors, in a line
	if bench.FaultOf(err) == nil {
		return rule.Error, text
	}
	if reason != "" {
		text = reason + "; " + text
	}
	return max(status, rule.Fail), text
}
