package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// READ responses are a stream of their own, with the same sender as requests: rPSNs, BDP-FC, holes and a timer. The
// responder is the source of the data, so it is the responder that has to learn what was lost (IRN 5.2).

// executeFetch accepts a READ, whose responses get the next rPSNs, or carries out an atomic and remembers what it found
// until the requester has it. Both happen in the order of read_WQE_SN (IRN 5.3), which is that of their PSNs.
func (r *Responder) executeFetch(p *roce.Packet, s *rc.Shape) rc.Verdict {
	if v := r.checkFetch(p, s); v != rc.Fine {
		return v
	}
	if r.fetches.Len() == r.qp.MaxDestRd {
		r.out.ack(r.out.missing(r.fetches.At(0).End())) // only the READ_(N)ACKs are lost
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

// responses returns how many packets answer a READ or an atomic.
func (r *Responder) responses(p *roce.Packet, s *rc.Shape) int {
	if s.Kind == rc.Atomic {
		return 1
	}
	return r.qp.Packets(p.RETH.DMALen)
}

// transmitRead makes the next READ response: one to be sent again before a new one.
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

// buildResponse makes a READ response: opcode by position, number and offset of the READ, data from memory as it is
// now.
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

// handleReadAck takes a READ_(N)ACK: PSN is expected, and when another one is named beside it that one arrived.
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

// handleTimeout sends the oldest READ response again, as a requester does with requests: IRN's responder has a timer of
// its own (IRN 5.2). When the retries are spent it falls silent: a requester that is alive asks again (revive), and one
// that is not, needs nothing.
func (r *Responder) handleTimeout() {
	if r.left == 0 || !r.out.busy() {
		return
	}
	r.left--
	r.timeouts++ // and no event: a Timeout event is the requester's
	r.out.timeout()
}

// revive follows a READ request that came again: the requester misses data.
func (r *Responder) revive() {
	if r.out.busy() && !r.out.rto.running {
		r.out.timeout()
	}
	r.left = r.qp.RetryCount
}
