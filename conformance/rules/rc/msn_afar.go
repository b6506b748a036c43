package rc

import (
	"sort"

	"github.com/rdma-gauntlet/gauntlet/conformance/rule"
	"github.com/rdma-gauntlet/gauntlet/harness/psn"
	"github.com/rdma-gauntlet/gauntlet/harness/roce"
)

// msnAfar follows the MSN where the responder's port is not tapped. What a responder had completed when it answered
// lies between the messages that the answer acknowledges and those that had been sent when it was seen. So every
// answer bounds the MSN with which the responder met the first message, and an answer whose bounds exclude those of
// earlier ones counts something else: the MSN is wrong if it says more than has been sent, and else it or what was
// acknowledged.
type msnAfar struct {
	c       *rule.Context
	any     bool
	bounded bool    // reference, low, high and most are known
	from    psn.PSN // since it no request is missing, and no answer to an older one is looked at
	next    psn.PSN // what follows the latest

	reference psn.MSN   // of the first answer
	ends      []psn.PSN // last PSNs of the messages of [from, next), oldest first
	done      int       // messages before from that count
	low, high int       // the MSN before the messages that count, less the reference, is one of [low, high]
	most      int       // its upper bound by the MSNs alone; answers may acknowledge what has not arrived
}

func (m *msnAfar) sight(s *rule.Sight) {
	switch p := s.Pkt; {
	case !s.Intact() || m.c.Failed || m.c.Fatal: // what a QP in error says is for other rules
	case p.Opcode.IsRequest():
		m.request(s)
	case p.Opcode == roce.Acknowledge && m.any && m.c.Maker(s) == rule.Sealed:
		m.answer(p)
	}
}

// request takes one that is sent for the first time. Behind a PSN that was not seen the count begins anew.
func (m *msnAfar) request(s *rule.Sight) {
	p, n := s.Pkt, m.c.Span(s.Pkt)
	switch {
	case s.Relation != rule.First:
		// A requester that sends something else under a PSN has lost count, and with it whoever counts its messages.
		m.any = m.any && s.Sent != nil && rule.OperationOf(s.Sent.Opcode) == rule.OperationOf(p.Opcode)
		return
	case n == 0:
		m.any = false
		return
	case !m.any || p.PSN != m.next || len(m.ends) == queueLimit:
		*m = msnAfar{c: m.c, any: true, from: p.PSN, ends: m.ends[:0]}
		m.bounded = m.c.Known && p.PSN == m.c.Start // the MSN starts at zero with the connection
	}
	m.next = p.PSN.Add(n)
	if p.Opcode.EndsMessage() {
		m.forget()
		m.ends = append(m.ends, m.next.Prev())
	}
}

// afarMost is how many messages are remembered although they are acknowledged.
const afarMost = 1 << 12

// forget forgets the older half of many, when they have long been acknowledged: answers to them come no more.
func (m *msnAfar) forget() {
	n := len(m.ends) / 2
	if len(m.ends) < afarMost || !m.ends[n].Less(m.c.UNA) {
		return
	}
	m.from, m.done = m.ends[n-1].Next(), m.done+n
	m.ends = m.ends[:copy(m.ends, m.ends[n:])]
}

// answer takes an ACK or NAK.
func (m *msnAfar) answer(p *roce.Packet) {
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
		m.c.Failf(rule.Responder, "MSN %d with an answer to %s: more requests than the %d that were sent",
			p.AETH.MSN, m.c.Rel(last), m.done+len(m.ends))
		m.any = false
		return
	case steps < m.low:
		m.c.Failf(rule.Responder, "MSN %d with an answer to %s: an earlier answer had completed %d requests more",
			p.AETH.MSN, m.c.Rel(last), m.low-steps)
		m.any = false
		return
	case high < m.low || m.high < low:
		m.c.Doubt("MSN and PSN of an answer to " + m.c.Rel(last) +
			" contradict each other; which of them is wrong, the responder's tap tells")
		m.any = false
		return
	}
	m.low, m.high, m.most = max(m.low, low), min(m.high, high), min(m.most, steps)
	if acked > 0 && last.Less(m.c.UNA) {
		m.from = m.ends[acked-1].Next()
		m.ends, m.done = m.ends[:copy(m.ends, m.ends[acked:])], m.done+acked
	}
	m.c.Doubt("the MSNs that came fit the requests; what had arrived when they were sent, the responder's tap tells")
}
