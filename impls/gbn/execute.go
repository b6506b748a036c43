package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// accept executes the packet with the expected PSN. The checks run in the order of soft-RoCE: opcode sequence,
// operation allowed, resources, length, key and bounds. The order decides which error is reported for a packet with
// several, and lets a packet that lacks a receive be checked again from the start when it is retransmitted.
func (r *Responder) accept(now vtime.Time, p *roce.Packet, s *rc.Shape) {
	v := r.inbox.CheckSequence(s)
	if v == rc.Fine {
		v = rc.CheckEnabled(s, r.access)
	}
	if v == rc.Fine && r.inbox.LacksReceive(s) {
		r.notReady(now)
		return
	}
	if v == rc.Fine {
		v = r.execute(now, p, s)
	}
	if v != rc.Fine {
		r.refuse(v)
	}
}

// notReady answers the expected packet with an RNR NAK because no receive is posted. The packet is not executed and
// epsn stays. Later packets are dropped without a NAK, since the requester retransmits them after the wait (IBTA
// 9.7.5.2.8).
func (r *Responder) notReady(now vtime.Time) {
	r.gap = gap{answered: true, at: now}
	r.queueNAK(roce.SyndromeRNR | roce.Syndrome(r.qp.MinRNRTimer))
}

// refuse queues a NAK of a request that must not be executed and moves the QP to the error state. The NAK is still
// sent, after the responses to earlier requests.
func (r *Responder) refuse(v rc.Verdict) {
	r.state = rc.Rejected
	r.queueNAK(v.Syndrome)
	r.inbox.EndMessage(v.Status, r.epsn, &r.events)
	r.events.Push(engine.Event{Kind: engine.Fatal, Status: v.Status, PSN: r.epsn})
	r.inbox.Flush(r.epsn, &r.events)
}

// execute executes the packet and, if all checks pass, moves epsn past it.
func (r *Responder) execute(now vtime.Time, p *roce.Packet, s *rc.Shape) rc.Verdict {
	switch s.Kind {
	case rc.Read:
		return r.executeRead(p, s)
	case rc.Atomic:
		return r.executeAtomic(p, s)
	}
	if s.First {
		r.inbox.Open(p, s)
	}
	if v := r.inbox.CheckLength(p, s, r.qp.MTU); v != rc.Fine {
		return v
	}
	if v := r.inbox.Place(p, s, &r.qp, r.mem); v != rc.Fine {
		return v
	}
	if s.Last {
		if s.Op == engine.OpSendInv && !r.mem.Invalidate(p.InvKey) {
			return rc.Forbidden
		}
		r.msn = r.msn.Next() // the message counts with its last packet (C9-148)
		r.inbox.Finish(p, s, &r.events)
	}
	r.consume(1)
	if p.AckReq {
		r.ack.request(now, r.epsn.Prev(), r.msn, r.coalesce)
	}
	return rc.Fine
}

// consume advances epsn by psns. It closes the gap, so that the next gap draws a NAK again (GBN-NAK-003). It cancels a
// NAK that still waits for the link, which would make the requester retransmit packets that have arrived.
func (r *Responder) consume(psns int) {
	r.epsn = r.epsn.Add(psns)
	r.accepted += uint64(psns)
	r.gap = gap{}
	r.nak.queued = false
}

// checkFetch checks a READ or an atomic, and that the replay ring has room for it.
func (r *Responder) checkFetch(p *roce.Packet, s *rc.Shape) rc.Verdict {
	if !r.replay.hasRoom(r.qp.MaxDestRd) {
		return rc.Invalid
	}
	return rc.CheckFetch(p, s, &r.qp, r.mem)
}

// executeRead accepts a READ. The MSN counts the READ now (C9-148); its responses are built one by one as the link
// becomes free.
func (r *Responder) executeRead(p *roce.Packet, s *rc.Shape) rc.Verdict {
	if v := r.checkFetch(p, s); v != rc.Fine {
		return v
	}
	// The READ consumes the PSNs of all its responses now; the next request has the PSN after them (IBTA 9.7.1).
	r.msn = r.msn.Next()
	n := r.qp.Packets(p.RETH.DMALen)
	r.replay.remember(resource{
		kind: rc.Read, start: r.accepted, psns: n, reth: p.RETH,
		stream: stream{active: true, first: p.PSN, packets: n, va: p.RETH.VA, length: p.RETH.DMALen, msn: r.msn},
	}, r.qp.MaxDestRd)
	r.consume(n)
	return rc.Fine
}

// executeAtomic executes an atomic on eight bytes and saves their original value for the response.
func (r *Responder) executeAtomic(p *roce.Packet, s *rc.Shape) rc.Verdict {
	if v := r.checkFetch(p, s); v != rc.Fine {
		return v
	}
	old, ok := rc.ExecuteAtomic(p, s, r.mem, &r.word)
	if !ok {
		return rc.LocalFault
	}
	r.msn = r.msn.Next()
	r.replay.remember(resource{
		kind: rc.Atomic, op: p.Opcode, start: r.accepted, psns: 1, reth: p.RETH, result: old,
		stream: stream{active: true, first: p.PSN, packets: 1, msn: r.msn},
	}, r.qp.MaxDestRd)
	r.consume(1)
	return rc.Fine
}
