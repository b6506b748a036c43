package run

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// idle changes the status of a run that did none of its work: no rule was broken, and nothing was shown either. A
// request that failed came to an end, so a link that swallows everything still shows that its requester gives up.
func idle(r *model.Result, status rule.Status, reason string) (rule.Status, string) {
	t := &r.Work.Tally
	if status != rule.Pass || !t.Idle() {
		return status, reason
	}
	switch n := max(t.Ordered, t.Posted); {
	case t.Endless:
		return rule.Inconclusive, "none of its requests was done"
	default:
		return rule.Inconclusive, fmt.Sprintf("none of its %s was done", quantity.Plural(n, "request", "requests"))
	}
}
