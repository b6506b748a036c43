package rule

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

const (
	// Patience is how long an endpoint, or a box, may take to answer before silence is a violation. IBTA gives no bound;
	// 10 ms is far above the processing time of an RNIC or a host stack, and below the transport timers in use over a WAN.
	Patience = 10 * vtime.Millisecond

	// Drain is how long packets that an endpoint had already handed to its port may still leave it, and thus how long it
	// may go on as if it had not heard of what its tap has seen arrive. A NIC takes microseconds; a software endpoint may
	// just have lost its processor for a scheduling slot. A run in which the host let an endpoint wait for longer than
	// this is INVALID, so that no family needs to allow for more, and none may allow for less. Over the host's TCP, where only
	// that family's rules apply and its own allowance is wider, an endpoint may wait for twice as long.
	Drain = 5 * vtime.Millisecond
)
