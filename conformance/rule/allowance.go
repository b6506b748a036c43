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

// Awaited is an ACK or NAK that a responder owes, and the time for which it has waited for nothing but its sender. Responses leave
// in the order of their requests, so while it waits behind the data of READs that time does not run yet. The zero value is no answer.
type Awaited struct {
	port  *Port
	since vtime.Time
}

// Await begins to wait for an answer that the responder owes from now on.
func (c *Conversation) Await(now vtime.Time) Awaited { return Awaited{c.PeerPort, now} }

// Behind takes a response that leaves while the answer is awaited.
func (a *Awaited) Behind(s *Sight) {
	if s.Pkt.Opcode.IsReadResponse() && !a.Overdue(s.At) {
		a.since = s.At
	}
}

// Overdue reports whether the answer should have been seen by now. While the line is busy its QP sends at its turn only.
func (a *Awaited) Overdue(now vtime.Time) bool {
	waited := now.Sub(a.since)
	return a.port != nil && waited >= Patience && !(waited <= a.port.Turn && a.port.Busy(a.since, now))
}
