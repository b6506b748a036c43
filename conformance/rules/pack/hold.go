package pack

import (
	"slices"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/vtime"
)

// hold is a READ or atomic that is not fully answered.
type hold struct {
	first, end psn.PSN    // its PSNs, [first, end)
	got        psn.PSN    // the response that Remote owes next; first <= got <= end
	next       psn.PSN    // the first response that Local lacks; first <= next <= end
	asked      psn.PSN    // requests before this PSN may be acknowledged to Local
	left       psn.PSN    // PSN after the latest response that left for Local
	again      backlog    // answers that may leave after Local's latest repetition of the request
	repeat     vtime.Time // Local's latest repetition of the request; 0 before the first
	relayed    vtime.Time // when the box last passed a repetition on
}

// backlog is the answers that may wait for the line to Local since an instant: those to requests that had arrived by
// then.
type backlog struct {
	since vtime.Time // the instant
	end   psn.PSN    // PSN after the last request that had arrived by then
}

// outlives reports whether an answer that acknowledges every PSN before covered may have waited for the line since b.
func (p *path) outlives(b backlog, covered psn.PSN, now vtime.Time) bool {
	return covered.LessEq(b.end) && p.c.PeerPort.Holds(b.since, now)
}

// relays reports whether a READ or atomic leaves for Remote because Local has sent it again. A repetition counts once.
func (h *hold) relays(now vtime.Time) bool {
	if h == nil || h.repeat <= h.relayed {
		return false
	}
	h.relayed = now
	return true
}

// answer is a READ response or atomic acknowledgement as it arrived from Remote.
type answer struct {
	opcode roce.Opcode
	len    int
	sum    uint32
	result uint64
	aeth   roce.AETH // zero in a response without one
	at     vtime.Time
}

// answerOf returns the answer that a packet is.
func answerOf(s *rule.Sight) answer {
	a := answer{opcode: s.Pkt.Opcode, len: s.Pkt.Len, sum: s.Sum, result: s.Pkt.Result, at: s.At}
	if rule.HasAETH(a.opcode) {
		a.aeth = s.Pkt.AETH
	}
	return a
}

// same reports whether two answers have equal data.
func (a *answer) same(b *answer) bool {
	return a.len == b.len && a.sum == b.sum && a.result == b.result
}

// held returns the READ or atomic that x is a PSN of; nil when there is none.
func (p *path) held(x psn.PSN) *hold {
	for i := range p.holds {
		if h := &p.holds[i]; x.In(h.first, h.end) {
			return h
		}
	}
	return nil
}

// eligible returns the PSN after the newest request that may be acknowledged to Local.
func (p *path) eligible() psn.PSN {
	if len(p.holds) > 0 {
		return p.holds[0].asked
	}
	return p.asked
}

// owed returns the first READ or atomic whose data have not all arrived; nil when there is none.
func (p *path) owed() *hold {
	for i := range p.holds {
		if h := &p.holds[i]; h.got != h.end {
			return h
		}
	}
	return nil
}

// askedAgain processes a repeated request for the rest of h. After several, answers may have waited since before the
// first.
func (p *path) askedAgain(h *hold, x psn.PSN, at vtime.Time) {
	if x.Less(h.next) {
		h.next = x
	}
	h.repeat = at
	if !p.c.PeerPort.Holds(h.again.since, at) {
		h.again.since = at
	}
	h.again.end = p.exp
}

// repeated stores a READ that Local sends again, perhaps for the rest of its data only.
func (p *path) repeated(s *rule.Sight) {
	r := p.slot(s.Pkt.PSN)
	if !r.used || r.psn != s.Pkt.PSN {
		*r = request{used: true, psn: s.Pkt.PSN, end: s.Pkt.PSN.Next(), count: p.count}
	}
	r.asked, r.packet, r.sum = true, *s.Pkt, s.Sum
	r.packet.Payload = nil
}

// given processes response x of a READ or atomic that leaves for Local, and removes the holds that are fully answered.
func (p *path) given(x psn.PSN) {
	if h := p.held(x); h != nil {
		if x.LessEq(h.left) {
			h.left = x.Next()
		}
		if x == h.next {
			h.next = x.Next()
			p.acked = psn.Max(p.acked, h.next)
		}
	}
	for len(p.holds) > 0 && p.holds[0].next == p.holds[0].end {
		p.holds = p.holds[:copy(p.holds, p.holds[1:])]
	}
}

// overtakes reports whether x, a response of the READ that leaves, leaves before the first one that Local lacks,
// although that has arrived before x, and since Local asked for it.
func (h *hold) overtakes(p *path, x psn.PSN) bool {
	r, lacking := p.find(x), p.find(h.next)
	return h.next.Less(x) && r != nil && len(r.data) > 0 && lacking != nil &&
		slices.ContainsFunc(lacking.data, func(a answer) bool { return h.repeat < a.at && a.at < r.data[0].at })
}

// skips reports whether an acknowledgement of x shows that the data of an earlier READ are missing: an implied NAK
// (IBTA 9.7.5.1).
func (p *path) skips(x psn.PSN) bool {
	h := p.owed()
	return h != nil && h.got.LessEq(x)
}

// slotData stores the latest data of Remote for a PSN.
func (p *path) slotData(s *rule.Sight) {
	r := p.slot(s.Pkt.PSN)
	if !r.used || r.psn != s.Pkt.PSN {
		*r = request{used: true, psn: s.Pkt.PSN, end: s.Pkt.PSN.Next(), count: p.count}
	}
	if n := len(r.data); n > 0 {
		latest := r.data[n-1].at
		r.data = slices.DeleteFunc(r.data, func(a answer) bool {
			return a.at != latest && !p.c.PeerPort.Holds(a.at, s.At)
		})
	}
	if len(r.data) == mostAnswers {
		r.data = slices.Delete(r.data, 0, 1)
	}
	r.data = append(r.data, answerOf(s))
}

// passed reports whether a response for Local matches a response of Remote: the latest, or one that may have waited for
// the line since.
func (p *path) passed(r *request, now vtime.Time, match func(*answer) bool) bool {
	for i := range r.data {
		if a := &r.data[i]; (i == len(r.data)-1 || p.c.PeerPort.Holds(a.at, now)) && match(a) {
			return true
		}
	}
	return false
}

// mostAnswers bounds the responses remembered per PSN.
const mostAnswers = 16
