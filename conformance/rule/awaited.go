package rule

import "github.com/rdma-gauntlet/gauntlet/harness/vtime"

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
