package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// build makes the packet with PSN at. It depends on the request and the position alone, so that a retransmission equals
// the original.
func (r *Requester) build(p *roce.Packet, w *rc.Request, at psn.PSN) {
	*p = roce.Packet{BTH: roce.BTH{PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: at}}
	if w.Op == engine.OpRead {
		// "For READ, an acknowledgment mechanism is introduced to the READ requests" (FaSR IV-D).
		p.Opcode, p.AckReq = roce.FReadRequest, true
		p.RETH = roce.RETH{VA: w.RemoteVA, RKey: w.RKey, DMALen: w.Len}
		p.SO = roce.SOETH{SN: w.SN}
		return
	}
	// All packets but the last are full, so the position gives the offset.
	pkt := at.Sub(w.First)
	off := pkt * r.qp.MTU
	first, last := pkt == 0, at == w.Last
	p.Opcode = f(rc.RequestOpcode(w.Op, first, last))
	p.AckReq = last || r.asks(pkt)
	rc.LoadPayload(p, r.mem, w.LocalVA+uint64(off), int(w.Len)-off, r.qp.MTU)
	r.address(p, w, off)
	if last {
		rc.EndMessage(p, &w.WorkRequest)
	}
}

// address adds what makes the packet placeable alone: a WRITE packet's remote address, and for what takes a receive
// which one it is and, of a SEND, the offset in it.
func (r *Requester) address(p *roce.Packet, w *rc.Request, off int) {
	l := p.Opcode.Layout()
	switch {
	case l&roce.LayoutRETH != 0:
		p.RETH = roce.RETH{VA: w.RemoteVA, RKey: w.RKey, DMALen: w.Len}
	case l&roce.LayoutVAETH != 0:
		p.RETH.VA = w.RemoteVA + uint64(off)
	}
	if l&roce.LayoutSOETH != 0 {
		p.SO = roce.SOETH{SN: w.SN, Offset: uint32(off)}
	}
}

// asks reports whether a packet before the last of its message requests an ACK: every AckReqEvery-th does, and every
// half window at least, because a window that is full could not ask later.
func (r *Requester) asks(pkt int) bool {
	every := r.qp.AckReqEvery
	half := max(1, r.out.window/2)
	return every > 0 && (pkt+1)%every == 0 || (pkt+1)%half == 0
}
