package rc

import (
	"fmt"
	"sort"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
	"github.com/rdma-gauntlet/gauntlet/harness/trace"
)

// msnAfar checks the MSN where the responder's port is not tapped. When a responder answered, it had completed at least
// the messages that the answer acknowledges, and at most those sent by the time the answer was seen. So every answer
// bounds the MSN before the first message. An answer whose bounds exclude those of earlier ones is wrong: its MSN if
// that exceeds the messages sent, otherwise its MSN or its PSN.
type msnAfar struct {
	any     bool    // from and next are set
	bounded bool    // reference, low, high and most are known
	from    psn.PSN // first PSN after which no request is missing; answers to older ones are not judged
	next    psn.PSN // PSN after the latest request

	reference psn.MSN   // MSN of the first answer
	ends      []psn.PSN // last PSNs of the messages of [from, next), oldest first
	done      int32     // messages before from that were forgotten
	low, high int32     // bounds of the MSN before the counted messages, less the reference
	most      int32     // upper bound from the MSNs alone; answers may acknowledge packets that have not arrived
}

func (m *msnAfar) sight(c *rule.Context, s *rule.Sight) {
	switch p := s.Pkt; {
	case !s.Intact() || c.Failed || c.Fatal: // other rules judge responses of a QP in error
	case p.Opcode.IsRequest():
		m.request(c, s)
	case p.Opcode == roce.Acknowledge && m.any && c.Maker(s) == rule.Sealed:
		m.answer(c, p)
	}
}

// request counts a new request. After a PSN that was not seen the count starts again.
func (m *msnAfar) request(c *rule.Context, s *rule.Sight) {
	p, n := s.Pkt, c.Span(s.Pkt)
	switch {
	case s.Relation != rule.First:
		// A requester that sends another operation under a PSN has lost count, so its messages cannot be counted.
		m.any = m.any && s.Sent != nil && rule.OperationOf(s.Sent.Opcode) == rule.OperationOf(p.Opcode)
		return
	case n == 0:
		m.any = false
		return
	case !m.any || p.PSN != m.next || len(m.ends) == queueLimit:
		*m = msnAfar{any: true, from: p.PSN, ends: m.ends[:0]}
		m.bounded = c.Known && p.PSN == c.Start // the MSN starts at zero with the connection
	}
	m.next = p.PSN.Add(n)
	if p.Opcode.EndsMessage() {
		m.forget(c)
		m.ends = append(m.ends, m.next.Prev())
	}
}

// afarMost bounds the acknowledged messages that are remembered.
const afarMost = 1 << 12

// forget drops the older half of the messages when they have long been acknowledged: no answers to them come any more.
func (m *msnAfar) forget(c *rule.Context) {
	n := len(m.ends) / 2
	if len(m.ends) < afarMost || !m.ends[n].Less(c.UNA) {
		return
	}
	m.from, m.done = m.ends[n-1].Next(), m.done+int32(n)
	m.ends = m.ends[:copy(m.ends, m.ends[n:])]
}

// answer judges the MSN of an ACK or NAK.
func (m *msnAfar) answer(c *rule.Context, p *roce.Packet) {
	last, ok := rule.Acknowledged(p)
	if !ok || !last.In(m.from, m.next) {
		return
	}
	acked := sort.Search(len(m.ends), func(i int) bool { return last.Less(m.ends[i]) })
	if !m.bounded {
		m.bounded, m.reference, m.low, m.high = true, p.AETH.MSN, -psn.Half, psn.Half
		m.most = psn.Half
	}
	steps := int32(p.AETH.MSN.Sub(m.reference))
	low, high := steps-m.done-int32(len(m.ends)), steps-m.done-int32(acked)
	switch {
	case m.most < low:
		c.Failf(rule.Responder, "MSN %d with an answer to %s: more requests than the %d that were sent",
			p.AETH.MSN, c.Rel(last), int(m.done)+len(m.ends))
		m.any = false
		return
	case steps < m.low:
		c.Failf(rule.Responder, "MSN %d with an answer to %s: an earlier answer had completed %d requests more",
			p.AETH.MSN, c.Rel(last), m.low-steps)
		m.any = false
		return
	case high < m.low || m.high < low:
		c.Doubt("MSN and PSN of an answer to " + c.Rel(last) +
			" contradict each other; only a tap at the responder shows which is wrong")
		m.any = false
		return
	}
	m.low, m.high, m.most = max(m.low, low), min(m.high, high), min(m.most, steps)
	if acked > 0 && last.Less(c.UNA) {
		m.from = m.ends[acked-1].Next()
		m.ends, m.done = m.ends[:copy(m.ends, m.ends[acked:])], m.done+int32(acked)
	}
	c.Doubt("the MSNs seen fit the requests; only a tap at the responder shows which requests had arrived")
}

// afar judges responses where the responder's port is not tapped: their requests are known, but not whether a missing
// response was sent.
func (r *readStream) afar(s *rule.Sight) {
	c, p := r.c, s.Pkt
	if p.Opcode.IsRequest() {
		if s.Point == trace.RequesterOut && p.Opcode.IsRead() && moves(s) {
			r.moved, r.sure = p.PSN.Add(max(1, c.Span(p))), false
		}
		return
	}
	want := rule.OperationOf(p.Opcode)
	if p.Opcode.NumberedApart() || want == rule.NoOperation || c.Maker(s) != rule.Sealed || r.refuses(p) {
		return
	}
	t := c.Sent(p.PSN)
	// p.PSN is inside a READ, by the length in its request; the requester may have meant another length.
	inside := t != nil && t.Opcode.IsRead() && t.Offset > 0
	if t != nil && !inside && rule.OperationOf(t.Opcode) != want && rule.OperationOf(t.Opcode) != rule.NoOperation {
		c.Failf(rule.Responder, "%v %s answers a %v, which asks for no such data", p.Opcode, c.Rel(p.PSN), t.Opcode)
		return
	}
	if wrong := misfit(c, p, t); wrong != "" && (r.sure || r.moved.LessEq(p.PSN)) {
		c.Failf(rule.Responder, "%v %s %s", p.Opcode, c.Rel(p.PSN), wrong)
		return
	}
	if c.AtBox && rule.OtherHop(c) {
		c.Met() // the other hop shows whether all were sent, in order; PACK-READ-003, whether they passed
		return
	}
	c.Doubt("the data seen fit their requests; only a tap at the responder shows whether all were sent, in order")
}

// moves reports whether a READ that is sent again asks for other bytes than before, so that there are two answers to
// its PSNs.
func moves(s *rule.Sight) bool {
	p, was := s.Pkt, s.Sent
	return s.Relation == rule.Again &&
		(was == nil || !was.Opcode.IsRead() || p.RETH.VA != was.VA || int(p.RETH.DMALen) != was.Len)
}

// resumed reports whether the READ that begins at p may be the rest of one that was sent before the capture, whose data
// are on their way: it is the first request of the capture.
func resumed(c *rule.Context, p psn.PSN) bool { return !c.Known && p == c.Start }

// misfit returns in what a READ response differs from the one that its request, of which t is the part, asks for; ""
// when it fits, or when the request or the MTU is not known. A READ may be resumed anywhere, so that a FIRST or ONLY is
// right at every PSN.
func misfit(c *rule.Context, p *roce.Packet, t *rule.Transmission) string {
	if t == nil || t.Opcode != roce.ReadRequest || !p.Opcode.IsReadResponse() || c.MTU == 0 {
		return ""
	}
	switch left := t.Len; {
	case p.Opcode.EndsMessage() != (left <= c.MTU):
		return fmt.Sprintf("with %d bytes left; FIRST and MIDDLE expected up to the last MTU", left)
	case p.Len != min(left, c.MTU):
		return fmt.Sprintf("has %d bytes, want %d", p.Len, min(left, c.MTU))
	case t.Offset == 0 && !p.Opcode.StartsMessage() && !resumed(c, p.PSN):
		return "answers the first PSN of its READ; a FIRST or ONLY expected"
	}
	return ""
}
