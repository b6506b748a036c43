package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// checkSequence wants MIDDLE and LAST to continue a message, of their kind when it is known, and everything else to
// stand between messages.
func (r *Responder) checkSequence(s *rc.Shape) rc.Verdict {
	inside := r.msg.packets > 0
	if s.First == inside || inside && r.msg.kind != rc.None && s.Kind != r.msg.kind {
		return rc.Invalid
	}
	return rc.Fine
}

// lacksReceive reports that a packet needs a receive and none is posted: any of a SEND, which is placed into it, and
// the last of a WRITE with immediate, which is reported by it (IBTA 9.7.5.2.8).
func (r *Responder) lacksReceive(s *rc.Shape) bool {
	return (s.Kind == rc.Send || s.Completes()) && r.receives.Len() == 0
}

// checkRest judges a WRITE packet with a RETH of its own against what it says is left of its message: a last one brings
// all of that, another one less.
func checkRest(p *roce.Packet, s *rc.Shape) rc.Verdict {
	left := p.RETH.DMALen
	if left > rc.MaxMessage || s.Last && uint32(p.Len) != left || !s.Last && uint32(p.Len) >= left {
		return rc.Invalid
	}
	return rc.Fine
}

// checkFetch judges a READ or an atomic, which must bear its number in the order of the others, and of which there are
// not more than were agreed.
func (r *Responder) checkFetch(p *roce.Packet, s *rc.Shape) rc.Verdict {
	if p.SO.SN != r.fetches.SN || p.SO.Offset != 0 || !r.fetches.Room(r.qp.MaxDestRd, r.responses(p, s),
		r.out.una, r.out.next) {
		return rc.Invalid
	}
	return rc.CheckFetch(p, s, &r.qp, r.mem)
}

// permits asks for the whole rest of a WRITE, so that a bad one changes no byte at all. Zero bytes are permitted with
// any key (IBTA 10.6.3.1).
func (r *Responder) permits(p *roce.Packet) bool {
	return r.mem.Permit(r.qp.PD, p.RETH.RKey, p.RETH.VA, p.RETH.DMALen, engine.RemoteWrite)
}
