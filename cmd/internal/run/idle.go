package run

import (
	"fmt"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/quantity"
	"github.com/rdma-gauntlet/gauntlet/reports/model"
)

// idle makes a run that passed and completed none of its requests INCONCLUSIVE: it broke no rule, and it showed
// nothing. A request that failed counts as ended: on a link that drops everything it shows that the requester gives up.
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
