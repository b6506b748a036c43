package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
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

// checkSequence wants MIDDLE and LAST to continue a message of their kind, and everything else to stand between messages.
func (r *Responder) checkSequence(s shape) verdict {
	if s.first == (r.msg.kind == kindNone) && (s.first || s.kind == r.msg.kind) {
		return fine
	}
	return invalid
}

// checkEnabled wants the operation to be among those that the QP allows.
func (r *Responder) checkEnabled(s shape) verdict {
	var right engine.Access
	switch s.kind {
	case kindWrite:
		right = engine.RemoteWrite
	case kindRead:
		right = engine.RemoteRead
	}
	if r.qp.Access&right != right {
		return invalid
	}
	return fine
}

// lacksReceive reports that a packet needs a receive and none is posted: the first packet of a SEND, which is placed
// into it, and the last of a WRITE with immediate, which is reported by it (IBTA 9.7.5.2.8).
func (r *Responder) lacksReceive(s shape) bool {
	needs := s.kind == kindSend && s.first || s.kind == kindWrite && s.imm
	return needs && r.receives.Len() == 0
}

// checkPlace holds what the packet says of its own place against the place that follows from its message. They agree
// unless the peer is wrong, because packets are executed in order here; a NIC that places them as they come relies on it.
func (r *Responder) checkPlace(p *roce.Packet) verdict {
	l := p.Opcode.Layout()
	switch {
	case l&roce.LayoutVAETH != 0 && p.RETH.VA != r.msg.va,
		l&roce.LayoutSOETH != 0 && (p.SO.SN != r.seq || p.SO.Offset != r.msg.got):
		return invalid
	}
	return fine
}

// checkLength judges the payload against its position in the message, the MTU, and the length that the message may
// still have. FIRST and MIDDLE are full, LAST has a byte at least, and a WRITE adds up to its DMALen exactly. A Pad of
// zero leaves the padding to the encoder.
func (r *Responder) checkLength(p *roce.Packet, s shape) verdict {
	n := p.Len
	switch {
	case n < 0 || n > r.qp.MTU || p.Pad != 0 && p.Pad != pad(n) || p.Payload != nil && len(p.Payload) != n:
		return invalid
	case !s.last && n != r.qp.MTU || s.last && !s.first && n == 0:
		return invalid
	case s.kind == kindSend && uint32(n) > r.msg.left:
		return tooLong
	case s.kind == kindWrite && (uint32(n) > r.msg.left || s.last && uint32(n) != r.msg.left):
		return invalid
	case s.kind == kindWrite && s.first && p.RETH.DMALen > maxMessage:
		return invalid
	}
	return fine
}

// checkRead judges a READ request: nothing but headers, the number after that of the last READ, a length that a message
// may have, the right to read there, and not more of them than were agreed.
func (r *Responder) checkRead(p *roce.Packet) verdict {
	full := r.reads.Len() == r.qp.MaxDestRd
	switch {
	case p.Len != 0 || p.Pad != 0 || p.RETH.DMALen > maxMessage || p.SO.SN != r.reads.seq || p.SO.Offset != 0,
		full && (r.reads.Len() == 0 || !r.reads.At(0).sent(r.out.next)):
		return invalid
	case !r.permits(p, engine.RemoteRead):
		return forbidden
	}
	return fine
}

// checkForeign refuses a READ of RC, whose responses would have the PSNs of requests, and an atomic, for which FaSR has no
// packets: as a bad key when it has one, else as an operation that is not supported.
func (r *Responder) checkForeign(p *roce.Packet) verdict {
	n, right := p.RETH.DMALen, engine.RemoteRead
	if p.Opcode != roce.ReadRequest {
		n, right = 8, engine.RemoteAtomic
	}
	if n != 0 && n <= maxMessage && !r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, n, right) {
		return forbidden
	}
	return invalid
}

// permits asks for the whole range of the operation, so that a bad one changes no byte at all. Zero bytes are permitted
// with any key (IBTA 10.6.3.1).
func (r *Responder) permits(p *roce.Packet, right engine.Access) bool {
	n := p.RETH.DMALen
	return n == 0 || r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, n, right)
}
