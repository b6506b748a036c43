package lowar

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// half is the part of the shim that requester and responder share: "the sending (TX) path and the receiving (RX) path"
// (IV-A). It sits between the driver and the half of the engine above. It forwards every packet of the engine
// unchanged, and delivers arriving packets in PSN order.
type half struct {
	up     engine.Engine // the half of the engine above
	failed bool          // error state: the shim sends and decodes nothing any more
	held   bool          // behind holds a packet to be sent
	enc    encoder
	dec    decoder

	behind roce.Packet // data packet to be sent after the announcement before it; meaningful while held
}

// lowar processes a packet of the shim itself.
func (h *half) lowar(now vtime.Time, p *roce.Packet) {
	if h.failed {
		return
	}
	switch p.Repair.Type {
	case roce.RepairData:
		h.dec.repair(now, p)
	case roce.RepairAnnounce:
		h.dec.announce(&p.Repair)
	case roce.RepairFeedback:
		h.enc.feedback(&p.Repair)
	}
}

// transmit fills p with the next packet: first the repair packets of the last block, which "together with their
// corresponding data packets, are then prepared and sent" (IV-A), then FEEDBACK and ANNOUNCE, then the packets of the
// engine above, which it codes.
func (h *half) transmit(now vtime.Time, p *roce.Packet) bool {
	switch {
	case h.failed:
		return h.up.PollTransmit(now, p)
	case h.enc.emit(p):
		return true
	case h.dec.tell.due:
		*p = h.dec.tell.feedback(h.enc.destQP, h.dec.reads != nil)
		return true
	case h.held:
		*p, h.held = h.behind, false
	case !h.up.PollTransmit(now, p):
		return false
	case coded(p.Opcode) && h.enc.changes():
		// Only the packet itself shows where the next block begins: it may be a retransmission.
		h.behind, h.held = *p, true
		*p = h.enc.change(p.PSN)
		return true
	}
	if coded(p.Opcode) {
		h.enc.packet(p)
	}
	return true
}

// HandleTimer implements engine.Engine.
func (h *half) HandleTimer(now vtime.Time) {
	h.dec.expire(now)
	h.up.HandleTimer(now)
}

// PollTimer implements engine.Engine: T_rob runs beside the timers of the engine above while packets wait in the ROB.
func (h *half) PollTimer() (vtime.Time, bool) {
	at, ok := h.up.PollTimer()
	if h.dec.waiting > 0 && (!ok || h.dec.deadline < at) {
		return h.dec.deadline, true
	}
	return at, ok
}

// Urgent implements engine.Urgent: it reports whether the next packet is a retransmission of the engine above. Repair
// packets are not retransmissions.
func (h *half) Urgent() bool {
	u, ok := h.up.(engine.Urgent)
	return ok && len(h.enc.emitted) == 0 && !h.held && u.Urgent()
}

// PollEvent implements engine.Engine. A QP in the error state is silent, repair packets included.
func (h *half) PollEvent() (engine.Event, bool) {
	ev, ok := h.up.PollEvent()
	if ok && ev.Kind == engine.Fatal {
		h.hush()
	}
	return ev, ok
}

// Flush implements engine.Engine.
func (h *half) Flush(now vtime.Time) {
	h.up.Flush(now)
	h.hush()
}

func (h *half) hush() {
	h.failed, h.held = true, false
	h.enc.hush()
	h.dec.hush()
}

// Requester is the half that sends requests, which it codes, and receives READ responses, which it decodes.
type Requester struct {
	half
	above engine.Requester
	reads readRanges
}

// Post implements engine.Requester.
func (r *Requester) Post(now vtime.Time, wr engine.WorkRequest) error { return r.above.Post(now, wr) }

// HandlePacket implements engine.Engine: "the Decoding Controller distinguishing between data and repair packets"
// (IV-A).
func (r *Requester) HandlePacket(now vtime.Time, p *roce.Packet) {
	switch {
	case p.Opcode == roce.LoWAR:
		r.lowar(now, p)
	case r.failed || !coded(p.Opcode):
		r.response(now, p)
	default:
		r.dec.data(now, p)
	}
}

// response delivers a packet that is not coded. An ACK, or the response to an atomic, with a later PSN shows that all
// READ responses before it have been sent, and their repair packets with them. A selective acknowledgement does not:
// some engines let it overtake READ data.
func (r *Requester) response(now vtime.Time, p *roce.Packet) {
	cumulative := p.Opcode == roce.Acknowledge || p.Opcode == roce.AtomicAck
	if cumulative && r.dec.waiting > 0 && r.dec.next.LessEq(p.PSN) {
		r.dec.fail(now)
	}
	r.above.HandlePacket(now, p)
}

// PollTransmit implements engine.Engine.
func (r *Requester) PollTransmit(now vtime.Time, p *roce.Packet) bool {
	if !r.transmit(now, p) {
		return false
	}
	if p.Opcode == roce.ReadRequest && r.reads.asked(p.PSN, span(p, r.dec.mtu)) {
		r.dec.bypass = false
		r.dec.next = p.PSN
		r.dec.open(p.PSN)
	}
	return true
}

// Responder is the half that receives requests, which it decodes, and sends READ responses, which it codes.
type Responder struct {
	half
	above engine.Responder
}

// PostReceive implements engine.Responder.
func (r *Responder) PostReceive(now vtime.Time, rr engine.ReceiveRequest) error {
	return r.above.PostReceive(now, rr)
}

// HandlePacket implements engine.Engine.
func (r *Responder) HandlePacket(now vtime.Time, p *roce.Packet) {
	switch o := p.Opcode; {
	case o == roce.LoWAR:
		r.lowar(now, p)
	case r.failed:
		r.above.HandlePacket(now, p)
	case coded(o):
		r.dec.data(now, p)
	case o == roce.ReadRequest, o.IsAtomic():
		r.dec.uncoded(now, p, span(p, r.dec.mtu))
	default:
		r.above.HandlePacket(now, p)
	}
}

// PollTransmit implements engine.Engine.
func (r *Responder) PollTransmit(now vtime.Time, p *roce.Packet) bool { return r.transmit(now, p) }

// span returns the number of PSNs that a request takes: for a READ the number of its responses (IBTA 9.7.3.1). The peer
// chooses the length; if the length is too large, the decoder expects PSNs that never arrive and works in bypass until
// the engine above has failed the QP.
func span(p *roce.Packet, mtu int) int {
	if p.Opcode != roce.ReadRequest {
		return 1
	}
	return max(1, int((uint64(p.RETH.DMALen)+uint64(mtu)-1)/uint64(mtu)))
}

var (
	_ engine.Requester = (*Requester)(nil)
	_ engine.Responder = (*Responder)(nil)
	_ engine.Inspector = (*Requester)(nil)
	_ engine.Inspector = (*Responder)(nil)
	_ engine.Urgent    = (*Requester)(nil)
)
