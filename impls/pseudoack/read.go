package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// hold is a request that only Remote can answer: a READ or atomic, or one that Remote has to refuse. Until it is answered
// Local is told of nothing from it on, because the ACK of a later request is an implied NAK of a READ (IBTA 9.7.5.1).
type hold struct {
	span
	next   psn.PSN // response that is expected
	since  psn.PSN // where Local's latest request for the data begins
	before point   // newest request before it that wants an ACK
	count  int     // messages that have ended with it
	fetch  bool    // its answer is data
}

// mostHolds bounds the requests of a flow that only Remote can answer. Peers agree on far fewer.
const mostHolds = 1 << 12

// data passes a READ response or atomic acknowledgement on, in order. A later one than the expected shows that the WAN
// has lost one; the box asks for it again, and Local sees nothing of it.
func (fl *flow) data(now vtime.Time, f *roce.Frame) {
	p := f.Packet.PSN
	if !p.In(fl.una, fl.max) {
		fl.replayed(f)
		return
	}
	if !fl.advance(now, p) {
		fl.goBack()
		return
	}
	if fl.holds.Len() == 0 || fl.holds.At(0).next != p {
		return // data of a request that asked for none
	}
	h := fl.holds.At(0)
	h.next = p.Next()
	fl.una = h.next
	fl.acked = psn.Max(fl.acked, fl.una) // data acknowledges what is before it
	fl.position(f, h)
	fl.box.pass(engine.LAN, f)
	if h.next == h.end {
		fl.told = point{p, h.count, true}
		fl.done = h.count
		fl.holds.Drop()
	}
	fl.progress(now)
}

// again takes a READ or atomic that Local repeats. One that Remote has answered in full goes to Remote once more, to be
// replayed. Of one that is being answered, Local misses a response: the answer begins anew from there.
func (fl *flow) again(now vtime.Time, f *roce.Frame) {
	p := &f.Packet
	for i := range fl.holds.Len() {
		h := fl.holds.At(i)
		if !p.PSN.In(h.first, h.end) {
			continue
		}
		if i == 0 && p.PSN.Less(h.next) {
			h.next, h.since, fl.una = p.PSN, p.PSN, p.PSN
			fl.rewind()
		}
		return // or the request is in the buffer and will be answered
	}
	fl.repeatRead(now, f)
}

// position gives a READ response the opcode of its place in what Local has asked for. It has another one when the box has
// asked for the rest of a READ again: that began with a FIRST.
func (fl *flow) position(f *roce.Frame, h *hold) {
	p := &f.Packet
	if !p.Opcode.IsReadResponse() {
		return
	}
	first, last := p.PSN == h.since, h.next == h.end
	switch {
	case first && last:
		p.Opcode = roce.ReadRespOnly
	case first:
		p.Opcode = roce.ReadRespFirst
	case last:
		p.Opcode = roce.ReadRespLast
	default:
		p.Opcode = roce.ReadRespMiddle
		return
	}
	fl.newest(p.AETH.MSN)
}

// resume makes a READ that is sent again ask for what is missing: from the expected response on (IBTA 9.7.3).
func (fl *flow) resume(p *roce.Packet) {
	if !p.Opcode.IsRead() || fl.holds.Len() == 0 {
		return
	}
	h := fl.holds.At(0)
	if h.first != p.PSN || h.next == h.first {
		return
	}
	skip := h.next.Sub(h.first) * fl.mtu
	p.PSN = h.next
	p.RETH.VA += uint64(skip)
	p.RETH.DMALen -= uint32(skip)
}
