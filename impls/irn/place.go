package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// placeEarly takes an out-of-order packet and reports whether it did. IRN's NIC has no reorder buffer: the headers of
// each packet must suffice to place it (IRN 5.3). A READ or atomic, which needs the memory content at its place in PSN
// order, waits in the Read WQE buffer by its number. RC packets are held until they are expected, and so are all
// packets of a dialect without complete addresses, such as FaSR's, whose later WRITE packets have no R_Key.
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

// placeWrite stores a packet of a WRITE at the address in its RETH. The last packet of a WRITE with immediate also
// needs the receive with its number.
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

// receive returns the posted receive with number sn, or nil.
func (r *Responder) receive(sn uint32) *receive {
	if i := int((sn - r.recvSN) & psn.Mask); i < r.receives.Len() {
		return r.receives.At(i)
	}
	return nil
}

// park stores the completion of a receive in the receive, until pass releases it in PSN order.
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
