// Package wrk holds the rules of ordered work: the work that the Spec orders, the posts that the endpoint reports, the
// packets, the completions and the memory at the end must agree.
//
// A rule fails only where every reading of the trace breaks it. A run that the clock stops owes no work, and neither
// does a queue pair that failed for a visible cause. Work left undone by an endpoint that did not report idle was cut
// off by the end of the run. Then the rules are INCONCLUSIVE.
package wrk

import (
	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
)

// Rules returns the family in the order of IDs.
func Rules() []rule.Rule {
	return []rule.Rule{
		countsAgree,
		completesOnce, errorHasCause, flushHasCause,
		idleIsDone,
		memoryAsOrdered,
		nakHasCause,
		everythingPosted, postedAsOrdered,
		makesProgress,
		keepsRate,
		receivesMatch,
		sentAsPosted, sentInOrder,
	}
}

const (
	hardware = "HW,RXE" // can be judged on an RNIC and on soft-RoCE
	// needs an endpoint that reports its posts and completions: engines, and programs that keep the contract
	telling = "ENG"
	ours    = "OC" // our choice: no standard defines orders
)

// queueLimit bounds the work requests remembered; later posts are not tracked.
const queueLimit = 1 << 18
