package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// hold is a request that only Remote can answer: a READ or atomic, or one that Remote has to refuse. Until Local has
// the answer it is told of nothing from it on, because the ACK of a later request is an implied NAK of a READ (IBTA
// 9.7.5.1).
type hold struct {
	span
	got    psn.PSN // response that Remote owes next
	next   psn.PSN // response that Local misses next: one before got when the LAN has lost it
	since  psn.PSN // where Local's latest request for the data begins
	before point   // newest request before it that wants an ACK
	count  int     // messages that have ended with it
	fetch  bool    // its answer is data
}

// mostHolds bounds the requests of a flow that only Remote can answer. Peers agree on far fewer.
const mostHolds = 1 << 12

// owed is the oldest request whose data Remote has not sent in full; nil when there is none.
func (fl *flow) owed() *hold {
	for i := range fl.holds.Len() {
		if h := fl.holds.At(i); h.fetch && h.got != h.end {
			return h
		}
	}
	return nil
}

// data takes a READ response or atomic acknowledgement, in order. A later one than the expected shows that the WAN
// has lost one; the box asks for it again, and Local sees nothing of it.
func (fl *flow) data(now vtime.Time, f *roce.Frame) {
	p := f.Packet.PSN
	if !p.In(fl.una, fl.max) {
		fl.replayed(now, f)
		return
	}
	if !fl.advance(now, p) {
		fl.goBack()
		return
	}
	h := fl.owed()
	if h == nil || h.got != p {
		return // data of a request that asked for none
	}
	h.got = p.Next()
	fl.una = h.got
	if h.got == h.end {
		fl.done = h.count
	}
	fl.give(f)
	fl.progress(now)
}

// give passes data on if they are what Local misses next. Other data it would drop, and ask for again.
func (fl *flow) give(f *roce.Frame) {
	if fl.holds.Len() == 0 || fl.replay.until != 0 {
		return
	}
	h, p := fl.holds.At(0), f.Packet.PSN
	if h.next != p || h.got.LessEq(p) {
		return
	}
	h.next = p.Next()
	fl.acked = psn.Max(fl.acked, h.next) // data acknowledges what is before it
	fl.position(f, h)
	fl.box.pass(engine.LAN, f)
	if h.next == h.end {
		fl.told = point{p, h.count, true}
		fl.settle()
	}
}

// settle forgets the requests that are answered in full.
func (fl *flow) settle() {
	for fl.holds.Len() > 0 && fl.holds.At(0).next == fl.holds.At(0).end {
		fl.holds.Drop()
	}
}

// again takes a READ or atomic that Local repeats. What Remote has answered goes to Remote once more, to be replayed,
// and so does what it answers behind a replay: the first answer may come before that is over, and the box keeps no
// data.
func (fl *flow) again(now vtime.Time, f *roce.Frame) {
	p, replaying := f.Packet.PSN, fl.replay.until != 0
	for i := range fl.holds.Len() {
		h := fl.holds.At(i)
		if !p.In(h.first, h.end) {
			replaying = replaying || h.next.Less(h.got)
			continue
		}
		if p.Less(h.next) {
			h.next, h.since = p, p
		}
		if p.Less(h.got) || replaying && p.Less(fl.max) {
			fl.box.pass(engine.WAN, f)
		}
		return // or the request is in the buffer and will be answered
	}
	fl.repeatRead(now, f)
}

// position gives a READ response the opcode of its place in what Local has asked for. It has another one when the box
// has asked for the rest of a READ again, which began with a FIRST, or when Local has, and this is still of an earlier
// request.
func (fl *flow) position(f *roce.Frame, h *hold) {
	p := &f.Packet
	if !p.Opcode.IsReadResponse() {
		return
	}
	was, first, last := p.Opcode, p.PSN == h.since, h.next == h.end
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
	if was == roce.ReadRespMiddle {
		fl.newest(fl.base.Add(h.count))
		p.AETH = roce.AETH{Syndrome: roce.SyndromeACK, MSN: fl.msn}
	}
	fl.newest(p.AETH.MSN)
}

// resume makes a READ that is sent again ask for what is missing: from the expected response on (IBTA 9.7.3).
func (fl *flow) resume(p *roce.Packet) {
	h := fl.owed()
	if !p.Opcode.IsRead() || h == nil || h.first != p.PSN || h.got == h.first {
		return
	}
	skip := h.got.Sub(h.first) * fl.mtu
	p.PSN = h.got
	p.RETH.VA += uint64(skip)
	p.RETH.DMALen -= uint32(skip)
}
