package rule

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// Earned is what the requests that have arrived entitle a responder to say, and what it has acknowledged. Who judges
// what a bad packet draws goes on from here.
type Earned struct {
	Acked   psn.PSN // newest PSN acknowledged
	Heard   bool    // there is one
	NAKs    int     // requests to send again
	Repeats int     // repeated acknowledgements, which duplicates have earned
	Loads   int     // placements, beside those that have been reported
}

// Request takes a request that arrives d PSNs from the expected one, at a responder that keeps what comes early or does
// not.
func (e *Earned) Request(d int, keeps bool) {
	switch {
	case d < 0:
		e.Repeats++
	// a packet before it may turn out to be refused, and then this one draws a selective acknowledgement
	case d > 0, keeps:
		e.NAKs++
	default:
		e.NAKs = min(e.NAKs, 1)
	}
}

// Acknowledge takes a response that acknowledges last. What a NAK acknowledges may have an ACK of its own that waits
// for others.
func (e *Earned) Acknowledge(p *roce.Packet, last psn.PSN) {
	if Selective(p) || e.Heard && !e.Acked.Less(last) {
		return
	}
	e.Acked, e.Heard = last, true
	if p.Opcode == roce.Acknowledge && !p.AETH.Syndrome.IsACK() {
		e.Repeats++
	}
}

// AsksAgain reports a response that makes a requester send again: a sequence NAK or a selective acknowledgement.
func AsksAgain(p *roce.Packet) bool {
	return Selective(p) || IsNAK(p)
}

// Refusable reports whether the request with PSN p may be refused for want of a receive.
func Refusable(c *Conversation, p psn.PSN) bool {
	t := c.Sent(p)
	return t != nil && TakesReceive(t.Opcode)
}

// follow takes a sight of the responder.
func (e *Earned) follow(c *Conversation, s *Sight) {
	if c.Fatal || c.Index < 0 {
		return
	}
	if s.Point == trace.ResponderIn && s.Relation != Unrelated {
		e.Request(s.Pkt.PSN.Sub(c.EPSN), c.Keeps())
		if s.Pkt.Len > 0 && c.Memory.Takes(s.Pkt.Opcode) {
			e.Loads++
		}
	}
	if s.Point != trace.ResponderOut {
		return
	}
	p := s.Pkt
	last, ok := Acknowledged(p)
	plain := p.Opcode == roce.Acknowledge
	switch a := p.AETH.Syndrome; {
	case !ok:
		return
	case plain && (IsFatal(a) || a.IsRNR()):
	case AsksAgain(p):
		if !c.Keeps() || !Refusable(c, p.PSN) {
			e.NAKs = max(0, e.NAKs-1)
		}
	case plain && e.Heard && last == e.Acked:
		e.Repeats = max(0, e.Repeats-1)
	}
	e.Acknowledge(p, last)
}
