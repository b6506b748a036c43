package metrics

import (
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// half is a half-conversation: the requests of one side of a connection and the responses to them.
//
// Requests and READ responses have a space each. In the RC class the PSNs of both are the same numbers, because a READ
// claims one PSN per response (IBTA 9.4.4); in the extension classes responses are numbered apart.
//
// The windows follow the requester's state: requests.lo is its oldest unacknowledged PSN. An acknowledgement counts for
// goodput earlier, when it leaves the responder.
type half struct {
	c      *Collector
	conn   *trace.End // the requester's end
	side   trace.Side // the requester
	inside bool       // the newest message has begun and not ended
	mtu    int32      // payload bytes of a full packet; 0 until the header or a packet has shown it

	requests space
	credited int64 // requests before this offset have been counted as delivered

	messages queue[message] // not completed, oldest first
	*fetching

	losses  int   // requests that the link lost in the current recovery; 0 without one
	highest int64 // the last of these

	got  int64      // bytes delivered
	last vtime.Time // time of delivery of the last byte

	plot *plot // nil beyond the first connections
}

// fetching is the part about READs.
type fetching struct {
	responses space
	reads     queue[read]    // RC: not wholly answered
	apart     queue[message] // READs of the extension classes, which complete in their own order
}

// noFetching is of the halves without READs; it stays empty.
var noFetching fetching

// fetches makes the part about READs, unless that has been done.
func (h *half) fetches() {
	if h.fetching == &noFetching {
		h.fetching = new(fetching)
	}
}

func newHalf(c *Collector, conn int, side trace.Side) *half {
	h := &half{c: c, side: side, conn: &c.header.Conns[conn].Ends[side], fetching: &noFetching}
	h.mtu = int32(h.conn.QP.MTU)
	if conn < plotted {
		h.plot = newPlot(conn)
	}
	return h
}

// startReach is the distance of the first packet seen from the header's SendPSN within which SendPSN is taken as the
// origin.
const startReach = 1 << 16

// start numbers the requests from the first PSN of the connection, or from the first PSN seen.
func (h *half) start(at vtime.Time, p psn.PSN) {
	origin := p
	if q := h.conn.QP.SendPSN; h.conn.Known && p.Sub(q) >= 0 && p.Sub(q) < startReach {
		origin = q
	}
	h.requests.begin(origin, 0)
	h.c.begin(at)
}

// request processes a request that is sent, that arrives, or both at once where only the arrival was tapped.
func (h *half) request(s *trace.Sight, sent bool) {
	if sent && !h.requests.started {
		h.start(s.At, s.Pkt.PSN)
	}
	o := h.requests.offset(s.Pkt.PSN)
	// A PSN below next is a repetition: the first transmissions of requests are in the order of their PSNs (IBTA
	// 9.7.1).
	if sent && o >= h.requests.next {
		h.firstRequest(s, o)
	} else if sent {
		h.resend(s, &h.requests, o, true)
	}
	if t := h.requests.find(o); sent && t != nil && t.lost == s.At {
		h.lose(o)
	}
	if !s.Out {
		h.arrive(s, &h.requests, o)
	}
}

// firstRequest processes the first transmission of a request.
func (h *half) firstRequest(s *trace.Sight, o int64) {
	if o-h.requests.next >= startReach {
		h.forget(o)
	}
	h.transmit(s, h.requests.extend(o, &h.c.budget), o)
	op := s.Pkt.Opcode
	if op.StartsMessage() && h.inside {
		h.messages.back().last, h.inside = o-1, false // its end was not seen
	}
	switch {
	case op.IsRead() && op.Class() != roce.ClassRC:
		h.fetches()
		h.apart.push(message{first: s.At, last: open})
	case op.IsRead() || op.IsAtomic():
		h.readSent(s, o)
	default:
		h.messageSent(s, o)
	}
}

// forget gives up everything before o, of another connection of the same QPN: its PSNs are far, and nothing between is
// to be remembered.
func (h *half) forget(o int64) {
	h.requests.advance(o)
	if h.responses.started {
		h.responses.advance(o)
	}
	for h.reads.front() != nil {
		h.reads.pop()
	}
	for h.inside = false; h.messages.front() != nil; {
		h.messages.pop()
	}
}

// messageSent follows a message of one or more packets from its first to its last.
func (h *half) messageSent(s *trace.Sight, o int64) {
	op := s.Pkt.Opcode
	if h.mtu == 0 && !op.EndsMessage() {
		h.mtu = int32(s.Pkt.Len) // a packet that must be full
	}
	if op.StartsMessage() {
		h.messages.push(message{first: s.At, last: open})
		h.inside = true
	}
	if op.EndsMessage() && h.inside {
		h.messages.back().last, h.inside = o, false
	}
}

// readSent claims the PSNs of the responses to an RC READ, as far as their number is known.
func (h *half) readSent(s *trace.Sight, o int64) {
	n := h.span(s.Pkt)
	last, end := open, open
	if n > 0 {
		last, end = o+int64(n)-1, o+int64(n)
		if n > 1 {
			h.requests.extend(last, &h.c.budget)
		}
	}
	if h.fetches(); !h.responses.started {
		h.responses.begin(s.Pkt.PSN, o)
	}
	if h.reads.front() == nil {
		h.responses.advance(o) // the requests since the last READ had no responses to remember
	}
	h.messages.push(message{first: s.At, last: last})
	h.reads.push(read{next: o, end: end})
}

// span returns how many PSNs a READ or atomic takes; 0 when that depends on an unknown MTU.
func (h *half) span(p *roce.Packet) int {
	switch n := p.RETH.DMALen; {
	case p.Opcode.IsAtomic() || n <= 256: // the smallest path MTU
		return 1
	case h.mtu <= 0:
		return 0
	default:
		return min((int(n)+int(h.mtu)-1)/int(h.mtu), psn.Half-1)
	}
}

// transmit counts the first transmission of a data packet into its slot.
func (h *half) transmit(s *trace.Sight, t *slot, o int64) {
	c := h.c
	c.sum.DataPackets++
	c.wire += int64(s.Rec.WireBytes)
	t.bytes, t.sent = int32(s.Pkt.Len), true
	kind := SentFirst
	if h.fate(s, t) {
		kind = LostMark
	}
	h.plot.add(s.At, o, kind)
}

// resend counts a further transmission. The requester's PSNs below the window are acknowledged, so an earlier copy had
// arrived; again means that even a PSN not seen before is a retransmission, such as a READ that is requested again from
// its middle on.
func (h *half) resend(s *trace.Sight, sp *space, o int64, again bool) {
	c, t := h.c, sp.find(o)
	if t != nil && !t.sent && !again {
		h.transmit(s, t, o)
		return
	}
	c.sum.DataPackets++
	c.wire += int64(s.Rec.WireBytes)
	c.sum.Retransmitted++
	c.sum.RetransmitByte += int64(s.Pkt.Len)
	if t == nil || t.safe {
		c.sum.Spurious++
	}
	kind := SentAgain
	if t != nil && h.fate(s, t) || t == nil && taken(s.Rec) {
		kind = LostMark
	}
	h.plot.add(s.At, o, kind)
	if t != nil {
		t.sent = true
	}
}

// fate records the fate of this transmission in the slot, and reports whether the link loses it.
func (h *half) fate(s *trace.Sight, t *slot) bool {
	lost := taken(s.Rec)
	switch {
	case lost && !t.safe && t.lost == notLost:
		t.lost = s.At
	case !lost && s.Rec.Fate != trace.Unknown:
		t.safe = true
	}
	return lost
}

// arrive ends the recovery of a PSN, and records, where fates are unknown, that a copy has arrived.
func (h *half) arrive(s *trace.Sight, sp *space, o int64) *slot {
	t := sp.find(o)
	if t == nil {
		return nil
	}
	if s.Out {
		// Without a tap at the receiver departure is used for arrival, and the fate is not known.
		return t
	}
	if t.lost != notLost {
		h.c.recovery.add(s.At.Sub(t.lost))
		t.lost = notLost
	}
	t.safe = true
	return t
}

// lose adds a request to the current recovery, or begins one.
func (h *half) lose(o int64) {
	h.losses++
	h.highest = max(h.highest, o)
}

// recovered ends the recovery once everything that it lost is acknowledged.
func (h *half) recovered() {
	if h.losses == 0 || h.requests.lo <= h.highest {
		return
	}
	h.c.sum.Recoveries++
	if h.losses == 1 {
		h.c.sum.SingleLosses++
	}
	h.losses = 0
}
