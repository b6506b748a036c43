package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// checkSequence requires MIDDLE and LAST to continue a message, of the same kind if the kind is known, and FIRST and
// ONLY to begin one.
func (r *Responder) checkSequence(s *rc.Shape) rc.Verdict {
	inside := r.msg.packets > 0
	if s.First == inside || inside && r.msg.kind != rc.None && s.Kind != r.msg.kind {
		return rc.Invalid
	}
	return rc.Fine
}

// lacksReceive reports whether a packet needs a receive and none is posted. Every packet of a SEND needs one for its
// payload, and the last packet of a WRITE with immediate for its completion (IBTA 9.7.5.2.8).
func (r *Responder) lacksReceive(s *rc.Shape) bool {
	return (s.Kind == rc.Send || s.Completes()) && r.receives.Len() == 0
}

// checkRest checks the payload length of a WRITE packet with its own RETH against the DMALen there, the remaining bytes
// of the message: the last packet carries all of them, any other packet fewer.
func checkRest(p *roce.Packet, s *rc.Shape) rc.Verdict {
	left := p.RETH.DMALen
	if left > rc.MaxMessage || s.Last && uint32(p.Len) != left || !s.Last && uint32(p.Len) >= left {
		return rc.Invalid
	}
	return rc.Fine
}

// checkFetch checks a READ or an atomic, which must carry the next number in sequence and not exceed the agreed number
// of outstanding requests.
func (r *Responder) checkFetch(p *roce.Packet, s *rc.Shape) rc.Verdict {
	if p.SO.SN != r.fetches.SN || p.SO.Offset != 0 || !r.fetches.Room(r.qp.MaxDestRd, r.responses(p, s),
		r.out.una, r.out.next) {
		return rc.Invalid
	}
	return rc.CheckFetch(p, s, &r.qp, r.mem)
}

// permits reports whether the R_Key permits the whole rest of a WRITE, so that a WRITE without permission changes no
// byte at all. Zero bytes are permitted with any key (IBTA 10.6.3.1).
func (r *Responder) permits(p *roce.Packet) bool {
	return r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, p.RETH.DMALen, engine.RemoteWrite)
}
