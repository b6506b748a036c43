// Package wrk holds the rules of ordered work: what the Spec orders, what the endpoint says that it posted, what the
// wire carries, what completes and what is in memory at the end are one and the same.
//
// A rule finds a fault only where every account that is consistent with the trace has it. A run that is stopped by the
// clock owes no work, and neither does a queue pair that failed for a cause that can be seen; what is undone when an
// endpoint has not said that it is idle is undone because the run was cut. Then the rules are INCONCLUSIVE.
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
	// needs an endpoint that tells what it posts and what completes: engines, and programs that keep the contract
	telling = "ENG"
	ours    = "OC" // our choice: no standard speaks of orders
)

// queueLimit bounds the work requests remembered; posts beyond it are not followed.
const queueLimit = 1 << 18
