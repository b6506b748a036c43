package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// verdict is what a check says of a request: fine, or the NAK and the status of the local event.
type verdict struct {
	syndrome roce.Syndrome
	status   engine.Status
}

var (
	fine       = verdict{}
	invalid    = verdict{roce.SyndromeInvalidReq, engine.StatusRemoteInvalid}
	tooLong    = verdict{roce.SyndromeInvalidReq, engine.StatusLocalLength}
	forbidden  = verdict{roce.SyndromeRemoteAccess, engine.StatusRemoteAccess}
	localFault = verdict{roce.SyndromeRemoteOp, engine.StatusRemoteOp}
)

// checkSequence wants MIDDLE and LAST to continue a message, of their kind when it is known, and everything else to stand
// between messages.
func (r *Responder) checkSequence(s shape) verdict {
	inside := r.msg.packets > 0
	if s.first == inside || inside && r.msg.kind != kindNone && s.kind != r.msg.kind {
		return invalid
	}
	return fine
}

// checkEnabled wants the operation to be among those that the QP allows.
func (r *Responder) checkEnabled(s shape) verdict {
	var right engine.Access
	switch s.kind {
	case kindWrite:
		right = engine.RemoteWrite
	case kindRead:
		right = engine.RemoteRead
	case kindAtomic:
		right = engine.RemoteAtomic
	}
	if r.qp.Access&right != right {
		return invalid
	}
	return fine
}

// lacksReceive reports that a packet needs a receive and none is posted: any of a SEND, which is placed into it, and the
// last of a WRITE with immediate, which is reported by it (IBTA 9.7.5.2.8).
func (r *Responder) lacksReceive(s shape) bool {
	return (s.kind == kindSend || s.completes()) && r.receives.Len() == 0
}

// checkPacket judges a packet of a SEND or WRITE alone: the payload against its position in the message and the MTU. FIRST
// and MIDDLE are full, LAST has a byte at least. A Pad of zero leaves the padding to the encoder.
func checkPacket(qp *engine.QP, p *roce.Packet, s shape) verdict {
	n := p.Len
	switch {
	case s.kind >= kindRead:
		return fine
	case n < 0 || n > qp.MTU || p.Pad != 0 && p.Pad != pad(n) || p.Payload != nil && len(p.Payload) != n:
		return invalid
	case !s.last && n != qp.MTU || s.last && !s.first && n == 0:
		return invalid
	}
	return fine
}

// checkRest judges a WRITE packet with a RETH of its own against what it says is left of its message: a last one brings
// all of that, another one less.
func checkRest(p *roce.Packet, s shape) verdict {
	left := p.RETH.DMALen
	if left > maxMessage || s.last && uint32(p.Len) != left || !s.last && uint32(p.Len) >= left {
		return invalid
	}
	return fine
}

// checkFetch judges a READ or an atomic: nothing but headers, its number in the order of the others, a length that a
// message may have or an aligned address, the right to the memory there, and not more of them than were agreed.
func (r *Responder) checkFetch(p *roce.Packet, s shape) verdict {
	n, right := p.RETH.DMALen, engine.RemoteRead
	if s.kind == kindAtomic {
		n, right = 8, engine.RemoteAtomic
	}
	switch {
	case p.Len != 0 || p.Pad != 0 || n > maxMessage || s.kind == kindAtomic && p.RETH.VA%8 != 0:
		return invalid
	case p.SO.SN != r.readSN || p.SO.Offset != 0 || !r.fetches.room(r.qp.MaxDestRd, r.out.next):
		return invalid
	case r.fetches.next.Sub(r.out.una)+r.qp.Packets(n) >= psn.Half:
		return invalid // more rPSNs than can be told apart
	case n != 0 && !r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, n, right):
		return forbidden
	}
	return fine
}

// checkForeign refuses a READ or an atomic of RC, whose responses would have the PSNs of requests: as a bad key when it has
// one, else as an operation that is not supported.
func (r *Responder) checkForeign(p *roce.Packet, s shape) verdict {
	n, right := p.RETH.DMALen, engine.RemoteRead
	if s.kind == kindAtomic {
		n, right = 8, engine.RemoteAtomic
	}
	if n != 0 && n <= maxMessage && !r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, n, right) {
		return forbidden
	}
	return invalid
}

// permits asks for the whole rest of the operation, so that a bad one changes no byte at all. Zero bytes are permitted
// with any key (IBTA 10.6.3.1).
func (r *Responder) permits(p *roce.Packet, right engine.Access) bool {
	n := p.RETH.DMALen
	return n == 0 || r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, n, right)
}
