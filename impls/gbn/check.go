package gbn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// verdict is the result of a check: the syndrome to answer with, and the status that a receive or Fatal event reports.
type verdict struct {
	syndrome roce.Syndrome
	status   engine.Status
}

// The verdicts of the checks, after IBTA 9.7.5.2.
var (
	fine       = verdict{roce.SyndromeACK, engine.StatusSuccess}
	invalid    = verdict{roce.SyndromeInvalidReq, engine.StatusRemoteInvalid}
	tooLong    = verdict{roce.SyndromeInvalidReq, engine.StatusLocalLength}
	forbidden  = verdict{roce.SyndromeRemoteAccess, engine.StatusRemoteAccess}
	localFault = verdict{roce.SyndromeRemoteOp, engine.StatusRemoteOp}
)

// checkSequence wants FIRST or ONLY outside a message, and MIDDLE or LAST of the same operation inside one (IBTA 9.4).
func (r *Responder) checkSequence(s *shape) verdict {
	inside := r.msg.kind != kindNone
	if s.first == inside || inside && s.kind != r.msg.kind {
		return invalid
	}
	return fine
}

// checkEnabled wants the operation to be among those that the QP allows.
func (r *Responder) checkEnabled(s *shape) verdict {
	var right engine.Access
	switch s.kind {
	case kindWrite:
		right = engine.RemoteWrite
	case kindRead:
		right = engine.RemoteRead
	case kindAtomic:
		right = engine.RemoteAtomic
	}
	if r.access&right != right {
		return invalid
	}
	return fine
}

// lacksReceive reports that a packet needs a receive and none is posted: the first packet of a SEND, which is placed
// into it, and the last of a WRITE with immediate, which is reported by it (IBTA 9.7.5.2.8).
func (r *Responder) lacksReceive(s *shape) bool {
	needs := s.kind == kindSend && s.first || s.kind == kindWrite && s.imm
	return needs && r.receives.Len() == 0
}

// checkLength judges the payload against its position in the message, the MTU, and the length that the message may
// still have. FIRST and MIDDLE are full, LAST has a byte at least, and a WRITE adds up to its DMALen exactly. A Pad of
// zero leaves the padding to the encoder.
func (r *Responder) checkLength(p *roce.Packet, s *shape) verdict {
	n := p.Len
	switch {
	// A packet of its own accord: no more than the MTU, padded to whole words, bytes and length in agreement.
	case n < 0 || n > r.qp.MTU || p.Pad != 0 && p.Pad != pad(n) || p.Payload != nil && len(p.Payload) != n:
		return invalid
	// Against its position in the message (NEG-LEN-003, NEG-LEN-004).
	case !s.last && n != r.qp.MTU || s.last && !s.first && n == 0:
		return invalid
	// Against what may still come: the receive buffer of a SEND (NEG-LEN-006), the DMALen of a WRITE (NEG-LEN-005).
	case s.kind == kindSend && uint32(n) > r.msg.left:
		return tooLong
	case s.kind == kindWrite && (uint32(n) > r.msg.left || s.last && uint32(n) != r.msg.left):
		return invalid
	case s.kind == kindWrite && s.first && p.RETH.DMALen > maxMessage:
		return invalid
	}
	return fine
}

// checkRead judges a READ request: nothing but headers, a length that a message may have, and the right to read there.
func (r *Responder) checkRead(p *roce.Packet) verdict {
	switch {
	case p.Len != 0 || p.Pad != 0 || p.RETH.DMALen > maxMessage || !r.replay.hasRoom(r.qp.MaxDestRd):
		return invalid
	case !r.permits(p, p.RETH.DMALen, engine.RemoteRead):
		return forbidden
	}
	return fine
}

// checkAtomic judges an atomic: nothing but headers, an aligned address, and the right to change the eight bytes there.
func (r *Responder) checkAtomic(p *roce.Packet) verdict {
	switch {
	case p.Len != 0 || p.Pad != 0 || p.RETH.VA%8 != 0 || !r.replay.hasRoom(r.qp.MaxDestRd):
		return invalid
	case !r.permits(p, 8, engine.RemoteAtomic):
		return forbidden
	}
	return fine
}

// permits asks for the whole range of the operation, so that a bad one changes no byte at all. Zero bytes are permitted
// with any key (IBTA 10.6.3.1).
func (r *Responder) permits(p *roce.Packet, n uint32, right engine.Access) bool {
	return n == 0 || r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, n, right)
}
