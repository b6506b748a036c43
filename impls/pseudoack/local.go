package pseudoack

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
	"github.com/rdma-gauntlet/gauntlet/impls/internal/ring"
)

// request takes a request of Local. Its PSN decides, as at a responder: "As PSN is embedded in each RDMA message, our
// RDMA WAN accelerator can trace it with RoCEv2 packets" (section 5.2).
func (fl *flow) request(now vtime.Time, f *roce.Frame) {
	if !fl.begun || fl.early(f.Packet.PSN) {
		fl.begin(f.Packet.PSN)
	}
	fl.mirror(f)
	switch d := f.Packet.PSN.Sub(fl.exp); {
	case fl.state == silent:
	case fl.state == breaking:
		fl.refuse()
	case d == 0:
		fl.accept(f)
	case d > 0:
		fl.ahead()
	default:
		fl.duplicate(now, f)
	}
}

// early reports whether the PSN is before the first one seen of a flow whose set-up the box has not seen: the LAN has
// lost the first request, and Local retransmits it. Remote has dropped the later requests that the box forwarded, so
// early resets the flow.
func (fl *flow) early(p psn.PSN) bool {
	if fl.state != watching || !p.Less(fl.una) {
		return false
	}
	fl.buffer.clear()
	fl.holds = ring.Ring[hold]{}
	fl.cur, fl.count, fl.asked, fl.inside, fl.timer.running = 0, 0, point{}, false, false
	return true
}

// accept appends the expected request to the buffer, from which it is sent on the WAN unchanged, and acknowledges it if
// it may.
func (fl *flow) accept(f *roce.Frame) {
	p := &f.Packet
	if !fl.room(f) {
		fl.advanced(overrun, 1)
		return
	}
	fl.learnMTU(p)
	legal := fl.legal(p)
	s := fl.buffer.push(f)
	s.fetch = p.Opcode.IsRead() || p.Opcode.IsAtomic()
	if p.Opcode.EndsMessage() {
		fl.count++ // a READ counts with its request (IBTA 9.7.7)
	}
	fl.exp = p.PSN.Add(fl.span(p))
	s.end, s.count = fl.exp, fl.count
	fl.gap, fl.gapNAKSent = false, false
	switch {
	case s.fetch || !legal:
		fl.holds.Push(hold{span{p.PSN, fl.exp}, p.PSN, p.PSN, p.PSN, fl.asked, fl.count, s.fetch})
	case p.AckReq:
		fl.asked = point{p.PSN, fl.count, true}
	}
	fl.promise()
	fl.wake()
}

// room reports whether the flow can accept one more request: the limits are the bytes of the buffer, half of the PSN
// space, and mostHolds.
func (fl *flow) room(f *roce.Frame) bool {
	cfg := &fl.box.cfg
	return fl.buffer.bytes+f.Len() <= cfg.buffer+cfg.overrun && fl.holds.Len() < mostHolds &&
		fl.exp.Sub(fl.una)+fl.span(&f.Packet) < psn.Half
}

// span returns the number of PSNs that a request takes; a READ takes one per response (IBTA 9.4.4).
func (fl *flow) span(p *roce.Packet) int {
	if !p.Opcode.IsRead() {
		return 1
	}
	return max(1, min((int(p.RETH.DMALen)+fl.mtu-1)/fl.mtu, psn.Half-1))
}

// learnMTU takes the MTU of a flow whose set-up the box has not seen from a packet that must be full.
func (fl *flow) learnMTU(p *roce.Packet) {
	if fl.state != watching {
		return
	}
	if o := p.Opcode; (o.IsSend() || o.IsWrite()) && !o.EndsMessage() && p.Len >= 256 {
		fl.mtu = p.Len
	}
}

// legal reports whether the opcode and length of a request are valid after those of the request before. Remote must
// refuse an invalid request, so neither that request nor any later one is promised.
func (fl *flow) legal(p *roce.Packet) bool {
	o, was := p.Opcode, fl.last
	ok := o.StartsMessage() != fl.inside
	if fl.inside {
		ok = ok && o.IsSend() == was.IsSend() && o.IsWrite() == was.IsWrite()
	}
	if fl.inside = !o.EndsMessage(); fl.inside || o.IsSend() || o.IsWrite() {
		ok = ok && p.Len <= fl.mtu
	}
	fl.last = o
	return ok && (o.IsSend() || o.IsWrite() || o.IsRead() || o.IsAtomic())
}

// ahead records a gap on the LAN. Requests after the gap are dropped, so that Remote sees requests in order.
func (fl *flow) ahead() {
	fl.advanced(lanGaps, 1)
	fl.gap = true
	fl.promise()
}

// duplicate handles a request that Local has sent before, because an acknowledgement was lost on the LAN. It repeats
// the newest acknowledgement (IBTA 9.7.5.1.2); Remote has the request, or gets it from the buffer. A request that is
// not acknowledged to Local yet gets no answer now: an older acknowledgement would follow READ responses of a later PSN
// (IBTA 9.7.5.1).
func (fl *flow) duplicate(now vtime.Time, f *roce.Frame) {
	op := f.Packet.Opcode
	switch {
	case op.IsRead() || op.IsAtomic():
		fl.again(now, f)
	case fl.acked.LessEq(f.Packet.PSN):
	case fl.replay.until != 0:
		fl.replay.owed = true
	default:
		fl.repeatACK()
	}
}

// repeatACK sends the newest acknowledgement to Local again.
func (fl *flow) repeatACK() {
	if fl.told.ok {
		fl.advanced(repeated, 1)
		fl.answer(roce.SyndromeACK, fl.told.psn, fl.told.count)
	}
}
