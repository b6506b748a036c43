package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// READ responses have their own PSN space (rPSN), and a sender with BDP-FC, recovery and a timer like that of requests.
// The responder is the source of the data and must therefore learn which responses were lost (IRN 5.2).

// executeFetch accepts a READ, whose responses get the next rPSNs, or executes an atomic and keeps its result until the
// requester has acknowledged it. READs and atomics execute in the order of read_WQE_SN (IRN 5.3), which is their PSN
// order.
func (r *Responder) executeFetch(p *roce.Packet, s *rc.Shape) rc.Verdict {
	if v := r.checkFetch(p, s); v != rc.Fine {
		return v
	}
	if r.fetches.Len() == r.qp.MaxDestRd {
		r.out.ack(r.out.missing(r.fetches.At(0).End())) // the requester has the data; only its READ_(N)ACKs are lost
		r.fetches.Forget(r.out.una)
	}
	x := rc.Fetch{Kind: s.Kind, Packets: r.responses(p, s), VA: p.RETH.VA, Length: p.RETH.DMALen, MSN: r.msn.Next()}
	if s.Kind == rc.Atomic {
		var ok bool
		if x.Result, ok = rc.ExecuteAtomic(p, s, r.mem, &r.word); !ok {
			return rc.LocalFault
		}
	}
	r.fetches.Add(x)
	return rc.Fine
}

// responses returns the number of responses to a READ or an atomic.
func (r *Responder) responses(p *roce.Packet, s *rc.Shape) int {
	if s.Kind == rc.Atomic {
		return 1
	}
	return r.qp.Packets(p.RETH.DMALen)
}

// transmitRead fills p with the next READ response: a retransmission, or else a new response.
func (r *Responder) transmitRead(now vtime.Time, p *roce.Packet) bool {
	if r.out.doRetransmit {
		at := r.out.retransmit()
		r.buildResponse(p, r.fetches.Owner(at), at)
		if at == r.out.una {
			r.out.rto.restart(now)
		}
	} else if x := r.fetches.Next(r.out.next); x != nil && r.out.room() {
		r.buildResponse(p, x, r.out.sent())
	} else {
		return false
	}
	r.out.rto.start(now)
	return true
}

// buildResponse fills p with the response that has rPSN at: the opcode follows from the position, the number is that of
// the READ, and the data is the current content of memory.
func (r *Responder) buildResponse(p *roce.Packet, x *rc.Fetch, at psn.PSN) {
	i := at.Sub(x.Data)
	*p = roce.Packet{
		BTH:  roce.BTH{AckReq: true, PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: at},
		AETH: roce.AETH{Syndrome: roce.SyndromeACK, MSN: x.MSN},
		SO:   roce.SOETH{SN: x.SN},
	}
	if x.Kind == rc.Atomic {
		p.Opcode, p.Result = r.wire.of(roce.AtomicAck), x.Result
		return
	}
	off := i * r.qp.MTU
	p.Opcode = r.wire.of(rc.ReadOpcode(i == 0, i == x.Packets-1))
	p.SO.Offset = uint32(off)
	rc.LoadPayload(p, r.mem, x.VA+uint64(off), int(x.Length)-off, r.qp.MTU)
	p.Pad = rc.Pad(p.Len)
}

// handleReadAck processes a READ_(N)ACK: its PSN is the rPSN that the requester expects, and with a NACK syndrome its
// SACK is the rPSN of an out-of-order response that arrived.
func (r *Responder) handleReadAck(now vtime.Time, p *roce.Packet) {
	var news bool
	switch s := p.AETH.Syndrome; {
	case s.IsACK() && p.PSN.Prev().In(r.out.una, r.out.next):
		news = r.out.ack(p.PSN)
	case s == roce.SyndromePSNSeqErr && r.out.holds(p.SACK.PSN) && p.PSN.LessEq(p.SACK.PSN):
		news = r.out.nack(p.PSN, p.SACK.PSN)
	default:
		r.ignored++
	}
	if !news {
		return
	}
	r.left = r.qp.RetryCount
	r.fetches.Forget(r.out.una)
	if r.out.busy() {
		r.out.rto.restart(now)
	} else {
		r.out.rto.stop()
	}
}

// handleTimeout retransmits the oldest unacknowledged READ response: IRN's responder has its own timer (IRN 5.2). When
// its retries are spent the responder stops retransmitting until the requester repeats the READ request (revive).
func (r *Responder) handleTimeout() {
	if r.left == 0 || !r.out.busy() {
		return
	}
	r.left--
	r.timeouts++ // no Timeout event: those report the requester's timer
	r.out.timeout()
}

// revive is called for a duplicate READ request, by which the requester asks for missing data. It reloads the retries,
// and retransmits from the oldest unacknowledged response if the timer is off.
func (r *Responder) revive() {
	if r.out.busy() && !r.out.rto.running {
		r.out.timeout()
	}
	r.left = r.qp.RetryCount
}
