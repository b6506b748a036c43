package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// placeEarly takes a packet before its turn and reports whether it did. IRN's NIC has no buffer for packets that wait:
// what a packet carries in its own headers must be enough to place it (IRN 5.3). A request that needs the memory as it
// is in its turn, READ or atomic, waits in the Read WQE buffer by its number. In a dialect whose packets do not say all
// of where they go, as FaSR's, whose later WRITE packets leave out the R_Key, all wait; so do those of RC.
func (r *Responder) placeEarly(p *roce.Packet, s *rc.Shape) bool {
	own := p.Opcode.Class() == r.wire.Base.Class()
	switch {
	case s.Kind < rc.Read && rc.CheckPayload(p, s, r.qp.MTU) != rc.Fine:
		return false
	case own && s.Kind >= rc.Read && int((p.SO.SN-r.fetches.SN)&psn.Mask) >= r.qp.MaxDestRd:
		return false // beyond the Read WQE buffer
	case own && s.Kind == rc.Send && r.wire.placesAlone():
		return r.placeSend(p, s)
	case own && s.Kind == rc.Write && r.wire.placesAlone():
		return r.placeWrite(p, s)
	}
	r.hold.put(p)
	return true
}

// placeSend stores a packet of a SEND into the receive with its recv_WQE_SN.
func (r *Responder) placeSend(p *roce.Packet, s *rc.Shape) bool {
	rr := r.receive(p.SO.SN)
	off := uint64(p.SO.Offset)
	if rr == nil || s.First != (off == 0) || off+uint64(p.Len) > uint64(rr.Len) {
		return false
	}
	if p.Len > 0 && !r.mem.Store(rr.VA+off, p.Payload, p.Len) {
		return false
	}
	if s.Last {
		r.park(rr, p, s)
	}
	return true
}

// placeWrite stores a packet of a WRITE to the address in its RETH. A last one with immediate needs its receive, too.
func (r *Responder) placeWrite(p *roce.Packet, s *rc.Shape) bool {
	if rc.CheckEnabled(s, r.qp.Access) != rc.Fine || checkRest(p, s) != rc.Fine || !r.permits(p) {
		return false
	}
	var rr *receive
	if s.Completes() {
		if rr = r.receive(p.SO.SN); rr == nil {
			return false
		}
	}
	if p.Len > 0 && !r.mem.Store(p.RETH.VA, p.Payload, p.Len) {
		return false
	}
	if rr != nil {
		r.park(rr, p, s)
	}
	return true
}

// receive returns the posted receive with a number, or nil.
func (r *Responder) receive(sn uint32) *receive {
	if i := int((sn - r.recvSN) & psn.Mask); i < r.receives.Len() {
		return r.receives.At(i)
	}
	return nil
}

// park notes the completion of a receive, for the turn of its message.
func (r *Responder) park(rr *receive, p *roce.Packet, s *rc.Shape) {
	if !rr.done {
		r.parked++
	}
	rr.done = true
	rr.cqe = engine.Event{Kind: engine.ReceiveCQE, Op: s.Op, ID: rr.ID, Len: uint32(p.Len), PSN: p.PSN}
	if p.Opcode.HasImm() {
		rr.cqe.Imm = p.Imm
	}
}
