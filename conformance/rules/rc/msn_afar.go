package rc

import (
	"sort"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
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
	done      int       // messages before from that were forgotten
	low, high int       // bounds of the MSN before the counted messages, less the reference
	most      int       // upper bound from the MSNs alone; answers may acknowledge packets that have not arrived
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
	m.from, m.done = m.ends[n-1].Next(), m.done+n
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
	steps := p.AETH.MSN.Sub(m.reference)
	low, high := steps-m.done-len(m.ends), steps-m.done-acked
	switch {
	case m.most < low:
		c.Failf(rule.Responder, "MSN %d with an answer to %s: more requests than the %d that were sent",
			p.AETH.MSN, c.Rel(last), m.done+len(m.ends))
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
		m.ends, m.done = m.ends[:copy(m.ends, m.ends[acked:])], m.done+acked
	}
	c.Doubt("the MSNs seen fit the requests; only a tap at the responder shows which requests had arrived")
}
