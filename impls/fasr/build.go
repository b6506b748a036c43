package fasr

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// build fills p with the packet of request w that has PSN at. The packet depends only on the request and its position
// in the request, so that a retransmission equals the original.
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

// address sets the header fields by which the peer places the packet without its predecessors: the remote address of a
// WRITE packet, and for a packet that uses a receive the number of the receive and the offset in the message.
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

// asks reports whether a packet before the last of its message has AckReq: every AckReqEvery-th packet has, and one per
// half window of packets, because no packet with AckReq could follow when the window is full.
func (r *Requester) asks(pkt int) bool {
	every := r.qp.AckReqEvery
	half := max(1, r.out.window/2)
	return every > 0 && (pkt+1)%every == 0 || (pkt+1)%half == 0
}
