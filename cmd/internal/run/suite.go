package run

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/conformance/suite"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// ForSuite converts a result for the conformance suite; nil stays nil.
func ForSuite(r *model.Result) *suite.Result {
	if r == nil {
		return nil
	}
	out := &suite.Result{Reason: r.Reason, Requests: model.Headline(&r.Work), Verdicts: r.Verdicts, Seed: r.Seed,
		SpecHash: r.SpecHash, Folder: r.Folder, State: r.State}
	if r.Fault != nil {
		out.Fault = r.Fault.Side
	}
	if err := out.Status.UnmarshalText([]byte(r.Status)); err != nil {
		out.Status, out.Reason = rule.Error, err.Error()
	}
	return out
}
