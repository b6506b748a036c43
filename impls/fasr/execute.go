package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// accept executes the packet with the lowest PSN not executed, and reports whether it did. The checks run in the order
// of soft-RoCE: opcode sequence, operation allowed, resources, length, key and bounds.
func (r *Responder) accept(p *roce.Packet, s *rc.Shape) bool {
	v := r.inbox.CheckSequence(s)
	if v == rc.Fine {
		v = rc.CheckEnabled(s, r.qp.Access)
	}
	if v == rc.Fine && r.inbox.LacksReceive(s) {
		r.rnr(p.PSN)
		return false
	}
	if v == rc.Fine {
		v = r.execute(p, s)
	}
	if v != rc.Fine {
		r.reject(v, p.PSN)
	}
	return v == rc.Fine
}

// rnr answers packet p with an RNR NAK because no receive is posted. The NAK acknowledges all earlier packets; p is
// checked again when it is retransmitted (IBTA 9.7.5.2.8).
func (r *Responder) rnr(p psn.PSN) {
	r.notReady, r.waits = true, p
	r.say.asked = 0
	r.say.timer.Stop()
	r.answerNAK(roce.SyndromeRNR|roce.Syndrome(r.qp.MinRNRTimer), p)
}

func (r *Responder) answerNAK(s roce.Syndrome, p psn.PSN) {
	r.say.push(answer{op: roce.Acknowledge, syndrome: s, psn: p, msn: r.msn})
}

// reject queues a NAK of a request that must not be executed and moves the QP to the error state, in which queued
// answers are still sent.
func (r *Responder) reject(v rc.Verdict, p psn.PSN) {
	r.state = rc.Rejected
	r.say.timer.Stop()
	r.answerNAK(v.Syndrome, p)
	r.inbox.EndMessage(v.Status, r.in.next, &r.events)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: v.Status, PSN: p})
	r.inbox.Flush(r.in.next, &r.events)
}

// execute executes the packet, without moving RCV-NXT.
func (r *Responder) execute(p *roce.Packet, s *rc.Shape) rc.Verdict {
	switch {
	case p.Opcode == roce.ReadRequest || s.Kind == rc.Atomic: // for an atomic FaSR has no packets
		return rc.CheckForeign(p, s, &r.qp, r.mem)
	case s.Kind == rc.Read:
		return r.executeRead(p, s)
	case s.First:
		r.inbox.Open(p, s)
	}
	if v := r.checkPlace(p); v != rc.Fine {
		return v
	}
	if v := r.inbox.CheckLength(p, s, r.qp.MTU); v != rc.Fine {
		return v
	}
	if v := r.inbox.Place(p, s, &r.qp, r.mem); v != rc.Fine {
		return v
	}
	if s.Last {
		r.msn = r.msn.Next()
		if s.Completes() {
			r.seq = (r.seq + 1) & psn.Mask
		}
		r.inbox.Finish(p, s, &r.events)
	}
	return rc.Fine
}

// checkPlace requires that the address, or number and offset, in the packet's own headers equal those that follow from
// its message. A NIC that places packets on arrival relies on these headers.
func (r *Responder) checkPlace(p *roce.Packet) rc.Verdict {
	l := p.Opcode.Layout()
	switch {
	case l&roce.LayoutVAETH != 0 && p.RETH.VA != r.inbox.VA,
		l&roce.LayoutSOETH != 0 && (p.SO.SN != r.seq || p.SO.Offset != r.inbox.Got):
		return rc.Invalid
	}
	return rc.Fine
}

// executeRead accepts a READ, which must carry the next number in sequence and not exceed the agreed number of
// outstanding READs. The MSN counts the READ now, and its responses get the next PSNs of their space.
func (r *Responder) executeRead(p *roce.Packet, s *rc.Shape) rc.Verdict {
	packets := r.qp.Packets(p.RETH.DMALen)
	if p.SO.SN != r.reads.SN || p.SO.Offset != 0 || !r.reads.Room(r.qp.MaxDestRd, packets, r.out.unack, r.out.next) {
		return rc.Invalid
	}
	if v := rc.CheckFetch(p, s, &r.qp, r.mem); v != rc.Fine {
		return v
	}
	if r.reads.Len() == r.qp.MaxDestRd {
		// The requester sends one READ more than it may have outstanding, so the oldest is not outstanding: its data
		// has arrived, and only the answers to its responses are lost.
		r.out.ack(r.reads.At(0).End())
		r.reads.Forget(r.out.unack)
	}
	r.msn = r.msn.Next()
	r.reads.Add(rc.Fetch{Kind: rc.Read, Packets: packets, VA: p.RETH.VA, Length: p.RETH.DMALen})
	return rc.Fine
}
