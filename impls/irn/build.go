package irn

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/rc"
)

// build fills p with the packet of request w that has PSN at. The packet depends only on the request and its position
// in the request, so that a retransmission equals the original. Every packet has AckReq, because BDP-FC counts packets:
// a packet is in flight until it is acknowledged.
func (r *Requester) build(p *roce.Packet, w *rc.Request, at psn.PSN) {
	pkt := at.Sub(w.First)
	first, last := pkt == 0, at == w.Last
	*p = roce.Packet{BTH: roce.BTH{Opcode: r.wire.of(rc.RequestOpcode(w.Op, first, last)),
		AckReq: true, PKey: r.qp.PKey, DestQP: r.qp.DestQPN, PSN: at}}
	// All packets but the last are full, so the position gives the offset.
	off := pkt * r.qp.MTU
	r.address(p, w, uint32(off))
	if w.Fetches() {
		p.Atomic = roce.AtomicETH{SwapAdd: w.SwapAdd, Compare: w.Compare}
		return
	}
	rc.LoadPayload(p, r.mem, w.LocalVA+uint64(off), int(w.Len)-off, r.qp.MTU)
	if last {
		rc.EndMessage(p, &w.WorkRequest)
	}
}

// address sets the header fields by which the peer places the packet without its predecessors, in the headers that the
// opcode has: for a WRITE the remote address and the bytes of the message from there on; for a request that uses an
// entry of the peer's receive queue or READ buffer, the number of that entry and, for a SEND, the offset in the
// receive.
func (r *Requester) address(p *roce.Packet, w *rc.Request, off uint32) {
	l := p.Opcode.Layout()
	if l&(roce.LayoutRETH|roce.LayoutVAETH|roce.LayoutAtomicETH) != 0 {
		p.RETH.VA = w.RemoteVA + uint64(off)
	}
	if l&roce.LayoutRETH != 0 {
		p.RETH.DMALen = w.Len - off
	}
	if l&(roce.LayoutRETH|roce.LayoutAtomicETH) != 0 {
		p.RETH.RKey = w.RKey
	}
	if l&roce.LayoutSOETH != 0 {
		p.SO.SN = w.SN
		if p.Opcode.IsSend() {
			p.SO.Offset = off
		}
	}
}
