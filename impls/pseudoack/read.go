package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/engine"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// hold is a request that only Remote can answer: a READ or atomic, or a request that Remote must refuse. Until Local
// has the answer, no request from this one on is acknowledged to Local, because the ACK of a later request is an
// implied NAK of a READ (IBTA 9.7.5.1).
type hold struct {
	span
	got    psn.PSN // PSN of the next response expected from Remote
	next   psn.PSN // PSN of the next response to forward to Local; before got if the LAN lost responses
	since  psn.PSN // first PSN of Local's latest request for the data
	before point   // newest request with AckReq before this one
	count  int     // messages of the flow up to and including this one
	fetch  bool    // a READ or atomic, which is answered with data
}

// mostHolds bounds the holds of a flow. Peers agree on far fewer READs and atomics.
const mostHolds = 1 << 12

// owed returns the oldest READ or atomic whose data has not arrived from Remote in full; nil if there is none.
func (fl *flow) owed() *hold {
	for i := range fl.holds.Len() {
		if h := fl.holds.At(i); h.fetch && h.got != h.end {
			return h
		}
	}
	return nil
}

// data handles a READ response or atomic acknowledgement. A later response than the expected one shows that the WAN has
// lost a response; the box requests it again and forwards nothing to Local.
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

// give forwards a response if it is the next one for Local. Local would drop any other and request it again.
func (fl *flow) give(f *roce.Frame) {
	if fl.holds.Len() == 0 || fl.replay.until != 0 {
		return
	}
	h, p := fl.holds.At(0), f.Packet.PSN
	if h.next != p || h.got.LessEq(p) {
		return
	}
	h.next = p.Next()
	fl.acked = psn.Max(fl.acked, h.next) // a response acknowledges all PSNs before it
	fl.position(f, h)
	fl.box.pass(engine.LAN, f)
	if h.next == h.end {
		fl.told = point{p, h.count, true}
		fl.settle()
	}
}

// settle removes the holds that are answered in full.
func (fl *flow) settle() {
	for fl.holds.Len() > 0 && fl.holds.At(0).next == fl.holds.At(0).end {
		fl.holds.Drop()
	}
}

// again handles a READ or atomic that Local repeats. If Remote has answered the request, it is forwarded to Remote to
// be replayed. So is a request after one that is being replayed: its first answer may arrive before the replay ends,
// and the box keeps no data.
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

// position sets the opcode of a READ response by its place in Local's latest request for the data. The opcode differs
// if the box has requested the rest of a READ again, which begins with a FIRST, or if Local has and this response still
// answers an earlier request.
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

// resume shortens a READ that is retransmitted to the missing data: from the expected response on (IBTA 9.7.3).
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
